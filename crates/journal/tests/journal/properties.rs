//! Property tests of journals: entries read back, changes located, truncated files repaired, no secrets.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;
use toolgate_journal::{
    Journal, JournalEntry, JournalFault, RecordedCall, RecordedCallForm, Redactor, SessionId, read_journal,
    verify_journal,
};

use crate::support::{create_journal, empty_redactor, notice, write_entries};

/// Returns a closed journal with short and long lines.
fn written(texts: &[String]) -> (TempDir, SessionId, PathBuf, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let (journal, id) = create_journal(directory.path());
    write_entries(&journal, &texts.iter().map(notice).collect::<Vec<_>>());
    let path = journal.path().to_owned();
    drop(journal);
    let bytes = std::fs::read(&path).unwrap();
    (directory, id, path, bytes)
}

fn line_of(bytes: &[u8], at: usize) -> u64 {
    bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[^=:]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[^=:]{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn entry() -> impl Strategy<Value = JournalEntry> {
    // Without characters that would make a secret of the following text.
    let text = "[^=:]{0,60}";
    prop_oneof![
        text.prop_map(|text| JournalEntry::Prompt { text, images: Vec::new() }),
        (text, prop::collection::vec(value(), 0..3))
            .prop_map(|(wire, items)| JournalEntry::Said { wire, items }),
        (text, text, text).prop_map(|(id, tool, arguments)| JournalEntry::Call(RecordedCall {
            id,
            tool,
            form: RecordedCallForm::Custom,
            arguments,
            remote: None
        })),
        (text, prop::collection::vec(text, 0..4))
            .prop_map(|(call, effects)| JournalEntry::Intent { call, effects }),
        (any::<u64>(), text).prop_map(|(dropped, summary)| JournalEntry::Compacted { summary, dropped }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_entries_are_read_back(entries in prop::collection::vec(entry(), 1..12)) {
        let directory = tempfile::tempdir().unwrap();
        let (journal, _) = create_journal(directory.path());
        write_entries(&journal, &entries);
        let read: Vec<JournalEntry> = read_journal(journal.path()).unwrap().records.into_iter().map(|record| record.entry).collect();
        prop_assert_eq!(read, entries);
    }

    #[test]
    fn a_changed_byte_is_named_by_its_line(
        texts in prop::collection::vec("[a-z]{0,700}", 1..6),
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let (_directory, _, path, mut bytes) = written(&texts);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        std::fs::write(&path, &bytes).unwrap();
        let line = match verify_journal(&path) {
            Err(JournalFault::Broken { broken, .. }) => broken.line,
            Ok(verified) => verified.torn.expect("the last line has no end, or a hole").line,
            Err(other) => panic!("{other}"),
        };
        prop_assert_eq!(line, line_of(&bytes, at));
    }

    #[test]
    fn truncated_file_is_repaired(
        texts in prop::collection::vec("[a-z]{0,700}", 1..6),
        at in any::<prop::sample::Index>(),
    ) {
        let (directory, id, path, bytes) = written(&texts);
        let cut = at.index(bytes.len() + 1);
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let reopened = Journal::reopen(directory.path(), &id, empty_redactor()).unwrap();
        let whole = line_of(&bytes, cut) - 1;
        prop_assert_eq!(reopened.records.len() as u64, whole);
        prop_assert_eq!(reopened.journal.write(&notice("on")).unwrap(), whole + 1);
        let verified = verify_journal(&path).unwrap();
        prop_assert_eq!((verified.records, verified.torn), (whole + 1, None));
    }

    /// A power failure: from some byte on, any pages may be zeros.
    #[test]
    fn lost_pages_are_repaired(
        texts in prop::collection::vec("[a-z]{0,3000}", 4..10),
        from in any::<prop::sample::Index>(),
        (cut, lost) in (any::<prop::sample::Index>(), any::<u32>()),
    ) {
        let (directory, id, path, mut bytes) = written(&texts);
        let from = from.index(bytes.len());
        bytes.truncate(from + cut.index(bytes.len() - from + 1));
        for (at, byte) in bytes.iter_mut().enumerate().skip(from) {
            if lost >> (at / 512 % 32) & 1 == 1 {
                *byte = 0;
            }
        }
        let kept = line_of(&bytes, from) - 1;
        std::fs::write(&path, &bytes).unwrap();
        let reopened = Journal::reopen(directory.path(), &id, empty_redactor()).unwrap();
        prop_assert!(reopened.records.len() as u64 >= kept);
        reopened.journal.write(&notice("on")).unwrap();
        prop_assert_eq!(verify_journal(&path).unwrap().torn, None);
    }

    #[test]
    fn no_known_value_is_in_the_file(
        secret in "[A-Z][!-~&&[^\\\\\"]]{7,20}[A-Z]",
        (before, after) in ("\\PC{0,12}", "\\PC{0,12}"),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let redactor = Redactor::new([("KEY".to_owned(), secret.clone())]).unwrap();
        let journal = Journal::create(directory.path(), &SessionId::new(), redactor).unwrap();
        let text = format!("{before}{secret}{after}");
        let nested = serde_json::json!({&text: [&text], "arguments": serde_json::json!({"x": text}).to_string()});
        journal.write(&notice(text.clone())).unwrap();
        journal.write(&JournalEntry::Said { wire: text.clone(), items: vec![nested] }).unwrap();
        journal.write(&JournalEntry::Asked { call: text.clone(), why: vec![text] }).unwrap();
        let file = std::fs::read_to_string(journal.path()).unwrap();
        prop_assert!(!file.contains(&secret), "{file}");
    }
}
