//! The host environment of a case: a workspace, files around it, sockets, a home and a victim process.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};

use crate::suite::case::AttackCase;
use crate::suite::sockets::HostSockets;

/// The user that runs a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CaseUser {
    Root,
    /// Uid 65534, started by root.
    Unprivileged,
    /// The tester, if that is not root.
    Caller,
}

impl CaseUser {
    /// Returns the users that can be tested here.
    pub(crate) fn all() -> &'static [Self] {
        if rustix::process::geteuid().is_root() { &[Self::Root, Self::Unprivileged] } else { &[Self::Caller] }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Unprivileged => "nobody",
            Self::Caller => "user",
        }
    }

    /// Returns a command that runs as this user, without the tester's environment.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("LANG", "C.UTF-8");
        if self == Self::Unprivileged {
            command.uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID);
        }
        command
    }
}

const UNPRIVILEGED_ID: u32 = 65534;

/// The parent directory of all hosts of this process, and their shared programs.
pub(crate) struct SharedFixture {
    pub(crate) path: PathBuf,
    pub(crate) toolgate: PathBuf,
    pub(crate) probe: PathBuf,
}

static FIXTURE: OnceLock<SharedFixture> = OnceLock::new();

/// Creates the fixture: not below `/tmp`, which is private in a sandbox, and accessible to the unprivileged user.
pub(crate) fn shared_fixture() -> &'static SharedFixture {
    FIXTURE.get_or_init(|| {
        let above = match CaseUser::all() {
            [CaseUser::Caller] => testkit::visible_base_dir(),
            _ => PathBuf::from("/var/lib"),
        };
        let path = above.join(format!("toolgate-test-{}", std::process::id()));
        // Independent of the tester's umask.
        let everybodys = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(path.join("bin")).unwrap();
        everybodys(&path);
        everybodys(&path.join("bin"));
        let toolgate = std::env::var_os("TOOLGATE_BIN")
            .map(PathBuf::from)
            .or_else(|| option_env!("CARGO_BIN_EXE_toolgate").map(PathBuf::from))
            .expect("TOOLGATE_BIN names the toolgate to test");
        let program = |name: &str, from: &Path| {
            let to = path.join("bin").join(name);
            fs::hard_link(from, &to).or_else(|_| fs::copy(from, &to).map(drop)).unwrap();
            everybodys(&to);
            to
        };
        let toolgate = program("toolgate", &toolgate);
        let probe = program("containment", &std::env::current_exe().unwrap());
        template(&path.join("template"));
        SharedFixture { path, toolgate, probe }
    })
}

/// Removes the files that [`shared_fixture`] created.
pub(crate) fn remove_fixture() {
    if let Some(fixture) = FIXTURE.get() {
        let _gone = fs::remove_dir_all(&fixture.path);
    }
}

/// Creates a repository with one commit.
fn template(at: &Path) {
    fs::create_dir_all(at).unwrap();
    fs::write(at.join("w"), "w\n").unwrap();
    let git = |args: &[&str]| {
        let mut git = CaseUser::Caller.command(Path::new("git"));
        let git = git.args(args).current_dir(at).env("HOME", at).env("GIT_CONFIG_NOSYSTEM", "1");
        let done = git.output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q", "-b", "main", "--template="]);
    git(&["config", "user.name", "t"]);
    git(&["config", "user.email", "t@t"]);
    git(&["config", "commit.gpgsign", "false"]);
    git(&["add", "w"]);
    git(&["commit", "-q", "-m", "one"]);
    for (name, text) in [("hooks/x.sample", "#!/bin/sh\n"), ("info/exclude", "PWN\n"), ("description", "d\n")]
    {
        write(&at.join(".git").join(name), text);
    }
}

/// The host environment of one case.
pub(crate) struct CaseHost {
    pub(crate) dir: PathBuf,
    pub(crate) user: CaseUser,
    pub(crate) sockets: HostSockets,
    pub(crate) victim: Option<VictimProcess>,
    terminal: Option<HostTerminal>,
    pub(crate) nonce: String,
}

impl CaseHost {
    pub(crate) fn new(user: CaseUser, case: &AttackCase) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = shared_fixture().path.join(number.to_string());
        files(&dir, case);
        let nonce = format!("tgc-{}-{number}", std::process::id());
        let sockets = HostSockets::new(&dir, &nonce, case.mentions("portal"));
        if case.mentions("$SUID") && user == CaseUser::Unprivileged {
            let suid = dir.join("suid");
            fs::copy(&shared_fixture().probe, &suid).unwrap();
        }
        if user == CaseUser::Unprivileged {
            give(&dir);
        }
        if case.mentions("$SUID") && user == CaseUser::Unprivileged {
            lchown(dir.join("suid"), Some(0), Some(0)).unwrap();
            fs::set_permissions(dir.join("suid"), fs::Permissions::from_mode(0o4755)).unwrap();
        }
        let victim = case.mentions("$V").then(|| VictimProcess::new(user, &nonce));
        let terminal = if case.mentions("$PTY") { HostTerminal::open(user) } else { None };
        let case_host = Self { dir, user, sockets, victim, terminal, nonce };
        if !case.setup.is_empty() {
            case_host.run_on_host(case.setup);
        }
        case_host
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Runs `script` as the user, unconfined, in the workspace.
    pub(crate) fn run_on_host(&self, script: &str) {
        self.succeeds_on_host(script);
    }

    /// Runs `script` as the user, unconfined, and reports whether it succeeds.
    pub(crate) fn succeeds_on_host(&self, script: &str) -> bool {
        let mut shell = self.user.command(Path::new("/bin/bash"));
        let script = format!("{}{script}", self.variables());
        let shell = shell.arg("-c").arg(script).current_dir(self.path("ws")).env("HOME", self.path("home"));
        shell.stdin(Stdio::null()).output().unwrap().status.success()
    }

    /// Returns the variables of scripts as shell assignments.
    pub(crate) fn variables(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.names() {
            text += &format!("{name}='{value}'; ");
        }
        text
    }

    /// Replaces every variable in `text`.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut names = self.names();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }

    fn names(&self) -> Vec<(&'static str, String)> {
        let at = |name: &str| self.path(name).display().to_string();
        let mut names = vec![
            ("WS", at("ws")),
            ("OUT", at("out")),
            ("H", at("home")),
            ("D", at("")),
            ("SUID", at("suid")),
            ("P", format!("{} probe", shared_fixture().probe.display())),
            ("N", self.nonce.clone()),
            ("PIDNS", fs::read_link("/proc/self/ns/pid").unwrap().display().to_string()),
        ];
        names.extend(self.sockets.port_variables());
        names.extend(self.terminal.iter().map(|terminal| ("PTY", terminal.path.clone())));
        if let Some(victim) = &self.victim {
            names.push(("V", victim.child.id().to_string()));
            names.push(("ADDR", victim.address.clone()));
            names.push(("SHM", victim.shm.clone()));
        }
        names
    }
}

impl Drop for CaseHost {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.dir);
        // Removes the files that cases leave elsewhere.
        for above in ["/tmp", "/dev/shm"] {
            let _gone = fs::remove_file(format!("{above}/{}.f", self.nonce));
        }
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The files of every host, besides the repositories.
const FILES: &[(&str, &str)] = &[
    ("ws/src/main.c", "int main;\n"),
    ("ws/a/b/f", "f\n"),
    ("ws/.env", "KEY=env-secret\n"),
    ("ws/deep/er/.env", "KEY=deep-secret\n"),
    ("ws/.toolgate/config.toml", "# toolgate\n"),
    ("ws/.codex/config.toml", "# codex\n"),
    ("out/v", "victim\n"),
    ("out/twin", "twin\n"),
    ("out/d/v2", "victim 2\n"),
    ("home/.ssh/id_rsa", "ssh-secret\n"),
    ("home/.ssh/authorized_keys", "\n"),
    ("home/.aws/credentials", "aws-secret\n"),
    ("home/.bashrc", "# bashrc\n"),
    ("home/.profile", "# profile\n"),
    ("home/.gitconfig", "[user]\n\tname = t\n\temail = t@t\n"),
    ("home/.netrc", "netrc-secret\n"),
    ("home/.npmrc", "npmrc-secret\n"),
    ("home/.docker/config.json", "docker-secret\n"),
    ("home/.kube/config", "kube-secret\n"),
    ("home/.config/gh/hosts.yml", "gh-secret\n"),
    ("home/.config/app/rc", "rc\n"),
    ("home/.gnupg/key", "gnupg-secret\n"),
    ("home/.git-credentials", "gitcred-secret\n"),
    ("home/.cargo/credentials.toml", "cargo-secret\n"),
    ("home/.pypirc", "pypi-secret\n"),
    ("home/.azure/t", "azure-secret\n"),
    ("home/.cache/x", "x\n"),
    ("home/.bash_history", "history-secret\n"),
];

/// Creates the files that `case` mentions: most cases need few.
fn files(dir: &Path, case: &AttackCase) {
    let at_home = case.mentions("$H") || case.mentions("home");
    for (name, text) in FILES.iter().filter(|(name, _)| at_home || !name.starts_with("home/")) {
        write(&dir.join(name), text);
    }
    fs::create_dir_all(dir.join("home/.cache")).unwrap();
    let template = shared_fixture().path.join("template");
    for (name, needed) in [("ws", "git"), ("ws/sub", "sub"), ("out/repo", "repo")] {
        if case.mentions(needed) {
            copy(&template, &dir.join(name));
        }
    }
    write(&dir.join("ws/w"), "w\n");
    symlink(dir.join("out/v"), dir.join("ws/lnk")).unwrap();
    symlink(dir.join("out/d"), dir.join("ws/dlnk")).unwrap();
    fs::hard_link(dir.join("out/twin"), dir.join("ws/hard")).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Gives everything to the unprivileged user.
fn give(path: &Path) {
    lchown(path, Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
}

/// A terminal of the host that belongs to the user.
struct HostTerminal {
    path: String,
    /// Keeps it open.
    _controller: OwnedFd,
}

impl HostTerminal {
    /// `None` on a machine without terminals.
    fn open(user: CaseUser) -> Option<Self> {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).ok()?;
        unlockpt(&controller).ok()?;
        let path = ptsname(&controller, Vec::new()).ok()?.into_string().ok()?;
        if user == CaseUser::Unprivileged {
            lchown(&path, Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID)).ok()?;
        }
        Some(Self { path, _controller: controller })
    }
}

/// A process of the same user with secrets in its environment, its memory and a shared segment.
pub(crate) struct VictimProcess {
    child: Child,
    address: String,
    shm: String,
    out: BufReader<std::process::ChildStdout>,
}

impl VictimProcess {
    fn new(user: CaseUser, nonce: &str) -> Self {
        let mut command = user.command(&shared_fixture().probe);
        let command =
            command.args(["probe", "victim", nonce]).env("OPENAI_API_KEY", "sk-victim").process_group(0);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let mut words = line.split_whitespace().map(str::to_owned);
        let (address, shm) = (words.next().unwrap(), words.next().unwrap());
        Self { child, address, shm, out }
    }

    pub(crate) fn proc(&self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).unwrap_or_default()
    }

    /// Ends the process, and returns its final report; empty if it was killed.
    pub(crate) fn final_report(mut self) -> String {
        drop(self.child.stdin.take());
        // A debugger may have left it stopped.
        let _runs = kill_process(Pid::from_child(&self.child), Signal::CONT);
        let mut words = String::new();
        let _read = self.out.read_to_string(&mut words);
        words.trim().to_owned()
    }
}

impl Drop for VictimProcess {
    fn drop(&mut self) {
        let _dead = self.child.kill();
        let _reaped = self.child.wait();
    }
}
