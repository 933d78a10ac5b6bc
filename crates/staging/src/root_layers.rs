//! The layers of one root beside the user's tree: the base of a change, and whether it is applied already.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;

use crate::base_state::{BaseState, LayerBases};
use crate::entry_kind::{EntryKind, EntryStatus, status_of};
use crate::merged_entries::{MergedEntries, MergedEntry};
use crate::open_files::{link_target, open_directory, open_parent, open_readable, same_content, split};

/// The layers of one root, and its directory.
pub(crate) struct RootLayers {
    pub(crate) root: PathBuf,
    pub(crate) tree: OwnedFd,
    pub(crate) entries: MergedEntries,
    /// The bases of each layer, the lowest first.
    pub(crate) bases: Vec<std::sync::Arc<LayerBases>>,
    pub(crate) index: usize,
}

impl RootLayers {
    pub(crate) fn open(root: &Path) -> io::Result<OwnedFd> {
        Ok(open_directory(root)?)
    }

    /// Returns the status of the user's entry at `path`.
    pub(crate) fn user_status(&self, path: &Path) -> io::Result<Option<EntryStatus>> {
        match open_parent(&self.tree, path)? {
            Some(parent) => Ok(status_of(parent.as_fd(), split(path).1)?),
            None => Ok(None),
        }
    }

    /// Returns the base of `path`: the one that the lowest layer with the path recorded, or that of a directory above
    /// it that did not exist.
    pub(crate) fn base(&self, path: &Path, entry: &MergedEntry) -> Option<&BaseState> {
        let recorded = self.bases[entry.first_layer..].iter().find_map(|bases| bases.get(self.index, path));
        recorded.or_else(|| {
            path.ancestors().skip(1).find_map(|above| {
                let bases = self.bases.iter().find_map(|bases| bases.get(self.index, above));
                bases.filter(|base| **base == BaseState::Absent)
            })
        })
    }

    /// Returns true if the user's entry has the content and the permissions that the layers have.
    pub(crate) fn is_applied(
        &self,
        path: &Path,
        entry: &MergedEntry,
        user: &EntryStatus,
    ) -> io::Result<bool> {
        let staged = &entry.status;
        if staged.kind != user.kind {
            return Ok(false);
        }
        let Some(parent) = open_parent(&self.tree, path)? else { return Ok(false) };
        let name = split(path).1;
        match staged.kind {
            EntryKind::File if staged.size == user.size && staged.mode == user.mode => {
                let staged = open_readable(CWD, &entry.source)?;
                let Ok(user) = open_readable(parent.as_fd(), name) else { return Ok(false) };
                same_content(staged, user)
            }
            EntryKind::Link => Ok(link_target(CWD, &entry.source)? == link_target(parent.as_fd(), name)?),
            EntryKind::Fifo => Ok(staged.mode == user.mode),
            EntryKind::File | EntryKind::Directory | EntryKind::Socket | EntryKind::Device => Ok(false),
        }
    }
}
