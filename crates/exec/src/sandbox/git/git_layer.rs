//! Git layer: the changes of a run in one git directory, and their landing on the host.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::Repository;
use super::allowlist::{self, LandingVerdict, RemovalScope};
use super::host_git_dir::{HostGitDir, LandedMark};
use super::landing::LayerLanding;
use super::landing_plan::{LandingItem, LandingJob, LandingPlan};
use super::path_text::{display_path, parts};
use super::upper_dir::UpperDir;

/// The maximum number of names reported of a kind.
const MAX_REPORTED_NAMES: usize = 16;
/// The maximum number of names recorded of a kind.
const MAX_RECORDED_NAMES: usize = 1_000;
/// The maximum number of worktrees whose index is kept open.
const MAX_WORKTREE_INDEXES: usize = 8;
/// The maximum lag of a file system's clock, in nanoseconds.
const CLOCK_LAG_NANOS: i128 = 20_000_000;

/// The changes of a run in one git directory, and the state of their landing.
#[derive(Debug)]
pub(crate) struct GitLayer {
    pub(super) repository: Repository,
    upper: PathBuf,
    /// The start of the run, in nanoseconds.
    pub(super) start_nanos: i128,
    /// Files that landed, with their mark: a different mark means that another process changed the file.
    pub(super) landed_files: BTreeMap<PathBuf, LandedMark>,
    /// The indexes at the start of the run. Git replaces an index, so an open one stays unchanged.
    pub(super) indexes: HashMap<PathBuf, File>,
    /// The upper directory when it was last found empty, with its change times.
    last_empty_upper: Option<(UpperDir, [i128; 2])>,
}

/// The age of a change after which a later one certainly has another time, in nanoseconds.
const SETTLED_AGE_NANOS: i128 = 100_000_000;

fn now_nanos() -> i128 {
    UNIX_EPOCH.elapsed().map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX))
}

/// The result of landing a run's changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LandedChanges {
    /// The number of files written or removed on the host.
    pub(crate) landed: usize,
    /// Names below the git directory that stay in the sandbox, sorted, at most 16.
    pub(crate) kept_back: Vec<String>,
    /// The number of further names.
    pub(crate) more_kept_back: usize,
    /// Files changed on both sides, where the host's version stays. With the id that a branch has in the sandbox.
    pub(crate) conflicts: Vec<String>,
    /// Operations such as a rebase that the command left unfinished, in words.
    pub(crate) unfinished: Vec<String>,
    /// Failures, in words.
    pub(crate) faults: Vec<String>,
}

impl GitLayer {
    /// Creates a layer over `repository` for a run that is about to start.
    pub(crate) fn new(repository: Repository, upper: PathBuf) -> Self {
        let start_nanos = now_nanos();
        let indexes = HostGitDir::open(&repository.at).map(|host| open_indexes(&host)).unwrap_or_default();
        Self {
            repository,
            upper,
            start_nanos,
            landed_files: BTreeMap::new(),
            indexes,
            last_empty_upper: None,
        }
    }

    /// Returns true if there may be changes to land. This is called often, so an empty directory is not listed again
    /// until it changes.
    pub(crate) fn has_pending_changes(&mut self) -> bool {
        if !self.landed_files.is_empty() {
            return true;
        }
        if self.last_empty_upper.as_ref().is_some_and(|(upper, times)| upper.change_times() == Ok(*times)) {
            return false;
        }
        let Ok(upper) = UpperDir::open(&self.upper) else { return true };
        let (times, empty) = (upper.change_times(), upper.is_empty() == Ok(true));
        // A change within the same clock tick as the last one would leave no trace.
        let settled =
            |times: &[i128; 2]| empty && times.iter().all(|time| time + SETTLED_AGE_NANOS < now_nanos());
        self.last_empty_upper = times.ok().filter(settled).map(|times| (upper, times));
        !empty
    }

    /// Lands the allowed changes while the run may continue: nothing is removed from the upper directory.
    pub(crate) fn land(&mut self) -> LandedChanges {
        let landed = self.land_with(HostGitDir::visible_to_run, |_, _, _| {});
        // The run may still finish its operations.
        LandedChanges { unfinished: Vec::new(), ..landed }
    }

    /// Lands the allowed changes after the run, when the upper directory is no longer mounted. Landed files are
    /// removed from the upper directory, so that the next run sees the host's. Private files stay there.
    ///
    /// Conflicting files are removed too: the next run would not know of the conflict, and would land them over the
    /// host's. So are unfinished operations, with the files that they block: the next run sees the host's state.
    pub(crate) fn finish(mut self) -> LandedChanges {
        self.land_with(
            |host| host,
            |upper, plan, settled| {
                for path in settled.iter().chain(&plan.dropped) {
                    upper.remove(path);
                }
                for (path, opaque) in plan.directories.iter().rev() {
                    upper.remove_or_unhide(path, *opaque);
                }
            },
        )
    }

    fn land_with(
        &mut self,
        to: impl FnOnce(HostGitDir) -> HostGitDir,
        sweep: impl FnOnce(&UpperDir, &LandingPlan, &[PathBuf]),
    ) -> LandedChanges {
        let failed = |what: &str, error| LandedChanges {
            faults: vec![format!("{what}: {error}")],
            ..LandedChanges::default()
        };
        let upper = match UpperDir::open(&self.upper) {
            Ok(upper) => upper,
            Err(errno) => return failed("the changes cannot be read", errno),
        };
        match upper.is_empty() {
            Ok(true) if self.landed_files.is_empty() => return LandedChanges::default(),
            Ok(_) => {}
            Err(errno) => return failed("the changes cannot be read", errno),
        }
        let host = match HostGitDir::open(&self.repository.at) {
            Ok(host) => to(host),
            Err(errno) => return failed("the git directory cannot be opened", errno),
        };
        let mut plan = LandingPlan::read(&upper, &host);
        plan.items.extend(self.removals_of_vanished_files(&upper));
        plan.items.sort_by_key(LandingItem::phase);
        let mut landing = LayerLanding::new(self, &host, &upper);
        landing.land_all(&mut plan);
        let mut report = landing.report;
        sweep(&upper, &plan, &report.removable);
        // Leftovers of an earlier run were reported then.
        report.kept.retain(|path| upper.change_time(path).is_none_or(|at| self.is_new(at)));
        report.into_landed()
    }

    /// Returns true if the change was made by this run, and not by an earlier one.
    pub(super) fn is_new(&self, changed: i128) -> bool {
        changed >= self.start_nanos - CLOCK_LAG_NANOS
    }

    /// Forgets the landed files at `path` and below it, which follow it in order.
    pub(super) fn forget(&mut self, path: &Path) {
        let below = self.landed_files.range(path.to_owned()..).take_while(|(done, _)| done.starts_with(path));
        let below: Vec<PathBuf> = below.map(|(done, _)| done.clone()).collect();
        for done in &below {
            self.landed_files.remove(done);
        }
    }

    /// Returns removals of files that an earlier landing brought to the host and the run has removed since. In a new
    /// directory, a removal leaves no whiteout.
    fn removals_of_vanished_files(&self, upper: &UpperDir) -> Vec<LandingItem> {
        let mut gone = HashSet::new();
        for path in self.landed_files.keys().filter(|path| upper.lacks(path)) {
            let tree: PathBuf = path.iter().take(2).collect();
            if path.starts_with("worktrees") && upper.lacks(&tree) {
                gone.insert((tree, RemovalScope::Tree));
            } else if let LandingVerdict::Land(_, RemovalScope::File | RemovalScope::Tree) =
                allowlist::judge(&parts(path))
            {
                gone.insert((path.clone(), RemovalScope::File));
            }
        }
        let item =
            |(path, removal)| LandingItem { path, removal, changed: i128::MAX, job: LandingJob::Remove };
        gone.into_iter().map(item).collect()
    }
}

/// Applies the changes of the layer at `upper`, which is not mounted, to the user's git directory `git_dir`. What the
/// user changed after `since_nanos` stays. Returns what was kept back, in words.
pub fn land_git_layer(git_dir: &Path, upper: &Path, since_nanos: i128) -> Vec<String> {
    let root = git_dir.parent().unwrap_or(git_dir).to_owned();
    // The session made the repository.
    let _exists = rustix::fs::mkdir(git_dir, rustix::fs::Mode::from_raw_mode(0o755));
    let mut layer = GitLayer::new(Repository { at: git_dir.to_owned(), root }, upper.to_owned());
    layer.start_nanos = layer.start_nanos.min(since_nanos);
    layer.finish().notes()
}

/// Returns true if the git index at `now` has the entries of the one at `known`.
pub fn is_same_git_index(known: &Path, now: &Path) -> bool {
    let open = |path: &Path| {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
        rustix::fs::open(path, flags, rustix::fs::Mode::empty()).map(File::from)
    };
    let (Ok(known), Ok(now)) = (open(known), open(now)) else { return false };
    super::index::includes_changes(&known, &now, &known)
}

impl LandedChanges {
    /// Adds the result of another layer, or a later one of the same layer.
    pub(crate) fn add(&mut self, other: Self) {
        self.landed += other.landed;
        self.more_kept_back = self.more_kept_back.max(other.more_kept_back);
        for (all, new) in [
            (&mut self.kept_back, other.kept_back),
            (&mut self.conflicts, other.conflicts),
            (&mut self.unfinished, other.unfinished),
            (&mut self.faults, other.faults),
        ] {
            for name in new {
                if all.len() <= MAX_REPORTED_NAMES && !all.contains(&name) {
                    all.push(name);
                }
            }
        }
    }

    /// Returns notes for the model or the user.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.kept_back.is_empty() {
            let more = if self.more_kept_back > 0 {
                format!(" and {} more", self.more_kept_back)
            } else {
                String::new()
            };
            let names = self.kept_back.join(", ");
            notes.push(format!(
                "Changed in the sandbox only, the repository keeps its own: {names}{more} (in .git)"
            ));
        }
        if !self.conflicts.is_empty() {
            let names = self.conflicts.join(", ");
            notes.push(format!("Changed outside meanwhile, so not changed by this: {names} (in .git)"));
        }
        notes.extend(
            self.unfinished
                .iter()
                .map(|unfinished| format!("Unfinished, so not landed in .git: {unfinished}")),
        );
        notes.extend(self.faults.iter().map(|fault| format!("Not landed in .git: {fault}")));
        notes
    }
}

fn open_indexes(host: &HostGitDir) -> HashMap<PathBuf, File> {
    let linked = host.list_names(Path::new("worktrees")).into_iter().take(MAX_WORKTREE_INDEXES);
    let linked = linked.map(|name| Path::new("worktrees").join(name).join("index"));
    std::iter::once(PathBuf::from("index"))
        .chain(linked)
        .filter_map(|path| host.open_file(&path).map(|file| (path, file)))
        .collect()
}

/// The collected outcomes of a landing.
#[derive(Debug, Default)]
pub(super) struct LandingReport {
    pub(super) landed: usize,
    kept: BTreeSet<PathBuf>,
    /// The number of further kept files.
    more_kept: usize,
    conflicts: BTreeSet<String>,
    /// Operations that were left unfinished.
    pub(super) unfinished: Vec<String>,
    faults: Vec<String>,
    /// Files that need not stay in the upper directory.
    pub(super) removable: Vec<PathBuf>,
}

impl LandingReport {
    /// Records a file that stays in the sandbox.
    pub(super) fn keep(&mut self, path: PathBuf) {
        if self.kept.len() < MAX_RECORDED_NAMES {
            self.kept.insert(path);
        } else if !self.kept.contains(&path) {
            self.more_kept += 1;
        }
    }

    /// Adds the kept files of another report.
    pub(super) fn keep_all(&mut self, other: &mut Self) {
        std::mem::take(&mut other.kept).into_iter().for_each(|path| self.keep(path));
        self.more_kept += other.more_kept;
    }

    /// Records a file that was changed on both sides.
    pub(super) fn conflict(&mut self, description: String) {
        if self.conflicts.len() < MAX_RECORDED_NAMES {
            self.conflicts.insert(description);
        }
    }

    /// Records a failure, once.
    pub(super) fn fault(&mut self, description: String) {
        if self.faults.len() < MAX_RECORDED_NAMES && !self.faults.contains(&description) {
            self.faults.push(description);
        }
    }

    fn into_landed(self) -> LandedChanges {
        LandedChanges {
            landed: self.landed,
            more_kept_back: self.kept.len().saturating_sub(MAX_REPORTED_NAMES) + self.more_kept,
            kept_back: self.kept.iter().take(MAX_REPORTED_NAMES).map(|path| display_path(path)).collect(),
            conflicts: limit_names(self.conflicts.into_iter().collect()),
            unfinished: limit_names(self.unfinished),
            faults: limit_names(self.faults),
        }
    }
}

fn limit_names(mut all: Vec<String>) -> Vec<String> {
    if all.len() > MAX_REPORTED_NAMES {
        let more = all.len() - MAX_REPORTED_NAMES;
        all.truncate(MAX_REPORTED_NAMES);
        all.push(format!("and {more} more"));
    }
    all
}
