//! Tests of `toolgate patch` with git: it applies `git diff`, and `git apply` accepts the output of a dry run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::PatchFixture;

/// Runs git without the user's identity or configuration.
fn git(directory: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .args(["-c", "user.name=me", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false"])
        .args(args)
        .current_dir(directory)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .output()
        .unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Creates a repository without changes since its first commit.
fn repository() -> PatchFixture {
    let shell = PatchFixture::new();
    shell
        .w
        .write_file(
            "src/lib.rs",
            "fn one() {}\n\nfn two() {}\n\nfn three() {}\n\nfn four() {}\n\nfn five() {}\n",
        )
        .write_file("run.sh", "#!/bin/sh\n")
        .write_file("old name.txt", "a\nb\nc\nd\ne\nf\n")
        .write_file("gone.txt", "x\n")
        .write_file("open.txt", "no newline")
        .write_file("closed.txt", "newline\n")
        .write_file("crlf.txt", "one\r\ntwo\r\nthree\r\n")
        .write_file("umlaut-ä.txt", "ä\n");
    let directory = shell.w.path();
    git(&directory, &["init", "-q", "-b", "main", "."]);
    git(&directory, &["add", "-A"]);
    git(&directory, &["commit", "-q", "-m", "first"]);
    shell
}

/// Makes changes of every kind.
fn change(shell: &PatchFixture) {
    let at = |name: &str| shell.w.path().join(name);
    shell
        .w
        .write_file(
            "src/lib.rs",
            "fn one() {}\n\nfn two() { 2 }\n\nfn three() {}\n\nfn four() {}\n\nfn five() { 5 }\n",
        )
        .write_file("new/deep/n.txt", "n\n")
        .write_file("empty.txt", "")
        .write_file("open.txt", "newline now\n")
        .write_file("closed.txt", "no newline now")
        .write_file("crlf.txt", "one\r\n2\r\nthree\r\n")
        .write_file("umlaut-ä.txt", "Ä\n");
    fs::set_permissions(at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(at("old name.txt"), at("new name.txt")).unwrap();
    fs::write(at("new name.txt"), "a\nb\nC\nd\ne\nf\n").unwrap();
    fs::remove_file(at("gone.txt")).unwrap();
}

/// Returns git's view of all files: names, modes and contents.
fn tree(shell: &PatchFixture) -> String {
    let directory = shell.w.path();
    git(&directory, &["add", "-A"]);
    git(&directory, &["write-tree"])
}

fn reset(shell: &PatchFixture) {
    let directory = shell.w.path();
    git(&directory, &["reset", "-q", "--hard"]);
    git(&directory, &["clean", "-qfdx"]);
}

#[test]
fn what_git_diff_writes_is_applied() {
    for options in
        [&[][..], &["--no-renames"], &["-U0"], &["-U10"], &["--no-prefix"], &["-C", "--find-copies-harder"]]
    {
        let shell = repository();
        let first = tree(&shell);
        change(&shell);
        let wanted = tree(&shell);
        let diff = git(&shell.w.path(), &[&["diff", "--cached"], options].concat());
        reset(&shell);
        let ran = shell.fed(&[], &diff);
        assert_eq!(ran.code, Some(0), "{options:?}: {}{}\n{diff}", ran.out, ran.err);
        assert_eq!(tree(&shell), wanted, "{options:?}\n{diff}");
        // Applied again, it is recognised as present; reversed, it restores the files.
        let again = shell.fed(&[], &diff);
        assert_eq!(again.code, Some(0), "{options:?} again: {}{}", again.out, again.err);
        assert_eq!(tree(&shell), wanted, "{options:?} again");
        let back = git(&shell.w.path(), &[&["diff", "--cached", "-R"], options].concat());
        let ran = shell.fed(&[], &back);
        assert_eq!(ran.code, Some(0), "{options:?} back: {}{}\n{back}", ran.out, ran.err);
        assert_eq!(tree(&shell), first, "{options:?} back");
    }
}

#[test]
fn what_a_dry_run_writes_git_applies() {
    let shell = repository();
    change(&shell);
    let wanted = tree(&shell);
    let diff = git(&shell.w.path(), &["diff", "--cached"]);
    reset(&shell);
    let ran = shell.fed(&["--dry-run"], &diff);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    assert_eq!(git(&shell.w.path(), &["status", "--porcelain"]), "");
    fs::write(shell.w.outside_dir().join("dry.diff"), &ran.out).unwrap();
    git(&shell.w.path(), &["apply", "../outside/dry.diff"]);
    assert_eq!(tree(&shell), wanted, "{}", ran.out);
}

#[test]
fn a_mail_of_git_format_patch_is_applied() {
    let shell = repository();
    change(&shell);
    let wanted = tree(&shell);
    git(
        &shell.w.path(),
        &[
            "commit",
            "-q",
            "-m",
            "second: --- a/x is no file\n\nNor is\n--- a/x\n+++ b/x\n\n@@ this\nBinary files a/x and b/x differ",
        ],
    );
    let mail = git(&shell.w.path(), &["format-patch", "-1", "--stdout"]);
    git(&shell.w.path(), &["reset", "-q", "--hard", "HEAD~1"]);
    let ran = shell.fed(&[], &mail);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(tree(&shell), wanted);
}

#[test]
fn wrong_numbers_are_no_obstacle() {
    let shell = repository();
    change(&shell);
    let wanted = tree(&shell);
    let diff = git(&shell.w.path(), &["diff", "--cached"]);
    reset(&shell);
    let wrong: String = diff
        .lines()
        .map(|line| match line.strip_prefix("@@ -") {
            Some(_) if !line.contains("-0,0") && !line.contains("+0,0") => {
                "@@ -900,70 +901,3 @@\n".to_owned()
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let ran = shell.fed(&[], &wrong);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(tree(&shell), wanted);
}
