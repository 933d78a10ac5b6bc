//! Tests of operations that stop halfway in the sandbox: the host continues them, or does not see them.

use super::overlay::{CLASH, assert_all_landed};
use super::support::GitOverlayLab;
use crate::sandbox::git::LandedChanges;

/// Two commits on each of two branches, of which the first conflict.
const LONG: &str = "git checkout -q -b side && echo s > f && git commit -qam side && git checkout -q main \
    && echo m > f && git commit -qam main2 && echo 3 > g && git add g && git commit -qm main3";
const STATES: &str = "ls .git | grep -E 'rebase-|sequencer' || true";

fn held(landed: &LandedChanges, why: &str) {
    let expected =
        format!("an operation is in progress that cannot land ({why}); it goes on in the sandbox only");
    assert_eq!(landed.faults, [expected], "{landed:?}");
    assert_eq!((&landed.kept_back, &landed.conflicts), (&vec![], &vec![]));
}

/// `script` stops in the sandbox. Then `next` continues it on the host, in the sandbox, and in the next run.
fn stops_and_lands(script: &str, next: &str, subjects: &str) {
    for by_host in [true, false] {
        let lab = GitOverlayLab::with_commit();
        lab.run_on_host(LONG);
        assert_all_landed(&lab.run_and_land(&format!("{script} && exit 1 || true; git status | head -9")));
        assert_ne!(lab.run_on_host(STATES), "", "{script}");
        assert_eq!(lab.leftover_files(), [""; 0], "{script}");
        let status = lab.run_on_host("git status");
        assert_eq!(lab.run_inside("GIT_OPTIONAL_LOCKS=0 git status"), status);
        if by_host {
            lab.run_on_host(next);
        } else {
            assert_all_landed(&lab.run_and_land(next));
            assert_eq!(lab.leftover_files(), [""; 0], "{script}: {next}");
        }
        assert_eq!(lab.run_on_host(STATES), "", "{script}: {next}");
        assert_eq!(lab.run_on_host("git log --format=%s"), subjects, "{script}: {next}");
        assert_eq!(
            lab.run_inside("export GIT_OPTIONAL_LOCKS=0; git log --format=%s; git status"),
            lab.run_on_host("git log --format=%s; git status")
        );
        assert_eq!(
            lab.run_on_host("git status --porcelain -uno; cat .git/HEAD | cut -c-16"),
            "ref: refs/heads/\n"
        );
        lab.assert_repository_sound();
    }
}

const SOLVED: &str = "echo both > f; git add f; ";

#[test]
fn a_rebase_that_stopped_goes_on_anywhere() {
    let done = "main3\nmain2\nside\none\n";
    let before = "main3\nmain2\none\n";
    for rebase in [
        "git rebase -q side",
        "git rebase --apply side",
        "git rebase -q --rebase-merges --update-refs side",
        "git rebase -q -i --signoff --committer-date-is-author-date side",
        "git rebase -s ort -X patience side",
        "git rebase --autosquash --empty=keep -v side",
        "git -c commit.gpgsign=false rebase --no-gpg-sign --root --onto side",
    ] {
        let done = if rebase.contains("--root") { "main3\nmain2\none\nside\none\n" } else { done };
        if !rebase.contains("--root") {
            stops_and_lands(rebase, &format!("{SOLVED} git rebase --continue"), done);
        }
        stops_and_lands(rebase, "git rebase --abort", before);
    }
    stops_and_lands("git rebase side", "git rebase --skip", "main3\nside\none\n");
    stops_and_lands(
        "GIT_SEQUENCE_EDITOR=\"sed -i '1ibreak'\" git rebase -i side; false",
        "git rebase --abort",
        before,
    );
    let edit = "GIT_SEQUENCE_EDITOR=\"sed -i 's/^pick/edit/'\" git rebase -i HEAD~2; false";
    stops_and_lands(edit, "git rebase --continue; git rebase --continue", before);
}

#[test]
fn picks_and_patches_that_stopped_go_on_anywhere() {
    let pick = "git checkout -q side; git cherry-pick main~1 main";
    let picked = "main3\nmain2\nside\none\n";
    stops_and_lands(pick, &format!("{SOLVED} git cherry-pick --continue"), picked);
    stops_and_lands(pick, "git cherry-pick --abort", "side\none\n");
    stops_and_lands(
        &format!("{pick} -x -X patience --strategy=ort --signoff"),
        "git cherry-pick --skip",
        "main3\nside\none\n",
    );
    let am = "git checkout -q side; git format-patch -2 --stdout main > ../p; git am ../p";
    stops_and_lands(am, &format!("{SOLVED} git am --continue"), picked);
    stops_and_lands(&format!("{am} -3"), "git am --skip", "main3\nside\none\n");
    stops_and_lands(am, "git am --abort", "side\none\n");
    stops_and_lands("git revert --no-edit HEAD~2 HEAD", "git revert --abort", "main3\nmain2\none\n");
}

#[test]
fn a_rebase_goes_on_from_stop_to_stop() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(&format!("{CLASH}; echo m3 > f; git commit -qam main3"));
    assert_all_landed(&lab.run_and_land("git rebase -q side || true"));
    assert_all_landed(&lab.run_and_land(&format!("{SOLVED} git rebase --continue || true")));
    assert_eq!(
        (lab.leftover_files(), lab.run_on_host("cat .git/rebase-merge/msgnum")),
        (vec![], "2\n".to_owned())
    );
    lab.run_on_host("echo m3 > f; git add f; git rebase --continue");
    assert_eq!(lab.run_inside("git log --format=%s; git status --porcelain"), "main3\nmain2\nside\none\n");
}

#[test]
fn leftovers_of_another_operation_are_removed() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(&format!("{LONG}; git rebase -q --signoff side || true"));
    assert!(lab.git().join("rebase-merge/signoff").exists());
    assert_all_landed(&lab.run_and_land("git rebase --abort; git rebase -q side || true"));
    assert!(!lab.git().join("rebase-merge/signoff").exists() && lab.git().join("rebase-merge/done").exists());
    assert_eq!(lab.leftover_files(), [""; 0]);
    lab.run_on_host(&format!("{SOLVED} git rebase --continue"));
    assert_eq!(lab.run_on_host("git log --format=%B | grep Signed || true"), "");
}

#[test]
fn a_squash_and_a_stash_go_on_too() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(&format!(
        "{CLASH}; git branch mid; echo m3 > f; git commit -qam main3; echo 4 > g; git add g; git commit -qm g"
    ));
    let squash = "GIT_SEQUENCE_EDITOR=\"sed -i '/main3/s/^pick/squash/'\" git rebase -i --update-refs --autostash side";
    assert_all_landed(&lab.run_and_land(&format!("echo dirty > g; {squash} || true")));
    assert_all_landed(&lab.run_and_land(&format!("{SOLVED} git rebase --continue || true")));
    let files = lab.run_on_host("ls .git/rebase-merge");
    for name in ["autostash", "current-fixups", "message-squash", "update-refs"] {
        assert!(files.contains(name), "{name} in {files}");
    }
    lab.run_on_host("echo m3 > f; git add f; git rebase --continue");
    assert_eq!(lab.run_on_host("git log --format=%s; cat g; git stash list"), "g\nmain2\nside\none\ndirty\n");
    assert_eq!(lab.run_on_host("git log -1 --format=%s mid"), "main2\n");
}

#[test]
fn operations_land_in_a_linked_worktree() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(LONG);
    assert_all_landed(&lab.run_and_land(
        "git checkout -q side; git worktree add -q wt main; cd wt; git rebase -q side || true",
    ));
    assert_eq!(lab.leftover_files(), [""; 0]);
    lab.run_on_host("cd wt; echo both > f; git add f; git rebase --continue");
    assert_eq!(lab.run_on_host("git log --format=%s main"), "main3\nmain2\nside\none\n");
}

const SEEN: &str =
    "git symbolic-ref HEAD; git reflog; git reflog main; git ls-files -s; git rev-parse main; ls .git";

#[test]
fn what_runs_commands_goes_on_in_the_sandbox_only() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(LONG);
    let (before, layer) = (lab.run_on_host(SEEN), lab.layer());
    let inside = lab
        .run_inside("git branch new; git rebase -q -x 'touch ran' side >&2 || true; git status; git reflog");
    held(&layer.finish(), "rebase-merge/git-rebase-todo holds `exec`");
    assert_eq!(lab.run_on_host(SEEN), before);
    lab.run_on_host("git rev-parse new");
    assert_eq!(lab.run_inside("export GIT_OPTIONAL_LOCKS=0; git status; git reflog"), inside, "it goes on");
    // An unrelated run does not report it.
    let layer = lab.layer();
    lab.run_inside("git branch newer");
    assert_all_landed(&layer.finish());
    assert_eq!(lab.run_on_host(SEEN), before);
    assert_all_landed(&lab.run_and_land(&format!("{SOLVED} git rebase --continue; rm ran")));
    assert_eq!(
        (lab.leftover_files(), lab.run_on_host("git log --format=%s")),
        (vec![], "main3\nmain2\nside\none\n".to_owned())
    );
}

#[test]
fn two_operations_land_together_or_not_at_all() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(LONG);
    let (before, layer) = (lab.run_on_host(SEEN), lab.layer());
    lab.run_inside("git rebase -q side || true; mkdir .git/sequencer; echo x y > .git/sequencer/todo; git rev-parse HEAD > .git/sequencer/head");
    held(&layer.finish(), "sequencer/todo holds `exec`");
    assert_eq!(lab.run_on_host(SEEN), before);
    assert_all_landed(&lab.run_and_land("rm -r .git/sequencer"));
    assert_eq!((lab.leftover_files(), lab.run_on_host(STATES)), (vec![], "rebase-merge\n".to_owned()));
}

#[test]
fn a_branch_does_not_move_without_its_index() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(&format!("{LONG}; git checkout -q side"));
    let (before, layer) = (lab.run_on_host(SEEN), lab.layer());
    // The first is picked, the second is not. Then a line is added that git does not write.
    lab.run_inside("git cherry-pick main main~1 || true; git pack-refs --all; echo 'exec touch ran' >> .git/sequencer/todo");
    held(&layer.finish(), "sequencer/todo holds `exec`");
    assert_eq!(lab.run_on_host(SEEN).replace("packed-refs\n", ""), before);
    lab.assert_repository_sound();
    assert_all_landed(&lab.run_and_land("git cherry-pick --quit; git reset -q --hard"));
    assert_eq!(
        (lab.leftover_files(), lab.run_on_host("git log --format=%s")),
        (vec![], "main3\nside\none\n".to_owned())
    );
}

#[test]
fn operation_continued_by_the_host_stays_the_hosts() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(&format!("{LONG}; git rebase -q side || true"));
    for (host, end) in
        [("git rebase --abort", "main3\nmain2\none\n"), ("git rebase --skip", "main3\nside\none\n")]
    {
        let layer = lab.layer();
        let running = lab.begin_paused(
            "GIT_SEQUENCE_EDITOR=\"sed -i '1ibreak'\" git rebase --edit-todo; echo b > f; git add f",
        );
        lab.run_on_host(&format!("git checkout -q -f HEAD -- f; {host}"));
        running.continue_to_end();
        let landed = layer.finish();
        assert!(landed.conflicts.contains(&"rebase-merge".to_owned()), "{landed:?}");
        assert_eq!((&landed.faults, lab.leftover_files()), (&vec![], vec![]));
        assert_eq!(lab.run_on_host(&format!("{STATES}; git log --format=%s main")), end);
        assert_eq!(
            lab.run_inside("export GIT_OPTIONAL_LOCKS=0; git status; git log"),
            lab.run_on_host("git status; git log")
        );
        lab.run_on_host("git checkout -q -f main; git rebase -q side || true");
        if !end.contains("side") {
            assert_eq!(lab.run_on_host(STATES), "rebase-merge\n");
        }
    }
}

#[test]
fn operation_begun_on_both_sides_stays_the_hosts() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(LONG);
    let layer = lab.layer();
    let running = lab.begin_paused("git rebase -q side || true");
    lab.run_on_host("git checkout -q -f side; git cherry-pick main~1 main || true");
    let before = lab.run_on_host("git status");
    running.continue_to_end();
    let landed = layer.finish();
    assert!(landed.conflicts.contains(&"rebase-merge".to_owned()), "{landed:?}");
    assert_eq!((lab.leftover_files(), lab.run_on_host("git status")), (vec![], before));
    lab.run_on_host("git cherry-pick --abort");
    assert_eq!(lab.run_on_host(STATES), "");
}

#[test]
fn operation_lands_on_yield_and_is_removed_when_it_ends() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(LONG);
    let mut layer = lab.layer();
    let mut running =
        lab.begin_paused(&format!("git rebase -q side || true\npause\n{SOLVED} git rebase --continue"));
    assert_all_landed(&layer.land());
    assert_eq!(
        lab.run_on_host(&format!("{STATES}; git status | head -1")),
        "rebase-merge\ninteractive rebase in progress; onto ".to_owned()
            + &lab.run_on_host("git rev-parse --short side")
    );
    assert_eq!(layer.land(), LandedChanges::default());
    running.continue_to_pause();
    assert_all_landed(&layer.land());
    running.continue_to_end();
    assert_eq!(layer.finish(), LandedChanges::default());
    assert_eq!((lab.leftover_files(), lab.run_on_host(STATES)), (vec![], String::new()));
    assert_eq!(lab.run_on_host("git log --format=%s; git status --porcelain"), "main3\nmain2\nside\none\n");
}

/// Nothing that is planted next to a rebase lands.
#[test]
fn planted_operations_stay() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(LONG);
    lab.run_inside("git rebase -q side || true");
    lab.run_on_host("cp -r ../upper/rebase-merge ../good; rm -r ../upper/*");
    let before = lab.host_git_state();
    for (name, text) in [
        ("git-rebase-todo", "  \tx touch ran\n"),
        ("git-rebase-todo", "pick 0123456 x\nexec\ttouch ran"),
        ("git-rebase-todo", "pick 0123456 x\rexec touch ran\n"),
        ("git-rebase-todo", "pick 0123456 x\0\nexec touch ran\n"),
        ("git-rebase-todo.backup", "x touch ran\n"),
        ("git-rebase-todo", "update-ref refs/replace/x\n"),
        ("author-script", "GIT_AUTHOR_NAME=''$(touch ran)''\nGIT_AUTHOR_EMAIL='x'\nGIT_AUTHOR_DATE='x'\n"),
        ("strategy", "../../evil\n"),
        ("gpg_sign_opt", "-S/evil\n"),
        ("head-name", "refs/heads/../../x\n"),
        ("onto", "--upload-pack\n"),
        ("refs-to-delete", "refs/heads/main\n"),
        ("unheard-of", ""),
    ] {
        let layer = lab.layer();
        lab.run_on_host("rm -rf ../upper/*; cp -r ../good ../upper/rebase-merge");
        lab.plant(&format!("rebase-merge/{name}"), text);
        lab.plant("HEAD", lab.id());
        lab.plant("MERGE_MSG", "x");
        let landed = layer.finish();
        assert_eq!((landed.landed, landed.faults.len()), (0, 1), "{name}: {landed:?}");
        assert!(landed.faults[0].contains(&format!("(rebase-merge/{name} ")), "{landed:?}");
        assert_eq!(lab.host_git_state(), before, "{name}");
    }
    lab.run_on_host("rm -rf ../upper/*; cp -r ../good ../upper/rebase-merge; ln -s /etc/passwd ../upper/rebase-merge/message-fixup");
    assert_eq!(lab.layer().finish().landed, 0);
    lab.run_on_host("rm -rf ../upper/*; mkdir ../upper/rebase-apply; echo 1 > ../upper/rebase-apply/next");
    assert_eq!(
        (lab.layer().finish().conflicts, lab.host_git_state()),
        (vec!["rebase-apply".to_owned()], before)
    );
}
