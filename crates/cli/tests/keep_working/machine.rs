//! The machine under test: users that can run the program, installed programs, and space for workspaces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use testkit::{SkipReason, WorldExecutableCopy};

use crate::fixture_cache::FixtureCache;
use crate::process::{ProgramUser, TestProgram, is_root};
use crate::workload::{Workload, WorkloadUsers};

/// Returns the program under test; `TOOLGATE` overrides it.
pub(crate) fn toolgate_binary() -> String {
    let copy = || WorldExecutableCopy::new(env!("CARGO_BIN_EXE_toolgate"));
    let ours = || {
        let mut copied = COPY.lock();
        copied.get_or_insert_with(copy).path().display().to_string()
    };
    std::env::var("TOOLGATE").unwrap_or_else(|_| ours())
}

/// A copy of the program that the user 65534 may run too.
static COPY: Mutex<Option<WorldExecutableCopy>> = Mutex::new(None);

/// Removes the copy.
pub(crate) fn remove_copy() {
    drop(COPY.lock().take());
}

/// Facts that are determined before the first test.
pub(crate) struct TestMachine {
    pub(crate) shelf: FixtureCache,
    /// The parent directory of workspaces: not `/tmp`, and in no repository.
    pub(crate) room: PathBuf,
    users: BTreeMap<ProgramUser, UserTools>,
}

/// The programs available to a user.
struct UserTools {
    /// The reason why nothing can run as this user.
    trouble: Option<String>,
    path: String,
    /// Programs that workloads need and that are missing.
    missing: BTreeSet<String>,
}

impl TestMachine {
    pub(crate) fn probe(workloads: &[Workload]) -> Self {
        let shelf = FixtureCache::open();
        let users = if is_root() {
            vec![ProgramUser::Oneself, ProgramUser::Unprivileged]
        } else {
            vec![ProgramUser::Oneself]
        };
        let standing = |user: &ProgramUser| (*user, UserTools::new(*user, &shelf, workloads));
        let users = users.iter().map(standing).collect();
        Self { shelf, room: room(), users }
    }

    pub(crate) fn users(&self) -> Vec<ProgramUser> {
        self.users.keys().copied().collect()
    }

    /// Returns the search path of a user.
    pub(crate) fn path(&self, user: ProgramUser) -> &str {
        &self.users[&user].path
    }

    /// Returns the reason why `user` cannot run `workload` here.
    pub(crate) fn skip_reason(&self, workload: &Workload, user: ProgramUser) -> Option<SkipReason> {
        let standing = &self.users[&user];
        let needs = workload.needs;
        let program = needs.programs.iter().find(|name| standing.missing.contains(**name));
        let item = needs.shelf.iter().find_map(|item| self.shelf.missing_reason(item));
        let wrong_user = match needs.who {
            WorkloadUsers::Everybody => None,
            WorkloadUsers::Oneself => {
                (user != ProgramUser::Oneself).then_some("only for the user who runs the tests")
            }
            WorkloadUsers::NotRoot => user.is_root().then_some("not for root"),
        };
        let program = program.map(|name| format!("`{name}` is not installed for {}", user.name()));
        // The tester's own trouble is not skipped, so that the tests fail.
        let trouble = standing.trouble.clone().filter(|_| user == ProgramUser::Unprivileged);
        let wrong_user = wrong_user.map(|why| SkipReason::NotApplicable(why.to_owned()));
        wrong_user.or_else(|| trouble.or(program).or(item).map(SkipReason::MissingRequirement))
    }
}

impl UserTools {
    fn new(user: ProgramUser, shelf: &FixtureCache, workloads: &[Workload]) -> Self {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
        let path = match shelf.toolchain_bin(user) {
            Some(bin) => format!("{}:{path}", bin.display()),
            None => path,
        };
        let bash = |script: String| TestProgram {
            argv: vec!["/bin/bash".to_owned(), "-c".to_owned(), script],
            directory: PathBuf::from("/"),
            environment: vec![("PATH".to_owned(), path.clone())],
            user,
            input: "",
            output: None,
        };
        let started = bash(format!("'{}' --version", toolgate_binary())).run();
        let trouble = match started {
            Ok(ended) if ended.status == 0 => None,
            Ok(ended) => {
                Some(format!("{} cannot run `{}`: {}", user.name(), toolgate_binary(), ended.stderr.trim()))
            }
            Err(fault) => Some(fault),
        };
        let programs: BTreeSet<&str> =
            workloads.iter().flat_map(|workload| workload.needs.programs).copied().collect();
        let programs: Vec<&str> = programs.into_iter().collect();
        let script = format!("for p in {}; do type -P $p >/dev/null || echo $p; done", programs.join(" "));
        let said = bash(script).run().map(|ended| ended.stdout).unwrap_or_default();
        Self { trouble, path, missing: said.lines().map(str::to_owned).collect() }
    }
}

/// Returns a directory that every user can enter, that is not `/tmp` and in no repository.
fn room() -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let places = match std::env::var_os("TOOLGATE_ROOM") {
        Some(named) => vec![PathBuf::from(named)],
        None if is_root() => vec!["/home".into(), "/srv".into(), "/var/cache".into()],
        None => home().into_iter().collect(),
    };
    let fits = |place: &PathBuf| {
        if testkit::is_hidden_by_sandbox(place) {
            return false;
        }
        let free = |above: &Path| !above.join(".git").exists();
        place.ancestors().all(free) && fs::canonicalize(place).is_ok_and(|real| real == *place)
    };
    places.into_iter().find(fits).expect("there is no room: name a directory with `TOOLGATE_ROOM`")
}
