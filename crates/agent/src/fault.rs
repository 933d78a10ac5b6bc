//! Why a session cannot go on.

use journal::JournalFault;
use wire::ModelError;

/// Why a turn ended without an end.
#[derive(Debug, thiserror::Error)]
pub enum AgentFault {
    /// The model does not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// What happens cannot be written down, so nothing more happens.
    #[error("the journal cannot be written, so nothing more is done: {0}")]
    Journal(#[from] JournalFault),
    /// What happened cannot be read back.
    #[error("the session cannot be resumed: {0}")]
    Resume(String),
}
