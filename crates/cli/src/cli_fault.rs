//! Errors that end the program before a tool runs: one sentence, a hint and an exit status.

use std::process::ExitCode;

/// The exit status for a wrong command line, configuration or call.
pub(crate) const USAGE: u8 = 2;
/// The exit status when a command could not be confined, and so was not run.
pub(crate) const UNCONFINED: u8 = 125;
/// The exit status after Ctrl-C, as shells give it.
pub(crate) const INTERRUPTED: u8 = 130;
/// The exit status after SIGTERM, as shells give it.
pub(crate) const TERMINATED: u8 = 143;
/// The exit status when an operation fails for reasons outside the command line.
const FAILED: u8 = 1;

/// An error that ends the program.
#[derive(Debug)]
pub(crate) struct CliFault {
    /// `None` if the reader has closed the pipe: then nothing is printed.
    message: Option<String>,
    hint: Option<String>,
    code: u8,
    /// Another process holds the resource.
    is_busy: bool,
}

impl CliFault {
    /// Builds an error for a wrong command line, configuration or call.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), hint: None, code: USAGE, is_busy: false }
    }

    /// Builds an error for a machine that cannot confine a command.
    pub(crate) fn unconfined(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), hint: None, code: UNCONFINED, is_busy: false }
    }

    /// Builds an error for an operation that failed although the request was valid.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), hint: None, code: FAILED, is_busy: false }
    }

    /// Marks the error as caused by another process that holds the resource.
    pub(crate) fn mark_busy(mut self) -> Self {
        self.is_busy = true;
        self
    }

    /// Reports whether another process holds the resource.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Adds a hint on what to try.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns message and hint in one sentence.
    pub(crate) fn into_sentence(self) -> String {
        let message = self.message.unwrap_or_default();
        match self.hint {
            Some(hint) => format!("{message}; {hint}"),
            None => message,
        }
    }

    /// Prints the error and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        if let Some(message) = self.message {
            terminal::print_error(&message);
        }
        if let Some(hint) = self.hint {
            terminal::print_hint(&hint);
        }
        ExitCode::from(self.code)
    }
}

impl From<std::io::Error> for CliFault {
    fn from(error: std::io::Error) -> Self {
        // A closed pipe means that the reader has left, which is not a failure.
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self { message: None, hint: None, code: 0, is_busy: false };
        }
        Self { message: Some(error.to_string()), hint: None, code: FAILED, is_busy: false }
    }
}
