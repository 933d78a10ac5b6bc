//! Confined file access in this process: [`ConfinedFs`] looks up paths and walks directories.
//!
//! Invariant: nothing outside the readable roots and nothing deny-read is ever read or listed, even while another
//! process swaps directories for symlinks. The check and the read use the same file descriptor: there is no path
//! between them, hence no TOCTOU race.
//!
//! Limitation: a hard link or a bind mount gives a denied file a second real path, and only that path is checked.

mod confined_fs;
mod explain_failure;
mod file_handle;
mod file_kind;
mod fs_error;
mod ignore_rules;
mod recent_changes;
mod similar_names;
mod sys;
mod walk;
mod walk_entry;

use std::io;
use std::path::{Path, PathBuf};

pub use confined_fs::ConfinedFs;
pub use file_handle::FileHandle;
pub use file_kind::{FileKind, FileStat};
pub use fs_error::FsError;
pub use recent_changes::changed_within;
pub use walk::{IgnoreFiles, WalkControl, WalkOptions, WalkSummary};
pub use walk_entry::WalkEntry;

/// Returns the real path of `path`, with all symlinks resolved.
///
/// This function is not confined. It is for the composition root, which turns configured paths into roots before a
/// policy exists. Tools use [`ConfinedFs`].
#[expect(clippy::disallowed_methods, reason = "the one place that resolves a path before any policy exists")]
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Returns the real path that `path` will have: resolves the existing part and appends the rest unchanged.
pub fn canonicalize_existing(path: &Path) -> PathBuf {
    // Only components, so that `/a//b/.` becomes `/a/b`.
    let path: &Path = &path.components().collect::<PathBuf>();
    let found = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        let found = canonicalize(above).ok()?;
        // Joining an empty path would append a `/`.
        Some(if rest.as_os_str().is_empty() { found } else { found.join(rest) })
    });
    found.unwrap_or_else(|| path.to_owned())
}
