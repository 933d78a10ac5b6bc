//! What the programs really do: each command that is known to only read is run in a fresh directory, as nobody, under
//! `strace`. It must open nothing for writing, connect to nobody, start no other program, and leave all as it was.
//!
//! Skipped where there is no `strace`. `OBSERVE` is how many random commands of each program are run.

#![expect(clippy::disallowed_methods, reason = "the only way to see what a program does is to run it")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toolgate_policy::{Known, known};

use super::{READ_ONLY, Random, commands, refs};

/// Built into the shell; some are programs too.
const BUILT_IN: [&str; 11] =
    ["echo", "printf", "test", "[", "cd", "pwd", "type", "command", "true", "false", ":"];
/// A second implementation of most programs.
const BUSYBOX: &str = "/usr/bin/busybox";
/// Programs that are run only to say which version they are: what else goes by their name is no matter.
const VERSIONS: [&str; 8] = ["cargo", "rustc", "node", "python3", "bash", "perl", "make", "gcc"];
/// System calls that must not be tried, whatever comes of them.
const CHANGES: &str = "
    creat unlink unlinkat rename renameat renameat2 mkdir mkdirat link linkat symlink symlinkat truncate ftruncate chmod
    fchmod fchmodat chown fchownat lchown utimensat mknod mknodat setxattr bind sendto settimeofday clock_settime sethostname";
/// Where a program may be that a planted one of the same name would be taken for.
const PLANTED: &str = "
    sh bash cat ls grep gzip zcat bzip2 xz zstd lz4 brotli compress uncompress pr less more hostname touch sort git env
    node cargo rustc python3 perl awk sed file";
/// How many random commands of each program are run if nobody says.
const EACH: usize = 4;
/// Seconds that a command may take.
const SECONDS: &str = "2";
/// How often one is tried that does not begin.
const TRIES: usize = 5;

struct Place {
    root: PathBuf,
}

impl Place {
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
        // Anybody may write here, so that whatever wants to, can.
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

    /// All that is in the tree: names, what the files hold, and when they were changed.
    fn look(&self) -> Vec<String> {
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

    /// Runs `argv` and gives what it must not have done; `None` if it did not begin.
    fn watch(&self, argv: &[&str], fed: bool) -> Option<Vec<String>> {
        let log = self.root.join("log");
        drop(fs::remove_file(&log));
        let is_root = fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0);
        let as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];
        let calls: Vec<&str> = CHANGES.split_whitespace().collect();
        let calls = format!("trace=execve,execveat,open,openat,openat2,connect,{}", calls.join(","));
        // The planted programs are for the one that is watched, not for those that watch it.
        let path = format!("PATH={}:/usr/bin:/bin", self.planted().display());
        let mut line = if is_root { as_nobody.to_vec() } else { Vec::new() };
        line.extend([
            "timeout", "-k", "1", SECONDS, "strace", "-f", "-qq", "-s", "300", "-e", &calls, "-E", &path,
        ]);
        line.extend(["-o", log.to_str().unwrap()]);
        line.extend(argv);
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).current_dir(self.tree()).env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", self.tree())
            .env("TMPDIR", self.tree());
        command
            .stdin(if fed { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        if let Some(mut input) = child.stdin.take() {
            drop(input.write_all(b"one\ntwo,2\n"));
        }
        child.wait().unwrap();
        let log = fs::read_to_string(&log).unwrap_or_default();
        log.contains("execve(").then(|| faults(&log))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.root));
    }
}

/// The lines of a log that show something else than reading.
fn faults(log: &str) -> Vec<String> {
    let mut started = false;
    let mut faults = Vec::new();
    for line in log.lines() {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let name = call.split('(').next().unwrap_or_default();
        let is_fault = match name {
            "execve" | "execveat" => std::mem::replace(&mut started, true),
            "open" | "openat" | "openat2" => {
                let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"]
                    .iter()
                    .any(|flag| call.contains(flag));
                writes && !["\"/dev/null\"", "\"/dev/tty\""].iter().any(|path| call.contains(path))
            }
            // The name service's own cache, which glibc asks for names of users.
            "connect" => !call.contains("/var/run/nscd/socket"),
            _ => CHANGES.split_whitespace().any(|change| change == name),
        };
        if is_fault {
            faults.push(line.to_owned());
        }
    }
    faults
}

/// Where the program is, or how the shell runs it: `None` if it is not here.
fn ways(row: &[&str]) -> Vec<Vec<String>> {
    let mut ways = Vec::new();
    let at = format!("/usr/bin/{}", row[0]);
    if Path::new(&at).exists() {
        ways.push([at.as_str()].iter().chain(&row[1..]).map(|word| (*word).to_owned()).collect());
    }
    // The same name may be another program elsewhere: this one is small and everywhere.
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

fn observe(name: &str, rows: &[Vec<String>]) -> usize {
    let place = Place::new(name);
    let before = place.look();
    let (mut seen, mut wrong) = (0, Vec::new());
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(known(&refs(row)), Known::ReadOnly, "{row:?} must not be run");
        for way in ways(&refs(row)) {
            // On a machine that has much to do, time may be up before the program has begun.
            let mut tries = (0..TRIES).filter_map(|_| place.watch(&refs(&way), at % 2 == 0));
            let faults = tries.next().unwrap_or_else(|| panic!("nothing was seen of {row:?}"));
            seen += 1;
            if !faults.is_empty() {
                wrong.push(format!("{row:?}: {faults:#?}"));
            }
            let after = place.look();
            assert_eq!(before, after, "{row:?}");
        }
    }
    assert!(wrong.is_empty(), "{} of {seen}:\n{}", wrong.len(), wrong.join("\n"));
    seen
}

fn can_observe() -> bool {
    ["strace", "timeout", "setpriv"].iter().all(|name| Path::new("/usr/bin").join(name).exists())
}

#[test]
fn the_rows_only_read() {
    if can_observe() {
        assert!(observe("rows", &commands(READ_ONLY)) > 100);
    }
}

#[test]
fn random_commands_that_are_known_to_read_do_only_that() {
    if !can_observe() {
        return;
    }
    let each = std::env::var("OBSERVE").ok().and_then(|each| each.parse().ok()).unwrap_or(EACH);
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2026);
    let mut random = Random(seed);
    let mut rows = random_rows(each, &mut random);
    rows.extend(random_scripts(each * 5, &mut random));
    assert!(observe("random", &rows) >= each * 60);
}

/// Words of which commands are made: options of all programs, whether or not they are listed for the one at hand.
const OPERANDS: &str = "
    f g -o --pre a*b src l . .. - x.gz f.json sums b64 x 1 2 , : + +%s {print} .a 1p $p s/a/b/ / /etc/passwd ! = -eq -f -d 3 -1 -5
    ( ) -name -type -print -perm -newer -maxdepth -printf -ls %p -- -u+x -o -exec ; + {} -delete -fprint PWN -v env";

fn random_rows(each: usize, random: &mut Random) -> Vec<Vec<String>> {
    let table = include_str!("../../src/known/reading.rs");
    let is_long = |word: &&str| word.starts_with("--") && word.len() > 3;
    let long: Vec<&str> = table.split([' ', '"', ',', '\n']).filter(is_long).collect();
    let operands: Vec<&str> = OPERANDS.split_whitespace().collect();
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
    let mut programs: Vec<String> = commands(READ_ONLY).into_iter().map(|row| row[0].clone()).collect();
    programs.sort();
    programs.dedup();
    let mut rows = Vec::new();
    for program in programs.iter().filter(|program| !ways(&[program]).is_empty()) {
        let wanted = rows.len() + each;
        // Ends: after so many tries what was found is enough.
        for _ in 0..each * 3_000 {
            let mut row = vec![program.clone()];
            for _ in 0..1 + random.next(5) {
                row.push(match random.next(4) {
                    0 => format!(
                        "-{}",
                        (0..=random.next(2)).map(|_| letters[random.next(letters.len())]).collect::<String>()
                    ),
                    1 => {
                        let option = random.of(&long).trim_end_matches(['=', '?']);
                        if random.next(2) == 0 {
                            option.to_owned()
                        } else {
                            format!("{option}={}", random.of(&operands))
                        }
                    }
                    _ => random.of(&operands).replace('*', " "),
                });
            }
            if known(&refs(&row)) == Known::ReadOnly {
                rows.push(row);
            }
            if rows.len() == wanted {
                break;
            }
        }
    }
    rows
}

/// Pieces of scripts, among them such as run or write, for the programs that take one.
const PIECES: &[(&str, &[&str])] = &[
    (
        "sed -n",
        &[
            "1",
            "$",
            ",",
            "/a/",
            "/[/]/",
            "!",
            "p",
            "d",
            "=",
            "s/a/b/",
            "s|[a-z]|&|g",
            "s/./touch PWN/",
            "e",
            "e touch PWN",
            "w PWN",
            "w",
            "y/a/b/",
            "{",
            "}",
            ";",
            "\n",
            "q",
            "I",
            "~2",
            "+1",
            " ",
            "r f",
            "g",
            "\\",
            "[",
            "]",
            "/",
            "#",
            "x",
            "N",
            "s,[^,]*,x,",
            "s/[[:space:]]/ /2p",
            "M",
            "a",
            "s",
            "y",
        ],
    ),
    (
        "awk",
        &[
            "/a/",
            "{",
            "}",
            "print",
            " ",
            "$1",
            "\"",
            "|",
            ">",
            "PWN",
            "\"PWN\"",
            "system(",
            "\"touch PWN\"",
            ")",
            "(",
            "/",
            "[",
            "]",
            "\\",
            ";",
            "NR",
            "==",
            "1",
            "<",
            "getline",
            "n",
            "=",
            "+",
            "~",
            "printf",
            "\\n",
            "#",
            "@",
            "BEGIN",
            "END",
            ",",
        ],
    ),
    (
        "jq -n",
        &[
            "env", ".", "..", "|", "$ENV", "[", "]", "\"", "\\(", ")", "(", "1", "keys", ".a", "env.",
            "input", "\"a\"", " ", ",",
        ],
    ),
    (
        "printf --",
        &[
            "%",
            "s",
            "d",
            "n",
            "%s",
            "%d",
            "%%",
            "\\n",
            "*",
            "-",
            "5",
            "(",
            ")",
            "T",
            "l",
            "q",
            "b",
            "a[$(touch PWN)]",
        ],
    ),
];

fn random_scripts(each: usize, random: &mut Random) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (command, pieces) in PIECES {
        let wanted = rows.len() + each;
        for _ in 0..each * 300 {
            let script: String = (0..=random.next(9)).map(|_| random.of(pieces)).collect();
            let mut row: Vec<String> = command.split(' ').map(str::to_owned).collect();
            row.extend([script, "f".to_owned()]);
            if known(&refs(&row)) == Known::ReadOnly {
                rows.push(row);
            }
            if rows.len() == wanted {
                break;
            }
        }
    }
    rows
}

#[test]
fn what_is_looked_for_in_a_log() {
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
        let log = format!("1 execve(\"/usr/bin/x\", [\"x\"], 0x1) = 0\n{line}\n");
        assert_eq!(!faults(&log).is_empty(), is_fault, "{line}");
    }
}
