//! Parses patches as models write them, plans all file changes, and commits all of them or none.

mod blob;
mod diff;
mod disk;
mod edit;
mod exact;
mod fault;
mod file;
mod index;
mod matching;
mod parse;
mod plan;
mod reading;
mod replace;
mod report;
mod rewrite;
mod stray;
mod text;
mod tree;
mod undo;
mod update;
mod whole;

pub use diff::diff;
pub use disk::{FileAccess, DiskTree, AccessCheck, CommitMilestone, RecoveryOutcome, RecoveredCommit, recover};
pub use edit::{EditAction, FileEdit, Hunk, HunkLine, ParsedPatch, UpdateTarget};
pub use fault::{PatchFailure, PatchFault};
pub use matching::MatchPass;
pub use parse::{PatchTextFormat, PatchSyntaxError, parse, parse_as};
pub use plan::{FileChange, FileContent, PatchPlan};
pub use reading::RepairKind;
pub use tree::{FoundFile, SymbolicLink, MemoryTree, NewFile, FileRefusal, FileLookup, FileVersion, CommitStep, FileTree};

/// The grammar of `*** Begin ParsedPatch` in Lark, for providers that constrain a model's output to a grammar.
pub const GRAMMAR: &str = include_str!("../grammar/envelope.lark");

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
