//! Removes files from the host's git directory.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::allowlist::{self, LandingVerdict, RemovalScope};
use super::host_git_dir::{HostGitDir, HostWriteFault, HostWriteOutcome, MAX_NAMES, ReplaceGuard};
use super::path_text::parts;
use super::sys;

impl HostGitDir {
    /// Removes a file that blocks a directory: a branch `a` that is now `a/b`.
    pub(super) fn remove_blocking_file(
        &self,
        parent: &Path,
        guard: &ReplaceGuard<'_>,
    ) -> Result<HostWriteOutcome, HostWriteFault> {
        let blocks =
            |path: &&Path| self.stat(path).is_some_and(|stat| sys::file_type(&stat) != FileType::Directory);
        let Some(path) = parent.ancestors().find(blocks) else { return Ok(HostWriteOutcome::Kept) };
        match allowlist::judge(&parts(path)) {
            LandingVerdict::Land(_, RemovalScope::File | RemovalScope::Tree) => self.remove(
                path,
                &ReplaceGuard { removal: RemovalScope::File, is_foreign_change: guard.is_foreign_change },
            ),
            _ => Ok(HostWriteOutcome::Kept),
        }
    }

    /// Removes a file, or a directory with all its contents.
    pub(super) fn remove(
        &self,
        path: &Path,
        guard: &ReplaceGuard<'_>,
    ) -> Result<HostWriteOutcome, HostWriteFault> {
        let (dir, name) = match self.open_parent(path) {
            Err(Errno::NOENT) => return Ok(HostWriteOutcome::Unchanged),
            Err(Errno::LOOP | Errno::NOTDIR) => return Ok(HostWriteOutcome::Kept),
            other => other?,
        };
        let Some(stat) = sys::stat_name(dir.as_fd(), &name)? else { return Ok(HostWriteOutcome::Unchanged) };
        match (sys::file_type(&stat), guard.removal) {
            (FileType::RegularFile, RemovalScope::File | RemovalScope::Tree) => {}
            (FileType::Directory, RemovalScope::Tree) => return self.remove_tree(path, guard),
            _ => return Ok(HostWriteOutcome::Kept),
        }
        if (guard.is_foreign_change)(path, &stat) {
            return Ok(HostWriteOutcome::Conflict);
        }
        let _lock = self.lock(dir.as_fd(), &name)?;
        if sys::stat_name(dir.as_fd(), &name)?.is_some_and(|stat| (guard.is_foreign_change)(path, &stat)) {
            return Ok(HostWriteOutcome::Conflict);
        }
        rustix::fs::unlinkat(&dir, &name, AtFlags::empty())?;
        Ok(HostWriteOutcome::Removed)
    }

    pub(super) fn remove_tree(
        &self,
        path: &Path,
        guard: &ReplaceGuard<'_>,
    ) -> Result<HostWriteOutcome, HostWriteFault> {
        let mut all = vec![path.to_owned()];
        let mut next = 0;
        // ends: a tree has finitely many directories, and NAMES is the most
        while let Some(path) = all.get(next).cloned() {
            next += 1;
            match self.stat(&path).filter(|stat| sys::file_type(stat) == FileType::Directory) {
                Some(_) => all.extend(self.list_names(&path).into_iter().map(|name| path.join(name))),
                None if self.stat(&path).is_some_and(|stat| (guard.is_foreign_change)(&path, &stat)) => {
                    return Ok(HostWriteOutcome::Conflict);
                }
                None => {}
            }
            if all.len() > MAX_NAMES {
                return Ok(HostWriteOutcome::Kept);
            }
        }
        for path in all.iter().rev() {
            let (dir, name) = self.open_parent(path)?;
            match rustix::fs::unlinkat(&dir, &name, AtFlags::empty()) {
                Err(Errno::ISDIR) => rustix::fs::unlinkat(&dir, &name, AtFlags::REMOVEDIR)?,
                other => other?,
            }
        }
        Ok(HostWriteOutcome::Removed)
    }
}
