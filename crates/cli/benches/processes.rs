//! Benchmarks of processes: overhead of a call with a small and a large host, bulk output, a thousand terminals.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark runs peers and prints")]

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exec::capture::CapturedStream;
use exec::fs::ConfinedFs;
use exec::process::{PtySize, Stdio};
use exec::session::{ProcessSession, SessionOrigin, SessionTable, SharedProcesses};
use exec::shell::ShellCommands;
use runtime::{
    CancellationToken, DenyRead, EnvironmentPolicy, Gate, InstalledShell, Intent, Permit, ReadRoot,
    ReadScope, SandboxPolicy, Spill, ToolCall, Toolgate, Verdict, json,
};

mod timing;

use timing::{median_times, print_row, run_bare, time_spreads};

const GIB: usize = 1 << 30;

fn main() {
    exec::process::raise_open_files();
    println!("| work | us | peer | ratio |\n|---|--:|--:|--:|");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let _inside = runtime.enter();
    let outputs = tempfile::tempdir().expect("there is room for temporary files");
    let toolgate = Toolgate::at(std::env::temp_dir())
        .with_tools()
        .sandbox(SandboxPolicy::FullAccess)
        .spill(Arc::new(Spill::new(outputs.path().to_owned(), std::path::Path::new("bench"))))
        .build()
        .expect("the tools go together");
    small(&runtime, &toolgate);
    large(&runtime, &toolgate);
    flood(&runtime, &toolgate);
    terminals(&runtime);
}

fn call(runtime: &tokio::runtime::Runtime, toolgate: &Toolgate, cmd: &str) {
    let arguments = json!({ "cmd": cmd, "yield_time_ms": 30_000 }).to_string();
    let call = ToolCall::function("bench", "exec_command", arguments);
    let answer = runtime.block_on(toolgate.router().dispatch(call, CancellationToken::new()));
    assert!(answer.success, "{}", answer.joined_text());
}

fn small(runtime: &tokio::runtime::Runtime, toolgate: &Toolgate) {
    let [ours, fork, shell] = time_spreads(
        400,
        [&mut || call(runtime, toolgate, "true"), &mut || run_bare("/bin/true", &[]), &mut || {
            run_bare("/bin/bash", &["-c", "true"]);
        }],
    );
    print_row("`exec_command true` through `dispatch` / bare fork+exec of `true`", ours.p50, fork.p50);
    print_row("… / bare fork+exec of `bash -c true`", ours.p50, shell.p50);
    let over = ours.p50.saturating_sub(fork.p50);
    println!("| … over bare fork+exec of `true` | {over:.0?} | (bar: 1 ms) | |");
    print_row("… the 99th of a hundred", ours.p99, fork.p99);
}

/// Measures the overhead with 4 GiB resident: a fork of the host would copy its page tables.
fn large(runtime: &tokio::runtime::Runtime, toolgate: &Toolgate) {
    let mut mine = || call(runtime, toolgate, "true");
    let [small] = median_times(200, [&mut mine]);
    let before = status("VmRSS");
    let ballast = vec![1_u8; 4 * GIB];
    let after = status("VmRSS");
    let [large] = median_times(200, [&mut mine]);
    std::hint::black_box(&ballast[GIB]);
    let (before, after) = (before / 1024, after / 1024);
    print_row(&format!("`exec_command true`, {after} MiB resident / {before} MiB resident"), large, small);
}

fn flood(runtime: &tokio::runtime::Runtime, toolgate: &Toolgate) {
    let script = format!("head -c {GIB} /dev/zero");
    let lines = format!("yes 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ | head -c {GIB}");
    fs::write("/proc/self/clear_refs", "5").expect("/proc is mounted");
    let before = status("VmRSS");
    for (name, script) in [("zeros", script), ("lines", lines)] {
        let piped = format!("{script} | cat > /dev/null");
        let [ours, peer] = median_times(
            7,
            [&mut || call(runtime, toolgate, &script), &mut || run_bare("/bin/bash", &["-c", &piped])],
        );
        print_row(&format!("1 GiB of {name} as output / through a pipe into `cat > /dev/null`"), ours, peer);
    }
    println!(
        "| … resident memory it grew by, at most | {} KiB | (bar: 16 MiB) | |",
        status("VmHWM") - before
    );
}

fn terminals(runtime: &tokio::runtime::Runtime) {
    const MANY: usize = 1000;
    let before = status("VmRSS");
    let sessions = SessionTable::new(Arc::new(SharedProcesses::default()), None, MANY);
    let began = Instant::now();
    let open: Vec<Arc<ProcessSession>> = runtime.block_on(async {
        let mut open = Vec::new();
        for _ in 0..MANY {
            open.push(terminal(&sessions).await);
        }
        open
    });
    let opened = began.elapsed();
    let mut times = Vec::new();
    runtime.block_on(async {
        for round in 0..5 {
            for at in 0..MANY {
                // Not in the order in which they were opened.
                times.push(echo(&open[(at * 617 + round) % MANY]).await);
            }
        }
    });
    times.sort();
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("| 1,000 terminals opened | {opened:.0?} | | |");
    println!("| … an echoed line, p50 and p99 of {} | {p50:.0?}, {p99:.0?} | (bar: 20 ms) | |", times.len());
    let host = status("VmRSS").saturating_sub(before) / 1024;
    let helpers = shared_out("toolgate-") / 1024;
    println!(
        "| … resident: the host grew by; spawner and supervisors | {host} MiB; {helpers} MiB | (bar: 300 MiB) | |"
    );
}

async fn terminal(sessions: &SessionTable) -> Arc<ProcessSession> {
    let here =
        exec::fs::canonicalize(&std::env::temp_dir()).expect("there is a directory for temporary files");
    let argv = vec!["/bin/cat".to_owned()];
    let permit = permit(&argv, &here);
    let directory = ConfinedFs::new(&permit).lookup(&here).expect("it may be read");
    let shells = ShellCommands::new(InstalledShell::of_user(None), EnvironmentPolicy::default(), []);
    let stdio = Stdio::Terminal(PtySize::default());
    let command = shells.command(argv.into(), directory, stdio, sessions.spawner(), &permit).await;
    let (session, pump) =
        sessions.start(command, SessionOrigin::default(), &permit).await.expect("it starts");
    sessions.adopt(&session, pump);
    session
}

fn permit(argv: &[String], here: &std::path::Path) -> Permit {
    let none = DenyRead::new::<&str>([], None).expect("nothing is denied");
    let gate = Gate::new(ReadScope::new(vec![ReadRoot::new(here)], none), SandboxPolicy::FullAccess);
    match gate.decide("test", &Intent::run(argv.to_owned(), here)) {
        Verdict::Allow(permit) => permit,
        other => panic!("{other:?}"),
    }
}

/// Measures the round trip of a line to `cat`: once as the terminal's echo, once as its output.
async fn echo(session: &ProcessSession) -> Duration {
    let line = "a line that is echoed\n";
    let wanted = session.bytes_written(CapturedStream::Terminal) + 2 * (line.len() as u64 + 1);
    let began = Instant::now();
    session.write_input(line.as_bytes()).expect("it listens");
    session.wait_until(|session| session.bytes_written(CapturedStream::Terminal) >= wanted).await;
    let took = began.elapsed();
    drop(session.take_output());
    took
}

/// Returns a number of `/proc/self/status`, in KiB.
fn status(name: &str) -> u64 {
    number(&fs::read_to_string("/proc/self/status").unwrap_or_default(), name)
}

fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_ascii_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns the memory of all processes whose name has this prefix; shared pages count once. Needs root.
fn shared_out(name: &str) -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let named = processes.filter(|process| {
        fs::read_to_string(process.path().join("comm")).is_ok_and(|comm| comm.starts_with(name))
    });
    named
        .map(|process| {
            number(&fs::read_to_string(process.path().join("smaps_rollup")).unwrap_or_default(), "Pss:")
        })
        .sum()
}
