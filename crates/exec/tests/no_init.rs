//! A program that does not call `init` first gets an error instead of a process.
//!
//! Otherwise it would start itself as the spawner.

use std::sync::Arc;

use policy::{DenyRead, EnvironmentPolicy, Gate, Intent, ReadRoot, ReadScope, SandboxPolicy, Verdict};
use testkit::TestWorkspace;
use toolgate_exec::fs::ConfinedFs;
use toolgate_exec::process::Stdio;
use toolgate_exec::session::{SessionOrigin, SessionTable, SharedProcesses};
use toolgate_exec::shell::ShellCommands;

#[test]
fn without_init_nothing_is_started() {
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
    let started = runtime.block_on(async {
        let directory = ConfinedFs::new(&permit).lookup(&here).unwrap();
        let shells = ShellCommands::new(None, EnvironmentPolicy::default(), []);
        let command =
            shells.command(argv.into(), directory, Stdio::NoInput, sessions.spawner(), &permit).await;
        sessions
            .start(command, SessionOrigin::default(), &permit)
            .await
            .map(|_| ())
            .map_err(|fault| fault.to_string())
    });
    let told = "no process can be started: the program must call `toolgate::init()` first in its `main`";
    assert_eq!(started, Err(told.to_owned()));
}
