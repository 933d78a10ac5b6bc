//! Changes of names to files of any kind: directories with their content, links, FIFOs, large files.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;

use super::DiskTree;
use super::commit_plan::{CommitPlan, PlannedNames, PlannedStep};
use super::commit_record::{CommitRecord, RecordStore, RecordedMode};
use super::recorded_path::RecordedPath;
use super::resolve::{ResolvedName, changed_refusal, io_refusal, refuse_path};
use super::syscalls::{self, FileStatus, SymlinkPolicy};
use crate::file_tree::{FileRefusal, FileVersion};

/// A commit of entries: all of its changes are made, or none.
#[derive(Debug, Clone, Default)]
pub struct EntryCommit {
    /// The names that change.
    pub changes: Vec<EntryChange>,
    /// The directories whose permissions change.
    pub modes: Vec<ModeChange>,
    /// The directory that receives what the commit replaces and removes, as `0`, `1`, …: the index of its change.
    /// Without one it is removed. It must exist, and belong to this user alone.
    pub keep_in: Option<PathBuf>,
    /// True if set-id bits are copied too: what is restored had them before.
    pub keeps_set_id: bool,
}

/// The change of one name. No link on the way to it is followed.
#[derive(Debug, Clone)]
pub struct EntryChange {
    /// The path below the root of the tree.
    pub path: PathBuf,
    /// The version that was found; `None` if there was nothing. The commit fails if it differs now.
    pub found: Option<FileVersion>,
    /// The new entry; `None` removes the old one, a directory with everything in it.
    pub new: Option<NewEntry>,
}

/// An entry to write. Content and attributes are copied from entries elsewhere.
#[derive(Debug, Clone)]
pub enum NewEntry {
    /// A copy of the file, link or FIFO at this path. Two copies of one file become hard links.
    Copy(PathBuf),
    /// A file with this content, and the attributes of the file at this path.
    Content {
        /// The complete content.
        bytes: Vec<u8>,
        /// The path of the file whose attributes it gets.
        attributes_of: PathBuf,
    },
    /// A directory.
    Directory {
        /// The path of the directory whose attributes it gets.
        attributes_of: PathBuf,
        /// Its entries.
        entries: Vec<(OsString, NewEntry)>,
    },
}

/// A change of the permissions of an existing directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryMode(pub u32);

/// The directory whose permissions change.
#[derive(Debug, Clone)]
pub struct ModeChange {
    /// The path below the root of the tree.
    pub path: PathBuf,
    /// The permissions.
    pub mode: DirectoryMode,
}

impl DiskTree {
    /// Makes all changes of `commit`, or none. `records` is the directory of [`DiskTree::commit`].
    pub fn commit_entries(&self, commit: &EntryCommit, records: &Path) -> Result<(), FileRefusal> {
        let first = commit.changes.first().map(|change| change.path.display().to_string());
        let records = self.open_records(&first.unwrap_or_default(), records)?;
        let mut plan = CommitPlan::empty(CommitRecord::new(self.root()));
        plan.keeps_set_id = commit.keeps_set_id;
        plan.record.keep_in = commit.keep_in.as_deref().map(RecordedPath::from_path);
        let mut planned = PlannedNames::default();
        for change in &commit.changes {
            let (resolved, status) = self.resolve_entry(change)?;
            if resolved.real_path().starts_with(&records.real_path) {
                let what = "it holds the records of commits, which no commit may change";
                return Err(refuse_path(&shown(&change.path), what.to_owned()));
            }
            if status.is_some() || change.new.is_some() {
                plan.add(PlannedStep::Entry(change), resolved, status, &mut planned)?;
            }
        }
        for change in &commit.modes {
            self.plan_mode(&mut plan, change, &mut planned)?;
        }
        self.run_commit(plan, &records, &mut |_| {})
    }

    /// Returns the version of the entry at `path`, or `None` if there is nothing. No link is followed.
    pub fn entry_version(&self, path: &Path) -> Result<Option<FileVersion>, FileRefusal> {
        let dir = match self.open_parent(path) {
            Ok((dir, _)) => dir,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(io_refusal(&shown(path), "looked at", errno)),
        };
        let leaf = path.file_name().map(Path::new).unwrap_or(path);
        let status = syscalls::status_of_name(dir.as_fd(), leaf);
        Ok(status.map_err(|errno| io_refusal(&shown(path), "looked at", errno))?.map(|status| status.version))
    }

    fn open_parent(&self, path: &Path) -> Result<(std::os::fd::OwnedFd, PathBuf), Errno> {
        let parent = path.parent().unwrap_or(Path::new(""));
        let leaf = path.file_name().ok_or(Errno::INVAL)?;
        Ok((syscalls::open_dir(self.fd.as_fd(), parent, SymlinkPolicy::Refuse)?, leaf.into()))
    }

    /// Resolves the name of a change, and returns the entry there if it is the expected one.
    fn resolve_entry(&self, change: &EntryChange) -> Result<(ResolvedName, Option<FileStatus>), FileRefusal> {
        let path = shown(&change.path);
        let (fd, leaf) = match self.open_parent(&change.path) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(changed_refusal(&path)),
            Err(errno) => return Err(io_refusal(&path, "reached", errno)),
        };
        let dir = self.identify_dir(&path, fd)?;
        let resolved = ResolvedName { dir, missing: Vec::new(), leaf };
        let status = resolved.lookup_status(&path)?;
        if status.map(|seen| seen.version) != change.found {
            return Err(changed_refusal(&path));
        }
        Ok((resolved, status))
    }

    fn plan_mode(
        &self,
        plan: &mut CommitPlan<'_>,
        change: &ModeChange,
        planned: &mut PlannedNames,
    ) -> Result<(), FileRefusal> {
        let path = shown(&change.path);
        let (fd, leaf) =
            self.open_parent(&change.path).map_err(|errno| io_refusal(&path, "reached", errno))?;
        let dir = self.identify_dir(&path, fd)?;
        let status = syscalls::status_of_name(dir.fd.as_fd(), &leaf)
            .map_err(|errno| io_refusal(&path, "looked at", errno))?;
        let Some(status) = status.filter(|status| status.kind == FileType::Directory) else {
            return Err(changed_refusal(&path));
        };
        let folder = plan.dir_index(dir, &[], planned);
        plan.record.modes.push(RecordedMode {
            folder,
            leaf: RecordedPath::from_path(&leaf),
            id: status.inode_id(),
            old: permissions(status.mode),
            new: change.mode.0,
        });
        Ok(())
    }

    /// Opens the records, and recovers what an interrupted commit left.
    pub(super) fn open_records(&self, first: &str, records: &Path) -> Result<RecordStore, FileRefusal> {
        let unusable = |error: std::io::Error| {
            refuse_path(first, format!("nothing can be changed without a record of it: {error}"))
        };
        let records = RecordStore::open(records).map_err(unusable)?;
        super::recover::recover_all(&records).map_err(unusable)?;
        Ok(records)
    }
}

fn permissions(mode: Mode) -> u32 {
    mode.as_raw_mode() & 0o7777
}

/// Returns the path as sentences show it: entries are named from the root of the file system.
pub(super) fn shown(path: &Path) -> String {
    Path::new("/").join(path).display().to_string()
}
