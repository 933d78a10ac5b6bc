//! Tests that everyday work succeeds in the sandbox as it does outside, such as `git`, `cargo`, `npm` and servers.
//!
//! Each workload runs without the sandbox first: a failure there says nothing about the sandbox. Its result is
//! inspected from outside. `TOOLGATE` names another program to test, `TOOLGATE_KEEP=1` keeps the directories, and
//! `TOOLGATE_ROOM` sets their parent.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, start real programs and look at real files"
)]

mod cargo;
mod compile;
mod fixture_cache;
mod git;
mod git_places;
mod machine;
mod network;
mod node;
mod places;
mod process;
mod python;
mod sharing;
mod shell;
mod streams;
mod system;
mod trial;
mod workload;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use testkit::{HarnessCase, SkipReason};

use machine::TestMachine;
use process::ProgramUser;
use trial::TrialTier;
use workload::Workload;

fn main() {
    let lists = [
        git::ALL,
        git_places::ALL,
        cargo::ALL,
        node::ALL,
        python::ALL,
        compile::ALL,
        shell::ALL,
        system::ALL,
        network::ALL,
        places::ALL,
        sharing::ALL,
        streams::ALL,
    ];
    let workloads: Vec<Workload> = lists.concat();
    let machine = Arc::new(TestMachine::probe(&workloads));
    let mut cases = Vec::new();
    for workload in workloads {
        for user in machine.users() {
            cases.extend(TrialTier::ALL.map(|tier| case(&machine, workload, tier, user)));
        }
    }
    testkit::run_cases_then(cases, machine::remove_copy);
}

fn case(machine: &Arc<TestMachine>, workload: Workload, tier: TrialTier, user: ProgramUser) -> HarnessCase {
    let unexpected = workload.needs.namespaces.filter(|_| tier == TrialTier::Landlock);
    let unexpected = unexpected.map(|why| SkipReason::NotApplicable(why.to_owned()));
    let machine = Arc::clone(machine);
    HarnessCase {
        name: format!("{}::{}::{}", workload.name, tier.name(), user.name()),
        skip: unexpected.or_else(|| machine.skip_reason(&workload, user)),
        // Hundreds of real programs have races of their own: a failure is retried once, and a second failure counts.
        test: Box::new(move || {
            let prove = || trial::prove_workload(&machine, &workload, tier, user);
            if std::panic::catch_unwind(AssertUnwindSafe(prove)).is_err() {
                prove();
            }
        }),
    }
}
