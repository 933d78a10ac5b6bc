//! Tests of references that the host moved during a run.

use super::overlay::clean;
use super::support::GitOverlayLab;
use crate::sandbox::git::forward::tail;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const C: &str = "cccccccccccccccccccccccccccccccccccccccc";
const D: &str = "dddddddddddddddddddddddddddddddddddddddd";

fn log(steps: &[(&str, &str)]) -> String {
    steps.iter().map(|(old, new)| format!("{old} {new} n <a@b> 1 +0000\tx\n")).collect()
}

#[test]
fn a_history_goes_on_from_the_last_entry() {
    let ends = |host: &str, sandbox: &str| {
        let tail = tail(host.as_bytes(), sandbox.as_bytes())?;
        Some(format!(
            "{} {}",
            &String::from_utf8_lossy(tail.from)[..1],
            &String::from_utf8_lossy(tail.to)[..1]
        ))
    };
    let host = log(&[(A, B), (B, C)]);
    assert_eq!(ends(&host, &log(&[(A, B), (B, C), (C, D)])), Some("c d".to_owned()));
    assert_eq!(ends(&host, &log(&[(B, C), (C, D), (D, A)])), Some("c a".to_owned()), "an end was cut off");
    assert_eq!(ends(&host, &host), Some("c c".to_owned()));
    assert_eq!(ends(&host, &log(&[(A, B), (B, D)])), None, "from what the host had before");
    assert_eq!(ends(&host, &log(&[(A, B), (B, C), (B, D)])), None, "it knew, and moved from elsewhere");
    // The host went back to an earlier state of the sandbox.
    assert_eq!(ends(&log(&[(A, B), (B, A)]), &log(&[(A, B), (B, C)])), None);
    assert_eq!(
        (ends("", &host), ends(&host, ""), ends("x\n", "x\n"), ends(&host, &format!("x{host}"))),
        (None, None, None, Some("c c".to_owned()))
    );
    assert_eq!(ends(&host, &format!("{host}garbage")), None);
}

/// The host commits `outside`, then the sandbox, which has not read the repository before, runs `inside`.
fn both(lab: &GitOverlayLab, outside: &str, inside: &str) -> crate::sandbox::git::LandedChanges {
    let layer = lab.layer();
    let mut running = lab.begin(&format!("pause\n{inside}"));
    lab.host(outside);
    running.next();
    running.end();
    layer.finish()
}

const OUTSIDE: &str = "echo o > outside; git add outside; git commit -qm outside";
const INSIDE: &str = "echo i > inside; git add inside; git commit -qm inside";

#[test]
fn a_commit_on_top_of_the_hosts_lands() {
    for outside in [
        OUTSIDE,
        &format!("{OUTSIDE}; git pack-refs --all"),
        &format!("{OUTSIDE}; git commit -q --amend -m outside --date=2001-01-01"),
    ] {
        let lab = GitOverlayLab::with_commit();
        clean(&both(&lab, outside, INSIDE));
        assert_eq!(
            lab.host("git log --format=%s; git status --porcelain"),
            "inside\noutside\none\n",
            "{outside}"
        );
        let reflog = lab.host("git reflog --format=%gs");
        assert_eq!(reflog, lab.host("git reflog main --format=%gs"));
        assert!(reflog.starts_with("commit: inside\ncommit"), "{reflog}");
        assert_eq!(lab.left(), [""; 0]);
        lab.check();
    }
}

#[test]
fn what_the_host_has_staged_stays() {
    let lab = GitOverlayLab::with_commit();
    let layer = lab.layer();
    let running = lab.begin(INSIDE);
    lab.host("echo s > staged; git add staged");
    running.end();
    let landed = layer.finish();
    assert_eq!((landed.conflicts, landed.faults), (vec!["index".to_owned()], vec![]));
    assert_eq!(lab.host("git diff --cached --name-status"), "D\tinside\nA\tstaged\n");
    assert_eq!(lab.host("git log --format=%s"), "inside\none\n");
}

#[test]
fn two_runs_from_one_base_are_told() {
    for pack in ["true", "git pack-refs --all"] {
        let lab = GitOverlayLab::with_commit();
        let layer = lab.layer();
        let running = lab.begin(INSIDE);
        let id = std::fs::read_to_string(lab.upper.join("refs/heads/main")).unwrap().trim().to_owned();
        lab.host(&format!("{OUTSIDE}; {pack}"));
        running.end();
        let landed = layer.finish();
        let told = format!("refs/heads/main (in the sandbox: {id}; git merge {id} brings it in)");
        assert_eq!((landed.conflicts, landed.faults), (vec!["index".to_owned(), told], vec![]));
        assert_eq!(
            lab.host("git log --format=%s; git reflog --format=%gs"),
            "outside\none\ncommit: outside\ncommit (initial): one\n"
        );
        lab.host(&format!("rm inside; git merge -q --no-edit {id}; git fsck"));
        assert_eq!(lab.host("cat inside outside; git status --porcelain"), "i\no\n");
    }
}

#[test]
fn a_reset_on_the_host_is_not_undone() {
    let lab = GitOverlayLab::with_commit();
    lab.host("echo 2 > f; git commit -qam two; echo 3 > f; git commit -qam three");
    let layer = lab.layer();
    let running = lab.begin(INSIDE);
    lab.host("git reset -q --hard HEAD~1");
    running.end();
    assert_eq!(layer.finish().conflicts.len(), 2);
    assert_eq!(lab.host("git log --format=%s"), "two\none\n");
}
