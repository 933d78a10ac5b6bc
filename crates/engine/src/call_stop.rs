//! The signal that cancels one call, with the cause that its answer names.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tool::{CancelCause, ToolError};

/// The cause that holds for all calls of a router. It is set before they are cancelled.
#[derive(Debug, Clone, Default)]
pub struct SharedCancelCause(Arc<Mutex<CancelCause>>);

impl SharedCancelCause {
    /// Returns the cause.
    pub fn get(&self) -> CancelCause {
        *self.0.lock()
    }

    /// Sets the cause for calls that are cancelled from now on.
    pub fn set(&self, cause: CancelCause) {
        *self.0.lock() = cause;
    }
}

/// Cancels one call.
pub(crate) struct CallStop {
    token: CancellationToken,
    cause: SharedCancelCause,
    arrived: Instant,
}

impl CallStop {
    pub(crate) fn new(token: CancellationToken, cause: SharedCancelCause, arrived: Instant) -> Self {
        Self { token, cause, arrived }
    }

    /// Resolves when the call is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.token.cancelled().await;
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Returns the cause of the cancellation.
    pub(crate) fn cause(&self) -> CancelCause {
        self.cause.get()
    }

    /// Returns the error of the cancelled call.
    pub(crate) fn error(&self) -> ToolError {
        ToolError::Cancelled { after: self.arrived.elapsed(), cause: self.cause() }
    }
}
