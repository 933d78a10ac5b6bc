//! Tests of `toolgate patch` as an unprivileged user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use tempfile::TempDir;
use testkit::WorldExecutableCopy;

use super::CHANGE;

const UNPRIVILEGED_ID: u32 = 65534;

/// Creates a home and a project owned by the user 65534; `None` without root.
fn ground() -> Option<TempDir> {
    let ground = tempfile::tempdir().unwrap();
    if fs::metadata(ground.path()).unwrap().uid() != 0 {
        return None;
    }
    for name in ["", "home", "project"] {
        let path = ground.path().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        chown(&path, Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID)).unwrap();
    }
    let file = ground.path().join("project/a.txt");
    fs::write(&file, "one\ntwo\n").unwrap();
    chown(&file, Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID)).unwrap();
    Some(ground)
}

fn patch(ground: &TempDir) -> Output {
    // The checkout may lie in a directory that this user cannot enter.
    let toolgate = WorldExecutableCopy::new(env!("CARGO_BIN_EXE_toolgate"));
    Command::new(toolgate.path())
        .args(["patch", CHANGE])
        .current_dir(ground.path().join("project"))
        .env_clear()
        .env("HOME", ground.path().join("home"))
        .uid(UNPRIVILEGED_ID)
        .gid(UNPRIVILEGED_ID)
        .output()
        .unwrap()
}

#[test]
fn unprivileged_user_patches_own_files() {
    let Some(ground) = ground() else { return };
    let ran = patch(&ground);
    assert_eq!((ran.status.code(), &*ran.stdout), (Some(0), &b"M a.txt\n"[..]), "{ran:?}");
    let file = ground.path().join("project/a.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n2\n");
    assert_eq!(fs::metadata(file).unwrap().uid(), UNPRIVILEGED_ID);
}

#[test]
fn unprivileged_user_changes_nothing_without_write_permission() {
    let Some(ground) = ground() else { return };
    chown(ground.path().join("project"), Some(0), Some(0)).unwrap();
    let ran = patch(&ground);
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{told}");
    assert!(told.contains("a.txt") && told.contains("Permission denied"), "{told}");
    assert_eq!(fs::read_to_string(ground.path().join("project/a.txt")).unwrap(), "one\ntwo\n");
    assert_eq!(fs::read_dir(ground.path().join("project")).unwrap().count(), 1);
}

#[test]
fn without_a_place_for_records_nothing_is_changed() {
    let Some(ground) = ground() else { return };
    chown(ground.path().join("home"), Some(0), Some(0)).unwrap();
    let ran = patch(&ground);
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{told}");
    assert!(told.contains("without a record"), "{told}");
    assert_eq!(fs::read_to_string(ground.path().join("project/a.txt")).unwrap(), "one\ntwo\n");
}
