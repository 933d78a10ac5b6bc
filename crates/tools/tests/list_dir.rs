//! Tests `list_dir` through the router, as a model calls it.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::{TestWorkspace, ToolTestSession};
use toolgate_tools::ImageSettings;

/// Returns the listing without its times.
fn list(workspace: &TestWorkspace, arguments: &Value) -> String {
    let tools =
        toolgate_tools::builtin_tools(ImageSettings::default(), &Arc::default(), &Arc::default()).unwrap();
    let text = ToolTestSession::new(workspace, tools).call("list_dir", arguments).joined_text();
    let timeless = |line: &str| match line.get(4..5) {
        Some("-") => line[16..].to_owned(),
        _ => line.to_owned(),
    };
    workspace.normalize(&text.lines().map(timeless).collect::<Vec<_>>().join("\n"))
}

fn tree() -> TestWorkspace {
    let w = TestWorkspace::new();
    w.write_file("b.txt", "12345")
        .write_file("a/x.rs", "x")
        .write_file("a/deep/y.rs", "y")
        .write_file("target/out", "o");
    w.write_file(".gitignore", "target/\n*.log\n")
        .write_file("debug.log", "l")
        .write_file(".hidden", "")
        .write_file(".env", "K=1");
    w.write_file(".git/config", "").symlink("out", "../outside").symlink("broken", "nowhere");
    rustix::fs::mkfifoat(rustix::fs::CWD, w.path().join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    w
}

#[test]
fn directory_is_listed_flat_and_recursively() {
    let w = tree();
    assert_snapshot!(list(&w, &json!({"path": "."})), @"
    $DIR
                -  .git/
               14  .gitignore
                0  .hidden
                -  a/
                5  b.txt
                -  broken -> nowhere
                -  out -> ../outside
                -  pipe (a FIFO)
    [1 entry hidden by deny-read]
    ");
    assert_snapshot!(list(&w, &json!({"path": ".", "recursive": true})), @"
    $DIR
                -  .git/
               14  .gitignore
                0  .hidden
                -  a/
                -  a/deep/
                1  a/deep/y.rs
                1  a/x.rs
                5  b.txt
                -  broken -> nowhere
                -  out -> ../outside
                -  pipe (a FIFO)
    [1 entry hidden by deny-read]
    ");
    assert_snapshot!(list(&w, &json!({"path": ".", "recursive": true, "pattern": "*.rs"})), @"
    $DIR
                1  a/deep/y.rs
                1  a/x.rs
    [1 entry hidden by deny-read]
    ");
    assert_snapshot!(list(&w, &json!({"path": ".", "recursive": true, "pattern": "a/*.rs"})), @"
    $DIR
                1  a/x.rs
    [1 entry hidden by deny-read]
    ");
    assert_snapshot!(list(&w, &json!({"path": "a", "max_depth": 2})), @"
    $DIR/a
                -  deep/
                1  deep/y.rs
                1  x.rs
    ");
    assert_snapshot!(list(&w, &json!({"dir_path": ".", "include_ignored": true, "pattern": "*.log"})), @"
    $DIR
                1  debug.log
    [1 entry hidden by deny-read]
    ");
}

#[test]
fn long_listing_is_paged() {
    let w = TestWorkspace::new();
    for n in 0..250 {
        w.write_file(format!("{n:03}"), "");
    }
    let first = list(&w, &json!({"path": "."}));
    assert!(first.ends_with("199\n[entries 1-200 of 250; continue with offset=201]"), "{first}");
    let second = list(&w, &json!({"path": ".", "offset": 201}));
    assert!(second.ends_with("249\n[entries 201-250 of 250]"), "{second}");
    assert_snapshot!(list(&w, &json!({"path": ".", "offset": 251})), @"the arguments do not fit at `offset`: there are only 250 entries");
    assert_snapshot!(list(&w, &json!({"path": ".", "limit": 0})), @"the arguments do not fit at `limit`: expected an integer of at least 1 and at most 2000, found 0");
}

#[test]
fn unlistable_path_is_reported() {
    let w = tree();
    assert_snapshot!(list(&w, &json!({"path": "b.txt"})), @"`$DIR/b.txt` is a file, not a directory; give the path of a directory");
    assert_snapshot!(list(&w, &json!({"path": "nope"})), @"`$DIR/nope` does not exist; list its directory to see what is there");
    assert_snapshot!(list(&w, &json!({"path": "out"})), @"blocked by the sandbox: `$DIR/out` is a link that leads outside the readable roots; read a path inside them instead");
    assert_snapshot!(list(&w, &json!({"path": "../outside"})), @"forbidden by policy: `$OUTSIDE` is outside the readable roots (`$DIR`)");
    assert_snapshot!(list(&w, &json!({"path": ".", "pattern": "a[" })), @"the arguments do not fit at `pattern`: it is not a glob: unclosed character class; missing ']'");
}

#[test]
fn names_cannot_forge_lines() {
    let w = TestWorkspace::new();
    w.write_file("a\nb\u{1b}[31m", "");
    assert_snapshot!(list(&w, &json!({"path": "."})), @r"
    $DIR
                0  a\nb\u{1b}[31m
    ");
}
