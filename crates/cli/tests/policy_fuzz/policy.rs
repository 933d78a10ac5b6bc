//! A random sandbox policy, and its command line.

use std::path::Path;

use crate::paths::join;
use crate::random::FuzzRandom;
use crate::tree::{DECIDING, FuzzEntryKind, FuzzTreeEntry, NAMES};

/// A policy; paths are relative to the tree's top, and may lead through symlinks.
#[derive(Debug, Clone, Default)]
pub(crate) struct FuzzPolicy {
    /// Namespaces, or else Landlock alone.
    pub(crate) namespaces: bool,
    /// Mode `read-only`, or else `workspace-write`.
    pub(crate) reads: bool,
    pub(crate) cwd: String,
    pub(crate) roots: Vec<String>,
    pub(crate) read_only: Vec<String>,
    pub(crate) deny: Vec<DeniedRead>,
    pub(crate) network: &'static str,
    pub(crate) explain: bool,
}

/// A path or glob that may not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeniedRead {
    Path(String),
    Glob(&'static str),
}

/// A glob, and a function that reports whether it matches a path below the top. The last three are built in.
type DenyGlob = (&'static str, fn(&str) -> bool);
pub(crate) const GLOBS: &[DenyGlob] = &[
    ("*.key", |path| path.ends_with(".key")),
    ("secret/", |path| name(path) == "secret"),
    ("**/deep/?.key", |path| {
        path.strip_suffix(".key")
            .and_then(|path| path.strip_suffix(['x', 'y']))
            .is_some_and(|above| above.ends_with("/deep/") || above == "deep/")
    }),
    ("su[a-b]", |path| name(path) == "sub"),
    ("**/.env", |path| name(path) == ".env"),
    ("**/id_rsa", |path| name(path) == "id_rsa"),
    ("~/.ssh", |path| path == "home/.ssh"),
];
/// Number of globs that need a flag.
const ASKED: usize = 4;

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// Returns a random policy for this tree.
pub(crate) fn random(dice: &mut FuzzRandom, tree: &[FuzzTreeEntry]) -> FuzzPolicy {
    let directories: Vec<&str> = tree
        .iter()
        .filter(|entry| entry.what == FuzzEntryKind::Directory)
        .map(|entry| &*entry.path)
        .collect();
    let is_plain = |path: &str| !DECIDING.iter().any(|name| path.split('/').any(|part| part == *name));
    let plain: Vec<&str> = directories.iter().copied().filter(|path| is_plain(path)).collect();
    let closed =
        |path: &str| tree.iter().any(|entry| entry.foreign && crate::paths::is_below(path, &entry.path));
    let open: Vec<&str> = plain.iter().copied().filter(|path| !closed(path)).collect();
    let cwd = if dice.chance(80) { "ws" } else { dice.pick(&open) };
    let mut policy = FuzzPolicy {
        namespaces: dice.chance(75),
        reads: dice.chance(20),
        cwd: cwd.to_owned(),
        network: dice.pick(&["off", "loopback", "on"]),
        explain: dice.chance(15),
        ..FuzzPolicy::default()
    };
    for _ in 0..dice.below(4) {
        let nested: Vec<&str> = open.iter().copied().filter(|path| path.matches('/').count() > 1).collect();
        let root = match dice.below(10) {
            0 => "",
            8.. if !nested.is_empty() => dice.pick(&nested),
            1..4 => dice.pick(&["out", "sib", "home"]),
            _ => dice.pick(&open),
        };
        policy.roots.push(root.to_owned());
    }
    for _ in 0..dice.below(4) {
        policy.read_only.push(random_path(dice, tree, &directories));
    }
    for _ in 0..dice.below(4) {
        policy.deny.push(if dice.chance(50) {
            DeniedRead::Glob(GLOBS[dice.below(ASKED)].0)
        } else {
            DeniedRead::Path(random_path(dice, tree, &directories))
        });
    }
    policy
}

/// Returns an existing or missing path in the tree.
fn random_path(dice: &mut FuzzRandom, tree: &[FuzzTreeEntry], directories: &[&str]) -> String {
    match dice.below(10) {
        0..6 => dice.pick(tree).path,
        6..8 => join(dice.pick(directories), dice.pick(NAMES)),
        8 => join(dice.pick(directories), dice.pick(DECIDING)),
        _ => join(&join(dice.pick(directories), dice.pick(NAMES)), dice.pick(NAMES)),
    }
}

impl FuzzPolicy {
    /// Returns the arguments of `toolgate` up to the command.
    pub(crate) fn arguments(&self, base: &Path) -> Vec<String> {
        let at = |path: &str| if path.is_empty() { text(base) } else { text(&base.join(path)) };
        let tier = if self.namespaces { "namespaces" } else { "landlock" };
        let mode = if self.reads { "read-only" } else { "workspace-write" };
        let mut all = vec!["sandbox".to_owned()];
        let mut flag = |name: &str, value: String| all.extend([name.to_owned(), value]);
        flag("--mode", mode.to_owned());
        flag("--cwd", at(&self.cwd));
        self.roots.iter().for_each(|root| flag("--writable", at(root)));
        self.read_only.iter().for_each(|path| flag("--read-only", at(path)));
        for deny in &self.deny {
            let pattern = match deny {
                DeniedRead::Path(path) => at(path),
                DeniedRead::Glob(glob) => (*glob).to_owned(),
            };
            flag("--deny-read", pattern);
        }
        flag("--network", self.network.to_owned());
        flag("--tier", tier.to_owned());
        // An unavailable tier must fail instead of being replaced.
        flag("--require", tier.to_owned());
        all.extend(self.explain.then(|| "--explain".to_owned()));
        all
    }

    /// Returns the policies that result from removing one part each.
    pub(crate) fn simplifications(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut with = |change: &dyn Fn(&mut Self)| {
            let mut policy = self.clone();
            change(&mut policy);
            all.push(policy);
        };
        (0..self.roots.len()).for_each(|at| with(&|policy| drop(policy.roots.remove(at))));
        (0..self.read_only.len()).for_each(|at| with(&|policy| drop(policy.read_only.remove(at))));
        (0..self.deny.len()).for_each(|at| with(&|policy| drop(policy.deny.remove(at))));
        if self.explain {
            with(&|policy| policy.explain = false);
        }
        all
    }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
