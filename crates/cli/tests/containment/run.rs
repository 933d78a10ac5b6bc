//! Runs a case, unconfined and confined, and determines its outcome.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{PipeReader, Read, pipe};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use crate::suite::case::{AttackCase, BreachSign, RunEnd};
use crate::suite::case_host::{CaseHost, CaseUser, shared_fixture};
use crate::suite::tier::CaseTier;
use crate::suite::watch::HostStateWatch;

/// Time after which a run counts as hung, and after which its leftovers must be gone.
const HUNG: Duration = Duration::from_secs(15);
const GONE: Duration = Duration::from_millis(1500);
/// The first output of a script: it was started.
const RAN: &str = "@ran";
/// The exit codes for an invalid or unavailable sandbox.
const NO_SANDBOX: [i32; 2] = [2, 125];

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseOutcome {
    /// The attack failed.
    Held,
    /// The attack succeeded, with this evidence.
    Breached(String),
    /// An operation that must work does not.
    Broken(String),
    /// `toolgate` refused.
    Refused(String),
    /// The attack shows nothing even unconfined.
    Inert(String),
}

/// The output and exit code of a program that was run for a case.
pub(crate) struct CaseRun {
    pub(crate) output: String,
    pub(crate) code: Option<i32>,
    hung: bool,
}

/// Runs `case` in `tier`, unless it shows nothing even unconfined.
pub(crate) fn run_confined(case: &AttackCase, tier: CaseTier, user: CaseUser) -> CaseOutcome {
    if let Some(why) = inert_reason(case, user) {
        return CaseOutcome::Inert(why);
    }
    let case_host = CaseHost::new(user, case);
    let before = HostStateWatch::new(&case_host, case);
    let ran = case_host.run(case, &sandbox_argv(&case_host, case, tier));
    judge(case, case_host, &before, &ran)
}

/// Returns the reason why `case` proves nothing for `user` here, if any. Determined once.
pub(crate) fn inert_reason(case: &AttackCase, user: CaseUser) -> Option<String> {
    static KNOWN: Mutex<BTreeMap<(&str, CaseUser), Option<String>>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock();
    if let Some(why) = known().get(&(case.id, user)) {
        return why.clone();
    }
    let why = match control(case, user) {
        (CaseOutcome::Breached(_), _) => None,
        (CaseOutcome::Held, _) if case.sees == BreachSign::Nothing => None,
        (outcome, ran) => Some(format!("{outcome:?} when not confined: {}", ran.output.trim())),
    };
    known().insert((case.id, user), why.clone());
    why
}

fn control(case: &AttackCase, user: CaseUser) -> (CaseOutcome, CaseRun) {
    let case_host = CaseHost::new(user, case);
    let before = HostStateWatch::new(&case_host, case);
    let script = case.control.unwrap_or(case.run);
    let argv = vec!["/bin/bash".to_owned(), "-c".to_owned(), script_of(&case_host, script)];
    let ran = case_host.run(case, &argv);
    (judge(case, case_host, &before, &ran), ran)
}

fn script_of(case_host: &CaseHost, script: &str) -> String {
    format!("echo {RAN}; {}{script}", case_host.variables())
}

/// Returns the command line of `toolgate` for `case`.
pub(crate) fn sandbox_argv(case_host: &CaseHost, case: &AttackCase, tier: CaseTier) -> Vec<String> {
    let mut argv = vec![shared_fixture().toolgate.display().to_string(), "sandbox".to_owned()];
    argv.extend(["--tier".to_owned(), tier.name().to_owned()]);
    if !case.flags.contains(&"--require") {
        argv.extend(["--require".to_owned(), tier.name().to_owned()]);
    }
    argv.extend(case.flags.iter().map(|flag| case_host.expand(flag)));
    argv.extend(["--", "/bin/bash", "-c"].map(str::to_owned));
    argv.push(script_of(case_host, case.run));
    argv
}

impl CaseHost {
    /// Runs `argv` in the workspace, inside the case's wrapper.
    pub(crate) fn run(&self, case: &AttackCase, argv: &[String]) -> CaseRun {
        let mut command = if case.wrap.is_empty() {
            self.user.command(Path::new(&argv[0]))
        } else {
            let mut shell = self.user.command(Path::new("/bin/bash"));
            shell.arg("-c").arg(format!("{}{}", self.variables(), case.wrap)).arg("bash").arg(&argv[0]);
            shell
        };
        let (read, write) = pipe().unwrap();
        command.args(&argv[1..]).current_dir(self.path("ws")).env("HOME", self.path("home"));
        command.env("OPENAI_API_KEY", "sk-host").env("MY_TOKEN", "token-host");
        command.env("SSH_AUTH_SOCK", self.path("out/s.sock"));
        command.stdin(Stdio::null()).stdout(write.try_clone().unwrap()).stderr(write);
        let mut child = command.spawn().unwrap();
        // The command holds the other end of the pipe.
        drop(command);
        if let RunEnd::Signal(signal) = case.ends {
            self.wait_until_locked(|| child.try_wait().unwrap().is_some());
            let signal = Signal::from_named_raw(signal).unwrap();
            let _dead = kill_process(Pid::from_child(&child), signal);
        }
        let status = wait(&mut child);
        CaseRun {
            output: rest_of(read),
            code: status.and_then(|status| status.code()),
            hung: status.is_none(),
        }
    }

    /// Waits for a process that holds `ws/lock`, or for the end of the one that should.
    pub(crate) fn wait_until_locked(&self, mut ended: impl FnMut() -> bool) {
        let start = Instant::now();
        while start.elapsed() < HUNG && !self.is_locked() && !ended() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Reports whether a process holds `ws/lock`.
    fn is_locked(&self) -> bool {
        let Ok(file) = File::open(self.path("ws/lock")) else { return false };
        flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    }

    fn stays_locked(&self) -> bool {
        let start = Instant::now();
        while self.is_locked() {
            if start.elapsed() > GONE {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if start.elapsed() > HUNG {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reads the output so far: a process that outlives the run may hold the other end forever.
fn rest_of(mut read: PipeReader) -> String {
    rustix::io::ioctl_fionbio(&read, true).unwrap();
    let mut bytes = Vec::new();
    let _until_empty = read.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Determines the outcome from the host's state.
fn judge(case: &AttackCase, mut case_host: CaseHost, before: &HostStateWatch, ran: &CaseRun) -> CaseOutcome {
    let mut seen = before.changes(&HostStateWatch::new(&case_host, case));
    seen.extend(case_host.sockets.take_hits());
    if case.sees == BreachSign::Nothing {
        // The case is meant to make permitted changes.
        seen.clear();
    }
    seen.extend(evidence(case, &case_host, ran));
    if let Some(victim) = case_host.victim.take() {
        let words = victim.final_report();
        if words != "memory-secret shm-secret mq 0" {
            seen.push(format!("the victim is dead or was written to: `{words}`"));
        }
    }
    let said = ran.output.trim();
    // A hung run was killed, so its leftovers prove nothing.
    if ran.hung {
        return CaseOutcome::Broken(format!("it does not end: {said}; {}", seen.join("; ")));
    }
    if !seen.is_empty() {
        return CaseOutcome::Breached(seen.join("; "));
    }
    if !ran.output.contains(RAN) {
        return match ran.code {
            Some(code) if NO_SANDBOX.contains(&code) => CaseOutcome::Refused(said.to_owned()),
            code => CaseOutcome::Broken(format!("the command was not run, exit code {code:?}: {said}")),
        };
    }
    if !ran.output.contains(case.works) {
        return CaseOutcome::Broken(format!("`{}` is not in: {said}", case.works));
    }
    if !case.lands.is_empty() && !case_host.succeeds_on_host(case.lands) {
        return CaseOutcome::Broken(format!("`{}` does not hold on the host", case.lands));
    }
    match case.code {
        Some(code) if ran.code != Some(code) => {
            CaseOutcome::Broken(format!("exit code {:?}, not {code}", ran.code))
        }
        _ => CaseOutcome::Held,
    }
}

/// Looks for the case's own sign of success.
fn evidence(case: &AttackCase, case_host: &CaseHost, ran: &CaseRun) -> Option<String> {
    match case.sees {
        BreachSign::Host | BreachSign::Nothing => None,
        BreachSign::Text(text) => {
            ran.output.contains(text).then(|| format!("it printed `{text}`: {}", ran.output.trim()))
        }
        BreachSign::Made(path) => remove_created(Path::new(&case_host.expand(path))),
        BreachSign::Setuid(path) => {
            let path = case_host.expand(path);
            let mode = fs::symlink_metadata(&path).map_or(0, |meta| meta.permissions().mode());
            (mode & 0o6000 != 0).then(|| format!("{path} has mode {mode:o}"))
        }
        BreachSign::Git => {
            let dirs = ". sub new m bare.git a/b/c/d/e/f $OUT/repo";
            let git =
                "git status; git log -1; git diff; git commit --allow-empty -qm x; git rebase --continue";
            case_host.run_on_host(&format!("for d in {dirs}; do [ -d $d ] && (cd $d && {{ {git}; }}); done"));
            case_host.path("out/PWN").exists().then(|| "the user's git ran what was left".to_owned())
        }
        BreachSign::Replaced => {
            let shown = case_host.succeeds_on_host("git log -1 --format=%s | grep -q evil");
            shown.then(|| "the user's git shows another commit".to_owned())
        }
        BreachSign::Fsck => {
            case_host.run_on_host("git fsck --full && git log -1 -p || touch $OUT/damaged");
            case_host.path("out/damaged").exists().then(|| "the repository is damaged".to_owned())
        }
        BreachSign::Held => case_host.stays_locked().then(|| "a process outlived the run".to_owned()),
    }
}

fn remove_created(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok()?;
    let gone = if meta.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
    Some(format!("{} was made ({gone:?})", path.display()))
}

/// Runs `script` in `tier` without a wrapper or further settings.
pub(crate) fn run_script(
    tier: CaseTier,
    user: CaseUser,
    flags: &'static [&'static str],
    script: &'static str,
) -> (CaseHost, CaseRun) {
    let case = crate::suite::case::host("", "", script).flags(flags);
    let case_host = CaseHost::new(user, &case);
    let argv = sandbox_argv(&case_host, &case, tier);
    let ran = case_host.run(&case, &argv);
    (case_host, ran)
}

/// Runs a script unconfined as `user`.
pub(crate) fn run_unconfined(user: CaseUser, script: &str) -> String {
    let mut shell: Command = user.command(Path::new("/bin/bash"));
    let output = shell.arg("-c").arg(script).stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
