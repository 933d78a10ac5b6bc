//! Formats a session as text for a terminal, and words its entries, calls and totals for the HTML page too.

use anstyle::{AnsiColor, Style};
use journal::{
    EventTime, JournalEnding, JournalEntry, McpToolRef, RecordedAnswer, RecordedVerdict, RequestUsage,
    SessionSettings, SessionTimeline, TimelineCall, TimelineEvent, TimelineEventKind, TimelineQuestion,
};
use runtime::DIRECT_CALL_PREFIX;
use runtime::wire::TranscriptItem;

use super::text_layout::TextLayout;
use crate::format_amount;
use crate::reading_order::{ReadingItem, in_reading_order};
use crate::wait_spans::{WaitKind, total_wait, wait_spans};
use terminal::{FAINT, NAME};

/// Maximum lines shown of a message, of an answer and of a diff.
const MAX_MESSAGE_LINES: usize = 60;
const MAX_ANSWER_LINES: usize = 8;
const MAX_DIFF_LINES: usize = 200;
/// Maximum sentences shown of a list.
const MAX_LISTED: usize = 10;

const PLAIN: Style = Style::new();
const USER_STYLE: Style = AnsiColor::Cyan.on_default().bold();
const ERROR_STYLE: Style = AnsiColor::Red.on_default();
/// Indentation of the lines below a heading.
const INDENT: &str = "            ";

/// Formats the whole session. Lines longer than the screen's `width` are wrapped at words.
pub fn render(name: &str, timeline: &SessionTimeline, width: Option<usize>) -> String {
    let mut layout = TextLayout::new(width);
    layout.line("", name, NAME);
    layout.line("  ", &summary(timeline), PLAIN);
    for item in in_reading_order(&timeline.events) {
        match item {
            ReadingItem::Event(event) => render_event(&mut layout, event),
            ReadingItem::Response { usage, .. } => {
                usage.into_iter().for_each(|event| render_event(&mut layout, event));
            }
            ReadingItem::Words { item, after_ms } => render_words(&mut layout, &item, after_ms),
        }
    }
    layout.blank_line();
    for line in totals(timeline) {
        layout.line("", &line, FAINT);
    }
    if let Some(line) = ending_problem(&timeline.ending) {
        layout.line("", &line, ERROR_STYLE);
    }
    layout.into_text()
}

/// Formats the start time, the duration and the counts of a session.
pub fn summary(timeline: &SessionTimeline) -> String {
    let (prompts, calls) = (timeline.prompt_count() as u64, timeline.calls().count() as u64);
    format!(
        "{} UTC, {} of work, {}, {}",
        format_amount::format_minute(&timeline.started),
        format_amount::format_duration(timeline.end.after_ms),
        format_amount::pluralize(prompts, "prompt"),
        format_amount::pluralize(calls, "call")
    )
}

/// Formats the totals: token usage, and the time spent waiting.
pub fn totals(timeline: &SessionTimeline) -> Vec<String> {
    let spans = wait_spans(timeline);
    let waited = WaitKind::ALL.map(|waiting| {
        format!("{} {}", waiting.as_str(), format_amount::format_duration(total_wait(&spans, waiting)))
    });
    let (requests, all) = timeline.total_usage();
    let usage = (requests > 0)
        .then(|| format!("{}: {}", format_amount::pluralize(requests, "request"), token_usage(&all)));
    usage.into_iter().chain([format!("waited for: {}", waited.join(", "))]).collect()
}

/// Describes a torn, broken or truncated end of the journal.
pub(crate) fn ending_problem(ending: &JournalEnding) -> Option<String> {
    match ending {
        JournalEnding::Whole => None,
        JournalEnding::Torn(torn) => Some(format!(
            "line {} was not written to its end ({}): the program or the machine died",
            torn.line,
            format_amount::format_bytes(torn.bytes)
        )),
        JournalEnding::Broken(fault) => {
            Some(format!("the rest was changed after it was written: {}", fault.without_path()))
        }
        JournalEnding::TooLong => Some("there is more than can be shown; --json has it".to_owned()),
    }
}

fn render_words(layout: &mut TextLayout, item: &TranscriptItem, after_ms: u64) {
    let head = |text: &str| timed_head(after_ms, text);
    match item {
        TranscriptItem::Text(text) => render_quoted(layout, &head("model"), NAME, (text, 0)),
        TranscriptItem::Thought(text) => render_quoted(layout, &head("model, to itself"), FAINT, (text, 0)),
        TranscriptItem::Other(kind) => layout.line("", &head(&format!("model: {kind}")), FAINT),
        // The call has an event of its own.
        TranscriptItem::Call(_) => {}
    }
}

fn timed_head(after_ms: u64, text: &str) -> String {
    format!("{:>10}  {text}", format_amount::format_duration(after_ms))
}

fn render_event(layout: &mut TextLayout, event: &TimelineEvent) {
    let after_ms = match &event.kind {
        // A request stands at the time at which it was sent: its calls start before it is over.
        TimelineEventKind::Entry(JournalEntry::Usage(usage)) => {
            event.time.after_ms.saturating_sub(usage.model_ms)
        }
        TimelineEventKind::Entry(_) | TimelineEventKind::Call(_) => event.time.after_ms,
    };
    let head = |text: &str| timed_head(after_ms, text);
    match &event.kind {
        TimelineEventKind::Call(call) => {
            let title = format!("{}  {}", call.call.tool, call.call.arguments);
            layout.line("", &head(&title), PLAIN.bold());
            render_call(layout, call, event.time);
        }
        TimelineEventKind::Entry(entry) => render_entry(layout, entry, event.omitted_bytes, head),
    }
}

fn render_entry(
    layout: &mut TextLayout,
    entry: &JournalEntry,
    omitted_bytes: usize,
    head: impl Fn(&str) -> String,
) {
    match entry {
        JournalEntry::Prompt { text, images } => {
            let images = pluralize_some(images.len(), "image").map(|count| format!(" ({count})"));
            layout.blank_line();
            let head = head(&format!("you{}", images.unwrap_or_default()));
            render_quoted(layout, &head, USER_STYLE, (text, omitted_bytes));
        }
        JournalEntry::Plan { steps } => {
            layout.line("", &head("plan"), NAME);
            for step in steps {
                layout.line(INDENT, &format!("{} {}", step_mark(&step.status), step.step), PLAIN);
            }
        }
        JournalEntry::Diff { text } => {
            layout.line("", &head("changed"), NAME);
            layout.quote(INDENT, (text, omitted_bytes), MAX_DIFF_LINES, diff_line_style);
        }
        JournalEntry::Notice { text } => {
            render_quoted(layout, &head("notice"), FAINT, (text, omitted_bytes));
        }
        entry => {
            let Some(sentence) = entry_sentence(entry) else { return };
            layout.line("", &head(&sentence), if is_problem(entry) { ERROR_STYLE } else { FAINT });
            if let JournalEntry::Compacted { summary, .. } = entry {
                layout.quote(INDENT, (summary, omitted_bytes), MAX_MESSAGE_LINES, |_| PLAIN);
            }
        }
    }
}

fn render_quoted(layout: &mut TextLayout, head: &str, style: Style, quoted: (&str, usize)) {
    layout.line("", head, style);
    layout.quote(INDENT, quoted, MAX_MESSAGE_LINES, |_| PLAIN);
}

/// Formats a count in words; `None` for zero.
pub(crate) fn pluralize_some(count: usize, word: &str) -> Option<String> {
    (count > 0).then(|| format_amount::pluralize(count as u64, word))
}

/// Describes an entry in one sentence. Returns `None` for an entry that is shown as a text of its own, or whose fact
/// another entry shows.
pub(crate) fn entry_sentence(entry: &JournalEntry) -> Option<String> {
    let stray = |kind: &str, call: &str| format!("`{kind}` of no call: {call}");
    Some(match entry {
        JournalEntry::Session(settings) => settings_line(settings),
        JournalEntry::Usage(usage) => {
            let took = format_amount::format_duration(usage.model_ms);
            format!("model answered after {took}: {}", token_usage(usage))
        }
        JournalEntry::Compacted { dropped, .. } => {
            format!("shortened by {}", format_amount::pluralize(*dropped, "item"))
        }
        JournalEntry::Kept { call, path, sha256, bytes } => {
            format!("all {bytes} bytes that call {call} wrote are in {path}, SHA-256 {sha256}")
        }
        JournalEntry::Agent { path, of } => format!("the agent {path} of {of}"),
        JournalEntry::Interrupted { why } => format!("interrupted: {why}"),
        JournalEntry::End { why } => format!("end: {why}"),
        // The user made this call, e.g. with `/undo`.
        JournalEntry::Intent { call, effects }
            if call.starts_with(DIRECT_CALL_PREFIX) && !effects.is_empty() =>
        {
            format!("the user had Toolgate do this: {}", effects.join(", "))
        }
        JournalEntry::Intent { call, .. }
        | JournalEntry::Verdict { call, .. }
        | JournalEntry::Attempt { call, .. }
            if call.starts_with(DIRECT_CALL_PREFIX) =>
        {
            return None;
        }
        JournalEntry::Intent { call, .. } => stray("intent", call),
        JournalEntry::Verdict { call, .. } => stray("verdict", call),
        JournalEntry::Asked { call, .. } => stray("asked", call),
        JournalEntry::Decided { call, .. } => stray("decided", call),
        JournalEntry::Attempt { call, .. } => stray("attempt", call),
        JournalEntry::Answered(answer) => stray("answered", &answer.call),
        JournalEntry::Unknown(value) => {
            format!("`{}`, which is not known here", value["kind"].as_str().unwrap_or("?"))
        }
        JournalEntry::Prompt { .. }
        | JournalEntry::Said { .. }
        | JournalEntry::Plan { .. }
        | JournalEntry::Diff { .. }
        | JournalEntry::Notice { .. }
        | JournalEntry::Call(_)
        | JournalEntry::Turn { .. }
        | JournalEntry::Added { .. } => return None,
    })
}

/// Reports whether an entry is an interruption, or about a call that does not exist.
pub(crate) fn is_problem(entry: &JournalEntry) -> bool {
    matches!(
        entry,
        JournalEntry::Interrupted { .. }
            | JournalEntry::Intent { .. }
            | JournalEntry::Verdict { .. }
            | JournalEntry::Asked { .. }
            | JournalEntry::Decided { .. }
            | JournalEntry::Attempt { .. }
            | JournalEntry::Answered(_)
    )
}

/// Describes the settings that a session began with.
pub(crate) fn settings_line(setting: &SessionSettings) -> String {
    let SessionSettings { version, cwd, model, wire, sandbox, approval, base_url: _, client, resumed } =
        setting;
    let begins = if *resumed { "goes on" } else { "begins" };
    let caller = match client {
        Some(client) => format!("calls of {client}"),
        None => format!("{model} over {wire}"),
    };
    format!("{begins} in {cwd}: {caller}, sandbox {sandbox}, approval {approval}, toolgate {version}")
}

/// Formats the token usage of requests.
pub(crate) fn token_usage(usage: &RequestUsage) -> String {
    let [input, cached, output] =
        [usage.input_tokens, usage.cached_tokens, usage.output_tokens].map(format_amount::format_count);
    format!(
        "{input} tokens in ({cached} cached), {output} out, {} sent",
        format_amount::format_bytes(usage.request_bytes)
    )
}

/// Describes the course of a call before its answer: effects, verdicts, questions and attempts.
pub(crate) fn call_sentences(call: &TimelineCall) -> Vec<String> {
    let remote = call.call.remote.as_ref();
    let remote = remote.map(|McpToolRef { server, tool }| format!("`{tool}` of the server `{server}`"));
    let mut lines: Vec<String> = remote.into_iter().chain(first_listed(&call.effects)).collect();
    for verdict in &call.verdicts {
        let word = match verdict.verdict {
            RecordedVerdict::Allow => "allowed",
            RecordedVerdict::Ask => "to be asked",
            RecordedVerdict::Forbid => "forbidden",
        };
        let why = first_listed(&verdict.why).join("; ");
        let why = if why.is_empty() { why } else { format!(": {why}") };
        lines.push(format!("{word} by {}{why}", verdict.by));
    }
    for TimelineQuestion { why, asked, decision, .. } in &call.questions {
        let why = if why.is_empty() { String::new() } else { format!(" ({})", first_listed(why).join("; ")) };
        lines.push(match decision {
            Some(decision) => {
                let took =
                    format_amount::format_duration(decision.time.after_ms.saturating_sub(asked.after_ms));
                format!("asked{why}: {} after {took}", decision.describe())
            }
            None => format!("asked{why}: no answer"),
        });
    }
    for attempt in &call.attempts {
        lines.push(format!("attempt {}, confinement {}", attempt.number, attempt.enforcement));
    }
    lines
}

/// Returns the first sentences of a list; a last one counts the others.
fn first_listed(sentences: &[String]) -> Vec<String> {
    let more = sentences.len().saturating_sub(MAX_LISTED);
    let last = (more > 0).then(|| format!("… and {more} more"));
    sentences.iter().take(MAX_LISTED).cloned().chain(last).collect()
}

/// Describes the outcome of a call in a few words.
pub(crate) fn call_outcome(call: &TimelineCall, began: EventTime) -> String {
    let took = format_amount::format_duration(call.run_time(began).unwrap_or_default());
    match call.answer.as_ref() {
        None => "no answer: its effects are unknown".to_owned(),
        Some(answer) => match answer.answer.error_kind() {
            None => format!("done in {took}"),
            Some(fault) => format!("{fault} after {took}"),
        },
    }
}

fn render_call(layout: &mut TextLayout, call: &TimelineCall, began: EventTime) {
    for sentence in call_sentences(call) {
        layout.line(INDENT, &sentence, FAINT);
    }
    layout.line(INDENT, &call_outcome(call, began), if call.succeeded() { PLAIN } else { ERROR_STYLE });
    if let Some(answer) = &call.answer {
        layout.quote(INDENT, (&answer.answer.text, answer.omitted_bytes), MAX_ANSWER_LINES, |_| PLAIN);
        answer_extras(&answer.answer).iter().for_each(|line| layout.line(INDENT, line, FAINT));
    }
}

/// Lists the pictures and the spill file of an answer.
pub(crate) fn answer_extras(answer: &RecordedAnswer) -> Vec<String> {
    let pictures = pluralize_some(answer.pictures.len(), "picture");
    let spilled = answer.spilled.as_ref().map(|spilled| {
        format!("all of it, {}: {}", format_amount::format_bytes(spilled.bytes), spilled.path)
    });
    pictures.into_iter().chain(spilled).collect()
}

/// Returns a symbol for the status of a plan step.
pub(crate) fn step_mark(status: &str) -> String {
    match status {
        "completed" => "✓".to_owned(),
        "in_progress" => "▸".to_owned(),
        "pending" => "·".to_owned(),
        other => format!("[{other}]"),
    }
}

fn diff_line_style(line: &str) -> Style {
    match line.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => PLAIN.bold(),
        [b'+', ..] => AnsiColor::Green.on_default(),
        [b'-', ..] => AnsiColor::Red.on_default(),
        [b'@', ..] => AnsiColor::Cyan.on_default(),
        _ => PLAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_session;

    #[test]
    fn a_session_is_told_step_by_step() {
        let text = render("20261116-213602-4f9a1c", &sample_session::sample_timeline(), None);
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @r#"
        20261116-213602-4f9a1c
          2026-11-16 21:00 UTC, 7.6 s of work, 1 prompt, 2 calls
              0 ms  begins in /work: gpt-5 over responses, sandbox workspace-write, approval on-request, toolgate 0.1.0

              0 ms  you
                    │ fix the tests
                    │ please
              0 ms  model answered after 2.0 s: 1,204 tokens in (602 cached), 96 out, 9.1 kB sent
             2.0 s  model
                    │ I look at the log first.
             2.1 s  git__log  {"n":3}
                    `log` of the server `git`
                    calls `log` of the server `git`
                    to be asked by default: unknown
                    asked (it is the first time): approved by terminal after 3.0 s
                    attempt 1, confinement full
                    timed_out after 900 ms
                    │ no answer within 600 ms
             2.1 s  read_file  {"path":"src/lib.rs"}
                    done in 3 ms
                    │ 1| fn main() {}
                    │ 2|
                    │ 3| // end
             6.0 s  model answered after 1.5 s: 1,900 tokens in (950 cached), 96 out, 9.1 kB sent
             7.5 s  model
                    │ Done.
             7.5 s  plan
                    ✓ look
                    · mend
             7.6 s  changed
                    │ --- a/x
                    │ +++ b/x
                    │ @@ -1 +1 @@
                    │ -old
                    │ +new
             7.6 s  end: done

        2 requests: 3,104 tokens in (1,552 cached), 192 out, 18.2 kB sent
        waited for: model 3.5 s, people 3.0 s, tools 603 ms
        "#);
        let narrow = render("20261116-213602-4f9a1c", &sample_session::sample_timeline(), Some(60));
        let narrow = anstream::adapter::strip_str(&narrow).to_string();
        assert!(narrow.lines().all(|line| line.chars().count() < 60), "{narrow}");
        let wrapped: Vec<&str> = narrow.lines().skip(2).take(3).collect();
        insta::assert_snapshot!(wrapped.join("\n"), @"
        0 ms  begins in /work: gpt-5 over responses, sandbox
              workspace-write, approval on-request, toolgate
              0.1.0
        ");
    }
}
