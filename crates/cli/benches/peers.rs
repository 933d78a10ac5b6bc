//! Benchmarks of `grep_files` against `rg`, reads of a large file, call dispatch, rule matching and script analysis.
//!
//! `just bench` runs it.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark runs peers and prints")]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use memchr::memchr_iter;
use runtime::rules::{RuleLayer, RuleSet};
use runtime::shell::ScriptWord;
use runtime::wire::{Dialect, ParsedCall};
use runtime::{Cx, Intent, Lane, Permit, ToolError, ToolHandler, ToolOutput, Toolgate, json};
use schemars::JsonSchema;
use serde::Deserialize;

fn main() {
    println!("| work | us | peer | ratio |\n|---|--:|--:|--:|");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    if wanted("grep") {
        grep();
    }
    if wanted("read") {
        read(&runtime);
    }
    if wanted("dispatch") {
        dispatch(&runtime);
        many(&runtime);
    }
    if wanted("rules") {
        rules();
        explain();
    }
}

/// Alternates between two pieces of work and returns the median time of each.
fn against(rounds: usize, mut us: impl FnMut(), mut peer: impl FnMut()) -> (Duration, Duration) {
    let timed = |work: &mut dyn FnMut()| {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    us();
    peer();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        // The second one finds warmer caches, so they alternate.
        if round % 2 == 0 {
            ours.push(timed(&mut us));
            theirs.push(timed(&mut peer));
        } else {
            theirs.push(timed(&mut peer));
            ours.push(timed(&mut us));
        }
    }
    (median(ours), median(theirs))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn row(work: &str, (us, peer): (Duration, Duration)) {
    let ratio = us.as_secs_f64() / peer.as_secs_f64();
    println!("| {work} | {us:.1?} | {peer:.1?} | {ratio:.2} |");
}

/// Parses a thousand rules with three examples each, and evaluates a command against them.
fn rules() {
    const COUNT: usize = 1_000;
    const ROUNDS: usize = 51;
    let rule = |number: usize| {
        format!(
            "[[rule]]\npattern = [\"program{number}\", [\"push\", \"fetch\"], \"--all\"]\ndecision = \"ask\"\n\
             reason = \"number {number} talks to a remote\"\n\
             match = [\"program{number} push --all origin\", [\"program{number}\", \"fetch\", \"--all\"]]\n\
             not_match = [\"program{number} pull --all\"]\n\n"
        )
    };
    let text: String = (0..COUNT).map(rule).collect();
    let read = || RuleSet::parse(&text, Path::new("rules.toml"), RuleLayer::User).expect("they are right");
    let timed = |work: &dyn Fn()| {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    let load = median((0..ROUNDS).map(|_| timed(&|| drop(black_box(read())))).collect());
    println!("| 1,000 rules read, 3,000 examples tried | {load:.2?} | (bar: 10 ms) | |");
    let rules = read();
    let words = ["/usr/bin/program500", "push", "--all"].map(|word| ScriptWord::Literal(word.to_owned()));
    let ask = || {
        for _ in 0..COUNT {
            assert_eq!(black_box(rules.rules_for_command(&words, false)).certain.len(), 1);
        }
    };
    let asked = median((0..ROUNDS).map(|_| timed(&ask)).collect()) / 1_000;
    println!("| … a command matched against them | {asked:.0?} | | |");
}

/// Analyses a script of a kilobyte: the work of `toolgate policy explain` after it has read its files.
fn explain() {
    const ROUNDS: usize = 201;
    let script = "set -e\ncd src && ls -la | grep foo\nfor f in *.rs; do head -5 \"$f\"; done\n\
        if [ -f Cargo.toml ]; then cargo test --all 2>&1 | tail -20; fi\ngit status && git diff HEAD~1 --stat\n\
        find . -name '*.rs' -exec grep -l foo {} +\npython3 -c 'print(1)' > out.txt\n"
        .repeat(4);
    let here = Toolgate::at(env!("CARGO_MANIFEST_DIR")).with_tools().build().expect("it can be built");
    let gate = here.router().gate();
    for (about, script) in [
        (format!("{} bytes of script judged", script.len()), script),
        ("`true` judged".to_owned(), "true".to_owned()),
    ] {
        let argv = vec!["/bin/bash".to_owned(), "-lc".to_owned(), script];
        let intent = Intent::run(argv, Path::new(env!("CARGO_MANIFEST_DIR")));
        let once = |_| {
            let began = Instant::now();
            black_box(gate.explain("shell_command", &intent));
            began.elapsed()
        };
        let judged = median((0..ROUNDS).map(once).collect());
        println!("| {about}, programs looked up | {} µs | (bar: 1,000 µs) | |", judged.as_micros());
    }
}

/// Runs `toolgate call grep_files` against `rg`, both as programs, over the sources of all dependencies.
fn grep() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home =
        home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).expect("there is a home directory");
    let tree = home.join("registry/src");
    let rg = std::env::var_os("RG").unwrap_or_else(|| "rg".into());
    let quiet = |command: &mut Command| {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it is installed");
        let mut output = Vec::new();
        child.stdout.take().expect("piped").read_to_end(&mut output).expect("readable");
        child.wait().expect("it ends");
        black_box(output);
    };
    for (name, pattern, mode, flags) in [
        ("a word that is rare, lines", "unfathomable", "matches", &["-n"][..]),
        ("a regex that is common, counts", r"fn \w+_\w+\(", "counts", &["-c"]),
        ("any case, counts", "(?i)todo|fixme", "counts", &["-c"]),
        ("a regex that is common, files", r"impl<\w+> ", "files", &["-l"]),
    ] {
        let arguments = json!({ "pattern": pattern, "path": tree, "output_mode": mode }).to_string();
        let times = against(
            21,
            || {
                quiet(
                    Command::new(env!("CARGO_BIN_EXE_toolgate"))
                        .args(["call", "grep_files", "--json", &arguments])
                        .arg("--cwd")
                        .arg(&tree),
                );
            },
            || {
                let same_files = ["--hidden", "--no-require-git", "--no-ignore-global", "--glob", "!.git"];
                quiet(Command::new(&rg).args(same_files).args(flags).arg(pattern).arg(&tree));
            },
        );
        row(&format!("`grep_files`, {name} / `rg`"), times);
    }
}

/// Reads 200 lines at the end of a 1 GB file, against a scan for newlines.
fn read(runtime: &tokio::runtime::Runtime) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (path, lines) = big_file(directory);
    let toolgate = Toolgate::at(directory).with_tools().build().expect("the directory is there");
    let arguments = json!({ "path": path, "start_line": lines - 199 });
    let before = resident();
    let times = against(
        9,
        || {
            let answer = runtime.block_on(toolgate.call("read_file", arguments.clone()));
            assert!(answer.success, "{}", answer.joined_text());
        },
        || {
            black_box(scan(&path));
        },
    );
    row("`read_file`, 200 lines at the end of 1 GB / a scan for newlines", times);
    println!("| … resident memory it grew by | {} KiB | | |", resident().saturating_sub(before));
}

fn big_file(directory: &Path) -> (PathBuf, u64) {
    const BYTES: u64 = 1 << 30;
    const LINE: &str = "the quick brown fox jumps over the lazy dog, and then it does so all over again";
    let path = directory.join("big.txt");
    let lines = BYTES / (LINE.len() as u64 + 1);
    if fs::metadata(&path).map_or(0, |meta| meta.len()) != lines * (LINE.len() as u64 + 1) {
        let mut file = BufWriter::new(File::create(&path).expect("the target directory is ours"));
        for _ in 0..lines {
            writeln!(file, "{LINE}").expect("there is room");
        }
    }
    (path, lines)
}

/// Counts lines in the simplest way.
fn scan(path: &Path) -> usize {
    let mut file = File::open(path).expect("it was just made");
    let mut buffer = vec![0; 64 << 10];
    let mut lines = 0;
    loop {
        let read = file.read(&mut buffer).expect("readable");
        if read == 0 {
            return lines;
        }
        lines += memchr_iter(b'\n', &buffer[..read]).count();
    }
}

#[derive(Deserialize, JsonSchema)]
struct NoArgs {}

struct NoopTool;

impl ToolHandler for NoopTool {
    type Args = NoArgs;
    const NAME: &'static str = "noop";
    const ABOUT: &'static str = "Does nothing.";
    const LANE: Lane = Lane::Shared;

    async fn run(&self, _: &NoArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("done"))
    }
}

/// Yields once, so that every call becomes a task and all calls are open at the same time.
struct YieldingTool;

impl ToolHandler for YieldingTool {
    type Args = NoArgs;
    const NAME: &'static str = "yields";
    const ABOUT: &'static str = "Does nothing, a little later.";
    const LANE: Lane = Lane::Shared;

    async fn run(&self, _: &NoArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        tokio::task::yield_now().await;
        Ok(ToolOutput::text("done"))
    }
}

fn noop() -> Toolgate {
    Toolgate::at("/").with_tools().tool(NoopTool).tool(YieldingTool).build().expect("the root is there")
}

/// Parses an item, dispatches it through the router and writes the answer as JSON.
fn dispatch(runtime: &tokio::runtime::Runtime) {
    const CALLS: u32 = 20_000;
    let toolgate = noop();
    for dialect in Dialect::ALL {
        let item = match dialect {
            Dialect::Responses => {
                json!({"type": "function_call", "call_id": "c", "name": "noop", "arguments": "{}"})
            }
            Dialect::Chat => {
                json!({"id": "c", "type": "function", "function": {"name": "noop", "arguments": "{}"}})
            }
            Dialect::Anthropic => json!({"type": "tool_use", "id": "c", "name": "noop", "input": {}}),
        };
        let text = item.to_string();
        let times: Vec<Duration> = (0..7)
            .map(|_| {
                let began = Instant::now();
                runtime.block_on(async {
                    let mut calls = toolgate.call_runtime();
                    let mut reader = dialect.call_reader();
                    for _ in 0..CALLS {
                        let item = serde_json::from_str(&text).expect("it is JSON");
                        for reading in reader.push(&item) {
                            let ParsedCall::Call(call) = reading else { panic!("a call") };
                            calls.start(call).expect("the last one is answered");
                        }
                        let answer = calls.next_answer().await.expect("it was started");
                        black_box(
                            serde_json::to_string(&dialect.answer(&answer.call, &answer.output))
                                .expect("JSON"),
                        );
                    }
                });
                began.elapsed() / CALLS
            })
            .collect();
        println!(
            "| one no-op call, {dialect} JSON in to JSON out | {:.1?} | (bar: 20 µs) | |",
            median(times)
        );
    }
}

/// Makes 10,000 concurrent calls.
fn many(runtime: &tokio::runtime::Runtime) {
    const CALLS: usize = 10_000;
    let toolgate = noop();
    let before = resident();
    let mut grew = 0;
    let times: Vec<Duration> = (0..7)
        .map(|_| {
            let began = Instant::now();
            runtime.block_on(async {
                let mut calls = toolgate.call_runtime();
                for n in 0..CALLS {
                    calls
                        .start(runtime::ToolCall::function(n.to_string(), "yields", "{}"))
                        .expect("ids differ");
                }
                grew = resident().saturating_sub(before).max(grew);
                for n in 0..CALLS {
                    let answer = calls.next_answer().await.expect("it was started");
                    assert_eq!(answer.call.id.as_str(), n.to_string());
                }
            });
            began.elapsed()
        })
        .collect();
    println!("| 10,000 calls open at once, answered in order | {:.1?} | | |", median(times));
    println!("| … resident memory it grew by | {grew} KiB | | |");
}

/// Returns the resident memory of this process in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
