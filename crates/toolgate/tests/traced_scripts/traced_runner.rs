//! Runs scripts under `strace` in our sandbox, many in one process, and returns the programs that each executed.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exec::session::SessionStage;
use policy::{Confinement, ResourceLimits, SandboxPolicy};
use tokio::runtime::Runtime;
use toolgate::Toolgate;
use toolgate::sandbox::CommandSandbox;

use crate::strace_log::{self, ExecEvent};

/// Names of programs that do nothing. Some are keywords of only some shells.
const MARKERS: &str = "
    alpha beta gamma delta evil x y a b n function select coproc [[ ]] (( let declare typeset source -v -name -p x+=1
    a[0]=1 { } then do in ! $ $x $alpha =alpha alpha\r # if fi -exec {} local shopt mapfile * git sudo doas one two";
/// Programs that start others, or are useful in a pipe.
const PROGRAMS: &str = "
    bash busybox cat chroot chrt dash echo env find flock head ionice nice nohup printf script seq setsid stdbuf strace
    taskset test time timeout touch true false unshare setpriv watch xargs [";
/// The tracer.
const STRACE: &str = "/usr/bin/strace";
/// The message if it is missing.
const NEEDED: &str = "this test watches scripts with `strace`: please install it, e.g. `apt install strace` or `dnf install strace`";
/// Time limit of a script. It is then judged by its events so far, and the scripts after it run in a new batch.
const PATIENCE: Duration = Duration::from_secs(4);
/// Interval for checking the progress.
const TICK: Duration = Duration::from_millis(200);
/// Maximum number of attempts without an event.
const TRIES: usize = 5;
/// Maximum number of concurrent processes.
const PROCESSES: u64 = 400;

/// The shell that runs a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TracedShell {
    Bash,
    /// `sh` is dash.
    Dash,
    /// `sh` is bash.
    Posix,
    /// `sh` is busybox.
    Ash,
}

impl TracedShell {
    pub(crate) const ALL: [Self; 4] = [Self::Bash, Self::Dash, Self::Posix, Self::Ash];

    /// Returns the program behind `sh`.
    fn sh(self) -> &'static str {
        match self {
            Self::Bash | Self::Dash => "dash",
            Self::Posix => "bash",
            Self::Ash => "busybox",
        }
    }

    /// Returns the name it is called by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Dash | Self::Posix | Self::Ash => "sh",
        }
    }
}

/// A script and its shell.
#[derive(Debug, Clone)]
pub(crate) struct ScriptCase {
    pub(crate) shell: TracedShell,
    pub(crate) script: String,
    /// Initial value of the variables `x`, `y`, `z`, `o`, `a`, `i` and `n`; empty: they are unset.
    pub(crate) value: &'static str,
}

/// A sandbox that runs scripts under the tracer.
pub(crate) struct TracedRunner {
    sandbox: CommandSandbox,
    root: tempfile::TempDir,
    /// Files that confined processes cannot write.
    kept: tempfile::TempDir,
    runtime: Runtime,
}

impl TracedRunner {
    pub(crate) fn new() -> Self {
        assert!(Path::new(STRACE).exists(), "{NEEDED}");
        let (root, kept) = (testkit::visible_tempdir(), testkit::visible_tempdir());
        for shell in TracedShell::ALL {
            programs(&kept.path().join(shell.sh()), shell);
        }
        let limits = ResourceLimits {
            processes: Some(PROCESSES),
            file_size: Some(1 << 20),
            ..ResourceLimits::default()
        };
        let sandbox = Toolgate::at(root.path())
            .sandbox(SandboxPolicy::WorkspaceWrite)
            .confinement(Confinement { limits, ..Confinement::default() })
            .build_sandbox()
            .unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { sandbox, root, kept, runtime }
    }

    /// Runs all `cases` and returns the events of each.
    pub(crate) fn run(&self, cases: &[ScriptCase]) -> Vec<Vec<ExecEvent>> {
        let mut seen = Vec::new();
        let mut tries = 0;
        // ends: each round runs some cases, or counts as a failed attempt
        while seen.len() < cases.len() {
            let some = self.watch(&cases[seen.len()..]);
            tries = if some.is_empty() { tries + 1 } else { 0 };
            assert!(tries < TRIES, "nothing was seen of {:?}", cases[seen.len()]);
            seen.extend(some);
        }
        seen
    }

    /// Runs the first of `cases`, up to one that takes too long.
    fn watch(&self, cases: &[ScriptCase]) -> Vec<Vec<ExecEvent>> {
        for at in 0..cases.len() {
            let home = self.home(at);
            fs::create_dir_all(home.join("sub")).unwrap();
            fs::write(home.join("file.txt"), "one\ntwo words\n").unwrap();
        }
        let mut trace = tempfile::tempfile_in(self.kept.path()).unwrap();
        let driver = self.kept.path().join("driver");
        fs::write(&driver, self.driver(cases)).unwrap();
        let argv =
            ["env", "-i", "LC_ALL=C.UTF-8", STRACE, "-f", "--seccomp-bpf", "-q", "-xx", "-s", "100000", "-e"];
        let calls = ["trace=execve,execveat,clone,clone3,fork,vfork", "-e", "signal=!CHLD"];
        let argv = argv.into_iter().chain(calls).chain(["/bin/sh", driver.to_str().unwrap()]);
        let null = || OwnedFd::from(File::options().read(true).write(true).open("/dev/null").unwrap());
        let progress = tempfile::tempfile_in(self.kept.path()).unwrap();
        let stdio =
            [null(), OwnedFd::from(progress.try_clone().unwrap()), OwnedFd::from(trace.try_clone().unwrap())];
        self.runtime.block_on(self.attend(argv.map(str::to_owned).collect(), stdio, &progress));
        for entry in fs::read_dir(self.root.path()).unwrap() {
            let _of_another_kind = fs::remove_dir_all(entry.unwrap().path());
        }
        let mut text = Vec::new();
        trace.rewind().unwrap();
        trace.read_to_end(&mut text).unwrap();
        let seen = strace_log::parse_trace(&String::from_utf8_lossy(&text));
        let begun = |(case, events): (&ScriptCase, Vec<ExecEvent>)| {
            let is_it = events.first().is_some_and(|shell| shell.argv.get(2) == Some(&case.script));
            is_it.then(|| events[1..].to_vec())
        };
        cases.iter().zip(seen).map_while(begun).collect()
    }

    /// Waits until the session has ended, or no script has begun for too long.
    async fn attend(&self, argv: Vec<String>, stdio: [OwnedFd; 3], progress: &File) {
        let (session, mut pump) = self.sandbox.run(argv, stdio).await.unwrap();
        let mut changed = session.subscribe();
        let mut tick = tokio::time::interval(TICK);
        let (mut far, mut since) = (0, Instant::now());
        // ends: with the session, or at the time limit
        loop {
            tokio::select! {
                () = &mut pump => return,
                _ = changed.changed() => {
                    if matches!(session.stage(), SessionStage::LeaderExited { .. }) {
                        session.end(Duration::ZERO);
                    }
                }
                _ = tick.tick() => {
                    let now = progress.metadata().unwrap().len();
                    if now > far {
                        (far, since) = (now, Instant::now());
                    } else if since.elapsed() > PATIENCE {
                        return;
                    }
                }
            }
        }
    }

    fn home(&self, at: usize) -> PathBuf {
        self.root.path().join(at.to_string()).join("home")
    }

    /// Returns the script that runs the others, one by one.
    fn driver(&self, cases: &[ScriptCase]) -> String {
        let mut driver = "ulimit -t 1; ulimit -c 0\n".to_owned();
        for (at, ScriptCase { shell, script, value }) in cases.iter().enumerate() {
            let bin = self.kept.path().join(shell.sh());
            let (bin, script) = (bin.display(), script.replace('\'', "'\\''"));
            let (home, name) = (self.home(at), shell.name());
            let set = |name: char| format!("{name}='{value}' ");
            let sets: String =
                if value.is_empty() { String::new() } else { "xyzoain".chars().map(set).collect() };
            writeln!(
                driver,
                "echo; cd {} && {sets}PATH={bin} {bin}/{name} -c '{script}' </dev/null >/dev/null 2>&1",
                home.display()
            )
            .unwrap();
        }
        // Background processes get a moment to start. Then the tracer is killed, so it does not wait for endless
        // ones.
        driver + "/bin/sleep 0.05\nkill $PPID\n"
    }
}

/// Creates a directory with all programs for scripts.
fn programs(bin: &Path, shell: TracedShell) {
    if bin.exists() {
        return;
    }
    fs::create_dir(bin).unwrap();
    for name in MARKERS.split([' ', '\n']).filter(|name| !name.is_empty()) {
        symlink("/bin/true", bin.join(name)).unwrap();
    }
    let found = |name: &str| {
        let places = ["/usr/bin", "/bin", "/usr/sbin", "/usr/local/bin"];
        places.iter().map(|place| Path::new(place).join(name)).find(|path| path.exists())
    };
    for name in PROGRAMS.split_whitespace() {
        if let Some(path) = found(name) {
            symlink(path, bin.join(name)).unwrap();
        }
    }
    let sh = found(shell.sh()).or_else(|| found("sh")).expect("every machine has a shell");
    symlink(sh, bin.join("sh")).unwrap();
}
