//! Tests of a full disk: a file size limit, which needs no privileges, and a full tmpfs.

use std::process::Command;

use crate::child::WriterProcess;

#[test]
fn at_the_limit_of_a_file_the_journal_stays_whole() {
    let directory = tempfile::tempdir().unwrap();
    // The limit sends a signal, which must be ignored. Its unit is 512 or 1024 bytes.
    let child = WriterProcess::from_shell(&["sh"], "trap '' XFSZ; ulimit -f 60", "crowded");
    assert!(child.run(directory.path()).success());
}

#[test]
fn on_a_full_disk_the_journal_stays_whole_and_goes_on_when_there_is_room() {
    let may_mount = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !may_mount.is_ok_and(|output| output.status.success()) {
        println!("not tried here: no file system of our own can be mounted; the limit of a file is tried");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let setup =
        "mount -t tmpfs -o size=80k,mode=700 none \"$JOURNAL_PLACE\" && export JOURNAL_ROOM_COMES_BACK=1";
    let child = WriterProcess::from_shell(&["unshare", "-rm", "sh"], setup, "crowded");
    assert!(child.run(directory.path()).success());
}
