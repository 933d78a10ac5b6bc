//! Regression cases: earlier findings, each reduced to a minimum.

use crate::operations::FileOperation;
use crate::policy::{DeniedRead, FuzzPolicy};
use crate::round::FuzzCase;
use crate::tree::{FuzzEntryKind, FuzzTreeEntry};

/// The defect, the tree, the policy, and the operations: kind, path, second path.
type RegressionCase =
    (&'static str, &'static [&'static str], fn(&mut FuzzPolicy), &'static [[&'static str; 3]]);

const FOUND: &[RegressionCase] = &[
    (
        "a read-only file could be written",
        &["ws/f"],
        |policy| policy.read_only = paths(&["ws/f"]),
        &[["write", "ws/f", ""]],
    ),
    (
        "a repository in a read-only directory made the directories above it writable",
        &["ws/vendor/", "ws/vendor/lib/", "ws/vendor/lib/.git/", "ws/vendor/lib/f"],
        |policy| policy.read_only = paths(&["ws/vendor"]),
        &[["write", "ws/vendor/lib/f", ""]],
    ),
    (
        "a repository in a protected directory, too",
        &["ws/.claude/", "ws/.claude/p/", "ws/.claude/p/.git/", "ws/.claude/p/f"],
        |_| {},
        &[["write", "ws/.claude/p/f", ""]],
    ),
    (
        "what leads to a root in a root could be renamed, and what it protects be put anew",
        &["ws/x/", "ws/x/y/", "ws/x/y/.codex/"],
        |policy| policy.roots = paths(&["ws/x/y"]),
        &[["rename", "ws/x", "ws/z"], ["mkdir", "ws/x", ""], ["mkdir", "ws/x/y", ""]],
    ),
    (
        "a repository that is read-only had commits landed",
        &["ws/.git/", "ws/.git/COMMIT_EDITMSG"],
        |policy| policy.read_only = paths(&["ws/.git"]),
        &[["write", "ws/.git/COMMIT_EDITMSG", ""]],
    ),
    (
        "a path in a git directory could be read, though it is denied",
        &["ws/.git/", "ws/.git/secret"],
        |policy| policy.deny = vec![DeniedRead::Path("ws/.git/secret".to_owned())],
        &[["read", "ws/.git/secret", ""]],
    ),
    ("a protected name that is a link let nothing start", &["ws/.claude -> ../home"], |_| {}, &[]),
    ("a `.git` that is a link, too", &["ws/a/", "ws/a/.git -> nowhere"], |_| {}, &[]),
    (
        "a protected name that leads nowhere could be made to lead somewhere",
        &["ws/.claude -> new"],
        |_| {},
        &[["mkdir", "ws/new", ""]],
    ),
    (
        "a protected name that leads nowhere through another link, too",
        &["ws/.claude -> b", "ws/b -> ./sib/sub"],
        |_| {},
        &[["mkdir", "ws/sib", ""], ["mkdir", "ws/sib/sub", ""]],
    ),
    (
        "a read-only path that is not there was made on the host, outside of every root",
        &["out/"],
        |policy| policy.read_only = paths(&["out/new"]),
        &[],
    ),
    (
        "a read-only path whose directory is not there could be made",
        &[],
        |policy| policy.read_only = paths(&["ws/p/q"]),
        &[["mkdir", "ws/p", ""], ["mkdir", "ws/p/q", ""]],
    ),
    (
        "protected names could be made in a root that was not writable by its mode",
        &["out/"],
        |policy| policy.roots = paths(&["out"]),
        &[["chmod", "out", ""], ["mkdir", "out/.codex", ""]],
    ),
    (
        "what holds protected names stayed when the root's mode changed",
        &["sib/"],
        |policy| policy.roots = paths(&["sib"]),
        &[["chmod", "sib", ""]],
    ),
    (
        "a named pipe beside a git directory could be written to: read-only mounts do not hold those",
        &["ws/.git/", "ws/sub/", "ws/p|"],
        |policy| (policy.reads, policy.roots) = (true, paths(&["ws/sub"])),
        &[["append", "ws/p", ""]],
    ),
    (
        "what a protected link leads to could be changed if it holds a root",
        &["ws/x/", "ws/x/f", "ws/x/root/", "ws/x/root/.agents -> .."],
        |policy| policy.roots = paths(&["ws/x/root"]),
        &[["write", "ws/x/f", ""], ["utime", "ws/x/f", ""], ["write", "ws/x/root/new", ""]],
    ),
    (
        "what holds the place of a read-only path was not hidden by a glob that means it",
        &[],
        |policy| {
            (policy.read_only, policy.deny) = (paths(&["ws/x.key/deep"]), vec![DeniedRead::Glob("*.key")]);
        },
        &[["stat", "ws/x.key", ""]],
    ),
];

fn paths(all: &[&str]) -> Vec<String> {
    all.iter().map(|path| (*path).to_owned()).collect()
}

/// Returns all cases for this user. Directories end with `/`, FIFOs with `|`; `out` is not writable until its mode is
/// changed.
pub(crate) fn regression_cases(user: Option<u32>) -> Vec<(&'static str, FuzzCase)> {
    let case = |(name, tree, say, ops): &RegressionCase| {
        let mut policy =
            FuzzPolicy { namespaces: true, cwd: "ws".to_owned(), network: "off", ..FuzzPolicy::default() };
        say(&mut policy);
        let tree = ["ws/", "home/"].iter().chain(*tree).map(|line| entry(line)).collect();
        let op = |[kind, path, to]: &[&'static str; 3]| FileOperation {
            kind,
            path: (*path).to_owned(),
            to: (*to).to_owned(),
            via: "absolute",
            text: "written".to_owned(),
            mode: if *path == "out" { 0o755 } else { 0o555 },
        };
        (*name, FuzzCase { tree, policy, ops: ops.iter().map(op).collect(), user })
    };
    FOUND.iter().map(case).collect()
}

fn entry(line: &str) -> FuzzTreeEntry {
    let (path, what) = match (line.split_once(" -> "), line.strip_suffix('/'), line.strip_suffix('|')) {
        (Some((path, to)), ..) => (path, FuzzEntryKind::Link(to.to_owned())),
        (None, Some(path), _) => (path, FuzzEntryKind::Directory),
        (None, None, Some(path)) => (path, FuzzEntryKind::Fifo),
        (None, None, None) => (line, FuzzEntryKind::File(format!("token {line}"))),
    };
    let mode = match what {
        FuzzEntryKind::Directory if path == "out" => 0o555,
        FuzzEntryKind::Directory => 0o755,
        _ => 0o644,
    };
    FuzzTreeEntry { path: path.to_owned(), what, mode, foreign: false }
}
