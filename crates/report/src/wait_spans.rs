//! Waiting times of a session: the intervals in which the model, the user or the tools were waited for.

use agent::RequestUserInput;
use runtime::ToolHandler;

use journal::{EventTime, JournalEntry, SessionTimeline, TimelineAnswer, TimelineCall, TimelineEventKind};

/// The party that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitKind {
    Model,
    People,
    Tools,
}

impl WaitKind {
    pub(crate) const ALL: [Self; 3] = [Self::Model, Self::People, Self::Tools];

    /// Returns the word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::People => "people",
            Self::Tools => "tools",
        }
    }
}

/// An interval of waiting, in milliseconds of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitSpan {
    pub kind: WaitKind,
    pub from: u64,
    pub to: u64,
    /// Index of the timeline event that it belongs to.
    pub event_index: usize,
}

/// Returns all intervals of waiting in a session.
pub(crate) fn wait_spans(timeline: &SessionTimeline) -> Vec<WaitSpan> {
    let mut spans = Vec::new();
    for (event_index, event) in timeline.events.iter().enumerate() {
        let span = |(kind, from, to)| WaitSpan { kind, from, to, event_index };
        if let TimelineEventKind::Entry(JournalEntry::Usage(usage)) = &event.kind {
            let to = event.time.after_ms;
            spans.push(span((WaitKind::Model, to.saturating_sub(usage.model_ms), to)));
        }
        if let TimelineEventKind::Call(call) = &event.kind {
            spans.extend(call_waits(call, event.time, timeline.end).into_iter().map(span));
        }
    }
    spans.retain(|span| span.from < span.to);
    spans
}

/// Returns the intervals of one call that began at `began`, in a session that ended at `over`.
fn call_waits(call: &TimelineCall, began: EventTime, over: EventTime) -> Vec<(WaitKind, u64, u64)> {
    let (began, over) = (began.after_ms, over.after_ms);
    let answered = |answer: &TimelineAnswer| (answer.time.after_ms, answer.answer.took_ms);
    let (end, took) = call.answer.as_ref().map_or((over, u64::MAX), answered);
    let TimelineCall { questions, attempts, .. } = call;
    let asked = questions.iter().map(|question| {
        let answered = question.decision.as_ref().map_or(end, |decision| decision.time.after_ms);
        (WaitKind::People, question.asked.after_ms, answered)
    });
    let tried = attempts.iter().enumerate().map(|(at, attempt)| {
        let from = attempt.time.after_ms;
        let question = questions.iter().map(|question| question.asked.after_ms).find(|asked| *asked > from);
        let next = attempts.get(at + 1).map(|attempt| attempt.time.after_ms);
        // An answer may be recorded long after it was given.
        (WaitKind::Tools, from, question.or(next).unwrap_or_else(|| end.min(from.saturating_add(took))))
    });
    if call.call.tool == RequestUserInput::NAME {
        // The recorded duration of this call excludes the wait for the user.
        let from = attempts.last().map_or(began, |attempt| attempt.time.after_ms);
        let ran = call.answer.as_ref().map_or(0, |answer| answer.answer.took_ms);
        let answered = end.saturating_sub(ran).max(from);
        return asked.chain([(WaitKind::People, from, answered), (WaitKind::Tools, answered, end)]).collect();
    }
    let mut times: Vec<_> = asked.chain(tried).collect();
    if times.is_empty() {
        times.push((WaitKind::Tools, began.max(end.saturating_sub(took)), end));
    }
    times
}

/// Returns the total milliseconds of waiting for `waiting`; overlapping intervals count once.
pub(crate) fn total_wait(spans: &[WaitSpan], waiting: WaitKind) -> u64 {
    let mut times: Vec<(u64, u64)> =
        spans.iter().filter(|span| span.kind == waiting).map(|span| (span.from, span.to)).collect();
    times.sort_unstable();
    let (mut sum, mut reached) = (0u64, 0);
    for (from, to) in times {
        sum = sum.saturating_add(to.saturating_sub(from.max(reached)));
        reached = reached.max(to);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_session;

    #[test]
    fn approval_time_is_not_tool_time() {
        let story = sample_session::sample_timeline();
        let spans = wait_spans(&story);
        let told: Vec<_> = spans.iter().map(|span| (span.kind, span.from, span.to)).collect();
        use WaitKind::{Model, People, Tools};
        assert_eq!(
            told,
            [
                (Model, 0, 2000),
                (People, 2300, 5300),
                (Tools, 5400, 6000),
                (Tools, 2597, 2600),
                (Model, 6000, 7500),
            ]
        );
        assert_eq!(WaitKind::ALL.map(|waiting| total_wait(&spans, waiting)), [3500, 3000, 603]);
    }

    #[test]
    fn retried_call_has_a_span_per_attempt() {
        let id = || "a".to_owned();
        let attempt = |number| JournalEntry::Attempt { call: id(), number, enforcement: String::new() };
        let asked = JournalEntry::Asked { call: id(), why: Vec::new() };
        let decided = JournalEntry::Decided { call: id(), decision: String::new(), by: String::new() };
        let mut entries = vec![
            (0, sample_session::call_entry("a", "shell", "{}")),
            (10, attempt(1)),
            (20, asked),
            (50, decided),
            (60, attempt(2)),
            (90, sample_session::answered_entry("a", None, 85, "")),
        ];
        let times = |story: &SessionTimeline| {
            wait_spans(story).iter().map(|span| (span.from, span.to)).collect::<Vec<_>>()
        };
        assert_eq!(times(&sample_session::build_timeline(entries.clone())), [(20, 50), (10, 20), (60, 90)]);
        entries.truncate(3);
        entries.push((70, JournalEntry::End { why: String::new() }));
        assert_eq!(times(&sample_session::build_timeline(entries)), [(20, 70), (10, 20)]);
    }

    #[test]
    fn user_input_request_counts_as_waiting_for_people() {
        let attempt = JournalEntry::Attempt { call: "a".to_owned(), number: 1, enforcement: String::new() };
        let story = sample_session::build_timeline(vec![
            (0, sample_session::call_entry("a", "request_user_input", "{}")),
            (10, attempt),
            (5000, sample_session::answered_entry("a", None, 2, "{}")),
        ]);
        let told: Vec<_> = wait_spans(&story).iter().map(|span| (span.kind, span.from, span.to)).collect();
        assert_eq!(told, [(WaitKind::People, 10, 4998), (WaitKind::Tools, 4998, 5000)]);
    }

    #[test]
    fn overlapping_spans_count_once() {
        let span = |from, to| WaitSpan { kind: WaitKind::Tools, from, to, event_index: 0 };
        for (spans, expected) in [
            (vec![], 0),
            (vec![span(0, 10), span(10, 20)], 20),
            (vec![span(5, 10), span(0, 20), span(15, 30)], 30),
            (vec![span(0, u64::MAX), span(1, u64::MAX)], u64::MAX),
        ] {
            assert_eq!(total_wait(&spans, WaitKind::Tools), expected);
        }
    }
}
