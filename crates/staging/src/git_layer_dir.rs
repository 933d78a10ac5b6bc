//! Joins the layers over a git directory into one, for the code that applies git's changes by its own rules.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags};
use rustix::io::Errno;

use crate::entry_kind::EntryKind;
use crate::layer_entries::{LayerState, for_each_entry};
use crate::merged_entries::{MergedEntries, MergedEntry};
use crate::open_files::link_target;

/// Writes the entries below `git_dir` to the directory `upper`, in an overlay's format.
pub(crate) fn flatten_git_directory(entries: &MergedEntries, git_dir: &Path, upper: &Path) -> io::Result<()> {
    private_files::create_private_dir(upper)?;
    for (path, entry) in entries.below(git_dir) {
        let Ok(below) = path.strip_prefix(git_dir) else { continue };
        flatten_entry(entry, &upper.join(below))?;
    }
    Ok(())
}

fn flatten_entry(entry: &MergedEntry, to: &Path) -> io::Result<()> {
    match (entry.state, entry.status.kind) {
        (LayerState::Removed, _) => {
            rustix::fs::mknodat(CWD, to, FileType::CharacterDevice, Mode::empty(), 0)?;
        }
        (_, EntryKind::Directory) => {
            match rustix::fs::mkdir(to, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            if entry.state == LayerState::Opaque {
                let flags = XattrFlags::empty();
                rustix::fs::setxattr(to, "user.overlay.opaque", b"y", flags)?;
            }
        }
        // A copy: git's rules refuse a file with several names, whose content could change while it is checked.
        (_, EntryKind::File) => patch::copy_tree(&entry.source, to)?,
        (_, EntryKind::Link) => rustix::fs::symlinkat(link_target(CWD, &entry.source)?, CWD, to)?,
        // Git has none of these.
        (_, EntryKind::Fifo | EntryKind::Socket | EntryKind::Device) => {}
    }
    Ok(())
}

/// Returns the files below `upper`, except git's objects, which are never replaced.
pub(crate) fn changed_git_files(upper: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for_each_entry(upper, |entry| {
        if entry.status.kind != EntryKind::Directory && !entry.path.starts_with("objects") {
            files.push(entry.path);
        }
        Ok(())
    })?;
    Ok(files)
}
