//! What an agent changed in a worktree of its own.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

/// What an agent changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Diff {
    /// Nothing.
    Nothing,
    /// This, as a diff that `apply_patch` takes.
    Short(String),
    /// More than a model should have to repeat, or more than text: a file with a diff that git takes.
    Kept {
        /// The file.
        path: PathBuf,
        /// Which files it changes, and how much.
        about: String,
    },
}

/// Puts what changed, or why nobody knows, beside what a model is told already.
pub(crate) fn put(changes: Result<Diff, String>, told: &mut Map<String, Value>) {
    let members = match changes {
        Ok(Diff::Nothing) => vec![("diff", Value::Null)],
        Ok(Diff::Short(diff)) => vec![("diff", json!(diff))],
        Ok(Diff::Kept { path, about }) => {
            let path = path.display().to_string();
            let apply = format!("git apply --whitespace=nowarn '{path}'");
            vec![("diff_file", json!(path)), ("changes", json!(about)), ("apply_with", json!(apply))]
        }
        Err(why) => vec![("diff_missing", json!(why))],
    };
    told.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
}
