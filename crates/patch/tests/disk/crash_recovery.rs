//! Tests crash recovery: commits are completed or rolled back, and foreign files and records stay untouched.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use toolgate_patch::{RecoveryOutcome, recover};

use super::{DiskFixture, is_root, put_step};

const ID: &str = "0123456789abcdef";

fn temp(at: usize) -> String {
    format!(".toolgate-{ID}-{at}")
}

/// Returns the record of a commit of `dir/file` that was staged and committed, but not finished.
fn crashed(ground: &DiskFixture) -> serde_json::Value {
    ground.write("dir/file", "old");
    ground.write(&format!("dir/{}", temp(0)), "new");
    let (dir, file) =
        (fs::metadata(ground.path("dir")).unwrap(), fs::metadata(ground.path("dir/file")).unwrap());
    let staged = fs::metadata(ground.path("dir").join(temp(0))).unwrap();
    let mtime = i128::from(file.mtime()) * 1_000_000_000 + i128::from(file.mtime_nsec());
    serde_json::json!({
        "version": 1, "id": ID, "phase": "committed", "root": ground.path(""),
        "folders": [{ "path": ground.path("dir"), "id": { "dev": dir.dev(), "ino": dir.ino() }, "made_in": null }],
        "moves": [{
            "folder": 0, "leaf": "file", "temp": temp(0), "puts": true,
            "staged": { "dev": staged.dev(), "ino": staged.ino() },
            "found": { "dev": file.dev(), "ino": file.ino(), "size": file.size(), "mtime": i64::try_from(mtime).unwrap() },
        }],
    })
}

fn leave(ground: &DiskFixture, record: &serde_json::Value) {
    let _ = fs::create_dir(ground.records());
    fs::set_permissions(ground.records(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(ground.records().join(format!("{ID}.json")), record.to_string()).unwrap();
}

#[track_caller]
fn left(ground: &DiskFixture, why: &str) {
    let recovered = recover(&ground.records()).unwrap();
    let [one] = &recovered[..] else { panic!("{recovered:?}") };
    let RecoveryOutcome::RecordKept(said) = &one.outcome else { panic!("{one:?}") };
    assert!(said.contains(why), "{said}");
    assert!(ground.records().join(format!("{ID}.json")).exists());
}

fn outcome(ground: &DiskFixture) -> RecoveryOutcome {
    recover(&ground.records()).unwrap().remove(0).outcome
}

#[test]
fn what_was_committed_is_finished() {
    let ground = DiskFixture::new();
    leave(&ground, &crashed(&ground));
    assert_eq!(outcome(&ground), RecoveryOutcome::RolledForward);
    assert_eq!(ground.read("dir/file"), "new");
    assert_eq!(ground.names(), ["in", "in/dir", "in/dir/file", "out", "out/secret"]);
}

#[test]
fn a_record_of_which_nothing_reached_the_disk_never_began() {
    let ground = DiskFixture::new();
    for hollow in [Vec::new(), vec![0; 512]] {
        leave(&ground, &serde_json::Value::Null);
        fs::write(ground.records().join(format!("{ID}.json")), hollow).unwrap();
        assert_eq!(recover(&ground.records()).unwrap(), []);
        assert!(!ground.records().join(format!("{ID}.json")).exists());
    }
}

#[test]
fn the_next_commit_recovers_first() {
    let ground = DiskFixture::new();
    leave(&ground, &crashed(&ground));
    ground.commit(&[put_step("other", None, "")]).unwrap();
    assert_eq!(ground.read("dir/file"), "new");
    ground.names();
}

#[test]
fn a_commit_whose_file_changed_since_is_rolled_back() {
    let ground = DiskFixture::new();
    leave(&ground, &crashed(&ground));
    ground.write("dir/file", "theirs");
    assert_eq!(outcome(&ground), RecoveryOutcome::RolledBack);
    assert_eq!(ground.read("dir/file"), "theirs");
    ground.names();
}

#[test]
fn a_directory_that_became_a_link_is_not_entered() {
    let ground = DiskFixture::new();
    leave(&ground, &crashed(&ground));
    fs::rename(ground.path("dir"), ground.out("dir")).unwrap();
    symlink(ground.out("dir"), ground.path("dir")).unwrap();
    left(&ground, "cannot be entered");
    assert_eq!(fs::read_to_string(ground.out("dir/file")).unwrap(), "old");
}

#[test]
fn another_directory_is_not_touched() {
    let ground = DiskFixture::new();
    leave(&ground, &crashed(&ground));
    fs::rename(ground.path("dir"), ground.path("away")).unwrap();
    ground.write("dir/file", "other");
    fs::write(ground.path("dir").join(temp(0)), "bait").unwrap();
    left(&ground, "another directory");
    assert_eq!(fs::read_to_string(ground.path("dir").join(temp(0))).unwrap(), "bait");
}

#[test]
fn another_file_under_the_temporary_name_is_not_touched() {
    let ground = DiskFixture::new();
    leave(&ground, &crashed(&ground));
    let path = ground.path("dir").join(temp(0));
    fs::write(ground.out("bait"), "bait").unwrap();
    fs::rename(ground.out("bait"), &path).unwrap();
    // It may be a foreign file that an exchange moved away, so its record is kept.
    assert!(matches!(outcome(&ground), RecoveryOutcome::RecordKept(_)));
    assert_eq!((ground.read("dir/file"), fs::read_to_string(path).unwrap()), ("old".into(), "bait".into()));
}

#[test]
fn a_directory_that_is_gone_takes_its_record_along() {
    let ground = DiskFixture::new();
    leave(&ground, &crashed(&ground));
    fs::remove_dir_all(ground.path("dir")).unwrap();
    assert_eq!(outcome(&ground), RecoveryOutcome::RolledBack);
    assert_eq!(recover(&ground.records()).unwrap(), []);
}

#[test]
fn records_that_are_not_ours_are_left() {
    let ground = DiskFixture::new();
    let good = crashed(&ground);
    let spoil = |at: &str, value: serde_json::Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = value;
        leave(&ground, &bad);
    };
    spoil("/version", 2.into());
    left(&ground, "another version");
    spoil("/id", "fedcba9876543210".into());
    left(&ground, "its name");
    for (at, value) in [
        ("/moves/0/leaf", "../file".into()),
        ("/moves/0/leaf", "..".into()),
        ("/moves/0/temp", "file".into()),
        ("/moves/0/folder", 1.into()),
        ("/moves/0/staged", serde_json::Value::Null),
        ("/folders/0/path", "relative".into()),
        ("/folders/0/made_in", 0.into()),
    ] {
        spoil(at, value);
        left(&ground, "do not fit");
    }
    spoil("/phase", "later".into());
    left(&ground, "not a record");
    leave(&ground, &"torn".into());
    left(&ground, "not a record");
    if is_root() {
        leave(&ground, &good);
        let file = ground.records().join(format!("{ID}.json"));
        std::os::unix::fs::chown(file, Some(1234), None).unwrap();
        left(&ground, "another user");
    }
    assert_eq!(ground.read("dir/file"), "old");
    ground.commit(&[put_step("other", None, "")]).unwrap();
}

#[test]
fn records_must_be_private() {
    let ground = DiskFixture::new();
    fs::create_dir(ground.records()).unwrap();
    fs::set_permissions(ground.records(), fs::Permissions::from_mode(0o755)).unwrap();
    let refusal = ground.commit(&[put_step("file", None, "")]).unwrap_err();
    assert!(refusal.what.contains("no other user may have access"), "{refusal}");
    assert_eq!(recover(Path::new("/nowhere/at/all")).unwrap(), []);
}
