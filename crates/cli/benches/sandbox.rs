//! Benchmarks of the sandbox: its overhead against a bare start and bwrap; a large host; a real build. `scripts/compare`
//! has the whole programs, Codex and srt among them.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark runs peers and prints")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use runtime::{CancellationToken, Confinement, SandboxPolicy, ToolCall, Toolgate, json};
use tokio::runtime::Runtime;

mod timing;

use timing::{median_times, print_row, run_bare, time_spreads};

const GIB: usize = 1 << 30;
/// The policy of every sandbox here: everything read-only except one directory and `/tmp`, no network, own PID
/// namespace.
const BWRAP: &[&str] = &[
    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--new-session",
    "--die-with-parent",
];

fn main() {
    println!("| work | us | peer | ratio |\n|---|--:|--:|--:|");
    let runtime = Runtime::new().expect("a runtime can be made");
    let _inside = runtime.enter();
    let place = workspace();
    let toolgate = |sandbox| {
        let built = Toolgate::at(&place).with_tools().sandbox(sandbox).build();
        built.expect("the tools go together")
    };
    let (confined, unconfined) =
        (toolgate(SandboxPolicy::WorkspaceWrite), toolgate(SandboxPolicy::FullAccess));
    // `cargo bench --bench sandbox -- build` runs one of them.
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only == name);
    if wanted("small") {
        small(&runtime, &confined, &unconfined);
    }
    if wanted("peers") {
        peers(&runtime, &confined, &place);
    }
    if wanted("large") {
        large(&runtime, &confined);
    }
    if wanted("build") {
        build(&runtime, &confined, &unconfined, &place);
    }
    if wanted("files") {
        files(&runtime, &confined, &unconfined, &place);
    }
    let _still_there = fs::remove_dir_all(&place);
}

/// Returns a workspace that is not below `/tmp`, which is private in the sandbox.
fn workspace() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sandbox-bench");
    let _not_there = fs::remove_dir_all(&place);
    fs::create_dir_all(place.join("crate/src")).expect("there is room");
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(place.join("crate/Cargo.toml"), manifest).expect("there is room");
    let functions: String = (0..400)
        .map(|n| format!("pub fn f{n}(x: u64) -> String {{ format!(\"{{}}\", x + {n}) }}\n"))
        .collect();
    fs::write(place.join("crate/src/lib.rs"), functions).expect("there is room");
    fs::write(place.join("crate/src/main.rs"), "fn main() { println!(\"{}\", small::f7(1)); }\n")
        .expect("there is room");
    exec::fs::canonicalize(&place).expect("it was just made")
}

fn call(runtime: &Runtime, toolgate: &Toolgate, cmd: &str) {
    let arguments = json!({ "cmd": cmd, "yield_time_ms": 300_000 }).to_string();
    let call = ToolCall::function("bench", "exec_command", arguments);
    let answer = runtime.block_on(toolgate.router().dispatch(call, CancellationToken::new()));
    assert!(answer.success, "{}", answer.joined_text());
}

fn small(runtime: &Runtime, confined: &Toolgate, unconfined: &Toolgate) {
    let [ours, open, fork] = time_spreads(
        400,
        [&mut || call(runtime, confined, "true"), &mut || call(runtime, unconfined, "true"), &mut || {
            run_bare("/bin/true", &[]);
        }],
    );
    print_row("confined `true` through `dispatch` / bare fork+exec of `true`", ours.p50, fork.p50);
    print_row("… / the same unconfined", ours.p50, open.p50);
    let over = ours.p50.saturating_sub(fork.p50);
    println!("| … over bare fork+exec | {over:.0?} | (bar: 2 ms) | |");
    let times = |p99: Duration, p50: Duration| p99.as_secs_f64() / p50.as_secs_f64();
    let (spread, bare) = (times(ours.p99, ours.p50), times(fork.p99, fork.p50));
    println!("| … p99, in medians / the same of bare fork+exec (bar: 3) | {spread:.2} | {bare:.2} | |");
}

/// Measures one more command in a Toolgate session against bwrap, which is started for each command.
fn peers(runtime: &Runtime, confined: &Toolgate, place: &Path) {
    let here = place.to_string_lossy().into_owned();
    let has = |program: &str| {
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    };
    let bwrap = std::env::var("BWRAP").unwrap_or_else(|_| "bwrap".to_owned());
    if has(&bwrap) {
        let bind = ["--bind", &here, &here, "--", "/bin/true"];
        let [call, peer] = median_times(
            100,
            [&mut || call(runtime, confined, "true"), &mut || {
                run(Command::new(&bwrap).args(BWRAP).args(bind));
            }],
        );
        print_row("confined `true` through `dispatch` / `bwrap` with the same mounts", call, peer);
    }
}

fn run(command: &mut Command) {
    let done =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output().expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn large(runtime: &Runtime, confined: &Toolgate) {
    let mut mine = || call(runtime, confined, "true");
    let [small] = median_times(200, [&mut mine]);
    let ballast = vec![1_u8; 4 * GIB];
    let [large] = median_times(200, [&mut mine]);
    std::hint::black_box(&ballast[GIB]);
    print_row("confined `true`, a host of 4 GiB / of a few MiB", large, small);
}

fn build(runtime: &Runtime, confined: &Toolgate, unconfined: &Toolgate, place: &Path) {
    let script = format!(
        "cd {}/crate && CARGO_TARGET_DIR=$(mktemp -d -p .) cargo build --quiet --offline",
        place.display()
    );
    let [us, peer]: [Duration; 2] = median_times(
        25,
        [&mut || call(runtime, confined, &script), &mut || call(runtime, unconfined, &script)],
    );
    print_row("`cargo build` of a small crate, confined / unconfined (bar: 1.05)", us, peer);
}

fn files(runtime: &Runtime, confined: &Toolgate, unconfined: &Toolgate, place: &Path) {
    let script = "mkdir d && cd d && seq 3000 | xargs touch && tar cf ../t.tar . && tar xf ../t.tar && cd .. && rm -r d t.tar";
    let recorded = Toolgate::at(place)
        .with_tools()
        .sandbox(SandboxPolicy::WorkspaceWrite)
        .confinement(Confinement { record_denied_writes: true, ..Confinement::default() })
        .build()
        .expect("the tools go together");
    let [us, noted, peer] = median_times(
        9,
        [&mut || call(runtime, confined, script), &mut || call(runtime, &recorded, script), &mut || {
            call(runtime, unconfined, script);
        }],
    );
    print_row("3,000 files made, packed, unpacked and removed, confined / unconfined", us, peer);
    print_row("… with every refused change recorded / not", noted, us);
}
