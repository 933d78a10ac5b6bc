//! Builds trace spans from journal records and their timestamps.

use std::collections::HashMap;
use std::path::Path;

use journal::{JournalEntry, JournalFault, JournalReader, JournalRecord};
use toolgate::wire::Dialect;

use super::span::{SESSION_LINE, SpanWork, TraceCall, TraceModel, TraceSettings, TraceSpan};
use crate::timeline::{MAX_LINES, RequestUsage, describe_journal_fault};
use crate::truncate::truncate_name;

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
        let session = path.file_stem().map(|stem| truncate_name(&stem.to_string_lossy())).unwrap_or_default();
        let (mut builder, mut incomplete_reason) = (TraceBuilder::default(), None);
        for (record, before) in JournalReader::open(path)?.zip(0..) {
            match record {
                Ok(_) if before == MAX_LINES => {
                    incomplete_reason = Some(format!("it has more than {MAX_LINES} lines"));
                }
                Ok(record) => builder.add_record(&record),
                Err(fault) => incomplete_reason = Some(describe_journal_fault(&fault)),
            }
            if incomplete_reason.is_some() {
                break;
            }
        }
        Ok(Self { session, spans: builder.finish(), incomplete_reason })
    }

    /// Returns the span of the whole session.
    pub(crate) fn session_span(&self) -> Option<&TraceSpan> {
        self.spans.first()
    }
}

/// Builds spans, record by record.
#[derive(Debug, Default)]
struct TraceBuilder {
    spans: Vec<TraceSpan>,
    /// Positions of unanswered calls and questions, by the call's id.
    calls: HashMap<String, OpenCallSpan>,
    questions: HashMap<String, usize>,
    model: TraceModel,
    /// The time of the last record.
    last: u64,
}

/// A call without an answer.
#[derive(Debug, Clone, Copy)]
struct OpenCallSpan {
    index: usize,
    /// The time at which the program died during the call, if it did.
    cut_at: Option<u64>,
}

impl TraceBuilder {
    fn add_record(&mut self, record: &JournalRecord) {
        let at = journal::parse_millis(&record.at).unwrap_or(self.last);
        if self.spans.is_empty() {
            self.push(SESSION_LINE, None, (at, at), SpanWork::Session(TraceSettings::default()));
        }
        match &record.entry {
            JournalEntry::Session { .. } => self.start_session(&record.entry),
            &JournalEntry::Usage { input_tokens, cached_tokens, output_tokens, request_bytes, model_ms } => {
                let (input, cached, output) = (input_tokens, cached_tokens, output_tokens);
                let usage = RequestUsage { input, cached, output, bytes: request_bytes, millis: model_ms };
                let work = SpanWork::Request { model: self.model.clone(), usage };
                self.push(record.seq, Some(SESSION_LINE), (at.saturating_sub(model_ms), at), work);
            }
            JournalEntry::Call { id, tool, remote, .. } => {
                let server = remote.as_ref().map(|remote| truncate_name(&remote.server));
                let (id, tool) = (truncate_name(id), truncate_name(tool));
                self.calls.insert(id.clone(), OpenCallSpan { index: self.spans.len(), cut_at: None });
                let call = TraceCall {
                    id,
                    tool,
                    server,
                    verdict: None,
                    enforcement: None,
                    waited_ms: 0,
                    answer: None,
                };
                self.push(record.seq, Some(SESSION_LINE), (at, at), SpanWork::Call(call));
            }
            JournalEntry::Verdict { call, verdict, .. } => {
                self.update_call(call, |call| call.verdict = Some(*verdict));
            }
            JournalEntry::Attempt { call, enforcement, .. } => {
                self.update_call(call, |call| call.enforcement = Some(truncate_name(enforcement)));
            }
            JournalEntry::Asked { call, .. } => self.start_question(call, record.seq, at),
            JournalEntry::Decided { call, decision, .. } => self.end_question(call, Some(decision), at),
            JournalEntry::Answered { call, .. } => self.finish_call(call, &record.entry, at),
            JournalEntry::End { why } => {
                let failed = (why == FAILED).then(|| FAILED.to_owned());
                self.spans.first_mut().into_iter().for_each(|whole| whole.error.clone_from(&failed));
            }
            // Conversation content, or entries without a duration.
            JournalEntry::Prompt { .. }
            | JournalEntry::Said { .. }
            | JournalEntry::Intent { .. }
            | JournalEntry::Kept { .. }
            | JournalEntry::Plan { .. }
            | JournalEntry::Diff { .. }
            | JournalEntry::Compacted { .. }
            | JournalEntry::Turn { .. }
            | JournalEntry::Added { .. }
            | JournalEntry::Agent { .. }
            | JournalEntry::Interrupted { .. }
            | JournalEntry::Notice { .. }
            | JournalEntry::Unknown(_) => {}
        }
        self.last = at;
    }

    /// Handles the start or resumption of a session. On resumption, running calls were cut off at the last record.
    fn start_session(&mut self, entry: &JournalEntry) {
        let JournalEntry::Session { version, model, wire, sandbox, approval, .. } = entry else { return };
        self.model = TraceModel { name: truncate_name(model), provider: provider(wire) };
        let [version, sandbox, approval] = [version, sandbox, approval].map(|text| truncate_name(text));
        let setting = TraceSettings { model: self.model.clone(), version, sandbox, approval };
        for open in self.calls.values_mut() {
            open.cut_at.get_or_insert(self.last);
        }
        if let Some(whole) = self.spans.first_mut() {
            (whole.work, whole.error) = (SpanWork::Session(setting), None);
        }
    }

    fn push(&mut self, line: u64, parent: Option<u64>, (from, to): (u64, u64), work: SpanWork) {
        self.spans.push(TraceSpan { line, parent, from, to, error: None, work });
    }

    /// Applies `does` to a call without an answer.
    fn update_call(&mut self, id: &str, does: impl FnOnce(&mut TraceCall)) {
        let open = self.calls.get(&truncate_name(id));
        if let Some(TraceSpan { work: SpanWork::Call(call), .. }) =
            open.and_then(|open| self.spans.get_mut(open.index))
        {
            does(call);
        }
    }

    fn start_question(&mut self, id: &str, line: u64, at: u64) {
        let Some(span) = self.calls.get(&truncate_name(id)).and_then(|open| self.spans.get(open.index))
        else {
            return;
        };
        let SpanWork::Call(call) = &span.work else { return };
        let (parent, work) = (span.line, SpanWork::Question { tool: call.tool.clone(), decision: None });
        self.questions.insert(truncate_name(id), self.spans.len());
        self.push(line, Some(parent), (at, at), work);
    }

    /// Ends the question about a call, with or without a decision.
    fn end_question(&mut self, id: &str, word: Option<&str>, at: u64) {
        let Some(question) = self.questions.remove(&truncate_name(id)).and_then(|at| self.spans.get_mut(at))
        else {
            return;
        };
        question.to = at.max(question.from);
        let waited = question.to - question.from;
        if let SpanWork::Question { decision, .. } = &mut question.work {
            *decision = word.map(truncate_name);
        }
        self.update_call(id, |call| call.waited_ms = call.waited_ms.saturating_add(waited));
    }

    fn finish_call(&mut self, id: &str, entry: &JournalEntry, at: u64) {
        let JournalEntry::Answered { success, error, took_ms, text, .. } = entry else { return };
        let to = self.calls.get(&truncate_name(id)).and_then(|open| open.cut_at).unwrap_or(at);
        self.end_question(id, None, to);
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.update_call(id, |call| call.answer = Some((bytes, *took_ms)));
        let Some(span) =
            self.calls.remove(&truncate_name(id)).and_then(|open| self.spans.get_mut(open.index))
        else {
            return;
        };
        span.to = to.max(span.from);
        if !success {
            span.error = Some(error.as_deref().map_or_else(|| "unsuccessful".to_owned(), truncate_name));
        }
    }

    /// Returns all spans. Open spans end with the last record, and the session's span encloses all others.
    fn finish(mut self) -> Vec<TraceSpan> {
        let open: Vec<(String, OpenCallSpan)> = self.calls.drain().collect();
        for (id, OpenCallSpan { index: at, cut_at: cut }) in open {
            let to = cut.unwrap_or(self.last);
            if let Some(question) = self.questions.remove(&id).and_then(|at| self.spans.get_mut(at)) {
                question.to = to.max(question.from);
            }
            if let Some(span) = self.spans.get_mut(at) {
                (span.to, span.error) = (to.max(span.from), Some(UNANSWERED.to_owned()));
            }
        }
        let from = self.spans.iter().map(|span| span.from).min();
        let to = self.spans.iter().map(|span| span.to).max();
        if let (Some(whole), Some(from), Some(to)) = (self.spans.first_mut(), from, to) {
            (whole.from, whole.to) = (from, to.max(self.last));
        }
        self.spans
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
        let mut reader = TraceBuilder::default();
        sample_session::build_records(entries).iter().for_each(|record| reader.add_record(record));
        let spans = reader.finish();
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
        6 in 0: execute_tool read_file 2100-2600
        9 in 5: ask git__log 2300-5300
        14 in 0: chat gpt-5 6000-7500
        ");
    }

    #[test]
    fn attributes_contain_no_conversation_text() {
        let mut reader = TraceBuilder::default();
        sample_session::build_records(sample_session::sample_entries())
            .iter()
            .for_each(|record| reader.add_record(record));
        let line = |(key, fact): SpanAttribute| match fact {
            AttributeValue::Text(text) => format!("{key}={text} "),
            AttributeValue::Count(count) => format!("{key}={count} "),
        };
        let told = |span: &TraceSpan| span.attributes("s").into_iter().map(line).collect::<String>();
        let told: Vec<String> = reader.finish().iter().take(5).map(told).collect();
        let expected = [
            "gen_ai.operation.name=invoke_agent gen_ai.agent.name=toolgate gen_ai.provider.name=openai gen_ai.request.model=gpt-5 \
             gen_ai.agent.version=0.1.0 toolgate.sandbox=workspace-write toolgate.approval=on-request gen_ai.conversation.id=s ",
            "gen_ai.operation.name=chat gen_ai.provider.name=openai gen_ai.request.model=gpt-5 gen_ai.usage.input_tokens=1204 \
             gen_ai.usage.cache_read.input_tokens=602 gen_ai.usage.output_tokens=96 toolgate.request.bytes=9100 gen_ai.conversation.id=s ",
            "gen_ai.operation.name=execute_tool gen_ai.tool.name=git__log gen_ai.tool.type=extension gen_ai.tool.call.id=c1 \
             toolgate.server=git toolgate.verdict=ask toolgate.enforcement=full toolgate.answer.bytes=23 gen_ai.conversation.id=s \
             error.type=timed_out ",
            "gen_ai.operation.name=execute_tool gen_ai.tool.name=read_file gen_ai.tool.type=function gen_ai.tool.call.id=c2 \
             toolgate.answer.bytes=29 gen_ai.conversation.id=s ",
            "gen_ai.tool.name=git__log toolgate.decision=approved gen_ai.conversation.id=s ",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn call_durations_match_stats() {
        let mut reader = TraceBuilder::default();
        sample_session::build_records(sample_session::sample_entries())
            .iter()
            .for_each(|record| reader.add_record(record));
        let histograms = histogram::build_histograms(&reader.finish());
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
