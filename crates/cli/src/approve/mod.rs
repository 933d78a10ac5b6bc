//! Approval questions: what the user sees, and the answers they can give.
//!
//! Foreign text stands behind a bar or on a line that begins with Toolgate's own words, with control characters
//! escaped. So it cannot imitate another part of the question.

mod describe;
mod dialogue;
mod page;
mod render;
mod terminal;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use describe::{ApprovalChoice, PromptScope, approval_choices, command_classes, confinement_summary, shell_script};
pub(crate) use dialogue::{ApprovalDialogue, ApprovalAnswer};
pub(crate) use page::quote_lines;
pub(crate) use render::{ScreenSize, render_plain, render_question as page, render_rule as rule_page};
pub(crate) use terminal::{TerminalApprover, terminal_lock};
