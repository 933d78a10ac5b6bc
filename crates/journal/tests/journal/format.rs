//! Tests of the journal format: entry kinds and script of `docs/journal.md`, newer entry kinds, broken chains.

use std::process::Command;

use toolgate_journal::{Journal, JournalEntry, JournalFault, JournalReader, read_journal, verify_journal};

use crate::support::{create_journal, empty_redactor, every_entry_kind, notice, write_entries};

const PAGE: &str = include_str!("../../../../docs/journal.md");

#[test]
fn every_kind_reads_back_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, _) = create_journal(directory.path());
    for (at, entry) in every_entry_kind().iter().enumerate() {
        assert_eq!(journal.write(entry).unwrap(), at as u64 + 1);
    }
    let reading = read_journal(journal.path()).unwrap();
    assert_eq!(reading.torn, None);
    assert_eq!(
        reading.records.iter().map(|record| record.entry.clone()).collect::<Vec<_>>(),
        every_entry_kind()
    );
    assert!(
        reading.records.iter().zip(1..).all(|(record, seq)| record.seq == seq && record.at.ends_with('Z'))
    );
}

#[test]
fn the_page_shows_every_kind_as_it_is_written() {
    for entry in every_entry_kind() {
        let json = serde_json::to_string(&entry).unwrap();
        let shown = json.replace(&"ab".repeat(32), "ab…");
        assert!(PAGE.contains(&shown), "docs/journal.md has no\n{shown}");
    }
}

#[test]
fn the_script_of_the_page_checks_a_journal() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, id) = create_journal(directory.path());
    write_entries(&journal, &every_entry_kind());
    let script = PAGE.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(script.lines().count() <= 12);
    let run = |path: &std::path::Path| {
        let output = Command::new("python3").args(["-c", script]).arg(path).output().unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let head = verify_journal(journal.path()).unwrap().last_hash;
    assert_eq!(run(journal.path()), (true, format!("{head}\n"), String::new()));
    let broken = std::fs::read_to_string(journal.path()).unwrap().replacen("git log", "git lag", 1);
    let copy = directory.path().join(format!("{id}.copy"));
    std::fs::write(&copy, broken).unwrap();
    assert_eq!(run(&copy), (false, String::new(), "line 5: the hash differs\n".to_owned()));
}

#[test]
fn what_a_newer_program_wrote_is_read_and_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, id) = create_journal(directory.path());
    let newer = serde_json::json!({"kind": "dream", "of": "sheep"});
    assert!(matches!(journal.write(&JournalEntry::Unknown(newer.clone())), Err(JournalFault::Unknown)));
    drop(journal);
    let body = r#"{"seq":1,"at":"2026-11-16T21:36:02.123Z","kind":"dream","of":"sheep""#;
    let script = "import hashlib,sys; print(hashlib.sha256(b'0'*64+sys.argv[1].encode()).hexdigest())";
    let hash = Command::new("python3").args(["-c", script, body]).output().unwrap().stdout;
    let hash = String::from_utf8(hash).unwrap();
    let path = directory.path().join(id.file_name());
    std::fs::write(&path, format!("{body},\"hash\":\"{}\"}}\n", hash.trim())).unwrap();
    let reopened = Journal::reopen(directory.path(), &id, empty_redactor()).unwrap();
    assert_eq!(reopened.records[0].entry, JournalEntry::Unknown(newer));
    reopened.journal.write(&notice("after it")).unwrap();
    assert_eq!(verify_journal(&path).unwrap().records, 2);
}

#[test]
fn broken_chain_is_reported_by_line() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, _) = create_journal(directory.path());
    write_entries(&journal, &[0, 1, 2, 3].map(|number| notice(format!("n{number}"))));
    let text = std::fs::read_to_string(journal.path()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let without = |line: usize| [&lines[..line], &lines[line + 1..]].concat().concat();
    let swapped = [lines[0], lines[2], lines[1], lines[3]].concat();
    for (changed, told) in [
        (without(1), "line 2 has the number 3, and should have 2"),
        (without(0), "line 1 has the number 2, and should have 1"),
        (swapped, "line 2 has the number 3, and should have 2"),
        (text.replacen("n2", "x2", 1), "line 3 has the hash "),
        (text.replacen("\"kind\"", "\"kind", 1), "line 1 is not a JSON object: "),
        (text.replacen("\"hash\"", "\"hush\"", 1), "line 1 does not end with a hash"),
        (text.clone() + "[1]\n", "line 5 is not a JSON object: it is another value"),
        (text.clone() + "\n", "line 5 is not a JSON object: "),
    ] {
        let copy = directory.path().join("copy");
        std::fs::write(&copy, changed).unwrap();
        let Err(JournalFault::Broken { broken, .. }) = verify_journal(&copy) else { panic!("{told}") };
        assert!(broken.to_string().starts_with(told), "{broken}");
        // Records before the break can still be read, and none after it.
        let before = JournalReader::open(&copy).unwrap().take_while(Result::is_ok).count() as u64;
        assert_eq!(before + 1, broken.line);
    }
}
