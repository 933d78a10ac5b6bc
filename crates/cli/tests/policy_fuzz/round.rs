//! Runs one round: a tree, a policy and operations; checks the host after each operation.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use crate::driver::{OperationDriver, OperationResult};
use crate::model::{AccessZone, ModelVerdict, PolicyModel};
use crate::operations::{self, FileOperation};
use crate::paths::{is_below, resolve};
use crate::policy::FuzzPolicy;
use crate::random::FuzzRandom;
use crate::snapshot::{self, EntryState, TreeSnapshot, changes, describe_differences, differences};
use crate::tree::{self, FuzzTreeEntry};

/// The inputs of a round.
#[derive(Debug, Clone)]
pub(crate) struct FuzzCase {
    pub(crate) tree: Vec<FuzzTreeEntry>,
    pub(crate) policy: FuzzPolicy,
    pub(crate) ops: Vec<FileOperation>,
    /// The user, if it is not the tester.
    pub(crate) user: Option<u32>,
}

/// A violation that was found.
#[derive(Debug, Clone)]
pub(crate) struct FuzzFinding {
    /// Its category.
    pub(crate) kind: String,
    /// Its details.
    pub(crate) what: String,
}

/// Counts of operations by result.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FuzzCounts {
    pub(crate) refused: usize,
    pub(crate) allowed: usize,
    pub(crate) either: usize,
    /// Of the operations that had to be or could be allowed, those that succeeded.
    pub(crate) worked: usize,
    pub(crate) unstarted: usize,
}

/// The source of operations.
pub(crate) enum OperationSource<'a> {
    /// Adds this number of random operations to the case.
    Random(&'a mut FuzzRandom, usize),
    /// Uses the case's own operations.
    Given,
}

fn finding(kind: &str, what: impl Into<String>) -> FuzzFinding {
    FuzzFinding { kind: kind.to_owned(), what: what.into() }
}

/// A running round.
struct FuzzRound<'a> {
    case: &'a FuzzCase,
    model: PolicyModel,
    /// The tree of the confined program, and its twin, on which the operations run without a sandbox.
    real: PathBuf,
    twin: PathBuf,
    confined: OperationDriver,
    free: OperationDriver,
    /// The tree after the last operation.
    now: TreeSnapshot,
    /// Contents that must not be read.
    secrets: Vec<String>,
    /// Files with a name in a writable place: changes to them appear under other names too.
    linked: BTreeSet<u64>,
    /// The result of checking the start of the sandbox.
    made: Result<(), FuzzFinding>,
    /// Placeholder directories of the session.
    held: BTreeSet<String>,
}

/// Runs `case` below `place`.
pub(crate) fn run_round(
    case: &mut FuzzCase,
    mut source: OperationSource<'_>,
    place: &Path,
    counts: &mut FuzzCounts,
) -> Result<(), FuzzFinding> {
    let held = fs::canonicalize(place).unwrap();
    let (real, twin) = (held.join("real"), held.join("twin"));
    let owner = rustix::process::geteuid().is_root().then(|| case.user.unwrap_or(0));
    let _listening = (tree::build_tree(&case.tree, &real, owner), tree::build_tree(&case.tree, &twin, owner));
    let first = snapshot::take_snapshot(&real);
    let model = PolicyModel::new(&case.policy, &real, &first);
    let given = case.clone();
    let Some(mut round) = FuzzRound::start(&given, model, real, twin, &first)? else {
        counts.unstarted += 1;
        return Ok(());
    };
    let special = round.model.policy_paths();
    let mut done = Vec::new();
    let count = if let OperationSource::Random(_, count) = source { count } else { given.ops.len() };
    let mut result = Ok(());
    for number in 0..count {
        let op = match &mut source {
            OperationSource::Random(dice, _) => {
                operations::random(dice, &round.now, &special, round.real.to_str().unwrap())
            }
            // Recorded for another base directory.
            OperationSource::Given => given.ops[number].clone(),
        };
        if round.is_left_out(&op) {
            continue;
        }
        done.push(op.clone());
        result = round.one(&op, counts).map_err(|mut found| {
            found.what = format!("{}: {}", op.to_line(), found.what);
            found
        });
        if result.is_err() {
            break;
        }
    }
    case.ops = done;
    let made = std::mem::replace(&mut round.made, Ok(()));
    let ended = round.end(result.is_ok());
    result.and(ended).and(made)
}

impl<'a> FuzzRound<'a> {
    /// Starts both programs; `None` if the policy hides their directory.
    fn start(
        case: &'a FuzzCase,
        model: PolicyModel,
        real: PathBuf,
        twin: PathBuf,
        first: &TreeSnapshot,
    ) -> Result<Option<Self>, FuzzFinding> {
        let arguments = case.policy.arguments(&real);
        let confined = match OperationDriver::start(Some(&arguments), case.user, &real, &real.join("home")) {
            Ok(driver) => driver,
            Err(_) if model.is_closed() => return Ok(None),
            Err(why) => return Err(finding(&format!("does not start: {}", unnamed(&why)), why)),
        };
        let now = snapshot::take_snapshot(&real);
        let made = held(&model, first, &now, &twin);
        let held = now.keys().filter(|path| !first.contains_key(*path)).cloned().collect();
        let free = OperationDriver::start(None, case.user, &twin.join(&model.cwd), &twin.join("home"));
        let free = free.map_err(|why| finding("the twin does not start", why))?;
        let hidden = |path: &str| model.zone(path) == AccessZone::Hidden;
        let secrets = first.iter().filter(|(path, seen)| hidden(path) && seen.kind == 'f' && seen.links == 1);
        let secrets = secrets.map(|(_, seen)| String::from_utf8_lossy(&seen.body).into_owned());
        let secrets = secrets.filter(|text| text.starts_with("token")).collect();
        let linked =
            first.iter().filter(|(path, seen)| seen.links > 1 && model.zone(path) == AccessZone::Free);
        let linked = linked.map(|(_, seen)| seen.inode).collect();
        Ok(Some(Self { case, model, real, twin, confined, free, now, secrets, linked, made, held }))
    }

    /// Reports whether an operation is skipped: modelling it would be costly and says nothing about the sandbox.
    fn is_left_out(&self, op: &FileOperation) -> bool {
        let verdict = self.model.judge(op, &self.real);
        // The working directory must stay, because relative paths start there.
        let moves = |path: &str| {
            let real = resolve(&self.real, path, false).real;
            real.is_some_and(|real| is_below(&self.model.cwd, &real))
        };
        let leaves = match op.kind {
            "rename" | "rmdir" | "exchange" => moves(&op.path) || (!op.to.is_empty() && moves(&op.to)),
            _ => false,
        };
        // Links in a layer are not on the host, where the model looks.
        let layered = |path: &str| {
            let real = resolve(&self.real, path, false).real;
            real.is_some_and(|real| self.model.zone(&real) == AccessZone::Layer)
        };
        let hides = matches!(op.kind, "symlink") && layered(&op.path);
        let lost = |path: &str| {
            let way = resolve(&self.real, path, true);
            way.real.is_none() && way.through.iter().any(|path| self.model.zone(path) == AccessZone::Layer)
        };
        (leaves && verdict != ModelVerdict::Refused) || hides || lost(&op.path) || lost(&op.to)
    }

    /// Performs one operation, and checks its result.
    fn one(&mut self, op: &FileOperation, counts: &mut FuzzCounts) -> Result<(), FuzzFinding> {
        let verdict = self.model.judge(op, &self.real);
        let reals = self.reals(op);
        let in_layer = |real: &String| self.model.is_layered(real);
        let is_free = !reals.iter().flatten().any(in_layer);
        let (real, twin) = (self.real.to_str().unwrap(), self.twin.to_str().unwrap());
        let outcome = self.confined.run_operation(op, real, real).map_err(|why| finding("no answer", why))?;
        let after = snapshot::take_snapshot(&self.real);
        match verdict {
            ModelVerdict::Refused => counts.refused += 1,
            ModelVerdict::Allowed => counts.allowed += 1,
            ModelVerdict::Either => counts.either += 1,
        }
        let told = outcome.data.to_string();
        let is_whole = |secret: &&String| told.trim_matches('"') == secret.as_str();
        if let Some(secret) = self.secrets.iter().find(is_whole) {
            return Err(finding("a secret is read", format!("{secret:?}")));
        }
        if verdict == ModelVerdict::Refused && outcome.ok {
            let changed = changes(&self.now, &after);
            let kind = format!("must be refused, and worked: {}", op.kind);
            return Err(finding(&kind, format!("{} {changed:#?}", outcome.data)));
        }
        if verdict == ModelVerdict::Refused
            || op.kind == "connect"
            || !is_free
            || (verdict == ModelVerdict::Either && !outcome.ok)
        {
            return self.unchanged(op, &outcome, after);
        }
        let expected =
            self.free.run_operation(op, real, twin).map_err(|why| finding("the twin has no answer", why))?;
        if expected.ok != outcome.ok {
            let kind = if expected.ok { "must be allowed, and failed" } else { "works only in the sandbox" };
            let what = format!("{verdict:?}: {:?}, without a sandbox {:?}", outcome.data, expected.data);
            return Err(finding(&format!("{kind}: {}", op.kind), what));
        }
        counts.worked += usize::from(outcome.ok);
        self.as_twin(op, &outcome, &expected, &reals, after)
    }

    /// Returns the real paths of an operation.
    fn reals(&self, op: &FileOperation) -> [Option<String>; 2] {
        let to = resolve(&self.real, &op.to, false).real.filter(|_| !op.to.is_empty());
        [resolve(&self.real, &op.path, op.follows()).real, to]
    }

    fn unchanged(
        &mut self,
        op: &FileOperation,
        outcome: &OperationResult,
        after: TreeSnapshot,
    ) -> Result<(), FuzzFinding> {
        let changed = changes(&self.now, &after);
        self.now = after;
        if changed.is_empty() {
            return Ok(());
        }
        let kind = format!("the host changed, though nothing was to happen there: {}", op.kind);
        Err(finding(&kind, format!("{outcome:?} {changed:#?}")))
    }

    /// Compares the result with that of the unconfined twin.
    fn as_twin(
        &mut self,
        op: &FileOperation,
        outcome: &OperationResult,
        expected: &OperationResult,
        reals: &[Option<String>; 2],
        after: TreeSnapshot,
    ) -> Result<(), FuzzFinding> {
        if !outcome.ok {
            return self.unchanged(op, outcome, after);
        }
        let hides = self.model.zone(&resolve(&self.real, &op.path, true).real.unwrap_or_default())
            == AccessZone::Hidden;
        if outcome.data != expected.data && !hides {
            let what = format!("{} and not {}", outcome.data, expected.data);
            return Err(finding(&format!("another answer than without a sandbox: {}", op.kind), what));
        }
        let other = differences(&snapshot::take_snapshot(&self.twin), &after);
        if !other.is_empty() {
            let kind = format!("not what happens without a sandbox: {}", op.kind);
            return Err(finding(&kind, format!("{other:#?}")));
        }
        let gap =
            matches!(op.kind, "chmod" | "utime" | "setxattr" | "removexattr") && !self.case.policy.namespaces;
        let frozen = self.frozen(&after);
        if !frozen.is_empty() && !gap {
            let kind = format!("what is read-only changed: {}", op.kind);
            return Err(finding(&kind, format!("{frozen:#?}")));
        }
        if let [Some(from), Some(to)] = reals
            && matches!(op.kind, "rename" | "exchange")
            && from != to
        {
            self.model.note_move(from, to, op.kind == "exchange");
        }
        self.now = after;
        Ok(())
    }

    /// Returns the forbidden changes. A hidden entry may move along with a directory above it.
    fn frozen(&self, after: &TreeSnapshot) -> Vec<String> {
        let is_frozen = |path: &str| matches!(self.model.zone(path), AccessZone::Frozen | AccessZone::Layer);
        let part = |all: &TreeSnapshot| -> TreeSnapshot {
            let kept =
                all.iter().filter(|(path, seen)| is_frozen(path) && !self.linked.contains(&seen.inode));
            kept.map(|(path, seen)| (path.clone(), seen.clone())).collect()
        };
        changes(&part(&self.now), &part(after))
    }

    /// Ends both programs, and checks the remaining files.
    fn end(self, judged: bool) -> Result<(), FuzzFinding> {
        let (code, errors) = self.confined.wait();
        self.free.wait();
        if !judged {
            return Ok(());
        }
        if code != Some(0) {
            return Err(finding("ends badly", format!("{code:?} {errors}")));
        }
        let astray = self.model.changed_links(&self.real);
        if !astray.is_empty() {
            return Err(finding("a protected name leads elsewhere", format!("{astray:?}")));
        }
        let after = snapshot::take_snapshot(&self.real);
        let left: Vec<&String> =
            after.keys().filter(|path| !self.now.contains_key(*path) && !in_git(path)).collect();
        if !left.is_empty() {
            return Err(finding("the end made something", format!("{left:?}")));
        }
        let mut found = Vec::new();
        for (path, seen) in &self.now {
            let placeholder = self.held.contains(path);
            match after.get(path) {
                None if placeholder => {}
                Some(now) if placeholder && now.kind == 'd' && !in_git(path) => {
                    found.push(format!("{path:?} was a placeholder and is still there"));
                }
                _ if placeholder => {}
                None if may_land(&self.model, path) => {}
                None => found.push(format!("{path:?} is gone")),
                Some(now) if seen.kind == 'd' && now.inode == seen.inode && now.mode == seen.mode => {}
                // A hard link elsewhere of a file in a git directory: landing may replace that file's name.
                Some(now)
                    if now.differs_in_links_only(seen)
                        && has_name_that_may_land(&self.model, &self.now, seen) => {}
                Some(now) if now != seen && !may_land(&self.model, path) => {
                    found.push(format!("{path:?} was {} and is {}", seen.describe(), now.describe()));
                }
                Some(_) => {}
            }
        }
        if found.is_empty() {
            Ok(())
        } else {
            Err(finding("the end changed something", format!("{found:#?}")))
        }
    }
}

/// Reports whether the path is in a git directory.
fn in_git(path: &str) -> bool {
    path.split('/').any(|name| name == ".git")
}

/// Reports whether changes of a command in a git directory may reach this file.
fn may_land(model: &PolicyModel, path: &str) -> bool {
    let Some(git) = model.repositories.iter().find(|git| is_below(path, git)) else { return false };
    let below = path[git.len()..].trim_start_matches('/');
    let keeps = ["hooks", "config", "commondir", "gitdir", "info", "objects/info/alternates"];
    !model.is_kept_whole(git) && !keeps.iter().any(|kept| is_below(below, kept))
}

/// Whether one of the names of this file is one that landing may replace.
fn has_name_that_may_land(model: &PolicyModel, now: &TreeSnapshot, file: &EntryState) -> bool {
    now.iter().any(|(path, seen)| seen.inode == file.inode && may_land(model, path))
}

/// A sentence without the names in it.
fn unnamed(text: &str) -> String {
    let words = text.split('`').step_by(2).collect::<Vec<_>>().join("…");
    words.split_whitespace().filter(|word| !word.starts_with('/')).collect::<Vec<_>>().join(" ")
}

/// Copies the placeholder directories to the twin.
fn held(
    model: &PolicyModel,
    first: &TreeSnapshot,
    now: &TreeSnapshot,
    twin: &Path,
) -> Result<(), FuzzFinding> {
    let mut made = Ok(());
    for (path, seen) in now.iter().filter(|(path, _)| !first.contains_key(*path)) {
        if seen.kind != 'd' || !model.is_placeholder(path) {
            made = Err(finding("the start made something", format!("{path:?} {}", seen.describe())));
        }
        let at = twin.join(path);
        // Only root writes in a read-only directory.
        let above = at.parent().unwrap();
        let mode = fs::metadata(above).unwrap().permissions();
        fs::set_permissions(above, fs::Permissions::from_mode(mode.mode() | 0o700)).unwrap();
        fs::create_dir(&at).unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(seen.mode)).unwrap();
        lchown(&at, Some(seen.owner.0), Some(seen.owner.1)).unwrap();
        fs::set_permissions(above, mode).unwrap();
    }
    // A directory that contains a placeholder has other times.
    let same = |_: &str, one: &EntryState, other: &EntryState| {
        one == other || (one.kind == 'd' && one.inode == other.inode && one.mode == other.mode)
    };
    let known: TreeSnapshot = now
        .iter()
        .filter(|(path, _)| first.contains_key(*path))
        .map(|(path, seen)| (path.clone(), seen.clone()))
        .collect();
    let changed = describe_differences(first, &known, same);
    if changed.is_empty() {
        made
    } else {
        Err(finding("the start changed something", format!("{changed:#?}")))
    }
}
