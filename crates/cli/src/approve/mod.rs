//! What a person sees who is asked, and what they can answer.
//!
//! Everything that is not ours stands behind a bar or on a line that begins with our words, with control characters made
//! visible, so that nothing can look like a part of the question that it is not.

mod describe;
mod dialogue;
mod page;
mod render;
mod terminal;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use describe::{Choice, Scope, choices, classes, confinement, script};
pub(crate) use dialogue::{Dialogue, Said};
pub(crate) use page::quoted;
pub(crate) use render::{Size, plain, question as page, rule as rule_page};
pub(crate) use terminal::{TerminalApprover, terminal_owner};
