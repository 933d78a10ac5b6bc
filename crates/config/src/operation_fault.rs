//! The error of an operation that a person asked for: one sentence, a hint and a kind.

/// An error that ends an operation before a tool runs.
#[derive(Debug)]
pub struct OperationFault {
    kind: FaultKind,
    message: String,
    hint: Option<String>,
}

/// The kind of an [`OperationFault`], for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The command line, the configuration or the request is wrong.
    Usage,
    /// Another process holds the resource.
    Busy,
    /// The machine cannot confine commands as the policy requires.
    Unconfined,
    /// The operation failed although the request was valid.
    Failed,
    /// The reader of the output has closed the pipe. It is not told about this.
    ReaderGone,
}

impl OperationFault {
    fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Builds an error for a wrong command line, configuration or request.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Usage, message)
    }

    /// Builds an error for a resource that another process holds.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Busy, message)
    }

    /// Builds an error for a machine that cannot confine a command.
    pub fn unconfined(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Unconfined, message)
    }

    /// Builds an error for an operation that failed although the request was valid.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Failed, message)
    }

    /// Adds a hint on what to try.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// Returns the sentence that says what happened.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what the user can try. It may name flags and commands of the program.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl std::fmt::Display for OperationFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OperationFault {}

impl From<std::io::Error> for OperationFault {
    fn from(error: std::io::Error) -> Self {
        let closed = error.kind() == std::io::ErrorKind::BrokenPipe;
        Self::new(if closed { FaultKind::ReaderGone } else { FaultKind::Failed }, error.to_string())
    }
}
