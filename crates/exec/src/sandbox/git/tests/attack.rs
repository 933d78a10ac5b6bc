//! Malicious upper directories: nothing runs on the host, and protected files do not change.

use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::support::{GitOverlayLab, loose_blob};
use crate::sandbox::git::LandedChanges;

const EVIL: &str = "[core]\n\tfsmonitor = touch ran; false\n\thooksPath = evil\n\tsshCommand = touch ran\n";

/// Asserts that the planted file stays in the sandbox, and is reported under the name `kept`.
fn stays(kept: &str, plant: impl Fn(&GitOverlayLab)) {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git branch x; git worktree add -q wt -b wt");
    let (layer, before) = (lab.layer(), lab.host_git_state());
    plant(&lab);
    let landed = layer.finish();
    assert_eq!(landed, LandedChanges { kept_back: vec![kept.to_owned()], ..LandedChanges::default() });
    assert_eq!(lab.host_git_state(), before, "{kept}");
    lab.run_on_host("git status; git log; git branch -a; cd wt && git status");
    assert!(!lab.tree.join("ran").exists() && !lab.tree.join("wt/ran").exists());
}

fn file(name: &str, content: &str) {
    stays(name, |lab| lab.plant(name, content));
}

#[test]
fn planted_files_stay() {
    file("commondir", "../evil\n");
    file("config", EVIL);
    file("config.worktree", EVIL);
    file("hooks/pre-commit", "#!/bin/sh\ntouch ran\n");
    file("info/attributes", "* filter=evil\n");
    file("info/grafts", "x\n");
    file("objects/info/alternates", "/evil\n");
    file("objects/info/http-alternates", "/evil\n");
    file("worktrees/wt/config.worktree", EVIL);
    file("worktrees/wt/commondir", "../../../evil\n");
    file("worktrees/wt/gitdir", "/etc/.git\n");
    file("worktrees/new/gitdir", "/etc/.git\n");
    file("worktrees/new/gitdir", "../../../../.git\n");
    file("worktrees/new/hooks/post-checkout", "x");
    file("modules/a/hooks/pre-commit", "x");
    file("modules/a/b/commondir", "../../..");
    file("modules/a/objects/info/alternates", "/evil");
    file("unheard-of", "x");
    file("branches/x", "x");
    file("remotes/origin", "URL: ext::sh\n");
}

#[test]
fn references_that_are_none_stay() {
    let id = "0123456789012345678901234567890123456789";
    file("HEAD", "garbage");
    file("HEAD", "ref: ../../etc/passwd\n");
    file("HEAD", "ref: refs/heads/../../x\n");
    file("refs/heads/x", "garbage");
    file("refs/heads/x", &format!("{id}\n{id}\n"));
    file("refs/heads/a..b", id);
    file("refs/heads/-x", id);
    file("refs/heads/.x", id);
    file(&format!("refs/replace/{id}"), id);
    file("packed-refs", &format!("{id} refs/heads/../x\n"));
    file("packed-refs", &format!("{id} refs/replace/{id}\n"));
    file("ORIG_HEAD", "--upload-pack=x\n");
    file("BISECT_START", "--orphan\n");
    file("refs/heads", id);
    file("index", "not an index");
    file("objects/ab/01234567890123456789012345678901234567", "not an object");
    file(&format!("objects/pack/pack-{id}.pack"), "not a pack");
}

#[test]
fn links_pipes_and_devices_stay() {
    stays("refs/heads/x", |lab| {
        std::fs::create_dir_all(lab.upper.join("refs/heads")).unwrap();
        symlink("/etc/passwd", lab.upper.join("refs/heads/x")).unwrap();
    });
    stays("refs", |lab| symlink("/etc", lab.upper.join("refs")).unwrap());
    stays("index", |lab| {
        mknodat(CWD, lab.upper.join("index"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    });
    stays("refs/heads/x", |lab| {
        lab.plant("refs/heads/x", "");
        std::fs::File::create(lab.upper.join("refs/heads/x")).unwrap().set_len(1 << 30).unwrap();
    });
    stays("index", |lab| {
        lab.plant("index", "DIRC");
        let file = std::fs::OpenOptions::new().write(true).open(lab.upper.join("index")).unwrap();
        file.set_len(900 << 20).unwrap();
    });
    // A hard link to a file outside the repository.
    stays("COMMIT_EDITMSG", |lab| {
        std::fs::write(lab.base.join("secret"), "secret").unwrap();
        std::fs::hard_link(lab.base.join("secret"), lab.upper.join("COMMIT_EDITMSG")).unwrap();
    });
    stays("objects/ab/01234567890123456789012345678901234567", |lab| {
        std::fs::write(lab.base.join("secret"), "secret").unwrap();
        std::fs::create_dir_all(lab.upper.join("objects/ab")).unwrap();
        std::fs::hard_link(
            lab.base.join("secret"),
            lab.upper.join("objects/ab/01234567890123456789012345678901234567"),
        )
        .unwrap();
    });
}

#[test]
fn links_on_the_host_are_not_followed() {
    let lab = GitOverlayLab::with_commit();
    let id = lab.id();
    lab.run_on_host("mv .git/refs ../refs; ln -s ../../refs .git/refs; mv .git/objects ../objects; ln -s ../../objects .git/objects");
    let layer = lab.layer();
    lab.plant("refs/heads/new", format!("{id}\n"));
    lab.plant("logs/HEAD", "");
    lab.run_on_host("ln -sf /dev/null .git/logs/HEAD");
    let kept = ["logs/HEAD", "refs/heads/new"];
    let mut layer = layer;
    assert_eq!(layer.land().kept_back, kept);
    let (path, content) = loose_blob(b"x");
    lab.plant(&path, content);
    let before = lab.run_on_host("find . .. | sort");
    let landed = layer.finish();
    assert_eq!((landed.landed, landed.kept_back), (0, vec![path]));
    assert_eq!(lab.run_on_host("find . .. | sort"), before);
}

#[test]
fn a_submodule_keeps_only_what_is_harmless() {
    let lab = GitOverlayLab::with_commit();
    let layer = lab.layer();
    lab.plant("modules/x/config", format!("[core]\n\tbare = false\n\tworktree = ../../../sub\n{EVIL}"));
    lab.plant("modules/y/config", "[core]\n\tworktree = ../../../../elsewhere\n");
    let landed = layer.finish();
    assert_eq!(
        (landed.landed, landed.kept_back),
        (2, vec!["modules/x/config".to_owned(), "modules/y/config".to_owned()])
    );
    let read = |name: &str| std::fs::read_to_string(lab.git().join(name)).unwrap();
    assert_eq!(read("modules/x/config"), "[core]\n\tbare = false\n\tworktree = ../../../sub\n");
    assert_eq!(read("modules/y/config"), "");
}

#[test]
fn a_deep_or_wide_tree_ends() {
    let lab = GitOverlayLab::with_commit();
    let layer = lab.layer();
    let deep: String = (0..60).map(|number| format!("d{number}/")).collect();
    lab.plant(&format!("refs/heads/{deep}x"), lab.id());
    for number in 0..40 {
        lab.plant(&format!("wide/{number}"), "x");
    }
    let landed = layer.finish();
    assert_eq!((landed.landed, landed.kept_back.len(), landed.more_kept_back), (0, 16, 25));
    assert!(landed.kept_back[0].starts_with("refs/heads/d0/d1/"));
}

#[test]
fn many_long_names_are_not_held() {
    let lab = GitOverlayLab::with_commit();
    let (before, layer) = (lab.host_git_state(), lab.layer());
    let deep = format!("{}/", "d".repeat(250)).repeat(12);
    std::fs::create_dir_all(lab.upper.join(&deep)).unwrap();
    for number in 0..4_500 {
        std::fs::write(lab.upper.join(format!("{deep}{number}")), "").unwrap();
    }
    lab.plant("refs/heads/new", lab.id());
    let landed = layer.finish();
    let told = "there are too many files, or their names are too long: nothing landed";
    assert_eq!(landed, LandedChanges { faults: vec![told.to_owned()], ..LandedChanges::default() });
    assert_eq!(lab.host_git_state(), before);
    assert!(lab.upper.join("refs/heads/new").exists());
}

#[test]
fn of_many_names_few_are_noted() {
    let lab = GitOverlayLab::with_commit();
    let layer = lab.layer();
    for number in 0..1_500 {
        lab.plant(&format!("x/{number}"), "");
    }
    lab.plant("refs/heads/new", lab.id());
    let landed = layer.finish();
    assert_eq!((landed.landed, landed.kept_back.len(), landed.more_kept_back), (1, 16, 1_484));
}

#[test]
fn too_many_operations_do_not_land() {
    let lab = GitOverlayLab::with_commit();
    let (before, layer) = (lab.host_git_state(), lab.layer());
    for number in 0..40 {
        lab.plant(&format!("worktrees/w{number}/rebase-merge/git-rebase-todo"), "noop\n");
    }
    assert_eq!((layer.finish().faults.len(), lab.host_git_state()), (1, before));
}

#[test]
fn setuid_and_execute_bits_do_not_land() {
    use std::os::unix::fs::PermissionsExt;
    let lab = GitOverlayLab::with_commit();
    lab.plant("refs/heads/new", lab.id());
    lab.plant("COMMIT_EDITMSG", "x");
    for name in ["refs/heads/new", "COMMIT_EDITMSG"] {
        std::fs::set_permissions(lab.upper.join(name), std::fs::Permissions::from_mode(0o6777)).unwrap();
    }
    assert_eq!(lab.layer().finish().landed, 2);
    for name in ["refs/heads/new", "COMMIT_EDITMSG"] {
        let mode = std::fs::metadata(lab.git().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7133, 0, "{name} {mode:o}");
    }
}

/// All attacks at once, from inside a real overlay.
#[test]
fn an_attack_from_inside_changes_nothing() {
    let lab = GitOverlayLab::with_commit();
    let (before, layer) = (lab.host_git_state(), lab.layer());
    lab.run_inside(
        "cp -r .git evil; printf '[core]\\n\\tfsmonitor = touch ran\\n' >> evil/config; echo ../evil > .git/commondir
        printf '#!/bin/sh\\ntouch ran\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
        git config -f .git/config core.fsmonitor 'touch ran'; echo / > .git/objects/info/alternates
        ln -s /etc/passwd .git/refs/heads/x; rm .git/index; mkfifo .git/index; echo junk > .git/HEAD
        rm -rf .git/refs/heads; ln -s /etc .git/refs/heads; mv .git/logs .git/golS; mkdir -p .git/worktrees/x
        echo /etc/.git > .git/worktrees/x/gitdir; echo /evil > .git/worktrees/x/commondir
        mkdir -p .git/rebase-merge; echo 'exec touch ran' > .git/rebase-merge/git-rebase-todo",
    );
    let landed = layer.finish();
    assert_eq!(
        (landed.landed, landed.faults, landed.unfinished.len()),
        (0, vec![], 1),
        "{:?}",
        landed.kept_back
    );
    assert_eq!(lab.host_git_state(), before);
    lab.run_on_host("git status; git log; git commit -q --allow-empty -m two; git fsck");
    assert!(!lab.tree.join("ran").exists());
}
