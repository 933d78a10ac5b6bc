//! Tests of `toolgate patch`, as a person, a script and another agent use it.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, look at real files, and may unwrap"
)]

mod git;
mod killed;
#[path = "../support/mod.rs"]
mod support;
mod unprivileged;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;
use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

const CHANGE: &str = "*** Begin Patch\n*** Update File: a.txt\n one\n-two\n+2\n*** End Patch\n";

struct PatchFixture {
    home: TestHome,
    w: TestWorkspace,
}

impl PatchFixture {
    fn new() -> Self {
        let w = TestWorkspace::new();
        w.write_file("a.txt", "one\ntwo\n");
        Self { home: TestHome::new(), w }
    }

    fn fed(&self, args: &[&str], stdin: &str) -> CommandRun {
        let ran = self.home.run(&self.w.path(), &[&["patch"], args].concat(), stdin);
        let home = self.home.path().to_str().unwrap();
        let normal = |text: &str| self.w.normalize(text).replace(home, "$HOME");
        CommandRun { code: ran.code, out: normal(&ran.out), err: normal(&ran.err) }
    }

    /// Runs the command, and formats exit code, stdout and stderr as one text.
    fn transcript(&self, args: &[&str], stdin: &str) -> String {
        let CommandRun { code, out, err } = self.fed(args, stdin);
        format!("{}\n-- out\n{out}-- err\n{err}", code.unwrap())
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.w.path().join(name)).unwrap()
    }
}

#[test]
fn a_patch_comes_from_a_file_from_stdin_or_is_typed() {
    for (args, stdin) in [(&["fix.patch"][..], ""), (&["-"], CHANGE), (&[], CHANGE), (&[CHANGE], "")] {
        let shell = PatchFixture::new();
        shell.w.write_file("fix.patch", CHANGE);
        let told = shell.transcript(args, stdin);
        assert_eq!(told, "0\n-- out\nM a.txt\n-- err\n", "{args:?}");
        assert_eq!(shell.text("a.txt"), "one\n2\n");
    }
}

#[test]
fn it_works_in_the_directory_it_is_told() {
    let shell = PatchFixture::new();
    shell.w.write_file("d/a.txt", "one\ntwo\n").write_file("fix.patch", CHANGE);
    for option in ["-C", "--cwd", "--directory"] {
        shell.w.write_file("d/a.txt", "one\ntwo\n");
        // The path of the patch file is relative to the user's directory.
        assert_eq!(shell.fed(&[option, "d", "fix.patch"], "").code, Some(0), "{option}");
        assert_eq!((shell.text("d/a.txt"), shell.text("a.txt")), ("one\n2\n".into(), "one\ntwo\n".into()));
    }
    assert_snapshot!(shell.transcript(&["-C", "none", "-"], CHANGE), @"
    2
    -- out
    -- err
    error: `none` cannot be opened: No such file or directory (os error 2)
    ");
    let ran = shell.fed(&["-C", "d"], &CHANGE.replace("a.txt", "../a.txt"));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.ends_with("`../a.txt` leaves the directory it starts in; stay inside\n"), "{}", ran.err);
}

#[test]
fn a_dry_run_shows_and_changes_nothing() {
    let shell = PatchFixture::new();
    assert_snapshot!(shell.transcript(&["--dry-run"], CHANGE), @"
    0
    -- out
    diff --git a/a.txt b/a.txt
    --- a/a.txt
    +++ b/a.txt
    @@ -1,2 +1,2 @@
     one
    -two
    +2
    -- err
    ");
    assert_eq!(shell.text("a.txt"), "one\ntwo\n");
    shell.fed(&[], CHANGE);
    assert_snapshot!(shell.transcript(&["--dry-run"], CHANGE), @"
    0
    -- out
    -- err
    hint: a.txt is as the patch wants it already
    ");
    assert_snapshot!(shell.transcript(&[], CHANGE), @"
    0
    -- out
      a.txt is as the patch wants it already
    -- err
    ");
}

#[test]
fn the_format_is_seen_or_said() {
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    let replace = r#"{"file_path": "a.txt", "original_content": "two", "updated_content": "2"}"#;
    let files = r#"{"files": [{"path": "a.txt", "content": "one\n2\n"}]}"#;
    let formats = [("envelope", CHANGE), ("unified", diff), ("replace", replace), ("files", files)];
    for (format, text) in formats {
        for said in ["auto", format] {
            let shell = PatchFixture::new();
            let told = shell.transcript(&["--format", said], text).replace("  all of it was replaced\n", "");
            assert_eq!(told, "0\n-- out\nM a.txt\n-- err\n", "{format}");
            assert_eq!(shell.text("a.txt"), "one\n2\n");
        }
        for (other, _) in formats.iter().filter(|(other, _)| *other != format) {
            let shell = PatchFixture::new();
            let ran = shell.fed(&["--format", other], text);
            assert_eq!(ran.code, Some(1), "{format} as {other}: {}{}", ran.out, ran.err);
            assert_eq!(shell.text("a.txt"), "one\ntwo\n");
        }
    }
}

#[test]
fn json_for_programs() {
    let shell = PatchFixture::new();
    let json = |args: &[&str], stdin: &str| {
        let ran = shell.fed(&[args, &["--json"]].concat(), stdin);
        assert_eq!(ran.err, "");
        let value: Value = serde_json::from_str(&ran.out).unwrap();
        format!("{} {value}", ran.code.unwrap())
    };
    assert_snapshot!(json(&["--dry-run"], CHANGE), @r#"0 {"already":[],"applied":false,"changes":[{"from":null,"kind":"M","path":"a.txt","places":[{"already":false,"line":2,"overlooked":null}],"replaced":false}],"diff":"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"}"#);
    assert_snapshot!(json(&[], CHANGE), @r#"0 {"already":[],"applied":true,"changes":[{"from":null,"kind":"M","path":"a.txt","places":[{"already":false,"line":2,"overlooked":null}],"replaced":false}],"diff":null}"#);
    assert_snapshot!(json(&[], CHANGE), @r#"0 {"already":["a.txt"],"applied":true,"changes":[],"diff":null}"#);
    assert_snapshot!(json(&[], &CHANGE.replace("one", "none").replace("two", "zwei")), @r#"1 {"applied":false,"error":"`a.txt` is unchanged: the hunk at line 3 of the patch does not match: none of its lines is in the file; read the file again"}"#);
    assert_snapshot!(json(&[], "hello"), @r#"1 {"applied":false,"error":"line 1: this is not a patch in a known format; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines"}"#);
}

#[test]
fn exit_code_tells_applied_refused_and_misused_apart() {
    let shell = PatchFixture::new();
    let code = |args: &[&str], stdin: &str| shell.fed(args, stdin).code.unwrap();
    assert_eq!(code(&[], &CHANGE.replace("two", "no such line")), 1);
    assert_eq!(code(&[], "hello"), 1);
    assert_eq!(code(&[], ""), 2);
    assert_eq!(code(&[], "\n \n"), 2);
    assert_eq!(code(&["."], ""), 2);
    assert_eq!(code(&["/dev/null"], ""), 2);
    assert_eq!(code(&["none.patch"], ""), 2);
    assert_eq!(code(&["--format", "ed"], CHANGE), 2);
    assert_eq!(code(&["--no-such-option"], CHANGE), 2);
    assert_eq!(shell.text("a.txt"), "one\ntwo\n");
    assert_snapshot!(shell.transcript(&[], &CHANGE.replace("two", "no such line")), @"
    1
    -- out
    -- err
    error: nothing was changed: `a.txt` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-2. Lines with `-` are what the patch expects, with `+` what is there
      │      1  one
      │        -no such line
      │      2 +two
    ");
    assert_eq!(code(&[], CHANGE), 0);
    assert_snapshot!(shell.transcript(&[], ""), @"
    2
    -- out
    -- err
    error: there is no patch: the input is empty
    hint: give a file, or a patch on standard input
    ");
    assert_snapshot!(shell.transcript(&["none.patch"], ""), @"
    2
    -- out
    -- err
    error: `none.patch` cannot be read: No such file or directory (os error 2)
    ");
}

#[test]
fn a_link_called_apply_patch_does_the_same() {
    for name in ["apply_patch", "applypatch"] {
        let shell = PatchFixture::new();
        let link = shell.home.path().join(name);
        symlink(env!("CARGO_BIN_EXE_toolgate"), &link).unwrap();
        let ran = Command::new(&link)
            .arg(CHANGE)
            .current_dir(shell.w.path())
            .env_clear()
            .env("HOME", shell.home.path())
            .output()
            .unwrap();
        assert_eq!((ran.status.code(), &*ran.stdout), (Some(0), &b"M a.txt\n"[..]), "{ran:?}");
        assert_eq!(shell.text("a.txt"), "one\n2\n");
    }
}

#[test]
fn a_file_with_several_names_is_changed_only_knowingly() {
    let shell = PatchFixture::new();
    fs::hard_link(shell.w.path().join("a.txt"), shell.w.path().join("b.txt")).unwrap();
    assert_snapshot!(shell.transcript(&[], CHANGE), @"
    1
    -- out
    -- err
    error: nothing was changed: `a.txt` has 2 names (hard links), and the others would keep the old content; `--break-links` changes it under this name alone
    ");
    assert_eq!(shell.transcript(&["--dry-run"], CHANGE), shell.transcript(&[], CHANGE));
    assert_eq!((shell.text("a.txt"), shell.text("b.txt")), ("one\ntwo\n".into(), "one\ntwo\n".into()));
    assert_eq!(shell.fed(&["--break-links"], CHANGE).code, Some(0));
    assert_eq!((shell.text("a.txt"), shell.text("b.txt")), ("one\n2\n".into(), "one\ntwo\n".into()));
    assert_eq!(fs::metadata(shell.w.path().join("b.txt")).unwrap().nlink(), 1);
}

#[test]
fn read_only_file_is_not_changed() {
    let shell = PatchFixture::new();
    let path = shell.w.path().join("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert_snapshot!(shell.transcript(&[], CHANGE), @"
    1
    -- out
    -- err
    error: nothing was changed: `a.txt` is read-only for everybody (mode 0444), so it is not meant to be changed; `chmod u+w` it first if it is
    ");
    assert_eq!(
        (shell.text("a.txt").as_str(), fs::metadata(&path).unwrap().mode() & 0o777),
        ("one\ntwo\n", 0o444)
    );
}

#[test]
fn who_works_below_the_top_of_a_repository_is_told_so() {
    let shell = PatchFixture::new();
    shell.w.write_file(".git/HEAD", "").write_file("d/a.txt", "one\ntwo\n");
    let diff = "--- a/d/a.txt\n+++ b/d/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    assert_snapshot!(shell.transcript(&["-C", "d"], diff), @"
    1
    -- out
    -- err
    error: nothing was changed: `d/a.txt` does not exist; check the path, or add it as a new file
    hint: `d/a.txt` is below `$DIR`, where git names files from; use -C $DIR
    ");
    assert_eq!(shell.fed(&[], diff).code, Some(0));
}

#[test]
fn a_patch_in_another_encoding_is_refused_with_what_to_try() {
    let shell = PatchFixture::new();
    fs::write(shell.w.path().join("latin.diff"), b"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+\xe4\n")
        .unwrap();
    assert_snapshot!(shell.transcript(&["latin.diff"], ""), @"
    2
    -- out
    -- err
    error: the patch is not UTF-8 text
    hint: `git apply` takes other encodings as they are; or convert patch and files to UTF-8
    ");
}

#[test]
fn nothing_outside_is_touched() {
    let shell = PatchFixture::new();
    shell.w.symlink("leaf", shell.w.outside_dir().join("secret.txt")).symlink("dir", shell.w.outside_dir());
    let secret = shell.w.outside_dir().join("secret.txt");
    for path in ["leaf", "dir/secret.txt", "../outside/secret.txt", secret.to_str().unwrap()] {
        let patch = format!("*** Begin Patch\n*** Update File: {path}\n-SECRET\n+x\n*** End Patch\n");
        let ran = shell.fed(&[], &patch);
        assert_eq!(ran.code, Some(1), "{path}: {}", ran.out);
        assert!(!ran.err.contains("SECRET"), "{path}: {}", ran.err);
        assert_eq!(fs::read_to_string(&secret).unwrap(), "SECRET\n");
    }
}

#[test]
fn records_are_private_and_gone_when_it_is_done() {
    let shell = PatchFixture::new();
    shell.fed(&[], CHANGE);
    let records = shell.home.path().join(".local/state/toolgate/edits");
    assert_eq!(fs::metadata(&records).unwrap().mode() & 0o777, 0o700);
    let left = fs::read_dir(&records).unwrap().filter(|entry| {
        let path = entry.as_ref().unwrap().path();
        path.extension().is_some_and(|kind| kind == "json" || kind == "done")
    });
    assert_eq!(left.count(), 0);
    // No temporary file is left beside the files.
    assert_eq!(fs::read_dir(shell.w.path()).unwrap().count(), 1);
}

#[test]
fn colours_are_for_terminals() {
    let shell = PatchFixture::new();
    shell.w.write_file("fix.patch", CHANGE);
    assert!(!shell.fed(&["--dry-run", "fix.patch"], "").out.contains('\u{1b}'));
    let at_terminal = |no_color: &str| {
        let terminal = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keep_working/terminal.py");
        let mut command = Command::new("python3");
        command.arg(terminal).args(["0", env!("CARGO_BIN_EXE_toolgate"), "patch", "--dry-run", "fix.patch"]);
        command.current_dir(shell.w.path()).env("HOME", shell.home.path()).env("TERM", "xterm");
        command.env("NO_COLOR", no_color);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let seen = at_terminal("");
    assert!(seen.contains("\u{1b}[31m-two") && seen.contains("\u{1b}[32m+2"), "{seen:?}");
    assert!(!at_terminal("1").contains('\u{1b}'));
}
