//! Real processes: started, read, ended, and never left behind.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and look at real processes"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use policy::{DenyRead, Environment, Gate, Intent, Permit, Reach, Root, SandboxPolicy, Verdict};
use testkit::Workspace;
use toolgate_exec::fs::Door;
use toolgate_exec::process::Stdio;
use toolgate_exec::session::{About, Exit, Processes, Pump, Session, Sessions, Stage};
use toolgate_exec::shell::{Shell, Shells};

testkit::trials![a_command_runs_and_says_how_it_ended, timing];

struct Bench {
    workspace: Workspace,
    sessions: Sessions,
    shells: Shells,
}

impl Bench {
    fn new() -> Self {
        let workspace = Workspace::new();
        let sessions = Sessions::new(Arc::new(Processes::default()), None, 64);
        let shells = Shells::new(Shell::of_user(None), Environment::default(), std::env::vars_os());
        Self { workspace, sessions, shells }
    }

    fn permit(&self, argv: Vec<String>) -> Permit {
        let reach =
            Reach::new(vec![Root::new(self.workspace.path())], DenyRead::new::<&str>([], None).unwrap());
        let gate = Gate::new(reach, SandboxPolicy::FullAccess);
        match gate.decide(&Intent::run(argv, &self.workspace.path())) {
            Verdict::Allow(permit) => permit,
            Verdict::Forbid(denial) => panic!("{denial}"),
        }
    }

    async fn start(&self, argv: Vec<String>, stdio: Stdio) -> (Arc<Session>, Pump) {
        let permit = self.permit(argv.clone());
        let directory = Door::new(&permit).look(&self.workspace.path()).unwrap();
        let command = self.shells.command(argv, directory, stdio, self.sessions.spawner(), &permit).await;
        self.sessions.start(command, About::default(), &permit).await.unwrap()
    }

    async fn run(&self, script: &str) -> (Stage, String, String) {
        let argv = Shell::named("bash").unwrap().argv(script, false);
        let (session, pump) = self.start(argv, Stdio::Piped).await;
        pump.await;
        let output = session.take();
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
    let bench = Bench::new();
    block_on(async {
        let (stage, stdout, stderr) = bench.run("echo out; echo err >&2; exit 3").await;
        assert_eq!((stdout.as_str(), stderr.as_str()), ("out\n", "err\n"));
        let Stage::Over { exit, used, .. } = stage else { panic!("{stage:?}") };
        assert_eq!(exit, Exit::Code(3));
        assert!(used.peak_memory > 500_000);
    });
}

fn timing() {
    let bench = Bench::new();
    block_on(async {
        let mut times = Vec::new();
        let mut bare = Vec::new();
        for _ in 0..300 {
            let began = Instant::now();
            bench.run("true").await;
            times.push(began.elapsed());
            let began = Instant::now();
            std::process::Command::new("/bin/bash").args(["-c", "true"]).status().unwrap();
            bare.push(began.elapsed());
        }
        times.sort();
        bare.sort();
        println!("{:?} bare bash {:?}", times[150], bare[150]);
        let _ = Duration::ZERO;
    });
}
