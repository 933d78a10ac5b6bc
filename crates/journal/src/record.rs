//! A line of a journal, read back.

use std::collections::BTreeSet;

use crate::entry::Entry;

/// One line: what happened, when, and what vouches for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// From one; also the number of the line.
    pub seq: u64,
    /// When it was written, as RFC 3339 has it: UTC, with milliseconds.
    pub at: String,
    /// What happened.
    pub entry: Entry,
    /// SHA-256 over the hash of the line before and this line, in hexadecimal.
    pub hash: String,
}

/// The calls that were never answered, in the order they came: whoever goes on with a session has to answer them, and
/// nobody knows what they have done.
#[must_use]
pub fn unanswered(records: &[Record]) -> Vec<&str> {
    let mut open: Vec<&str> = Vec::new();
    let mut answered = BTreeSet::new();
    for record in records.iter().rev() {
        if let Entry::Answered { call, .. } = &record.entry {
            answered.insert(call.as_str());
        }
        // An id may be used again after it was answered, and then it is the later call that is open.
        if let Entry::Call { id, .. } = &record.entry
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
    use crate::entry::Form;

    fn record(entry: Entry) -> Record {
        Record { seq: 1, at: String::new(), entry, hash: String::new() }
    }

    fn call(id: &str) -> Record {
        let (tool, arguments) = ("shell".to_owned(), "{}".to_owned());
        record(Entry::Call { id: id.to_owned(), tool, form: Form::Function, arguments, remote: None })
    }

    fn answer(id: &str) -> Record {
        record(Entry::Answered {
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
            assert_eq!(unanswered(&story), open);
        }
    }
}
