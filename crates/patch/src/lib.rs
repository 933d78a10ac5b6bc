//! Parses patches as models write them, plans all file changes, and commits all of them or none.

mod applied_before;
mod byte_exact;
mod decoded_text;
mod diff;
mod disk;
mod edit;
mod engine_part;
mod fault;
mod file_tree;
mod git_blob;
mod invalid_utf8;
mod line_index;
mod matching;
mod parse;
mod plan;
mod plan_summary;
mod planned_file;
mod repair;
mod replace_file;
mod rewrite;
mod search_replace;
mod update;

pub use diff::diff;
pub use disk::{
    AccessCheck, CommitMilestone, DirectoryMode, DiskTree, EntryChange, EntryCommit, FileAccess, ModeChange,
    MountedRoot, NewEntry, RecordedPath, RecoveredCommit, RecoveryOutcome, copy_tree, recover, remove_tree,
};
pub use edit::{EditAction, FileEdit, Hunk, HunkLine, ParsedPatch, UpdateTarget};
#[cfg(feature = "ablation")]
#[doc(hidden)]
pub use engine_part::{EnginePart, switches};
pub use fault::{PatchFailure, PatchFault};
pub use file_tree::{
    CommitStep, FileLookup, FileRefusal, FileTree, FileVersion, FoundFile, MemoryTree, NewFile, SymbolicLink,
};
pub use matching::MatchPass;
pub use parse::{PatchSyntaxError, PatchTextFormat, parse, parse_as};
pub use plan::{FileChange, FileContent, PatchPlan};
pub use repair::RepairKind;

/// The grammar of `*** Begin Patch` in Lark, for providers that constrain a model's output to a grammar.
pub const GRAMMAR: &str = include_str!("../grammar/envelope.lark");

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
