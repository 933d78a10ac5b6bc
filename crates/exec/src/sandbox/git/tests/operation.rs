//! Tests of operations that stop halfway in the sandbox: the host continues them, or does not see them.

use super::overlay::{CLASH, clean};
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
        lab.host(LONG);
        clean(&lab.run(&format!("{script} && exit 1 || true; git status | head -9")));
        assert_ne!(lab.host(STATES), "", "{script}");
        assert_eq!(lab.left(), [""; 0], "{script}");
        let status = lab.host("git status");
        assert_eq!(lab.inside("GIT_OPTIONAL_LOCKS=0 git status"), status);
        if by_host {
            lab.host(next);
        } else {
            clean(&lab.run(next));
            assert_eq!(lab.left(), [""; 0], "{script}: {next}");
        }
        assert_eq!(lab.host(STATES), "", "{script}: {next}");
        assert_eq!(lab.host("git log --format=%s"), subjects, "{script}: {next}");
        assert_eq!(
            lab.inside("export GIT_OPTIONAL_LOCKS=0; git log --format=%s; git status"),
            lab.host("git log --format=%s; git status")
        );
        assert_eq!(lab.host("git status --porcelain -uno; cat .git/HEAD | cut -c-16"), "ref: refs/heads/\n");
        lab.check();
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
    lab.host(&format!("{CLASH}; echo m3 > f; git commit -qam main3"));
    clean(&lab.run("git rebase -q side || true"));
    clean(&lab.run(&format!("{SOLVED} git rebase --continue || true")));
    assert_eq!((lab.left(), lab.host("cat .git/rebase-merge/msgnum")), (vec![], "2\n".to_owned()));
    lab.host("echo m3 > f; git add f; git rebase --continue");
    assert_eq!(lab.inside("git log --format=%s; git status --porcelain"), "main3\nmain2\nside\none\n");
}

#[test]
fn what_is_left_of_another_goes() {
    let lab = GitOverlayLab::with_commit();
    lab.host(&format!("{LONG}; git rebase -q --signoff side || true"));
    assert!(lab.git().join("rebase-merge/signoff").exists());
    clean(&lab.run("git rebase --abort; git rebase -q side || true"));
    assert!(!lab.git().join("rebase-merge/signoff").exists() && lab.git().join("rebase-merge/done").exists());
    assert_eq!(lab.left(), [""; 0]);
    lab.host(&format!("{SOLVED} git rebase --continue"));
    assert_eq!(lab.host("git log --format=%B | grep Signed || true"), "");
}

#[test]
fn a_squash_and_a_stash_go_on_too() {
    let lab = GitOverlayLab::with_commit();
    lab.host(&format!(
        "{CLASH}; git branch mid; echo m3 > f; git commit -qam main3; echo 4 > g; git add g; git commit -qm g"
    ));
    let squash = "GIT_SEQUENCE_EDITOR=\"sed -i '/main3/s/^pick/squash/'\" git rebase -i --update-refs --autostash side";
    clean(&lab.run(&format!("echo dirty > g; {squash} || true")));
    clean(&lab.run(&format!("{SOLVED} git rebase --continue || true")));
    let files = lab.host("ls .git/rebase-merge");
    for name in ["autostash", "current-fixups", "message-squash", "update-refs"] {
        assert!(files.contains(name), "{name} in {files}");
    }
    lab.host("echo m3 > f; git add f; git rebase --continue");
    assert_eq!(lab.host("git log --format=%s; cat g; git stash list"), "g\nmain2\nside\none\ndirty\n");
    assert_eq!(lab.host("git log -1 --format=%s mid"), "main2\n");
}

#[test]
fn in_a_linked_worktree_too() {
    let lab = GitOverlayLab::with_commit();
    lab.host(LONG);
    clean(&lab.run("git checkout -q side; git worktree add -q wt main; cd wt; git rebase -q side || true"));
    assert_eq!(lab.left(), [""; 0]);
    lab.host("cd wt; echo both > f; git add f; git rebase --continue");
    assert_eq!(lab.host("git log --format=%s main"), "main3\nmain2\nside\none\n");
}

const SEEN: &str =
    "git symbolic-ref HEAD; git reflog; git reflog main; git ls-files -s; git rev-parse main; ls .git";

#[test]
fn what_runs_commands_goes_on_in_the_sandbox_only() {
    let lab = GitOverlayLab::with_commit();
    lab.host(LONG);
    let (before, layer) = (lab.host(SEEN), lab.layer());
    let inside =
        lab.inside("git branch new; git rebase -q -x 'touch ran' side >&2 || true; git status; git reflog");
    held(&layer.finish(), "rebase-merge/git-rebase-todo holds `exec`");
    assert_eq!(lab.host(SEEN), before);
    lab.host("git rev-parse new");
    assert_eq!(lab.inside("export GIT_OPTIONAL_LOCKS=0; git status; git reflog"), inside, "it goes on");
    // An unrelated run does not report it.
    let layer = lab.layer();
    lab.inside("git branch newer");
    clean(&layer.finish());
    assert_eq!(lab.host(SEEN), before);
    clean(&lab.run(&format!("{SOLVED} git rebase --continue; rm ran")));
    assert_eq!(
        (lab.left(), lab.host("git log --format=%s")),
        (vec![], "main3\nmain2\nside\none\n".to_owned())
    );
}

#[test]
fn two_works_share_their_fate() {
    let lab = GitOverlayLab::with_commit();
    lab.host(LONG);
    let (before, layer) = (lab.host(SEEN), lab.layer());
    lab.inside("git rebase -q side || true; mkdir .git/sequencer; echo x y > .git/sequencer/todo; git rev-parse HEAD > .git/sequencer/head");
    held(&layer.finish(), "sequencer/todo holds `exec`");
    assert_eq!(lab.host(SEEN), before);
    clean(&lab.run("rm -r .git/sequencer"));
    assert_eq!((lab.left(), lab.host(STATES)), (vec![], "rebase-merge\n".to_owned()));
}

#[test]
fn a_branch_does_not_move_without_its_index() {
    let lab = GitOverlayLab::with_commit();
    lab.host(&format!("{LONG}; git checkout -q side"));
    let (before, layer) = (lab.host(SEEN), lab.layer());
    // The first is picked, the second is not. Then a line is added that git does not write.
    lab.inside("git cherry-pick main main~1 || true; git pack-refs --all; echo 'exec touch ran' >> .git/sequencer/todo");
    held(&layer.finish(), "sequencer/todo holds `exec`");
    assert_eq!(lab.host(SEEN).replace("packed-refs\n", ""), before);
    lab.check();
    clean(&lab.run("git cherry-pick --quit; git reset -q --hard"));
    assert_eq!((lab.left(), lab.host("git log --format=%s")), (vec![], "main3\nside\none\n".to_owned()));
}

#[test]
fn a_work_that_the_host_went_on_with_is_the_hosts() {
    let lab = GitOverlayLab::with_commit();
    lab.host(&format!("{LONG}; git rebase -q side || true"));
    for (host, end) in
        [("git rebase --abort", "main3\nmain2\none\n"), ("git rebase --skip", "main3\nside\none\n")]
    {
        let layer = lab.layer();
        let running = lab
            .begin("GIT_SEQUENCE_EDITOR=\"sed -i '1ibreak'\" git rebase --edit-todo; echo b > f; git add f");
        lab.host(&format!("git checkout -q -f HEAD -- f; {host}"));
        running.end();
        let landed = layer.finish();
        assert!(landed.conflicts.contains(&"rebase-merge".to_owned()), "{landed:?}");
        assert_eq!((&landed.faults, lab.left()), (&vec![], vec![]));
        assert_eq!(lab.host(&format!("{STATES}; git log --format=%s main")), end);
        assert_eq!(
            lab.inside("export GIT_OPTIONAL_LOCKS=0; git status; git log"),
            lab.host("git status; git log")
        );
        lab.host("git checkout -q -f main; git rebase -q side || true");
        if !end.contains("side") {
            assert_eq!(lab.host(STATES), "rebase-merge\n");
        }
    }
}

#[test]
fn a_work_begun_twice_is_the_hosts() {
    let lab = GitOverlayLab::with_commit();
    lab.host(LONG);
    let layer = lab.layer();
    let running = lab.begin("git rebase -q side || true");
    lab.host("git checkout -q -f side; git cherry-pick main~1 main || true");
    let before = lab.host("git status");
    running.end();
    let landed = layer.finish();
    assert!(landed.conflicts.contains(&"rebase-merge".to_owned()), "{landed:?}");
    assert_eq!((lab.left(), lab.host("git status")), (vec![], before));
    lab.host("git cherry-pick --abort");
    assert_eq!(lab.host(STATES), "");
}

#[test]
fn a_yield_lands_it_and_the_end_takes_it_away() {
    let lab = GitOverlayLab::with_commit();
    lab.host(LONG);
    let mut layer = lab.layer();
    let mut running =
        lab.begin(&format!("git rebase -q side || true\npause\n{SOLVED} git rebase --continue"));
    clean(&layer.land());
    assert_eq!(
        lab.host(&format!("{STATES}; git status | head -1")),
        "rebase-merge\ninteractive rebase in progress; onto ".to_owned()
            + &lab.host("git rev-parse --short side")
    );
    assert_eq!(layer.land(), LandedChanges::default());
    running.next();
    clean(&layer.land());
    running.end();
    assert_eq!(layer.finish(), LandedChanges::default());
    assert_eq!((lab.left(), lab.host(STATES)), (vec![], String::new()));
    assert_eq!(lab.host("git log --format=%s; git status --porcelain"), "main3\nmain2\nside\none\n");
}

/// Nothing that is planted next to a rebase lands.
#[test]
fn planted_works_stay() {
    let lab = GitOverlayLab::with_commit();
    lab.host(LONG);
    lab.inside("git rebase -q side || true");
    lab.host("cp -r ../upper/rebase-merge ../good; rm -r ../upper/*");
    let before = lab.state();
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
        lab.host("rm -rf ../upper/*; cp -r ../good ../upper/rebase-merge");
        lab.plant(&format!("rebase-merge/{name}"), text);
        lab.plant("HEAD", lab.id());
        lab.plant("MERGE_MSG", "x");
        let landed = layer.finish();
        assert_eq!((landed.landed, landed.faults.len()), (0, 1), "{name}: {landed:?}");
        assert!(landed.faults[0].contains(&format!("(rebase-merge/{name} ")), "{landed:?}");
        assert_eq!(lab.state(), before, "{name}");
    }
    lab.host("rm -rf ../upper/*; cp -r ../good ../upper/rebase-merge; ln -s /etc/passwd ../upper/rebase-merge/message-fixup");
    assert_eq!(lab.layer().finish().landed, 0);
    lab.host("rm -rf ../upper/*; mkdir ../upper/rebase-apply; echo 1 > ../upper/rebase-apply/next");
    assert_eq!((lab.layer().finish().conflicts, lab.state()), (vec!["rebase-apply".to_owned()], before));
}
