//! Commits steps atomically: stages, verifies, writes the record, exchanges names; rolls everything back on an error.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::commit_plan::{CommitPlan, PlannedStep};
use super::commit_record::{CommitPhase, CommitRecord, RecordStore};
use super::copy_entry::EntryCopier;
use super::directory_mode::ModeSide;
use super::entry_change::{EntryChange, shown};
use super::file_move::{KeptName, MoveError};
use super::resolve::{changed_refusal, io_refusal, refuse_path};
use super::syscalls::{self, InodeId, SymlinkPolicy};
use super::{CommitMilestone, DiskTree, stage};
use crate::file_tree::{CommitStep, FileRefusal};

impl DiskTree {
    /// Applies all `steps`, or none. `records` is a private directory, the same for all processes of this user.
    ///
    /// After a crash at any moment, the next commit or [`recover`](super::recover()) finds a record there. It completes
    /// the commit or rolls it back.
    pub fn commit(&self, steps: &[CommitStep], records: &Path) -> Result<(), FileRefusal> {
        self.commit_with(steps, records, &mut |_| {})
    }

    /// Applies all `steps`, or none, and calls `progress` whenever a file is written, and when it is in place.
    ///
    /// If a later file cannot be put in place, the files already reported to `progress` are rolled back.
    pub fn commit_with(
        &self,
        steps: &[CommitStep],
        records: &Path,
        progress: &mut dyn FnMut(CommitMilestone<'_>),
    ) -> Result<(), FileRefusal> {
        let Some(first) = steps.first() else { return Ok(()) };
        let records = self.open_records(&first.path, records)?;
        let plan = CommitPlan::build(self, steps, &records)?;
        self.run_commit(plan, &records, progress)
    }

    /// Carries out `plan`, or rolls it back.
    pub(super) fn run_commit(
        &self,
        mut plan: CommitPlan<'_>,
        records: &RecordStore,
        progress: &mut dyn FnMut(CommitMilestone<'_>),
    ) -> Result<(), FileRefusal> {
        if plan.steps.is_empty() && plan.record.modes.is_empty() {
            return Ok(());
        }
        match self.execute_plan(&mut plan, records, progress) {
            Ok(()) => {
                finish_commit(&plan.record, &plan.dirs, records);
                tracing::debug!(files = plan.steps.len(), "committed all files");
                Ok(())
            }
            Err(refusal) => Err(refusal_after_rollback(&mut plan, records, refusal)),
        }
    }

    fn execute_plan(
        &self,
        plan: &mut CommitPlan<'_>,
        records: &RecordStore,
        progress: &mut dyn FnMut(CommitMilestone<'_>),
    ) -> Result<(), FileRefusal> {
        // Not synced: a power cut now only leaves staged files that no recovery removes.
        records.write_unsynced(&plan.record).map_err(|error| record_refusal(plan, &error))?;
        create_missing_dirs(plan)?;
        self.stage(plan, progress)?;
        // A single rename is atomic. Then the record is only for a killed process, not for a power cut.
        let at_once = plan.steps.len() == 1 && plan.record.modes.is_empty();
        if !at_once {
            // The names of the new files must be on disk before the record says that they are.
            sync_plan_dirs(plan)?;
        }
        plan.verify_unchanged()?;
        plan.record.phase = CommitPhase::Committed;
        match at_once {
            true => records.write_unsynced(&plan.record),
            false => records.write_synced(&plan.record),
        }
        .map_err(|error| record_refusal(plan, &error))?;
        for (file_move, step) in plan.record.moves.iter().zip(&plan.steps) {
            file_move
                .move_forward(planned_dir(plan, file_move.folder)?)
                .map_err(|error| move_refusal(&step.path(), error))?;
            if let PlannedStep::File(step) = step {
                progress(CommitMilestone::Placed(step));
            }
        }
        for mode in &plan.record.modes {
            let path = mode.leaf.to_path_buf();
            mode.set(planned_dir(plan, mode.folder)?, ModeSide::New)
                .map_err(|errno| io_refusal(&shown(&path), "changed", errno))?;
        }
        // New files must be durable before old ones are removed. A single name has one or the other in any case.
        if at_once { Ok(()) } else { sync_plan_dirs(plan) }
    }

    /// Writes every new file next to its destination and syncs it.
    fn stage(
        &self,
        plan: &mut CommitPlan<'_>,
        progress: &mut dyn FnMut(CommitMilestone<'_>),
    ) -> Result<(), FileRefusal> {
        self.stage_entries(plan)?;
        let files = plan.steps.iter().enumerate().filter_map(|(at, step)| match step {
            PlannedStep::File(step) => Some((at, *step, step.new_file.as_ref()?)),
            PlannedStep::Entry(_) => None,
        });
        let puts: Vec<_> = files.collect();
        for batch in puts.chunks(stage::MAX_OPEN_FILES) {
            let mut files = Vec::with_capacity(batch.len());
            for &(at, step, new_file) in batch {
                let attribute_source = self.open_attribute_source(plan, at, step)?;
                let file_move = &plan.record.moves[at];
                let attribute_source = attribute_source.as_ref().map(OwnedFd::as_fd);
                let file = stage::stage_file(
                    planned_dir(plan, file_move.folder)?,
                    Path::new(&file_move.temp),
                    new_file,
                    attribute_source,
                )
                .map_err(|error| io_refusal(&step.path, "written", error))?;
                let status = syscalls::status_of_fd(file.as_fd())
                    .map_err(|errno| io_refusal(&step.path, "written", errno))?;
                plan.record.moves[at].staged = Some(status.inode_id());
                files.push(file);
            }
            let path = |at: usize| batch[at].1.path.as_str();
            stage::sync_all(&files, syscalls::sync_file)
                .map_err(|(at, errno)| io_refusal(path(at), "written", errno))?;
            batch.iter().for_each(|&(_, step, _)| progress(CommitMilestone::Written(step)));
        }
        Ok(())
    }

    /// Writes every new entry next to its destination and syncs it.
    #[expect(clippy::unused_self, reason = "a step of `stage`, beside the one for files")]
    fn stage_entries(&self, plan: &mut CommitPlan<'_>) -> Result<(), FileRefusal> {
        let mut copier = EntryCopier::default();
        copier.keeps_set_id = plan.keeps_set_id;
        for at in 0..plan.steps.len() {
            let PlannedStep::Entry(EntryChange { path, new: Some(new), .. }) = plan.steps[at] else {
                continue;
            };
            let file_move = &plan.record.moves[at];
            let dir = planned_dir(plan, file_move.folder)?;
            let staged = copier.stage(dir, Path::new(&file_move.temp), new);
            let staged = staged.map_err(|errno| io_refusal(&shown(path), "written", errno))?;
            plan.record.moves[at].staged = Some(staged);
        }
        copier.sync().map_err(|errno| io_refusal("", "written", errno))
    }
}

fn record_refusal(plan: &CommitPlan<'_>, error: &std::io::Error) -> FileRefusal {
    let path = plan.steps.first().map(PlannedStep::path).unwrap_or_default();
    refuse_path(&path, format!("nothing can be changed without a record of it: {error}"))
}

fn planned_dir<'p>(plan: &'p CommitPlan<'_>, folder: usize) -> Result<BorrowedFd<'p>, FileRefusal> {
    let fd = plan.dirs.get(folder).and_then(Option::as_ref).map(OwnedFd::as_fd);
    fd.ok_or_else(|| refuse_path("", "a directory was not made; this is a bug".to_owned()))
}

fn move_refusal(path: &str, error: MoveError) -> FileRefusal {
    match error {
        MoveError::Changed => changed_refusal(path),
        MoveError::Errno(errno) => io_refusal(path, "put in place", errno),
    }
}

/// Creates the missing directories, outermost first.
fn create_missing_dirs(plan: &mut CommitPlan<'_>) -> Result<(), FileRefusal> {
    for at in 0..plan.dirs.len() {
        let Some(parent) = plan.record.folders[at].made_in else { continue };
        let real_path = plan.record.folders[at].path.to_path_buf();
        let shown = real_path.display().to_string();
        let name = real_path.file_name().map(Path::new).unwrap_or(&real_path);
        let parent = planned_dir(plan, parent)?;
        match rustix::fs::mkdirat(parent, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Err(Errno::EXIST) => return Err(changed_refusal(&shown)),
            other => other.map_err(|errno| io_refusal(&shown, "made", errno))?,
        }
        match open_created_dir(parent, name, &real_path) {
            Ok((fd, id)) => {
                plan.record.folders[at].id = Some(id);
                plan.dirs[at] = Some(fd);
            }
            Err(error) => {
                // It has no recorded identity, so a rollback could not find it.
                let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
                return Err(move_refusal(&shown, error));
            }
        }
    }
    Ok(())
}

/// Opens the directory that was just created, if it is still at its path.
fn open_created_dir(
    parent: BorrowedFd<'_>,
    name: &Path,
    real_path: &Path,
) -> Result<(OwnedFd, InodeId), MoveError> {
    let fd = syscalls::open_dir(parent, name, SymlinkPolicy::Refuse)?;
    if syscalls::real_path(fd.as_fd())? != real_path {
        return Err(MoveError::Changed);
    }
    let id = syscalls::status_of_fd(fd.as_fd())?.inode_id();
    Ok((fd, id))
}

fn sync_plan_dirs(plan: &CommitPlan<'_>) -> Result<(), FileRefusal> {
    let path = |at: usize| plan.record.folders[at].path.to_path_buf().display().to_string();
    sync_dirs(&plan.dirs).map_err(|(at, errno)| io_refusal(&path(at), "written", errno))
}

/// Syncs all `dirs`. The error has the index of the one that failed.
pub(super) fn sync_dirs(dirs: &[Option<OwnedFd>]) -> Result<(), (usize, Errno)> {
    let dirs: Vec<&OwnedFd> = dirs.iter().flatten().collect();
    stage::sync_all(&dirs, syscalls::sync_dir)
}

/// Finishes a commit whose files are all in place: removes the old contents, then the record. The next recovery
/// completes what fails here.
pub(super) fn finish_commit(record: &CommitRecord, dirs: &[Option<OwnedFd>], records: &RecordStore) -> bool {
    if record.phase != CommitPhase::Done {
        // If this fails or is lost, recovery still recognises the swept commit as done.
        let _ = records.mark_done(&record.id);
    }
    let keep_in = match record.keep_in.as_ref().map(|path| open_kept_dir(&path.to_path_buf())) {
        Some(Ok(dir)) => Some(dir),
        // What it would hold is forgotten.
        Some(Err(Errno::NOENT)) | None => None,
        Some(Err(_)) => return false,
    };
    let kept = remove_all_leftovers(record, dirs, keep_in.as_ref());
    kept && keep_in.is_none_or(|dir| syscalls::sync_dir(dir.as_fd()).is_ok())
        && records.remove(&record.id).is_ok()
}

fn open_kept_dir(path: &Path) -> Result<OwnedFd, Errno> {
    syscalls::open_dir(rustix::fs::CWD, path, SymlinkPolicy::Refuse)
}

/// Removes the leftovers of every move, even after a failure, or moves them to `keep_in`. Returns true if all
/// succeeded.
fn remove_all_leftovers(record: &CommitRecord, dirs: &[Option<OwnedFd>], keep_in: Option<&OwnedFd>) -> bool {
    let mut all = true;
    for (index, file_move) in record.moves.iter().enumerate() {
        let Some(dir) = &dirs[file_move.folder] else { continue };
        let keep = keep_in.map(|dir| KeptName { dir: dir.as_fd(), index });
        all &= file_move.remove_leftovers(dir.as_fd(), keep).is_ok();
    }
    all
}

/// Rolls everything back. Extends the refusal if even that fails.
fn refusal_after_rollback(
    plan: &mut CommitPlan<'_>,
    records: &RecordStore,
    refusal: FileRefusal,
) -> FileRefusal {
    if roll_back(&mut plan.record, &plan.dirs, records) {
        return refusal;
    }
    let what = format!("{}; not all could be put back yet, the next change tries again", refusal.what);
    FileRefusal { what, ..refusal }
}

/// Restores the old files and removes the new ones. Returns true if that succeeded.
pub(super) fn roll_back(record: &mut CommitRecord, dirs: &[Option<OwnedFd>], records: &RecordStore) -> bool {
    if record.phase == CommitPhase::Committed {
        // From here on, recovery must not go forward. If the record cannot be written, the rollback proceeds at once
        // anyway.
        record.phase = CommitPhase::Undoing;
        let _ = records.write_synced(record);
    }
    let fd = |folder: usize| dirs.get(folder).and_then(Option::as_ref);
    let mut all = true;
    for mode in &record.modes {
        let Some(dir) = fd(mode.folder) else { continue };
        all &= mode.set(dir.as_fd(), ModeSide::Old).is_ok();
    }
    for file_move in record.moves.iter().rev() {
        let Some(dir) = fd(file_move.folder) else { continue };
        all &= file_move.move_back(dir.as_fd()).is_ok();
    }
    if !all {
        return false;
    }
    all &= remove_all_leftovers(record, dirs, None);
    for (at, folder) in record.folders.iter().enumerate().rev() {
        let Some(parent) = folder.made_in.and_then(fd) else { continue };
        let path = folder.path.to_path_buf();
        let Some(name) = path.file_name() else { continue };
        all &= remove_created_dir(parent.as_fd(), Path::new(name), fd(at)).is_ok();
    }
    all &= sync_dirs(dirs).is_ok();
    all && records.remove(&record.id).is_ok()
}

/// Removes a directory that the commit created, unless it was replaced or is not empty.
fn remove_created_dir(parent: BorrowedFd<'_>, name: &Path, created: Option<&OwnedFd>) -> Result<(), Errno> {
    let Some(created) = created else { return Ok(()) };
    let here = syscalls::status_of_name(parent, name)?.map(|status| status.inode_id());
    if here != Some(syscalls::status_of_fd(created.as_fd())?.inode_id()) {
        return Ok(());
    }
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => Ok(()),
        other => other,
    }
}
