//! Resolves and checks the steps of a commit before anything is written, and turns them into moves.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;

use super::commit_record::{CommitRecord, FileFingerprint, RecordStore, RecordedDir, RecordedMove};
use super::entry_change::EntryChange;
use super::recorded_path::RecordedPath;
use super::resolve::{OpenDir, ResolvedName, changed_refusal, io_refusal, refuse_path};
use super::syscalls::{self, FileStatus, InodeId};
use super::{DiskTree, FileAccess, HardLinkPolicy};
use crate::file_tree::{CommitStep, FileRefusal};

/// If none of these bits is set, the file is meant to stay unchanged.
const WRITE_BITS: Mode = Mode::WUSR.union(Mode::WGRP).union(Mode::WOTH);

/// The moves of a commit, with the open directories for them.
#[derive(Debug)]
pub(super) struct CommitPlan<'a> {
    pub(super) record: CommitRecord,
    /// The open directories, by their index in the record; `None` until a missing one is created.
    pub(super) dirs: Vec<Option<OwnedFd>>,
    /// The steps, by the indices of their moves.
    pub(super) steps: Vec<PlannedStep<'a>>,
    /// True if copies keep set-id bits.
    pub(super) keeps_set_id: bool,
}

/// One step of a commit.
#[derive(Debug, Clone, Copy)]
pub(super) enum PlannedStep<'a> {
    /// A file of a patch.
    File(&'a CommitStep),
    /// An entry of any kind.
    Entry(&'a EntryChange),
}

impl PlannedStep<'_> {
    /// Returns the path as sentences show it.
    pub(super) fn path(&self) -> Cow<'_, str> {
        match self {
            Self::File(step) => Cow::Borrowed(&step.path),
            Self::Entry(change) => change.path.to_string_lossy(),
        }
    }

    fn puts(&self) -> bool {
        match self {
            Self::File(step) => step.new_file.is_some(),
            Self::Entry(change) => change.new.is_some(),
        }
    }
}

/// The directories, names and files of the steps so far.
#[derive(Default)]
pub(super) struct PlannedNames {
    existing_dirs: HashMap<InodeId, usize>,
    created_dirs: HashMap<PathBuf, usize>,
    names: HashSet<(usize, PathBuf)>,
    files: HashSet<InodeId>,
}

impl<'a> CommitPlan<'a> {
    pub(super) fn build(
        disk: &DiskTree,
        steps: &'a [CommitStep],
        records: &RecordStore,
    ) -> Result<Self, FileRefusal> {
        let mut plan = Self::empty(CommitRecord::new(disk.root()));
        let mut planned = PlannedNames::default();
        for step in steps {
            let (resolved, status) = disk.resolve_step(step)?;
            if resolved.real_path().starts_with(&records.real_path) {
                let what =
                    format!("`{}` is among the records of commits, which no patch may touch", step.path);
                return Err(refuse_path(&step.path, what));
            }
            if step.found_version.is_none() && step.new_file.is_none() {
                continue;
            }
            plan.add(PlannedStep::File(step), resolved, status, &mut planned)?;
        }
        Ok(plan)
    }

    pub(super) fn empty(record: CommitRecord) -> Self {
        Self { record, dirs: Vec::new(), steps: Vec::new(), keeps_set_id: false }
    }

    pub(super) fn add(
        &mut self,
        step: PlannedStep<'a>,
        resolved: ResolvedName,
        status: Option<FileStatus>,
        planned: &mut PlannedNames,
    ) -> Result<(), FileRefusal> {
        let changed_twice = || {
            let path = step.path();
            refuse_path(&path, format!("`{path}` is changed twice; change each file once"))
        };
        if let Some(status) = status
            && (status.hard_links == 1 || status.kind == FileType::Directory)
            && !planned.files.insert(status.inode_id())
        {
            return Err(changed_twice());
        }
        let folder = self.dir_index(resolved.dir, &resolved.missing, planned);
        if !planned.names.insert((folder, resolved.leaf.clone())) {
            return Err(changed_twice());
        }
        self.record.moves.push(RecordedMove {
            folder,
            leaf: RecordedPath::from_path(&resolved.leaf),
            temp: self.record.temp_name(self.record.moves.len()),
            puts: step.puts(),
            any_kind: matches!(step, PlannedStep::Entry(_)),
            staged: None,
            found: status.map(|seen| FileFingerprint::from_status(&seen)),
        });
        self.steps.push(step);
        Ok(())
    }

    /// Returns the index of the name's directory. Missing directories are added to the record.
    pub(super) fn dir_index(
        &mut self,
        dir: OpenDir,
        missing: &[std::ffi::OsString],
        planned: &mut PlannedNames,
    ) -> usize {
        let mut path = dir.real_path;
        let mut at = *planned.existing_dirs.entry(dir.id).or_insert_with(|| {
            self.dirs.push(Some(dir.fd));
            let folder =
                RecordedDir { path: RecordedPath::from_path(&path), id: Some(dir.id), made_in: None };
            self.record.folders.push(folder);
            self.dirs.len() - 1
        });
        for name in missing {
            path.push(name);
            let parent = at;
            at = *planned.created_dirs.entry(path.clone()).or_insert_with(|| {
                self.dirs.push(None);
                let folder =
                    RecordedDir { path: RecordedPath::from_path(&path), id: None, made_in: Some(parent) };
                self.record.folders.push(folder);
                self.dirs.len() - 1
            });
        }
        at
    }

    /// Checks that every step still finds the file that it was planned for.
    pub(super) fn verify_unchanged(&self) -> Result<(), FileRefusal> {
        for (file_move, step) in self.record.moves.iter().zip(&self.steps) {
            let Some(dir) = self.dirs.get(file_move.folder).and_then(Option::as_ref) else { continue };
            let status = syscalls::status_of_name(dir.as_fd(), &file_move.leaf.to_path_buf());
            let status = status.map_err(|errno| io_refusal(&step.path(), "looked at", errno))?;
            let version = status.map(|seen| seen.version);
            let same = status.map(|seen| FileFingerprint::from_status(&seen)) == file_move.found;
            let same_version = match step {
                // A deleted symlink has its own stamp, but the step has the stamp of its target.
                PlannedStep::File(step) => {
                    let is_file = status.is_some_and(|seen| seen.kind == FileType::RegularFile);
                    !is_file || version == step.found_version
                }
                PlannedStep::Entry(change) => version == change.found,
            };
            if !same || !same_version {
                return Err(changed_refusal(&step.path()));
            }
        }
        Ok(())
    }
}

/// Checks that this user may write to a file. The file is replaced and not written, so the kernel does not check it.
fn check_writable(path: &str, resolved: &ResolvedName, status: &FileStatus) -> Result<(), FileRefusal> {
    let access = rustix::fs::accessat(
        resolved.dir.fd.as_fd(),
        &resolved.leaf,
        rustix::fs::Access::WRITE_OK,
        rustix::fs::AtFlags::EACCESS,
    );
    match access {
        Err(Errno::ACCESS | Errno::PERM) => {
            let (mode, owner) = (status.mode.as_raw_mode() & 0o777, status.owner);
            let what = format!("`{path}` may not be written by this user (mode {mode:04o}, owner {owner})");
            Err(refuse_path(path, format!("{what}; change its mode or owner first if it is to be")))
        }
        // If the check itself fails, the write reports the error.
        Err(_) | Ok(()) => Ok(()),
    }
}

impl DiskTree {
    /// Resolves the name that `step` changes, and returns the file there if it is the expected one.
    fn resolve_step(&self, step: &CommitStep) -> Result<(ResolvedName, Option<FileStatus>), FileRefusal> {
        let path = step.path.as_str();
        let mut resolved = self.resolve_name(path, FileAccess::Write)?;
        let is_link = resolved.lookup_status(path)?.is_some_and(|status| status.kind == FileType::Symlink);
        if step.new_file.is_some() {
            resolved = self.follow_symlink(path, resolved, FileAccess::Write)?;
        } else if is_link {
            // The symlink is deleted, not its target. But it must still lead to the file that was read.
            let target =
                self.follow_symlink(path, self.resolve_name(path, FileAccess::Write)?, FileAccess::Read)?;
            let there = self.open_regular(path, &target)?.map(|(_, status)| status.version);
            let status = resolved.lookup_status(path)?.filter(|seen| seen.kind == FileType::Symlink);
            return match status {
                Some(status) if there == step.found_version => Ok((resolved, Some(status))),
                Some(_) | None => Err(changed_refusal(path)),
            };
        }
        let status = self.open_regular(path, &resolved)?.map(|(_, seen)| seen);
        if step.found_version.is_none() && status.is_some() {
            return Err(refuse_path(path, format!("`{path}` is there already; read it, then change it")));
        }
        if status.map(|seen| seen.version) != step.found_version {
            return Err(changed_refusal(path));
        }
        if let (Some(status), Some(_)) = (&status, &step.new_file) {
            self.check_changeable(path, status)?;
            check_writable(path, &resolved, status)?;
        }
        Ok((resolved, status))
    }

    /// Checks that a file's mode and hard links allow a change of its content.
    fn check_changeable(&self, path: &str, status: &FileStatus) -> Result<(), FileRefusal> {
        if !status.mode.intersects(WRITE_BITS) {
            let mode = status.mode.as_raw_mode() & 0o777;
            let what =
                format!("`{path}` is read-only for everybody (mode {mode:04o}), so it is not meant to be");
            return Err(refuse_path(path, format!("{what} changed; `chmod u+w` it first if it is")));
        }
        if let (true, HardLinkPolicy::Refuse) = (status.hard_links > 1, self.hard_link_policy) {
            let what =
                format!("`{path}` has {} names (hard links), and the others would keep", status.hard_links);
            return Err(refuse_path(path, format!("{what} the old content; {}", self.hard_link_hint)));
        }
        Ok(())
    }

    /// Checks that `steps` could be committed now. Runs the checks before a commit and nothing else.
    pub fn check_steps(&self, steps: &[CommitStep]) -> Result<(), FileRefusal> {
        steps.iter().try_for_each(|step| self.resolve_step(step).map(drop))
    }

    /// Opens the file whose attributes the new file of a step gets, if there is one.
    pub(super) fn open_attribute_source(
        &self,
        plan: &CommitPlan<'_>,
        at: usize,
        step: &CommitStep,
    ) -> Result<Option<OwnedFd>, FileRefusal> {
        let file_move = &plan.record.moves[at];
        let path = step.path.as_str();
        match step.new_file.as_ref().and_then(|put| put.attributes_from.as_deref()) {
            Some(source) if source != path => {
                let resolved = self.follow_symlink(
                    source,
                    self.resolve_name(source, FileAccess::Read)?,
                    FileAccess::Read,
                )?;
                Ok(self.open_regular(source, &resolved)?.map(|(fd, _)| fd))
            }
            Some(_) | None if file_move.found.is_none() => Ok(None),
            Some(_) | None => {
                let Some(dir) = plan.dirs[file_move.folder].as_ref() else { return Ok(None) };
                let fd = syscalls::open_file(dir.as_fd(), Path::new(&file_move.leaf.to_path_buf()));
                fd.map(Some).map_err(|errno| io_refusal(path, "read", errno))
            }
        }
    }
}
