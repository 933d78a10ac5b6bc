//! Observes real programs: runs each read-only command in a fresh directory, as an unprivileged user, under `strace`.
//! It must not write, connect, start another program or change any file.
//!
//! `TOOLGATE_FUZZ_ROUNDS` is the number of random commands per program, and `TOOLGATE_FUZZ_SEED` selects them. With
//! more than one round every command is run by every program of its name.

#![expect(clippy::disallowed_methods, reason = "the only way to see what a program does is to run it")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toolgate_policy::{CommandRisk, classify_command};

use super::random_commands::{random_rows, random_scripts};
use super::{READ_ONLY, XorShift, commands, refs};

/// Shell built-ins; some are programs too.
const BUILT_IN: [&str; 16] = [
    "echo", "printf", "test", "[", "cd", "pwd", "type", "command", "true", "false", ":", "exit", "set",
    "wait", "umask", "ulimit",
];
/// A second implementation of most programs.
const BUSYBOX: &str = "/usr/bin/busybox";
/// Programs that are run only for their version: other implementations do not matter.
const VERSIONS: [&str; 8] = ["cargo", "rustc", "node", "python3", "bash", "perl", "make", "gcc"];
/// System calls that create a process.
const FORKS: &str = "vfork fork clone clone3";
/// System calls that must not be attempted, even without success.
const CHANGES: &str = "
    creat unlink unlinkat rename renameat renameat2 mkdir mkdirat link linkat symlink symlinkat truncate ftruncate chmod
    fchmod fchmodat chown fchownat lchown utimensat mknod mknodat setxattr bind sendto settimeofday clock_settime sethostname";
/// Names of planted programs, which must not be run in place of the real ones.
const PLANTED: &str = "
    sh bash cat ls grep gzip zcat bzip2 xz zstd lz4 brotli compress uncompress pr less more hostname touch sort git env
    node cargo rustc python3 perl awk sed file";
/// Default number of random commands per program.
const EACH: usize = 1;
/// Number of commands per tracer.
const BATCH: usize = 60;
/// Time limit of a command in seconds.
const SECONDS: &str = "2";
/// Maximum number of attempts for a command that does not start.
const TRIES: usize = 5;

struct ObservedDir {
    root: PathBuf,
}

impl ObservedDir {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("known-{}-{name}", std::process::id()));
        let place = Self { root };
        fs::create_dir_all(place.tree().join("src/deep")).unwrap();
        fs::create_dir_all(place.planted()).unwrap();
        let text = "a,b c\nfoo x 1\n\tz\n#\n42 -9\n";
        for name in
            ["f", "g", "-o", "--pre", "a b", "-", "src/main.rs", "src/deep/x", "--output=PWN", "+5", "-exec"]
        {
            fs::write(place.tree().join(name), text).unwrap();
        }
        fs::write(place.tree().join("f.json"), "{\"a\":{\"b\":[1]},\"env\":2}").unwrap();
        fs::write(place.tree().join("b64"), "aGVsbG8=\n").unwrap();
        fs::write(
            place.tree().join("x.gz"),
            [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        )
        .unwrap();
        fs::write(place.tree().join("sums"), "d41d8cd98f00b204e9800998ecf8427e  f\n").unwrap();
        fs::write(place.tree().join(".ripgreprc"), "--pre=./evil\n").unwrap();
        std::os::unix::fs::symlink("f", place.tree().join("l")).unwrap();
        for name in PLANTED.split_whitespace() {
            let at = place.planted().join(name);
            fs::write(&at, "#!/bin/dash\n: > PWN\n").unwrap();
            fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
        }
        // World-writable, so that any attempted write succeeds.
        for at in [place.root.clone(), place.tree(), place.tree().join("src"), place.tree().join("src/deep")]
        {
            fs::set_permissions(&at, fs::Permissions::from_mode(0o777)).unwrap();
        }
        place
    }

    fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    fn planted(&self) -> PathBuf {
        self.root.join("planted")
    }

    /// Returns the state of the tree: names, contents and modification times.
    fn snapshot_tree(&self) -> Vec<String> {
        let (mut all, mut left) = (Vec::new(), vec![self.tree()]);
        while let Some(at) = left.pop() {
            for entry in fs::read_dir(at).unwrap().map(Result::unwrap) {
                let about = fs::symlink_metadata(entry.path()).unwrap();
                let holds = if about.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
                all.push(format!(
                    "{:?} {:?} {:?} {holds:?}",
                    entry.path(),
                    about.modified().unwrap(),
                    about.permissions()
                ));
                if about.is_dir() {
                    left.push(entry.path());
                }
            }
        }
        all.sort();
        all
    }

    /// Runs each command and returns its faults; `None` for one that did not start.
    fn watch(&self, ways: &[ProgramRun]) -> Vec<Option<Vec<String>>> {
        let (log, driver) = (self.root.join("log"), self.root.join("driver"));
        drop(fs::remove_file(&log));
        fs::write(&driver, self.driver(ways)).unwrap();
        let is_root = fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0);
        let as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];
        let calls: Vec<&str> = CHANGES.split_whitespace().chain(FORKS.split_whitespace()).collect();
        let calls = format!("trace=execve,execveat,open,openat,openat2,connect,{}", calls.join(","));
        let mut line = if is_root { as_nobody.to_vec() } else { Vec::new() };
        line.extend(["strace", "-f", "--seccomp-bpf", "-qq", "-s", "300", "-e", &calls]);
        line.extend(["-o", log.to_str().unwrap(), "/bin/sh", driver.to_str().unwrap()]);
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).current_dir(self.tree()).env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", self.tree())
            .env("TMPDIR", self.tree());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap();
        let log = fs::read_to_string(&log).unwrap_or_default();
        let parts = parts(&log);
        (0..ways.len()).map(|at| parts.get(at).filter(|part| begun(part)).map(|part| faults(part))).collect()
    }

    /// Builds the script that runs the commands one by one. The planted programs come first in the `PATH` of each
    /// command.
    fn driver(&self, ways: &[ProgramRun]) -> String {
        let mut driver = String::new();
        for ProgramRun { argv, fed } in ways {
            let quoted: Vec<String> =
                argv.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            let (path, quoted) = (self.planted(), quoted.join(" "));
            let input = if *fed { "<<'END'\none\ntwo,2\nEND" } else { "</dev/null" };
            driver += &format!(
                "PATH={}:/usr/bin:/bin /usr/bin/timeout -k 1 {SECONDS} {quoted} >/dev/null 2>&1 {input}\n",
                path.display()
            );
        }
        driver
    }
}

/// A command to run.
#[derive(Debug, Clone)]
struct ProgramRun {
    argv: Vec<String>,
    /// The command gets input.
    fed: bool,
}

/// Returns the log of each process that the first one started.
fn parts(log: &str) -> Vec<String> {
    let first = log.split_whitespace().next().unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    for line in log.lines() {
        let call = line.strip_prefix(first).map(str::trim_start).unwrap_or_default();
        if FORKS.split_whitespace().any(|fork| call.starts_with(&format!("{fork}("))) {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

/// Returns true if `timeout` started the program.
fn begun(part: &str) -> bool {
    part.matches("execve(").count() > 1
}

impl Drop for ObservedDir {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.root));
    }
}

/// Returns the lines of a log that show more than reading.
fn faults(log: &str) -> Vec<String> {
    let mut started = 0;
    let mut faults = Vec::new();
    for line in log.lines() {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let name = call.split('(').next().unwrap_or_default();
        let is_fault = match name {
            "execve" | "execveat" => {
                started += 1;
                // The first is `timeout`, the second the program.
                started > 2
            }
            "open" | "openat" | "openat2" => {
                let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"]
                    .iter()
                    .any(|flag| call.contains(flag));
                writes && !["\"/dev/null\"", "\"/dev/tty\""].iter().any(|path| call.contains(path))
            }
            // The name service cache, which glibc asks for user names.
            "connect" => !call.contains("/var/run/nscd/socket"),
            _ => CHANGES.split_whitespace().any(|change| change == name),
        };
        if is_fault {
            faults.push(line.to_owned());
        }
    }
    faults
}

/// Returns the command lines for the program: its path, busybox and the shell built-in. Empty if it is not installed.
pub(crate) fn program_runs(row: &[&str]) -> Vec<Vec<String>> {
    let mut ways = Vec::new();
    let at = format!("/usr/bin/{}", row[0]);
    if Path::new(&at).exists() {
        ways.push([at.as_str()].iter().chain(&row[1..]).map(|word| (*word).to_owned()).collect());
    }
    // The name may mean another program elsewhere; busybox is a widespread alternative.
    if !ways.is_empty() && Path::new(BUSYBOX).exists() && !VERSIONS.contains(&row[0]) {
        ways.push([BUSYBOX].iter().chain(row).map(|word| (*word).to_owned()).collect());
    }
    if BUILT_IN.contains(&row[0]) {
        ways.push(
            ["/bin/bash", "-c", "\"$@\"", "bash"].iter().chain(row).map(|word| (*word).to_owned()).collect(),
        );
    }
    ways
}

/// Returns the number of commands per program.
fn each() -> usize {
    std::env::var("TOOLGATE_FUZZ_ROUNDS").ok().map_or(EACH, |each| each.parse().unwrap())
}

fn observe(name: &str, rows: &[Vec<String>]) -> usize {
    assert!(
        can_observe(),
        "this test needs `strace`, `timeout` and `setpriv` in /usr/bin: please install them"
    );
    let place = ObservedDir::new(name);
    let mut all = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(classify_command(&refs(row)), CommandRisk::ReadOnly, "{row:?} must not be run");
        let ways = program_runs(&refs(row));
        // Each program of the name is used in some row.
        let chosen =
            if each() > EACH { 0..ways.len() } else { at % ways.len().max(1)..at % ways.len().max(1) + 1 };
        all.extend(ways.into_iter().enumerate().filter(|(way, _)| chosen.contains(way)));
    }
    let all: Vec<ProgramRun> =
        all.into_iter().enumerate().map(|(at, (_, argv))| ProgramRun { argv, fed: at % 2 == 0 }).collect();
    for batch in all.chunks(BATCH) {
        let before = place.snapshot_tree();
        let wrong = wrong(&place, batch);
        let after = place.snapshot_tree();
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), batch.len(), wrong.join("\n"));
        assert_eq!(before, after, "{batch:?}");
    }
    all.len()
}

/// Returns the faults of each command.
fn wrong(place: &ObservedDir, ways: &[ProgramRun]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (way, faults) in ways.iter().zip(place.watch(ways)) {
        // On a busy machine the time limit may expire before the program starts.
        let mut tries = (0..TRIES).filter_map(|_| place.watch(std::slice::from_ref(way)).pop().flatten());
        let faults = faults.or_else(|| tries.next()).unwrap_or_else(|| panic!("nothing was seen of {way:?}"));
        if !faults.is_empty() {
            wrong.push(format!("{way:?}: {faults:#?}"));
        }
    }
    wrong
}

fn can_observe() -> bool {
    ["strace", "timeout", "setpriv"].iter().all(|name| Path::new("/usr/bin").join(name).exists())
}

#[test]
fn the_rows_only_read() {
    assert!(observe("rows", &commands(READ_ONLY)) > 100);
}

#[test]
fn random_commands_that_are_known_to_read_do_only_that() {
    let each = each();
    let seed = std::env::var("TOOLGATE_FUZZ_SEED").ok().map_or(2026, |seed| seed.parse().unwrap());
    let mut random = XorShift(seed);
    let mut rows = random_rows(each, &mut random);
    rows.extend(random_scripts(each * 5, &mut random));
    assert!(observe("random", &rows) >= each * 60);
}

#[test]
fn side_effects_are_noticed() {
    let place = ObservedDir::new("noticed");
    let commands: [&[&str]; 5] = [
        &["/bin/cat", "f"],
        &["/usr/bin/touch", "PWN"],
        &["/bin/sh", "-c", "cat f; cat g"],
        &["/bin/ls"],
        &["/bin/rm", "-f", "PWN"],
    ];
    let ways: Vec<ProgramRun> = commands
        .iter()
        .map(|argv| ProgramRun { argv: argv.iter().map(|word| (*word).to_owned()).collect(), fed: true })
        .collect();
    let seen: Vec<bool> = place.watch(&ways).into_iter().map(|faults| !faults.unwrap().is_empty()).collect();
    assert_eq!(seen, [false, true, true, false, true]);
}

#[test]
fn trace_parser_finds_forbidden_calls() {
    for (line, is_fault) in [
        ("1 openat(AT_FDCWD, \"f\", O_RDONLY) = 3", false),
        ("1 openat(AT_FDCWD, \"/dev/null\", O_WRONLY) = 3", false),
        ("1 openat(AT_FDCWD, \"f\", O_WRONLY|O_CREAT, 0666) = 3", true),
        ("1 openat(AT_FDCWD, \"f\", O_RDWR) = -1 EACCES", true),
        ("1 unlink(\"f\") = -1 ENOENT", true),
        ("12 execve(\"/bin/sh\", [\"sh\"], 0x1) = 0", true),
        ("1 connect(3, {sa_family=AF_UNIX, sun_path=\"/var/run/nscd/socket\"}, 110) = -1", false),
        ("1 connect(3, {sa_family=AF_INET, sin_port=htons(53)}, 16) = 0", true),
        ("1 +++ exited with 0 +++", false),
    ] {
        let started = "1 execve(\"/usr/bin/timeout\", [\"timeout\"], 0x1) = 0\n1 execve(\"/usr/bin/x\", [\"x\"], 0x1) = 0";
        let log = format!("{started}\n{line}\n");
        assert_eq!(!faults(&log).is_empty(), is_fault, "{line}");
    }
}
