//! Errors of writing, reading and finding journals.

use std::io;
use std::path::PathBuf;

use crate::chain::BrokenLine;
use crate::session_id::SessionId;

/// The error of a journal operation.
#[derive(Debug, thiserror::Error)]
pub enum JournalFault {
    /// The directory or the file is unsuitable for a journal, or cannot be opened.
    #[error("`{}` cannot be used: {source}", path.display())]
    Unusable {
        /// The directory or file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The session already has a journal.
    #[error("there is a journal at `{}` already", path.display())]
    Exists {
        /// The path of the journal.
        path: PathBuf,
    },
    /// Another process writes to the journal.
    #[error("{} is writing to `{}`: end that session first", JournalWriterName(*by), path.display())]
    InUse {
        /// The path of the journal.
        path: PathBuf,
        /// The process id, if known.
        by: Option<u32>,
    },
    /// The journal was changed after it was written.
    #[error("`{}` was changed after it was written: {broken}", path.display())]
    Broken {
        /// The path of the journal.
        path: PathBuf,
        /// The first broken line.
        #[source]
        broken: BrokenLine,
    },
    /// No record of the journal has a hash that the user kept.
    #[error("`{}` has no line with the hash `{hash}`", path.display())]
    HashMissing {
        /// The path of the journal.
        path: PathBuf,
        /// The hash, or its beginning.
        hash: String,
    },
    /// An entry could not be written. The earlier entries are intact.
    #[error("nothing more can be written to `{}`: {source}", path.display())]
    Unwritten {
        /// The path of the journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file could not be synced to the disk.
    #[error("the last entries of `{}` may not be on disk: {source}", path.display())]
    Unsynced {
        /// The path of the journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// An entry of an unknown kind cannot be written.
    #[error("an entry of an unknown kind can be read and not written")]
    Unknown,
    /// The text is not a session id.
    #[error("`{text}` is not a session name; one looks like `20261116-213602-4f9a1c`")]
    NotAnId {
        /// The text, truncated.
        text: String,
    },
    /// No session id begins with the prefix.
    #[error("no session's name begins with `{prefix}`")]
    NoSession {
        /// The prefix.
        prefix: String,
    },
    /// Several session ids begin with the prefix.
    #[error("the names of several sessions begin with `{prefix}`: {}", list_session_ids(found))]
    SeveralSessions {
        /// The prefix.
        prefix: String,
        /// The matching sessions, newest first.
        found: Vec<SessionId>,
    },
    /// There are too many secrets to redact.
    #[error("too many secrets to redact: {reason}")]
    TooManySecrets {
        /// The error of the search automaton.
        reason: String,
    },
}

impl JournalFault {
    /// Describes the error without the path of the journal, which the caller has shown.
    #[must_use]
    pub fn without_path(&self) -> String {
        match self {
            Self::Broken { broken, .. } => broken.to_string(),
            Self::Unusable { source, .. } => format!("it cannot be read: {source}"),
            Self::HashMissing { hash, .. } => {
                format!("no line has the hash `{hash}`: lines were removed, or the file was replaced")
            }
            fault => fault.to_string(),
        }
    }
}

/// Maximum number of session ids that an error message lists.
const MAX_LISTED_SESSIONS: usize = 8;

fn list_session_ids(found: &[SessionId]) -> String {
    let mut names: Vec<String> = found.iter().take(MAX_LISTED_SESSIONS).map(ToString::to_string).collect();
    if found.len() > MAX_LISTED_SESSIONS {
        names.push(format!("and {} more", found.len() - MAX_LISTED_SESSIONS));
    }
    names.join(", ")
}

/// Displays the writer of a journal as the subject of a sentence.
struct JournalWriterName(Option<u32>);

impl std::fmt::Display for JournalWriterName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(process) => write!(f, "process {process}"),
            None => f.write_str("another program"),
        }
    }
}
