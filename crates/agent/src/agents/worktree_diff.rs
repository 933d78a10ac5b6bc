//! The changes of an agent in its own worktree, and their JSON for the model.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

/// The changes of an agent in its worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeDiff {
    /// No changes.
    Empty,
    /// A diff that `apply_patch` accepts.
    Inline(String),
    /// A diff file for `git apply`: the diff is too long for the model to repeat, or contains more than text.
    File {
        /// Path of the diff file.
        path: PathBuf,
        /// The changed files and the size of the changes.
        about: String,
    },
}

/// Adds the changes, or the reason why they are unknown, to the JSON for the model.
pub(crate) fn insert_changes(changes: Result<WorktreeDiff, String>, fields: &mut Map<String, Value>) {
    let members = match changes {
        Ok(WorktreeDiff::Empty) => vec![("diff", Value::Null)],
        Ok(WorktreeDiff::Inline(diff)) => vec![("diff", json!(diff))],
        Ok(WorktreeDiff::File { path, about }) => {
            let path = path.display().to_string();
            let apply = format!("git apply --whitespace=nowarn '{path}'");
            vec![("diff_file", json!(path)), ("changes", json!(about)), ("apply_with", json!(apply))]
        }
        Err(why) => vec![("diff_missing", json!(why))],
    };
    fields.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
}
