//! Tests of `toolgate diff` and diff events: changes of a turn by patches and by commands.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at real files, run git, and may unwrap"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use support::TestHome;
use testkit::TestWorkspace;

const MAY_WRITE: [&str; 2] = ["--sandbox", "workspace-write"];

/// Runs a script as one call, which is one turn.
fn turn(home: &TestHome, workspace: &TestWorkspace, script: &str) {
    let arguments = json!({ "command": script }).to_string();
    let args = [&["call", "shell_command", "--json", &arguments], MAY_WRITE.as_slice()].concat();
    let ran = home.run(&workspace.path(), &args, "");
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
}

fn diff(home: &TestHome, workspace: &TestWorkspace) -> String {
    let ran = home.run(&workspace.path(), &["diff"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out
}

fn git(workspace: &TestWorkspace, args: &[&str], diff: &str) {
    let mut git = Command::new("git");
    git.args(args).current_dir(workspace.path()).stdin(Stdio::piped());
    let mut git = git.spawn().unwrap();
    std::io::Write::write_all(&mut git.stdin.take().unwrap(), diff.as_bytes()).unwrap();
    assert!(git.wait().unwrap().success(), "{diff}");
}

#[test]
fn what_a_command_changed_is_shown() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("a.txt", "one\ntwo\n");
    workspace.write_file("moved.sh", "echo\n");
    workspace.write_file(".gitignore", "hidden\n");
    let none = home.run(&workspace.path(), &["diff"], "");
    assert_eq!((none.code, none.out.as_str()), (Some(0), ""));
    assert!(none.err.contains("no turn has changed anything"), "{}", none.err);
    let script = "sed -i s/two/2/ a.txt && mv moved.sh run.sh && chmod +x run.sh && echo x > hidden && echo y > 'new file'";
    turn(&home, &workspace, script);
    assert_snapshot!(diff(&home, &workspace), @"
    diff --git a/a.txt b/a.txt
    --- a/a.txt
    +++ b/a.txt
    @@ -1,2 +1,2 @@
     one
    -two
    +2
    diff --git a/new file b/new file
    new file mode 100644
    --- /dev/null
    +++ b/new file	
    @@ -0,0 +1 @@
    +y
    diff --git a/moved.sh b/run.sh
    old mode 100644
    new mode 100755
    rename from moved.sh
    rename to run.sh
    ");
    let before = diff(&home, &workspace);
    let json = home.run(&workspace.path(), &["diff", "--json"], "").out;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["unified_diff"], before);
    // A turn without changes is a turn too.
    turn(&home, &workspace, "cat a.txt");
    assert_eq!(diff(&home, &workspace), "");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n-2\n+zwei\n*** End Patch\n";
    assert_eq!(home.run(&workspace.path(), &["patch"], patch).code, Some(0));
    assert!(diff(&home, &workspace).ends_with("-2\n+zwei\n"));
}

#[test]
fn shown_diff_can_be_reversed() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let files = ["a.txt", "b/c.txt", "gone.txt"];
    for name in files {
        workspace.write_file(name, format!("{name}\nsecond\nno newline at the end"));
    }
    turn(
        &home,
        &workspace,
        "echo more >> a.txt; rm gone.txt; sed -i 1d b/c.txt; printf 'new' > new; chmod 755 a.txt",
    );
    git(&workspace, &["apply", "--reverse", "-"], &diff(&home, &workspace));
    for name in files {
        let text = fs::read_to_string(workspace.path().join(name)).unwrap();
        assert_eq!(text, format!("{name}\nsecond\nno newline at the end"));
    }
    assert!(!workspace.path().join("new").exists());
}

/// Creates a file and links to it.
fn linked() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.write_file("a.txt", "a\n").write_file("file", "f\n");
    for name in ["gone", "turned", "moved", "link"] {
        workspace.symlink(name, "a.txt");
    }
    workspace
}

/// Returns the targets of the links, and the contents of the files.
fn contents(workspace: &TestWorkspace) -> Vec<(String, Result<PathBuf, String>)> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let names = fs::read_dir(workspace.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = names
        .map(|path| (name(&path), fs::read_link(&path).map_err(|_| fs::read_to_string(&path).unwrap())))
        .collect();
    all.sort();
    all
}

#[test]
fn symlinks_are_shown_as_git_shows_them() {
    let (home, workspace) = (TestHome::new(), linked());
    let script = "ln -s a.txt new; rm gone; ln -sfn nowhere turned; mv moved there; rm link; echo l > link; ln -sf a.txt file";
    turn(&home, &workspace, script);
    let shown = diff(&home, &workspace);
    assert_snapshot!(shown, @r"
    diff --git a/file b/file
    deleted file mode 100644
    --- a/file
    +++ /dev/null
    @@ -1 +0,0 @@
    -f
    diff --git a/file b/file
    new file mode 120000
    --- /dev/null
    +++ b/file
    @@ -0,0 +1 @@
    +a.txt
    \ No newline at end of file
    diff --git a/link b/link
    deleted file mode 120000
    --- a/link
    +++ /dev/null
    @@ -1 +0,0 @@
    -a.txt
    \ No newline at end of file
    diff --git a/link b/link
    new file mode 100644
    --- /dev/null
    +++ b/link
    @@ -0,0 +1 @@
    +l
    diff --git a/new b/new
    new file mode 120000
    --- /dev/null
    +++ b/new
    @@ -0,0 +1 @@
    +a.txt
    \ No newline at end of file
    diff --git a/moved b/there
    rename from moved
    rename to there
    diff --git a/turned b/turned
    index 0000000..0000000 120000
    --- a/turned
    +++ b/turned
    @@ -1 +1 @@
    -a.txt
    \ No newline at end of file
    +nowhere
    \ No newline at end of file
    diff --git a/gone b/gone
    deleted file mode 120000
    --- a/gone
    +++ /dev/null
    @@ -1 +0,0 @@
    -a.txt
    \ No newline at end of file
    ");
    let other = linked();
    git(&other, &["apply", "-"], &shown);
    assert_eq!(contents(&other), contents(&workspace));
}

#[test]
fn a_session_tells_what_each_turn_changed() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    workspace.write_file("a.txt", "one\ntwo\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n-one\n+uno\n*** End Patch";
    let calls = [
        json!({"type": "custom_tool_call", "call_id": "1", "name": "apply_patch", "input": patch}),
        json!({"type": "function_call", "call_id": "2", "name": "shell_command", "arguments": "{\"command\": \"echo x > b\"}"}),
        json!({"type": "function_call", "call_id": "3", "name": "read_file", "arguments": "{\"path\": \"b\"}"}),
    ];
    let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let ran = home.run(&workspace.path(), &[&["pipe", "--events"], MAY_WRITE.as_slice()].concat(), &input);
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<&Value> = lines.iter().filter(|line| line["event"] == "turn_diff").collect();
    assert_eq!(told.len(), 1, "{}", ran.out);
    assert_eq!((told[0]["files"].as_u64(), told[0]["partial"].as_bool()), (Some(2), Some(false)));
    let shown = told[0]["unified_diff"].as_str().unwrap();
    assert!(shown.contains("-one\n+uno\n") && shown.contains("b/b\n@@ -0,0 +1 @@\n+x\n"), "{shown}");
    assert_eq!(shown, diff(&home, &workspace));
    assert!(lines.iter().any(|line| line["event"] == "file_changed" && line["path"] == "a.txt"));
}
