//! Handmade upper directories: landed files, conflicts, leftovers.

use std::os::unix::fs::MetadataExt;

use rustix::fs::{XattrFlags, setxattr};

use super::support::{GitOverlayLab, loose_blob, plant};
use crate::sandbox::git::LandedChanges;

fn landed(number: usize) -> LandedChanges {
    LandedChanges { landed: number, ..LandedChanges::default() }
}

/// Creates a whiteout as an overlay without devices has it.
fn whiteout(lab: &GitOverlayLab, path: &str) {
    lab.plant(path, "");
    setxattr(lab.upper.join(path), "user.overlay.whiteout", b"", XattrFlags::empty()).unwrap();
}

fn read(lab: &GitOverlayLab, path: &str) -> String {
    std::fs::read_to_string(lab.git().join(path)).unwrap()
}

#[test]
fn an_empty_upper_directory_is_nothing() {
    let lab = GitOverlayLab::with_commit();
    assert_eq!(lab.layer().finish(), LandedChanges::default());
    std::fs::remove_dir(&lab.upper).unwrap();
    assert_eq!(lab.layer().finish().faults.len(), 1);
}

#[test]
fn objects_are_never_replaced_nor_removed() {
    let lab = GitOverlayLab::with_commit();
    let id = lab.id();
    let object = format!("objects/{}/{}", &id[..2], &id[2..]);
    let before = lab.host_git_state();
    lab.plant(&object, b"\x78\x01evil");
    let other = lab.run_on_host("git rev-parse HEAD^{tree}");
    whiteout(&lab, &format!("objects/{}/{}", &other[..2], other[2..].trim()));
    assert_eq!(lab.layer().finish(), LandedChanges::default());
    assert_eq!((lab.host_git_state(), lab.leftover_files()), (before, vec![]));
}

#[test]
fn an_object_is_read_only() {
    let lab = GitOverlayLab::with_commit();
    let (path, content) = loose_blob(b"x");
    lab.plant(&path, content);
    assert_eq!(lab.layer().finish(), landed(1));
    assert_eq!(std::fs::metadata(lab.git().join(path)).unwrap().mode() & 0o7777, 0o444);
}

#[test]
fn what_is_the_same_is_no_conflict() {
    let lab = GitOverlayLab::with_commit();
    let layer = lab.layer();
    lab.run_on_host("git commit -q --allow-empty -m two");
    lab.plant("refs/heads/main", format!("{}\n", lab.id()));
    assert_eq!(layer.finish(), LandedChanges::default());
    assert_eq!(lab.leftover_files(), [""; 0]);
}

#[test]
fn a_change_of_the_host_wins_also_over_an_earlier_run() {
    let lab = GitOverlayLab::with_commit();
    let first = lab.id();
    lab.plant("refs/heads/main", format!("{first}\n"));
    // A leftover of an earlier run is older than the host's change.
    std::thread::sleep(std::time::Duration::from_millis(20));
    lab.run_on_host("git commit -q --allow-empty -m two");
    let conflict = format!("refs/heads/main (in the sandbox: {first}; git merge {first} brings it in)");
    assert_eq!(lab.layer().finish(), LandedChanges { conflicts: vec![conflict], ..LandedChanges::default() });
    assert_ne!(lab.id(), first);
}

#[test]
fn what_landed_may_land_again() {
    let lab = GitOverlayLab::with_commit();
    let mut layer = lab.layer();
    for text in ["one", "two", "three"] {
        lab.plant("COMMIT_EDITMSG", text);
        assert_eq!(layer.land(), landed(1));
        assert_eq!((read(&lab, "COMMIT_EDITMSG"), layer.land()), (text.to_owned(), LandedChanges::default()));
    }
    for name in ["COMMIT_EDITMSG", "MERGE_MSG"] {
        lab.plant(name, "four");
        plant(&lab.git().join(name), b"host");
    }
    assert_eq!(layer.finish().conflicts, ["MERGE_MSG"]);
    assert_eq!(
        (read(&lab, "COMMIT_EDITMSG"), read(&lab, "MERGE_MSG")),
        ("host".to_owned(), "host".to_owned())
    );
}

#[test]
fn a_lock_of_another_git_is_respected() {
    let lab = GitOverlayLab::with_commit();
    lab.plant("refs/heads/x", format!("{}\n", lab.id()));
    std::fs::write(lab.git().join("refs/heads/x.lock"), "").unwrap();
    let told = lab.layer().finish();
    assert_eq!((told.landed, told.faults), (0, vec!["refs/heads/x is locked by another git".to_owned()]));
    assert_eq!(lab.leftover_files(), ["refs/heads/x"], "it may land next time");
    std::fs::remove_file(lab.git().join("refs/heads/x.lock")).unwrap();
    assert_eq!(lab.layer().finish(), landed(1));
}

#[test]
fn deletions_land_where_they_may() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(
        "git branch a; git branch b/c; touch .git/MERGE_HEAD; git pack-refs; echo x > .git/hooks/mine",
    );
    lab.run_on_host("git branch d; git branch e/f");
    let layer = lab.layer();
    for path in
        ["refs/heads/d", "refs/heads/e", "MERGE_HEAD", "packed-refs", "index", "HEAD", "config", "hooks/mine"]
    {
        whiteout(&lab, path);
    }
    let told = layer.finish();
    assert_eq!((told.landed, told.faults), (3, vec![]));
    assert_eq!(told.kept_back, ["HEAD", "config", "hooks/mine", "index", "packed-refs"]);
    assert_eq!(lab.run_on_host("git branch --format='%(refname:short)'"), "a\nb/c\nmain\n");
    lab.assert_repository_sound();
}

#[test]
fn references_are_not_lost_when_packed_ones_cannot_land() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git branch a");
    let layer = lab.layer();
    lab.plant("packed-refs", "nonsense");
    whiteout(&lab, "refs/heads/a");
    let told = layer.finish();
    assert_eq!(
        (told.kept_back, told.conflicts),
        (vec!["packed-refs".to_owned()], vec!["refs/heads/a".to_owned()])
    );
    assert!(lab.git().join("refs/heads/a").exists());
}

#[test]
fn nothing_refers_to_objects_that_could_not_land() {
    let lab = GitOverlayLab::with_commit();
    if rustix::process::getuid().is_root() {
        testkit::not_run("nothing_refers_to_objects_that_could_not_land", "root is not stopped by modes");
        return;
    }
    lab.plant("refs/heads/new", lab.id());
    lab.plant("rebase-apply/next", "1");
    let (path, content) = loose_blob(b"x");
    lab.plant(&path, content);
    lab.run_on_host(&format!("mkdir .git/{0}; chmod 555 .git/{0}", &path[..10]));
    let told = lab.layer().finish();
    assert_eq!((told.landed, told.faults.len()), (0, 2), "{told:?}");
    assert!(!lab.git().join("refs/heads/new").exists());
}

#[test]
fn what_git_could_work_out_itself_does_not_land() {
    let lab = GitOverlayLab::with_commit();
    let before = lab.host_git_state();
    for name in ["info/commit-graph", "info/commit-graphs/commit-graph-chain", "pack/multi-pack-index"] {
        lab.plant(&format!("objects/{name}"), "lies");
    }
    assert_eq!(lab.layer().finish(), LandedChanges::default());
    assert_eq!((lab.host_git_state(), lab.leftover_files()), (before, vec![]));
}

#[test]
fn exclude_file_of_a_run_is_not_reported() {
    let lab = GitOverlayLab::with_commit();
    let before = lab.host_git_state();
    let (mut layer, given) = (lab.layer(), lab.upper.join("info/exclude"));
    lab.plant("info/exclude", "ours\n");
    assert!(crate::sandbox::git::upper_dir::UpperDir::open(&lab.upper).unwrap().is_empty().unwrap());
    assert_eq!(layer.land(), LandedChanges::default());
    assert_eq!(layer.finish(), LandedChanges::default());
    let layer = lab.layer();
    lab.plant("refs/heads/x", lab.id());
    assert_eq!(layer.finish(), landed(1));
    std::fs::remove_file(lab.git().join("refs/heads/x")).unwrap();
    assert_eq!((lab.host_git_state(), lab.leftover_files()), (before, vec!["info/exclude".to_owned()]));
    let layer = lab.layer();
    std::fs::remove_file(&given).unwrap();
    whiteout(&lab, "info/exclude");
    assert_eq!(layer.finish(), LandedChanges::default());
    lab.plant("info/attributes", "x");
    assert!(!crate::sandbox::git::upper_dir::UpperDir::open(&lab.upper).unwrap().is_empty().unwrap());
}
