//! The tree that the commit changes, and the child process that commits.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use toolgate_patch::{self, DiskTree};
use toolgate_patch::{
    CommitStep, DirectoryMode, EntryChange, EntryCommit, FileTree, ModeChange, NewEntry, NewFile,
};

/// A tree of directories (without bytes) and files, with their modes.
pub(crate) type TreeListing = BTreeMap<PathBuf, (Option<Vec<u8>>, u32)>;

/// The job of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildJob {
    /// Few files: one thread, the same calls every time.
    Few,
    /// Enough files that threads are started.
    Many,
    /// Directories, links, permissions; what is replaced is kept. One thread, the same calls every time.
    Entries,
    /// Enough entries that threads are started.
    ManyEntries,
    Recover,
}

pub(crate) struct CrashTree {
    temp: TempDir,
}

impl CrashTree {
    /// Creates the tree in memory if possible, since syncing is not tested here.
    pub(crate) fn new() -> Self {
        let shm = Path::new("/dev/shm");
        let temp = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() };
        let ground = Self { temp: temp.unwrap() };
        ground.reset();
        ground
    }

    pub(crate) fn reset(&self) {
        let _ = fs::remove_dir_all(self.root());
        let _ = fs::remove_dir_all(self.records());
        for name in ["kept", "source"] {
            let _ = fs::remove_dir_all(self.temp.path().join(name));
        }
        fs::create_dir_all(self.root().join("sub")).unwrap();
        for name in ["changed", "sub/script", "gone", "moved", "other"] {
            fs::write(self.root().join(name), format!("old {name}\n")).unwrap();
        }
        fs::set_permissions(self.root().join("sub/script"), fs::Permissions::from_mode(0o755)).unwrap();
        for at in 0..MANY {
            fs::write(self.root().join(format!("sub/{at}")), "old").unwrap();
        }
        fs::create_dir_all(self.root().join("directory/deep")).unwrap();
        fs::write(self.root().join("directory/deep/file"), "old file\n").unwrap();
        symlink("changed", self.root().join("link")).unwrap();
        let source = self.temp.path().join("source");
        fs::create_dir_all(source.join("made/deep")).unwrap();
        for name in ["new", "made/one", "made/deep/two"] {
            fs::write(source.join(name), format!("new {name}\n")).unwrap();
        }
        fs::hard_link(source.join("made/one"), source.join("made/also")).unwrap();
        symlink("other", source.join("link")).unwrap();
        fs::create_dir(self.temp.path().join("kept")).unwrap();
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().join("tree")
    }

    pub(crate) fn records(&self) -> PathBuf {
        self.temp.path().join("records")
    }

    /// Returns the current content of the tree.
    pub(crate) fn snapshot(&self) -> TreeListing {
        let mut all = TreeListing::new();
        let mut dirs = vec![self.root(), self.temp.path().join("kept")];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let bytes = match meta.file_type() {
                    kind if kind.is_file() => Some(fs::read(&path).unwrap()),
                    kind if kind.is_symlink() => {
                        Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
                    }
                    _ => None,
                };
                if meta.is_dir() {
                    dirs.push(path.clone());
                }
                all.insert(path, (bytes, meta.permissions().mode()));
            }
        }
        all
    }

    /// Returns the files among the records, except the lock.
    pub(crate) fn leftover_records(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.records()) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with("lock")).collect()
    }

    pub(crate) fn command(&self, job: ChildJob) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env("CRASH_CHILD", format!("{job:?}")).arg(self.temp.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }
}

const MANY: usize = 8;

fn put_step(tree: &DiskTree, path: &str, like: Option<&str>) -> CommitStep {
    let found = tree.look_up(path).unwrap().file.map(|file| file.version);
    let put = NewFile {
        bytes: format!("new {path}\n").into_bytes().into(),
        executable: None,
        attributes_from: like.map(str::to_owned),
    };
    CommitStep { path: path.to_owned(), found_version: found, new_file: Some(put) }
}

fn delete(tree: &DiskTree, path: &str) -> CommitStep {
    CommitStep { new_file: None, ..put_step(tree, path, None) }
}

fn steps(tree: &DiskTree, job: ChildJob) -> Vec<CommitStep> {
    let few = || {
        vec![
            put_step(tree, "changed", Some("changed")),
            put_step(tree, "sub/script", Some("sub/script")),
            put_step(tree, "made/deep/file", None),
            delete(tree, "gone"),
            delete(tree, "moved"),
            put_step(tree, "sub/moved", Some("moved")),
        ]
    };
    match job {
        ChildJob::Few => few(),
        ChildJob::Many => {
            let many = (0..MANY).map(|at| put_step(tree, &format!("sub/{at}"), None));
            few().into_iter().chain(many).collect()
        }
        ChildJob::Entries | ChildJob::ManyEntries | ChildJob::Recover => Vec::new(),
    }
}

/// A commit that replaces a file, a link and a directory, adds a tree, removes a tree, and changes permissions.
fn entry_commit(tree: &DiskTree, base: &Path, job: ChildJob) -> EntryCommit {
    let source = |name: &str| NewEntry::Copy(base.join("source").join(name));
    let change = |path: &str, new| EntryChange {
        path: path.into(),
        found: tree.entry_version(Path::new(path)).unwrap(),
        new,
    };
    let deep = NewEntry::Directory {
        attributes_of: base.join("source/made/deep"),
        entries: vec![("two".into(), source("made/deep/two"))],
    };
    let mut commit = EntryCommit {
        changes: vec![
            change("changed", Some(source("new"))),
            change("link", Some(source("link"))),
            change("gone", None),
            change("directory", None),
            change("sub/fresh", Some(deep.clone())),
        ],
        modes: vec![ModeChange { path: "sub".into(), mode: DirectoryMode(0o700) }],
        keep_in: Some(base.join("kept")),
        keeps_set_id: false,
    };
    if job == ChildJob::ManyEntries {
        let entries = vec![
            ("one".into(), source("made/one")),
            ("also".into(), source("made/also")),
            ("deep".into(), deep),
        ];
        let made = NewEntry::Directory { attributes_of: base.join("source/made"), entries };
        commit.changes.push(change("other", Some(made)));
        commit.changes.push(change("sub/script", Some(source("new"))));
    }
    commit
}

/// Runs the job in the child. Exits with 0 if all steps are done, with 3 if the commit was refused.
pub(crate) fn run_child(job: &str) -> ! {
    let base = PathBuf::from(std::env::args_os().nth(1).unwrap());
    let (root, records) = (base.join("tree"), base.join("records"));
    let job = [ChildJob::Few, ChildJob::Many, ChildJob::Entries, ChildJob::ManyEntries, ChildJob::Recover]
        .into_iter()
        .find(|one| format!("{one:?}") == job)
        .unwrap();
    let tree = DiskTree::open_at(&root).unwrap();
    let (steps, entries) = (steps(&tree, job), entry_commit(&tree, &base, job));
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP).unwrap();
    let done = match job {
        ChildJob::Recover => toolgate_patch::recover(&records).is_ok(),
        ChildJob::Entries | ChildJob::ManyEntries => tree.commit_entries(&entries, &records).is_ok(),
        ChildJob::Few | ChildJob::Many => tree.commit(&steps, &records).is_ok(),
    };
    std::process::exit(if done { 0 } else { 3 })
}
