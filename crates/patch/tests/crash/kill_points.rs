//! Kills a commit, its rollback and its recovery before every system call, and lets every fallible call fail.

use std::time::Instant;

use libc::{EINVAL, EIO, ENOSPC, c_int};

use super::crash_tree::{ChildJob, CrashTree, TreeListing};
use super::trace::{self, FALLIBLE, TraceOrders};

const EXCHANGE: u64 = libc::RENAME_EXCHANGE as u64;
const NOREPLACE: u64 = libc::RENAME_NOREPLACE as u64;

/// The sampling step for kills of a threaded commit, whose order of calls changes from run to run.
const SAMPLE: usize = 4;

/// The tree before and after the commit.
struct TreeStates {
    old: TreeListing,
    new: TreeListing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreeSide {
    Old,
    New,
}

pub(crate) fn run_all() {
    let ground = CrashTree::new();
    for (name, job, lacks) in [
        ("few files", ChildJob::Few, 0),
        ("few files, no exchange", ChildJob::Few, EXCHANGE),
        ("few files, no exchange and no exclusive rename", ChildJob::Few, EXCHANGE | NOREPLACE),
        ("many files", ChildJob::Many, 0),
        ("entries of all kinds", ChildJob::Entries, 0),
        ("entries of all kinds, no exchange", ChildJob::Entries, EXCHANGE),
        ("many entries of all kinds", ChildJob::ManyEntries, 0),
    ] {
        let since = Instant::now();
        let sides = sides(&ground, job);
        let (old, new) = killed(&ground, job, lacks, &sides);
        assert!(old > 0 && new > 0, "{name}: {old} old, {new} new");
        println!(
            "{name}: killed at {} calls: {old} all old, {new} all new; {:.1?}",
            old + new,
            since.elapsed()
        );
    }
    for job in [ChildJob::Few, ChildJob::Entries] {
        let since = Instant::now();
        let points = killed_again(&ground, job, &sides(&ground, job));
        println!("recovery of {job:?}: killed at {points} calls; {:.1?}", since.elapsed());
        let since = Instant::now();
        let (old, new) = killed_undoing(&ground, job, &sides(&ground, job));
        assert!(old > 0 && new > 0, "{old} old, {new} new");
        let points = old + new;
        println!(
            "undo of {job:?}: killed at {points} calls: {old} all old, {new} all new; {:.1?}",
            since.elapsed()
        );
        for errno in [EIO, ENOSPC, EINVAL] {
            let since = Instant::now();
            let (old, new) = failed(&ground, errno, job, &sides(&ground, job));
            let error = std::io::Error::from_raw_os_error(errno);
            let calls = old + new;
            println!(
                "{job:?}: {error}: {calls} calls fail: {old} refused, {new} done; {:.1?}",
                since.elapsed()
            );
        }
    }
}

/// Runs one commit undisturbed and returns both tree states.
fn sides(ground: &CrashTree, job: ChildJob) -> TreeStates {
    ground.reset();
    let old = ground.snapshot();
    let story = trace::run(&mut ground.command(job), TraceOrders::default());
    assert_eq!(story.code, Some(0));
    let new = ground.snapshot();
    assert_ne!(old, new);
    assert_eq!(ground.leftover_records(), Vec::<std::path::PathBuf>::new());
    TreeStates { old, new }
}

impl TreeStates {
    /// Returns the state that the tree is in. Asserts that nothing is left over.
    #[track_caller]
    fn side_of_tree(&self, ground: &CrashTree, when: &str) -> TreeSide {
        assert_eq!(ground.leftover_records(), Vec::<std::path::PathBuf>::new(), "{when}");
        let now = ground.snapshot();
        if now == self.old {
            TreeSide::Old
        } else {
            assert!(now == self.new, "{when}: mixed: {:#?}", now.keys());
            TreeSide::New
        }
    }
}

#[track_caller]
fn recover(ground: &CrashTree, when: &str) {
    let recovered = toolgate_patch::recover(&ground.records()).unwrap();
    let left =
        recovered.iter().filter(|one| matches!(one.outcome, toolgate_patch::RecoveryOutcome::RecordKept(_)));
    assert_eq!(left.count(), 0, "{when}: {recovered:?}");
}

/// Kills the commit before each call. Returns how often recovery restored the old tree, and how often the new one.
fn killed(ground: &CrashTree, job: ChildJob, lacks: u64, sides: &TreeStates) -> (usize, usize) {
    let (mut old, mut new) = (0, 0);
    // ends: the child exits by itself once it has fewer calls
    for at in (1..).step_by(if matches!(job, ChildJob::Many | ChildJob::ManyEntries) { SAMPLE } else { 1 }) {
        ground.reset();
        let orders = TraceOrders { kill_at: Some(at), lacks, ..TraceOrders::default() };
        let story = trace::run(&mut ground.command(job), orders);
        let when = format!("killed before call {at} ({:?})", story.calls.last());
        recover(ground, &when);
        let side = sides.side_of_tree(ground, &when);
        if let Some(code) = story.code {
            assert_eq!((code, side), (0, TreeSide::New), "{when}");
            break;
        }
        match side {
            TreeSide::Old => old += 1,
            TreeSide::New => new += 1,
        }
    }
    (old, new)
}

/// Kills a commit at some call, then its recovery before each call, then recovers.
fn killed_again(ground: &CrashTree, job: ChildJob, sides: &TreeStates) -> usize {
    let mut points = 0;
    ground.reset();
    let calls = trace::run(&mut ground.command(job), TraceOrders::default()).calls;
    let renames = (1..=calls.len()).filter(|at| calls[at - 1] == libc::SYS_renameat2);
    for commit_at in renames.step_by(2) {
        // ends: the recovery exits by itself once it has fewer calls
        for at in (1..).step_by(3) {
            ground.reset();
            let orders = TraceOrders { kill_at: Some(commit_at), ..TraceOrders::default() };
            trace::run(&mut ground.command(job), orders);
            let orders = TraceOrders { kill_at: Some(at), ..TraceOrders::default() };
            let story = trace::run(&mut ground.command(ChildJob::Recover), orders);
            let when = format!("killed before call {commit_at}, and recovery before call {at}");
            recover(ground, &when);
            assert_eq!(sides.side_of_tree(ground, &when), TreeSide::New, "{when}");
            points += 1;
            if story.code.is_some() {
                break;
            }
        }
    }
    points
}

/// Lets the last file fail to get in place, and kills the rollback before each call from there on.
fn killed_undoing(ground: &CrashTree, job: ChildJob, sides: &TreeStates) -> (usize, usize) {
    let (mut old, mut new) = (0, 0);
    ground.reset();
    let calls = trace::run(&mut ground.command(job), TraceOrders::default()).calls;
    let last = calls.iter().rposition(|call| *call == libc::SYS_renameat2).unwrap() + 1;
    // ends: the child exits by itself once it has fewer calls
    for at in last + 1.. {
        ground.reset();
        let orders = TraceOrders { kill_at: Some(at), fail_at: Some((last, EIO)), lacks: 0 };
        let story = trace::run(&mut ground.command(job), orders);
        let when = format!("call {last} fails, killed before call {at} ({:?})", story.calls.last());
        recover(ground, &when);
        let side = sides.side_of_tree(ground, &when);
        if let Some(code) = story.code {
            assert_eq!((code, side), (3, TreeSide::Old), "{when}");
            break;
        }
        match side {
            TreeSide::Old => old += 1,
            TreeSide::New => new += 1,
        }
    }
    (old, new)
}

/// Lets each call fail. Returns how often the commit was refused, and how often it succeeded nevertheless.
fn failed(ground: &CrashTree, errno: c_int, job: ChildJob, sides: &TreeStates) -> (usize, usize) {
    let (mut old, mut new) = (0, 0);
    // ends: once the child has fewer calls
    for at in 1.. {
        ground.reset();
        let orders = TraceOrders { fail_at: Some((at, errno)), ..TraceOrders::default() };
        let story = trace::run(&mut ground.command(job), orders);
        let Some(call) = story.calls.get(at - 1) else { break };
        let when = format!("call {at} ({call}) fails with {errno}");
        if !FALLIBLE.contains(call) {
            continue;
        }
        let answer = story.code.unwrap_or_else(|| panic!("{when}: died"));
        recover(ground, &when);
        match (answer, sides.side_of_tree(ground, &when)) {
            (3, TreeSide::Old) => old += 1,
            (0, TreeSide::New) => new += 1,
            (code, side) => panic!("{when}: answered {code}, and all is {side:?}"),
        }
    }
    (old, new)
}
