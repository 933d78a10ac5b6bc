//! Tests of content checks for reflogs, references and rerere files, and of the time to compare long reflogs.

use std::time::{Duration, Instant};

use super::support::GitOverlayLab;
use crate::sandbox::git::content_checks::{is_head, is_reference, is_reflog, is_rerere};
use crate::sandbox::git::object_format::ObjectFormat;
use crate::sandbox::git::ref_conflicts::reflog_tail;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

#[test]
fn a_history_is_as_git_writes_it() {
    let fits = |text: &str| is_reflog(text.as_bytes(), ObjectFormat::Sha1);
    for good in [
        String::new(),
        format!("{A} {B} n <a@b> 1 +0000\n"),
        format!("{A} {B} n m o <> 1700000000 -0230\tcommit: x\ty > z\n{B} {A} <x> 0 +0000\t\n"),
        format!("{A} {B} ü < <a b> 1 +051800\tx\r\u{1b}\n"),
    ] {
        assert!(fits(&good), "{good}");
    }
    for bad in [
        "\n".to_owned(),
        "\0".repeat(100),
        "[core]\n\tfsmonitor = x\n".to_owned(),
        format!("{A} {B} n <a@b> 1 +0000"),
        format!("{A} {B} n <a@b> 1 +0000\n\n"),
        format!("{A} {B} n <a@b> 1 +0000\tx\0\n"),
        format!("{A} {B} n a@b 1 +0000\tx\n"),
        format!("{A} {B}\tx\n"),
        format!("{A} {B} n <a@b> x +0000\n"),
        format!("{A} {B} n <a@b> 1 0000\n"),
        format!("{A} {B} n <a@b> 1 +0000 x\n"),
        format!("{A} {} n <a@b> 1 +0000\n", &B[1..]),
        format!("{A}aaaaaaaaaaaaaaaaaaaaaaaa {B}bbbbbbbbbbbbbbbbbbbbbbbb n <a@b> 1 +0000\n"),
        format!("{A} {B} n <a@b> 1 +0000\n[core]\nfsmonitor = x\n"),
    ] {
        assert!(!fits(&bad), "{bad}");
    }
}

#[test]
fn no_git_directory_is_built_from_histories() {
    let lab = GitOverlayLab::with_commit();
    let (before, layer) = (lab.host_git_state(), lab.layer());
    for place in ["logs/refs/heads/x", "modules/x/logs/refs/heads/y", "modules/logs/refs/z"] {
        lab.plant(&format!("{place}/config"), "[core]\n\tfsmonitor = touch ran\n");
        lab.plant(&format!("{place}/hooks/pre-commit"), "#!/bin/sh\ntouch ran\n");
        lab.plant(&format!("{place}/HEAD"), "ref: refs/heads/main\n");
        lab.plant(&format!("{place}/commondir"), "../../../evil\n");
    }
    lab.plant("modules/x/config", "");
    let landed = layer.finish();
    // The empty configuration of a submodule, and two submodules whose names match nothing in them.
    assert!(landed.landed <= 3, "{landed:?}");
    let after = lab.host_git_state();
    let new: Vec<&str> = after.lines().filter(|line| !before.contains(line)).collect();
    for name in ["hooks", "commondir", "fsmonitor"] {
        assert!(!new.iter().any(|line| line.contains(name)), "{new:?}");
    }
    assert_eq!(lab.run_on_host("grep -rl fsmonitor .git --include=config || true"), "");
}

#[test]
fn holes_do_not_land() {
    let lab = GitOverlayLab::with_commit();
    let (before, layer) = (lab.host_git_state(), lab.layer());
    for name in ["logs/refs/heads/x", "COMMIT_EDITMSG", "refs/heads/x"] {
        lab.plant(name, "");
        std::fs::OpenOptions::new().write(true).open(lab.upper.join(name)).unwrap().set_len(1000).unwrap();
    }
    lab.plant("FETCH_HEAD", "");
    std::fs::File::create(lab.upper.join("FETCH_HEAD")).unwrap().set_len((16 << 20) - 1).unwrap();
    assert_eq!(
        layer.finish().kept_back,
        ["COMMIT_EDITMSG", "FETCH_HEAD", "logs/refs/heads/x", "refs/heads/x"]
    );
    std::fs::remove_file(lab.git().join("COMMIT_EDITMSG")).unwrap();
    assert_eq!(
        lab.host_git_state(),
        before
            .lines()
            .filter(|line| !line.contains("EDITMSG"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    );
}

#[test]
fn a_history_of_the_host_may_be_odd() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("(echo odd; cat .git/logs/HEAD) > log; mv log .git/logs/HEAD");
    let landed = lab.run_and_land("git commit -q --allow-empty -m two");
    assert_eq!(landed.kept_back, [""; 0]);
    assert!(lab.run_on_host("cat .git/logs/HEAD").starts_with("odd\n"));
}

#[test]
fn a_long_history_is_looked_at_once() {
    // The last entry matches nearly everywhere, up to its end.
    let host = format!("{}\n", format!("{A} ").repeat(50_000));
    let sandbox = format!("{}x\n", format!("{A} ").repeat(100_000));
    let begun = Instant::now();
    assert_eq!(reflog_tail(host.as_bytes(), sandbox.as_bytes()), None);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn references_lead_to_nothing_that_replaces() {
    assert!(is_reference(b"ref: refs/remotes/origin/main\n") && !is_reference(b"ref: refs/replace/x\n"));
    assert!(!is_reference(b"ref: refs/Replace/x\n") && is_reference(b"ref: refs/heads/replace/x\n"));
    assert!(is_head(b"ref: refs/heads/main\n") && is_head(format!("{A}\n").as_bytes()));
    for bad in ["ref: refs/tags/x\n", "ref: refs/replace/x\n", "ref: refs/stash\n", "x"] {
        assert!(!is_head(bad.as_bytes()), "{bad}");
    }
}

#[test]
fn conflicts_are_solved_in_the_tree_only() {
    let fits = |path: &str| is_rerere(format!("{A}\tgood\0{B}.1\t{path}\0").as_bytes());
    assert!(is_rerere(b"") && fits("a/b"));
    for bad in ["../x", "/etc/passwd", ".git/hooks/pre-commit", ""] {
        assert!(!fits(bad), "{bad}");
    }
    assert!(!is_rerere(b"x") && !is_rerere(format!("{A}\tx").as_bytes()) && !is_rerere(b"\0"));
}
