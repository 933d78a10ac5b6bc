//! Why a journal cannot be written or read.

use std::io;
use std::path::PathBuf;

use crate::chain::Broken;
use crate::id::SessionId;

/// Why something about a journal was not done.
#[derive(Debug, thiserror::Error)]
pub enum JournalFault {
    /// The directory or the file is no place for a journal, or cannot be opened.
    #[error("`{}` cannot be used: {source}", path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A session of that name has a journal already.
    #[error("there is a journal at `{}` already", path.display())]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// Somebody else writes to it.
    #[error("{} is writing to `{}`: end that session first", Holder(*by), path.display())]
    InUse {
        /// Where.
        path: PathBuf,
        /// The process, if it can be known.
        by: Option<u32>,
    },
    /// It is not what was written.
    #[error("`{}` was changed after it was written: {broken}", path.display())]
    Broken {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        broken: Broken,
    },
    /// An entry could not be written. What was there before still is, and is whole.
    #[error("nothing more can be written to `{}`: {source}", path.display())]
    Unwritten {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The disk does not say that it has what was written.
    #[error("what was written to `{}` may not last: {source}", path.display())]
    Unsynced {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Only what this program knows can be written.
    #[error("an entry of an unknown kind can be read and not written")]
    Unknown,
    /// The text names no session.
    #[error("`{text}` is no name of a session: one looks like `20261116-213602-4f9a1c`")]
    NotAnId {
        /// The text, or its beginning.
        text: String,
    },
    /// No session's name begins like this.
    #[error("no session's name begins with `{prefix}`")]
    NoSession {
        /// The beginning.
        prefix: String,
    },
    /// More than one session's name begins like this.
    #[error("the names of several sessions begin with `{prefix}`: {}", names(found))]
    SeveralSessions {
        /// The beginning.
        prefix: String,
        /// Those sessions, the newest first.
        found: Vec<SessionId>,
    },
    /// The values to be kept out are too many to look for.
    #[error("the secrets are too many to look for: {reason}")]
    TooManySecrets {
        /// What is too much.
        reason: String,
    },
}

/// How many names a sentence lists.
const NAMED: usize = 8;

fn names(found: &[SessionId]) -> String {
    let mut names: Vec<String> = found.iter().take(NAMED).map(ToString::to_string).collect();
    if found.len() > NAMED {
        names.push(format!("and {} more", found.len() - NAMED));
    }
    names.join(", ")
}

/// Who writes to a journal, as the subject of a sentence.
struct Holder(Option<u32>);

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(process) => write!(f, "process {process}"),
            None => f.write_str("another program"),
        }
    }
}
