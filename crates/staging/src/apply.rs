//! Applies staged changes to the user's tree in one commit, or gives them up.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use patch::{DiskTree, EntryCommit, RecordedPath};
use private_files::PrivateDir;
use rustix::fs::CWD;

use crate::apply_plan::{
    ApplyPlan, GitDirChange, HeldBack, MergedText, PathConflict, RootPlanner, Selection,
};
use crate::base_state::{BaseDepth, BaseEntry};
use crate::entry_kind::status_of;
use crate::git_layer_dir::{changed_git_files, flatten_git_directory};
use crate::merged_entries::MergedEntries;
use crate::open_files::{names_in, open_directory};
use crate::root_layers::RootLayers;
use crate::stage::{Stage, StepLabel, seconds_now};
use crate::stage_fault::StageFault;
use crate::stage_record::{
    AppliedMode, AppliedName, AppliedNames, EventKind, PendingEvent, StageEvent, TakenLayers,
};

/// The file with the names that an apply changed.
const NAMES_FILE: &str = "names.json";
/// The maximum size of that file.
const MAX_NAMES_BYTES: u64 = 256 << 20;
/// The directory with what an apply replaced.
const KEPT_DIRECTORY: &str = "kept";

/// The result of an apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyReport {
    /// The absolute paths that changed, a new directory as one.
    pub applied: Vec<PathBuf>,
    /// Texts that the user changed too.
    pub merged: Vec<MergedText>,
    /// Changes that need to be named.
    pub held_back: Vec<HeldBack>,
    /// Sockets and devices, which cannot be applied.
    pub unsupported: Vec<PathBuf>,
    /// What git's own rules kept back, and their conflicts, in words.
    pub git_notes: Vec<String>,
}

/// The rules for git directories, whose files git obeys.
pub trait GitRules {
    /// Applies the changes of a git directory. Returns what was kept back, in words.
    fn land(&mut self, layer: &GitLayerDir) -> Vec<String>;

    /// Returns true if the index `now` has the entries of the index `known`. Git rewrites an index whenever it looks
    /// at the files.
    fn is_same_index(&self, known: &Path, now: &Path) -> bool;
}

/// The ending of the copy of an index as it was after an apply.
pub(crate) const INDEX_COPY: &str = "after";

/// A git directory with changes, as one layer that is not mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLayerDir {
    /// The user's git directory.
    pub git_dir: PathBuf,
    /// The layer over it.
    pub upper: PathBuf,
    /// The moment when its first layer was opened, in nanoseconds since 1970: what the user changed since is not
    /// overwritten.
    pub since: i128,
}

impl Stage {
    /// Applies the selected changes, all of them or none. `records` is the directory of the records of commits, and
    /// `git` applies the changes of git directories, after the files.
    ///
    /// # Errors
    ///
    /// [`StageFault::Conflicts`] if the user changed the same paths and the changes cannot be joined.
    pub fn apply(
        &mut self,
        selection: &Selection,
        records: &Path,
        git_rules: &mut dyn GitRules,
    ) -> Result<ApplyReport, StageFault> {
        let _locks = self.lock_unused()?;
        self.finish_pending(records)?;
        self.end_step_locked(&StepLabel { text: "unfinished step".to_owned(), calls: Vec::new() })?;
        let plan = self.plan_apply(selection)?;
        if !plan.conflicts.is_empty() {
            return Err(StageFault::Conflicts { conflicts: plan.conflicts });
        }
        let number = self.take_number();
        let place = self.event_directory(number);
        self.at_directory(private_files::create_private_dir(&place))?;
        self.at_directory(private_files::create_private_dir(&place.join(KEPT_DIRECTORY)))?;
        let commit = EntryCommit { keep_in: Some(place.join(KEPT_DIRECTORY)), ..plan.commit };
        let names = self.applied_names(&commit)?;
        self.write_names(number, &names)?;
        let git = self.flatten_git_directories(&plan.git_dirs, &place)?;
        let event = StageEvent {
            number,
            at: seconds_now(),
            began: 0,
            what: EventKind::Apply { taken: self.taken(&plan.taken, plan.takes_all) },
        };
        self.record.pending = Some(PendingEvent::Apply(event.clone()));
        self.save()?;
        let tree = self.at_directory(DiskTree::open_at(Path::new("/")))?;
        if let Err(refusal) = tree.commit_entries(&commit, records) {
            self.record.pending = None;
            self.save()?;
            let _left = patch::remove_tree(&place);
            return Err(refusal.into());
        }
        let mut names = names;
        let git_notes = self.land_git(&git, &place, &mut names, git_rules)?;
        self.finish_apply(event, names)?;
        let absolute = |path: &PathBuf| Path::new("/").join(path);
        let modes = commit.modes.iter().map(|change| absolute(&change.path));
        Ok(ApplyReport {
            applied: commit.changes.iter().map(|change| absolute(&change.path)).chain(modes).collect(),
            merged: plan.merged,
            held_back: plan.held_back,
            unsupported: plan.unsupported,
            git_notes,
        })
    }

    /// Applies the changes of git directories, and keeps the files that they replace.
    fn land_git(
        &self,
        git: &[GitLayerDir],
        place: &Path,
        names: &mut AppliedNames,
        git_rules: &mut dyn GitRules,
    ) -> Result<Vec<String>, StageFault> {
        let (mut notes, mut files) = (Vec::new(), Vec::new());
        for directory in git {
            for below in self.at_directory(changed_git_files(&directory.upper))? {
                files.push(directory.git_dir.join(below));
            }
        }
        for path in &files {
            let found = status_of(CWD, path).map_err(|errno| self.fault(errno.into()))?;
            if found.is_some() {
                let kept = place.join(KEPT_DIRECTORY).join(names.names.len().to_string());
                self.at_directory(patch::copy_tree(path, &kept))?;
            }
            names.names.push(AppliedName {
                path: RecordedPath::from_path(path),
                replaced: found.map(|status| status.ino),
                after: None,
                // Recorded as it is after the landing.
                puts: true,
            });
        }
        for directory in git {
            notes.extend(git_rules.land(directory));
        }
        let first = names.names.len() - files.len();
        for (at, path) in files.iter().enumerate().filter(|(_, path)| is_git_index(path)) {
            let copy = place.join(KEPT_DIRECTORY).join((first + at).to_string()).with_extension(INDEX_COPY);
            if status_of(CWD, path).ok().flatten().is_some() {
                self.at_directory(patch::copy_tree(path, &copy))?;
            }
        }
        Ok(notes)
    }

    /// Returns the paths that an apply of everything would refuse.
    pub fn conflicts(&self) -> Result<Vec<PathConflict>, StageFault> {
        Ok(self.plan_apply(&Selection::All)?.conflicts)
    }

    /// Gives up the selected changes. They can be taken back with `undo`.
    pub fn discard(&mut self, selection: &Selection, records: &Path) -> Result<Vec<PathBuf>, StageFault> {
        let _locks = self.lock_unused()?;
        self.finish_pending(records)?;
        self.end_step_locked(&StepLabel { text: "unfinished step".to_owned(), calls: Vec::new() })?;
        let mut taken = Vec::new();
        // Everything can be given up, also what cannot be read.
        let roots: Vec<PathBuf> = if *selection == Selection::All { Vec::new() } else { self.roots() };
        if *selection == Selection::All && !self.layers_in_effect().is_empty() {
            taken.extend((0..self.record.roots.len()).map(|at| (at, PathBuf::new())));
        }
        for (at, root) in roots.iter().enumerate() {
            let entries = self.merged_entries(at)?;
            let mut above: Option<PathBuf> = None;
            for (path, _) in entries.iter() {
                let is_below = above.as_ref().is_some_and(|above| path.starts_with(above));
                if !is_below && selection.contains(&root.join(path)) {
                    taken.push((at, path.to_owned()));
                    above = Some(path.to_owned());
                }
            }
        }
        if let Selection::Paths(paths) = selection
            && let Some(missing) = paths.iter().find(|path| !self.is_taken(&taken, path))
        {
            return Err(StageFault::NoSuchChange { path: missing.clone() });
        }
        if taken.is_empty() {
            return Err(StageFault::NothingTo("discard"));
        }
        let number = self.take_number();
        let takes_all = *selection == Selection::All;
        let taken_layers = self.taken(&taken, takes_all);
        self.at_directory(private_files::create_private_dir(&self.event_directory(number)))?;
        let event = StageEvent {
            number,
            at: seconds_now(),
            began: 0,
            what: EventKind::Discard { taken: taken_layers },
        };
        self.record.pending = Some(PendingEvent::Discard(event.clone()));
        self.save()?;
        self.finish_discard(event)?;
        let roots = self.roots();
        Ok(taken.into_iter().map(|(root, path)| roots[root].join(path)).collect())
    }

    /// Moves the entries of a discard out of their layers. Repeats what a crash interrupted.
    fn finish_discard(&mut self, event: StageEvent) -> Result<(), StageFault> {
        if let EventKind::Discard { taken } = &event.what {
            self.move_taken(event.number, taken, MoveDirection::OutOfLayers)?;
        }
        self.record.pending = None;
        self.push_event(event);
        self.record.generation += 1;
        self.save()
    }

    fn is_taken(&self, taken: &[(usize, PathBuf)], path: &Path) -> bool {
        let roots = self.roots();
        taken.iter().any(|(root, below)| roots[*root].join(below).starts_with(path))
    }

    /// Joins the pending layers of a root.
    pub(crate) fn merged_entries(&self, root: usize) -> Result<MergedEntries, StageFault> {
        let layers = self.layers_in_effect().into_iter().chain([self.record.open_layer]);
        let directories: Vec<PathBuf> = layers.map(|layer| self.layer_root(layer, root)).collect();
        self.at_directory(MergedEntries::read(&directories))
    }

    /// Opens the layers of all roots.
    pub(crate) fn root_layers(&self) -> Result<Vec<RootLayers>, StageFault> {
        let layers = self.layers_in_effect().into_iter().chain([self.record.open_layer]);
        let bases =
            layers.map(|layer| self.read_bases(layer).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let open = |(index, root): (usize, PathBuf)| {
            let tree = self.at_directory(RootLayers::open(&root))?;
            Ok(RootLayers { root, tree, entries: self.merged_entries(index)?, bases: bases.clone(), index })
        };
        self.roots().into_iter().enumerate().map(open).collect()
    }

    fn plan_apply(&self, selection: &Selection) -> Result<ApplyPlan, StageFault> {
        let mut plan = ApplyPlan { takes_all: *selection == Selection::All, ..ApplyPlan::default() };
        for layers in self.root_layers()? {
            let mut planner = RootPlanner { layers: &layers, selection, plan: &mut plan };
            self.at_directory(planner.run())?;
        }
        plan.takes_all &= plan.held_back.is_empty();
        if let Selection::Paths(paths) = selection {
            let conflicted = |path: &&PathBuf| plan.conflicts.iter().any(|one| one.path.starts_with(path));
            let unknown = paths.iter().find(|path| !self.is_taken(&plan.taken, path) && !conflicted(path));
            if let Some(path) = unknown {
                return Err(StageFault::NoSuchChange { path: path.clone() });
            }
        }
        Ok(plan)
    }

    fn taken(&self, paths: &[(usize, PathBuf)], takes_all: bool) -> TakenLayers {
        let layers = self.layers_in_effect();
        if takes_all {
            return TakenLayers::Whole(layers);
        }
        let paths = paths.iter().map(|(root, path)| (*root, RecordedPath::from_path(path))).collect();
        TakenLayers::Entries { layers, paths }
    }

    /// Returns what the commit will do to each name, without its result.
    fn applied_names(&self, commit: &EntryCommit) -> Result<AppliedNames, StageFault> {
        let absolute = |path: &PathBuf| Path::new("/").join(path);
        let names = commit.changes.iter().map(|change| AppliedName {
            path: RecordedPath::from_path(&absolute(&change.path)),
            replaced: change.found.map(|found| found.ino),
            after: None,
            puts: change.new.is_some(),
        });
        let mode = |change: &patch::ModeChange| {
            let path = absolute(&change.path);
            let old = status_of(CWD, &path).map_err(|errno| self.fault(errno.into()))?;
            let old = old.map_or(change.mode.0, |status| status.mode);
            Ok(AppliedMode { path: RecordedPath::from_path(&path), old, new: change.mode.0 })
        };
        let modes = commit.modes.iter().map(mode).collect::<Result<_, StageFault>>()?;
        Ok(AppliedNames { names: names.collect(), modes })
    }

    /// Records the apply after its commit.
    fn finish_apply(&mut self, event: StageEvent, mut names: AppliedNames) -> Result<(), StageFault> {
        let root = self.at_directory(RootLayers::open(Path::new("/")))?;
        for name in names.names.iter_mut().filter(|name| name.puts) {
            let path = name.path.to_path_buf();
            let below = path.strip_prefix("/").unwrap_or(&path);
            name.after = self.at_directory(BaseEntry::read(&root, below, BaseDepth::ExactTree))?;
        }
        self.write_names(event.number, &names)?;
        if let EventKind::Apply { taken } = &event.what {
            self.move_taken(event.number, taken, MoveDirection::OutOfLayers)?;
        }
        self.record.pending = None;
        self.push_event(event);
        self.record.generation += 1;
        self.save()
    }

    /// Completes what a crash interrupted: the tree shows if the commit was made.
    pub(crate) fn finish_pending(&mut self, records: &Path) -> Result<(), StageFault> {
        let Some(pending) = self.record.pending.clone() else { return Ok(()) };
        self.at_directory(patch::recover(records))?;
        match pending {
            PendingEvent::Apply(event) => {
                let names = self.read_names(event.number)?;
                if self.was_committed(event.number, &names)? {
                    let event = self.without_git(event, &names);
                    return self.finish_apply(event, names);
                }
                let _left = patch::remove_tree(&self.event_directory(event.number));
            }
            PendingEvent::Discard(event) => return self.finish_discard(event),
            PendingEvent::Undo => self.finish_undo()?,
        }
        self.record.pending = None;
        self.save()
    }

    /// Returns true if the commit of an apply was made: it keeps what it replaces, and a rollback restores that.
    fn was_committed(&self, number: u32, names: &AppliedNames) -> Result<bool, StageFault> {
        let kept = open_directory(&self.kept_directory(number)).and_then(|kept| names_in(&kept));
        if !kept.map_err(|errno| self.fault(errno.into()))?.is_empty() {
            return Ok(true);
        }
        let is_there = |name: &AppliedName| matches!(status_of(CWD, &name.path.to_path_buf()), Ok(Some(_)));
        let only_adds = names.names.iter().all(|name| name.replaced.is_none());
        let changed_modes = names.modes.iter().any(|mode| {
            let now = status_of(CWD, &mode.path.to_path_buf()).ok().flatten();
            now.is_some_and(|now| now.mode == mode.new)
        });
        Ok((only_adds && names.names.iter().any(is_there)) || (names.names.is_empty() && changed_modes))
    }

    /// Leaves the changes of git directories pending: a crash may have come before they were applied.
    fn without_git(&self, mut event: StageEvent, names: &AppliedNames) -> StageEvent {
        let has_git =
            status_of(CWD, &self.event_directory(event.number).join("git-0")).ok().flatten().is_some();
        if has_git {
            let roots = self.roots();
            let below_root = |name: &AppliedName| {
                let path = name.path.to_path_buf();
                let found = roots
                    .iter()
                    .enumerate()
                    .rev()
                    .find_map(|(at, root)| Some((at, path.strip_prefix(root).ok()?)));
                found.map(|(at, below)| (at, RecordedPath::from_path(below)))
            };
            let paths = names.names.iter().filter_map(below_root).collect();
            event.what =
                EventKind::Apply { taken: TakenLayers::Entries { layers: self.layers_in_effect(), paths } };
        }
        event
    }

    /// Returns when a layer, counted from the lowest in effect, was opened.
    fn layer_opened(&self, at: usize) -> i128 {
        let layer = self.layers_in_effect().get(at).copied();
        let event = self.record.events.iter().find(|event| Some(event.number) == layer);
        event.map_or(i128::MAX, |event| event.began)
    }

    pub(crate) fn write_names(&self, number: u32, names: &AppliedNames) -> Result<(), StageFault> {
        let directory = self.at_directory(PrivateDir::open(&self.event_directory(number)))?;
        let bytes = self.at_directory(serde_json::to_vec(names).map_err(Into::into))?;
        self.at_directory(directory.replace(NAMES_FILE, &bytes))
    }

    pub(crate) fn read_names(&self, number: u32) -> Result<AppliedNames, StageFault> {
        let directory = self.at_directory(PrivateDir::open(&self.event_directory(number)))?;
        let bytes = self.at_directory(directory.read(NAMES_FILE, MAX_NAMES_BYTES))?.unwrap_or_default();
        self.at_directory(serde_json::from_slice(&bytes).map_err(Into::into))
    }

    pub(crate) fn kept_directory(&self, number: u32) -> PathBuf {
        self.event_directory(number).join(KEPT_DIRECTORY)
    }

    /// Moves the taken entries out of their layers, or back. Layers that are taken as a whole stay where they are.
    pub(crate) fn move_taken(
        &self,
        number: u32,
        taken: &TakenLayers,
        direction: MoveDirection,
    ) -> Result<(), StageFault> {
        let TakenLayers::Entries { layers, paths } = taken else { return Ok(()) };
        for layer in layers {
            for (root, path) in paths {
                let path = path.to_path_buf();
                let in_layer = self.layer_root(*layer, *root).join(&path);
                let aside = self
                    .event_directory(number)
                    .join(format!("layer-{layer}"))
                    .join(root.to_string())
                    .join(&path);
                let (from, to) = match direction {
                    MoveDirection::OutOfLayers => (in_layer, aside),
                    MoveDirection::BackIntoLayers => (aside, in_layer),
                };
                self.at_directory(move_entry(&from, &to))?;
            }
        }
        Ok(())
    }

    fn flatten_git_directories(
        &self,
        git_dirs: &[GitDirChange],
        place: &Path,
    ) -> Result<Vec<GitLayerDir>, StageFault> {
        let mut all = Vec::new();
        for (at, git) in git_dirs.iter().enumerate() {
            let upper = place.join(format!("git-{at}"));
            let entries = self.merged_entries(git.root)?;
            self.at_directory(flatten_git_directory(&entries, &git.path, &upper))?;
            let first = entries.below(&git.path).map(|(_, entry)| entry.first_layer).min().unwrap_or(0);
            let git_dir = self.roots()[git.root].join(&git.path);
            all.push(GitLayerDir { git_dir, upper, since: self.layer_opened(first) });
        }
        Ok(all)
    }
}

/// Returns true if `path` is the index of a git directory or a worktree.
pub(crate) fn is_git_index(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "index")
        && path.components().any(|part| part.as_os_str() == ".git")
}

/// The direction in which the entries of an event move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoveDirection {
    OutOfLayers,
    BackIntoLayers,
}

/// Moves an entry, and creates the directories above its new place. It is no error if it is missing.
fn move_entry(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::io::Errno;
    if status_of(CWD, from)?.is_none() {
        return Ok(());
    }
    let missing: Vec<&Path> =
        to.ancestors().skip(1).take_while(|above| matches!(status_of(CWD, above), Ok(None))).collect();
    for above in missing.into_iter().rev() {
        match rustix::fs::mkdir(above, rustix::fs::Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(rustix::fs::rename(from, to)?)
}
