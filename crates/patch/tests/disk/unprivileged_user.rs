//! Tests of disk commits without root: reruns the suite as another user; locked directories; files of another user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use toolgate_patch::FileTree;

use super::{DiskFixture, is_root, put_step};

const UNPRIVILEGED_ID: u32 = 65534;

#[test]
fn the_same_holds_for_the_user_nobody() {
    if !is_root() {
        // The other tests have already run without privileges.
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = temp.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.env("TMPDIR", temp.path()).current_dir(temp.path()).uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID);
    command.args(["--skip", "racing", "--skip", "model"]);
    // Cases that only root can run have run already, and the user `nobody` may not write root's list of them.
    command.env_remove("TOOLGATE_NOT_RUN");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_may_not_be_written_says_so_and_stays() {
    if is_root() {
        return;
    }
    let ground = DiskFixture::new();
    ground.write("locked/file", "old");
    ground.write("free", "old");
    let steps = [
        put_step("free", ground.stamp("free"), "new"),
        put_step("locked/file", ground.stamp("locked/file"), "new"),
    ];
    let lock = |mode| fs::set_permissions(ground.path("locked"), fs::Permissions::from_mode(mode)).unwrap();
    lock(0o555);
    let refusal = ground.commit(&steps).unwrap_err();
    assert!(refusal.what.contains("Permission denied"), "{refusal}");
    assert_eq!(ground.read("free"), "old");
    // A directory with write and search permission, but no read permission.
    lock(0o333);
    ground.commit(&steps).unwrap();
    lock(0o755);
    assert_eq!(ground.read("locked/file"), "new");
    fs::set_permissions(ground.path("free"), fs::Permissions::from_mode(0o000)).unwrap();
    assert!(ground.disk().look_up("free").unwrap_err().what.contains("Permission denied"));
    ground.names();
}

/// A file of another user in the user's own directory is replaced only if the user could write to it. The permissions
/// of its group do not pass to the user's group.
#[test]
fn a_foreign_file_does_not_open_up() {
    const HERE: &str = "TOOLGATE_DISK_FOREIGN";
    if let Some(base) = std::env::var_os(HERE) {
        let disk = toolgate_patch::DiskTree::open_at(&Path::new(&base).join("in")).unwrap();
        let found = disk.look_up("file").unwrap().file.map(|file| file.version);
        let done = disk.commit(&[put_step("file", found, "new")], &Path::new(&base).join("in/records"));
        let mode = fs::metadata(Path::new(&base).join("in/file")).unwrap().mode();
        match done {
            Ok(()) => assert_eq!(mode & 0o2, 0o2),
            Err(refusal) => {
                assert!(refusal.what.contains("may not be written by this user (mode 0664, owner 0)"));
            }
        }
        return;
    }
    if !is_root() {
        testkit::not_run("a_foreign_file_does_not_open_up", "only root has files of two users");
        return;
    }
    let ground = DiskFixture::new();
    let file = ground.write("file", "old");
    fs::set_permissions(ground.base(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(ground.path(""), Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID)).unwrap();
    let program = ground.base().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for (mode, after) in [(0o664, (0, 0, 0o664)), (0o676, (UNPRIVILEGED_ID, UNPRIVILEGED_ID, 0o666))] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let mut command = Command::new(&program);
        command.env(HERE, ground.base()).uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID);
        let output =
            command.args(["--exact", "unprivileged_user::a_foreign_file_does_not_open_up"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let meta = fs::metadata(&file).unwrap();
        assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o7777), after);
    }
}
