//! Runs scripts in our sandbox under a tracer, many in one confined process, and says what each executed.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exec::session::Stage;
use policy::{Confinement, Limits, SandboxPolicy};
use tokio::runtime::Runtime;
use toolgate::{Sandbox, Toolgate};

use crate::trace::{self, Event};

/// Names that do nothing at all. Some are words that only some shells know.
const MARKERS: &str = "
    alpha beta gamma delta evil x y a b n function select coproc [[ ]] (( let declare typeset source -v -name -p x+=1
    a[0]=1 { } then do in ! $ $x $alpha =alpha alpha\r # if fi -exec {} local shopt mapfile * git sudo doas one two";
/// Programs that start others, or are useful in a pipe.
const PROGRAMS: &str = "
    bash busybox cat chroot chrt dash echo env find flock head ionice nice nohup printf script seq setsid stdbuf strace
    taskset test time timeout touch true false unshare setpriv watch xargs [";
/// The tracer.
const STRACE: &str = "/usr/bin/strace";
/// What a machine without it is told.
const NEEDED: &str = "this test watches scripts with `strace`: please install it, e.g. `apt install strace` or `dnf install strace`";
/// How long a script may take. Then it is judged by what it has done, and those after it begin anew.
const PATIENCE: Duration = Duration::from_secs(4);
/// How often it is looked whether another script has begun.
const TICK: Duration = Duration::from_millis(200);
/// How often scripts are tried of which nothing is seen.
const TRIES: usize = 5;
/// How many processes there may be at a time.
const PROCESSES: u64 = 400;

/// The shell that a script is given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shell {
    Bash,
    /// `sh`, and it is dash.
    Dash,
    /// `sh`, and it is bash.
    Posix,
    /// `sh`, and it is busybox.
    Ash,
}

impl Shell {
    pub(crate) const ALL: [Self; 4] = [Self::Bash, Self::Dash, Self::Posix, Self::Ash];

    /// The program that `sh` is for it.
    fn sh(self) -> &'static str {
        match self {
            Self::Bash | Self::Dash => "dash",
            Self::Posix => "bash",
            Self::Ash => "busybox",
        }
    }

    /// What it is called by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Dash | Self::Posix | Self::Ash => "sh",
        }
    }
}

/// A script, and who runs it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) shell: Shell,
    pub(crate) script: String,
    /// What the variables `x`, `y`, `z`, `o`, `a`, `i` and `n` are at first. Nothing: they are not set.
    pub(crate) value: &'static str,
}

/// A place to run scripts in.
pub(crate) struct Lab {
    sandbox: Sandbox,
    root: tempfile::TempDir,
    /// What is not written by anybody who is confined.
    kept: tempfile::TempDir,
    runtime: Runtime,
}

impl Lab {
    pub(crate) fn open() -> Self {
        assert!(Path::new(STRACE).exists(), "{NEEDED}");
        let (root, kept) = (testkit::seen_tempdir(), testkit::seen_tempdir());
        for shell in Shell::ALL {
            programs(&kept.path().join(shell.sh()), shell);
        }
        let limits = Limits { processes: Some(PROCESSES), file_size: Some(1 << 20), ..Limits::default() };
        let sandbox = Toolgate::at(root.path())
            .sandbox(SandboxPolicy::WorkspaceWrite)
            .confinement(Confinement { limits, ..Confinement::default() })
            .sandbox_alone()
            .unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { sandbox, root, kept, runtime }
    }

    /// Runs each of `cases`, and says what it executed.
    pub(crate) fn run(&self, cases: &[Case]) -> Vec<Vec<Event>> {
        let mut seen = Vec::new();
        let mut tries = 0;
        // ends: each round runs some, or is one of few
        while seen.len() < cases.len() {
            let some = self.watch(&cases[seen.len()..]);
            tries = if some.is_empty() { tries + 1 } else { 0 };
            assert!(tries < TRIES, "nothing was seen of {:?}", cases[seen.len()]);
            seen.extend(some);
        }
        seen
    }

    /// Runs the first of `cases`, up to one that takes too long.
    fn watch(&self, cases: &[Case]) -> Vec<Vec<Event>> {
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
        let seen = trace::read(&String::from_utf8_lossy(&text));
        let begun = |(case, events): (&Case, Vec<Event>)| {
            let is_it = events.first().is_some_and(|shell| shell.argv.get(2) == Some(&case.script));
            is_it.then(|| events[1..].to_vec())
        };
        cases.iter().zip(seen).map_while(begun).collect()
    }

    /// Waits until nothing is left of it, or no script has begun for too long.
    async fn attend(&self, argv: Vec<String>, stdio: [OwnedFd; 3], progress: &File) {
        let (session, mut pump) = self.sandbox.run(argv, stdio).await.unwrap();
        let mut changed = session.watch();
        let mut tick = tokio::time::interval(TICK);
        let (mut far, mut since) = (0, Instant::now());
        // ends: when nothing is left of it, or with our patience
        loop {
            tokio::select! {
                () = &mut pump => return,
                _ = changed.changed() => {
                    if matches!(session.stage(), Stage::Leaving { .. }) {
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

    /// The script that runs the others, one by one.
    fn driver(&self, cases: &[Case]) -> String {
        let mut driver = "ulimit -t 1; ulimit -c 0\n".to_owned();
        for (at, Case { shell, script, value }) in cases.iter().enumerate() {
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
        // What was left in the background has a moment to begin. Then the tracer need not wait for what never ends.
        driver + "/bin/sleep 0.05\nkill $PPID\n"
    }
}

/// Makes a directory of all programs that there are for scripts.
fn programs(bin: &Path, shell: Shell) {
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
