//! Helpers of the journal tests: create a journal, write entries, and build one entry of every kind.

use std::path::Path;

use toolgate_journal::{
    ImageDigest, Journal, JournalEntry, JournalPlanStep, McpToolRef, RecordedAnswer, RecordedCall,
    RecordedCallForm, RecordedVerdict, Redactor, RequestUsage, SessionId, SessionSettings, SpilledOutput,
};

pub(crate) fn empty_redactor() -> Redactor {
    Redactor::new([]).unwrap()
}

pub(crate) fn create_journal(directory: &Path) -> (Journal, SessionId) {
    let id = SessionId::new();
    (Journal::create(directory, &id, empty_redactor()).unwrap(), id)
}

pub(crate) fn write_entries<'a>(journal: &Journal, entries: impl IntoIterator<Item = &'a JournalEntry>) {
    for entry in entries {
        journal.write(entry).unwrap();
    }
}

pub(crate) fn notice(text: impl Into<String>) -> JournalEntry {
    JournalEntry::Notice { text: text.into() }
}

/// Returns one entry of each kind, with all fields set.
pub(crate) fn every_entry_kind() -> Vec<JournalEntry> {
    let text = |text: &str| text.to_owned();
    let hash = "ab".repeat(32);
    let picture = ImageDigest { mime: text("image/png"), sha256: hash.clone(), bytes: 7 };
    vec![
        JournalEntry::Session(SessionSettings {
            version: text("0.1.0"),
            cwd: text("/work"),
            model: text("gpt-5"),
            wire: text("responses"),
            sandbox: text("workspace-write"),
            approval: text("on-request"),
            base_url: None,
            client: None,
            resumed: false,
        }),
        JournalEntry::Prompt { text: text("fix  the\ntests"), images: vec![picture.clone()] },
        JournalEntry::Said {
            wire: text("responses"),
            items: vec![serde_json::json!({"type": "message", "content": [1.5, null]})],
        },
        JournalEntry::Call(RecordedCall {
            id: text("c1"),
            tool: text("git__log"),
            form: RecordedCallForm::Mcp,
            arguments: text("{\"a\":1}"),
            remote: Some(McpToolRef { server: text("git"), tool: text("log") }),
        }),
        JournalEntry::Intent { call: text("c1"), effects: vec![text("runs `git log`")] },
        JournalEntry::Verdict {
            call: text("c1"),
            verdict: RecordedVerdict::Ask,
            why: vec![text("unknown")],
            by: text("default"),
        },
        JournalEntry::Asked { call: text("c1"), why: vec![text("unknown")] },
        JournalEntry::Decided { call: text("c1"), decision: text("approved"), by: text("terminal") },
        JournalEntry::Attempt { call: text("c1"), number: 1, enforcement: text("full") },
        JournalEntry::Answered(RecordedAnswer {
            call: text("c1"),
            success: false,
            error: Some(text("timeout")),
            took_ms: 12,
            text: text("…"),
            pictures: vec![picture],
            spilled: Some(SpilledOutput { path: text("/tmp/x"), sha256: hash.clone(), bytes: 9 }),
            refused: vec![text("no host")],
        }),
        JournalEntry::Kept { call: text("c1"), path: text("/tmp/x"), sha256: hash, bytes: 9 },
        JournalEntry::Plan { steps: vec![JournalPlanStep { step: text("look"), status: text("pending") }] },
        JournalEntry::Diff { text: text("--- a\n+++ b\n") },
        JournalEntry::Usage(RequestUsage {
            input_tokens: 1,
            cached_tokens: 2,
            output_tokens: 3,
            request_bytes: 4,
            model_ms: 5,
        }),
        JournalEntry::Compacted { summary: text("so far"), dropped: 4 },
        JournalEntry::Agent { path: text("a1"), of: text("20261116-213602-4f9a1c") },
        JournalEntry::Added { text: text("and this") },
        JournalEntry::Turn { id: text("t2"), ended: text("interrupted"), detail: Some(text("ctrl-c")) },
        JournalEntry::Interrupted { why: text("ctrl-c") },
        notice("a word"),
        JournalEntry::End { why: text("done") },
    ]
}
