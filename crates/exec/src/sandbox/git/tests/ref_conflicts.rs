//! Tests of references that the host moved during a run: which commits land on top of them, and which conflicts are
//! reported.

use super::overlay::assert_all_landed;
use super::support::GitOverlayLab;
use crate::sandbox::git::ref_conflicts::reflog_tail;

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
        let tail = reflog_tail(host.as_bytes(), sandbox.as_bytes())?;
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
    let mut running = lab.begin_paused(&format!("pause\n{inside}"));
    lab.run_on_host(outside);
    running.continue_to_pause();
    running.continue_to_end();
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
        assert_all_landed(&both(&lab, outside, INSIDE));
        assert_eq!(
            lab.run_on_host("git log --format=%s; git status --porcelain"),
            "inside\noutside\none\n",
            "{outside}"
        );
        let reflog = lab.run_on_host("git reflog --format=%gs");
        assert_eq!(reflog, lab.run_on_host("git reflog main --format=%gs"));
        assert!(reflog.starts_with("commit: inside\ncommit"), "{reflog}");
        assert_eq!(lab.leftover_files(), [""; 0]);
        lab.assert_repository_sound();
    }
}

#[test]
fn what_the_host_has_staged_stays() {
    let lab = GitOverlayLab::with_commit();
    let layer = lab.layer();
    let running = lab.begin_paused(INSIDE);
    lab.run_on_host("echo s > staged; git add staged");
    running.continue_to_end();
    let landed = layer.finish();
    assert_eq!((landed.conflicts, landed.faults), (vec!["index".to_owned()], vec![]));
    assert_eq!(lab.run_on_host("git diff --cached --name-status"), "D\tinside\nA\tstaged\n");
    assert_eq!(lab.run_on_host("git log --format=%s"), "inside\none\n");
}

#[test]
fn two_runs_from_one_base_are_told() {
    for pack in ["true", "git pack-refs --all"] {
        let lab = GitOverlayLab::with_commit();
        let layer = lab.layer();
        let running = lab.begin_paused(INSIDE);
        let id = std::fs::read_to_string(lab.upper.join("refs/heads/main")).unwrap().trim().to_owned();
        lab.run_on_host(&format!("{OUTSIDE}; {pack}"));
        running.continue_to_end();
        let landed = layer.finish();
        let told = format!("refs/heads/main (in the sandbox: {id}; git merge {id} brings it in)");
        assert_eq!((landed.conflicts, landed.faults), (vec!["index".to_owned(), told], vec![]));
        assert_eq!(
            lab.run_on_host("git log --format=%s; git reflog --format=%gs"),
            "outside\none\ncommit: outside\ncommit (initial): one\n"
        );
        lab.run_on_host(&format!("rm inside; git merge -q --no-edit {id}; git fsck"));
        assert_eq!(lab.run_on_host("cat inside outside; git status --porcelain"), "i\no\n");
    }
}

#[test]
fn a_reset_on_the_host_is_not_undone() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("echo 2 > f; git commit -qam two; echo 3 > f; git commit -qam three");
    let layer = lab.layer();
    let running = lab.begin_paused(INSIDE);
    lab.run_on_host("git reset -q --hard HEAD~1");
    running.continue_to_end();
    assert_eq!(layer.finish().conflicts.len(), 2);
    assert_eq!(lab.run_on_host("git log --format=%s"), "two\none\n");
}
