//! Error type of a session: the model, the journal, or a resume fails.

use journal::JournalFault;
use wire::ModelError;

/// The error that ends a turn.
#[derive(Debug, thiserror::Error)]
pub enum AgentFault {
    /// The model does not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The journal cannot be written, so the session stops.
    #[error("the journal cannot be written, so nothing more is done: {0}")]
    Journal(#[from] JournalFault),
    /// What every turn needs is missing, so the model is not asked.
    #[error("{0}")]
    Precondition(String),
    /// The journal cannot be read back.
    #[error("the session cannot be resumed: {0}")]
    Resume(String),
}
