//! The history of a stage: checkpoints, undo and redo.

use std::path::{Path, PathBuf};

use patch::{DirectoryMode, DiskTree, EntryChange, EntryCommit, ModeChange, NewEntry};
use rustix::fs::CWD;

use crate::apply::{GitRules, INDEX_COPY, MoveDirection, is_git_index};
use crate::apply_plan::Selection;
use crate::base_state::{BaseDepth, BaseEntry};
use crate::entry_kind::{EntryKind, status_of};
use crate::root_layers::RootLayers;
use crate::stage::{Stage, StepLabel};
use crate::stage_fault::StageFault;
use crate::stage_record::{AppliedNames, EventKind, PendingEvent, StageEvent};

/// The kind of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointKind {
    /// A step wrote to the layers.
    Step,
    /// Changes were applied.
    Apply,
    /// Changes were discarded.
    Discard,
}

impl CheckpointKind {
    /// Returns its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Apply => "apply",
            Self::Discard => "discard",
        }
    }
}

/// A point in the history that can be returned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number, from 1.
    pub number: usize,
    /// Its kind.
    pub kind: CheckpointKind,
    /// What happened.
    pub label: String,
    /// The ids of the calls of a step.
    pub calls: Vec<String>,
    /// The seconds from 1970.
    pub at: u64,
    /// True if it was undone.
    pub is_undone: bool,
}

/// A path that an undo left, since the user changed it after the apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftPath {
    /// The absolute path.
    pub path: PathBuf,
}

/// The result of an undo or a redo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryMove {
    /// What was taken back or repeated, in that order.
    pub moved: Vec<Checkpoint>,
    /// The paths of the user's tree that changed.
    pub changed: Vec<PathBuf>,
    /// The paths of the user's tree that were left.
    pub left: Vec<LeftPath>,
}

impl Stage {
    /// Returns the history, the oldest first.
    pub fn checkpoints(&self) -> Vec<Checkpoint> {
        let describe = |(at, event): (usize, &StageEvent)| checkpoint(at, event, at >= self.record.in_effect);
        self.record.events.iter().enumerate().map(describe).collect()
    }

    /// Finds the number of steps to undo so that the step of `name`, a checkpoint's number or a call's id, is undone.
    pub fn steps_back_to(&self, name: &str) -> Result<usize, StageFault> {
        let all = self.checkpoints();
        let named = all.iter().find(|one| !one.is_undone && one.calls.iter().any(|call| call == name));
        let found = named.ok_or_else(|| StageFault::NoSuchCheckpoint { name: name.to_owned() })?;
        Ok(self.record.in_effect - found.number + 1)
    }

    /// Takes back the last `steps` events.
    pub fn undo(
        &mut self,
        steps: usize,
        records: &Path,
        git_rules: &mut dyn GitRules,
    ) -> Result<HistoryMove, StageFault> {
        let _locks = self.lock_unused()?;
        self.finish_pending(records)?;
        self.end_step_locked(&StepLabel { text: "unfinished step".to_owned(), calls: Vec::new() })?;
        if self.record.in_effect == 0 {
            return Err(StageFault::NothingTo("undo"));
        }
        let mut done = HistoryMove::default();
        for _ in 0..steps.min(self.record.in_effect) {
            let at = self.record.in_effect - 1;
            let event = self.record.events[at].clone();
            if let EventKind::Apply { .. } = &event.what {
                self.undo_apply(event.number, records, git_rules, &mut done)?;
            }
            self.record.pending = Some(PendingEvent::Undo);
            self.save()?;
            self.finish_undo()?;
            self.record.pending = None;
            self.save()?;
            done.moved.push(checkpoint(at, &event, true));
        }
        Ok(done)
    }

    /// Takes the last event in effect back, once its changes of the user's tree are. Repeats what a crash interrupted.
    pub(crate) fn finish_undo(&mut self) -> Result<(), StageFault> {
        let Some(at) = self.record.in_effect.checked_sub(1) else { return Ok(()) };
        let event = self.record.events[at].clone();
        match &event.what {
            EventKind::Step { .. } => {}
            EventKind::Apply { taken } | EventKind::Discard { taken } => {
                self.move_taken(event.number, taken, MoveDirection::BackIntoLayers)?;
            }
        }
        self.record.in_effect = at;
        self.record.generation += 1;
        Ok(())
    }

    /// Repeats the last `steps` events that were taken back.
    pub fn redo(
        &mut self,
        steps: usize,
        records: &Path,
        git_rules: &mut dyn GitRules,
    ) -> Result<HistoryMove, StageFault> {
        let (lock, used) = self.lock_unused()?;
        self.finish_pending(records)?;
        if !self.is_untouched()? || self.record.in_effect == self.record.events.len() {
            return Err(StageFault::NothingTo("redo"));
        }
        let (mut lock, mut used) = (Some(lock), Some(used));
        let mut done = HistoryMove::default();
        for _ in 0..steps.min(self.record.events.len() - self.record.in_effect) {
            let at = self.record.in_effect;
            let event = self.record.events[at].clone();
            match &event.what {
                EventKind::Step { .. } => {
                    self.record.in_effect += 1;
                    self.record.generation += 1;
                    self.save()?;
                }
                EventKind::Discard { taken } => {
                    self.move_taken(event.number, taken, MoveDirection::OutOfLayers)?;
                    self.record.in_effect += 1;
                    self.record.generation += 1;
                    self.save()?;
                }
                EventKind::Apply { taken } => {
                    let selection = self.selection_of(taken);
                    let behind = self.record.events.split_off(at + 1);
                    let first = self.record.events.pop();
                    self.save()?;
                    drop((lock.take(), used.take()));
                    let report = match self.apply(&selection, records, git_rules) {
                        Ok(report) => report,
                        Err(fault) => {
                            // It can be tried again, and so can what came after it.
                            self.record.events.extend(first.into_iter().chain(behind));
                            self.save()?;
                            return Err(fault);
                        }
                    };
                    done.changed.extend(report.applied);
                    let _gone = patch::remove_tree(&self.event_directory(event.number));
                    self.record.events.extend(behind);
                    self.save()?;
                    let locks = self.lock_unused()?;
                    (lock, used) = (Some(locks.0), Some(locks.1));
                }
            }
            done.moved.push(checkpoint(at, &event, false));
        }
        Ok(done)
    }

    fn selection_of(&self, taken: &crate::stage_record::TakenLayers) -> Selection {
        match taken {
            crate::stage_record::TakenLayers::Whole(_) => Selection::All,
            crate::stage_record::TakenLayers::Entries { paths, .. } => {
                let roots = self.roots();
                Selection::Paths(
                    paths.iter().map(|(root, path)| roots[*root].join(path.to_path_buf())).collect(),
                )
            }
        }
    }

    /// Restores what an apply replaced, except where the user changed it since.
    fn undo_apply(
        &mut self,
        number: u32,
        records: &Path,
        git_rules: &dyn GitRules,
        done: &mut HistoryMove,
    ) -> Result<(), StageFault> {
        let names = self.read_names(number)?;
        let commit = self.reverse_commit(number, &names, git_rules, done)?;
        let tree = self.at_directory(DiskTree::open_at(Path::new("/")))?;
        tree.commit_entries(&commit, records)?;
        done.changed.extend(commit.changes.iter().map(|change| Path::new("/").join(&change.path)));
        Ok(())
    }

    fn reverse_commit(
        &self,
        number: u32,
        names: &AppliedNames,
        git_rules: &dyn GitRules,
        done: &mut HistoryMove,
    ) -> Result<EntryCommit, StageFault> {
        let root = self.at_directory(RootLayers::open(Path::new("/")))?;
        let replaced = self.event_directory(number).join(format!("undone-{}", self.record.generation));
        self.at_directory(private_files::create_private_dir(&replaced))?;
        let mut commit =
            EntryCommit { keep_in: Some(replaced), keeps_set_id: true, ..EntryCommit::default() };
        for (index, name) in names.names.iter().enumerate() {
            let path = name.path.to_path_buf();
            let below = path.strip_prefix("/").unwrap_or(&path).to_owned();
            let now = self.at_directory(BaseEntry::read(&root, &below, BaseDepth::ExactTree))?;
            let is_unchanged = match (&now, &name.after) {
                (None, None) => true,
                (Some(now), Some(after)) => after.is_same(now),
                (Some(_), None) | (None, Some(_)) => false,
            };
            let kept = self.kept_directory(number).join(index.to_string());
            let is_same_index =
                || is_git_index(&path) && git_rules.is_same_index(&kept.with_extension(INDEX_COPY), &path);
            let is_unchanged = is_unchanged || is_same_index();
            let kept_kind = status_of(CWD, &kept).ok().flatten().map(|status| status.kind);
            let has_kept = kept_kind.is_some();
            // A socket is nothing without its program.
            if matches!(kept_kind, Some(EntryKind::Socket | EntryKind::Device)) {
                continue;
            }
            if !is_unchanged || (name.replaced.is_some() && !has_kept) {
                done.left.push(LeftPath { path });
                continue;
            }
            if now.is_none() && !has_kept {
                continue;
            }
            let found = status_of(CWD, &path).map_err(|errno| self.fault(errno.into()))?;
            let new = has_kept.then_some(NewEntry::Copy(kept));
            commit.changes.push(EntryChange {
                path: below,
                found: found.map(|status| status.version()),
                new,
            });
        }
        for mode in &names.modes {
            let path = mode.path.to_path_buf();
            let now = status_of(CWD, &path).map_err(|errno| self.fault(errno.into()))?;
            if now.is_some_and(|now| now.mode == mode.new) {
                let below = path.strip_prefix("/").unwrap_or(&path).to_owned();
                commit.modes.push(ModeChange { path: below, mode: DirectoryMode(mode.old) });
            }
        }
        Ok(commit)
    }
}

fn checkpoint(at: usize, event: &StageEvent, is_undone: bool) -> Checkpoint {
    let (kind, label, calls) = match &event.what {
        EventKind::Step { label, calls } => (CheckpointKind::Step, label.clone(), calls.clone()),
        EventKind::Apply { .. } => (CheckpointKind::Apply, "apply".to_owned(), Vec::new()),
        EventKind::Discard { .. } => (CheckpointKind::Discard, "discard".to_owned(), Vec::new()),
    };
    Checkpoint { number: at + 1, kind, label, calls, at: event.at, is_undone }
}
