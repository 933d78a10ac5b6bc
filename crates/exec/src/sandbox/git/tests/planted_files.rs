//! Tests of git directories that commands plant.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::support::GitOverlayLab;
use crate::sandbox::git::{PlantedFileWatch, Repository};

/// A repository in the tree whose configuration would run a program.
const EVIL: &str = "git init -q x; git -C x commit -q --allow-empty -m x; git -C x config core.fsmonitor 'touch ../../ran;false'";

/// Returns the watch of a session over the repository of `lab`.
fn watch(lab: &GitOverlayLab) -> PlantedFileWatch {
    let repository = Repository { at: lab.git(), root: lab.tree.clone() };
    PlantedFileWatch::new(std::iter::empty(), &[repository], Vec::new(), Vec::new())
}

/// Runs `script` as a command of the session of `strays`, and returns the notes after it.
fn run(lab: &GitOverlayLab, strays: &PlantedFileWatch, script: &str) -> Vec<String> {
    strays.begin_run();
    let layer = lab.layer();
    lab.run_inside(script);
    let landed = layer.finish();
    strays.defuse(&BTreeSet::new(), landed.landed > 0)
}

/// Asserts that the user can continue to work without running anything that a command has created.
fn is_harmless(lab: &GitOverlayLab, work: &str) {
    lab.run_on_host(&format!("{work}; git status"));
    assert!(!lab.base.join("ran").exists(), "{work}");
}

#[test]
fn a_repository_that_a_commit_names_is_renamed() {
    for (script, work) in [
        (format!("{EVIL}; git add x; git commit -qm x"), "git reset -q"),
        (
            format!("git switch -qc feat; {EVIL}; git add x; git commit -qm x; git switch -q main"),
            "git switch -q feat",
        ),
        (format!("mkdir d; cd d; {EVIL}; cd ..; git add d; git commit -qm x"), "git reset -q"),
        (format!("{EVIL}; git add x; git commit -qm x; git gc -q; git tag -a -m t t"), "git reset -q"),
    ] {
        let lab = GitOverlayLab::with_commit();
        let told = run(&lab, &watch(&lab), &script.replace("../../ran", "$PWD/../ran"));
        assert!(told.iter().any(|told| told.contains("x/.git` was renamed to")), "{script} {told:?}");
        is_harmless(&lab, work);
    }
}

#[test]
fn a_gitlink_is_seen_however_its_mode_is_written() {
    for mode in ["160000", "0160000", "170000"] {
        let lab = GitOverlayLab::with_commit();
        let script = format!(
            "{EVIL}; id=$(git -C x rev-parse HEAD)
            tree=$({{ printf '{mode} x\\0'; printf $id | sed 's/../\\\\x&/g' | xargs -0 printf '%b'; }} |
                git hash-object -t tree --literally -w --stdin)
            git update-ref refs/heads/feat $(git commit-tree -m x $tree)"
        );
        let told = run(&lab, &watch(&lab), &script);
        assert!(told.iter().any(|told| told.contains("x/.git` was renamed to")), "{mode} {told:?}");
    }
}

#[test]
fn a_repository_is_renamed_where_another_branch_names_one() {
    let link = "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),x; git commit -qm m";
    // Loose objects, and packed ones.
    for pack in ["true", "git gc -q"] {
        let lab = GitOverlayLab::with_commit();
        lab.run_on_host(&format!("git switch -qc feat; {link}; git switch -q main; rmdir x || true; {pack}"));
        let strays = watch(&lab);
        let told = run(&lab, &strays, EVIL);
        assert!(told.iter().any(|told| told.contains("x/.git` was renamed to")), "{told:?}");
        is_harmless(&lab, "git switch -q feat");
        // A later run can create another.
        assert_eq!(run(&lab, &strays, "git init -q x").len(), 1);
    }
}

#[test]
fn a_repository_of_the_user_stays_and_is_told() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git init -q x; git -C x commit -q --allow-empty -m x");
    let strays = watch(&lab).trusting(std::iter::once(lab.tree.join("x")));
    let told = run(&lab, &strays, "git add x; git commit -qm x");
    assert!(told.iter().any(|told| told.starts_with("WARNING: a command has made a commit")), "{told:?}");
    assert!(lab.tree.join("x/.git").exists());
    // It is reported once.
    assert_eq!(run(&lab, &strays, "echo 2 > f; git commit -qam two"), [""; 0]);
}

#[test]
fn a_sentence_is_said_once_in_a_run() {
    let lab = GitOverlayLab::new();
    let at = lab.tree.join("my.conf");
    let missing = vec![(at.clone(), "use git here".to_owned())];
    let strays = PlantedFileWatch::new(std::iter::empty::<&PathBuf>(), &[], missing, vec!["left".to_owned()]);
    assert_eq!(strays.defuse(&BTreeSet::new(), false), ["left"]);
    lab.run_on_host("echo > my.conf");
    assert_eq!(strays.defuse(&BTreeSet::new(), false).len(), 1);
    assert!(!at.exists() && strays.defuse(&BTreeSet::new(), false).is_empty());
}

#[test]
fn a_root_becomes_no_repository_whatever_its_mode() {
    let lab = GitOverlayLab::new();
    let strays = PlantedFileWatch::new(std::iter::once(&lab.tree), &[], Vec::new(), Vec::new());
    for mode in ["755", "644", "000"] {
        lab.run_on_host(&format!("mkdir -p objects refs; echo 'ref: refs/heads/x' > HEAD; chmod {mode} ."));
        let told = strays.defuse(&BTreeSet::new(), false);
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&lab.tree, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!((told.len(), lab.tree.join("HEAD").exists()), (1, false), "{mode}");
    }
}

#[test]
fn an_older_directory_does_not_disguise_a_repository() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("mkdir olddir; touch olddir/x");
    std::thread::sleep(std::time::Duration::from_millis(50));
    let script = format!(
        "{EVIL}; git add x; git commit -qm x; rm olddir/x; cp -r x/.git/. olddir; rm -rf x/.git; mv olddir x/.git
         git reset -q HEAD~1; git branch evil ORIG_HEAD"
    );
    let told = run(&lab, &watch(&lab), &script.replace("../../ran", "$PWD/../ran"));
    assert!(told.iter().any(|told| told.contains("x/.git` was renamed to")), "{told:?}");
    is_harmless(&lab, "git switch -q evil");
}
