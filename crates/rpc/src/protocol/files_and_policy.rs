//! File, patch and policy methods, for clients that use them without a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Reads a file, as far as the session may.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsReadParams {
    /// The session.
    pub session_id: String,
    /// The file, from where the session works.
    pub path: String,
    /// From this byte on.
    #[serde(default)]
    pub offset: u64,
    /// How many bytes at the most (1048576, at most 8388608).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
}

/// What is in a file: as text if all that was read is UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsReadResult {
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes, in base64, if they are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// How long the file is.
    pub size: u64,
    /// Where the next read goes on; nothing at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Writes a whole file, at once or not at all, as far as the session may.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsWriteParams {
    /// The session.
    pub session_id: String,
    /// The file, from where the session works; directories that are missing are made.
    pub path: String,
    /// What is to be in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The same as bytes, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Refuses to replace a file.
    #[serde(default)]
    pub new: bool,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsWriteResult {
    /// Whether there was none before.
    pub created: bool,
    /// How long it is.
    pub size: u64,
}

/// Lists a directory, as far as the session may.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsListParams {
    /// The session.
    pub session_id: String,
    /// The directory; by default where the session works.
    #[serde(default)]
    pub path: String,
    /// How deep (1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// How many at the most (1000, at most 10000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// What is in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsListResult {
    /// By path.
    pub entries: Vec<FsEntry>,
    /// Whether these are all.
    pub complete: bool,
}

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsEntry {
    /// From the directory that was listed.
    pub path: String,
    /// What it is.
    pub kind: FsEntryKind,
    /// How long it is, if it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What something in a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FsEntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A link.
    Link,
    /// Something else.
    Other,
}

/// Searches files, as `grep_files` does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsSearchParams {
    /// The session.
    pub session_id: String,
    /// A regular expression.
    pub pattern: String,
    /// Below this; by default where the session works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only in files whose names fit, e.g. `*.rs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Whether `A` is `a`.
    #[serde(default)]
    pub ignore_case: bool,
    /// How many lines at the most (100, at most 2000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Where it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsSearchResult {
    /// By file and line.
    pub hits: Vec<FsSearchMatch>,
    /// Whether these are all.
    pub complete: bool,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsSearchMatch {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// What it says.
    pub text: String,
}

/// Applies a patch in any format that models write, all of it or nothing (docs/edits.md).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchApplyParams {
    /// The session.
    pub session_id: String,
    /// The patch.
    pub patch: String,
    /// Makes it safe to send again, as the `key` of `tool/call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A patch that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchApplyResult {
    /// What changed.
    pub changes: Vec<PatchChange>,
    /// The same, as a model reads it.
    pub text: String,
    /// Whether this is the answer of an earlier call with the same key.
    #[serde(default)]
    pub repeated: bool,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchChange {
    /// `A`dded, `M`odified, `D`eleted or `R`enamed.
    pub kind: String,
    /// The file.
    pub path: String,
    /// Where it was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// Asks what would be decided about a call, and why; nothing is done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyExplainParams {
    /// The session.
    pub session_id: String,
    /// The tool; by default the one that runs `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// A script, instead of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What would be decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyExplainResult {
    /// As `toolgate policy explain --output json` has it: `verdict`, `why`, `parts` and more.
    pub explanation: Value,
}
