//! Tests paths that a patch must not reach: outside the workspace, secrets, configuration of agents and git.

use std::fs;

use insta::assert_snapshot;
use policy::{ApprovalPolicy, SandboxPolicy};
use tool::ToolErrorKind;

use super::{PatchWorkspace, writes, yes};

const SECRET: &str = "SECRET\n";

fn add(path: &str) -> String {
    format!("*** Add File: {path}\n+x\n")
}

#[test]
fn paths_that_lead_out_are_not_written() {
    let bench = PatchWorkspace::new();
    let outside = bench.w.outside_dir();
    let secret = outside.join("secret.txt");
    for path in ["../outside/new.txt", "a/../../outside/new.txt", outside.join("new.txt").to_str().unwrap()] {
        let answer = bench.envelope(&add(path));
        assert_eq!(answer.facts.error, Some(ToolErrorKind::Denied), "{path}: {}", answer.joined_text());
        assert!(!outside.join("new.txt").exists());
    }
    // Through a symlink: to a file, to nothing, to a directory.
    bench.w.symlink("leaf", &secret).symlink("dangling", outside.join("new.txt")).symlink("dir", &outside);
    for patch in [
        "*** Update File: leaf\n-SECRET\n+x\n",
        "*** Delete File: dir/secret.txt\n",
        &add("leaf"),
        &add("dangling"),
        &add("dir/new.txt"),
        "*** Update File: dir/secret.txt\n*** Move to: mine.txt\n",
    ] {
        let answer = bench.envelope(patch);
        assert!(!answer.success, "{patch}");
        assert!(!answer.joined_text().contains("SECRET"), "{patch}: {}", answer.joined_text());
        assert_eq!(fs::read_to_string(&secret).unwrap(), SECRET, "{patch}");
        assert!(!outside.join("new.txt").exists() && !bench.path("mine.txt").exists(), "{patch}");
    }
}

#[test]
fn a_link_inside_is_followed_and_stays() {
    let bench = PatchWorkspace::new();
    bench.w.write_file("real/a.txt", "one\n").symlink("a.txt", "real/a.txt").symlink("r", "real");
    assert!(bench.envelope("*** Update File: a.txt\n-one\n+1\n").success);
    assert!(bench.envelope("*** Update File: r/a.txt\n-1\n+uno\n").success);
    assert_eq!(bench.text("real/a.txt"), "uno\n");
    assert_eq!(fs::read_link(bench.path("a.txt")).unwrap().to_str(), Some("real/a.txt"));
    assert!(bench.asked().is_empty());
}

#[test]
fn invalid_paths_are_rejected() {
    let bench = PatchWorkspace::new();
    let told = |path: &str| {
        let answer = bench.envelope(&add(path));
        assert!(!answer.success);
        bench.normalized_text(&answer)
    };
    assert_snapshot!(told("~/x"), @"the arguments do not fit at `input`: line 2: `~` in `~/x` stands for nothing here; write the path in full");
    assert_snapshot!(told("a\0b"), @"the arguments do not fit at `input`: line 2: the path holds a NUL character; no file can have that name: leave it out");
    assert_snapshot!(told("file:///x"), @"the arguments do not fit at `input`: line 2: `file:///x` is not a path; write a path from the working directory");
    assert_snapshot!(told("d/"), @"the arguments do not fit at `input`: line 2: `d/` is a directory's name; name the file itself");
    assert_snapshot!(told("."), @"the arguments do not fit at `input`: line 2: `.` is a directory's name; name the file itself");
    assert!(bench.everything().is_empty());
}

#[test]
fn what_may_not_be_read_is_neither_shown_nor_changed() {
    for sandbox in [SandboxPolicy::WorkspaceWrite, SandboxPolicy::ReadOnly, SandboxPolicy::FullAccess] {
        let bench = PatchWorkspace::with(sandbox, ApprovalPolicy::OnRequest, "", yes);
        bench.w.write_file(".env", "KEY=hunter2\n").symlink("plain.txt", ".env").write_file("a.txt", "one\n");
        for patch in [
            "*** Update File: .env\n-KEY=hunter2\n+KEY=\n",
            "*** Update File: .env\n-KEY=\n+KEY=x\n",
            "*** Update File: plain.txt\n-KEY=\n+KEY=x\n",
            "*** Update File: .env\n*** Move to: b.txt\n",
            "*** Update File: a.txt\n*** Move to: .env\n",
            "*** Delete File: .env\n",
            "*** Add File: .env\n+KEY=x\n",
            "*** Update File: a.txt\n-one\n+1\n*** Update File: .env\n-KEY\n+K\n",
        ] {
            let answer = bench.envelope(patch);
            assert!(!answer.success, "{patch}");
            let told = answer.joined_text();
            let named = told.contains(".env") || patch.contains("plain.txt") && told.contains("plain.txt");
            assert!(!told.contains("hunter2") && named, "{patch}: {told}");
            assert_eq!((bench.text(".env"), bench.text("a.txt")), ("KEY=hunter2\n".into(), "one\n".into()));
            for question in bench.approver.take_questions() {
                // The model's own text may be shown.
                let shown = question.intent.diff.unwrap_or_default();
                assert!(!shown.contains("hunter2") || patch.contains("hunter2"), "{patch}");
            }
        }
        if sandbox == SandboxPolicy::WorkspaceWrite {
            let answer = bench.envelope("*** Update File: .env\n-KEY=\n+KEY=x\n");
            assert_snapshot!(bench.normalized_text(&answer), @"blocked by the sandbox: `$DIR/.env` may not be read: the deny-read rule `**/.env` covers it");
        }
    }
}

#[test]
fn what_decides_for_agents_and_git_is_asked_about() {
    for path in [".git/hooks/pre-commit", ".git/config", ".toolgate/rules.toml", ".claude/settings.json"] {
        let bench = PatchWorkspace::new();
        fs::create_dir_all(bench.path(path).parent().unwrap()).unwrap();
        bench.w.symlink("aside", ".git");
        let answer = bench.envelope(&add(path));
        assert_eq!(answer.facts.error, Some(ToolErrorKind::Denied), "{path}: {}", answer.joined_text());
        // A symlink to it is resolved first.
        if let Some(below) = path.strip_prefix(".git/") {
            let answer = bench.envelope(&add(&format!("aside/{below}")));
            assert!(!answer.success, "{}", answer.joined_text());
        }
        assert!(!bench.path(path).exists());
    }
    // An approval grants only that file.
    for path in [".git/hooks/pre-commit", "sub/.git/hooks/pre-commit", ".git/modules/m/config"] {
        let bench = PatchWorkspace::asking(yes);
        let directory = bench.path(path).parent().unwrap().to_owned();
        fs::create_dir_all(&directory).unwrap();
        let answer = bench.envelope(&add(path));
        assert!(answer.success, "{path}: {}", answer.joined_text());
        assert_eq!(bench.asked(), [writes([directory])]);
        assert_eq!(bench.text(path), "x\n");
    }
    // A patch may not create a repository either.
    let bench = PatchWorkspace::asking(yes);
    bench.w.write_file("sub/a.txt", "");
    for path in ["sub/.git", "sub/.GIT/config"] {
        assert!(!bench.envelope(&add(path)).success, "{path}");
        assert!(!bench.path(path).exists());
    }
}

#[test]
fn one_file_that_a_rule_forbids_stops_all() {
    let rule = "[[rule]]\npath = \"WORK/keep\"\ndecision = \"forbid\"\n";
    let bench = PatchWorkspace::with(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::OnRequest, rule, yes);
    bench.w.write_file("a.txt", "one\n").write_file("keep/k.txt", "k\n");
    let answer = bench.envelope("*** Update File: a.txt\n-one\n+1\n*** Update File: keep/k.txt\n-k\n+K\n");
    assert_eq!(answer.facts.error, Some(ToolErrorKind::Forbidden));
    assert_snapshot!(bench.normalized_text(&answer), @"forbidden by policy: changing `$DIR/keep/k.txt` is forbidden by the rule at /rules.toml:1");
    let answer = bench.envelope("*** Update File: a.txt\n*** Move to: keep/a.txt\n");
    assert_eq!(answer.facts.error, Some(ToolErrorKind::Forbidden));
    assert_eq!((bench.text("a.txt"), bench.text("keep/k.txt")), ("one\n".into(), "k\n".into()));
    assert!(bench.asked().is_empty() && bench.changes().is_empty());
}
