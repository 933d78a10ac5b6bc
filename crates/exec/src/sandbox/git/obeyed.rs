//! Files of a working tree that the user's git obeys or runs: its configuration names them, or a hook does.
//!
//! Configuration and the programs that it names are held read-only for commands. Scripts that a hook calls may be changed,
//! and the change is told. Everything is read generously: guarding one file too many does little harm.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::{HostFile, WhenMissing, normal};
use rustix::fs::{AtFlags, CWD, FileType, statat};

use super::settings::{GitSettings, GitValue, expand};
use super::{Repository, sys};
use crate::fs::real_to_be;
use crate::sandbox::plan::to_path;
use crate::sandbox::stamp::FileStamp;

/// How many paths of one repository are told of: each may become a mount.
const MAX_PATHS: usize = 400;
/// The longest hook that is read.
const MAX_HOOK: u64 = 256 * 1024;
/// Names in a git directory that may be links.
const LINKS: &[&str] = &["config", "config.worktree", "hooks", "info", "info/attributes", "attributes"];

/// The files of one repository.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct GitObeyed {
    /// Configuration, hooks, and programs that the configuration names.
    pub(crate) configuration: Vec<(PathBuf, WhenMissing)>,
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
    let settings = GitSettings::of(at, home);
    found.unread = settings.unread;
    found.read = settings.files.iter().map(|file| (file.clone(), FileStamp::of(file))).collect();
    for name in LINKS {
        found.configuration.extend(link(&at.join(name)).map(|to| (to, WhenMissing::SetAside)));
    }
    let files = settings.files.into_iter().filter(|file| !file.starts_with(at));
    found.configuration.extend(files.map(|file| (file, WhenMissing::SetAside)));
    let mut hooks = vec![at.join("hooks")];
    for value in &settings.values {
        if value.section == "core" && value.key == "hookspath" {
            let Some(path) = expand(&value.value, root, home) else { continue };
            hooks.push(path.clone());
            found.configuration.push((path, WhenMissing::Held));
        } else if runs_or_reads(value) {
            found.configuration.extend(programs(&value.value, root, home));
        }
    }
    // Husky's own hooks lie beside the directory that git is led to.
    hooks.push(root.join(".husky"));
    for directory in hooks {
        found.read.push((directory.clone(), FileStamp::of(&directory)));
        found.hooks(&directory, root);
    }
    let is_other = |path: &Path| path != root && path != at && !root.starts_with(path);
    found.configuration.retain(|(path, _)| is_other(path));
    found.configuration.dedup();
    found.code.retain(|path| {
        is_other(path) && !found.configuration.iter().any(|(known, _)| path.starts_with(known))
    });
    found.code.sort();
    found.code.dedup();
    found.unread |= found.configuration.len() > MAX_PATHS || found.code.len() > MAX_PATHS;
    found.configuration.truncate(MAX_PATHS);
    found.code.truncate(MAX_PATHS);
    let configuration = found.configuration.iter().map(|(path, _)| real_to_be(path)).collect();
    found.real = (configuration, found.code.iter().map(|path| real_to_be(path)).collect());
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
    }

    /// The part that `path` plays for git, if it plays one.
    pub(crate) fn host_file(&self, path: &Path) -> Option<HostFile> {
        let is = |known: &PathBuf| path.starts_with(known);
        if self.configuration.iter().any(|(known, _)| is(known)) || self.real.0.iter().any(is) {
            return Some(HostFile::configuration("use git here"));
        }
        let is_code = self.code.iter().any(is) || self.real.1.iter().any(is);
        is_code.then(|| HostFile::code("commit or push here"))
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
                self.code.extend(called(&text, root));
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

/// The kind of what is at `path`, if there is something.
fn kind(path: &Path) -> Option<FileType> {
    let stat = statat(CWD, path, AtFlags::empty()).or_else(|_| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW));
    stat.ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}

/// The files that a value names, which git runs or reads: words that are files of the tree, or would be one.
fn programs(value: &[u8], root: &Path, home: Option<&Path>) -> Vec<(PathBuf, WhenMissing)> {
    let value = value.strip_prefix(b"!").unwrap_or(value);
    let words = words(value);
    let whole = [value.to_vec()];
    let named = whole.iter().chain(&words).filter_map(|word| {
        let path = expand(word, root, home)?;
        let is_file = kind(&path).is_some_and(|kind| kind != FileType::Directory);
        // A missing word with a `/` in it is a program that is yet to be made.
        let would_be =
            kind(&path).is_none() && word.contains(&b'/') && !word.starts_with(b"-") && is_plain(word);
        (is_file || would_be).then_some((path, WhenMissing::SetAside))
    });
    named.collect()
}

fn is_plain(word: &[u8]) -> bool {
    !word.windows(3).any(|part| part == b"://")
        && !word.iter().any(|byte| b"*?$%{}()".contains(byte) || byte.is_ascii_whitespace())
}

/// The words of a command as a shell splits them; an expansion stays as it is written.
fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let (mut words, mut word, mut quote, mut escaped) = (Vec::new(), Vec::new(), None, false);
    for &byte in text {
        match (byte, quote) {
            _ if escaped => {
                word.push(byte);
                escaped = false;
            }
            (b'\\', None | Some(b'"')) => escaped = true,
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (byte, None) if byte.is_ascii_whitespace() || b";|&<>()`".contains(&byte) => {
                words.push(std::mem::take(&mut word));
            }
            (byte, _) => word.push(byte),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The files of the tree that the text of a hook names. A word behind a variable counts without it (`"$top/lint.sh"`), and
/// one behind `cd` counts from there too.
fn called(text: &[u8], root: &Path) -> Vec<PathBuf> {
    let words = words(text);
    let mut bases = vec![root.to_owned()];
    let after_cd =
        words.windows(2).filter(|pair| pair[0] == b"cd").filter_map(|pair| expand(&pair[1], root, None));
    bases.extend(after_cd.filter(|base| base.starts_with(root)));
    let mut found = Vec::new();
    for word in &words {
        // Parts of an assignment or of a nested script are words of their own.
        for part in word.split(|byte| b"=,:'\"\n\t ".contains(byte)) {
            let part = without_variable(part);
            if part.is_empty() || part.starts_with(b"-") || part.starts_with(b"#") || part.contains(&0) {
                continue;
            }
            for base in &bases {
                let path = normal(&base.join(OsStr::from_bytes(part)));
                let is_file = kind(&path).is_some_and(|kind| kind != FileType::Directory);
                let would_be = kind(&path).is_none() && part.contains(&b'/') && is_plain(part);
                if (is_file || would_be) && path.starts_with(root) {
                    found.push(path);
                }
            }
        }
    }
    found
}

/// A word such as `$top/lint.sh` or `${top}/lint.sh` as a path of the tree.
fn without_variable(word: &[u8]) -> &[u8] {
    if word.first() != Some(&b'$') {
        return word;
    }
    let end = word.iter().position(|&byte| byte == b'/').map_or(word.len(), |slash| slash + 1);
    &word[end..]
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
        "init" => key == "templatedir",
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
}
