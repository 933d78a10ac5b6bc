//! Tests of landing an index: malicious ones stay, and a gitlink lands only if its repository is harmless.

use super::support::GitOverlayLab;
use crate::sandbox::git::LandedChanges;

const KEPT: [&str; 1] = ["index"];

/// A repository in the tree whose configuration would run a program.
const EVIL: &str =
    "git init -q sub; git -C sub commit -q --allow-empty -m x; git -C sub config core.fsmonitor 'touch /ran'";

/// Runs `before` on the host, then `script` in the sandbox. Returns the result of landing.
fn after(before: &str, script: &str) -> (GitOverlayLab, LandedChanges) {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(before);
    let layer = lab.layer();
    lab.run_inside(script);
    let landed = layer.finish();
    (lab, landed)
}

fn stays(before: &str, script: &str) {
    let (lab, landed) = after(before, script);
    assert!(landed.kept_back == KEPT || landed.more_kept_back > 0, "{script} {landed:?}");
    assert!(!lab.run_on_host("git ls-files -s").contains("160000 "), "{script}");
    assert!(!lab.leftover_files().is_empty(), "the next run still has it");
}

fn lands(before: &str, script: &str) {
    let (lab, landed) = after(before, script);
    assert_eq!(landed.kept_back, [""; 0], "{script}");
    assert!(lab.run_on_host("git ls-files -s").contains("160000 "), "{script}");
}

#[test]
fn no_hook_is_checked_out() {
    let lab = GitOverlayLab::with_commit();
    let layer = lab.layer();
    // Git rejects such a path, so the bytes are changed afterwards: the same length, and a checksum of zeros.
    lab.run_inside(
        "mkdir -p agit/hooks; printf '#!/bin/sh\\ntouch ran\\n' > agit/hooks/post-index-change; git add --chmod=+x agit
        sed -i 's,agit/hooks,.git/hooks,' .git/index; truncate -s -20 .git/index; head -c 20 /dev/zero >> .git/index; rm -r agit",
    );
    assert_eq!(layer.finish().kept_back, KEPT);
    lab.run_on_host("git restore .; git status");
    assert!(!lab.git().join("hooks/post-index-change").exists());
}

#[test]
fn a_lie_about_trees_is_not_committed() {
    let lab = GitOverlayLab::with_commit();
    let (old, layer) = (lab.run_on_host("git rev-parse HEAD^{tree}"), lab.layer());
    // The index says 2, but its tree cache says that nothing has changed.
    lab.run_inside(
        "git write-tree; cp .git/index ../old; echo 2 > f; git add f
        perl -0777 -e 'my ($n, $o) = map { open my $f, \"<\", $_; binmode $f; <$f> } @ARGV;
            my $at = index $o, \"TREE\"; my $end = index $n, \"TREE\"; $end = length($n) - 20 if $end < 0;
            print substr($n, 0, $end), substr($o, $at, length($o) - 20 - $at), \"\\0\" x 20' .git/index ../old > ../lies
        cp ../lies .git/index",
    );
    layer.finish();
    lab.run_on_host("git commit -qm two");
    assert_ne!(lab.run_on_host("git rev-parse HEAD^{tree}"), old);
    assert_eq!(lab.run_on_host("git show HEAD:f"), "2\n");
}

#[test]
fn a_split_index_stays() {
    let (lab, landed) = after("true", "git update-index --split-index; echo 2 > f; git commit -qam two");
    assert_eq!(landed.kept_back, KEPT);
    assert_eq!(lab.run_on_host("git log --format=%s"), "two\none\n");
}

#[test]
fn a_repository_of_the_run_is_not_entered() {
    stays("true", &format!("{EVIL}; git add sub"));
    // Its git directory is elsewhere.
    stays("true", &format!("{EVIL}; mv sub/.git ../evil; echo gitdir: ../../evil > sub/.git; git add sub"));
    stays("true", &format!("{EVIL}; mv sub/.git evil; echo gitdir: ../evil > sub/.git; git add sub"));
    stays("mkdir .git/modules", &format!("{EVIL}; mv sub/.git evil; ln -s ../evil sub/.git; git add sub"));
    // In the layer, or visible through it, and missing on the host.
    stays(
        "true",
        &format!(
            "{EVIL}; mkdir .git/hooks/x; mv sub/.git .git/hooks/x/y; echo gitdir: ../.git/hooks/x/y > sub/.git; git add sub"
        ),
    );
    // The path to it is not a plain directory.
    stays("true", &format!("mkdir d; cd d; {EVIL}; cd ..; git add d/sub; mv d e; ln -s e d"));
    stays(
        "true",
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; mkdir sub; echo x > sub/x",
    );
}

#[test]
fn a_link_in_the_way_of_modules_is_seen() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(&format!(
        "{EVIL}; mkdir .git/modules; mv sub/.git evil; ln -s ../../evil .git/modules/x; rm -r sub"
    ));
    let layer = lab.layer();
    lab.run_inside("mkdir sub; echo gitdir: ../.git/modules/x > sub/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub");
    assert_eq!(layer.finish().kept_back, KEPT);
}

#[test]
fn other_repositories_that_are_harmless_land() {
    let link = "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub";
    lands("true", link);
    lands("mkdir sub", link);
    // The host has it already.
    lands(
        "git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub",
        "echo 2 > f; git commit -qam two",
    );
}

#[test]
fn a_submodule_in_a_worktree_lands() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git clone -q . ../other");
    let layer = lab.layer();
    lab.run_inside(
        "git worktree add -q wt -b wt; cd wt; git submodule add -q ../../other s; git commit -qm sub",
    );
    let landed = layer.finish();
    assert_eq!((landed.kept_back, landed.faults), (vec!["config".to_owned()], vec![]));
    assert_eq!(lab.run_on_host("cd wt; git status --porcelain; git ls-files -s | grep -c 160000"), "1\n");
}
