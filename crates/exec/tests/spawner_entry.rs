//! A program starts processes without any preparation in its `main`: this one has the `main` of the test harness.
//!
//! The spawner is this program, executed again. It takes its role before `main`, so it has one thread and runs no tests.

use std::sync::Arc;

use policy::{DenyRead, EnvironmentPolicy, Gate, Intent, ReadRoot, ReadScope, SandboxPolicy, Verdict};
use testkit::TestWorkspace;
use toolgate_exec::fs::ConfinedFs;
use toolgate_exec::process::Stdio;
use toolgate_exec::session::{ProcessExit, ProcessSession, SessionOrigin, SessionTable, SharedProcesses};
use toolgate_exec::shell::ShellCommands;

#[test]
fn a_process_starts_although_main_prepares_nothing() {
    let workspace = TestWorkspace::new();
    let here = workspace.path();
    let read_scope = ReadScope::new(vec![ReadRoot::new(&here)], DenyRead::new::<&str>([], None).unwrap());
    let argv = vec!["true".to_owned()];
    let intent = Intent::run(argv.clone(), &here);
    let Verdict::Allow(permit) = Gate::new(read_scope, SandboxPolicy::FullAccess).decide("test", &intent)
    else {
        panic!("all is allowed")
    };
    let sessions = SessionTable::new(Arc::new(SharedProcesses::default()), None, 1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let exit = runtime.block_on(async {
        let directory = ConfinedFs::new(&permit).lookup(&here).unwrap();
        let shells = ShellCommands::new(None, EnvironmentPolicy::default(), []);
        let command =
            shells.command(argv.into(), directory, Stdio::NoInput, sessions.spawner(), &permit).await;
        let (process, pump) = sessions.start(command, SessionOrigin::default(), &permit).await.unwrap();
        sessions.adopt(&process, pump);
        process.wait_until(ProcessSession::is_over).await;
        process.stage().exit()
    });
    assert_eq!(exit.map(ProcessExit::code), Some(0));
}
