//! Tests that no process survives the host by more than a second, however it ends, `kill -9` included.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgid, getpgrp, kill_process, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The promised time limit.
const PROMISE: Duration = Duration::from_secs(1);
/// Time limit of an answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Number of kills, and of concurrent hosts.
const ROUNDS: u64 = 80;
const AT_A_TIME: usize = 4;

/// Commands that try to escape, and whether they have a terminal. `$M` is the time that they sleep.
const NASTY: &[(&str, bool)] = &[
    ("( (setsid sleep $M >/dev/null 2>&1 &) & ); sleep $M", false),
    ("setsid nohup sleep $M & setsid -f setsid -f sleep $M; disown -a; exit 0", false),
    ("trap '' TERM HUP INT QUIT; setsid sleep $M & while :; do sleep $M; done", false),
    ("trap '' HUP; setsid sleep $M & set -m; sleep $M & sleep $M", true),
    ("setsid nohup bash -c 'trap \"\" TERM; while :; do sleep $M; done' >/dev/null 2>&1 & exit 0", false),
    ("b() { [ $1 = 0 ] && exec sleep $M; b $(($1 - 1)) & b $(($1 - 1)) & wait; }; b 4", false),
    ("sleep $M & kill -STOP $!; setsid sleep $M & kill -STOP $! $$", false),
    ("for ((i = 0; i < 200; i++)); do ( (sleep $M &) & ); done; sleep $M", false),
    ("setsid -f sleep $M; exec 0<&- >&- 2>&-; sleep $M", true),
    ("while :; do sleep 0.01; done & setsid -f bash -c 'while :; do sleep 0.01; done'; sleep $M", false),
];

/// Deterministic pseudo-random numbers.
struct SplitMixRandom(u64);

impl SplitMixRandom {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// A running `toolgate pipe`, and marks to recognise its processes.
struct PipeHost {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    /// In the environment of every program that it starts.
    home: TempDir,
    dir: TempDir,
    /// Its limit of open files: a number that no other spawner has.
    limit: u32,
    calls: u32,
}

impl PipeHost {
    fn start() -> Self {
        Self::read_by(usize::MAX)
    }

    /// Starts a host of which only this number of answers is read.
    fn read_by(answers: usize) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        testkit::restore_signals();
        // Distinct from a concurrent run of this test.
        let limit = 1100 + std::process::id() % 16 * 150 + STARTED.fetch_add(1, Ordering::Relaxed);
        let (home, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // These commands are dangerous on purpose, and there is no approver.
        let rules = home.path().join(".config/toolgate");
        std::fs::create_dir_all(&rules).unwrap();
        std::fs::write(rules.join("rules.toml"), "[[rule]]\ntool = \"exec_command\"\ndecision = \"allow\"\n")
            .unwrap();
        let script = format!(r#"ulimit -Sn {limit} && exec "$@""#);
        let mut child = Command::new("/bin/sh")
            .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_toolgate"), "pipe"])
            .args(["--sandbox", "danger-full-access", "--cwd"])
            .arg(dir.path())
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", std::env::var_os("PATH").unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let answers = read(child.stdout.take().unwrap(), answers);
        Self { child, input, answers, home, dir, limit, calls: 0 }
    }

    fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    fn call(&mut self, tool: &str, arguments: &Value) {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        let item = json!({
            "type": "function_call", "call_id": id, "name": tool, "arguments": arguments.to_string(),
        });
        // The host may be gone already, which is the point of the test.
        let _gone = writeln!(self.input.as_mut().unwrap(), "{item}");
    }

    /// Starts an escaping command as a background session.
    fn nasty(&mut self, (script, tty): (&str, bool)) {
        let arguments =
            json!({ "cmd": self.script(script), "tty": tty, "login": false, "yield_time_ms": 250 });
        self.call("exec_command", &arguments);
    }

    fn script(&self, script: &str) -> String {
        format!("export M=98765.{:04}{:04}; {script}", self.limit, self.calls)
    }

    /// Returns the text of the next answer.
    fn answer(&self) -> String {
        let answer = self.answers.recv_timeout(PATIENCE).expect("there is an answer");
        answer["output"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Returns the output of a short command.
    fn command_output(&mut self, script: &str) -> String {
        self.call("exec_command", &json!({ "cmd": script, "login": false }));
        self.answer()
    }

    /// Starts all escaping commands, waits for the answers, and returns the session ids.
    fn all_nasty(&mut self) -> Vec<u64> {
        NASTY.iter().for_each(|nasty| self.nasty(*nasty));
        NASTY.iter().map(|_| session_id(&self.answer())).collect()
    }

    /// Returns every process of the host except itself.
    fn family(&self) -> Vec<i32> {
        let home = format!("HOME={}", self.home.path().display());
        let spawner = format!("toolgate-spawner\0{}\0", self.limit);
        let is_ours = |pid: &i32| {
            let environ = proc_file(*pid, "environ");
            *pid != self.pid()
                && (environ.split(|&byte| byte == 0).any(|pair| pair == home.as_bytes())
                    || proc_file(*pid, "cmdline") == spawner.as_bytes())
        };
        all_pids().into_iter().filter(is_ours).collect()
    }

    /// Returns those of its processes with this name.
    fn called(&self, name: &str) -> Vec<i32> {
        self.family().into_iter().filter(|&pid| comm(pid) == name).collect()
    }

    fn spawner(&self) -> i32 {
        let all = self.called("toolgate-spawn");
        assert_eq!(all.len(), 1, "it has one spawner: {all:?}");
        all[0]
    }

    /// Returns the supervisor above a process whose arguments contain `mark`.
    fn supervisor_of(&self, mark: &str) -> i32 {
        let is_it = |pid: &i32| String::from_utf8_lossy(&proc_file(*pid, "cmdline")).contains(mark);
        let mut at = self.family().into_iter().find(is_it).expect("it runs");
        // ends: at the supervisor, or at the top of the tree
        while comm(at) != "toolgate-super" {
            at = parent(at).expect("a supervisor is above it");
        }
        at
    }

    /// Waits for the end of the host.
    fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        // ends: with the host, or at the time limit
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "the host does not end");
            sleep(Duration::from_millis(2));
        }
    }

    fn kill(&mut self) {
        kill(self.pid(), Signal::KILL);
        self.child.wait().unwrap();
    }

    /// Returns the time from `since` until no process is left, or a list of the remaining ones after the limit.
    fn gone(&self, since: Instant) -> Result<Duration, String> {
        // ends: when no process is left, or at the time limit
        loop {
            let took = since.elapsed();
            let left = self.family();
            if left.is_empty() && self.family().is_empty() {
                return Ok(took);
            }
            if took > PROMISE {
                let some: Vec<String> = left.iter().take(5).map(|&pid| described(pid)).collect();
                return Err(format!("{} are left after {took:.1?}: {}", left.len(), some.join("; ")));
            }
            // Scanning costs time too.
            sleep(Duration::from_millis(15));
        }
    }

    #[track_caller]
    fn assert_gone(&self, since: Instant) -> Duration {
        self.gone(since).unwrap_or_else(|left| panic!("{left}"))
    }
}

impl Drop for PipeHost {
    /// A failing test must not leave processes behind.
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _status = self.child.wait();
        for _ in 0..5 {
            self.family().into_iter().for_each(end_group);
        }
    }
}

/// Kills a process and its group, unless it is this one's: no process in it forks meanwhile.
fn end_group(pid: i32) {
    let group = getpgid(Pid::from_raw(pid)).ok().filter(|group| *group != getpgrp());
    let _gone_already = group.map(|group| kill_process_group(group, Signal::KILL));
    kill(pid, Signal::KILL);
}

/// Reads this number of answers, then stops reading.
fn read(output: ChildStdout, answers: usize) -> Receiver<Value> {
    let (send, received) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().take(answers).map_while(Result::ok) {
            let _nobody_waits = send.send(serde_json::from_str(&line).unwrap());
        }
    });
    received
}

fn session_id(answer: &str) -> u64 {
    let at = answer.find("session ID ").unwrap_or_else(|| panic!("it runs on: {answer}"));
    let digits = answer[at + "session ID ".len()..].chars().take_while(char::is_ascii_digit);
    digits.collect::<String>().parse().unwrap()
}

fn proc_file(pid: i32, name: &str) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()
}

fn comm(pid: i32) -> String {
    String::from_utf8_lossy(&proc_file(pid, "comm")).trim_end().to_owned()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = String::from_utf8_lossy(&proc_file(pid, "stat")).into_owned();
    stat[stat.rfind(')')? + 1..].split_ascii_whitespace().nth(1)?.parse().ok()
}

fn described(pid: i32) -> String {
    let cmdline = String::from_utf8_lossy(&proc_file(pid, "cmdline")).replace('\0', " ");
    let cmdline: String = cmdline.chars().take(60).collect();
    format!("{pid} {} [{cmdline}] below {:?}", comm(pid), parent(pid))
}

fn all_pids() -> Vec<i32> {
    let names = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

fn kill(pid: i32, signal: Signal) {
    let _gone_already = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// Returns all commands without a terminal as one script: a host starts one call at a time.
fn all_at_once() -> String {
    let piped = NASTY.iter().filter(|(_, tty)| !tty);
    let scripts: Vec<String> = piped.map(|(script, _)| format!("( {script} ) &")).collect();
    format!("{}\nsleep $M", scripts.join("\n"))
}

/// Kills a host while it starts commands; returns the time until its processes were gone, and their number.
fn round(number: u64) -> Result<(Duration, usize), String> {
    let mut dice = SplitMixRandom(number);
    let mut host = PipeHost::start();
    let all = all_at_once();
    let mut nasty = |host: &mut PipeHost| match usize::try_from(dice.below(NASTY.len() as u64 + 4)).unwrap() {
        // The shell profile that runs first is a process like any other.
        0 => host.call("exec_command", &json!({ "cmd": host.script("sleep $M"), "yield_time_ms": 250 })),
        kind => host.nasty(*NASTY.get(kind).unwrap_or(&(&all, false))),
    };
    // Some commands run already, one is starting, others are queued.
    for _ in 0..number % 3 {
        nasty(&mut host);
        host.answer();
    }
    (0..4).for_each(|_| nasty(&mut host));
    sleep(Duration::from_micros(dice.below(150_000)));
    let there = host.family().len();
    let killed = Instant::now();
    host.kill();
    match host.gone(killed) {
        Ok(took) => Ok((took, there)),
        Err(left) => Err(format!("round {number}: {left}")),
    }
}

#[test]
fn killed_at_any_moment_it_leaves_nothing() {
    let rounds: Vec<_> = std::thread::scope(|scope| {
        let some = |first: usize| move || (0..ROUNDS).skip(first).step_by(AT_A_TIME).map(round).collect();
        let threads: Vec<_> = (0..AT_A_TIME).map(|first| scope.spawn(some(first))).collect();
        threads.into_iter().flat_map(|thread| -> Vec<_> { thread.join().unwrap() }).collect()
    });
    let left: Vec<&String> = rounds.iter().filter_map(|round| round.as_ref().err()).collect();
    assert!(left.is_empty(), "{} of {ROUNDS} left something: {left:#?}", left.len());
    let (mut times, there): (Vec<Duration>, Vec<usize>) = rounds.into_iter().flatten().unzip();
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    let most = there.iter().max().unwrap();
    eprintln!(
        "from kill -9 to gone: p50 {:.0?}, p90 {:.0?}, max {:.0?}; up to {most} processes",
        at(50),
        at(90),
        at(100)
    );
    let busy = there.iter().filter(|&&there| there > 20).count();
    assert!(busy > there.len() / 4, "the kills came too early to mean anything: {there:?}");
}

#[test]
fn a_signal_that_ends_it_ends_all() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut host = PipeHost::start();
        host.all_nasty();
        assert!(host.family().len() > 50);
        // A command in the foreground.
        host.call("exec_command", &json!({ "cmd": host.script("trap '' TERM INT; sleep $M; sleep $M") }));
        sleep(Duration::from_millis(100));
        kill(host.pid(), signal);
        let status = host.ended();
        let took = host.assert_gone(Instant::now());
        eprintln!("{signal:?}: {status}, gone {took:.0?} later");
    }
}

#[test]
fn the_end_of_its_input_ends_all() {
    let mut host = PipeHost::start();
    host.all_nasty();
    let keep = json!({ "cmd": host.script("setsid -f sleep $M; sleep $M"), "lifetime": "keep", "yield_time_ms": 250 });
    host.call("exec_command", &keep);
    session_id(&host.answer());
    assert!(host.family().len() > 50);
    drop(host.input.take());
    assert_eq!(host.ended().code(), Some(0));
    host.assert_gone(Instant::now());
    assert_eq!(fs::read_dir(host.dir.path()).unwrap().count(), 0);
}

#[test]
fn closed_output_ends_everything() {
    let mut host = PipeHost::read_by(NASTY.len());
    host.all_nasty();
    assert!(host.family().len() > 50);
    // This answer cannot be delivered.
    host.call("exec_command", &json!({ "cmd": "echo hello", "login": false }));
    let status = host.ended();
    assert_ne!(status.code(), Some(101), "it panicked");
    host.assert_gone(Instant::now());
}

#[test]
fn stopped_and_then_killed_it_leaves_nothing() {
    let mut host = PipeHost::start();
    host.all_nasty();
    host.nasty(("yes $M", false));
    sleep(Duration::from_millis(50));
    kill(host.pid(), Signal::STOP);
    // Reports and output accumulate while the host is stopped.
    sleep(Duration::from_millis(300));
    assert!(host.family().len() > 50);
    let killed = Instant::now();
    host.kill();
    host.assert_gone(killed);
}

#[test]
fn killed_together_with_its_spawner_it_leaves_nothing() {
    let mut host = PipeHost::start();
    host.all_nasty();
    let spawner = host.spawner();
    let killed = Instant::now();
    kill(spawner, Signal::KILL);
    host.kill();
    host.assert_gone(killed);
}

#[test]
fn asked_to_end_together_with_its_supervisors_it_leaves_nothing() {
    // As `pkill toolgate` does.
    let mut host = PipeHost::start();
    host.all_nasty();
    let ours = [host.called("toolgate-spawn"), host.called("toolgate-super")].concat();
    assert!(ours.len() > NASTY.len());
    let asked = Instant::now();
    kill(host.pid(), Signal::TERM);
    ours.into_iter().for_each(|pid| kill(pid, Signal::TERM));
    host.ended();
    host.assert_gone(asked);
}

#[test]
fn a_program_that_stops_its_supervisor_does_not_outlive_the_host() {
    let mut host = PipeHost::start();
    let stop = r#"[ "$(</proc/$PPID/comm)" = toolgate-super ] && kill -STOP $PPID"#;
    host.nasty((&format!("setsid -f sleep $M; {stop}; sleep $M"), false));
    session_id(&host.answer());
    let killed = Instant::now();
    host.kill();
    host.assert_gone(killed);
}

#[test]
fn a_long_chain_of_processes_does_not_outlive_the_host() {
    let mut host = PipeHost::start();
    host.nasty(("exec sh -c 'f() { [ $1 = 0 ] && exec sleep '$M'; (f $(($1 - 1)); :); :; }; f 300'", false));
    session_id(&host.answer());
    let until = Instant::now() + PATIENCE;
    // ends: when the chain is long, or at the time limit
    while host.family().len() < 302 {
        assert!(Instant::now() < until, "it has only {} processes", host.family().len());
        sleep(Duration::from_millis(50));
    }
    let killed = Instant::now();
    host.kill();
    let took = host.assert_gone(killed);
    eprintln!("a chain of 300 was gone after {took:.0?}");
}

#[test]
fn constantly_forking_program_does_not_outlive_the_host() {
    let mut host = PipeHost::start();
    // Each is short-lived, but some always exist.
    host.nasty(("h() { h & }; for ((i = 0; i < 20; i++)); do h & done; sleep $M", false));
    session_id(&host.answer());
    let killed = Instant::now();
    host.kill();
    let took = host.assert_gone(killed);
    eprintln!("what hops was gone after {took:.0?}");
}

#[test]
fn a_killed_spawner_is_replaced_and_sessions_go_on() {
    let mut host = PipeHost::start();
    host.call("exec_command", &json!({ "cmd": "cat", "stdin": true, "login": false, "yield_time_ms": 250 }));
    let cat = session_id(&host.answer());
    for round in 0..3 {
        let spawner = host.spawner();
        kill(spawner, Signal::KILL);
        host.call("write_stdin", &json!({ "session_id": cat, "chars": format!("line {round}\n") }));
        let answer = host.answer();
        assert!(answer.contains(&format!("line {round}")), "the session goes on: {answer}");
        // More than the number of idle supervisors.
        for number in 0..3 {
            host.nasty(("echo hello; setsid -f sleep $M; sleep $M", false));
            let answer = host.answer();
            assert!(answer.contains("hello"), "round {round}, call {number}: {answer}");
        }
        assert_ne!(host.spawner(), spawner);
    }
    host.all_nasty();
    let killed = Instant::now();
    host.kill();
    host.assert_gone(killed);
}

#[test]
fn a_killed_supervisor_ends_its_session_alone() {
    let mut host = PipeHost::start();
    host.call("exec_command", &json!({ "cmd": "cat", "stdin": true, "login": false, "yield_time_ms": 250 }));
    let cat = session_id(&host.answer());
    for signal in [Signal::KILL, Signal::TERM] {
        host.nasty((
            "( (setsid sleep $M &) & ); trap '' TERM; setsid -f sleep $M; sleep $M; sleep $M",
            false,
        ));
        let mark = format!("98765.{:04}{:04}", host.limit, host.calls - 1);
        let session = session_id(&host.answer());
        let supervisor = host.supervisor_of(&mark);
        let before = host.family().len();
        kill(supervisor, signal);
        let killed = Instant::now();
        let left = |host: &PipeHost| {
            let marked = |pid: &i32| String::from_utf8_lossy(&proc_file(*pid, "cmdline")).contains(&mark);
            host.family().into_iter().filter(marked).count()
        };
        if signal == Signal::KILL {
            // ends: when they are gone, or at the time limit
            while left(&host) > 0 {
                assert!(killed.elapsed() < PROMISE, "its processes live on");
                sleep(Duration::from_millis(5));
            }
            assert!(host.family().len() <= before - 4);
            host.call("write_stdin", &json!({ "session_id": session, "chars": "" }));
            let answer = host.answer();
            assert!(answer.contains("killed from outside"), "{answer}");
        }
        host.call("write_stdin", &json!({ "session_id": cat, "chars": "still here\n" }));
        let answer = host.answer();
        assert!(answer.contains("still here"), "{answer}");
        let said = host.command_output("echo next");
        assert!(said.contains("next"), "{said}");
    }
    drop(host.input.take());
    host.ended();
    host.assert_gone(Instant::now());
}
