//! Tests of rewriting the configuration of a new repository.

use proptest::prelude::*;

use crate::sandbox::git::config_rewrite::{rewrite, worktree};

fn kept(text: &str) -> (String, bool) {
    let rewritten = rewrite(text.as_bytes(), |tree| tree == "../sub", |path| path.starts_with("/ws"));
    (rewritten.text, rewritten.complete)
}

#[test]
fn what_git_writes_itself_is_kept_whole() {
    let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
        \tworktree = ../sub\n[remote \"origin\"]\n\turl = https://example.org/a.git\n\
        \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\
        [submodule \"lib/a\"]\n\tactive = true\n\turl = git@example.org:a/b.git\n[extensions]\n\tobjectformat = sha256\n";
    assert_eq!(kept(text), (text.to_owned(), true));
}

#[test]
fn what_could_do_harm_is_left_out() {
    for line in [
        "[core]\nfsmonitor = x",
        "[core]\nFSMonitor = x",
        "[core]\nsshcommand = x",
        "[core]\nworktree = /etc",
        "[core]\nrepositoryformatversion = 2",
        "[core]\nbare = \"false\"",
        "[core]\nbare = false # x",
        "[core] fsmonitor = x",
        "[core \"x\"]\nbare = false",
        "[include]\npath = x",
        "[includeIf \"gitdir:/\"]\npath = x",
        "[filter \"x\"]\nclean = x",
        "[remote \"o\"]\nurl = ext::sh -c x",
        "[remote \"o\"]\nurl = -x",
        "[remote \"o\"]\nurl = ssh://-oProxyCommand=x/y",
        "[remote \"o\"]\nurl = x@-oProxyCommand=x:y",
        "[remote \"o\"]\nurl = file:///x",
        "[remote \"o\"]\nurl = ftp::x",
        "[remote \"o\"]\nurl = ./e.git",
        "[remote \"o\"]\nfetch = +refs/heads/*:refs/remotes/o/*",
        "[branch \"main\"]\nremote = e.git",
        "[remote \"o\"]\nurl = e/git:x",
        "[remote \"o\"]\nurl = /ws/e.git",
        "[remote \"o\"]\nuploadpack = x",
        "[remote \"o\"]\nfetch = x",
        "[remote \"-o\"]\nurl = https://x/y",
        "[remote.o]\nurl = https://x/y",
        "[remote \"a\\\"b\"]\nurl = https://x/y",
        "[branch \"m\"]\nremote = ext::sh",
        "[submodule \"s\"]\nupdate = !x",
        "[submodule \"../s\"]\nurl = https://x/y",
        "[alias]\nx = !x",
        "[core]\nbare = x\\\nfalse",
        "bare = false",
        "\u{0}",
    ] {
        assert_eq!(kept(line), (String::new(), false), "{line}");
    }
}

#[test]
fn a_continued_line_hides_nothing() {
    assert_eq!(
        kept("[core]\nx = y \\\nbare = false\nfilemode = true\n"),
        ("[core]\n\tfilemode = true\n".to_owned(), false)
    );
    assert!(!kept("[core]\n# y \\\nbare = false\n").1);
}

#[test]
fn the_tree_of_a_submodule_is_read() {
    assert_eq!(worktree(b"[core]\n\tworktree = a\n[core]\n\tworktree = ../b\n").as_deref(), Some("../b"));
    assert_eq!(worktree(b"[core \"x\"]\n\tworktree = a\n"), None);
}

proptest! {
    /// Law: any output parses again to the same text.
    #[test]
    fn what_is_written_is_stable(text in "(\\[(core|remote \"o\"|include|alias)\\]|\t?(bare|url|path|fsmonitor) ?= ?[a-z:/!\\\\\" ]{0,9}|\\PC{0,9}|\n){0,12}") {
        let (once, _) = kept(&text);
        prop_assert_eq!(kept(&once), (once.clone(), true));
        prop_assert!(!once.contains("fsmonitor") && !once.contains("path") && !once.contains("::"));
    }
}
