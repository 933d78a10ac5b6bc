//! Tests of confined file access: hostile links, FIFOs, devices, and a process that swaps directories.
#![expect(clippy::disallowed_methods, reason = "tests build their trees without `ConfinedFs`")]
#![expect(clippy::unwrap_used, reason = "a test that cannot build its tree should fail at once")]

extern crate toolgate_exec as exec;

mod ignores;
mod lookup;
mod race;
mod ripgrep_comparison;
mod walk;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use exec::fs::{ConfinedFs, FsError, IgnoreFiles, WalkControl, WalkEntry, WalkOptions, WalkSummary};
use parking_lot::Mutex;
use policy::{DenyRead, Effect, Gate, Intent, Permit, ReadRoot, ReadScope, Verdict};
use tempfile::TempDir;

/// A test tree: `in/` is the root, `out/` lies beside it and holds files that must never be seen.
struct FsTestTree {
    temp: TempDir,
}

impl FsTestTree {
    /// Creates the tree. Each line is `dir/`, `file`, `file = content` or `link -> target`, beneath `in/`. `OUT` and
    /// `IN` in a target stand for the absolute directories.
    fn new(tree: &str) -> Self {
        let ground = Self { temp: tempfile::tempdir().unwrap() };
        fs::create_dir_all(ground.root()).unwrap();
        fs::create_dir_all(ground.outside().join("dir")).unwrap();
        fs::write(ground.outside().join("secret"), "secret").unwrap();
        fs::write(ground.outside().join("dir/secret"), "secret").unwrap();
        for line in tree.lines().map(str::trim).filter(|line| !line.is_empty()) {
            ground.plant(line);
        }
        ground
    }

    fn plant(&self, line: &str) {
        let at = |name: &str| {
            let path = self.root().join(name.trim());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        if let Some((name, target)) = line.split_once(" -> ") {
            let (out, root) = (self.outside(), self.root());
            let target = target.replace("OUT", out.to_str().unwrap()).replace("IN", root.to_str().unwrap());
            symlink(target, at(name)).unwrap();
        } else if let Some((name, content)) = line.split_once(" = ") {
            fs::write(at(name), content.replace("\\n", "\n").replace("\\r", "\r")).unwrap();
        } else if let Some(name) = line.strip_suffix('/') {
            fs::create_dir_all(at(name)).unwrap();
        } else {
            fs::write(at(line), line).unwrap();
        }
    }

    fn base(&self) -> PathBuf {
        exec::fs::canonicalize(self.temp.path()).unwrap()
    }

    fn root(&self) -> PathBuf {
        self.base().join("in")
    }

    fn outside(&self) -> PathBuf {
        self.base().join("out")
    }

    fn confined_fs(&self) -> ConfinedFs {
        confined_fs(vec![ReadRoot::new(self.root())], &[])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }
}

fn permit(roots: Vec<ReadRoot>, deny: &[&str], stated: &[PathBuf]) -> Permit {
    let read_scope = ReadScope::new(roots, DenyRead::new(deny, None).unwrap());
    let effects = stated.iter().cloned().map(Effect::Read).collect();
    match Gate::read_only(read_scope).decide("test", &Intent { effects, ..Intent::default() }) {
        Verdict::Allow(permit) => permit,
        other => panic!("{other:?}"),
    }
}

/// Returns access to all of `roots`.
fn confined_fs(roots: Vec<ReadRoot>, deny: &[&str]) -> ConfinedFs {
    let stated: Vec<PathBuf> = roots.iter().map(|root| root.path().to_owned()).collect();
    ConfinedFs::new(&permit(roots, deny, &stated))
}

fn options(threads: usize) -> WalkOptions {
    WalkOptions { ignore: IgnoreFiles::Respect, max_depth: None, threads }
}

/// Walks and collects the paths, in the order of the visits.
fn walk(confined_fs: &ConfinedFs, start: &Path, options: &WalkOptions) -> (Vec<String>, WalkSummary) {
    let seen = Mutex::new(Vec::new());
    let visitor = || {
        |entry: &WalkEntry<'_>| {
            seen.lock().push(entry.path().to_string_lossy().into_owned());
            WalkControl::Continue
        }
    };
    let start = confined_fs.lookup(start).unwrap();
    let walked = confined_fs.walk(&start, options, &|| false, visitor).unwrap();
    (seen.into_inner(), walked)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the outcome of reading a path, in one word.
fn outcome(confined_fs: &ConfinedFs, path: &Path) -> String {
    let read = confined_fs.lookup(path).and_then(|found| {
        let file = found.open()?;
        std::io::read_to_string(file).map_err(|source| FsError::Io { path: path.to_owned(), source })
    });
    match read {
        Ok(text) => text,
        Err(FsError::Denied(denial)) => match denial {
            policy::Denial::Outside { .. } => "outside",
            policy::Denial::LeadsOutside { .. } => "leads outside",
            policy::Denial::DenyRead { .. } => "deny-read",
            policy::Denial::NotStated { .. } => "not stated",
            policy::Denial::NotStatedRun { .. } => "not stated to run",
            policy::Denial::MayNotWrite { .. } | policy::Denial::ClosedByRule { .. } => "may not write",
            policy::Denial::HostConfiguration { .. } => "configuration of the host",
            policy::Denial::MayNotConnect { .. } => "may not connect",
            policy::Denial::MayNotReach { .. } => "may not reach",
            policy::Denial::ByRule { .. } | policy::Denial::ByHook { .. } => "forbidden",
            policy::Denial::Ended { .. } => "ended",
            policy::Denial::Disabled => "disabled",
            policy::Denial::Unasked { .. } => "not asked",
        }
        .to_owned(),
        Err(FsError::NotAFile { kind, .. }) => kind.to_string(),
        Err(FsError::NotADirectory { path, kind }) => {
            format!("{} is {kind}", path.file_name().unwrap().to_string_lossy())
        }
        Err(FsError::NotFound { nearest, .. }) => format!("missing {nearest:?}"),
        Err(FsError::BrokenLink { .. }) => "broken".to_owned(),
        Err(FsError::Loop { .. }) => "loop".to_owned(),
        Err(FsError::TooLong { .. }) => "too long".to_owned(),
        Err(FsError::Unsupported { why, .. }) => why.to_owned(),
        Err(FsError::Io { source, .. }) => source.kind().to_string(),
    }
}
