//! Model of the sandbox: predicts which operations must be refused or allowed.
//!
//! Written from docs/sandbox.md, not from the code.

use std::path::Path;

use crate::operations::FileOperation;
use crate::paths::{PathKind, ResolvedPath, is_below, join, parent, path_kind, resolve};
use crate::policy::{DeniedRead, FuzzPolicy, GLOBS};
use crate::snapshot::TreeSnapshot;

/// Names that are protected in every writable root.
const PROTECTED: &[&str] = &[
    ".toolgate", ".codex", ".claude", ".agents", ".cursor", ".gemini", ".vscode", ".zed", ".idea",
    ".devcontainer", ".husky",
];
/// Depth to which repositories are found.
const LEVELS: usize = 4;

/// The expected result of an operation; the first that holds for any of its paths counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ModelVerdict {
    Refused,
    Either,
    /// As without a sandbox.
    Allowed,
}

/// The permitted access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessZone {
    /// Read and write.
    Free,
    /// Read only.
    Frozen,
    /// None.
    Hidden,
    /// Read, and write to a layer: nothing of it is on the host until the end.
    Layer,
}

/// The meaning of the policy in this tree. All paths are resolved.
#[derive(Debug, Clone)]
pub(crate) struct PolicyModel {
    namespaces: bool,
    pub(crate) cwd: String,
    pub(crate) roots: Vec<String>,
    read_only: Vec<String>,
    /// Protected names, and their targets.
    pub(crate) protected: Vec<String>,
    pub(crate) repositories: Vec<String>,
    pub(crate) hidden: Vec<String>,
    caches: Vec<String>,
    /// Roots that match a glob themselves, although globs apply below the roots.
    unsure: Vec<String>,
    /// Protected names that are symlinks, and their targets.
    links: Vec<(String, Option<String>)>,
    /// Symlinks at or below a dotted name, and their targets: one in configuration protects its target.
    dotted: Vec<String>,
}

impl PolicyModel {
    /// Builds the model of `policy` for the tree at `base`, whose state is `now`.
    pub(crate) fn new(policy: &FuzzPolicy, base: &Path, now: &TreeSnapshot) -> Self {
        let real = |path: &String| real_to_be(base, path);
        let cwd = real(&policy.cwd);
        let mut roots: Vec<String> = policy.roots.iter().map(real).collect();
        roots.extend((!policy.reads).then(|| cwd.clone()));
        // A missing path is held by its first missing ancestor.
        let missing = |path: &String| {
            let above = std::iter::once(path.as_str()).chain(ancestors(path));
            let missing = above.take_while(|path| !now.contains_key(*path)).last();
            missing.map_or_else(|| path.clone(), str::to_owned)
        };
        let read_only: Vec<String> = policy.read_only.iter().map(real).collect();
        let read_only = read_only.iter().map(missing).collect();
        let caches = vec!["home/.cache".to_owned()];
        let mut model = Self {
            namespaces: policy.namespaces,
            cwd,
            roots,
            read_only,
            protected: Vec::new(),
            repositories: Vec::new(),
            hidden: Vec::new(),
            caches,
            unsure: Vec::new(),
            links: Vec::new(),
            dotted: Vec::new(),
        };
        let is_dotted = |path: &str| path.split('/').any(|name| name.starts_with('.'));
        for (path, _) in now.iter().filter(|(path, seen)| seen.kind == 'l' && is_dotted(path)) {
            let way = resolve(base, path, true);
            model.dotted.extend(way.through.into_iter().chain(way.real));
        }
        for root in model.roots.clone() {
            model.protect(base, &root, now);
        }
        for deny in &policy.deny {
            if let DeniedRead::Path(path) = deny {
                // A placeholder directory counts as existing.
                let is_there = |real: &String| now.contains_key(real) || model.is_placeholder(real);
                let real = resolve(base, path, true).real.filter(is_there);
                model.hidden.extend(real);
            }
        }
        model.hide_globs(policy, now);
        model
    }

    /// Adds the protected names of a writable root, and its repositories.
    fn protect(&mut self, base: &Path, root: &str, now: &TreeSnapshot) {
        for name in PROTECTED {
            let path = join(root, name);
            if now.get(&path).is_some_and(|seen| seen.kind == 'l') {
                let way = resolve(base, &path, true);
                let inside = |path: &String| self.roots.iter().any(|root| is_below(path, root));
                let is_link = |path: &String| now.get(path).is_some_and(|seen| seen.kind == 'l');
                self.links.push((path.clone(), there(base, &path)));
                let links: Vec<String> =
                    way.through.into_iter().filter(is_link).chain([path.clone()]).collect();
                // A dead link, or a chain of links that ends in one: its missing target is held too.
                let missing =
                    links.iter().filter(|_| way.real.is_none()).filter_map(|link| leads_to(base, link));
                let missing: Vec<String> = missing.collect();
                self.protected.extend(links.into_iter().chain(way.real).chain(missing).filter(inside));
            }
            self.protected.push(path);
        }
        self.repositories.push(join(root, ".git"));
        // Git searches upwards, and so does the sandbox: finds the repository that contains a root.
        let above =
            std::path::Path::new(root).ancestors().skip(1).map(|above| above.to_string_lossy().into_owned());
        self.repositories.extend(above.map(|above| join(&above, ".git")).filter(|git| now.contains_key(git)));
        for (path, seen) in now.iter().filter(|(path, _)| is_below(path, root) && is_git(path)) {
            let depth = path[root.len()..].trim_start_matches('/').matches('/').count();
            if depth <= LEVELS && !path.contains(".git/") {
                let list = if seen.kind == 'd' { &mut self.repositories } else { &mut self.protected };
                list.push(path.clone());
            }
        }
        let is_pointer = |path: &String| now.get(path).is_some_and(|seen| seen.kind != 'd');
        self.repositories.retain(|path| !is_pointer(path));
    }

    /// Globs apply below the roots and the working directory, to existing files. They do not match in git
    /// directories.
    fn hide_globs(&mut self, policy: &FuzzPolicy, now: &TreeSnapshot) {
        let asked = |glob: &'static str| policy.deny.contains(&DeniedRead::Glob(glob));
        let built_in = |glob: &str| matches!(glob, "**/.env" | "**/id_rsa" | "~/.ssh");
        for (glob, means) in GLOBS.iter().filter(|(glob, _)| built_in(glob) || asked(glob)) {
            let roots = || self.roots.iter().chain([&self.cwd]);
            let below = |path: &str| roots().any(|root| is_below(path, root) && path != root);
            let here = |path: &str| below(path) || glob.starts_with('~');
            let is_meant = |path: &str, kind: char| means(path) && kind != 'l' && !path.contains(".git/");
            let found = now.iter().filter(|(path, seen)| is_meant(path, seen.kind) && here(path));
            let found = found.map(|(path, _)| path.clone());
            // A placeholder directory counts as existing.
            let held = self.read_only.iter().flat_map(|path| ancestors(path).chain([path.as_str()]));
            let held = held.filter(|path| !now.contains_key(*path) && self.is_placeholder(path));
            let held = held.filter(|path| is_meant(path, 'd') && here(path)).map(str::to_owned);
            let found: Vec<String> = found.chain(held).collect();
            let unsure = roots().filter(|root| means(root) || ancestors(root).any(means)).cloned();
            let unsure: Vec<String> = unsure.collect();
            self.hidden.extend(found);
            self.unsure.extend(unsure);
        }
    }

    /// Returns the permitted access to the resolved path `path`.
    pub(crate) fn zone(&self, path: &str) -> AccessZone {
        let length = |all: &[String]| {
            all.iter().filter(|one| is_below(path, one)).map(|one| one.len() + 1).max().unwrap_or(0)
        };
        let root = length(&self.roots);
        if !self.namespaces {
            return if root > 0 { AccessZone::Free } else { AccessZone::Frozen };
        }
        let repository = length(&self.repositories);
        match () {
            () if length(&self.hidden) > 0 => AccessZone::Hidden,
            () if repository > root => AccessZone::Layer,
            () if length(&self.protected) > root => AccessZone::Frozen,
            // The innermost rule decides; of two for one path, the stricter.
            () if root > length(&self.read_only) => AccessZone::Free,
            () if root == 0 && length(&self.caches) > 0 => AccessZone::Layer,
            () => AccessZone::Frozen,
        }
    }

    /// Reports whether writes here go to a layer, hidden or not.
    pub(crate) fn is_layered(&self, path: &str) -> bool {
        let hidden = self.zone(path) == AccessZone::Hidden;
        let mut layers = self.repositories.iter().chain(&self.caches);
        self.zone(path) == AccessZone::Layer || (hidden && layers.any(|layer| is_below(path, layer)))
    }

    /// Reports whether something at or below `path` must stay in place.
    fn keeps(&self, path: &str) -> bool {
        let kept = self.protected.iter().chain(&self.repositories).chain(&self.read_only).chain(&self.hidden);
        self.namespaces
            && kept
                .filter(|kept| self.roots.iter().any(|root| is_below(kept, root)))
                .any(|kept| is_below(kept, path))
    }

    /// Returns the rules that may each be a mount, and so block a rename.
    fn mounts(&self) -> impl Iterator<Item = &String> {
        let rules = self.protected.iter().chain(&self.repositories).chain(&self.read_only);
        rules.chain(&self.roots).chain(&self.hidden).chain(&self.caches).filter(|_| self.namespaces)
    }

    /// Returns the innermost mount that contains the directory `path`: a rule, or a directory above a protected path.
    fn mount<'a>(&self, path: &'a str) -> Option<&'a str> {
        let mut all = std::iter::once(path).chain(ancestors(path));
        all.find(|one| self.keeps(one) || self.mounts().any(|mount| mount == one))
    }

    /// Predicts the result of an operation in the current tree.
    pub(crate) fn judge(&self, op: &FileOperation, base: &Path) -> ModelVerdict {
        let one = resolve(base, &op.path, op.follows());
        let first = self.judge_one(op, base, &one);
        if op.to.is_empty() {
            return first;
        }
        let two = resolve(base, &op.to, false);
        let second = self.judge_one(op, base, &two);
        let mut verdict = first.min(second);
        if let (Some(one), Some(two)) = (&one.real, &two.real)
            && self.mount(parent(one).unwrap_or("")) != self.mount(parent(two).unwrap_or(""))
        {
            // A rename across mounts is impossible.
            verdict = verdict.min(ModelVerdict::Either);
        }
        // A rename to the same name always succeeds.
        if one.real == two.real { verdict.max(ModelVerdict::Either) } else { verdict }
    }

    fn judge_one(&self, op: &FileOperation, base: &Path, way: &ResolvedPath) -> ModelVerdict {
        // The content of such a directory may differ from the host's view.
        let unsure =
            way.through.iter().any(|path| matches!(self.zone(path), AccessZone::Layer | AccessZone::Hidden));
        let verdict = match &way.real {
            Some(real) => self.judge_real(op, base, real),
            None if way.outside => ModelVerdict::Either,
            // The operation fails by itself.
            None => ModelVerdict::Allowed,
        };
        let changes = !matches!(op.kind, "read" | "list" | "stat" | "readlink");
        let touches =
            |path: &String| self.dotted.iter().any(|place| is_below(path, place) || is_below(place, path));
        let held = changes && way.real.iter().chain(&way.through).any(touches);
        if unsure || held { verdict.min(ModelVerdict::Either) } else { verdict }
    }

    fn judge_real(&self, op: &FileOperation, base: &Path, real: &str) -> ModelVerdict {
        let zone = self.zone(real);
        let there = path_kind(&base.join(real));
        let is_there = there != PathKind::Missing;
        let in_root = self.roots.iter().any(|root| is_below(real, root));
        match (op.kind, zone) {
            ("read" | "list", _) if self.unsure.iter().any(|root| is_below(real, root)) => {
                ModelVerdict::Either
            }
            ("read" | "list", AccessZone::Hidden) if is_there => ModelVerdict::Refused,
            ("connect", AccessZone::Hidden | AccessZone::Frozen) => ModelVerdict::Refused,
            ("read" | "list" | "stat" | "readlink", AccessZone::Free | AccessZone::Frozen) => {
                ModelVerdict::Allowed
            }
            ("connect", _) | (_, AccessZone::Hidden | AccessZone::Layer) => ModelVerdict::Either,
            // A gap of Landlock that `toolgate doctor` reports.
            ("chmod" | "utime" | "setxattr" | "removexattr", AccessZone::Frozen) if !self.namespaces => {
                ModelVerdict::Either
            }
            // The kernel allows writing to a FIFO on a read-only mount.
            ("write" | "append", AccessZone::Frozen) if there == PathKind::Special && in_root => {
                ModelVerdict::Either
            }
            (_, AccessZone::Frozen) => ModelVerdict::Refused,
            (_, AccessZone::Free) if op.is_on_entry() => self.judge_entry(op, real),
            (_, AccessZone::Free) => ModelVerdict::Allowed,
        }
    }

    /// Predicts a change of the entry `real`, which is itself free.
    fn judge_entry(&self, op: &FileOperation, real: &str) -> ModelVerdict {
        let above = parent(real).map_or(AccessZone::Frozen, |above| self.zone(above));
        let moves = matches!(op.kind, "rename" | "exchange" | "rmdir");
        match above {
            _ if moves && self.keeps(real) => ModelVerdict::Refused,
            // A mount itself cannot be removed, and everything below it moves along.
            _ if moves && self.mounts().any(|mount| is_below(mount, real)) => ModelVerdict::Either,
            AccessZone::Frozen => ModelVerdict::Refused,
            AccessZone::Hidden | AccessZone::Layer => ModelVerdict::Either,
            AccessZone::Free => ModelVerdict::Allowed,
        }
    }

    /// Records that `from` is now `to`, and vice versa if they were exchanged.
    pub(crate) fn note_move(&mut self, from: &str, to: &str, exchanged: bool) {
        for all in [&mut self.roots, &mut self.hidden, &mut self.caches] {
            for path in all {
                if is_below(path, from) {
                    *path = format!("{to}{}", &path[from.len()..]);
                } else if exchanged && is_below(path, to) {
                    *path = format!("{from}{}", &path[to.len()..]);
                }
            }
        }
    }

    /// Reports whether `path` may be a placeholder directory while the session lives.
    pub(crate) fn is_placeholder(&self, path: &str) -> bool {
        let below = |path: &String| self.roots.iter().any(|root| is_below(path, root));
        let mut held = self.protected.iter().chain(&self.repositories).chain(&self.read_only);
        self.namespaces && held.any(|held| is_below(held, path) && below(held))
    }

    /// Reports whether a rule of the policy, and no root, protects the repository `path`.
    pub(crate) fn is_kept_whole(&self, path: &str) -> bool {
        let length = |all: &[String]| {
            all.iter().filter(|one| is_below(path, one)).map(|one| one.len() + 1).max().unwrap_or(0)
        };
        // A repository above every root is one that git finds from there.
        length(&self.read_only) > 0 && length(&self.read_only) >= length(&self.roots)
    }

    /// Returns the protected symlinks whose targets have changed.
    pub(crate) fn changed_links(&self, base: &Path) -> Vec<String> {
        let strays = |(path, to): &&(String, Option<String>)| there(base, path) != *to;
        let strays = self.links.iter().filter(strays);
        if self.namespaces { strays.map(|(path, _)| path.clone()).collect() } else { Vec::new() }
    }

    /// Reports whether the working directory is unreadable.
    pub(crate) fn is_closed(&self) -> bool {
        let mut closed = self.hidden.iter().chain(&self.unsure);
        closed.any(|path| is_below(&self.cwd, path))
    }

    /// Returns the paths that the policy mentions.
    pub(crate) fn policy_paths(&self) -> Vec<String> {
        let all = self.protected.iter().chain(&self.repositories).chain(&self.read_only);
        let all = all.chain(&self.roots).chain(&self.hidden).chain(&self.caches);
        all.filter(|path| !path.is_empty()).cloned().collect()
    }
}

fn is_git(path: &str) -> bool {
    path == ".git" || path.ends_with("/.git")
}

fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |path| parent(path))
}

/// Resolves the existing part of a path, and appends the rest unchanged.
fn real_to_be(base: &Path, path: &str) -> String {
    there(base, path).unwrap_or_else(|| {
        let above = real_to_be(base, parent(path).unwrap());
        join(&above, path.rsplit('/').next().unwrap())
    })
}

/// Resolves a path, if it exists.
fn there(base: &Path, path: &str) -> Option<String> {
    resolve(base, path, true).real.filter(|real| path_kind(&base.join(real)) != PathKind::Missing)
}

/// The target of the link at `path`, by its text alone; none if the text is absolute or leaves the tree.
fn leads_to(base: &Path, path: &str) -> Option<String> {
    let to = std::fs::read_link(base.join(path)).ok()?;
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    parts.pop();
    for part in to.components() {
        match part {
            std::path::Component::Normal(name) => parts.push(name.to_str()?.to_owned()),
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(parts.pop()?),
            std::path::Component::RootDir | std::path::Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}
