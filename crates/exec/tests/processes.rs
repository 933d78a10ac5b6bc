//! Tests of running one process: exit status, launch errors, permit check, inherited descriptors, streamed output.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;

use policy::{
    CommandLine, DenyRead, EnvironmentPolicy, Gate, Intent, Permit, ReadRoot, ReadScope, SandboxPolicy,
    Verdict,
};
use testkit::TestWorkspace;
use toolgate_exec::fs::ConfinedFs;
use toolgate_exec::process::{SpawnFault, Stdio};
use toolgate_exec::session::{
    ProcessExit, ProcessSession, Pump, SessionOrigin, SessionStage, SessionTable, SharedProcesses,
};
use toolgate_exec::shell::{InstalledShell, ShellCommands};

testkit::trials![
    a_command_runs_and_says_how_it_ended,
    what_cannot_be_run_says_why,
    a_permit_for_something_else_starts_nothing,
    a_plain_command_does_what_a_shell_does_with_it,
    a_program_gets_three_descriptors_and_no_more,
    output_before_the_observer_comes_is_streamed_whole,
];

struct ProcessBench {
    workspace: TestWorkspace,
    sessions: SessionTable,
    shells: ShellCommands,
}

impl ProcessBench {
    fn new() -> Self {
        let workspace = TestWorkspace::new();
        let sessions = SessionTable::new(Arc::new(SharedProcesses::default()), None, 64);
        let shells = ShellCommands::new(
            InstalledShell::of_user(None),
            EnvironmentPolicy::default(),
            std::env::vars_os(),
        );
        Self { workspace, sessions, shells }
    }

    fn permit(&self, line: impl Into<CommandLine>) -> Permit {
        let read_scope = ReadScope::new(
            vec![ReadRoot::new(self.workspace.path())],
            DenyRead::new::<&str>([], None).unwrap(),
        );
        let gate = Gate::new(read_scope, SandboxPolicy::FullAccess);
        match gate.decide("test", &Intent::run(line, &self.workspace.path())) {
            Verdict::Allow(permit) => permit,
            // The test is about running commands, not about approval.
            Verdict::Ask(question) => match gate.settle(*question, &policy::ReviewDecision::Approved) {
                policy::ReviewOutcome::Allow(permit) => permit,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    async fn start(&self, line: impl Into<CommandLine>, stdio: Stdio) -> (Arc<ProcessSession>, Pump) {
        let line = line.into();
        let permit = self.permit(line.clone());
        let directory = ConfinedFs::new(&permit).lookup(&self.workspace.path()).unwrap();
        let command = self.shells.command(line, directory, stdio, self.sessions.spawner(), &permit).await;
        self.sessions.start(command, SessionOrigin::default(), &permit).await.unwrap()
    }

    async fn run(&self, script: &str) -> (SessionStage, String, String) {
        let argv = InstalledShell::find("bash").unwrap().command_line(script, false);
        let (session, pump) = self.start(argv, Stdio::NoInput).await;
        pump.await;
        let output = session.take_output().output;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (session.stage(), text(&output.stdout.head), text(&output.stderr.head))
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn a_command_runs_and_says_how_it_ended() {
    let bench = ProcessBench::new();
    block_on(async {
        let (stage, stdout, stderr) = bench.run("echo out; echo err >&2; exit 3").await;
        assert_eq!((stdout.as_str(), stderr.as_str()), ("out\n", "err\n"));
        let SessionStage::Over { exit, used, .. } = stage else { panic!("{stage:?}") };
        assert_eq!(exit, ProcessExit::Code(3));
        assert!(used.peak_memory > 500_000);
    });
}

fn what_cannot_be_run_says_why() {
    let bench = ProcessBench::new();
    bench
        .workspace
        .write_file("script", "echo from a script without a first line\n")
        .write_file("plain", "text\n");
    let path = |name: &str| bench.workspace.path().join(name).to_string_lossy().into_owned();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path("script"), executable).unwrap();
    block_on(async {
        for (argv, expected) in [
            (vec!["no-such-program".to_owned()], "there is no program `no-such-program` in PATH"),
            (vec![path("nowhere")], "there is no program `$DIR/nowhere`, or its interpreter is missing"),
            (vec![path("plain")], "`$DIR/plain` may not be executed: Permission denied (os error 13)"),
            (vec![path("")], "`$DIR/` may not be executed: Permission denied (os error 13)"),
            (
                vec!["echo".to_owned(), "x".repeat(200_000)],
                "the arguments of `echo` are too long for the system; put them into a file",
            ),
            (
                vec!["echo".to_owned(), "a\0b".to_owned()],
                "`echo` could not be executed: Invalid argument (os error 22)",
            ),
        ] {
            let (session, pump) = bench.start(argv.clone(), Stdio::NoInput).await;
            pump.await;
            let fault = session.take_fault().map(|fault| bench.workspace.normalize(&fault.to_string()));
            assert_eq!(fault.as_deref(), Some(expected), "{:.80?}", argv);
        }
        let (session, pump) = bench.start(vec![path("script")], Stdio::NoInput).await;
        pump.await;
        assert_eq!(session.take_output().output.stdout.head, b"from a script without a first line\n");
    });
}

fn a_permit_for_something_else_starts_nothing() {
    let bench = ProcessBench::new();
    let permit = bench.permit(vec!["true".to_owned()]);
    block_on(async {
        let directory = ConfinedFs::new(&permit).lookup(&bench.workspace.path()).unwrap();
        let argv = vec!["false".to_owned()];
        let spawner = bench.sessions.spawner();
        let command = bench.shells.command(argv.into(), directory, Stdio::NoInput, spawner, &permit).await;
        let started = bench.sessions.start(command, SessionOrigin::default(), &permit).await;
        assert!(matches!(started, Err(SpawnFault::Denied(_))));
    });
}

/// A command that is started without a shell behaves as in a shell.
fn a_plain_command_does_what_a_shell_does_with_it() {
    let bench = ProcessBench::new();
    bench.workspace.write_file("a.txt", "text\n");
    block_on(async {
        for script in [
            "/bin/echo a  b   c",
            "env -i A=1 /usr/bin/env",
            "cat a.txt",
            "ls -a",
            "cat nowhere",
            "no-such-program x",
            "head -c 3 a.txt",
            "/bin/echo =x a=b --c=d,e @f %g +h :i",
            "/bin/echo",
        ] {
            let ours = bench.run(script).await;
            // The same command, made not plain.
            let shell = bench.run(&format!("{script};")).await;
            let end = |stage: &SessionStage| {
                if let SessionStage::Over { exit, .. } = stage { Some(*exit) } else { None }
            };
            assert_eq!((end(&ours.0), &ours.1, &ours.2), (end(&shell.0), &shell.1, &shell.2), "{script}");
        }
    });
}

/// A supervisor is reused, and a program inherits nothing from the previous one.
fn a_program_gets_three_descriptors_and_no_more() {
    let bench = ProcessBench::new();
    block_on(async {
        for _ in 0..3 {
            let (_, stdout, _) =
                bench.run("ls /proc/self/fd; ulimit -c; trap; grep -h Sig[BI] /proc/self/status; :").await;
            // The fourth is the directory that `ls` reads.
            let expected = "0\n1\n2\n3\n0\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";
            assert_eq!(stdout, expected);
        }
    });
}

fn output_before_the_observer_comes_is_streamed_whole() {
    let bench = ProcessBench::new();
    let streamed = block_on(async {
        let argv = InstalledShell::find("bash").unwrap().command_line("seq 1 400000", false);
        let (session, mut pump) = bench.start(argv, Stdio::NoInput).await;
        session.keep_for_stream();
        // Much more than is held in memory is written by now, or waits in the pipe.
        let _waits = tokio::time::timeout(std::time::Duration::from_millis(300), &mut pump).await;
        let (streaming, mut changed, mut streamed) =
            (session.stream_output(), session.subscribe(), Vec::new());
        loop {
            changed.borrow_and_update();
            let is_over = matches!(session.stage(), SessionStage::Over { .. });
            while let Some((_, bytes)) = streaming.next() {
                streamed.extend(bytes);
            }
            if is_over {
                return streamed;
            }
            tokio::select! {
                () = &mut pump => {}
                _ = changed.changed() => {}
            }
        }
    });
    let expected: String = (1..=400_000).map(|number| format!("{number}\n")).collect();
    assert!(streamed == expected.as_bytes(), "{} of {} bytes", streamed.len(), expected.len());
}
