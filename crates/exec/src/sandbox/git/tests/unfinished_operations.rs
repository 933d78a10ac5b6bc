//! Tests of operations such as a rebase: a finished one lands, and an unfinished one leaves the host's state alone.

use super::overlay::{CLASH, assert_all_landed};
use super::support::GitOverlayLab;
use crate::sandbox::git::LandedChanges;

/// Two commits on each of two branches, of which the first conflict.
const LONG: &str = "git checkout -q -b side && echo s > f && git commit -qam side && git checkout -q main \
    && echo m > f && git commit -qam main2 && echo 3 > g && git add g && git commit -qm main3";
/// Prints the state of the repository without its objects and its working tree.
const SEEN: &str = "export GIT_OPTIONAL_LOCKS=0; cat .git/HEAD; git for-each-ref; git reflog; git reflog main; git ls-files -s; \
    ls -A .git; cat .git/rebase-merge/* 2>/dev/null || true";
const SOLVED: &str = "echo both > f; git add f; ";

/// Asserts that nothing was reported but an unfinished operation in `dir`.
fn assert_unfinished(landed: &LandedChanges, operation: &str, dir: &str) {
    let expected = format!(
        "a {operation} ({dir}). HEAD, index and branch are as before the command, the working tree is not. \
        Finish it in one command, or run it outside the sandbox"
    );
    assert_eq!(landed.unfinished, [expected]);
    assert_eq!((&landed.kept_back, &landed.conflicts, &landed.faults), (&vec![], &vec![], &vec![]));
}

/// Runs `script`, which stops halfway, and asserts that host and next run see the state from before.
fn leaves_unfinished(lab: &GitOverlayLab, script: &str, operation: &str, dir: &str) {
    let (before, layer) = (lab.run_on_host(SEEN), lab.layer());
    lab.run_inside(&format!("{script} && exit 1 || true; test -d .git/{dir}"));
    assert_unfinished(&layer.finish(), operation, dir);
    assert_eq!(lab.run_on_host(SEEN), before, "{script}");
    assert_eq!(lab.run_inside(SEEN), before, "{script}");
    assert_eq!(lab.leftover_files(), [""; 0], "{script}");
    lab.assert_repository_sound();
}

const REBASES: &[&str] = &[
    "git rebase -q side",
    "git rebase -q --rebase-merges --update-refs side",
    "git rebase -q -i --signoff --committer-date-is-author-date side",
    "git rebase -s ort -X patience side",
    "git rebase -q -x 'touch ran' side",
];

#[test]
fn an_unfinished_rebase_does_not_land() {
    for rebase in REBASES {
        let lab = GitOverlayLab::with_commit();
        lab.run_on_host(LONG);
        leaves_unfinished(&lab, rebase, "rebase", "rebase-merge");
        // It can be started again, and finished outside.
        lab.run_on_host(&format!("git checkout -qf; {rebase} || true; {SOLVED} git rebase --continue"));
        assert_eq!(lab.run_on_host("git log --format=%s"), "main3\nmain2\nside\none\n");
    }
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(LONG);
    leaves_unfinished(&lab, "git rebase --apply side", "rebase or git am", "rebase-apply");
}

#[test]
fn unfinished_picks_and_patches_do_not_land() {
    let pick = "cherry-pick or revert";
    for (script, operation, dir) in [
        // The first commit is picked: the branch moves in the sandbox.
        ("git cherry-pick main main~1", pick, "sequencer"),
        ("git pack-refs --all; git cherry-pick main main~1", pick, "sequencer"),
        ("git revert --no-edit side main", pick, "sequencer"),
        ("git format-patch -2 --stdout main > ../p; git am ../p", "rebase or git am", "rebase-apply"),
    ] {
        let lab = GitOverlayLab::with_commit();
        lab.run_on_host(&format!("{LONG}; git checkout -q side"));
        leaves_unfinished(&lab, script, operation, dir);
    }
}

#[test]
fn an_operation_that_is_finished_in_one_command_lands() {
    let (done, before) = ("main3\nmain2\nside\none\n", "main3\nmain2\none\n");
    let mut cases = Vec::new();
    for rebase in REBASES {
        cases.push((format!("{rebase} || true; {SOLVED} git rebase --continue; rm -f ran"), done));
        cases.push((format!("{rebase} || true; git rebase --abort; git branch new"), before));
    }
    for (script, subjects) in [
        ("git rebase side || true; git rebase --skip", "main3\nside\none\n"),
        (
            "git checkout -q side; git cherry-pick main~1 main || true; echo both > f; git add f; git cherry-pick --continue",
            done,
        ),
        (
            "git checkout -q side; git format-patch -2 --stdout main > ../p; git am -3 ../p || true; git am --skip",
            "main3\nside\none\n",
        ),
    ] {
        cases.push((script.to_owned(), subjects));
    }
    for (script, subjects) in cases {
        let lab = GitOverlayLab::with_commit();
        lab.run_on_host(LONG);
        assert_all_landed(&lab.run_and_land(&script));
        assert_eq!(lab.leftover_files(), [""; 0], "{script}");
        assert_eq!(lab.run_on_host("git log --format=%s"), subjects, "{script}");
    }
}

#[test]
fn work_beside_an_unfinished_operation_lands() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(LONG);
    let layer = lab.layer();
    lab.run_inside("git branch new side; git rebase -q side || true");
    assert_unfinished(&layer.finish(), "rebase", "rebase-merge");
    assert_eq!(lab.run_on_host("git log -1 --format=%s new"), "side\n");
}

#[test]
fn an_autostash_of_an_unfinished_rebase_is_named() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(&format!("{LONG}; echo dirty > g"));
    let layer = lab.layer();
    lab.run_inside("git rebase -q --autostash side || true");
    let landed = layer.finish();
    let (_, rest) = landed.unfinished[0].split_once("uncommitted changes: ").unwrap();
    let (restore, _) = rest.split_once(" restores").unwrap();
    lab.run_on_host(&format!("git reset -q --hard; {restore}"));
    assert_eq!(lab.run_on_host("cat g; git log -1 --format=%s"), "dirty\nmain3\n");
}

/// A repository whose user stopped in a rebase of three commits, of which the first two conflict.
fn user_in_a_rebase() -> GitOverlayLab {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(&format!(
        "{CLASH}; echo m3 > f; git commit -qam main3; echo 4 > g; git add g; git commit -qm g; git rebase -q side || true"
    ));
    lab
}

#[test]
fn a_rebase_of_the_user_can_be_finished_or_given_up() {
    let next = "echo m3 > f; git add f; git rebase --continue";
    for (script, subjects) in [
        (format!("{SOLVED} git rebase --continue || true; {next}"), "g\nmain3\nmain2\nside\none\n"),
        ("git rebase --skip || true; git rebase --skip".to_owned(), "g\nside\none\n"),
        ("git rebase --abort".to_owned(), "g\nmain3\nmain2\none\n"),
    ] {
        let lab = user_in_a_rebase();
        assert_all_landed(&lab.run_and_land(&script));
        assert_eq!(lab.run_on_host("git log --format=%s; ls -d .git/rebase-merge || true"), subjects);
        assert_eq!(lab.leftover_files(), [""; 0]);
    }
}

#[test]
fn a_rebase_of_the_user_stays_at_its_stop() {
    let lab = user_in_a_rebase();
    // Staging is no step of the rebase.
    assert_all_landed(&lab.run_and_land(SOLVED));
    let continued = "GIT_EDITOR=true git rebase --continue";
    leaves_unfinished(&lab, continued, "rebase", "rebase-merge");
    leaves_unfinished(&lab, "git rebase --edit-todo; false", "rebase", "rebase-merge");
    leaves_unfinished(&lab, "git rebase --abort; git rebase --signoff side", "rebase", "rebase-merge");
    leaves_unfinished(&lab, "rm .git/rebase-merge/done; false", "rebase", "rebase-merge");
    leaves_unfinished(
        &lab,
        "rm -r .git/rebase-merge; mkdir .git/rebase-merge; false",
        "rebase",
        "rebase-merge",
    );
    lab.run_on_host(&format!("git checkout -q f; {continued} || true; echo m3 > f; git add f; {continued}"));
    assert_eq!(
        lab.run_on_host("git log --format=%s; git status --porcelain"),
        "g\nmain3\nmain2\nside\none\n"
    );
}

#[test]
fn an_operation_that_the_host_goes_on_with_stays_the_hosts() {
    for host in ["git rebase --abort", "git rebase --skip", "git rebase --abort; git cherry-pick side~1 side"]
    {
        let lab = user_in_a_rebase();
        let layer = lab.layer();
        let running = lab.begin_paused(&format!("{SOLVED} git rebase --continue || true"));
        lab.run_on_host(&format!("git checkout -qf HEAD -- f; {host} || true"));
        let before = lab.run_on_host(SEEN);
        running.continue_to_end();
        assert_unfinished(&layer.finish(), "rebase", "rebase-merge");
        assert_eq!((lab.run_on_host(SEEN), lab.leftover_files()), (before.clone(), vec![]), "{host}");
        assert_eq!(lab.run_inside(SEEN), before, "{host}");
    }
}

#[test]
fn an_operation_may_go_on_after_a_yield() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(LONG);
    let (before, mut layer) = (lab.run_on_host(SEEN), lab.layer());
    let mut running =
        lab.begin_paused(&format!("git rebase -q side || true\npause\n{SOLVED} git rebase --continue"));
    assert_eq!(layer.land().unfinished, [""; 0]);
    assert_eq!(lab.run_on_host(SEEN), before);
    running.continue_to_pause();
    assert_all_landed(&layer.land());
    running.continue_to_end();
    assert_eq!(layer.finish(), LandedChanges::default());
    assert_eq!(lab.leftover_files(), [""; 0]);
    assert_eq!(lab.run_on_host("git log --format=%s; git status --porcelain"), "main3\nmain2\nside\none\n");
}

#[test]
fn linked_worktrees_stay_usable() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(&format!("{LONG}; git checkout -q side; git worktree add -q wt main"));
    let seen = "export GIT_OPTIONAL_LOCKS=0; cd wt; git status; git reflog; git ls-files -s";
    let (before, layer) = (lab.run_on_host(seen).replace("modified:   f\n", ""), lab.layer());
    lab.run_inside("cd wt; git rebase -q side || true");
    assert_unfinished(&layer.finish(), "rebase", "worktrees/wt/rebase-merge");
    lab.run_on_host("git -C wt checkout -qf");
    assert_eq!(lab.run_on_host(seen), before);
    // A new worktree needs HEAD and index. It gets them, without the rebase.
    let layer = lab.layer();
    lab.run_inside("git worktree add -q new -b new main; cd new; git rebase -q side || true");
    let landed = layer.finish();
    assert_eq!(
        landed.unfinished,
        ["a rebase (worktrees/new/rebase-merge). Finish it in one command, or run it outside the sandbox"]
    );
    assert_eq!(
        lab.run_on_host("cd new; git log --format=%s; git log --format=%s new"),
        "side\none\nmain3\nmain2\none\n"
    );
    lab.assert_repository_sound();
}

/// The files of an operation are commands for git: none lands, whatever it contains.
#[test]
fn planted_operations_do_not_land() {
    let lab = GitOverlayLab::with_commit();
    let before = lab.host_git_state();
    for dir in ["rebase-merge", "rebase-apply", "sequencer"] {
        let layer = lab.layer();
        lab.run_on_host(&format!(
            "mkdir -p ../upper/{dir}/sub; cd ../upper/{dir}; ln -s /etc/passwd link; ln -s /etc sub/etc; mkfifo pipe"
        ));
        lab.plant(&format!("{dir}/git-rebase-todo"), "exec touch ran\n");
        lab.plant(&format!("{dir}/sub/todo"), "exec touch ran\n");
        lab.plant("HEAD", lab.id());
        lab.plant("MERGE_MSG", "x");
        let landed = layer.finish();
        assert_eq!((landed.landed, landed.unfinished.len()), (0, 1), "{landed:?}");
        assert_eq!((lab.host_git_state(), lab.leftover_files()), (before.clone(), vec![]), "{dir}");
    }
}
