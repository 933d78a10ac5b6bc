//! The timeline of a session: its journal folded, so that each call has its decisions, attempts and answer.
//!
//! Every reader of a session uses this fold: resume, log, stats, replay, OTLP and the servers.

use std::path::Path;

use crate::entry::{
    JournalEntry, RecordedAnswer, RecordedCall, RecordedVerdict, RequestUsage, SessionSettings,
};
use crate::fault::JournalFault;
use crate::reader::{JournalReader, TornTail};
use crate::record::JournalRecord;
use crate::text_budget::TextBudget;
use crate::timeline_builder::TimelineBuilder;

/// Journal lines that [`SessionTimeline::read`] reads at most.
pub const MAX_TIMELINE_LINES: usize = 200_000;

/// The timeline of a session.
#[derive(Debug, Default)]
pub struct SessionTimeline {
    /// The events in the order of their first records.
    pub events: Vec<TimelineEvent>,
    /// The timestamp of the first line; empty if there is none.
    pub started: String,
    /// The time of the last record.
    pub end: EventTime,
    /// The way the journal ends.
    pub ending: JournalEnding,
}

/// The way a journal ends.
#[derive(Debug, Default)]
pub enum JournalEnding {
    /// With a complete line.
    #[default]
    Whole,
    /// In the middle of a line.
    Torn(TornTail),
    /// With a line that was modified or cannot be read.
    Broken(JournalFault),
    /// The journal has more than [`MAX_TIMELINE_LINES`] lines.
    TooLong,
}

/// One event of the timeline.
#[derive(Debug)]
pub struct TimelineEvent {
    /// The sequence number of its record.
    pub seq: u64,
    /// The time of its record.
    pub time: EventTime,
    /// Bytes of its record that the [`TextBudget`] omitted.
    pub omitted_bytes: usize,
    /// The event.
    pub kind: TimelineEventKind,
}

/// A time in a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventTime {
    /// Milliseconds since 1970. The machine's clock may go back.
    pub unix_ms: u64,
    /// Milliseconds of work since the beginning, without the time between turns.
    pub after_ms: u64,
}

/// The kind of an event.
#[derive(Debug)]
pub enum TimelineEventKind {
    /// A call with everything that is recorded about it.
    Call(Box<TimelineCall>),
    /// Any other entry. An entry about a call is here only if there is no such call.
    Entry(JournalEntry),
}

/// A call with its decisions and answer.
#[derive(Debug)]
pub struct TimelineCall {
    /// The call.
    pub call: RecordedCall,
    /// The effects that it stated before it ran, one sentence each.
    pub effects: Vec<String>,
    /// The verdicts of the policy.
    pub verdicts: Vec<TimelineVerdict>,
    /// The questions to the user.
    pub questions: Vec<TimelineQuestion>,
    /// The attempts to run it.
    pub attempts: Vec<TimelineAttempt>,
    /// The answer to the model; `None` if the program died or still runs.
    pub answer: Option<TimelineAnswer>,
    /// The time at which the program died during the call, if it did.
    pub cut_off: Option<EventTime>,
}

/// A verdict of the policy.
#[derive(Debug)]
pub struct TimelineVerdict {
    /// The verdict.
    pub verdict: RecordedVerdict,
    /// The reasons.
    pub why: Vec<String>,
    /// The rule or the default that decided.
    pub by: String,
}

/// A question to the user.
#[derive(Debug)]
pub struct TimelineQuestion {
    /// The sequence number of its record.
    pub seq: u64,
    /// The reasons.
    pub why: Vec<String>,
    /// The time of the question.
    pub asked: EventTime,
    /// The decision, if there is one.
    pub decision: Option<TimelineDecision>,
}

/// The decision about a question.
#[derive(Debug)]
pub struct TimelineDecision {
    /// The decision, as named in `docs/pipe.md`.
    pub decision: String,
    /// The decider: a person, a program, or a timeout.
    pub by: String,
    /// The time of the decision.
    pub time: EventTime,
}

impl TimelineDecision {
    /// Describes it for a person.
    pub fn describe(&self) -> String {
        match self.decision.as_str() {
            "unanswered" => "no one answered".to_owned(),
            decision => format!("{decision} by {}", self.by),
        }
    }
}

/// One attempt to run a call.
#[derive(Debug)]
pub struct TimelineAttempt {
    /// The attempt number, from one.
    pub number: u64,
    /// The time of its beginning.
    pub time: EventTime,
    /// The confinement.
    pub enforcement: String,
}

/// The answer to a call.
#[derive(Debug)]
pub struct TimelineAnswer {
    /// The sequence number of its record.
    pub seq: u64,
    /// The time of its record.
    pub time: EventTime,
    /// Bytes of the text that the [`TextBudget`] omitted.
    pub omitted_bytes: usize,
    /// The answer.
    pub answer: RecordedAnswer,
}

impl SessionTimeline {
    /// Reads a journal up to the first line that is damaged.
    ///
    /// # Errors
    ///
    /// If the journal cannot be opened.
    pub fn read(path: &Path, budget: TextBudget) -> Result<Self, JournalFault> {
        let mut records = JournalReader::open(path)?;
        let mut builder = TimelineBuilder::new(budget);
        for record in records.by_ref().take(MAX_TIMELINE_LINES) {
            match record {
                Ok(record) => builder.add_record(record),
                Err(fault) => return Ok(builder.finish(JournalEnding::Broken(fault))),
            }
        }
        let ending = match (records.torn_tail(), records.next()) {
            (Some(torn), _) => JournalEnding::Torn(torn),
            (None, None) => JournalEnding::Whole,
            (None, Some(_)) => JournalEnding::TooLong,
        };
        Ok(builder.finish(ending))
    }

    /// Folds all records of a journal, with all texts.
    #[must_use]
    pub fn from_records(records: impl IntoIterator<Item = JournalRecord>) -> Self {
        let mut builder = TimelineBuilder::new(TextBudget::unlimited());
        records.into_iter().for_each(|record| builder.add_record(record));
        builder.finish(JournalEnding::Whole)
    }

    /// Returns the settings of the session as they were last.
    pub fn last_settings(&self) -> Option<&SessionSettings> {
        self.entries().rev().find_map(|entry| match entry {
            JournalEntry::Session(settings) => Some(settings),
            _ => None,
        })
    }

    /// Returns the calls in order.
    pub fn calls(&self) -> impl Iterator<Item = (&TimelineEvent, &TimelineCall)> {
        self.events.iter().filter_map(|event| Some((event, event.as_call()?)))
    }

    /// Returns the entries that are not about a call, in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &JournalEntry> {
        self.events.iter().filter_map(|event| match &event.kind {
            TimelineEventKind::Entry(entry) => Some(entry),
            TimelineEventKind::Call(_) => None,
        })
    }

    /// Returns the number of prompts.
    #[must_use]
    pub fn prompt_count(&self) -> usize {
        self.events.iter().filter(|event| event.is_prompt()).count()
    }

    /// Returns the number of requests to the model, and their total usage.
    #[must_use]
    pub fn total_usage(&self) -> (u64, RequestUsage) {
        let mut sum = (0, RequestUsage::default());
        for entry in self.entries() {
            if let JournalEntry::Usage(usage) = entry {
                sum.0 += 1;
                sum.1.add(usage);
            }
        }
        sum
    }
}

impl TimelineEvent {
    /// Returns the call if this event is one.
    #[must_use]
    pub fn as_call(&self) -> Option<&TimelineCall> {
        if let TimelineEventKind::Call(call) = &self.kind { Some(call) } else { None }
    }

    /// Reports whether this event is a prompt.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        matches!(self.kind, TimelineEventKind::Entry(JournalEntry::Prompt { .. }))
    }
}

impl TimelineCall {
    /// Reports whether the call was answered with success.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.answer.success)
    }

    /// Returns the milliseconds that the user took to answer questions about the call.
    #[must_use]
    pub fn approval_wait(&self) -> u64 {
        let took = |question: &TimelineQuestion| {
            Some(question.decision.as_ref()?.time.after_ms.saturating_sub(question.asked.after_ms))
        };
        self.questions.iter().filter_map(took).fold(0, u64::saturating_add)
    }

    /// Returns the call's own milliseconds if it was answered: without the time for questions, whether or not the
    /// journal includes it.
    #[must_use]
    pub fn run_time(&self, began: EventTime) -> Option<u64> {
        let answer = self.answer.as_ref()?;
        let passed = answer.time.after_ms.saturating_sub(began.after_ms).saturating_sub(self.approval_wait());
        // The journal's clock has millisecond resolution, and stands still when the machine's clock goes back.
        let took = answer.answer.took_ms;
        Some(if self.questions.is_empty() { took } else { took.min(passed) })
    }
}
