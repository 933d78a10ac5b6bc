//! The real git in a real overlay: the host sees the same state afterwards.

use super::support::{GitOverlayLab, while_stopped};
use crate::sandbox::git::LandedChanges;

pub(super) fn assert_all_landed(landed: &LandedChanges) {
    let expected = LandedChanges { landed: landed.landed, ..LandedChanges::default() };
    assert_eq!(*landed, expected);
    assert!(landed.landed > 0);
}

/// Runs each script in a new repository, and asserts that everything lands and nothing is left.
fn lands(before: &str, script: &str) {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(before);
    assert_all_landed(&lab.run_and_land(script));
    assert_eq!(lab.leftover_files(), [""; 0], "{script}");
}

pub(super) const TWO: &str = "git checkout -q -b side && echo s > s && git add s && git commit -qm side && git checkout -q main \
    && echo m > m && git add m && git commit -qm main2";
pub(super) const CLASH: &str = "git checkout -q -b side && echo s > f && git commit -qam side && git checkout -q main \
    && echo m > f && git commit -qam main2";

#[test]
fn commits_and_branches_land() {
    lands("true", "echo 2 > f; git add f; git commit -qm two");
    lands("true", "echo 2 > f; git commit -q --amend -am uno");
    lands("true", "git branch a; git branch a2/b; git tag t; git tag -am x annotated");
    lands("git branch a; git branch d/e", "git branch -D a; git branch -D d/e");
    lands("git branch a", "git branch -m a b");
    lands("git branch a", "git branch -m a a/b");
    lands("git branch a/b", "git branch -m a/b a");
    lands("git branch a; git pack-refs --all", "git branch -D a; git branch b");
    lands("true", "git checkout -q -b new/branch; echo x > x; git add x; git commit -qm x");
    lands("true", "git checkout -q --detach; echo x > x; git add x; git commit -qm x");
}

#[test]
fn stash_reset_and_gc_land() {
    lands("true", "echo 2 > f; git stash push -q");
    lands("true", "echo 2 > f; git stash push -q; git stash pop -q");
    lands("echo 2 > f; git stash push -q", "git stash pop -q; git commit -qam popped");
    lands("echo 2 > f; git commit -qam two", "git reset -q --hard HEAD~1");
    lands(TWO, "git gc -q --prune=now; git repack -adfq");
    lands("git branch a; git branch b/c; git tag -am x t", "git pack-refs --all");
    lands(TWO, "git gc -q; git branch -D side; git checkout -q -b other; echo 3 > f; git commit -qam three");
    lands(
        TWO,
        "git commit-graph write --reachable --split; git multi-pack-index write || true; git update-server-info",
    );
}

#[test]
fn merges_land() {
    lands(TWO, "git merge -q --no-edit side");
    lands(TWO, "git merge -q --squash side");
    lands(TWO, "git cherry-pick side; git revert --no-edit HEAD");
    lands(CLASH, "git merge -q side || true");
    lands(CLASH, "git merge -q side || true; echo both > f; git commit -qam both");
    // Begun on the host, finished inside.
    lands(&format!("{CLASH}; git merge -q side || true"), "echo both > f; git commit -qam both");
    lands(&format!("{CLASH}; git merge -q side || true"), "git merge --abort");
    lands(&format!("{CLASH}; git rebase -q side || true"), "echo both > f; git add f; git rebase --continue");
    lands(&format!("{CLASH}; git rebase -q side || true"), "git rebase --abort");
    lands(TWO, "git bisect start HEAD HEAD~1");
    lands(&format!("{TWO}; git bisect start HEAD HEAD~1"), "git bisect reset");
}

#[test]
fn worktrees_land_and_leave() {
    let lab = GitOverlayLab::with_commit();
    let landed =
        lab.run_and_land("git worktree add -q wt -b wt; cd wt; echo w > w; git add w; git commit -qm w");
    assert_all_landed(&landed);
    assert_eq!(lab.leftover_files(), [""; 0]);
    assert_eq!(lab.run_on_host("cd wt; git status --porcelain -b"), "## wt\n");
    assert_all_landed(
        &lab.run_and_land("cd wt; echo 2 > w; git commit -qam w2; cd ..; git worktree lock wt"),
    );
    assert_all_landed(&lab.run_and_land("git worktree unlock wt"));
    assert_all_landed(&lab.run_and_land("git worktree remove wt"));
    assert_eq!(lab.leftover_files(), [""; 0]);
    assert!(!lab.git().join("worktrees").join("wt").exists());
    assert_all_landed(
        &lab.run_and_land("git worktree add -q wt2 -b wt2; git worktree remove wt2; git branch x"),
    );
}

#[test]
fn a_worktree_elsewhere_is_left_alone() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git worktree add -q ../elsewhere -b elsewhere");
    let (layer, before) = (lab.layer(), lab.host_git_state());
    lab.run_inside("rm -r .git/worktrees");
    let landed = layer.finish();
    assert_eq!((landed.landed, landed.kept_back), (0, vec!["worktrees/elsewhere".to_owned()]));
    assert_eq!(lab.host_git_state(), before);
}

#[test]
fn a_worktree_of_a_submodule_elsewhere_is_left_alone() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git clone -q . ../other; git submodule add -q ../other sub; git -C sub worktree add -q ../../elsewhere");
    for gone in ["worktrees", "worktrees/elsewhere"] {
        let (layer, before) = (lab.layer(), lab.host_git_state());
        lab.run_inside(&format!("rm -r .git/modules/sub/{gone}"));
        let landed = layer.finish();
        assert_eq!(
            (landed.landed, landed.kept_back),
            (0, vec!["modules/sub/worktrees/elsewhere".to_owned()])
        );
        assert_eq!(lab.host_git_state(), before);
        lab.run_on_host("rm -rf ../upper/modules");
    }
}

#[test]
fn submodules_land() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git clone -q . ../other; git clone -q ../other ../third");
    let layer = lab.layer();
    lab.run_inside("git submodule add -q ../other lib/sub; git commit -qm sub; cd lib/sub; echo 1 > n; git add n; git commit -qm n");
    let landed = layer.finish();
    assert_eq!(landed.faults, [""; 0]);
    // Only the configuration of the superproject; that of the submodule has only harmless keys.
    assert_eq!(landed.kept_back, ["config"]);
    let left = lab.leftover_files();
    assert!(
        left.iter().all(|name| name.contains("hooks/") || name.contains("info/") || name == "config"),
        "{left:?}"
    );
    lab.assert_repository_sound();
    lab.run_on_host("cd lib/sub; git fsck");
    assert_eq!(
        lab.run_on_host("git status --porcelain -b; cd lib/sub; git log --format=%s; git status --porcelain"),
        "## main\n M lib/sub\nn\none\n"
    );
    lab.run_and_land("git -C lib/sub checkout -q -b b; git commit -qam moved");
    assert_eq!(lab.run_on_host("git -C lib/sub symbolic-ref HEAD"), "refs/heads/b\n");
}

#[test]
fn a_new_repository_lands() {
    let lab = GitOverlayLab::new();
    std::fs::create_dir(lab.git()).unwrap();
    let layer = lab.layer();
    lab.run_inside("git init -q .; git config core.fsmonitor 'touch /tmp/ran'; git config user.name me; echo 1 > f; git -c core.fsmonitor=false add f; git -c core.fsmonitor=false commit -qm one");
    let landed = layer.finish();
    assert_eq!(
        (landed.kept_back, landed.conflicts, landed.faults),
        (vec!["config".to_owned()], vec![], vec![])
    );
    lab.assert_repository_sound();
    assert_eq!(lab.run_on_host("git log --format=%s; git status --porcelain"), "one\n");
    assert_eq!(
        lab.run_on_host("git config --local -l"),
        "core.repositoryformatversion=0\ncore.filemode=true\ncore.bare=false\ncore.logallrefupdates=true\n"
    );
    assert_eq!(lab.run_inside("git config user.name"), "me\n", "the run keeps its own");
}

#[test]
fn a_yield_lands_what_is_there_and_the_rest_later() {
    let lab = GitOverlayLab::with_commit();
    let mut layer = lab.layer();
    let mut running = lab.begin_paused(
        "echo 2 > f; git commit -qam two; git branch gone/away; git worktree add -q wt; git checkout -q -b x; echo 3 > f
        pause
        git commit -qam three; git branch -D gone/away; git worktree remove wt; git branch -D wt; git checkout -q main
        git merge -q --no-ff --no-commit x",
    );
    assert_all_landed(&layer.land());
    assert_eq!(
        lab.run_on_host("git log --format=%s; git for-each-ref --format='%(refname)'; git fsck"),
        "two\none\nrefs/heads/gone/away\nrefs/heads/main\nrefs/heads/wt\nrefs/heads/x\n"
    );
    assert_eq!(layer.land(), LandedChanges::default(), "nothing new");
    running.continue_to_pause();
    assert_all_landed(&layer.land());
    running.continue_to_end();
    assert_eq!(layer.finish(), LandedChanges::default());
    assert_eq!(lab.leftover_files(), [""; 0]);
    assert_eq!(
        lab.run_on_host("git for-each-ref --format='%(refname)'; git fsck"),
        "refs/heads/main\nrefs/heads/x\n"
    );
    assert_eq!(
        lab.run_on_host("cat .git/MERGE_HEAD; git worktree list | wc -l"),
        lab.run_on_host("git rev-parse x; echo 1")
    );
}

#[test]
fn what_the_host_changed_meanwhile_stays() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git branch other; git branch third");
    let layer = lab.layer();
    let running =
        lab.begin_paused("git checkout -q other; echo 2 > f; git commit -qam inside; git branch -D third");
    let id = std::fs::read_to_string(lab.upper.join("refs/heads/other")).unwrap().trim().to_owned();
    lab.run_on_host("git update-ref refs/heads/other $(git commit-tree -m host HEAD^{tree}); git update-ref refs/heads/third refs/heads/other");
    running.continue_to_end();
    let landed = layer.finish();
    assert!(
        landed
            .conflicts
            .contains(&format!("refs/heads/other (in the sandbox: {id}; git merge {id} brings it in)")),
        "{landed:?}"
    );
    assert!(landed.conflicts.contains(&"refs/heads/third".to_owned()), "{landed:?}");
    assert_eq!(lab.run_on_host("git log -1 --format=%s other; git log -1 --format=%s third"), "host\nhost\n");
    assert_eq!(lab.run_on_host(&format!("git log -1 --format=%s {id}")), "inside\n", "nothing is lost");
    assert_eq!(lab.run_inside("git log -1 --format=%s other"), "host\n", "the next run sees the host's");
}

#[test]
fn a_status_on_the_host_is_no_change() {
    let lab = GitOverlayLab::with_commit();
    let layer = lab.layer();
    let running = lab.begin_paused("echo 2 > f; git commit -qam inside");
    let before = lab.run_on_host("stat -c %i.%z .git/index");
    lab.run_on_host("touch -d yesterday f; git update-index --refresh >/dev/null || true; echo 1 > f; touch -d 2001-01-01 f; git update-index --refresh");
    assert_ne!(lab.run_on_host("stat -c %i.%z .git/index"), before);
    lab.run_on_host("echo 2 > f");
    running.continue_to_end();
    assert_all_landed(&layer.finish());
    assert_eq!(lab.run_on_host("git status --porcelain"), "");
}

#[test]
fn deleting_everything_leaves_the_host_its_branches() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git branch a; git branch b/c; git tag t; echo x > .git/hooks/pre-commit");
    let before = lab.run_on_host("git for-each-ref");
    let layer = lab.layer();
    lab.run_inside("rm -rf .git/* .git/.[!.]* 2>/dev/null; git init -q .; git checkout -q -b fresh; git add f; git commit -qm fresh");
    let landed = layer.finish();
    assert_eq!(landed.faults, [""; 0]);
    let after = lab.run_on_host("git for-each-ref");
    assert!(before.lines().all(|line| after.contains(line)), "{after}");
    assert!(after.contains("refs/heads/fresh"));
    assert!(landed.kept_back.contains(&"refs/heads".to_owned()), "{landed:?}");
    lab.assert_repository_sound();
}

/// Lands repeatedly while git is at work, and asserts that the host is consistent each time. The run is stopped
/// meanwhile, otherwise it would see the locks held on the host.
#[test]
fn landing_in_the_middle_of_things_leaves_the_host_whole() {
    let lab = GitOverlayLab::with_commit();
    let mut layer = lab.layer();
    let mut running = lab.begin_paused(
        "echo begin; pause
        for i in 1 2 3 4 5 6 7 8; do
            for j in 1 2 3; do echo $i$j > f$j; git add .; git commit -qm $i$j; git branch -f b$i/$j; done
            git pack-refs --all; git branch -D b$i/1 >&2; git gc -q --prune=now; git checkout -q -B side; git checkout -q main
        done",
    );
    let group = running.process_group();
    let done = std::thread::scope(|scope| {
        let end = scope.spawn(move || {
            running.continue_to_pause();
            running
        });
        while !end.is_finished() {
            let landed = while_stopped(group, || layer.land());
            assert_eq!((landed.faults, landed.conflicts), (vec![], vec![]));
            assert_eq!(lab.run_on_host("git fsck --no-dangling 2>&1 | grep -v '^notice' || true; git rev-parse --verify -q main >&2"), "");
        }
        end.join().unwrap()
    });
    done.continue_to_end();
    let inside = lab.run_inside("git for-each-ref; git log --oneline");
    let landed = layer.finish();
    assert_eq!((landed.faults, landed.conflicts), (vec![], vec![]));
    assert_eq!(lab.run_on_host("git for-each-ref; git log --oneline"), inside);
    lab.assert_repository_sound();
}
