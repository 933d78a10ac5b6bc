//! The journals of sessions, for the commands that read them: which one is meant, what happened in it, who was waited for.

pub(crate) mod amount;
mod clock;
pub(crate) mod excerpt;
pub(crate) mod spans;
pub(crate) mod story;
mod tell;
pub(crate) mod which;

#[cfg(test)]
pub(crate) mod sample;
