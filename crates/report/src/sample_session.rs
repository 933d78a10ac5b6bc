//! A sample session for tests, with given timestamps instead of the clock's.

use journal::{
    JournalEntry, JournalPlanStep as PlanStep, JournalRecord, McpToolRef, RecordedAnswer, RecordedCall,
    RecordedCallForm, RecordedVerdict, RequestUsage, SessionSettings, SessionTimeline,
};
use serde_json::json;

/// Builds a timeline from entries and their milliseconds after the beginning.
pub(crate) fn build_timeline(entries: Vec<(u64, JournalEntry)>) -> SessionTimeline {
    let record = |((after, entry), seq): ((u64, JournalEntry), u64)| {
        let at = format!("2026-11-16T21:{:02}:{:02}.{:03}Z", after / 60_000, after / 1000 % 60, after % 1000);
        JournalRecord { seq, at, entry, hash: String::new() }
    };
    SessionTimeline::from_records(entries.into_iter().zip(1..).map(record))
}

fn text(text: &str) -> String {
    text.to_owned()
}

pub(crate) fn call_entry(id: &str, tool: &str, arguments: &str) -> JournalEntry {
    JournalEntry::Call(RecordedCall {
        id: text(id),
        tool: text(tool),
        form: RecordedCallForm::Function,
        arguments: text(arguments),
        remote: None,
    })
}

pub(crate) fn answered_entry(id: &str, error: Option<&str>, took_ms: u64, answer: &str) -> JournalEntry {
    JournalEntry::Answered(RecordedAnswer {
        call: text(id),
        success: error.is_none(),
        error: error.map(text),
        took_ms,
        text: text(answer),
        pictures: Vec::new(),
        spilled: None,
        refused: Vec::new(),
    })
}

fn usage(input_tokens: u64, model_ms: u64) -> JournalEntry {
    JournalEntry::Usage(RequestUsage {
        input_tokens,
        cached_tokens: input_tokens / 2,
        output_tokens: 96,
        request_bytes: 9100,
        model_ms,
    })
}

fn said_entry(words: &str) -> JournalEntry {
    JournalEntry::Said { wire: text("anthropic"), items: vec![json!({"type": "text", "text": words})] }
}

/// Two concurrent calls, one of which needs an approval.
pub(crate) fn sample_entries() -> Vec<(u64, JournalEntry)> {
    let c1 = || text("c1");
    let remote = Some(McpToolRef { server: text("git"), tool: text("log") });
    let session = JournalEntry::Session(SessionSettings {
        version: text("0.1.0"),
        cwd: text("/work"),
        model: text("gpt-5"),
        wire: text("responses"),
        sandbox: text("workspace-write"),
        approval: text("on-request"),
        base_url: None,
        client: None,
        resumed: false,
    });
    let step = |step: &str, status: &str| PlanStep { step: text(step), status: text(status) };
    vec![
        (0, session),
        (0, JournalEntry::Prompt { text: text("fix the tests\nplease"), images: Vec::new() }),
        (2000, usage(1204, 2000)),
        (2000, said_entry("I look at the log first.")),
        (
            2100,
            JournalEntry::Call(RecordedCall {
                id: c1(),
                tool: text("git__log"),
                form: RecordedCallForm::Mcp,
                arguments: text("{\"n\":3}"),
                remote,
            }),
        ),
        (2100, call_entry("c2", "read_file", "{\"path\":\"src/lib.rs\"}")),
        (2200, JournalEntry::Intent { call: c1(), effects: vec![text("calls `log` of the server `git`")] }),
        (
            2200,
            JournalEntry::Verdict {
                call: c1(),
                verdict: RecordedVerdict::Ask,
                why: vec![text("unknown")],
                by: text("default"),
            },
        ),
        (2300, JournalEntry::Asked { call: c1(), why: vec![text("it is the first time")] }),
        (2600, answered_entry("c2", None, 3, "1| fn main() {}\n2|\n3| // end\n")),
        (5300, JournalEntry::Decided { call: c1(), decision: text("approved"), by: text("terminal") }),
        (5400, JournalEntry::Attempt { call: c1(), number: 1, enforcement: text("full") }),
        (6000, answered_entry("c1", Some("timed_out"), 3900, "no answer within 600 ms")),
        (7500, usage(1900, 1500)),
        (7500, said_entry("Done.")),
        (7500, JournalEntry::Plan { steps: vec![step("look", "completed"), step("mend", "pending")] }),
        (7600, JournalEntry::Diff { text: text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n") }),
        (7600, JournalEntry::End { why: text("done") }),
    ]
}

pub(crate) fn sample_timeline() -> SessionTimeline {
    build_timeline(sample_entries())
}
