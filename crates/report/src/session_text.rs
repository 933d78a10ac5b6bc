//! Formats a session as text for a terminal.

use anstyle::{AnsiColor, Style};
use journal::RecordedVerdict;

use super::text_layout::TextLayout;
use crate::format_amount;
use crate::timeline::{
    JournalEnding, ModelSpeech, RequestUsage, SessionSettings, SessionTimeline, TimelineAnswer, TimelineCall,
    TimelineEvent, TimelineEventKind, TimelineQuestion,
};
use crate::truncate::TextExcerpt;
use crate::wait_spans::{WaitKind, total_wait, wait_spans};
use terminal::{FAINT, NAME};

/// Maximum lines shown of a message, of an answer and of a diff.
const MAX_MESSAGE_LINES: usize = 60;
const MAX_ANSWER_LINES: usize = 8;
const MAX_DIFF_LINES: usize = 200;

const PLAIN: Style = Style::new();
const USER_STYLE: Style = AnsiColor::Cyan.on_default().bold();
const ERROR_STYLE: Style = AnsiColor::Red.on_default();
/// Indentation of the lines below a heading.
const INDENT: &str = "            ";

/// Formats the whole session.
pub fn render(name: &str, timeline: &SessionTimeline) -> String {
    let mut layout = TextLayout::default();
    layout.line("", name, NAME);
    layout.line("  ", &summary(timeline), PLAIN);
    for event in &timeline.events {
        render_event(&mut layout, event);
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
        format_amount::format_duration(timeline.duration_ms),
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
        JournalEnding::Broken(why) => Some(format!("the rest was changed after it was written: {why}")),
        JournalEnding::TooLong => Some("there is more than can be shown; --json has it".to_owned()),
    }
}

fn render_event(layout: &mut TextLayout, event: &TimelineEvent) {
    let head = |text: &str| format!("{:>10}  {text}", format_amount::format_duration(event.after));
    match &event.kind {
        TimelineEventKind::Session(setting) => layout.line("", &head(&settings_line(setting)), FAINT),
        TimelineEventKind::Prompt { text, images } => {
            let images =
                (*images > 0).then(|| format!(" ({})", format_amount::pluralize(*images as u64, "image")));
            layout.blank_line();
            render_quoted(layout, &head(&format!("you{}", images.unwrap_or_default())), USER_STYLE, text);
        }
        TimelineEventKind::Message(speeches) => speeches.iter().for_each(|speech| match speech {
            ModelSpeech::Text(text) => render_quoted(layout, &head("model"), NAME, text),
            ModelSpeech::Thought(text) => render_quoted(layout, &head("model, to itself"), FAINT, text),
            ModelSpeech::Other(kind) => layout.line("", &head(&format!("model: {kind}")), FAINT),
        }),
        TimelineEventKind::Call(call) => {
            layout.line("", &head(&format!("{}  {}", call.tool, call.arguments.text)), PLAIN.bold());
            render_call(layout, call, event.after);
        }
        TimelineEventKind::Plan(steps) => {
            layout.line("", &head("plan"), NAME);
            for step in steps {
                layout.line(INDENT, &format!("{} {}", step_mark(&step.status), step.step.text), PLAIN);
            }
        }
        TimelineEventKind::Diff(text) => {
            layout.line("", &head("changed"), NAME);
            layout.quote(INDENT, text, MAX_DIFF_LINES, diff_line_style);
        }
        TimelineEventKind::Usage(usage) => {
            let took = format_amount::format_duration(usage.millis);
            layout.line("", &head(&format!("model answered after {took}: {}", token_usage(usage))), FAINT);
        }
        TimelineEventKind::Compacted { summary, dropped } => {
            let shortened = format!("shortened by {}", format_amount::pluralize(*dropped, "item"));
            render_quoted(layout, &head(&shortened), FAINT, summary);
        }
        TimelineEventKind::Interrupted(why) => {
            layout.line("", &head(&format!("interrupted: {}", why.text)), ERROR_STYLE);
        }
        TimelineEventKind::Notice(text) => render_quoted(layout, &head("notice"), FAINT, text),
        TimelineEventKind::End(why) => layout.line("", &head(&format!("end: {}", why.text)), FAINT),
        TimelineEventKind::OrphanRecord { kind, call } => {
            layout.line("", &head(&format!("`{kind}` of no call: {call}")), ERROR_STYLE);
        }
        TimelineEventKind::UnknownRecord(kind) => {
            layout.line("", &head(&format!("`{kind}`, which is not known here")), FAINT);
        }
    }
}

fn render_quoted(layout: &mut TextLayout, head: &str, style: Style, text: &TextExcerpt) {
    layout.line("", head, style);
    layout.quote(INDENT, text, MAX_MESSAGE_LINES, |_| PLAIN);
}

/// Describes the settings that a session began with.
pub(crate) fn settings_line(setting: &SessionSettings) -> String {
    let SessionSettings { version, cwd, model, wire, sandbox, approval, resumed } = setting;
    let begins = if *resumed { "goes on" } else { "begins" };
    format!(
        "{begins} in {}: {model} over {wire}, sandbox {sandbox}, approval {approval}, toolgate {version}",
        cwd.text
    )
}

/// Formats the token usage of requests.
pub(crate) fn token_usage(usage: &RequestUsage) -> String {
    let [input, cached, output] = [usage.input, usage.cached, usage.output].map(format_amount::format_count);
    format!(
        "{input} tokens in ({cached} cached), {output} out, {} sent",
        format_amount::format_bytes(usage.bytes)
    )
}

/// Describes the course of a call before its answer: effects, verdicts, questions and attempts.
pub(crate) fn call_sentences(call: &TimelineCall) -> Vec<String> {
    let joined = |why: &[TextExcerpt]| why.iter().map(|why| why.text.as_str()).collect::<Vec<_>>().join("; ");
    let mut lines = Vec::new();
    lines.extend(call.remote.as_ref().map(|(server, tool)| format!("`{tool}` of the server `{server}`")));
    lines.extend(call.effects.iter().map(|effect| effect.text.clone()));
    for verdict in &call.decisions.verdicts {
        let word = match verdict.verdict {
            RecordedVerdict::Allow => "allowed",
            RecordedVerdict::Ask => "to be asked",
            RecordedVerdict::Forbid => "forbidden",
        };
        let why = joined(&verdict.why);
        let why = if why.is_empty() { why } else { format!(": {why}") };
        lines.push(format!("{word} by {}{why}", verdict.by));
    }
    for TimelineQuestion { why, asked, decision } in &call.decisions.questions {
        let why = if why.is_empty() { String::new() } else { format!(" ({})", joined(why)) };
        lines.push(match decision {
            Some(decision) => {
                let took = format_amount::format_duration(decision.after.saturating_sub(*asked));
                format!("asked{why}: {} by {} after {took}", decision.word, decision.by)
            }
            None => format!("asked{why}: no answer"),
        });
    }
    for attempt in &call.decisions.attempts {
        lines.push(format!("attempt {}, confinement {}", attempt.number, attempt.enforcement));
    }
    lines
}

/// Describes the outcome of a call in a few words.
pub(crate) fn call_outcome(call: &TimelineCall, began: u64) -> String {
    let took = format_amount::format_duration(call.run_time(began).unwrap_or_default());
    match call.answer.as_ref() {
        None => "no answer: its effects are unknown".to_owned(),
        Some(answer) => match answer.fault_kind() {
            None => format!("done in {took}"),
            Some(fault) => format!("{fault} after {took}"),
        },
    }
}

fn render_call(layout: &mut TextLayout, call: &TimelineCall, began: u64) {
    for sentence in call_sentences(call) {
        layout.line(INDENT, &sentence, FAINT);
    }
    layout.line(INDENT, &call_outcome(call, began), if call.succeeded() { PLAIN } else { ERROR_STYLE });
    if let Some(answer) = &call.answer {
        layout.quote(INDENT, &answer.text, MAX_ANSWER_LINES, |_| PLAIN);
        answer_extras(answer).iter().for_each(|line| layout.line(INDENT, line, FAINT));
    }
}

/// Lists the pictures and the spill file of an answer.
pub(crate) fn answer_extras(answer: &TimelineAnswer) -> Vec<String> {
    let pictures = (answer.pictures > 0).then(|| format_amount::pluralize(answer.pictures as u64, "picture"));
    let spilled = answer.spilled.as_ref();
    let spilled = spilled
        .map(|(path, bytes)| format!("all of it, {}: {}", format_amount::format_bytes(*bytes), path.text));
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
        let text = render("20261116-213602-4f9a1c", &sample_session::sample_timeline());
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @r#"
        20261116-213602-4f9a1c
          2026-11-16 21:00 UTC, 7.6 s of work, 1 prompt, 2 calls
              0 ms  begins in /work: gpt-5 over responses, sandbox workspace-write, approval on-request, toolgate 0.1.0

              0 ms  you
                    │ fix the tests
                    │ please
             2.0 s  model answered after 2.0 s: 1,204 tokens in (602 cached), 96 out, 9.1 kB sent
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
             7.5 s  model answered after 1.5 s: 1,900 tokens in (950 cached), 96 out, 9.1 kB sent
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
    }
}
