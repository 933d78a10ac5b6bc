//! Folds journal records into the timeline of a session.

use std::collections::HashMap;

use crate::entry::{JournalEntry, RecordedCall};
use crate::record::JournalRecord;
use crate::session_clock::{ElapsedKind, SessionClock};
use crate::text_budget::TextBudget;
use crate::timeline::{
    EventTime, JournalEnding, SessionTimeline, TimelineAnswer, TimelineAttempt, TimelineCall,
    TimelineDecision, TimelineEvent, TimelineEventKind, TimelineQuestion, TimelineVerdict,
};

/// Verdicts, questions and attempts of one call that are kept at most.
const MAX_PER_CALL: usize = 100;

/// Builds a timeline, record by record.
#[derive(Debug)]
pub(crate) struct TimelineBuilder {
    budget: TextBudget,
    clock: SessionClock,
    timeline: SessionTimeline,
    /// Calls without an answer: the index of each in the timeline.
    open_calls: HashMap<String, usize>,
    /// The last turn is over, and no prompt has begun another.
    turn_is_over: bool,
}

impl TimelineBuilder {
    pub(crate) fn new(budget: TextBudget) -> Self {
        Self {
            budget,
            clock: SessionClock::default(),
            timeline: SessionTimeline::default(),
            open_calls: HashMap::new(),
            turn_is_over: false,
        }
    }

    pub(crate) fn add_record(&mut self, record: JournalRecord) {
        let JournalRecord { seq, at, mut entry, hash: _ } = record;
        let goes_on = matches!(entry, JournalEntry::Session(_));
        if goes_on {
            self.cut_off_open_calls();
        }
        let is_prompt = matches!(entry, JournalEntry::Prompt { .. });
        // A prompt during a running call does not end the turn.
        let is_idle = goes_on || (is_prompt || self.turn_is_over) && self.open_calls.is_empty();
        let passed = if is_idle { ElapsedKind::Idle } else { ElapsedKind::Working };
        if matches!(entry, JournalEntry::Turn { .. }) {
            self.turn_is_over = true;
        } else if is_prompt || matches!(entry, JournalEntry::Call(_)) {
            // The calls of a client follow no prompt.
            self.turn_is_over = false;
        }
        let time = self.clock.tick(&at, passed);
        if self.timeline.started.is_empty() {
            self.timeline.started = at;
        }
        self.timeline.end = time;
        let omitted_bytes = self.budget.shorten(&mut entry);
        if let Some(entry) = self.add_to_call(entry, (seq, time, omitted_bytes)) {
            let kind = match entry {
                JournalEntry::Call(call) => self.open_call(call),
                entry => TimelineEventKind::Entry(entry),
            };
            self.timeline.events.push(TimelineEvent { seq, time, omitted_bytes, kind });
        }
    }

    pub(crate) fn finish(mut self, ending: JournalEnding) -> SessionTimeline {
        self.timeline.ending = ending;
        self.timeline
    }

    /// Marks the calls that were running when the program died: at the last record before the session resumes.
    fn cut_off_open_calls(&mut self) {
        let indexes: Vec<usize> = self.open_calls.values().copied().collect();
        indexes.into_iter().for_each(|index| self.cut_off(index));
    }

    fn cut_off(&mut self, index: usize) {
        if let Some(TimelineEvent { kind: TimelineEventKind::Call(call), .. }) =
            self.timeline.events.get_mut(index)
        {
            call.cut_off.get_or_insert(self.timeline.end);
        }
    }

    fn open_call(&mut self, call: RecordedCall) -> TimelineEventKind {
        // An id may be used again: the earlier call then stays without an answer, or has one already.
        let replaced = self.open_calls.insert(call.id.clone(), self.timeline.events.len());
        if let Some(index) = replaced {
            self.cut_off(index);
        }
        TimelineEventKind::Call(Box::new(TimelineCall {
            call,
            effects: Vec::new(),
            verdicts: Vec::new(),
            questions: Vec::new(),
            attempts: Vec::new(),
            answer: None,
            cut_off: None,
        }))
    }

    /// Adds an entry about an open call to that call. Returns any other entry.
    fn add_to_call(
        &mut self,
        entry: JournalEntry,
        (seq, time, omitted_bytes): (u64, EventTime, usize),
    ) -> Option<JournalEntry> {
        let Some(index) = call_id(&entry).and_then(|id| self.open_calls.get(id)).copied() else {
            return Some(entry);
        };
        let Some(TimelineEvent { kind: TimelineEventKind::Call(call), .. }) =
            self.timeline.events.get_mut(index)
        else {
            return Some(entry);
        };
        match entry {
            JournalEntry::Intent { effects, call: _ } => call.effects = effects,
            JournalEntry::Verdict { verdict, why, by, call: _ } => {
                push_bounded(&mut call.verdicts, TimelineVerdict { verdict, why, by });
            }
            JournalEntry::Asked { why, call: _ } => {
                let question = TimelineQuestion { seq, why, asked: time, decision: None };
                push_bounded(&mut call.questions, question);
            }
            JournalEntry::Decided { decision, by, call: _ } => {
                if let Some(question) = call.questions.last_mut() {
                    question.decision = Some(TimelineDecision { decision, by, time });
                }
            }
            JournalEntry::Attempt { number, enforcement, call: _ } => {
                push_bounded(&mut call.attempts, TimelineAttempt { number, time, enforcement });
            }
            JournalEntry::Answered(answer) => {
                self.open_calls.remove(&answer.call);
                call.answer = Some(TimelineAnswer { seq, time, omitted_bytes, answer });
            }
            other => return Some(other),
        }
        None
    }
}

fn push_bounded<T>(list: &mut Vec<T>, item: T) {
    if list.len() < MAX_PER_CALL {
        list.push(item);
    }
}

/// Returns the id of the call that an entry adds something to.
fn call_id(entry: &JournalEntry) -> Option<&str> {
    match entry {
        JournalEntry::Intent { call, .. }
        | JournalEntry::Verdict { call, .. }
        | JournalEntry::Asked { call, .. }
        | JournalEntry::Decided { call, .. }
        | JournalEntry::Attempt { call, .. } => Some(call),
        JournalEntry::Answered(answer) => Some(&answer.call),
        JournalEntry::Session(_)
        | JournalEntry::Prompt { .. }
        | JournalEntry::Said { .. }
        | JournalEntry::Call(_)
        // Written after the answer.
        | JournalEntry::Kept { .. }
        | JournalEntry::Plan { .. }
        | JournalEntry::Diff { .. }
        | JournalEntry::Usage(_)
        | JournalEntry::Compacted { .. }
        | JournalEntry::Agent { .. }
        | JournalEntry::Added { .. }
        | JournalEntry::Turn { .. }
        | JournalEntry::Interrupted { .. }
        | JournalEntry::Notice { .. }
        | JournalEntry::End { .. }
        | JournalEntry::Unknown(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{RecordedAnswer, RecordedCallForm, SessionSettings};

    /// Folds entries with their milliseconds after the beginning.
    fn fold(entries: Vec<(u64, JournalEntry)>) -> SessionTimeline {
        let record = |((after, entry), seq): ((u64, JournalEntry), u64)| {
            let at =
                format!("2026-11-16T21:{:02}:{:02}.{:03}Z", after / 60_000, after / 1000 % 60, after % 1000);
            JournalRecord { seq, at, entry, hash: String::new() }
        };
        SessionTimeline::from_records(entries.into_iter().zip(1..).map(record))
    }

    fn call(id: &str) -> JournalEntry {
        let (id, tool, arguments) = (id.to_owned(), "shell".to_owned(), "{}".to_owned());
        JournalEntry::Call(RecordedCall {
            id,
            tool,
            form: RecordedCallForm::Function,
            arguments,
            remote: None,
        })
    }

    fn answer(id: &str) -> JournalEntry {
        JournalEntry::Answered(RecordedAnswer {
            call: id.to_owned(),
            success: true,
            error: None,
            took_ms: 0,
            text: String::new(),
            pictures: Vec::new(),
            spilled: None,
            refused: Vec::new(),
        })
    }

    fn prompt() -> JournalEntry {
        JournalEntry::Prompt { text: String::new(), images: Vec::new() }
    }

    fn session() -> JournalEntry {
        JournalEntry::Session(SessionSettings::default())
    }

    fn kinds(timeline: &SessionTimeline) -> Vec<(u64, &'static str)> {
        let kind = |kind: &TimelineEventKind| match kind {
            TimelineEventKind::Entry(JournalEntry::Session(_)) => "session",
            TimelineEventKind::Entry(JournalEntry::Prompt { .. }) => "prompt",
            TimelineEventKind::Call(call) if call.answer.is_some() => "answered call",
            TimelineEventKind::Call(_) => "call",
            TimelineEventKind::Entry(JournalEntry::Answered(_)) => "answer",
            TimelineEventKind::Entry(_) => "another",
        };
        timeline.events.iter().map(|event| (event.time.after_ms, kind(&event.kind))).collect()
    }

    #[test]
    fn idle_time_between_turns_is_not_counted() {
        let timeline = fold(vec![
            (0, session()),
            (1000, prompt()),
            (1100, call("a")),
            (1150, prompt()),
            (600_000, session()),
            (600_010, answer("a")),
            (700_000, prompt()),
        ]);
        let expected = [
            (0, "session"),
            (0, "prompt"),
            (100, "answered call"),
            (150, "prompt"),
            (150, "session"),
            (160, "prompt"),
        ];
        assert_eq!(kinds(&timeline), expected);
        let (began, cut) = (timeline.events[0].time.unix_ms, timeline.calls().next().unwrap().1.cut_off);
        assert_eq!(cut.map(|cut| cut.unix_ms - began), Some(1150));
    }

    #[test]
    fn the_time_after_the_last_turn_is_idle() {
        let turn = || JournalEntry::Turn { id: "t2".into(), ended: "done".into(), detail: None };
        let notice = || JournalEntry::Notice { text: String::new() };
        let timeline = fold(vec![
            (0, session()),
            (10, prompt()),
            (500, turn()),
            (501, notice()),
            (90_000, prompt()),
            (90_200, turn()),
            (200_000, JournalEntry::End { why: "done".into() }),
        ]);
        assert_eq!(timeline.end.after_ms, 490 + 200);
    }

    #[test]
    fn each_answer_belongs_to_the_last_call_with_its_id() {
        for (entries, expected) in [
            (vec![], ""),
            (vec![call("a"), answer("a")], "a+"),
            (vec![call("a"), call("b"), answer("a")], "a+ b"),
            (vec![call("a"), call("b"), call("c"), answer("b")], "a b+ c"),
            (vec![call("a"), answer("a"), call("a")], "a+ a"),
            (vec![call("a"), call("a"), answer("a")], "a a+"),
            (vec![answer("x"), call("x"), answer("y")], "(x) x (y)"),
        ] {
            let timeline = fold(entries.into_iter().map(|entry| (0, entry)).collect());
            let show = |event: &TimelineEvent| match &event.kind {
                TimelineEventKind::Call(call) => {
                    format!("{}{}", call.call.id, if call.answer.is_some() { "+" } else { "" })
                }
                TimelineEventKind::Entry(JournalEntry::Answered(answer)) => format!("({})", answer.call),
                TimelineEventKind::Entry(entry) => panic!("{entry:?}"),
            };
            assert_eq!(timeline.events.iter().map(show).collect::<Vec<_>>().join(" "), expected);
        }
    }
}
