//! The table of containment cases and the expected result of each tier.

/// Sets the arguments to the visible processes; in the machine's PID namespace, only to the shell, its parent and the
/// victim.
macro_rules! in_sight {
    ($script:literal) => {
        concat!(
            "[ \"$(readlink /proc/self/ns/pid)\" != \"$PIDNS\" ] && set -- /proc/[0-9]* || ",
            "set -- /proc/$$ /proc/$PPID /proc/$V; ",
            $script
        )
    };
}

/// Runs the script only in a PID namespace of its own, because it would otherwise hit the machine.
macro_rules! alone {
    ($script:literal) => {
        concat!("[ \"$(readlink /proc/self/ns/pid)\" != \"$PIDNS\" ] && { ", $script, "; }")
    };
}

mod admin;
mod descriptors;
mod environment;
mod git;
mod git_indirections;
mod hosts;
mod lifetime;
mod metadata;
mod mounts;
mod network;
mod processes;
mod reads;
mod roots;
mod syscalls;
mod unix;
mod writes;

use std::collections::BTreeSet;

use crate::suite::case::{AttackCase, ExpectedOutcome};

/// Returns every case in the order of the matrix.
pub(crate) fn all() -> impl Iterator<Item = &'static AttackCase> {
    let tables = [
        writes::CASES,
        metadata::CASES,
        descriptors::CASES,
        admin::CASES,
        mounts::CASES,
        roots::CASES,
        git::CASES,
        git_indirections::CASES,
        network::CASES,
        hosts::CASES,
        unix::CASES,
        processes::CASES,
        syscalls::CASES,
        lifetime::CASES,
        reads::CASES,
        environment::CASES,
    ];
    tables.into_iter().flatten()
}

/// The minimum number of cases.
const ENOUGH: usize = 150;

/// Checks that every case has a unique name, and every gap a reason.
pub(crate) fn check() -> Result<(), String> {
    let mut ids = BTreeSet::new();
    let twice: Vec<&str> = all().map(|case| case.id).filter(|id| !ids.insert(*id)).collect();
    let silent = all().filter(|case| {
        let rows = [Some(case.expect), case.as_root].into_iter().flatten().flatten();
        rows.into_iter().any(|expect| matches!(expect, ExpectedOutcome::Gap(why) | ExpectedOutcome::Not(why) if why.len() < 10))
    });
    let silent: Vec<&str> = silent.map(|case| case.id).collect();
    if ids.len() < ENOUGH || !twice.is_empty() || !silent.is_empty() {
        return Err(format!("{} cases; twice: {twice:?}; without a reason: {silent:?}", ids.len()));
    }
    Ok(())
}

const HOLDS: ExpectedOutcome = ExpectedOutcome::Holds;
const PATHLESS: ExpectedOutcome = ExpectedOutcome::Gap("a filter of system calls knows no paths");
const NO_NAMESPACES: ExpectedOutcome =
    ExpectedOutcome::Gap("without namespaces the host's processes and IPC are in sight");

/// A path decides: namespaces and Landlock hold it.
const PATHS: [ExpectedOutcome; 3] = [HOLDS, HOLDS, PATHLESS];
/// Landlock does not mediate metadata changes.
const META: [ExpectedOutcome; 3] = [
    HOLDS,
    ExpectedOutcome::Gap("Landlock does not see changes of modes, owners, times and attributes"),
    PATHLESS,
];
/// Landlock only ever adds rights below a directory.
const INNER: [ExpectedOutcome; 3] =
    [HOLDS, ExpectedOutcome::Gap("Landlock cannot take away what lies in a writable directory"), PATHLESS];
/// Landlock only ever adds read rights below a directory.
const HIDDEN: [ExpectedOutcome; 3] =
    [HOLDS, ExpectedOutcome::Gap("Landlock cannot hide what lies in a readable directory"), PATHLESS];
/// Only a mount namespace keeps it from the host.
const PRIVATE: [ExpectedOutcome; 3] =
    [HOLDS, ExpectedOutcome::Gap("without a mount namespace there is no private view"), PATHLESS];
