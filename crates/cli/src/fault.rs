//! What goes wrong before a tool is reached: one sentence, and what to try.

use std::process::ExitCode;

use crate::screen;

/// The exit status for a wrong command line, configuration or call.
pub(crate) const USAGE: u8 = 2;
/// The exit status when a command could not be confined, and so was not run.
pub(crate) const UNCONFINED: u8 = 125;
/// The exit status after Ctrl-C, as shells give it.
pub(crate) const INTERRUPTED: u8 = 130;
/// The exit status after SIGTERM, as shells give it.
pub(crate) const TERMINATED: u8 = 143;
/// The exit status when the machine fails us.
const FAILED: u8 = 1;

/// A fault that ends the program.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Nothing is said to somebody who has left.
    message: Option<String>,
    hint: Option<String>,
    code: u8,
    /// Somebody else has what is wanted.
    is_busy: bool,
}

impl Fault {
    /// The user asked for something that cannot be.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), hint: None, code: USAGE, is_busy: false }
    }

    /// The machine does not let a command be confined.
    pub(crate) fn unconfined(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), hint: None, code: UNCONFINED, is_busy: false }
    }

    /// It could not be done, though nothing about it was wrong.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), hint: None, code: FAILED, is_busy: false }
    }

    /// Says that somebody else has what is wanted.
    pub(crate) fn busy(mut self) -> Self {
        self.is_busy = true;
        self
    }

    /// Whether somebody else has what is wanted.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Says what to try.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What is wrong and what to try, in one sentence.
    pub(crate) fn sentence(self) -> String {
        let message = self.message.unwrap_or_default();
        match self.hint {
            Some(hint) => format!("{message}; {hint}"),
            None => message,
        }
    }

    /// Prints it, and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        if let Some(message) = self.message {
            screen::error(&message);
        }
        if let Some(hint) = self.hint {
            screen::hint(&hint);
        }
        ExitCode::from(self.code)
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        // Whoever read our output has left: that is their right, and no failure of ours.
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self { message: None, hint: None, code: 0, is_busy: false };
        }
        Self { message: Some(error.to_string()), hint: None, code: FAILED, is_busy: false }
    }
}
