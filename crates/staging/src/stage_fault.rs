//! The reasons why a stage cannot be used, or its changes cannot be applied.

use std::io;
use std::path::PathBuf;

use crate::apply_plan::PathConflict;

/// The reason why an operation on staged changes failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StageFault {
    /// The directory of the stage cannot be read or written.
    #[error("the staged changes in `{}` cannot be used: {source}", directory.display())]
    Io {
        /// The directory of the stage.
        directory: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A command of the session runs, so its changes are not complete.
    #[error("a command of the session `{id}` is running, so its changes are not complete")]
    Busy {
        /// The session.
        id: String,
    },
    /// The user's tree changed where the layers change it.
    #[error("{} changed since the session changed {}, so nothing was applied", count(conflicts.len()), if conflicts.len() == 1 { "it" } else { "them" })]
    Conflicts {
        /// The paths, with the reasons.
        conflicts: Vec<PathConflict>,
    },
    /// No change has this path.
    #[error("`{}` has no staged change", path.display())]
    NoSuchChange {
        /// The path, as it was given.
        path: PathBuf,
    },
    /// There is no such step.
    #[error("there is no checkpoint `{name}`")]
    NoSuchCheckpoint {
        /// The number or the id, as it was given.
        name: String,
    },
    /// There is nothing to undo or to redo.
    #[error("there is nothing to {0}")]
    NothingTo(&'static str),
    /// The tree could not be changed.
    #[error("{0}")]
    Refused(#[from] patch::FileRefusal),
    /// The record of the stage was written by another version, or is damaged.
    #[error("the staged changes in `{}` were recorded by another version of Toolgate, or are damaged: {why}", directory.display())]
    Unreadable {
        /// The directory of the stage.
        directory: PathBuf,
        /// The reason.
        why: String,
    },
}

fn count(paths: usize) -> String {
    if paths == 1 { "1 path".to_owned() } else { format!("{paths} paths") }
}
