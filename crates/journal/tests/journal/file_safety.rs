//! Tests of the journal file: owner, permissions, planted symlinks, concurrent writers.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;

use toolgate_journal::{
    Journal, JournalEntry, JournalFault, SessionId, TornTail, read_journal, verify_journal,
};

use crate::child::WriterProcess;
use crate::support::{create_journal, empty_redactor, notice};

fn fault_text(fault: Result<impl Sized, JournalFault>, directory: &Path) -> String {
    let fault = fault.err().expect("it is refused").to_string();
    fault.replace(directory.to_str().unwrap(), "$DIR").replace(&std::process::id().to_string(), "$PID")
}

fn mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
}

#[test]
fn only_its_user_can_read_it() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("state/sessions");
    let (journal, _) = create_journal(&directory);
    let bits = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!((bits(&directory), bits(&parent.path().join("state"))), (0o700, 0o700));
    assert_eq!(bits(journal.path()), 0o600);
}

#[test]
fn nothing_is_written_where_something_is() {
    let directory = tempfile::tempdir().unwrap();
    let id: SessionId = "20261116-213602-4f9a1c".parse().unwrap();
    let path = directory.path().join(id.file_name());
    let target = directory.path().join("target");
    symlink(&target, &path).unwrap();
    insta::assert_snapshot!(fault_text(Journal::create(directory.path(), &id, empty_redactor()), directory.path()), @"there is a journal at `$DIR/20261116-213602-4f9a1c.jsonl` already");
    std::fs::write(&target, "").unwrap();
    mode(&target, 0o600);
    insta::assert_snapshot!(fault_text(Journal::reopen(directory.path(), &id, empty_redactor()), directory.path()), @"`$DIR/20261116-213602-4f9a1c.jsonl` cannot be used: it is a symbolic link");
    insta::assert_snapshot!(fault_text(verify_journal(&path), directory.path()), @"`$DIR/20261116-213602-4f9a1c.jsonl` cannot be used: it is a symbolic link");
    assert_eq!(std::fs::read(&target).unwrap(), b"");
}

#[test]
fn places_that_others_reach_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, id) = create_journal(directory.path());
    drop(journal);
    mode(&directory.path().join(id.file_name()), 0o640);
    let shown = |text: String| text.replace(id.as_str(), "$ID");
    insta::assert_snapshot!(shown(fault_text(Journal::reopen(directory.path(), &id, empty_redactor()), directory.path())), @"`$DIR/$ID.jsonl` cannot be used: others may read it or write to it: `chmod 600` it");
    mode(directory.path(), 0o770);
    insta::assert_snapshot!(fault_text(Journal::create(directory.path(), &SessionId::new(), empty_redactor()), directory.path()), @"`$DIR` cannot be used: others may write into the directory: `chmod 700` it");
    let absent = "20261116-213602-4f9a1c".parse().unwrap();
    mode(directory.path(), 0o700);
    insta::assert_snapshot!(fault_text(Journal::reopen(directory.path(), &absent, empty_redactor()), directory.path()), @"`$DIR/20261116-213602-4f9a1c.jsonl` cannot be used: No such file or directory (os error 2)");
}

#[test]
fn one_program_writes_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, id) = create_journal(directory.path());
    journal.write(&notice("mine")).unwrap();
    let fault = fault_text(Journal::reopen(directory.path(), &id, empty_redactor()), directory.path());
    let (subject, rest) = fault.split_once(" is writing").unwrap();
    // Some file systems hide the process.
    assert!(subject == "process $PID" || subject == "another program", "{fault}");
    assert_eq!(rest.replace(id.as_str(), "$ID"), " to `$DIR/$ID.jsonl`: end that session first");
    // Reading needs no lock.
    assert_eq!(read_journal(journal.path()).unwrap().records.len(), 1);
    drop(journal);
    let again = Journal::reopen(directory.path(), &id, empty_redactor()).unwrap();
    assert_eq!(again.journal.write(&notice("mine again")).unwrap(), 2);
}

#[test]
fn many_threads_write_one_chain() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, _) = create_journal(directory.path());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let journal = &journal;
            scope.spawn(move || {
                for number in 0..100 {
                    journal.write(&notice(format!("{thread}.{number}"))).unwrap();
                    if number % 40 == 0 {
                        journal.flush().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(verify_journal(journal.path()).unwrap().records, 800);
}

#[test]
fn a_torn_end_is_dropped_and_told() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, id) = create_journal(directory.path());
    journal.write(&notice("whole")).unwrap();
    let path = journal.path().to_owned();
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&whole[..], b"{\"seq\":2,\"at"].concat()).unwrap();
    let torn = Some(TornTail { line: 2, bytes: 12 });
    assert_eq!(verify_journal(&path).unwrap().torn, torn);
    assert_eq!(Journal::reopen(directory.path(), &id, empty_redactor()).unwrap().torn, torn);
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

#[test]
fn json_that_is_too_deep_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, _) = create_journal(directory.path());
    let deep = (0..500).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    journal.write(&JournalEntry::Said { wire: "chat".to_owned(), items: vec![deep] }).unwrap();
    assert_eq!(verify_journal(journal.path()).unwrap().records, 1);
}

/// Creates and reopens a journal as an unprivileged user.
#[test]
fn journal_needs_no_privileges() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = WriterProcess::with_role("ordinary");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(directory.path(), Some(65_534), Some(65_534)).unwrap();
        child = child.run_as_nobody(directory.path());
    } else {
        println!("not tried as another user: this one has no privileges already");
    }
    assert!(child.run(directory.path()).success());
}

/// A child process briefly inherits all open files between fork and exec, and with them the lock.
#[test]
fn lock_is_released_on_drop_while_programs_start() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, id) = create_journal(directory.path());
    drop(journal);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // ends: when the rounds below are over
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                // A child with its own user id is forked, as a sandbox is.
                let user = rustix::process::geteuid().as_raw();
                std::process::Command::new("true").uid(user).status().unwrap();
            }
        });
        let rounds = (0..2_000).map(|_| Journal::reopen(directory.path(), &id, empty_redactor()).map(drop));
        let refused = rounds.filter(Result::is_err).count();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(refused, 0);
    });
}
