//! Benchmark of speed: one hunk in a long file, and 200 files at once, against plain fsyncs, `git apply` and a peer.
//!
//! `cargo bench -p toolgate-patch --bench speed [-- --rounds N]`
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark makes trees, runs peers and prints"
)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use toolgate_patch::{DiskTree, MemoryTree, PatchPlan, parse};

const ROUNDS: usize = 15;
const LONG: usize = 50_000;
const FILES: usize = 200;
/// The number of lines of a file. A line has 50 bytes, so a file has about 5 kB.
const SHORT: usize = 100;
/// The number of threads that a commit uses.
const THREADS: usize = 16;
/// The time limits for one hunk, and for 200 files without their fsyncs.
const BARS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(50)];

/// An action on a tree that is timed.
type TimedAction<'a> = Box<dyn Fn(&Path) + 'a>;

/// Files, and a patch that changes every one of them.
struct SpeedWorkload {
    name: String,
    files: Vec<(String, String)>,
    patch: String,
}

impl SpeedWorkload {
    fn new(name: String, count: usize, lines: usize) -> Self {
        let line = |file: usize, nth: usize| {
            format!("    let value_{file}_{nth} = compute({nth}, \"some words\");\n")
        };
        let files =
            (0..count).map(|file| (format!("f{file}.rs"), (0..lines).map(|nth| line(file, nth)).collect()));
        let mut patch = String::from("*** Begin Patch\n");
        for file in 0..count {
            let at = lines / 2;
            let [before, old, after] = [at - 1, at, at + 1].map(|nth| line(file, nth));
            let _ = write!(
                patch,
                "*** Update File: f{file}.rs\n@@\n {before}-{old}+    let changed = {file};\n {after}"
            );
        }
        patch.push_str("*** End Patch\n");
        Self { name, files: files.collect(), patch }
    }

    /// Writes the files to a new directory, with room for records beside it.
    fn lay(&self) -> (TempDir, PathBuf) {
        let temp = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = temp.path().join("tree");
        fs::create_dir(&root).unwrap();
        for (name, text) in &self.files {
            fs::write(root.join(name), text).unwrap();
        }
        // Syncs first, so that this is not measured.
        rustix::fs::syncfs(File::open(&root).unwrap()).unwrap();
        (temp, root)
    }

    fn memory(&self) -> MemoryTree {
        MemoryTree::from_files(self.files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--rounds").skip(1);
    let rounds = arguments.next().map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let peer = peer();
    println!("Medians of {rounds} rounds, in ms.\n");
    println!("| | ms | to ours on disk |\n|---|--:|--:|");
    for (work, bar) in [
        (SpeedWorkload::new(format!("one hunk, {LONG} lines"), 1, LONG), BARS[0]),
        (SpeedWorkload::new(format!("{FILES} files of 5 kB"), FILES, SHORT), BARS[1]),
    ] {
        compare(&work, rounds, peer.as_deref(), bar);
    }
}

fn compare(work: &SpeedWorkload, rounds: usize, peer: Option<&Path>, bar: Duration) {
    let memory = work.memory();
    let plan = |_: &Path| drop(PatchPlan::build(&parse(&work.patch).unwrap(), &memory).unwrap());
    let ours = |root: &Path| {
        let disk = DiskTree::open_at(root).unwrap();
        let plan = PatchPlan::build(&parse(&work.patch).unwrap(), &disk).unwrap();
        disk.commit(&plan.commit_steps(), &root.with_file_name("records")).unwrap();
    };
    let diff = PatchPlan::build(&parse(&work.patch).unwrap(), &memory).unwrap().diff();
    let disk = |root: &Path| {
        drop(PatchPlan::build(&parse(&work.patch).unwrap(), &DiskTree::open_at(root).unwrap()).unwrap());
    };
    let mut rows: Vec<(&str, TimedAction<'_>)> = vec![
        ("parse and plan, in memory", Box::new(plan)),
        ("parse and plan, on disk", Box::new(disk)),
        ("parse, plan and commit, on disk", Box::new(ours)),
        ("the same files written and fsynced only", Box::new(|root| floor(work, root))),
        ("`git apply`", Box::new(|root| run(Command::new("git").args(["apply", "-"]), root, &diff))),
    ];
    if let Some(peer) = peer {
        let run_peer = move |root: &Path| {
            run(Command::new(peer).arg("--codex-run-as-apply-patch").arg(&work.patch), root, "");
        };
        rows.push(("Codex's `apply_patch`", Box::new(run_peer)));
    }
    // The programs alternate in each round, so that other load affects all of them equally.
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..rounds {
        for ((_, deed), times) in rows.iter().zip(&mut times) {
            let (_temp, root) = work.lay();
            let began = Instant::now();
            deed(&root);
            times.push(began.elapsed());
        }
    }
    let medians: Vec<Duration> = times.into_iter().map(median).collect();
    for ((name, _), time) in rows.iter().zip(&medians) {
        println!(
            "| {}: {name} | {} | {:.2} |",
            work.name,
            ms(*time),
            time.as_secs_f64() / medians[2].as_secs_f64()
        );
    }
    let [in_memory, with_all, floor] = [medians[0], medians[2], medians[3]];
    let judged = if work.files.len() == 1 { in_memory } else { with_all.saturating_sub(floor) };
    let verdict = if judged <= bar { "held" } else { "MISSED" };
    println!("| {}: the bar of {} is {verdict} | {} | |", work.name, ms(bar), ms(judged));
}

/// The minimum work of the disk: writes, fsyncs and renames each new file, and fsyncs the directory.
fn floor(work: &SpeedWorkload, root: &Path) {
    let write = |name: &str, text: &str| {
        let mut file = File::create(root.join(name).with_extension("new")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    };
    let files: Vec<File> = work.files.iter().map(|(name, text)| write(name, text)).collect();
    std::thread::scope(|scope| {
        for part in files.chunks(files.len().div_ceil(THREADS)) {
            scope.spawn(|| part.iter().for_each(|file| file.sync_all().unwrap()));
        }
    });
    for (name, _) in &work.files {
        fs::rename(root.join(name).with_extension("new"), root.join(name)).unwrap();
    }
    File::open(root).unwrap().sync_all().unwrap();
}

fn run(command: &mut Command, root: &Path, input: &str) {
    command.current_dir(root).env("GIT_CEILING_DIRECTORIES", env!("CARGO_TARGET_TMPDIR"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{command:?} cannot");
}

/// Returns the peer's program: from the path, or installed by npm into the target directory.
fn peer() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&paths).map(|dir| dir.join("codex")).find(|path| path.is_file());
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench-tools");
    if on_path.is_none() && native(&tools).is_none() {
        fs::create_dir_all(&tools).unwrap();
        let install = ["install", "--no-fund", "--no-audit", "--prefix", ".", "@openai/codex"];
        let _ = Command::new("npm").args(install).current_dir(&tools).stdout(Stdio::null()).status();
    }
    let found = on_path.or_else(|| native(&tools));
    if found.is_none() {
        println!("The peer is not to be had: neither `codex` nor `npm` is on the path.\n");
    }
    found
}

/// Returns the native program. npm links to a script that starts it.
fn native(dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut entries = entries.filter(|path| !path.is_symlink());
    entries.find_map(|path| match path.is_dir() {
        true => native(&path),
        false => (path.ends_with("bin/codex") && path.is_file()).then_some(path),
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}
