//! Reads one layer: the entries that an overlay wrote to its upper directory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::{Errno, Result};

use crate::entry_kind::{EntryKind, EntryStatus, status_of};
use crate::open_files::{names_in, open_directory, open_readable};

/// The depth of a layer. A deeper tree was made to obstruct.
const MAX_DEPTH: usize = 300;
/// The mark of a directory that hides everything beneath it.
const OPAQUE: &str = "user.overlay.opaque";

/// An entry of a layer.
#[derive(Debug, Clone)]
pub(crate) struct LayerEntry {
    /// The path below the root.
    pub(crate) path: PathBuf,
    pub(crate) state: LayerState,
    pub(crate) status: EntryStatus,
}

/// The change that an entry of a layer makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayerState {
    /// What lies beneath is removed.
    Removed,
    /// A directory, whose entries are joined with those beneath.
    Merged,
    /// A directory that hides the one beneath.
    Opaque,
    /// Any other entry.
    Replaced,
}

/// Returns true if nothing was written to the layer at `upper`.
pub(crate) fn is_untouched(upper: &Path) -> Result<bool> {
    let opened = open_directory(upper)?;
    for entry in rustix::fs::Dir::read_from(&opened)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Calls `each` for every entry of the layer at `upper`, a directory before its entries.
pub(crate) fn for_each_entry(
    upper: &Path,
    mut each: impl FnMut(LayerEntry) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let opened = match open_directory(upper) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    walk(&opened, Path::new(""), 0, &mut each)
}

fn walk(
    directory: &OwnedFd,
    path: &Path,
    depth: usize,
    each: &mut dyn FnMut(LayerEntry) -> std::io::Result<()>,
) -> std::io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(Errno::NAMETOOLONG.into());
    }
    for name in names_in(directory)? {
        let Some(status) = status_of(directory.as_fd(), Path::new(&name))? else { continue };
        let below = path.join(&name);
        match status.kind {
            EntryKind::Directory => {
                let opened = open_readable(directory.as_fd(), Path::new(&name))?;
                let state = if is_opaque(opened.as_fd()) { LayerState::Opaque } else { LayerState::Merged };
                each(LayerEntry { path: below.clone(), state, status })?;
                walk(&opened, &below, depth + 1, each)?;
            }
            EntryKind::File | EntryKind::Link | EntryKind::Fifo | EntryKind::Socket | EntryKind::Device => {
                let state = if status.is_whiteout { LayerState::Removed } else { LayerState::Replaced };
                each(LayerEntry { path: below, state, status })?;
            }
        }
    }
    Ok(())
}

fn is_opaque(directory: BorrowedFd<'_>) -> bool {
    let mut value = [0; 1];
    rustix::fs::fgetxattr(directory, OPAQUE, &mut value).is_ok_and(|length| value[..length] == *b"y")
}
