//! Session journals for the commands that read them: finds a session, builds its timeline and computes waiting times.

pub(crate) mod amount;
mod clock;
pub(crate) mod excerpt;
pub(crate) mod spans;
pub(crate) mod story;
mod tell;
pub(crate) mod which;

#[cfg(test)]
pub(crate) mod sample;
