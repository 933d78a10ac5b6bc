//! Approval questions: what the user sees, and the answers they can give.
//!
//! Foreign text stands behind a bar or on a line that begins with Toolgate's own words, with control characters
//! escaped. So it cannot imitate another part of the question.

mod describe;
mod dialogue;
mod render;
mod terminal;
#[cfg(test)]
pub(crate) mod tests;
mod text_box;

pub(crate) use describe::{
    ApprovalChoice, PromptScope, approval_choices, command_classes, confinement_summary,
};
pub(crate) use dialogue::{ApprovalAnswer, ApprovalDialogue};
pub(crate) use render::{ScreenSize, render_plain, render_question as page, render_rule as rule_page};
pub(crate) use terminal::{TerminalApprover, terminal_lock};
pub(crate) use text_box::quote_lines;
