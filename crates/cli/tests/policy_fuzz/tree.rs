//! Random file trees with unusual entries, created identically in two places.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::paths::{join, parent};
use crate::random::FuzzRandom;

/// One entry; paths are relative to the tree's top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FuzzTreeEntry {
    pub(crate) path: String,
    pub(crate) what: FuzzEntryKind,
    pub(crate) mode: u32,
    /// It belongs to another user, if there is one.
    pub(crate) foreign: bool,
}

/// The type of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FuzzEntryKind {
    Directory,
    /// With this content.
    File(String),
    /// A symlink to this path of the tree, written as an absolute path.
    AbsoluteLink(String),
    /// A symlink with this text.
    Link(String),
    /// A hard link to this file.
    HardLink(String),
    Fifo,
    Socket,
}

/// Names of entries.
pub(crate) const NAMES: &[&str] = &[
    "a", "b", "sub", "deep", "two words", "ünï", "new\nline", "-dash", "back\\slash", "x.key", "y.key",
    "secret", ".env", "id_rsa", "target", "lib",
];
/// Names that configure agents and git.
pub(crate) const DECIDING: &[&str] = &[".codex", ".claude", ".agents", ".toolgate", ".git"];

/// Returns a random tree: a workspace, its neighbours, a home.
pub(crate) fn random_tree(dice: &mut FuzzRandom) -> Vec<FuzzTreeEntry> {
    let mut tree = Vec::new();
    for top in ["ws", "out", "sib", "home", "home/.cache", "home/.ssh"] {
        let mode = if top.len() < 4 && dice.chance(8) { 0o555 } else { 0o755 };
        add(&mut tree, top.to_owned(), FuzzEntryKind::Directory, mode);
    }
    add(&mut tree, "home/.ssh/id".to_owned(), FuzzEntryKind::File("token home-ssh".to_owned()), 0o600);
    add(&mut tree, "home/.cache/c".to_owned(), FuzzEntryKind::File("token cache".to_owned()), 0o644);
    for number in 0..10 + dice.below(24) {
        let above = random_directory(dice, &tree);
        let deciding = dice.chance(if above == "ws" { 35 } else { 12 });
        let name = dice.pick(if deciding { DECIDING } else { NAMES });
        let path = join(&above, name);
        if tree.iter().any(|entry| entry.path == path) || path.matches('/').count() > 4 {
            continue;
        }
        if name == ".git" && dice.chance(60) {
            repository(&mut tree, &path, number);
            continue;
        }
        let (what, mode) = random_what(dice, &tree, number);
        add(&mut tree, path, what, mode);
        // An inaccessible directory cannot be a root either.
        let is_open =
            tree.last().is_some_and(|entry| entry.what != FuzzEntryKind::Directory || entry.mode != 0o700);
        tree.last_mut().unwrap().foreign = is_open && dice.chance(6);
    }
    tree
}

fn add(tree: &mut Vec<FuzzTreeEntry>, path: String, what: FuzzEntryKind, mode: u32) {
    tree.push(FuzzTreeEntry { path, what, mode, foreign: false });
}

/// Returns a directory for further entries, mostly in the workspace.
fn random_directory(dice: &mut FuzzRandom, tree: &[FuzzTreeEntry]) -> String {
    let plain =
        |entry: &&FuzzTreeEntry| entry.what == FuzzEntryKind::Directory && !entry.path.contains(".git");
    let all: Vec<&str> = tree.iter().filter(plain).map(|entry| &*entry.path).collect();
    let inner: Vec<&str> = all.iter().copied().filter(|path| path.starts_with("ws")).collect();
    let of = if dice.chance(60) { inner } else { all };
    dice.pick(&of).to_owned()
}

fn random_what(dice: &mut FuzzRandom, tree: &[FuzzTreeEntry], number: usize) -> (FuzzEntryKind, u32) {
    let any = |dice: &mut FuzzRandom| dice.pick(tree).path;
    match dice.below(100) {
        0..32 => (FuzzEntryKind::Directory, dice.pick(&[0o755, 0o755, 0o755, 0o700, 0o555])),
        32..62 => {
            let content = format!("token {number}");
            (FuzzEntryKind::File(content), dice.pick(&[0o644, 0o644, 0o600, 0o666, 0o444, 0o000]))
        }
        62..72 => (FuzzEntryKind::AbsoluteLink(any(dice)), 0),
        72..78 => (FuzzEntryKind::Link(format!("{}{}", dice.pick(&["../", "../../", "./"]), any(dice))), 0),
        // To a neighbour, to a missing name, or to itself.
        78..84 => (FuzzEntryKind::Link((dice.pick(NAMES)).to_owned()), 0),
        84..92 => {
            let is_file = |entry: &&FuzzTreeEntry| matches!(entry.what, FuzzEntryKind::File(_));
            let files: Vec<&FuzzTreeEntry> = tree.iter().filter(is_file).collect();
            (FuzzEntryKind::HardLink(dice.pick(&files).path.clone()), 0)
        }
        92..96 => (FuzzEntryKind::Fifo, 0o644),
        _ => (FuzzEntryKind::Socket, 0o755),
    }
}

/// Adds a git repository as `git init` creates it; writing it by hand is faster.
fn repository(tree: &mut Vec<FuzzTreeEntry>, at: &str, number: usize) {
    for below in ["", "/hooks", "/objects", "/objects/info", "/refs", "/refs/heads"] {
        add(tree, format!("{at}{below}"), FuzzEntryKind::Directory, 0o755);
    }
    for (below, text) in [
        ("HEAD", "ref: refs/heads/main\n".to_owned()),
        ("config", "[core]\n\trepositoryformatversion = 0\n".to_owned()),
        ("hooks/pre-commit", format!("#!/bin/sh\n# token {number}\n")),
        ("description", "nothing\n".to_owned()),
    ] {
        add(tree, join(at, below), FuzzEntryKind::File(text), 0o644);
    }
}

/// Creates the tree below `base` for user and group `owner`. The caller must hold the returned listeners.
pub(crate) fn build_tree(tree: &[FuzzTreeEntry], base: &Path, owner: Option<u32>) -> Vec<UnixListener> {
    let mut listening = Vec::new();
    fs::create_dir(base).unwrap();
    for entry in tree {
        let at = base.join(&entry.path);
        match &entry.what {
            FuzzEntryKind::Directory => fs::create_dir(&at).unwrap(),
            FuzzEntryKind::File(content) => fs::write(&at, content).unwrap(),
            FuzzEntryKind::AbsoluteLink(to) => symlink(base.join(to), &at).unwrap(),
            FuzzEntryKind::Link(to) => symlink(to, &at).unwrap(),
            FuzzEntryKind::HardLink(to) => fs::hard_link(base.join(to), &at).unwrap(),
            FuzzEntryKind::Fifo => mknodat(CWD, &at, FileType::Fifo, Mode::from(entry.mode), 0).unwrap(),
            // A path may be too long for a socket address.
            FuzzEntryKind::Socket => match UnixListener::bind(&at) {
                Ok(listener) => listening.push(listener),
                Err(_) => mknodat(CWD, &at, FileType::Socket, Mode::from(entry.mode), 0).unwrap(),
            },
        }
    }
    let other = if owner == Some(0) { 65534 } else { 0 };
    for entry in tree.iter().rev() {
        let at = base.join(&entry.path);
        if let Some(user) = owner.filter(|_| !matches!(entry.what, FuzzEntryKind::HardLink(_))) {
            let user = if entry.foreign { other } else { user };
            lchown(&at, Some(user), Some(user)).unwrap();
        }
        if matches!(
            entry.what,
            FuzzEntryKind::Directory | FuzzEntryKind::File(_) | FuzzEntryKind::Fifo | FuzzEntryKind::Socket
        ) {
            fs::set_permissions(&at, fs::Permissions::from_mode(entry.mode)).unwrap();
        }
    }
    if let Some(user) = owner {
        lchown(base, Some(user), Some(user)).unwrap();
    }
    fs::set_permissions(base, fs::Permissions::from_mode(0o755)).unwrap();
    listening
}

/// Returns the tree without this entry, the entries below it, and its hard links.
pub(crate) fn without(tree: &[FuzzTreeEntry], path: &str) -> Vec<FuzzTreeEntry> {
    let below = |entry: &FuzzTreeEntry| crate::paths::is_below(&entry.path, path);
    let named = |entry: &FuzzTreeEntry| matches!(&entry.what, FuzzEntryKind::HardLink(to) if crate::paths::is_below(to, path));
    tree.iter().filter(|entry| !below(entry) && !named(entry)).cloned().collect()
}

/// Reports whether this is a top entry, which every tree needs.
pub(crate) fn is_top(path: &str) -> bool {
    matches!(path, "ws" | "home") || parent(path).is_none()
}
