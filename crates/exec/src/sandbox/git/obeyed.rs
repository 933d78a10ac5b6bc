//! Files of a working tree that the user's git obeys or runs: its configuration names them, or a hook does.
//!
//! Configuration and the programs that it names are held read-only for commands. Scripts that a hook calls may be changed,
//! and the change is told. Everything is read generously: guarding one file too many does little harm.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::{HostFile, WhenMissing, normal};
use rustix::fs::{CWD, FileType};

use super::settings::{GitSettings, GitValue, expand};
use super::words::CommandText;
use super::{Repository, discover, sys};
use crate::fs::real_to_be;
use crate::sandbox::plan::to_path;
use crate::sandbox::stamp::FileStamp;

/// How many paths of one repository are told of: each may become a mount.
const MAX_PATHS: usize = 400;
/// The longest hook that is read.
const MAX_HOOK: u64 = 256 * 1024;
/// How many links lead from one to the next, as the kernel has it.
const MAX_LINKS: usize = 40;
/// The names of hooks.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];
/// Names in a git directory that may be links.
const LINKS: &[&str] = &["config", "config.worktree", "hooks", "info", "info/attributes", "attributes"];

/// The files of one repository.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct GitObeyed {
    /// Configuration, hooks, and programs that the configuration names.
    pub(crate) configuration: Vec<(PathBuf, WhenMissing)>,
    /// Symbolic links on the way to the configuration: another one in its place would lead git elsewhere.
    pub(crate) links: Vec<PathBuf>,
    /// Scripts that hooks call.
    pub(crate) code: Vec<PathBuf>,
    /// Something could not be read, so this may not be all.
    pub(crate) unread: bool,
    /// The files that this was read from, as they were.
    read: Vec<(PathBuf, Option<FileStamp>)>,
    /// Where configuration and code really are.
    real: (Vec<PathBuf>, Vec<PathBuf>),
}

/// Finds the files that git obeys in `repository`, for a user with this `home`.
pub(crate) fn obeyed(repository: &Repository, home: Option<&Path>) -> GitObeyed {
    let Repository { at, root } = repository;
    let mut found = GitObeyed::default();
    let own = discover::own_directory(repository);
    let settings = GitSettings::of(at, own.as_deref(), home);
    found.unread = settings.unread;
    found.read = settings.files.iter().map(|file| (file.clone(), FileStamp::of(file))).collect();
    for directory in std::iter::once(at).chain(&own) {
        let links = LINKS.iter().filter_map(|name| link(&directory.join(name)));
        found.configuration.extend(links.map(|to| (to, WhenMissing::SetAside)));
    }
    let files = settings.files.iter().filter(|file| !file.starts_with(at));
    found.configuration.extend(files.map(|file| (file.clone(), WhenMissing::SetAside)));
    // Paths count from the working tree, which the configuration may move.
    let trees = settings.values.iter().filter(|value| value.section == "core" && value.key == "worktree");
    let moved = trees.filter_map(|value| expand(&value.value, at, home));
    let bases: Vec<PathBuf> = std::iter::once(root.clone()).chain(moved).collect();
    let mut hooks = vec![at.join("hooks")];
    for value in &settings.values {
        let text = CommandText { text: &value.value, bases: &bases, home };
        if value.section == "core" && value.key == "hookspath" {
            hooks.extend(found.hooks_path(text));
        } else if value.section == "init" && value.key == "templatedir" {
            let paths = bases.iter().filter_map(|base| expand(&value.value, base, home));
            found.configuration.extend(paths.map(|path| (path, WhenMissing::SetAside)));
        } else if runs_or_reads(value) {
            let text = CommandText { text: program(&value.value), ..text };
            found.configuration.extend(text.of_value().into_iter().map(|path| (path, WhenMissing::SetAside)));
        }
    }
    // Husky's own hooks lie beside the directory that git is led to.
    hooks.push(root.join(".husky"));
    for directory in hooks {
        found.read.push((directory.clone(), FileStamp::of(&directory)));
        found.hooks(&directory, root);
    }
    found.settle(repository);
    found
}

impl GitObeyed {
    /// Whether nothing that this was read from has changed since.
    pub(crate) fn is_current(&self) -> bool {
        self.read.iter().all(|(file, before)| FileStamp::of(file) == *before)
    }

    /// Whether all of the configuration in `other` is in this too.
    pub(crate) fn guards_as_much_as(&self, other: &Self) -> bool {
        other.configuration.iter().all(|one| self.configuration.contains(one))
            && other.links.iter().all(|link| self.links.contains(link))
    }

    /// The part that `path` plays for git, if it plays one.
    pub(crate) fn host_file(&self, path: &Path) -> Option<HostFile> {
        let is = |known: &PathBuf| path.starts_with(known);
        let is_link = self.links.iter().any(|link| link == path);
        if is_link || self.configuration.iter().any(|(known, _)| is(known)) || self.real.0.iter().any(is) {
            return Some(HostFile::configuration("use git here"));
        }
        let is_code = self.code.iter().any(is) || self.real.1.iter().any(is);
        is_code.then(|| HostFile::code("commit or push here"))
    }

    /// Takes in a `core.hooksPath`, and returns the directories that it names.
    fn hooks_path(&mut self, CommandText { text, bases, home }: CommandText<'_>) -> Vec<PathBuf> {
        let directories: Vec<PathBuf> = bases.iter().filter_map(|base| expand(text, base, home)).collect();
        for directory in &directories {
            // A directory that cannot be held as a whole: the tree itself, or one that it lies in.
            if bases.iter().any(|base| base.starts_with(directory)) {
                let hooks = HOOKS.iter().map(|name| (directory.join(name), WhenMissing::SetAside));
                self.configuration.extend(hooks);
            }
            self.configuration.push((directory.clone(), WhenMissing::Held));
        }
        // `sub/..` is another directory once `sub` is a link.
        let parts: Vec<&[u8]> = text.split(|&byte| byte == b'/').collect();
        for up in (1..parts.len()).filter(|&at| parts[at] == b"..") {
            let before = bases.iter().filter_map(|base| expand(&parts[..up].join(&b'/'), base, home));
            self.configuration.extend(before.map(|path| (path, WhenMissing::SetAside)));
        }
        directories
    }

    /// Brings what was found into order, within its limits.
    fn settle(&mut self, Repository { at, root }: &Repository) {
        let is_other = |path: &Path| path != root && path != at && !root.starts_with(path);
        self.configuration.retain(|(path, _)| is_other(path));
        self.configuration.dedup();
        self.code.retain(|path| {
            is_other(path) && !self.configuration.iter().any(|(known, _)| path.starts_with(known))
        });
        self.code.sort();
        self.code.dedup();
        self.unread |= self.configuration.len() > MAX_PATHS || self.code.len() > MAX_PATHS;
        self.configuration.truncate(MAX_PATHS);
        self.code.truncate(MAX_PATHS);
        for (path, _) in &self.configuration {
            let new = links_on_the_way(path).into_iter().filter(|link| !self.links.contains(link));
            self.links.extend(new.collect::<Vec<_>>());
        }
        self.read.extend(self.links.iter().map(|link| (link.clone(), FileStamp::of(link))));
        let configuration = self.configuration.iter().map(|(path, _)| real_to_be(path)).collect();
        self.real = (configuration, self.code.iter().map(|path| real_to_be(path)).collect());
    }

    /// Takes in the hooks of a directory: those that are links, and the scripts that they call.
    fn hooks(&mut self, directory: &Path, root: &Path) {
        let Ok(real) = crate::fs::real(directory) else { return };
        let Ok(open) = sys::root(&real) else { return };
        let mut left = MAX_PATHS;
        let _seen = sys::list(open.as_fd(), |name, kind| {
            let hook = real.join(name);
            if kind == FileType::Symlink {
                self.configuration.extend(link(&hook).map(|to| (to, WhenMissing::SetAside)));
            }
            let is_sample = name.as_bytes().ends_with(b".sample");
            let text = crate::fs::real(&hook)
                .ok()
                .filter(|_| !is_sample && kind != FileType::Directory)
                .and_then(|hook| {
                    let above = sys::root(hook.parent()?).ok()?;
                    sys::small(above.as_fd(), Path::new(hook.file_name()?), MAX_HOOK)
                });
            if let Some(text) = text {
                let bases = [root.to_owned()];
                let named = CommandText { text: &text, bases: &bases, home: None }.of_hook();
                self.code.extend(named.into_iter().filter(|path| path.starts_with(root)));
            }
            left -= 1;
            if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
}

/// Where the link at `path` leads, if it is one.
fn link(path: &Path) -> Option<PathBuf> {
    let to = rustix::fs::readlinkat(CWD, path, Vec::new()).ok()?;
    Some(normal(&path.parent()?.join(to_path(to.into_bytes()))))
}

/// The symbolic links that lead from `path` to where it really is.
fn links_on_the_way(path: &Path) -> Vec<PathBuf> {
    let (mut links, mut path) = (Vec::new(), path.to_owned());
    // ends: after so many links at the latest, as the kernel does
    while links.len() < MAX_LINKS {
        let mut ways: Vec<&Path> = path.ancestors().collect();
        ways.reverse();
        let first = ways.into_iter().find_map(|way| Some((way.to_owned(), link(way)?)));
        let Some((way, to)) = first else { break };
        let Ok(rest) = path.strip_prefix(&way) else { break };
        path = normal(&to.join(rest));
        links.push(way);
    }
    links
}

/// The command in a value that git runs: behind the `!` of an alias, or the `ext::` of an address.
fn program(value: &[u8]) -> &[u8] {
    let value = value.strip_prefix(b"!").unwrap_or(value);
    value.strip_prefix(b"ext::").unwrap_or(value)
}

/// Whether a value names a program, a hook, or a file that says which program runs.
fn runs_or_reads(GitValue { section, key, value }: &GitValue) -> bool {
    let key = key.as_str();
    match section.as_str() {
        "core" => matches!(
            key,
            "fsmonitor"
                | "sshcommand"
                | "editor"
                | "pager"
                | "attributesfile"
                | "askpass"
                | "gitproxy"
                | "alternaterefscommand"
        ),
        "alias" | "pager" | "credential" | "gpg" | "filter" | "diff" | "merge" | "difftool" | "mergetool"
        | "hook" | "browser" | "man" | "guitool" | "trailer" | "sendemail" | "instaweb" | "tar" => true,
        "remote" => matches!(key, "uploadpack" | "receivepack" | "vcs") || value.starts_with(b"ext::"),
        "submodule" => key == "update" && value.starts_with(b"!"),
        "sequence" => key == "editor",
        "interactive" => key == "difffilter",
        "uploadpack" => key == "packobjectshook",
        "imap" => key == "tunnel",
        "lfs" => matches!(key, "path" | "clean" | "smudge"),
        "url" => value.starts_with(b"ext::"),
        "web" | "help" => key == "browser",
        _ => value.starts_with(b"!"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn files_that_configuration_and_hooks_name() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::real(place.path()).unwrap();
        let (at, home) = (root.join(".git"), root.join("no-home"));
        let file = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for script in
            ["watch", "my tool.sh", "conv/x.py", "run.sh", "scripts/lint.sh", "tools/deep", "up", "src"]
        {
            file(script, "");
        }
        file(
            ".git/hooks/pre-commit",
            "#!/bin/sh\nexec \"$top/scripts/lint.sh\"\n. ./missing/x\ncd tools && ./deep\nmake\n",
        );
        file(".git/hooks/pre-push.sample", "./run.sh\n");
        file(
            ".git/config",
            "[core] hooksPath = githooks\n[core]\nfsmonitor = sh watch\n[diff \"x\"]\ntextconv = conv/x.py\n\
             [alias]\na = !./run.sh a\nb = status\n[filter \"y\"]\nclean = \"\\\"./my tool.sh\\\" %f\"\nsmudge = ./none.sh\n\
             [remote \"o\"]\nuploadpack = ./up\nurl = src\n[include]\npath = ../more.conf\n",
        );
        file("more.conf", "[core]\nhooksPath = a/b/c\n[includeIf \"gitdir:/x\"]\npath = gone.conf\n");
        let found = obeyed(&Repository { at, root: root.clone() }, Some(&home));
        let below = |path: &Path| path.strip_prefix(&root).map(|path| path.display().to_string()).ok();
        let mut configuration: Vec<String> =
            found.configuration.iter().filter_map(|(path, _)| below(path)).collect();
        configuration.sort();
        configuration.retain(|path| !path.starts_with("no-home"));
        assert_eq!(
            configuration,
            [
                "a/b/c",
                "conv/x.py",
                "githooks",
                "gone.conf",
                "more.conf",
                "my tool.sh",
                "none.sh",
                "run.sh",
                "up",
                "watch"
            ]
        );
        let code: Vec<String> = found.code.iter().filter_map(|path| below(path)).collect();
        assert_eq!(
            code,
            [
                "deep",
                "missing/x",
                "scripts/lint.sh",
                "tools/deep",
                "tools/missing/x",
                "tools/scripts/lint.sh"
            ]
        );
    }

    /// A working tree with a repository of the configuration `text`, and what git obeys in it, below the tree.
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn obeyed_in(root: &Path, text: &str) -> (Vec<String>, Vec<String>) {
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join(".git/config"), text).unwrap();
        let repository = Repository { at: root.join(".git"), root: root.to_owned() };
        let found = obeyed(&repository, Some(&root.join("no-home")));
        let below = |path: &PathBuf| path.strip_prefix(root).map(|path| path.display().to_string()).ok();
        let configuration = found.configuration.iter().filter_map(|(path, _)| below(path));
        let mut configuration: Vec<String> =
            configuration.filter(|path| !path.starts_with("no-home")).collect();
        configuration.sort();
        (configuration, found.links.iter().filter_map(below).collect())
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn links_on_the_way_are_found() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::real(place.path()).unwrap();
        std::fs::create_dir_all(root.join("real/hk")).unwrap();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join("real/pc"), "").unwrap();
        symlink("real", root.join("one")).unwrap();
        symlink("one", root.join("two")).unwrap();
        symlink("real", root.join("three")).unwrap();
        symlink("../../three/pc", root.join(".git/hooks/pre-commit")).unwrap();
        let (configuration, links) = obeyed_in(&root, "[core]\nhooksPath = two/hk\n");
        assert_eq!(configuration, ["three/pc", "two/hk"]);
        assert_eq!(links, ["two", "one", "three"]);
    }

    #[test]
    fn values_that_name_a_program_in_another_way() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::real(place.path()).unwrap();
        for (text, expected) in [
            ("[core]\nfsmonitor = sh watch\n", vec!["watch"]),
            ("[imap]\ntunnel = ./tun\n", vec!["tun"]),
            ("[url \"ext::./up \"]\ninsteadOf = x:\n", vec!["up"]),
            ("[init]\ntemplateDir = tpl\n", vec!["tpl"]),
            ("[core]\nworktree = ../wt\nhooksPath = hk\n", vec!["hk", "wt/hk"]),
        ] {
            assert_eq!(obeyed_in(&root, text).0, expected, "{text}");
        }
        for up in [".", "sub/.."] {
            let (configuration, _) = obeyed_in(&root, &format!("[core]\nhooksPath = {up}\n"));
            assert!(configuration.contains(&"pre-commit".to_owned()), "{up}: {configuration:?}");
            assert_eq!(configuration.contains(&"sub".to_owned()), up == "sub/..");
        }
    }
}
