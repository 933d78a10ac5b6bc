//! Parameter and result types of the file, patch and policy methods, for clients without a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Reads a file, within the permissions of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsReadParams {
    /// The session id.
    pub session_id: String,
    /// The file path, relative to the session's working directory.
    pub path: String,
    /// The first byte to read.
    #[serde(default)]
    pub offset: u64,
    /// Maximum bytes to read (default 1048576, at most 8388608).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
}

/// File content: text if all bytes read are UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsReadResult {
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in base64, if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// The file size in bytes.
    pub size: u64,
    /// The offset of the next read; absent at the end of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Writes a whole file atomically, within the permissions of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsWriteParams {
    /// The session id.
    pub session_id: String,
    /// The file path, relative to the session's working directory. Missing directories are created.
    pub path: String,
    /// The content as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The content as bytes, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Fails if the file exists.
    #[serde(default)]
    pub new: bool,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsWriteResult {
    /// True if the file did not exist before.
    pub created: bool,
    /// The file size in bytes.
    pub size: u64,
}

/// Lists a directory, within the permissions of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsListParams {
    /// The session id.
    pub session_id: String,
    /// The directory; by default the session's working directory.
    #[serde(default)]
    pub path: String,
    /// Maximum depth (default 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// Maximum number of entries (default 1000, at most 10000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The entries of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsListResult {
    /// The entries, sorted by path.
    pub entries: Vec<FsEntry>,
    /// True if the list is complete.
    pub complete: bool,
}

/// A directory entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsEntry {
    /// The path, relative to the listed directory.
    pub path: String,
    /// The type of the entry.
    pub kind: FsEntryKind,
    /// The size in bytes, for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FsEntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symlink.
    Link,
    /// Any other type.
    Other,
}

/// Searches files, like the tool `grep_files`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsSearchParams {
    /// The session id.
    pub session_id: String,
    /// A regular expression.
    pub pattern: String,
    /// The file or directory to search; by default the session's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Searches only files whose names match, e.g. `*.rs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Ignores case.
    #[serde(default)]
    pub ignore_case: bool,
    /// Maximum number of lines (default 100, at most 2000).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The matching lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsSearchResult {
    /// The matches, sorted by file and line.
    pub hits: Vec<FsSearchMatch>,
    /// True if the list is complete.
    pub complete: bool,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsSearchMatch {
    /// The file path.
    pub path: String,
    /// The line number, from 1.
    pub line: u64,
    /// The text of the line.
    pub text: String,
}

/// Applies a patch in any supported format, completely or not at all (docs/edits.md).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchApplyParams {
    /// The session id.
    pub session_id: String,
    /// The patch.
    pub patch: String,
    /// Idempotency key, like the `key` of `tool/call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The result of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchApplyResult {
    /// The changed files.
    pub changes: Vec<PatchChange>,
    /// The changes as text for a model.
    pub text: String,
    /// True if this is the answer to an earlier call with the same key.
    #[serde(default)]
    pub repeated: bool,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchChange {
    /// `A`dded, `M`odified, `D`eleted or `R`enamed.
    pub kind: String,
    /// The file path.
    pub path: String,
    /// The old path of a renamed file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// Explains the policy decision on a call without running it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyExplainParams {
    /// The session id.
    pub session_id: String,
    /// The tool name; by default the tool that runs `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// A shell script to explain instead of a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The policy decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyExplainResult {
    /// The output of `toolgate policy explain --output json`: `verdict`, `why`, `parts` and more.
    pub explanation: Value,
}
