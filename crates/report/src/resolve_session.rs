//! Resolves the session that a command-line word names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use journal::{JournalFault, SessionId};

use config::OperationFault;
use config::UserDirs;

/// The word for the newest session.
const LAST: &str = "last";
/// Number of sessions that a hint names.
const MAX_SUGGESTIONS: usize = 3;

/// A resolved session and the path of its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedSession {
    /// The session's name, or the file as the user named it.
    pub name: String,
    /// Path of the journal.
    pub path: PathBuf,
}

impl ResolvedSession {
    fn in_directory(directory: &Path, id: &SessionId) -> Self {
        Self { name: id.to_string(), path: directory.join(id.file_name()) }
    }
}

/// Returns the directory of the journals.
pub fn sessions_directory() -> Result<PathBuf, OperationFault> {
    let missing = || OperationFault::usage("there is no home to keep sessions in; set HOME or TOOLGATE_HOME");
    UserDirs::from_env()?.sessions.ok_or_else(missing)
}

/// Resolves `word`: the beginning of a session's name, `last`, or a file.
pub fn resolve(directory: &Path, word: &OsStr) -> Result<ResolvedSession, OperationFault> {
    let text = word.to_string_lossy();
    // Session names contain neither slash nor dot.
    if text.contains(['/', '.']) {
        return Ok(ResolvedSession { name: text.into_owned(), path: PathBuf::from(word) });
    }
    if text == LAST {
        let newest = session_ids(directory)?.into_iter().next();
        return newest
            .map(|id| ResolvedSession::in_directory(directory, &id))
            .ok_or_else(|| no_sessions_fault(directory));
    }
    journal::find_session(directory, &text).map(|id| ResolvedSession::in_directory(directory, &id)).map_err(
        |fault| match fault {
            JournalFault::NoSession { .. } => unknown_session_fault(directory, &text, &fault),
            fault => OperationFault::usage(fault.to_string()),
        },
    )
}

/// Returns all sessions, newest first.
pub fn all_sessions(directory: &Path) -> Result<Vec<ResolvedSession>, OperationFault> {
    Ok(session_ids(directory)?.iter().map(|id| ResolvedSession::in_directory(directory, id)).collect())
}

/// Builds the error for a directory without sessions.
pub(crate) fn no_sessions_fault(directory: &Path) -> OperationFault {
    OperationFault::usage(format!("there are no sessions in `{}` yet", directory.display()))
}

fn session_ids(directory: &Path) -> Result<Vec<SessionId>, OperationFault> {
    journal::session_ids(directory).map_err(|fault| OperationFault::failed(fault.to_string()))
}

fn unknown_session_fault(directory: &Path, word: &str, fault: &JournalFault) -> OperationFault {
    let ids = session_ids(directory).unwrap_or_default();
    let near: Vec<&str> = nearest(word, &ids).into_iter().map(SessionId::as_str).collect();
    if near.is_empty() {
        return no_sessions_fault(directory);
    }
    OperationFault::usage(fault.to_string()).with_hint(format!(
        "did you mean {}? `toolgate log` lists them, and `last` is the newest",
        near.join(" or ")
    ))
}

/// Returns the sessions most similar to `word`: those that contain it, else those with the longest common prefix,
/// else the newest.
fn nearest<'a>(word: &str, ids: &'a [SessionId]) -> Vec<&'a SessionId> {
    let shared = |id: &SessionId| id.as_str().bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
    let likeness = |id: &SessionId| (id.as_str().contains(word), shared(id));
    let mut ranked: Vec<&SessionId> = ids.iter().collect();
    // A stable sort: among equals the newest stays first.
    ranked.sort_by_key(|id| std::cmp::Reverse(likeness(id)));
    let best = ranked.first().map(|id| likeness(id));
    ranked.retain(|id| Some(likeness(id)) == best);
    ranked.truncate(MAX_SUGGESTIONS);
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_offered() {
        let ids: Vec<SessionId> = [
            "20261117-080000-abcdef", "20261117-080000-000001", "20261116-213602-4f9a1c",
            "20251116-213602-ffffff",
        ]
        .map(|id| id.parse().unwrap())
        .into();
        for (word, expected) in [
            ("4f9a1c", &["20261116-213602-4f9a1c"][..]),
            ("20261116-9", &["20261116-213602-4f9a1c"]),
            ("20261117-09", &["20261117-080000-abcdef", "20261117-080000-000001"]),
            ("20241", &["20261117-080000-abcdef", "20261117-080000-000001", "20261116-213602-4f9a1c"]),
            ("x", &["20261117-080000-abcdef", "20261117-080000-000001", "20261116-213602-4f9a1c"]),
        ] {
            let near: Vec<&str> = nearest(word, &ids).into_iter().map(SessionId::as_str).collect();
            assert_eq!(near, expected, "{word}");
        }
    }

    #[test]
    fn word_with_dot_or_slash_is_a_file() {
        let named = |word: &str| resolve(Path::new("/nowhere"), OsStr::new(word)).unwrap().path;
        assert_eq!(named("a.jsonl"), Path::new("a.jsonl"));
        assert_eq!(named("./x"), Path::new("./x"));
    }
}
