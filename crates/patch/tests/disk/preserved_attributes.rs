//! Tests attributes that a file keeps when it changes, and that one file changed meanwhile stops the whole commit.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use rustix::fs::XattrFlags;
use toolgate_patch::{CommitMilestone, CommitStep, FileTree, NewFile};

use super::{DiskFixture, delete, is_root, put_step};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Builds an access control list in the kernel's format: rw for the owner, r for user 1234, the mask, nothing for
/// others.
fn access_list() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, u32::MAX), (2, 4, 1234), (4, 0, u32::MAX), (0x10, 4, u32::MAX), (0x20, 0, u32::MAX)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permission, id) in entries {
        list.extend(tag.to_le_bytes().into_iter().chain(permission.to_le_bytes()).chain(id.to_le_bytes()));
    }
    list
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 1024];
    let length = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

#[test]
fn modes_are_kept_but_for_special_bits() {
    let ground = DiskFixture::new();
    for (before, after) in
        [(0o644, 0o644), (0o755, 0o755), (0o600, 0o600), (0o664, 0o664), (0o4755, 0o755), (0o2755, 0o755)]
    {
        let path = ground.write("file", "old");
        set_mode(&path, before);
        ground.commit(&[put_step("file", ground.stamp("file"), "new")]).unwrap();
        assert_eq!((mode(&path), ground.read("file").as_str()), (after, "new"), "{before:o}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_read_only_file_is_moved_and_deleted_but_not_changed() {
    let ground = DiskFixture::new();
    for name in ["file", "moved"] {
        set_mode(&ground.write(name, "old"), 0o444);
    }
    let steps = [put_step("new", None, "new"), put_step("file", ground.stamp("file"), "new")];
    let what = "`file` is read-only for everybody (mode 0444), so it is not meant to be changed; `chmod u+w` it first if it is";
    assert_eq!(ground.disk().check_steps(&steps).unwrap_err().what, what);
    assert_eq!(ground.commit(&steps).unwrap_err().what, what);
    assert_eq!(ground.names(), ["in", "in/file", "in/moved", "out", "out/secret"]);
    let moved = NewFile {
        bytes: b"old".to_vec().into(),
        executable: None,
        attributes_from: Some("moved".to_owned()),
    };
    let moved = CommitStep { path: "to".to_owned(), found_version: None, new_file: Some(moved) };
    ground
        .commit(&[delete("file", ground.stamp("file")), delete("moved", ground.stamp("moved")), moved])
        .unwrap();
    assert_eq!((ground.read("to").as_str(), mode(&ground.path("to"))), ("old", 0o444));
}

#[test]
fn each_file_is_told_of_when_it_is_written_and_when_it_is_there() {
    let ground = DiskFixture::new();
    ground.write("b", "old");
    let steps = [put_step("c", None, "new"), delete("b", ground.stamp("b")), put_step("a", None, "new")];
    let mut told = Vec::new();
    let mut tell = |milestone: CommitMilestone<'_>| {
        told.push(match milestone {
            CommitMilestone::Written(step) => format!("{} written", step.path),
            CommitMilestone::Placed(step) => format!("{} placed", step.path),
        });
    };
    ground.disk().commit_with(&steps, &ground.records(), &mut tell).unwrap();
    assert_eq!(told, ["c written", "a written", "c placed", "b placed", "a placed"]);
}

#[test]
fn a_patch_can_say_what_can_be_run() {
    let ground = DiskFixture::new();
    let path = ground.write("file", "old");
    set_mode(&path, 0o640);
    for (executable, after) in [(Some(true), 0o750), (None, 0o750), (Some(false), 0o640)] {
        let mut step = put_step("file", ground.stamp("file"), "new");
        step.new_file.as_mut().unwrap().executable = executable;
        ground.commit(&[step]).unwrap();
        assert_eq!(mode(&path), after);
        assert_eq!(ground.disk().look_up("file").unwrap().file.unwrap().executable, after & 0o100 != 0);
    }
    let mut step = put_step("script", None, "new");
    step.new_file.as_mut().unwrap().executable = Some(true);
    ground.commit(&[step, put_step("plain", None, "new")]).unwrap();
    assert_eq!(mode(&ground.path("script")) & 0o100, 0o100);
    let plain = ground.write("reference", "");
    assert_eq!(mode(&ground.path("plain")), mode(&plain));
}

#[test]
fn access_lists_and_attributes_are_kept() {
    let ground = DiskFixture::new();
    let path = ground.write("file", "old");
    let list = access_list();
    let set = |name, value: &[u8]| rustix::fs::setxattr(&path, name, value, XattrFlags::empty());
    // A file system without attributes has nothing to keep.
    let has_list = set("system.posix_acl_access", &list).is_ok();
    let has_user = set("user.note", b"kept").is_ok();
    ground.commit(&[put_step("file", ground.stamp("file"), "new")]).unwrap();
    assert_eq!(ground.read("file"), "new");
    assert_eq!(attribute(&path, "user.note").is_some(), has_user);
    assert_eq!(attribute(&path, "system.posix_acl_access"), has_list.then_some(list));
}

#[test]
fn a_default_access_list_does_not_open_an_old_file() {
    let ground = DiskFixture::new();
    let path = ground.write("file", "old");
    set_mode(&path, 0o600);
    let set = rustix::fs::setxattr(
        ground.path(""),
        "system.posix_acl_default",
        &access_list(),
        XattrFlags::empty(),
    );
    ground.commit(&[put_step("file", ground.stamp("file"), "new"), put_step("made", None, "new")]).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(attribute(&path, "system.posix_acl_access"), None);
    assert_eq!(attribute(&ground.path("made"), "system.posix_acl_access").is_some(), set.is_ok());
}

#[test]
fn owners_are_kept_if_the_user_may() {
    let ground = DiskFixture::new();
    let path = ground.write("file", "old");
    if is_root() {
        chown(&path, Some(1234), Some(4321)).unwrap();
    }
    let before = fs::metadata(&path).unwrap();
    ground.commit(&[put_step("file", ground.stamp("file"), "new")]).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino());
}

#[test]
fn a_move_takes_its_attributes_along() {
    let ground = DiskFixture::new();
    set_mode(&ground.write("from", "old"), 0o711);
    let moved =
        NewFile { bytes: b"new".to_vec().into(), executable: None, attributes_from: Some("from".to_owned()) };
    let steps = [
        delete("from", ground.stamp("from")),
        CommitStep { path: "deep/to".to_owned(), found_version: None, new_file: Some(moved) },
    ];
    ground.commit(&steps).unwrap();
    assert_eq!(mode(&ground.path("deep/to")), 0o711);
    assert_eq!(ground.names(), ["in", "in/deep", "in/deep/to", "out", "out/secret"]);
}

#[test]
fn a_file_changed_meanwhile_stops_all() {
    let ground = DiskFixture::new();
    for name in ["a", "b", "c"] {
        ground.write(name, "old");
    }
    let steps = [
        put_step("a", ground.stamp("a"), "new"),
        put_step("x/y/z", None, "new"),
        delete("b", ground.stamp("b")),
        put_step("c", ground.stamp("c"), "new"),
    ];
    let before = ground.names();
    // Changes in place, by another file, and by a directory, each while the first files are already in place.
    let changes: [&dyn Fn(&Path); 3] = [
        &|path| fs::write(path, "other").unwrap(),
        &|path| {
            fs::write(path.with_extension("tmp"), "other").unwrap();
            fs::rename(path.with_extension("tmp"), path).unwrap();
        },
        &|path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
    ];
    for change in changes {
        let steps: Vec<CommitStep> = steps.iter().cloned().map(|step| refreshed(&ground, step)).collect();
        let mut told = Vec::new();
        let refusal = ground.disk().commit_with(&steps, &ground.records(), &mut |milestone| {
            let CommitMilestone::Placed(step) = milestone else { return };
            told.push(step.path.clone());
            if step.path == "b" {
                change(&ground.path("c"));
            }
        });
        let refusal = refusal.unwrap_err();
        assert_eq!(refusal.path, "c");
        assert!(refusal.what.contains("changed meanwhile"), "{refusal}");
        assert_eq!(told, ["a", "x/y/z", "b"]);
        assert_eq!((ground.read("a"), ground.read("b")), ("old".to_owned(), "old".to_owned()));
        assert!(!ground.path("x").exists());
        if ground.path("c").is_dir() {
            fs::remove_dir(ground.path("c")).unwrap();
            ground.write("c", "other");
        }
        assert_eq!(ground.read("c"), "other");
        assert_eq!(ground.names(), before);
    }
}

fn refreshed(ground: &DiskFixture, step: CommitStep) -> CommitStep {
    CommitStep { found_version: ground.stamp(&step.path), ..step }
}

#[test]
fn a_stale_stamp_stops_all() {
    let ground = DiskFixture::new();
    ground.write("a", "old");
    ground.write("b", "old");
    let steps = [put_step("a", ground.stamp("a"), "new"), put_step("b", ground.stamp("b"), "new")];
    ground.write("b", "xxx");
    let refusal = ground.commit(&steps).unwrap_err();
    assert_eq!(refusal.what, "`b` has changed meanwhile; read it again");
    assert_eq!(ground.read("a"), "old");
}
