//! Leak tests: hostile commands that end in any way leave no process, descriptor or file.
//!
//! They are cancelled, time out or get signals; their processes or their supervisors are killed.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests may unwrap, and look at real processes"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use policy::{
    CommandLine, DenyRead, EnvironmentPolicy, Gate, Intent, Permit, ReadRoot, ReadScope, SandboxPolicy,
    Verdict,
};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, getpgid, getpgrp, kill_process, kill_process_group};
use tempfile::TempDir;
use testkit::TestWorkspace;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use toolgate_exec::fs::ConfinedFs;
use toolgate_exec::process::{PtySize, SpawnFault, Stdio};
use toolgate_exec::session::{
    ProcessSession, Pump, SessionOrigin, SessionStage, SessionTable, SharedProcesses,
};
use toolgate_exec::shell::{InstalledShell, ShellCommands};
use toolgate_exec::spill::Spill;

testkit::trials![
    a_thousand_nasty_calls_leave_nothing,
    a_killed_spawner_is_replaced,
    a_stopped_supervisor_still_ends_its_run,
    a_stopped_spawner_does_not_stop_the_next_call,
    an_end_that_is_asked_for_twice_is_not_put_off,
    a_chain_of_processes_ends_as_soon_as_a_crowd,
    what_hops_from_process_to_process_is_caught,
    what_hops_from_session_to_session_is_caught,
    dropped_sessions_leave_nothing,
    unreported_output_is_not_kept,
];

/// The number of calls, and the number of concurrent ones.
const CALLS: usize = 1000;
const AT_A_TIME: usize = 16;
/// The time after which a call counts as hung, and the time for its leftovers to disappear.
const HUNG: Duration = Duration::from_secs(15);
const GONE: Duration = Duration::from_secs(5);

/// Serializes the tests: descriptors and children are shared by the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(future)
}

struct LeakBench {
    workspace: TestWorkspace,
    sessions: SessionTable,
    shells: ShellCommands,
    /// Locked by every process of a call: a free lock proves that they are gone.
    locks: TempDir,
    /// The temporary directory of the programs.
    tmp: TempDir,
    state: TempDir,
    /// A marker in the environment of every program.
    mark: String,
}

impl LeakBench {
    fn new(name: &str) -> Self {
        let workspace = TestWorkspace::new();
        let (locks, tmp, state) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let spill = Arc::new(Spill::new(state.path().join("outputs"), &workspace.path()));
        let sessions = SessionTable::new(Arc::new(SharedProcesses::default()), Some(spill), 64);
        let mark = format!("LEAK={name}-{}", std::process::id());
        let environment = EnvironmentPolicy {
            set: vec![
                ("LEAK".to_owned(), mark["LEAK=".len()..].to_owned()),
                ("LOCKS".to_owned(), locks.path().display().to_string()),
                ("TMPDIR".to_owned(), tmp.path().display().to_string()),
            ],
            ..EnvironmentPolicy::default()
        };
        let shells = ShellCommands::new(InstalledShell::of_user(None), environment, std::env::vars_os());
        Self { workspace, sessions, shells, locks, tmp, state, mark }
    }

    fn permit(&self, line: CommandLine) -> Permit {
        let root = ReadRoot::new(self.workspace.path());
        let gate = Gate::new(
            ReadScope::new(vec![root], DenyRead::new::<&str>([], None).unwrap()),
            SandboxPolicy::FullAccess,
        );
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

    async fn start(
        &self,
        line: CommandLine,
        stdio: Stdio,
    ) -> Result<(Arc<ProcessSession>, Pump), SpawnFault> {
        let permit = self.permit(line.clone());
        let directory = ConfinedFs::new(&permit).lookup(&self.workspace.path()).unwrap();
        let command = self.shells.command(line, directory, stdio, self.sessions.spawner(), &permit).await;
        self.sessions.start(command, SessionOrigin::default(), &permit).await
    }

    /// Starts a script whose processes hold the lock of `number`.
    async fn script(&self, number: usize, script: &str, stdio: Stdio) -> (Arc<ProcessSession>, Pump) {
        let line = self.command_line(number, script);
        self.start(line, stdio).await.unwrap_or_else(|fault| panic!("call {number}: {fault}"))
    }

    fn command_line(&self, number: usize, script: &str) -> CommandLine {
        File::create(self.lock_file(number)).unwrap();
        let script =
            format!("M=98765.{number:06}; exec 8<$LOCKS/{number}; flock -s 8; echo ready; {script}\n:");
        InstalledShell::find("bash").unwrap().command_line(&script, false)
    }

    fn lock_file(&self, number: usize) -> PathBuf {
        self.locks.path().join(number.to_string())
    }

    /// Returns true if no process holds the lock of `number`.
    fn is_free(&self, number: usize) -> bool {
        let file = File::open(self.lock_file(number)).unwrap();
        flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Returns the running programs of this bench.
    fn programs(&self) -> Vec<i32> {
        let marked = |pid: &i32| holds(&proc_file(*pid, "environ"), self.mark.as_bytes());
        all_pids().into_iter().filter(marked).collect()
    }

    /// Returns files that should be gone.
    fn files(&self) -> Vec<PathBuf> {
        let outputs = self.state.path().join("outputs");
        let kept = fs::read_dir(&outputs).into_iter().flatten().map(|entry| entry.unwrap().path());
        let mut all: Vec<PathBuf> = kept.flat_map(|directory| listed(&directory)).collect();
        all.extend(listed(self.tmp.path()));
        all.extend(listed(&self.workspace.path()));
        all
    }
}

impl Drop for LeakBench {
    /// Kills the processes of a failed test, so that the next one is not affected.
    fn drop(&mut self) {
        self.programs().into_iter().for_each(end_group);
        family(&BTreeSet::new()).iter().for_each(|row| kill(row.pid, Signal::CONT));
    }
}

/// Kills a process and its group, unless that is the test's own: no member can fork meanwhile.
fn end_group(pid: i32) {
    let group = getpgid(Pid::from_raw(pid)).ok().filter(|group| *group != getpgrp());
    let _gone_already = group.map(|group| kill_process_group(group, Signal::KILL));
    kill(pid, Signal::KILL);
}

fn listed(directory: &std::path::Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn proc_file(pid: i32, name: &str) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()
}

fn holds(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.split(|&byte| byte == 0).any(|part| part == mark)
}

fn all_pids() -> Vec<i32> {
    let names = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// A process according to `/proc/…/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcStatRow {
    pid: i32,
    name: String,
    state: char,
    parent: i32,
    session: i32,
}

impl ProcStatRow {
    fn read(pid: i32) -> Option<Self> {
        let stat = String::from_utf8_lossy(&proc_file(pid, "stat")).into_owned();
        let (open, close) = (stat.find('(')?, stat.rfind(')')?);
        let fields: Vec<&str> = stat[close + 1..].split_ascii_whitespace().collect();
        Some(Self {
            pid,
            name: stat[open + 1..close].to_owned(),
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
        })
    }
}

fn rows() -> BTreeMap<i32, ProcStatRow> {
    all_pids().into_iter().filter_map(ProcStatRow::read).map(|row| (row.pid, row)).collect()
}

/// Returns all descendants of this process, and every supervisor of `spawners`, even if it was reparented.
fn family(spawners: &BTreeSet<i32>) -> Vec<ProcStatRow> {
    let me = std::process::id().cast_signed();
    let rows = rows();
    let is_ours = |row: &&ProcStatRow| {
        let mut at = row.parent;
        // ends: parents were there before their children
        while at > 1 && at != me {
            at = rows.get(&at).map_or(0, |row| row.parent);
        }
        at == me || row.pid != me && (spawners.contains(&row.session) || spawners.contains(&row.pid))
    };
    rows.values().filter(is_ours).cloned().collect()
}

/// Returns the running spawners: children of this process.
fn spawners() -> BTreeSet<i32> {
    let me = std::process::id().cast_signed();
    let is_one = |row: &&ProcStatRow| row.parent == me && row.name == "toolgate-spawn" && row.state != 'Z';
    rows().values().filter(is_one).map(|row| row.pid).collect()
}

/// Returns the supervisor of a session: the parent of its process.
fn supervisor(session: &ProcessSession) -> Option<i32> {
    let parent = ProcStatRow::read(ProcStatRow::read(session.pid()?)?.parent)?;
    (parent.name == "toolgate-super").then_some(parent.pid)
}

fn kill(pid: i32, signal: Signal) {
    let _gone_already = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// Returns the target of every descriptor of this process.
fn descriptors() -> BTreeMap<String, String> {
    let entries = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let named = entries.filter_map(|path| {
        let target = fs::read_link(&path).ok()?.display().to_string();
        // The directory that is being read.
        let own = target.starts_with("/proc/") && target.ends_with("/fd");
        (!own).then(|| (path.file_name().unwrap().to_string_lossy().into_owned(), target))
    });
    named.collect()
}

/// Waits until the condition `it` holds.
async fn soon(at_most: Duration, it: impl Fn() -> bool) -> bool {
    let until = Instant::now() + at_most;
    // ends: when it holds, or when the time is up
    loop {
        if it() {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until a script runs: it holds the lock.
async fn ready(session: &ProcessSession) {
    let begun =
        timeout(GONE, session.wait_until(|session| session.pending_output() > 0 || session.is_over())).await;
    assert!(begun.is_ok(), "the script did not begin: {:?}", session.stage());
}

/// Pseudo-random numbers that are the same every time.
struct FateRng(u64);

impl FateRng {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn millis(&mut self, end: u64) -> Duration {
        Duration::from_micros(self.below(end * 1000))
    }
}

/// Kills only processes with this name: pids are reused.
const KILL_SUPERVISOR: &str =
    r#"kill_supervisor() { [ "$(</proc/$PPID/comm)" = toolgate-super ] && kill -$1 $PPID; }"#;
const KILL_SPAWNER: &str = r#"kill_spawner() {
    read -r _ _ _ up _ </proc/$PPID/stat
    [ "$(</proc/$up/comm)" = toolgate-spawn ] && kill -$1 $up && echo $up
}"#;

/// Commands that try to escape. `$M` is the time that they sleep.
const NASTY: &[(&str, &str)] = &[
    ("sleeps", "sleep $M"),
    ("forks twice", "( (sleep $M &) & ); sleep $M"),
    ("has sessions of its own", "setsid sleep $M & setsid -f sleep $M; setsid -f setsid -f sleep $M; wait"),
    ("nohup", "nohup sleep $M >/dev/null 2>&1 & disown -a; exit 0"),
    ("ignores signals", "trap '' TERM HUP INT QUIT; sleep $M & while :; do sleep $M; done"),
    ("stopped", "sleep $M & kill -STOP $!; setsid sleep $M & kill -STOP $! $$; sleep $M"),
    ("its pipes are held", "(setsid sleep $M &); exit 3"),
    ("bomb", "b() { [ $1 = 0 ] && exec sleep $M; b $(($1 - 1)) & b $(($1 - 1)) & wait; }; b 4"),
    ("forks on and on", "for ((i = 0; i < 40; i++)); do ( (sleep $M &) & ); done; sleep $M"),
    ("kills its supervisor", "( (setsid sleep $M &) & ); setsid -f sleep $M; kill_supervisor KILL; sleep $M"),
    ("asks its supervisor to end", "(trap '' TERM; setsid -f sleep $M); kill_supervisor TERM; sleep $M"),
    ("crashes", "setsid sleep $M & sleep $M & kill -SEGV $$; sleep $M"),
    ("kills itself", "(trap '' TERM; sleep $M & ); kill -KILL $$; sleep $M"),
    ("kills its group", "setsid -f sleep $M; sleep $M & kill -KILL 0; sleep $M"),
    ("floods", "setsid yes $M | head -c 200000 >&2; yes $M | head -c 200000; sleep $M"),
    ("closes all", "setsid -f sleep $M; exec 0<&- >&- 2>&-; (sleep $M &); sleep $M"),
    ("many end at once", "for ((i = 0; i < 60; i++)); do (: & ); done; sleep $M"),
    ("namespace", "unshare -fp setsid sleep $M & unshare -Ufp setsid sleep $M & sleep $M"),
    ("other names", "(exec -a '(a) b) S 1 1' sleep $M &); (exec -a toolgate-super sleep $M &); sleep $M"),
    ("hops from process to process", "h() { h & }; h & h & h & h & sleep $M"),
    ("just ends", "sleep $M & exit 7"),
];
const BIG_BOMB: &str = "b() { [ $1 = 0 ] && exec sleep $M; b $(($1 - 1)) & b $(($1 - 1)) & wait; }; b 7";

/// The fate of a call.
#[derive(Debug, Clone, Copy)]
enum CallFate {
    /// Its pump is dropped after a time.
    Cancelled(Duration),
    /// Its pump is dropped while it starts.
    CancelledAtOnce(Duration),
    /// It is ended after a time, with this grace.
    TimedOut(Duration, Duration),
    /// Another process kills its process, then all is ended.
    Killed(Duration),
    /// Its supervisor is killed.
    SupervisorKilled(Duration),
    /// It gets a signal, then it is ended.
    Signalled(Duration),
}

impl CallFate {
    fn roll(dice: &mut FateRng) -> Self {
        let after = dice.millis(40);
        match dice.below(10) {
            0..=2 => Self::Cancelled(after),
            3 => Self::CancelledAtOnce(dice.millis(4)),
            4..=6 => Self::TimedOut(after, Duration::from_millis(dice.below(3) * 15)),
            7 => Self::Killed(after),
            8 => Self::SupervisorKilled(after),
            _ => Self::Signalled(after),
        }
    }
}

/// Runs one call to its end, and returns the failure, if there is one.
async fn call(
    bench: &LeakBench,
    number: usize,
    script: &str,
    stdio: Stdio,
    fate: CallFate,
) -> Result<(), String> {
    let line = bench.command_line(number, script);
    let started = match fate {
        CallFate::CancelledAtOnce(after) => timeout(after, bench.start(line, stdio)).await.ok(),
        _ => Some(bench.start(line, stdio).await),
    };
    if let Some(started) = started {
        let (session, mut pump) = started.map_err(|fault| fault.to_string())?;
        meet(&session, &mut pump, fate).await;
        let stage = session.stage();
        drop(pump);
        match stage {
            SessionStage::Over { .. } if bench.is_free(number) => return Ok(()),
            SessionStage::Over { .. } => {
                return Err(format!("some live on though it is said to be over: {stage:?}"));
            }
            _ if !session.is_over() => return Err(format!("without its pump it is {:?}", session.stage())),
            _ => {}
        }
    }
    match soon(GONE, || bench.is_free(number)).await {
        true => Ok(()),
        false => Err("some are still there".to_owned()),
    }
}

/// Applies the fate to a call.
async fn meet(session: &ProcessSession, pump: &mut Pump, fate: CallFate) {
    let (CallFate::Cancelled(after)
    | CallFate::CancelledAtOnce(after)
    | CallFate::TimedOut(after, _)
    | CallFate::Killed(after)
    | CallFate::SupervisorKilled(after)
    | CallFate::Signalled(after)) = fate;
    if timeout(after, &mut *pump).await.is_ok() {
        return;
    }
    let grace = match fate {
        CallFate::Cancelled(_) | CallFate::CancelledAtOnce(_) => return,
        CallFate::TimedOut(_, grace) => grace,
        CallFate::Killed(_) => {
            session.pid().into_iter().for_each(|pid| kill(pid, Signal::KILL));
            Duration::ZERO
        }
        CallFate::SupervisorKilled(_) => {
            supervisor(session).into_iter().for_each(|pid| kill(pid, Signal::KILL));
            Duration::ZERO
        }
        CallFate::Signalled(_) => {
            session.signal(15);
            Duration::from_millis(5)
        }
    };
    session.end(grace);
    pump.await;
}

/// Programs that fail to start.
async fn not_started(bench: &LeakBench) {
    let here = |name: &str| bench.workspace.path().join(name).display().to_string();
    bench.workspace.write_file("plain", "no program").write_file("script", "#!/no/such/interpreter\n");
    let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(bench.workspace.path().join("script"), may_run).unwrap();
    let programs = [
        "/no/such/program".to_owned(),
        "no-such-program".to_owned(),
        "/".to_owned(),
        here("plain"),
        here("script"),
    ];
    for program in programs {
        for stdio in [Stdio::NoInput, Stdio::PipedInput, Stdio::Terminal(PtySize::default())] {
            let (session, pump) = bench.start(vec![program.clone()].into(), stdio).await.unwrap();
            timeout(HUNG, pump).await.unwrap();
            assert!(session.take_fault().is_some(), "{program}: {:?}", session.stage());
        }
    }
    fs::remove_file(bench.workspace.path().join("plain")).unwrap();
    fs::remove_file(bench.workspace.path().join("script")).unwrap();
}

/// Runs calls of all kinds, and returns their failures.
async fn storm(bench: &Arc<LeakBench>, calls: usize, seed: u64) -> Vec<String> {
    let mut dice = FateRng(seed);
    let mut running = JoinSet::new();
    let mut wrong = Vec::new();
    for number in 0..calls {
        if running.len() >= AT_A_TIME {
            wrong.extend(running.join_next().await.unwrap().unwrap());
        }
        let (name, script) = NASTY[number % NASTY.len()];
        let (name, script) = if number % 100 == 99 { ("big bomb", BIG_BOMB) } else { (name, script) };
        let script = format!("{KILL_SUPERVISOR}\n{script}");
        let stdio = match dice.below(4) {
            0 => Stdio::Terminal(PtySize::default()),
            1 => Stdio::PipedInput,
            _ => Stdio::NoInput,
        };
        let fate = CallFate::roll(&mut dice);
        let bench = Arc::clone(bench);
        running.spawn(async move {
            let done = timeout(HUNG, call(&bench, number, &script, stdio.clone(), fate)).await;
            let done = done.unwrap_or_else(|_| Err("it hangs".to_owned()));
            done.err().map(|why| format!("call {number} ({name}, {stdio:?}, {fate:?}): {why}"))
        });
    }
    // ends: every round takes one of them
    while let Some(done) = running.join_next().await {
        wrong.extend(done.unwrap());
    }
    wrong
}

/// Asserts that nothing is left of `bench` except its spawner and idle supervisors.
async fn assert_idle(bench: &LeakBench) {
    soon(GONE, || bench.programs().is_empty()).await;
    let programs: Vec<Option<ProcStatRow>> = bench.programs().into_iter().map(ProcStatRow::read).collect();
    assert!(programs.is_empty(), "programs are left: {programs:?}");
    let strangers = || -> Vec<ProcStatRow> {
        // A host that requested no supervisor since does not know yet that its spawner is dead.
        let ours = |row: &ProcStatRow| {
            row.name == "toolgate-spawn" || row.name == "toolgate-super" && row.state != 'Z'
        };
        family(&BTreeSet::new()).into_iter().filter(|row| !ours(row)).collect()
    };
    soon(GONE, || strangers().is_empty()).await;
    assert_eq!(strangers(), [], "only the spawner and its supervisors may be there");
    assert_eq!(bench.files(), [] as [PathBuf; 0], "files are left");
}

/// Drops `bench`, and asserts that nothing of it or of `spawners` is left.
async fn assert_nothing_left(bench: Arc<LeakBench>, spawners: &BTreeSet<i32>) {
    drop(Arc::into_inner(bench).expect("no other owner is left"));
    soon(GONE, || family(spawners).is_empty()).await;
    assert_eq!(family(spawners), [], "processes are left");
}

fn a_thousand_nasty_calls_leave_nothing() {
    let _alone = alone();
    block_on(async {
        let warm_up = Arc::new(LeakBench::new("warm-up"));
        storm(&warm_up, NASTY.len(), 1).await;
        let warm = spawners();
        assert_nothing_left(warm_up, &warm).await;
        let before = descriptors();

        let bench = Arc::new(LeakBench::new("storm"));
        let began = Instant::now();
        let wrong = storm(&bench, CALLS, 2).await;
        println!("{CALLS} calls in {:.1?}", began.elapsed());
        assert!(wrong.is_empty(), "{} calls went wrong:\n{}", wrong.len(), wrong.join("\n"));
        not_started(&bench).await;
        assert_idle(&bench).await;
        let ours = spawners();
        assert_eq!(ours.len(), 1, "one spawner serves all");
        assert_nothing_left(bench, &ours).await;
        assert_eq!(descriptors(), before, "descriptors are left");
    });
}

fn a_killed_spawner_is_replaced() {
    let _alone = alone();
    block_on(async {
        let bench = Arc::new(LeakBench::new("spawner"));
        let mut seen = BTreeSet::new();
        let mut kept = Vec::new();
        for round in 0..10 {
            // One session that continues, and one that kills the spawner.
            let (session, pump) =
                bench.script(2 * round, "setsid -f sleep $M; sleep $M", Stdio::NoInput).await;
            let pump = tokio::spawn(pump);
            ready(&session).await;
            let script = format!("{KILL_SPAWNER}\nsetsid -f sleep $M; kill_spawner KILL; exit 4");
            let (killer, moved) = bench.script(2 * round + 1, &script, Stdio::NoInput).await;
            let moved = tokio::spawn(moved);
            let done =
                timeout(HUNG, killer.wait_until(|killer| !matches!(killer.stage(), SessionStage::Running)))
                    .await;
            assert!(
                done.is_ok(),
                "round {round}: a call hangs after the spawner was killed: {:?}",
                killer.stage()
            );
            killer.end(Duration::ZERO);
            timeout(HUNG, moved).await.unwrap().unwrap();
            assert!(matches!(killer.stage(), SessionStage::Over { .. }), "{:?}", killer.stage());
            assert!(bench.is_free(2 * round + 1));
            let said = String::from_utf8(killer.take_output().output.stdout.head).unwrap();
            seen.extend(said.lines().filter_map(|line| line.parse::<i32>().ok()));
            kept.push((session, pump));
        }
        assert!(seen.len() > 5, "only {} spawners were killed", seen.len());
        seen.extend(spawners());
        for (number, (session, pump)) in kept.into_iter().enumerate() {
            assert_eq!(session.stage(), SessionStage::Running, "a session does not need its spawner");
            session.end(Duration::ZERO);
            timeout(HUNG, pump).await.unwrap().unwrap();
            assert!(matches!(session.stage(), SessionStage::Over { .. }) && bench.is_free(2 * number));
        }
        assert_idle(&bench).await;
        assert_nothing_left(bench, &seen).await;
    });
}

fn a_stopped_supervisor_still_ends_its_run() {
    let _alone = alone();
    block_on(async {
        let bench = LeakBench::new("stopped-supervisor");
        for (number, drop_it) in [(0, false), (1, true)] {
            let script = format!("{KILL_SUPERVISOR}\nsetsid -f sleep $M; kill_supervisor STOP; sleep $M");
            let (session, mut pump) = bench.script(number, &script, Stdio::NoInput).await;
            let _still_runs = timeout(Duration::from_millis(300), &mut pump).await;
            if !drop_it {
                session.end(Duration::ZERO);
                let ended = timeout(GONE, &mut pump).await;
                assert!(ended.is_ok(), "it cannot be ended: its supervisor is stopped");
            }
            drop(pump);
            let gone = soon(GONE, || bench.is_free(number)).await;
            assert!(gone, "call {number} left {:?}", bench.programs());
        }
    });
}

fn a_stopped_spawner_does_not_stop_the_next_call() {
    let _alone = alone();
    block_on(async {
        let bench = LeakBench::new("stopped-spawner");
        let (first, pump) = bench.script(0, "sleep $M", Stdio::NoInput).await;
        let pump = tokio::spawn(pump);
        ready(&first).await;
        let spawner = spawners();
        spawner.iter().for_each(|&pid| kill(pid, Signal::STOP));
        let (_next, moved) = bench.script(1, "exit 0", Stdio::NoInput).await;
        let ended = timeout(GONE, moved).await;
        spawner.iter().for_each(|&pid| kill(pid, Signal::CONT));
        assert!(ended.is_ok(), "the next call hangs");
        first.end(Duration::ZERO);
        timeout(HUNG, pump).await.unwrap().unwrap();
    });
}

fn an_end_that_is_asked_for_twice_is_not_put_off() {
    let _alone = alone();
    block_on(async {
        let bench = LeakBench::new("twice");
        let (session, pump) =
            bench.script(0, "trap '' TERM; echo; while :; do sleep 1; done", Stdio::NoInput).await;
        let mut pump = tokio::spawn(pump);
        ready(&session).await;
        let until = Instant::now() + GONE;
        // ends: with the session, or when the time is up
        while Instant::now() < until && !session.is_over() {
            session.end(Duration::from_millis(500));
            let _not_yet = timeout(Duration::from_millis(200), &mut pump).await;
        }
        assert!(session.is_over(), "asked to end again and again, it was never killed");
    });
}

/// Measures the time to end a script with 400 processes.
async fn end_of(bench: &LeakBench, number: usize, script: &str) -> Duration {
    let (session, pump) = bench.script(number, script, Stdio::NoInput).await;
    let mut pump = tokio::spawn(pump);
    let grown = soon(HUNG, || bench.programs().len() > 400).await;
    assert!(grown, "it has only {} processes", bench.programs().len());
    let began = Instant::now();
    session.end(Duration::ZERO);
    timeout(HUNG, &mut pump).await.unwrap().unwrap();
    began.elapsed()
}

fn a_chain_of_processes_ends_as_soon_as_a_crowd() {
    let _alone = alone();
    block_on(async {
        let bench = LeakBench::new("chain");
        let chain = "exec sh -c 'f() { [ $1 = 0 ] && exec sleep '$M'; (f $(($1 - 1)); :); :; }; f 400'";
        let crowd = "for ((i = 0; i < 400; i++)); do sleep $M & done; wait";
        let mut ratios = Vec::new();
        for round in 0..2 {
            let (long, wide) =
                (end_of(&bench, 2 * round, chain).await, end_of(&bench, 2 * round + 1, crowd).await);
            println!("400 processes end in {long:.0?} as a chain, in {wide:.0?} as a crowd");
            ratios.push(long.as_secs_f64() / wide.as_secs_f64());
        }
        let best = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(best < 6.0, "a chain takes {best:.1} times as long");
    });
}

/// Measures the time to end a script whose short-lived processes start others before they exit.
async fn hunt(name: &str, script: &str) {
    let bench = LeakBench::new(name);
    let mut times = Vec::new();
    for number in 0..5 {
        let (session, pump) = bench.script(number, script, Stdio::NoInput).await;
        let mut pump = tokio::spawn(pump);
        ready(&session).await;
        sleep(Duration::from_millis(100)).await;
        let began = Instant::now();
        session.end(Duration::ZERO);
        timeout(HUNG, &mut pump).await.expect("they are caught at some time").unwrap();
        let SessionStage::Over { ended, more, .. } = session.stage() else { panic!("{:?}", session.stage()) };
        assert!(bench.is_free(number));
        println!("{} that hop were caught in {:.0?}", ended.len() + more as usize, began.elapsed());
        times.push(began.elapsed());
    }
    times.sort();
    assert!(times[2] < Duration::from_secs(1), "it took {times:.0?}");
}

fn what_hops_from_process_to_process_is_caught() {
    let _alone = alone();
    block_on(hunt("hops", "h() { h & }; for ((i = 0; i < 20; i++)); do h & done; sleep $M"));
}

fn what_hops_from_session_to_session_is_caught() {
    let _alone = alone();
    let hop =
        r#"export H='setsid sh -c "$H" & setsid -f true'; for i in 1 2 3; do sh -c "$H"; done; sleep $M"#;
    block_on(hunt("far", hop));
}

fn dropped_sessions_leave_nothing() {
    let _alone = alone();
    block_on(async {
        let bench = Arc::new(LeakBench::new("adopted"));
        for number in 0..32 {
            let (_, script) = NASTY[number % NASTY.len()];
            let script = format!("{KILL_SUPERVISOR}\n{script}");
            let terminal = number % 3 == 0;
            let stdio = if terminal { Stdio::Terminal(PtySize::default()) } else { Stdio::PipedInput };
            let (session, pump) = bench.script(number, &script, stdio).await;
            bench.sessions.adopt(&session, pump);
        }
        sleep(Duration::from_millis(100)).await;
        let ours = spawners();
        assert!(!bench.programs().is_empty(), "there is something to end");
        let bench = Arc::into_inner(bench).unwrap();
        let (lists, mark) = (ours.clone(), bench.mark.clone());
        // Everything except the means to search for leftovers.
        drop(bench);
        let left = || {
            let marked = |pid: &i32| holds(&proc_file(*pid, "environ"), mark.as_bytes());
            (all_pids().into_iter().filter(marked).collect::<Vec<_>>(), family(&lists))
        };
        soon(GONE, || left() == (vec![], vec![])).await;
        assert_eq!(left(), (vec![], vec![]));
    });
}

fn unreported_output_is_not_kept() {
    let _alone = alone();
    block_on(async {
        let bench = LeakBench::new("flood");
        let (session, mut pump) = bench.script(0, "yes $M | head -c 3000000; sleep $M", Stdio::NoInput).await;
        let flooded = async {
            tokio::select! {
                () = &mut pump => {}
                () = session.wait_until(|session| session.pending_output() > 2_500_000) => {}
            }
        };
        timeout(HUNG, flooded).await.unwrap();
        assert_eq!(bench.files().len(), 1, "it was too much for memory: {:?}", session.stage());
        drop((pump, session));
        // The bulk-reader thread has to notice first.
        let gone = soon(GONE, || bench.files().is_empty()).await;
        assert!(gone, "unreported files are left: {:?}", bench.files());
    });
}
