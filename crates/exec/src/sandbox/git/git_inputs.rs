//! Files of a working tree that the user's git reads or runs: its configuration or a hook names them.
//!
//! Configuration and the programs that it names are read-only for commands. Scripts that a hook calls may be changed,
//! and the change is reported. The reading is generous: protecting one file too many does little harm.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::{HostFile, MissingConfigAction, normalize_path};
use rustix::fs::{CWD, FileType};

use super::command_paths::{CommandText, NamedPaths};
use super::config_value_use::{ValueUse, value_use};
use super::git_settings::{GitSettings, GitValue, dotdot_directories, expand_path};
use super::{Repository, discover, sys, wildcard};
use crate::fs::canonicalize_existing;
use crate::sandbox::cell_plan::path_from_bytes;
use crate::sandbox::file_stamp::FileStamp;

/// The maximum number of protected paths of one repository: each may become a mount.
const MAX_PATHS: usize = 2_000;
/// The maximum number of reported hook scripts. Existing ones come first.
const MAX_REPORTED_SCRIPTS: usize = 2_000;
/// The maximum size of a hook that is read.
const MAX_HOOK_BYTES: u64 = 256 * 1024;
/// The maximum number of consecutive links, as in the kernel.
const MAX_LINKS: usize = 40;
/// The names of hooks.
const HOOK_NAMES: &[&str] = &[
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
    "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge",
    "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update",
    "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate",
    "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit",
    "post-index-change",
];
/// Names in a git directory that may be links.
const LINKABLE_NAMES: &[&str] =
    &["config", "config.worktree", "hooks", "info", "info/attributes", "attributes"];

/// The files of one repository.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct GitInputs {
    /// Configuration, hooks, and programs that the configuration names.
    pub(crate) configuration: Vec<(PathBuf, MissingConfigAction)>,
    /// Symlinks on the way to the configuration: replacing one would redirect git.
    pub(crate) links: Vec<PathBuf>,
    /// Scripts that hooks call.
    pub(crate) code: Vec<PathBuf>,
    /// Directories that a path leaves again by `..`: a link in place of one would redirect git.
    pub(crate) dotdot_dirs: Vec<PathBuf>,
    /// The reason why this may be incomplete.
    pub(crate) incomplete_reason: Option<String>,
    /// The files that were read, with their state.
    read_files: Vec<(PathBuf, Option<FileStamp>)>,
    /// The real paths of configuration and code.
    real_paths: (Vec<PathBuf>, Vec<PathBuf>),
}

/// Finds the files that git obeys in `repository`, for a user with this `home`.
pub(crate) fn find_git_inputs(repository: &Repository, home: Option<&Path>) -> GitInputs {
    let Repository { at, root } = repository;
    let mut found = GitInputs::default();
    let own = discover::worktree_git_directory(repository);
    let settings = GitSettings::load(at, own.as_deref(), home);
    found.incomplete_reason.clone_from(&settings.incomplete_reason);
    found.dotdot_dirs.clone_from(&settings.dotdot_dirs);
    found.read_files = settings.files.iter().map(|file| (file.clone(), FileStamp::read(file))).collect();
    for directory in std::iter::once(at).chain(&own) {
        let links = LINKABLE_NAMES.iter().filter_map(|name| link_target(&directory.join(name)));
        found.configuration.extend(links.map(|to| (to, MissingConfigAction::SetAside)));
    }
    let files = settings.files.iter().filter(|file| !file.starts_with(at));
    found.configuration.extend(files.map(|file| (file.clone(), MissingConfigAction::SetAside)));
    // Paths are relative to the working tree, which the configuration may move.
    let trees = settings.values.iter().filter(|value| value.section == "core" && value.key == "worktree");
    let moved = trees.filter_map(|value| expand_path(&value.value, at, home));
    let bases: Vec<PathBuf> = std::iter::once(root.clone()).chain(moved).collect();
    let mut hooks = vec![at.join("hooks")];
    for value in &settings.values {
        hooks.extend(found.record_value(value, &bases, home));
    }
    // Husky's own hooks lie beside the directory that `core.hooksPath` names.
    hooks.push(root.join(".husky"));
    for directory in hooks {
        found.read_files.push((directory.clone(), FileStamp::read(&directory)));
        found.record_hooks(&directory, root);
    }
    found.deduplicate_and_limit(repository);
    found
}

impl GitInputs {
    /// Returns true if all files that were read are unchanged.
    pub(crate) fn is_current(&self) -> bool {
        self.read_files.iter().all(|(file, before)| FileStamp::read(file) == *before)
    }

    /// Returns true if all configuration in `other` is in this too.
    pub(crate) fn guards_as_much_as(&self, other: &Self) -> bool {
        other.configuration.iter().all(|one| self.configuration.contains(one))
            && other.links.iter().all(|link| self.links.contains(link))
            && other.dotdot_dirs.iter().all(|turn| self.dotdot_dirs.contains(turn))
    }

    /// Returns the role of `path` for git, if it has one.
    pub(crate) fn host_file(&self, path: &Path) -> Option<HostFile> {
        let is = |known: &PathBuf| path.starts_with(known);
        let is_link = self.links.iter().any(|link| link == path);
        if is_link
            || self.configuration.iter().any(|(known, _)| is(known))
            || self.real_paths.0.iter().any(is)
        {
            return Some(HostFile::configuration("use git here"));
        }
        let is_code = self.code.iter().any(is) || self.real_paths.1.iter().any(is);
        is_code.then(|| HostFile::code("commit or push here"))
    }

    /// Records the files that one value names, and returns its hook directories.
    fn record_value(&mut self, value: &GitValue, bases: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
        let text = CommandText { text: &value.value, bases, home };
        match (value.section.as_str(), value.key.as_str()) {
            ("core", "hookspath") => return self.hooks_path(text),
            ("init", "templatedir") => {
                let paths = bases.iter().filter_map(|base| expand_path(&value.value, base, home));
                self.configuration.extend(paths.map(|path| (path, MissingConfigAction::SetAside)));
                self.dotdot_dirs
                    .extend(bases.iter().flat_map(|base| dotdot_directories(&value.value, base, home)));
            }
            ("remote", "url" | "pushurl") => self.watch_remote(text),
            // Usually the name of a remote.
            ("branch", "remote" | "pushremote") if value.value.contains(&b'/') => self.watch_remote(text),
            _ => {}
        }
        match value_use(value) {
            ValueUse::Program => {
                self.protect_named_paths(
                    CommandText { text: command_in_value(&value.value), ..text }.paths_of_command(),
                );
            }
            ValueUse::Unknown => self.protect_named_paths(text.paths_of_setting()),
            ValueUse::PlainData => {}
        }
        Vec::new()
    }

    /// Protects the paths that a value names.
    fn protect_named_paths(&mut self, NamedPaths { files, directories, dotdot_dirs }: NamedPaths) {
        self.configuration.extend(files.into_iter().map(|path| (path, MissingConfigAction::SetAside)));
        self.configuration.extend(directories.into_iter().map(|path| (path, MissingConfigAction::Occupied)));
        self.dotdot_dirs.extend(dotdot_dirs);
    }

    /// Watches the location of a remote that has no repository yet: git runs the hooks of one that a command creates.
    fn watch_remote(&mut self, CommandText { text, bases, home }: CommandText<'_>) {
        let path = text.strip_prefix(b"file://").unwrap_or(text);
        // `host:path` is a path only after a slash.
        let first = path.split(|&byte| byte == b'/').next().unwrap_or_default();
        if first.contains(&b':') {
            return;
        }
        let places = bases.iter().filter_map(|base| expand_path(path, base, home));
        let places = places.filter(|place| !bases.iter().any(|base| base.starts_with(place)));
        for place in places.collect::<Vec<_>>() {
            let mut with_suffix = place.clone().into_os_string();
            with_suffix.push(".git");
            for at in [place, with_suffix.into()] {
                if !discover::is_git(&at) {
                    // The missing parts of a git directory.
                    let parts = ["HEAD", "commondir", "objects", "refs"].map(|name| at.join(name));
                    let parts = parts.into_iter().filter(|part| !sys::is_there(part));
                    let most = if sys::is_there(&at.join("HEAD")) { usize::MAX } else { 1 };
                    self.configuration
                        .extend(parts.take(most).map(|part| (part, MissingConfigAction::SetAside)));
                }
                let git = at.join(".git");
                self.configuration
                    .extend((!sys::is_there(&git)).then_some((git, MissingConfigAction::SetAside)));
            }
        }
    }

    /// Records a `core.hooksPath`, and returns the directories that it names.
    fn hooks_path(&mut self, CommandText { text, bases, home }: CommandText<'_>) -> Vec<PathBuf> {
        let directories: Vec<PathBuf> =
            bases.iter().filter_map(|base| expand_path(text, base, home)).collect();
        for directory in &directories {
            // A directory that cannot be protected as a whole: the tree itself, or one of its ancestors.
            if bases.iter().any(|base| base.starts_with(directory)) {
                let hooks =
                    HOOK_NAMES.iter().map(|name| (directory.join(name), MissingConfigAction::SetAside));
                self.configuration.extend(hooks);
            }
            self.configuration.push((directory.clone(), MissingConfigAction::Occupied));
        }
        self.dotdot_dirs.extend(bases.iter().flat_map(|base| dotdot_directories(text, base, home)));
        directories
    }

    /// Sorts and deduplicates the result, within its limits.
    fn deduplicate_and_limit(&mut self, Repository { at, root }: &Repository) {
        let is_other = |path: &Path| path != root && path != at && !root.starts_with(path);
        self.configuration.retain(|(path, _)| is_other(path));
        let mut known = BTreeSet::new();
        self.configuration.retain(|(path, _)| known.insert(path.clone()));
        // A missing directory could be created as a link.
        self.dotdot_dirs.sort();
        self.dotdot_dirs.dedup();
        let missing = self.dotdot_dirs.iter().filter(|path| is_other(path) && !sys::is_there(path));
        self.configuration.extend(missing.map(|path| (path.clone(), MissingConfigAction::SetAside)));
        self.code.retain(|path| {
            is_other(path) && !self.configuration.iter().any(|(known, _)| path.starts_with(known))
        });
        self.code.sort();
        self.code.dedup();
        if self.code.len() > MAX_REPORTED_SCRIPTS {
            self.code.sort_by_cached_key(|path| !sys::is_there(path));
            self.code.truncate(MAX_REPORTED_SCRIPTS);
        }
        if self.configuration.len() > MAX_PATHS {
            self.incomplete_reason = Some(format!("it names more than {MAX_PATHS} files"));
            self.configuration.truncate(MAX_PATHS);
        }
        for path in self.configuration.iter().map(|(path, _)| path).chain(&self.dotdot_dirs) {
            let new = symlinks_on_path(path).into_iter().filter(|link| !self.links.contains(link));
            self.links.extend(new.collect::<Vec<_>>());
        }
        self.read_files.extend(self.links.iter().map(|link| (link.clone(), FileStamp::read(link))));
        let configuration = self.configuration.iter().map(|(path, _)| canonicalize_existing(path)).collect();
        self.real_paths = (configuration, self.code.iter().map(|path| canonicalize_existing(path)).collect());
    }

    /// Records the hooks of a directory: those that are links, and the scripts that they call.
    fn record_hooks(&mut self, directory: &Path, root: &Path) {
        let Ok(real) = crate::fs::canonicalize(directory) else { return };
        let Ok(open) = sys::root(&real) else { return };
        let mut left = MAX_PATHS;
        let _seen = sys::list(open.as_fd(), |name, kind| {
            let hook = real.join(name);
            if kind == FileType::Symlink {
                self.configuration.extend(link_target(&hook).map(|to| (to, MissingConfigAction::SetAside)));
            }
            let is_sample = name.as_bytes().ends_with(b".sample");
            let text = crate::fs::canonicalize(&hook)
                .ok()
                .filter(|_| !is_sample && kind != FileType::Directory)
                .and_then(|hook| {
                    let above = sys::root(hook.parent()?).ok()?;
                    sys::read_small_file(above.as_fd(), Path::new(hook.file_name()?), MAX_HOOK_BYTES)
                });
            if let Some(text) = text {
                let bases = [root.to_owned()];
                let named = CommandText { text: &text, bases: &bases, home: None }.paths_of_hook();
                let inside = named
                    .directories
                    .iter()
                    .flat_map(|directory| wildcard::matching_entries(directory, b"*"));
                let all = named.files.into_iter().chain(inside).chain(named.directories.iter().cloned());
                self.code.extend(all.filter(|path| path.starts_with(root)));
            }
            left -= 1;
            if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
}

/// Returns the target of the link at `path`, if it is one.
fn link_target(path: &Path) -> Option<PathBuf> {
    let to = rustix::fs::readlinkat(CWD, path, Vec::new()).ok()?;
    Some(normalize_path(&path.parent()?.join(path_from_bytes(to.into_bytes()))))
}

/// Returns the symlinks that lead from `path` to its real location.
fn symlinks_on_path(path: &Path) -> Vec<PathBuf> {
    let (mut links, mut path) = (Vec::new(), path.to_owned());
    // ends: after so many links at the latest, as the kernel does
    while links.len() < MAX_LINKS {
        let mut ways: Vec<&Path> = path.ancestors().collect();
        ways.reverse();
        let first = ways.into_iter().find_map(|way| Some((way.to_owned(), link_target(way)?)));
        let Some((way, to)) = first else { break };
        let Ok(rest) = path.strip_prefix(&way) else { break };
        path = normalize_path(&to.join(rest));
        links.push(way);
    }
    links
}

/// Returns the command in a value that git runs: after the `!` of an alias, or the `ext::` of a URL.
fn command_in_value(value: &[u8]) -> &[u8] {
    let value = value.strip_prefix(b"!").unwrap_or(value);
    value.strip_prefix(b"ext::").unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn files_named_by_configuration_and_hooks_are_found() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::canonicalize(place.path()).unwrap();
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
             [remote \"o\"]\nuploadpack = ./up\nurl = x:src\n[include]\npath = ../more.conf\n",
        );
        file("more.conf", "[core]\nhooksPath = a/b/c\n[includeIf \"gitdir:/x\"]\npath = gone.conf\n");
        let found = find_git_inputs(&Repository { at, root: root.clone() }, Some(&home));
        let below = |path: &Path| path.strip_prefix(&root).map(|path| path.display().to_string()).ok();
        let mut configuration: Vec<String> =
            found.configuration.iter().filter_map(|(path, _)| below(path)).collect();
        configuration.sort();
        configuration.retain(|path| !path.starts_with("no-home"));
        assert_eq!(
            configuration,
            [
                "a/b/c", "conv/x.py", "githooks", "gone.conf", "more.conf", "my tool.sh", "none.sh",
                "run.sh", "up", "watch"
            ]
        );
        let code: Vec<String> = found.code.iter().filter_map(|path| below(path)).collect();
        assert_eq!(
            code,
            [
                "deep", "missing/x", "scripts/lint.sh", "tools/deep", "tools/missing/x",
                "tools/scripts/lint.sh"
            ]
        );
    }

    /// Creates a working tree with a repository of the configuration `text`, and returns the files that git obeys in
    /// it.
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn obeyed_in(root: &Path, text: &str) -> (Vec<String>, Vec<String>) {
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join(".git/config"), text).unwrap();
        let repository = Repository { at: root.join(".git"), root: root.to_owned() };
        let found = find_git_inputs(&repository, Some(&root.join("no-home")));
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
        let root = crate::fs::canonicalize(place.path()).unwrap();
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
    #[expect(clippy::disallowed_methods, reason = "the test lays out its own files")]
    fn a_directory_that_a_path_leaves_is_no_configuration() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::canonicalize(place.path()).unwrap();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("w.sh"), "").unwrap();
        let (configuration, _) = obeyed_in(&root, "[core]\nfsmonitor = sh src/../w.sh\n");
        assert!(configuration.contains(&"w.sh".to_owned()) && !configuration.contains(&"src".to_owned()));
        let repository = Repository { at: root.join(".git"), root: root.clone() };
        assert!(find_git_inputs(&repository, None).dotdot_dirs.contains(&root.join("src")));
    }

    #[test]
    fn too_many_files_are_reported_as_unread() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::canonicalize(place.path()).unwrap();
        for (count, expected) in [(420, None), (2_100, Some("it names more than 2000 files"))] {
            let aliases: String = (0..count).map(|at| format!("[alias]\na{at} = !./s/{at}.sh\n")).collect();
            obeyed_in(&root, &aliases);
            let repository = Repository { at: root.join(".git"), root: root.clone() };
            assert_eq!(find_git_inputs(&repository, None).incomplete_reason.as_deref(), expected);
        }
    }

    #[test]
    fn programs_in_unusual_values_are_found() {
        let place = tempfile::tempdir().unwrap();
        let root = crate::fs::canonicalize(place.path()).unwrap();
        for (text, expected) in [
            ("[core]\nfsmonitor = sh watch\n", vec!["watch"]),
            ("[imap]\ntunnel = ./tun\n", vec!["tun"]),
            ("[url \"ext::./up \"]\ninsteadOf = x:\n", vec!["up"]),
            ("[init]\ntemplateDir = tpl\n", vec!["tpl"]),
            ("[gc]\nrecentObjectsHook = sh rec\nx = ./y.sh\n", vec!["rec", "y.sh"]),
            ("[lfs \"customtransfer.x\"]\npath = sh\nargs = ./xfer\n", vec!["xfer"]),
            ("[alias]\nci = -c core.hooksPath=hk commit\n", vec!["hk"]),
            ("[alias]\nst = -c core.fsmonitor=./w status\n", vec!["w"]),
            ("[alias]\nst = !run-parts hk.d\n", vec!["hk.d"]),
            ("[core]\nfsmonitor = sh sub/../w.sh\n", vec!["sub", "w.sh"]),
            ("[include]\npath = ../sub/../my.conf\n", vec!["my.conf", "sub"]),
            (
                "[remote \"o\"]\nurl = ./up\npushurl = git@example.org:x/y.git\n",
                vec!["up.git/.git", "up.git/HEAD", "up/.git", "up/HEAD"],
            ),
            ("[remote \"o\"]\nurl = https://example.org/x\n[branch \"x\"]\nremote = o\n", vec![]),
            ("[core]\nexcludesFile = .gitignore\n[blame]\nignoreRevsFile = ./.revs\n", vec![]),
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
