//! One record read from a journal, and the search for unanswered calls.

use std::collections::BTreeSet;

use crate::entry::JournalEntry;

/// One line of a journal: entry, time, sequence number and hash.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalRecord {
    /// The sequence number, from one; also the line number.
    pub seq: u64,
    /// The time of writing in RFC 3339: UTC, with milliseconds.
    pub at: String,
    /// The entry.
    pub entry: JournalEntry,
    /// SHA-256 over the previous hash and this line, in hexadecimal.
    pub hash: String,
}

/// Returns the calls that were never answered, in order. A program that resumes the session must answer them, and their
/// effects are unknown.
#[must_use]
pub fn unanswered_calls(records: &[JournalRecord]) -> Vec<&str> {
    let mut open: Vec<&str> = Vec::new();
    let mut answered = BTreeSet::new();
    for record in records.iter().rev() {
        if let JournalEntry::Answered { call, .. } = &record.entry {
            answered.insert(call.as_str());
        }
        // An id may be reused after its answer, so only the later call is open.
        if let JournalEntry::Call { id, .. } = &record.entry
            && !answered.remove(id.as_str())
        {
            open.push(id);
        }
    }
    open.reverse();
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::RecordedCallForm;

    fn record(entry: JournalEntry) -> JournalRecord {
        JournalRecord { seq: 1, at: String::new(), entry, hash: String::new() }
    }

    fn call(id: &str) -> JournalRecord {
        let (tool, arguments) = ("shell".to_owned(), "{}".to_owned());
        record(JournalEntry::Call {
            id: id.to_owned(),
            tool,
            form: RecordedCallForm::Function,
            arguments,
            remote: None,
        })
    }

    fn answer(id: &str) -> JournalRecord {
        record(JournalEntry::Answered {
            call: id.to_owned(),
            success: true,
            error: None,
            took_ms: 0,
            text: String::new(),
            pictures: Vec::new(),
            spilled: None,
        })
    }

    #[test]
    fn calls_without_an_answer_are_open() {
        for (story, open) in [
            (vec![], vec![]),
            (vec![call("a"), answer("a")], vec![]),
            (vec![call("a"), call("b"), answer("a")], vec!["b"]),
            (vec![call("a"), call("b"), call("c"), answer("b")], vec!["a", "c"]),
            (vec![call("a"), answer("a"), call("a")], vec!["a"]),
            (vec![answer("x"), call("x")], vec!["x"]),
        ] {
            assert_eq!(unanswered_calls(&story), open);
        }
    }
}
