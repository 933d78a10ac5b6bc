//! Builds the trace spans of a session from its timeline.

use std::path::Path;

use journal::{
    EventTime, JournalEnding, JournalEntry, JournalFault, MAX_TIMELINE_LINES, RequestUsage, SessionSettings,
    SessionTimeline, TextBudget, TimelineCall, TimelineEvent, TimelineEventKind,
};
use runtime::wire::Dialect;

use super::span::{SESSION_LINE, SpanWork, TraceCall, TraceModel, TraceSettings, TraceSpan};

/// The end reason of a failed session, both in the journal and in the span.
const FAILED: &str = "failed";
/// The error of a call without an answer, as `toolgate stats` spells it.
const UNANSWERED: &str = "unanswered";

/// The spans of one session.
#[derive(Debug)]
pub(crate) struct SessionTrace {
    pub session: String,
    /// The session's own span comes first.
    pub spans: Vec<TraceSpan>,
    /// The reason why the trace is incomplete.
    pub incomplete_reason: Option<String>,
}

impl SessionTrace {
    /// Reads a journal up to the first damaged line. The session's name is that of its file.
    pub(super) fn read(path: &Path) -> Result<Self, JournalFault> {
        let timeline = SessionTimeline::read(path, TextBudget::names_only())?;
        let session = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let incomplete_reason = match &timeline.ending {
            JournalEnding::Whole | JournalEnding::Torn(_) => None,
            JournalEnding::Broken(fault) => Some(fault.without_path()),
            JournalEnding::TooLong => Some(format!("it has more than {MAX_TIMELINE_LINES} lines")),
        };
        Ok(Self { session, spans: build_spans(&timeline), incomplete_reason })
    }

    /// Returns the span of the whole session.
    pub(crate) fn session_span(&self) -> Option<&TraceSpan> {
        self.spans.first()
    }
}

/// Returns all spans. The session's span comes first and encloses all others.
fn build_spans(timeline: &SessionTimeline) -> Vec<TraceSpan> {
    let Some(first) = timeline.events.first() else { return Vec::new() };
    let (mut settings, mut error) = (TraceSettings::default(), None);
    let mut spans = Vec::new();
    for event in &timeline.events {
        match &event.kind {
            TimelineEventKind::Call(call) => push_call(&mut spans, event, call, timeline.end),
            TimelineEventKind::Entry(JournalEntry::Session(started)) => {
                (settings, error) = (trace_settings(started), None);
            }
            TimelineEventKind::Entry(JournalEntry::Usage(usage)) => {
                spans.push(request_span(event, &settings.model, *usage));
            }
            TimelineEventKind::Entry(JournalEntry::End { why }) => {
                error = (why == FAILED).then(|| FAILED.to_owned());
            }
            // Conversation content, or entries without a duration.
            TimelineEventKind::Entry(_) => {}
        }
    }
    let from = spans.iter().map(|span| span.from).fold(first.time.unix_ms, u64::min);
    let to = spans.iter().map(|span| span.to).fold(timeline.end.unix_ms.max(from), u64::max);
    let work = SpanWork::Session(settings);
    spans.insert(0, TraceSpan { line: SESSION_LINE, parent: None, from, to, error, work });
    spans
}

fn trace_settings(settings: &SessionSettings) -> TraceSettings {
    let SessionSettings {
        version,
        model,
        wire,
        sandbox,
        approval,
        cwd: _,
        base_url: _,
        client: _,
        resumed: _,
    } = settings.clone();
    let model = TraceModel { name: model, provider: provider(&wire) };
    TraceSettings { model, version, sandbox, approval }
}

fn request_span(event: &TimelineEvent, model: &TraceModel, usage: RequestUsage) -> TraceSpan {
    let to = event.time.unix_ms;
    let work = SpanWork::Request { model: model.clone(), usage };
    let from = to.saturating_sub(usage.model_ms);
    TraceSpan { line: event.seq, parent: Some(SESSION_LINE), from, to, error: None, work }
}

/// Adds the span of a call, and the spans of its questions. An open span ends with the session.
fn push_call(spans: &mut Vec<TraceSpan>, event: &TimelineEvent, call: &TimelineCall, over: EventTime) {
    let from = event.time.unix_ms;
    let end = call.cut_off.or(call.answer.as_ref().map(|answer| answer.time)).unwrap_or(over);
    let to = end.unix_ms.max(from);
    let answer = call.answer.as_ref();
    let waiting = (to - from).saturating_sub(call.approval_wait());
    let trace_call = TraceCall {
        id: call.call.id.clone(),
        tool: call.call.tool.clone(),
        server: call.call.remote.as_ref().map(|remote| remote.server.clone()),
        verdict: call.verdicts.last().map(|verdict| verdict.verdict),
        enforcement: call.attempts.last().map(|attempt| attempt.enforcement.clone()),
        run_ms: call.run_time(event.time).unwrap_or(waiting),
        answer_bytes: answer.map(|answer| (answer.answer.text.len() + answer.omitted_bytes) as u64),
    };
    let error = answer.map_or(Some(UNANSWERED), |answer| answer.answer.error_kind()).map(str::to_owned);
    let work = SpanWork::Call(trace_call);
    spans.push(TraceSpan { line: event.seq, parent: Some(SESSION_LINE), from, to, error, work });
    for question in &call.questions {
        let (tool, from) = (call.call.tool.clone(), question.asked.unix_ms);
        let decided = question.decision.as_ref();
        let to = decided.map_or(to, |decision| decision.time.unix_ms).max(from);
        let work = SpanWork::Question { tool, decision: decided.map(|decision| decision.decision.clone()) };
        spans.push(TraceSpan { line: question.seq, parent: Some(event.seq), from, to, error: None, work });
    }
}

/// Returns the provider of a dialect: all that a journal knows about the model's host.
fn provider(wire: &str) -> &'static str {
    match wire.parse() {
        Ok(Dialect::Responses | Dialect::Chat) => "openai",
        Ok(Dialect::Anthropic) => "anthropic",
        Err(_) => "_OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::super::histogram;
    use super::super::span::{AttributeValue, SpanAttribute};
    use super::*;
    use crate::sample_session;

    /// Formats a line for each span, with times relative to the first.
    fn render_spans(entries: Vec<(u64, JournalEntry)>) -> String {
        let spans = build_spans(&sample_session::build_timeline(entries));
        let began = spans[0].from;
        let line = |span: &TraceSpan| {
            let parent = span.parent.map(|parent| format!(" in {parent}")).unwrap_or_default();
            let error = span.error.as_deref().map(|error| format!(" {error}")).unwrap_or_default();
            let (from, to) = (span.from - began, span.to - began);
            format!("{}{parent}: {} {from}-{to}{error}\n", span.line, span.name())
        };
        spans.iter().map(line).collect()
    }

    fn prompt() -> JournalEntry {
        JournalEntry::Prompt { text: String::new(), images: Vec::new() }
    }

    #[test]
    fn spans_are_nested_in_session_and_call() {
        insta::assert_snapshot!(render_spans(sample_session::sample_entries()), @"
        0: invoke_agent toolgate 0-7600
        3 in 0: chat gpt-5 0-2000
        5 in 0: execute_tool git__log 2100-6000 timed_out
        9 in 5: ask git__log 2300-5300
        6 in 0: execute_tool read_file 2100-2600
        14 in 0: chat gpt-5 6000-7500
        ");
    }

    #[test]
    fn attributes_contain_no_conversation_text() {
        let spans = build_spans(&sample_session::sample_timeline());
        let line = |(key, fact): SpanAttribute| match fact {
            AttributeValue::Text(text) => format!("{key}={text} "),
            AttributeValue::Count(count) => format!("{key}={count} "),
        };
        let told = |span: &TraceSpan| span.attributes("s").into_iter().map(line).collect::<String>();
        let told: Vec<String> = spans.iter().take(5).map(told).collect();
        let expected = [
            "gen_ai.operation.name=invoke_agent gen_ai.agent.name=toolgate gen_ai.provider.name=openai gen_ai.request.model=gpt-5 \
             gen_ai.agent.version=0.1.0 toolgate.sandbox=workspace-write toolgate.approval=on-request gen_ai.conversation.id=s ",
            "gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=gpt-5 gen_ai.usage.input_tokens=1204 \
             gen_ai.usage.cache_read.input_tokens=602 gen_ai.usage.output_tokens=96 toolgate.request.bytes=9100 gen_ai.conversation.id=s ",
            "gen_ai.operation.name=execute_tool gen_ai.tool.name=git__log gen_ai.tool.type=extension gen_ai.tool.call.id=c1 \
             toolgate.server=git toolgate.verdict=ask toolgate.enforcement=full toolgate.answer.bytes=23 gen_ai.conversation.id=s \
             error.type=timed_out ",
            "gen_ai.tool.name=git__log toolgate.decision=approved gen_ai.conversation.id=s ",
            "gen_ai.operation.name=execute_tool gen_ai.tool.name=read_file gen_ai.tool.type=function gen_ai.tool.call.id=c2 \
             toolgate.answer.bytes=29 gen_ai.conversation.id=s ",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn call_durations_match_stats() {
        let spans = build_spans(&sample_session::sample_timeline());
        let histograms = histogram::build_histograms(&spans);
        let sums = |at: usize| histograms[at].points.iter().map(|point| point.sum).collect::<Vec<_>>();
        assert_eq!((sums(0), sums(1), sums(2)), (vec![3104.0, 192.0], vec![3.5], vec![0.9, 0.003]));
    }

    #[test]
    fn interrupted_call_ends_with_the_last_record_before_the_resume() {
        let session = sample_session::sample_entries().remove(0).1;
        let asked = JournalEntry::Asked { call: "a".to_owned(), why: Vec::new() };
        let entries = vec![
            (0, session.clone()),
            (10, sample_session::call_entry("a", "shell", "")),
            (20, asked),
            (500_000, session),
            (500_001, sample_session::answered_entry("a", Some("stopped"), 0, "")),
            (500_002, sample_session::call_entry("a", "shell", "")),
            (500_010, prompt()),
        ];
        insta::assert_snapshot!(render_spans(entries), @"
        0: invoke_agent toolgate 0-500010
        2 in 0: execute_tool shell 10-20 stopped
        3 in 2: ask shell 20-20
        6 in 0: execute_tool shell 500002-500010 unanswered
        ");
    }

    #[test]
    fn clock_jumps_never_make_negative_spans() {
        let mut entries = sample_session::sample_entries();
        entries.drain(..2);
        entries.swap(0, 9);
        for line in render_spans(entries).lines() {
            let (from, to) = line.rsplit(' ').find_map(|word| word.split_once('-')).unwrap();
            assert!(from.parse::<u64>().unwrap() <= to.parse().unwrap(), "{line}");
        }
        let failed = vec![(0, prompt()), (5, JournalEntry::End { why: "failed".to_owned() })];
        assert_eq!(render_spans(failed), "0: invoke_agent toolgate 0-5 failed\n");
    }
}
