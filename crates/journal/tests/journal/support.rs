//! Shared helpers of the journal tests.

use std::path::Path;

use toolgate_journal::{Entry, Form, Journal, Picture, Redactor, Remote, Ruling, SessionId, Spilled, Step};

pub(crate) fn redactor() -> Redactor {
    Redactor::new([]).unwrap()
}

pub(crate) fn create(directory: &Path) -> (Journal, SessionId) {
    let id = SessionId::new();
    (Journal::create(directory, &id, redactor()).unwrap(), id)
}

pub(crate) fn write<'a>(journal: &Journal, entries: impl IntoIterator<Item = &'a Entry>) {
    for entry in entries {
        journal.write(entry).unwrap();
    }
}

pub(crate) fn notice(text: impl Into<String>) -> Entry {
    Entry::Notice { text: text.into() }
}

/// Returns one entry of each kind, with all fields set.
pub(crate) fn every() -> Vec<Entry> {
    let text = |text: &str| text.to_owned();
    let hash = "ab".repeat(32);
    let picture = Picture { mime: text("image/png"), sha256: hash.clone(), bytes: 7 };
    vec![
        Entry::Session {
            version: text("0.1.0"),
            cwd: text("/work"),
            model: text("gpt-5"),
            wire: text("responses"),
            sandbox: text("workspace-write"),
            approval: text("on-request"),
            resumed: false,
        },
        Entry::Prompt { text: text("fix  the\ntests"), images: vec![picture.clone()] },
        Entry::Said {
            wire: text("responses"),
            items: vec![serde_json::json!({"type": "message", "content": [1.5, null]})],
        },
        Entry::Call {
            id: text("c1"),
            tool: text("git__log"),
            form: Form::Mcp,
            arguments: text("{\"a\":1}"),
            remote: Some(Remote { server: text("git"), tool: text("log") }),
        },
        Entry::Intent { call: text("c1"), effects: vec![text("runs `git log`")] },
        Entry::Verdict {
            call: text("c1"),
            verdict: Ruling::Ask,
            why: vec![text("unknown")],
            by: text("default"),
        },
        Entry::Asked { call: text("c1"), why: vec![text("unknown")] },
        Entry::Decided { call: text("c1"), decision: text("approved"), by: text("terminal") },
        Entry::Attempt { call: text("c1"), number: 1, enforcement: text("full") },
        Entry::Answered {
            call: text("c1"),
            success: false,
            error: Some(text("timeout")),
            took_ms: 12,
            text: text("…"),
            pictures: vec![picture],
            spilled: Some(Spilled { path: text("/tmp/x"), sha256: hash.clone(), bytes: 9 }),
        },
        Entry::Kept { call: text("c1"), path: text("/tmp/x"), sha256: hash, bytes: 9 },
        Entry::Plan { steps: vec![Step { step: text("look"), status: text("pending") }] },
        Entry::Diff { text: text("--- a\n+++ b\n") },
        Entry::Usage { input_tokens: 1, cached_tokens: 2, output_tokens: 3, request_bytes: 4, model_ms: 5 },
        Entry::Compacted { summary: text("so far"), dropped: 4 },
        Entry::Agent { path: text("a1"), of: text("20261116-213602-4f9a1c") },
        Entry::Added { text: text("and this") },
        Entry::Turn { id: text("t2"), ended: text("interrupted"), detail: Some(text("ctrl-c")) },
        Entry::Interrupted { why: text("ctrl-c") },
        notice("a word"),
        Entry::End { why: text("done") },
    ]
}
