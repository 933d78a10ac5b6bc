//! One confined door for file access in this process: [`Door`] looks at paths and walks directories.
//!
//! The promise: nothing outside the readable roots and nothing deny-read is ever read or listed, even while
//! another process swaps directories for symbolic links. It holds because what is checked is a file descriptor,
//! and what is read is that same descriptor: there is no path between the check and the read.
//!
//! What it cannot see: a hard link or a bind mount gives a denied file a second real path, and only that path is
//! judged.

mod door;
mod entry;
mod error;
mod explain;
mod found;
mod ignores;
mod kind;
mod nearest;
mod recent;
mod sys;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

pub use door::Door;
pub use entry::Entry;
pub use error::FsError;
pub use found::Found;
pub use kind::{Kind, Stat};
pub use recent::changed_within;
pub use walk::{Flow, IgnoreFiles, WalkOptions, Walked};

/// Finds where `path` really is, with every symbolic link resolved.
///
/// This is not confined: it is for the composition root, which turns what the user configured into roots before
/// there is a policy. Tools go through [`Door`].
#[expect(clippy::disallowed_methods, reason = "the one place that resolves a path before any policy exists")]
pub fn real(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Finds where `path` will really be: the part of it that exists, resolved, and the rest as it is.
pub fn real_to_be(path: &Path) -> PathBuf {
    // Components only, so that `/a//b/.` is found to be `/a/b`.
    let path: &Path = &path.components().collect::<PathBuf>();
    let found = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        let found = real(above).ok()?;
        // Joining nothing would put a `/` behind it.
        Some(if rest.as_os_str().is_empty() { found } else { found.join(rest) })
    });
    found.unwrap_or_else(|| path.to_owned())
}
