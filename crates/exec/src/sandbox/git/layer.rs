//! What a run changes in one git directory, and how it comes to the host.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::Repository;
use super::allowed::{self, Removal, Verdict};
use super::landing::Landing;
use super::paths::{parts, shown};
use super::place::{Host, Mark};
use super::plan::{Item, Job, Plan};
use super::upper::Upper;

/// How many names of a kind are told.
const TOLD: usize = 16;
/// How many names of a kind are noted.
const NOTED: usize = 1_000;
/// How many worktrees have their index held open.
const INDEXES: usize = 8;
/// How far the clock of a file system may be behind, in nanoseconds.
const BEHIND: i128 = 20_000_000;

/// What a run changes in one git directory, and what of it may land.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(super) repository: Repository,
    upper: PathBuf,
    /// When the run began, in nanoseconds.
    pub(super) began: i128,
    /// What was landed already, as it was left: what differs from this was changed by somebody else.
    pub(super) done: BTreeMap<PathBuf, Mark>,
    /// The indexes as they were when the run began. git replaces an index, so an open one stays as it is.
    pub(super) indexes: HashMap<PathBuf, File>,
    /// The upper directory as it was seen to be empty, and when it had last changed.
    empty: Option<(Upper, [i128; 2])>,
}

/// How long ago a change must be for a later one to have another time, in nanoseconds.
const SETTLED: i128 = 100_000_000;

fn now() -> i128 {
    UNIX_EPOCH.elapsed().map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX))
}

/// What became of a run's changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Landed {
    /// How many files were written or removed on the host.
    pub(crate) landed: usize,
    /// Names below the git directory that stay in the sandbox, sorted, at most 16.
    pub(crate) kept_back: Vec<String>,
    /// How many more there are.
    pub(crate) more_kept_back: usize,
    /// Changed on both sides: the host's version stays. With the id that a branch has in the sandbox.
    pub(crate) conflicts: Vec<String>,
    /// What could not be done, in words.
    pub(crate) faults: Vec<String>,
}

impl Layer {
    /// A layer over `repository` that a run is about to write to.
    pub(crate) fn new(repository: Repository, upper: PathBuf) -> Self {
        let began = now();
        let indexes = Host::open(&repository.at).map(|host| indexes(&host)).unwrap_or_default();
        Self { repository, upper, began, done: BTreeMap::new(), indexes, empty: None }
    }

    /// Whether there is anything to land; also if nobody can tell. This is asked often, so what was empty is not listed again
    /// until something has changed.
    pub(crate) fn has_to_land(&mut self) -> bool {
        if !self.done.is_empty() {
            return true;
        }
        if self.empty.as_ref().is_some_and(|(upper, times)| upper.times() == Ok(*times)) {
            return false;
        }
        let Ok(upper) = Upper::open(&self.upper) else { return true };
        let (times, empty) = (upper.times(), upper.is_empty() == Ok(true));
        // A change that comes within the same tick of the clock as the last one would leave no trace.
        let settled = |times: &[i128; 2]| empty && times.iter().all(|time| time + SETTLED < now());
        self.empty = times.ok().filter(settled).map(|times| (upper, times));
        !empty
    }

    /// Lands what may be landed. The run may go on meanwhile and afterwards: nothing is removed from the upper directory.
    pub(crate) fn land(&mut self) -> Landed {
        self.bring(Host::seen, |_, _, _| {})
    }

    /// Lands what may be landed, now that the run is over and nothing mounts the upper directory any more. What has landed
    /// is removed from the upper directory, so that the next run sees the host's; what is private stays there.
    ///
    /// What is in conflict is removed too: the next run could not know of it, and would land it over the host's.
    pub(crate) fn finish(mut self) -> Landed {
        self.bring(
            |host| host,
            |upper, plan, settled| {
                for path in settled.iter().chain(&plan.dropped) {
                    upper.remove(path);
                }
                for (path, opaque) in plan.directories.iter().rev() {
                    upper.let_through(path, *opaque);
                }
            },
        )
    }

    fn bring(
        &mut self,
        to: impl FnOnce(Host) -> Host,
        sweep: impl FnOnce(&Upper, &Plan, &[PathBuf]),
    ) -> Landed {
        let failed =
            |what: &str, error| Landed { faults: vec![format!("{what}: {error}")], ..Landed::default() };
        let upper = match Upper::open(&self.upper) {
            Ok(upper) => upper,
            Err(errno) => return failed("the changes cannot be read", errno),
        };
        match upper.is_empty() {
            Ok(true) if self.done.is_empty() => return Landed::default(),
            Ok(_) => {}
            Err(errno) => return failed("the changes cannot be read", errno),
        }
        let host = match Host::open(&self.repository.at) {
            Ok(host) => to(host),
            Err(errno) => return failed("the git directory cannot be opened", errno),
        };
        let mut plan = Plan::read(&upper, &host);
        plan.items.extend(self.vanished(&upper));
        plan.items.sort_by_key(Item::phase);
        let mut landing = Landing::new(self, &host, &upper);
        landing.carry_out(&mut plan);
        let mut report = landing.report;
        sweep(&upper, &plan, &report.settled);
        // What an earlier run has left was told then.
        report.kept.retain(|path| upper.changed(path).is_none_or(|at| self.is_new(at)));
        report.told()
    }

    /// Whether this was done by this run, and not by an earlier one.
    pub(super) fn is_new(&self, changed: i128) -> bool {
        changed >= self.began - BEHIND
    }

    /// Forgets what was landed at `path` and below it, which follows it in order.
    pub(super) fn forget(&mut self, path: &Path) {
        let below = self.done.range(path.to_owned()..).take_while(|(done, _)| done.starts_with(path));
        let below: Vec<PathBuf> = below.map(|(done, _)| done.clone()).collect();
        for done in &below {
            self.done.remove(done);
        }
    }

    /// What an earlier landing brought to the host, and the run has removed since. In a directory that is new, that
    /// leaves no trace.
    fn vanished(&self, upper: &Upper) -> Vec<Item> {
        let mut gone = HashSet::new();
        for path in self.done.keys().filter(|path| upper.lacks(path)) {
            let tree: PathBuf = path.iter().take(2).collect();
            let work = path.parent().filter(|dir| allowed::is_operation(&parts(dir)));
            if path.starts_with("worktrees") && upper.lacks(&tree) {
                gone.insert((tree, Removal::Tree));
            } else if let Some(work) = work.filter(|work| upper.lacks(work)) {
                gone.insert((work.to_owned(), Removal::Tree));
            } else if let Verdict::Land(_, Removal::File | Removal::Tree) = allowed::judge(&parts(path)) {
                gone.insert((path.clone(), Removal::File));
            }
        }
        let item = |(path, removal)| Item { path, removal, changed: i128::MAX, job: Job::Remove };
        gone.into_iter().map(item).collect()
    }
}

impl Landed {
    /// What came of another layer, or of the same one later.
    pub(crate) fn add(&mut self, other: Self) {
        self.landed += other.landed;
        self.more_kept_back = self.more_kept_back.max(other.more_kept_back);
        for (all, new) in [
            (&mut self.kept_back, other.kept_back),
            (&mut self.conflicts, other.conflicts),
            (&mut self.faults, other.faults),
        ] {
            for name in new {
                if all.len() <= TOLD && !all.contains(&name) {
                    all.push(name);
                }
            }
        }
    }

    /// What a model or a person should know.
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
        notes.extend(self.faults.iter().map(|fault| format!("Not landed in .git: {fault}")));
        notes
    }
}

fn indexes(host: &Host) -> HashMap<PathBuf, File> {
    let linked = host.names(Path::new("worktrees")).into_iter().take(INDEXES);
    let linked = linked.map(|name| Path::new("worktrees").join(name).join("index"));
    std::iter::once(PathBuf::from("index"))
        .chain(linked)
        .filter_map(|path| host.file(&path).map(|file| (path, file)))
        .collect()
}

/// What became of everything.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) landed: usize,
    kept: BTreeSet<PathBuf>,
    /// How many more were kept.
    more: usize,
    conflicts: BTreeSet<String>,
    faults: Vec<String>,
    /// What need not stay in the upper directory.
    pub(super) settled: Vec<PathBuf>,
}

impl Report {
    /// Notes what stays in the sandbox.
    pub(super) fn keep(&mut self, path: PathBuf) {
        if self.kept.len() < NOTED {
            self.kept.insert(path);
        } else if !self.kept.contains(&path) {
            self.more += 1;
        }
    }

    /// Notes what another has kept.
    pub(super) fn keep_all(&mut self, other: &mut Self) {
        std::mem::take(&mut other.kept).into_iter().for_each(|path| self.keep(path));
        self.more += other.more;
    }

    /// Notes what was changed on both sides.
    pub(super) fn conflict(&mut self, told: String) {
        if self.conflicts.len() < NOTED {
            self.conflicts.insert(told);
        }
    }

    /// Notes what could not be done, once.
    pub(super) fn fault(&mut self, told: String) {
        if self.faults.len() < NOTED && !self.faults.contains(&told) {
            self.faults.push(told);
        }
    }

    fn told(self) -> Landed {
        Landed {
            landed: self.landed,
            more_kept_back: self.kept.len().saturating_sub(TOLD) + self.more,
            kept_back: self.kept.iter().take(TOLD).map(|path| shown(path)).collect(),
            conflicts: few(self.conflicts.into_iter().collect()),
            faults: few(self.faults),
        }
    }
}

fn few(mut all: Vec<String>) -> Vec<String> {
    if all.len() > TOLD {
        let more = all.len() - TOLD;
        all.truncate(TOLD);
        all.push(format!("and {more} more"));
    }
    all
}
