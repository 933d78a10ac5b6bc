//! Kills a journal writer at two hundred moments: every reported entry is present, and the journal verifies.

use std::hash::{BuildHasher, Hasher, RandomState};

use toolgate_journal::{Journal, verify_journal};

use crate::child::{WriterProcess, only_session};
use crate::support::{create_journal, empty_redactor, notice};

const KILLS: u64 = 200;
/// Kills per journal, so that no journal grows too long.
const KILLS_EACH: u64 = 10;

#[test]
fn whatever_moment_it_is_killed_the_journal_verifies() {
    let mut torn = 0;
    for _ in 0..KILLS / KILLS_EACH {
        let directory = tempfile::tempdir().unwrap();
        drop(create_journal(directory.path()));
        for _ in 0..KILLS_EACH {
            let chance = RandomState::new().build_hasher().finish() % 12;
            let said = WriterProcess::with_role("writer").kill_after_writes(directory.path(), chance);
            let id = only_session(directory.path());
            let reopened = Journal::reopen(directory.path(), &id, empty_redactor()).unwrap();
            assert!(reopened.records.len() as u64 >= said, "{said} were written");
            torn += u64::from(reopened.torn.is_some());
            reopened.journal.write(&notice("after the kill")).unwrap();
            let verified = verify_journal(reopened.journal.path()).unwrap();
            assert_eq!((verified.records, verified.torn), (reopened.records.len() as u64 + 1, None));
        }
    }
    println!("{KILLS} kills, {torn} torn lines");
}
