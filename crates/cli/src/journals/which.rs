//! Which session somebody means.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use journal::{JournalFault, SessionId};

use crate::config::Dirs;
use crate::fault::Fault;

/// The word for the newest session.
const LAST: &str = "last";
/// How many sessions a hint names.
const NAMED: usize = 3;

/// A journal that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meant {
    /// Its session, or the file as it was named.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Meant {
    fn of(directory: &Path, id: &SessionId) -> Self {
        Self { name: id.to_string(), path: directory.join(id.file_name()) }
    }
}

/// Where the journals are.
pub(crate) fn directory() -> Result<PathBuf, Fault> {
    let missing = || Fault::usage("there is no home to keep sessions in; set HOME or TOOLGATE_HOME");
    Dirs::from_env()?.sessions.ok_or_else(missing)
}

/// The journal that `word` names: the beginning of a session's name, `last`, or a file.
pub(crate) fn named(directory: &Path, word: &OsStr) -> Result<Meant, Fault> {
    let text = word.to_string_lossy();
    // No name of a session has a slash or a dot in it.
    if text.contains(['/', '.']) {
        return Ok(Meant { name: text.into_owned(), path: PathBuf::from(word) });
    }
    if text == LAST {
        let newest = names(directory)?.into_iter().next();
        return newest.map(|id| Meant::of(directory, &id)).ok_or_else(|| none(directory));
    }
    journal::find(directory, &text).map(|id| Meant::of(directory, &id)).map_err(|fault| match fault {
        JournalFault::NoSession { .. } => unknown(directory, &text, &fault),
        fault => Fault::usage(fault.to_string()),
    })
}

/// All journals, the newest first.
pub(crate) fn all(directory: &Path) -> Result<Vec<Meant>, Fault> {
    Ok(names(directory)?.iter().map(|id| Meant::of(directory, id)).collect())
}

/// What to say where there are no sessions.
pub(crate) fn none(directory: &Path) -> Fault {
    Fault::usage(format!("there are no sessions in `{}` yet", directory.display()))
}

fn names(directory: &Path) -> Result<Vec<SessionId>, Fault> {
    journal::names(directory).map_err(|fault| Fault::failed(fault.to_string()))
}

fn unknown(directory: &Path, word: &str, fault: &JournalFault) -> Fault {
    let ids = names(directory).unwrap_or_default();
    let near: Vec<&str> = nearest(word, &ids).into_iter().map(SessionId::as_str).collect();
    if near.is_empty() {
        return none(directory);
    }
    Fault::usage(fault.to_string()).hint(format!(
        "did you mean {}? `toolgate log` lists them, and `last` is the newest",
        near.join(" or ")
    ))
}

/// The sessions whose names are most like `word`: with it in them, else with the same beginning, else the newest.
fn nearest<'a>(word: &str, ids: &'a [SessionId]) -> Vec<&'a SessionId> {
    let shared = |id: &SessionId| id.as_str().bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
    let likeness = |id: &SessionId| (id.as_str().contains(word), shared(id));
    let mut ranked: Vec<&SessionId> = ids.iter().collect();
    // Stable: among equals the newest stays first.
    ranked.sort_by_key(|id| std::cmp::Reverse(likeness(id)));
    let best = ranked.first().map(|id| likeness(id));
    ranked.retain(|id| Some(likeness(id)) == best);
    ranked.truncate(NAMED);
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_offered() {
        let ids: Vec<SessionId> = [
            "20261117-080000-abcdef",
            "20261117-080000-000001",
            "20261116-213602-4f9a1c",
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
    fn what_looks_like_a_file_is_one() {
        let named = |word: &str| named(Path::new("/nowhere"), OsStr::new(word)).unwrap().path;
        assert_eq!(named("a.jsonl"), Path::new("a.jsonl"));
        assert_eq!(named("./x"), Path::new("./x"));
    }
}
