//! Fuzz test of the sandbox: random policies and operations, checked against a simple model and the host's state.
//!
//! A round is a random tree, a random policy, and some operations of one confined program, one at a time. An
//! unconfined program repeats the allowed operations in a copy of the tree; both trees must stay equal.
//!
//! `TOOLGATE_FUZZ_SEED=…` repeats one round, `TOOLGATE_FUZZ_ROUNDS=…` runs more of them.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod driver;
mod model;
mod operations;
mod paths;
mod policy;
mod random;
mod regressions;
mod round;
mod shrink;
mod snapshot;
mod tree;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use random::FuzzRandom;
use round::{FuzzCase, FuzzCounts, FuzzFinding, OperationSource};

/// About ten seconds.
const ROUNDS: u64 = 60;
/// The default first seed.
const SEED: u64 = 1_000;
const UNPRIVILEGED_ID: u32 = 65534;

#[test]
fn the_sandbox_does_what_its_model_says() {
    if driver::python_interpreter().is_none() {
        testkit::not_run("the_sandbox_does_what_its_model_says", "there is no python3 for everybody");
        return;
    }
    let _copy = driver::world_runnable_copy();
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("TOOLGATE_FUZZ_SEED");
    let rounds = number("TOOLGATE_FUZZ_ROUNDS").unwrap_or(if seed.is_some() { 1 } else { ROUNDS });
    let seed = seed.unwrap_or(SEED);
    let place = place();
    let users = users();
    let mut counts = FuzzCounts::default();
    // The first finding of each category.
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut seeds: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for seed in seed..seed + rounds {
        let user = users[usize::try_from(seed).unwrap() % users.len()];
        let mut dice = FuzzRandom(seed);
        let tree = tree::random_tree(&mut dice);
        let policy = policy::random(&mut dice, &tree);
        let count = 20 + dice.below(41);
        let mut case = FuzzCase { tree, policy, ops: Vec::new(), user };
        let played = with_place(&place, |place| {
            round::run_round(&mut case, OperationSource::Random(&mut dice, count), place, &mut counts)
        });
        let Err(finding) = played else { continue };
        seeds.entry(finding.kind.clone()).or_default().push(seed);
        if !found.contains_key(&finding.kind) {
            let kind = finding.kind.clone();
            let (case, finding) = shrink::shrink(case, finding, &place);
            let report = report(seed, &case, &finding);
            eprintln!("{report}");
            found.insert(kind, report);
        }
    }
    eprintln!("{rounds} rounds: {counts:?}");
    assert!(found.is_empty(), "{} kinds of findings: {seeds:#?}", found.len());
}

#[test]
fn regression_cases_hold() {
    if driver::python_interpreter().is_none() {
        testkit::not_run("regression_cases_hold", "there is no python3 for everybody");
        return;
    }
    let _copy = driver::world_runnable_copy();
    let place = place();
    let mut found = Vec::new();
    for user in users() {
        for (name, case) in regressions::regression_cases(*user) {
            if let Err(finding) = shrink::replay_case(&case, &place) {
                found.push(format!("{name} ({user:?}): {}: {}", finding.kind, finding.what));
            }
        }
    }
    assert!(found.is_empty(), "{} of them are back:\n{}", found.len(), found.join("\n"));
}

/// Returns the users to test: the tester, and an unprivileged one if the tester is root.
fn users() -> &'static [Option<u32>] {
    if can_be_nobody() { &[None, Some(UNPRIVILEGED_ID)] } else { &[None] }
}

/// Formats the facts that reproduce a finding.
fn report(seed: u64, case: &FuzzCase, finding: &FuzzFinding) -> String {
    let mut text =
        format!("\n== {}\nTOOLGATE_FUZZ_SEED={seed} cargo test --test policy_fuzz\n", finding.kind);
    let mut line = |words: String| writeln!(text, "{words}").unwrap();
    line(format!("user: {:?}", case.user));
    for tree::FuzzTreeEntry { path, what, mode, foreign } in &case.tree {
        line(format!("  {path:?} {what:?} {mode:04o}{}", if *foreign { " foreign" } else { "" }));
    }
    let arguments = case.policy.arguments(Path::new("$T"));
    let shown: Vec<String> = arguments.iter().map(|word| format!("{word:?}")).collect();
    line(format!("toolgate {} -- …", shown.join(" ").replace('"', "'")));
    case.ops.iter().for_each(|op| line(format!("  {}", op.to_line())));
    line(finding.what.clone());
    text
}

/// Returns a directory that confined programs see unchanged: not below `/tmp`, which is private to them.
fn place() -> PathBuf {
    let own = std::env::var_os("TOOLGATE_FUZZ_DIR").map(PathBuf::from);
    let ours = own.unwrap_or_else(testkit::visible_base_dir);
    fs::create_dir_all(&ours).unwrap();
    fs::canonicalize(ours).unwrap()
}

/// Reports whether another user can run the test and reach the files it needs.
fn can_be_nobody() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    let place = tempfile::tempdir_in(place()).unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut probe = Command::new(driver::toolgate_binary());
    probe.arg("--version").uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID).current_dir("/");
    let mut look = Command::new("ls");
    look.arg(place.path()).uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID).current_dir("/");
    is_root
        && [probe, look]
            .iter_mut()
            .all(|command| command.output().is_ok_and(|output| output.status.success()))
}

/// Calls `what` with a directory that always has one name, so that the paths in a recorded case stay valid.
fn with_place<T>(place: &Path, what: impl FnOnce(&Path) -> T) -> T {
    // Both tests run concurrently.
    let thread = std::thread::current();
    let name = if thread.name().is_some_and(|name| name.contains("regression")) { "found" } else { "fuzz" };
    let own = place.join(format!("policy-{name}-{}", std::process::id()));
    let _not_there = fs::remove_dir_all(&own);
    fs::create_dir(&own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let result = what(&own);
    remove(&own);
    result
}

/// Removes a tree whose directories may be inaccessible.
fn remove(path: &Path) {
    let is_directory = fs::symlink_metadata(path).is_ok_and(|stat| stat.is_dir());
    if is_directory {
        let _not_ours = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
        let entries: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.iter().for_each(|entry| remove(entry));
        let _in_use = fs::remove_dir(path);
    } else {
        let _gone = fs::remove_file(path);
    }
}
