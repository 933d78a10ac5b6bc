//! Approval questions in a terminal: describes and renders them, and turns key presses into an answer.
//!
//! Foreign text stands behind a bar or on a line that begins with Toolgate's own words, with control characters
//! escaped. So it cannot imitate another part of the question.

mod describe;
mod dialogue;
mod form_text;
mod render;
#[cfg(test)]
pub mod tests;
mod text_box;

pub use describe::{ApprovalChoice, PromptScope, approval_choices, command_classes, confinement_summary};
pub use dialogue::{ApprovalAnswer, ApprovalDialogue, DialogueOutcome};
pub use form_text::{FormHead, FormText, render_form};
pub use render::{ScreenSize, render_question, render_rule};
pub use text_box::quote_lines;
