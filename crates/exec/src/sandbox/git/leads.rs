//! What the user's own git directory leads to in a working tree: hooks that are links, files that its configuration names.
//!
//! Whoever can write those writes what the user's git runs. The configuration is the user's; it is read generously, since
//! guarding one file too many does little harm.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType};

use super::{Repository, sys};
use crate::sandbox::plan::to_path;

/// What a configuration may hold.
const CONFIG: u64 = 1 << 20;
/// How many files are told of: each becomes a mount.
const MAX_LEADS: usize = 100;
/// Names in a git directory that may be links.
const LINKS: &[&str] = &["config", "config.worktree", "hooks", "info", "info/attributes", "attributes"];

/// The paths that it leads to, if they are there. Of what is missing only a directory for hooks is told: that is one that an
/// empty directory can hold a place for.
pub(crate) fn leads(Repository { at, root }: &Repository) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = LINKS.iter().filter_map(|name| link(&at.join(name))).collect();
    if let Ok(hooks) = sys::root(&at.join("hooks")) {
        let _seen = sys::list(hooks.as_fd(), |name, kind| {
            if kind == FileType::Symlink {
                found.extend(link(&at.join("hooks").join(name)));
            }
            if found.len() < MAX_LEADS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    if let Ok(dir) = sys::root(at) {
        for name in ["config", "config.worktree"] {
            let text = sys::small(dir.as_fd(), Path::new(name), CONFIG).unwrap_or_default();
            for (key, word) in named(&String::from_utf8_lossy(&text)) {
                // Relative to the tree for programs, to the configuration for what it includes.
                let path = policy::normal(&if key == "path" { at.join(&word) } else { root.join(&word) });
                let is_there = rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW).is_ok();
                found.extend((is_there || key == "hookspath").then_some(path));
            }
        }
    }
    found.retain(|path| path != root && path != at);
    found.truncate(MAX_LEADS);
    found
}

/// Where the link at `path` leads, if it is one.
fn link(path: &Path) -> Option<PathBuf> {
    let to = rustix::fs::readlinkat(CWD, path, Vec::new()).ok()?;
    Some(policy::normal(&path.parent()?.join(to_path(to.into_bytes()))))
}

/// The words of a configuration that could be files which git runs or reads configuration from, each with its key.
fn named(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut words = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let end = header.find([' ', ']', '.', '"']).unwrap_or(header.len());
            section = header[..end].to_ascii_lowercase();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim().to_ascii_lowercase();
        if runs_or_reads(&section, &key) {
            let value = value.replace(['"', '\'', '!', ';', '\\'], " ");
            let paths = value.split_whitespace().filter(|word| is_path(word));
            words.extend(paths.map(|word| (key.clone(), word.to_owned())));
        }
    }
    words
}

/// Whether a key names a program, hooks, or more configuration.
fn runs_or_reads(section: &str, key: &str) -> bool {
    match section {
        "core" => matches!(
            key,
            "hookspath"
                | "fsmonitor"
                | "sshcommand"
                | "editor"
                | "pager"
                | "attributesfile"
                | "askpass"
                | "gitproxy"
        ),
        "include" | "includeif" => key == "path",
        "alias" | "pager" | "credential" | "gpg" | "filter" | "diff" | "merge" | "difftool" | "mergetool" => {
            true
        }
        "sequence" => key == "editor",
        "interactive" => key == "difffilter",
        _ => false,
    }
}

/// A word that could be a file of the tree; what has neither a `/` nor a dot is a program or a word.
fn is_path(word: &str) -> bool {
    word.contains(['/', '.'])
        && !word.starts_with('-')
        && !word.starts_with('~')
        && !word.contains("://")
        && Path::new(word).file_name() != Some(OsStr::new(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_names() {
        let text = "[core]\n\thooksPath = .husky/_\n\tbare = false\n\tworktree = ../..\n\tfsmonitor = \"tools/watch.sh --x\"\n\
            [include]\npath=../.gitconf\n[includeIf \"gitdir:~/w/\"]\npath = /etc/gitconf\n\
            [remote \"origin\"]\nurl = ../other\n[alias]\nx = !./run.sh a\ny = status\n\
            [filter \"lfs\"]\nclean = git-lfs clean -- %f\n[user]\nname = a.b\n[diff \"x\"] \ntextconv = 'conv/x.py'\n";
        let expected = [".husky/_", "tools/watch.sh", "../.gitconf", "/etc/gitconf", "./run.sh", "conv/x.py"];
        let words: Vec<String> = named(text).into_iter().map(|(_, word)| word).collect();
        assert_eq!(words, expected);
    }
}
