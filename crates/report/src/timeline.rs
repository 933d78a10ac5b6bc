//! The timeline of a session: its journal records merged, so that each call has its decisions, attempts and answer.

use std::path::Path;

use journal::{JournalFault, JournalReader, RecordedVerdict, TornTail};
use toolgate::wire::TranscriptItem;

use super::timeline_builder::TimelineBuilder;
use super::truncate::{TextExcerpt, TextTruncator};

/// Journal lines that are read at most.
pub const MAX_LINES: usize = 200_000;

/// The timeline of a session.
#[derive(Debug, Default)]
pub struct SessionTimeline {
    pub(crate) events: Vec<TimelineEvent>,
    /// The timestamp of the first line; empty if there is none.
    pub(crate) started: String,
    /// Milliseconds from beginning to end, without the time between turns.
    pub(crate) duration_ms: u64,
    /// The way the journal ends.
    pub ending: JournalEnding,
}

/// The way the journal ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum JournalEnding {
    /// With a complete line.
    #[default]
    Whole,
    /// In the middle of a line.
    Torn(TornTail),
    /// With a line that was modified or cannot be read.
    Broken(String),
    /// The journal has more than [`MAX_LINES`] lines.
    TooLong,
}

/// One event of the timeline.
#[derive(Debug)]
pub(crate) struct TimelineEvent {
    /// The sequence number of its record.
    pub(crate) seq: u64,
    /// Milliseconds after the beginning, without the time between turns.
    pub(crate) after: u64,
    pub(crate) kind: TimelineEventKind,
}

/// The kind of an event, with its details.
#[derive(Debug)]
pub(crate) enum TimelineEventKind {
    Session(Box<SessionSettings>),
    Prompt {
        text: TextExcerpt,
        images: usize,
    },
    Message(Vec<ModelSpeech>),
    Call(Box<TimelineCall>),
    Plan(Vec<TimelinePlanStep>),
    Diff(TextExcerpt),
    Usage(RequestUsage),
    Compacted {
        summary: TextExcerpt,
        dropped: u64,
    },
    Interrupted(TextExcerpt),
    Notice(TextExcerpt),
    End(TextExcerpt),
    /// A record about a call that does not exist: its kind, and the call's id.
    OrphanRecord {
        kind: &'static str,
        call: String,
    },
    /// A record of a newer version, by its kind.
    UnknownRecord(String),
}

/// The settings under which a session began or resumed.
#[derive(Debug)]
pub(crate) struct SessionSettings {
    pub(crate) version: String,
    pub(crate) cwd: TextExcerpt,
    pub(crate) model: String,
    pub(crate) wire: String,
    pub(crate) sandbox: String,
    pub(crate) approval: String,
    pub(crate) resumed: bool,
}

/// A piece of the model's message.
#[derive(Debug)]
pub(crate) enum ModelSpeech {
    Text(TextExcerpt),
    Thought(TextExcerpt),
    Other(String),
}

/// A call with its decisions and answer.
#[derive(Debug)]
pub(crate) struct TimelineCall {
    pub(crate) tool: String,
    /// The server, and its name for the tool.
    pub(crate) remote: Option<(String, String)>,
    pub(crate) arguments: TextExcerpt,
    pub(crate) effects: Vec<TextExcerpt>,
    pub(crate) decisions: CallDecisions,
    pub(crate) answer: Option<TimelineAnswer>,
}

/// The decisions about a call, and its attempts.
#[derive(Debug, Default)]
pub(crate) struct CallDecisions {
    pub(crate) verdicts: Vec<TimelineVerdict>,
    pub(crate) questions: Vec<TimelineQuestion>,
    pub(crate) attempts: Vec<TimelineAttempt>,
}

/// The policy's verdict.
#[derive(Debug)]
pub(crate) struct TimelineVerdict {
    pub(crate) verdict: RecordedVerdict,
    pub(crate) why: Vec<TextExcerpt>,
    pub(crate) by: String,
}

/// A question to the user.
#[derive(Debug)]
pub(crate) struct TimelineQuestion {
    pub(crate) why: Vec<TextExcerpt>,
    pub(crate) asked: u64,
    pub(crate) decision: Option<TimelineDecision>,
}

/// The user's decision.
#[derive(Debug)]
pub(crate) struct TimelineDecision {
    pub(crate) word: String,
    pub(crate) by: String,
    pub(crate) after: u64,
}

/// One attempt to run a call.
#[derive(Debug)]
pub(crate) struct TimelineAttempt {
    pub(crate) number: u64,
    pub(crate) after: u64,
    pub(crate) enforcement: String,
}

/// The answer to the model.
#[derive(Debug)]
pub(crate) struct TimelineAnswer {
    pub(crate) after: u64,
    pub(crate) success: bool,
    pub(crate) error: Option<String>,
    pub(crate) took_ms: u64,
    pub(crate) text: TextExcerpt,
    pub(crate) pictures: usize,
    /// The path of the full output, and its size in bytes.
    pub(crate) spilled: Option<(TextExcerpt, u64)>,
}

/// A step of a plan.
#[derive(Debug)]
pub(crate) struct TimelinePlanStep {
    pub(crate) step: TextExcerpt,
    pub(crate) status: String,
}

/// The cost of a request to the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RequestUsage {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
    pub(crate) bytes: u64,
    pub(crate) millis: u64,
}

impl SessionTimeline {
    /// Reads a journal up to the first line that is damaged.
    pub fn read(path: &Path, truncator: TextTruncator) -> Result<Self, JournalFault> {
        let mut records = JournalReader::open(path)?;
        let mut builder = TimelineBuilder::new(truncator);
        for record in records.by_ref().take(MAX_LINES) {
            match record {
                Ok(record) => builder.add_record(&record),
                Err(fault) => {
                    return Ok(builder.finish(JournalEnding::Broken(describe_journal_fault(&fault))));
                }
            }
        }
        let ending = match (records.torn_tail(), records.next()) {
            (Some(torn), _) => JournalEnding::Torn(torn),
            (None, None) => JournalEnding::Whole,
            (None, Some(_)) => JournalEnding::TooLong,
        };
        Ok(builder.finish(ending))
    }

    /// Returns the calls in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&TimelineEvent, &TimelineCall)> {
        self.events.iter().filter_map(|event| Some((event, event.as_call()?)))
    }

    /// Returns the number of prompts.
    pub(crate) fn prompt_count(&self) -> usize {
        self.events.iter().filter(|event| event.is_prompt()).count()
    }

    /// Returns the number of requests to the model, and their total usage.
    pub(crate) fn total_usage(&self) -> (u64, RequestUsage) {
        let mut sum = (0, RequestUsage::default());
        for event in &self.events {
            if let TimelineEventKind::Usage(usage) = &event.kind {
                sum.0 += 1;
                sum.1.add(usage);
            }
        }
        sum
    }
}

impl TimelineEvent {
    /// Returns the call if this event is one.
    pub(crate) fn as_call(&self) -> Option<&TimelineCall> {
        if let TimelineEventKind::Call(call) = &self.kind { Some(call) } else { None }
    }

    /// Reports whether this event is a prompt.
    pub(crate) fn is_prompt(&self) -> bool {
        matches!(self.kind, TimelineEventKind::Prompt { .. })
    }
}

impl RequestUsage {
    /// Adds the usage of another request.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.input, other.input),
            (&mut self.cached, other.cached),
            (&mut self.output, other.output),
            (&mut self.bytes, other.bytes),
            (&mut self.millis, other.millis),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl TimelineCall {
    /// Reports whether the call was answered with success.
    pub(crate) fn succeeded(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.success)
    }

    /// Returns the milliseconds that the user took to answer questions about the call.
    pub(crate) fn approval_wait(&self) -> u64 {
        let took = |question: &TimelineQuestion| {
            Some(question.decision.as_ref()?.after.saturating_sub(question.asked))
        };
        self.decisions.questions.iter().filter_map(took).fold(0, u64::saturating_add)
    }

    /// Returns the call's own milliseconds if it was answered: without the time for questions, whether or not the
    /// journal includes it.
    pub(crate) fn run_time(&self, began: u64) -> Option<u64> {
        let answer = self.answer.as_ref()?;
        let passed = answer.after.saturating_sub(began).saturating_sub(self.approval_wait());
        // The journal's clock has millisecond resolution, and stands still when the machine's clock goes back.
        Some(if self.decisions.questions.is_empty() { answer.took_ms } else { answer.took_ms.min(passed) })
    }
}

impl TimelineAnswer {
    /// Returns the kind of error; `None` if the call succeeded.
    pub(crate) fn fault_kind(&self) -> Option<&str> {
        if self.success { None } else { Some(self.error.as_deref().unwrap_or("unsuccessful")) }
    }
}

impl ModelSpeech {
    pub(crate) fn from_words(words: &TranscriptItem, truncator: &mut TextTruncator) -> Self {
        match words {
            TranscriptItem::Text(text) => Self::Text(truncator.truncate(text)),
            TranscriptItem::Thought(text) => Self::Thought(truncator.truncate(text)),
            TranscriptItem::Other(kind) => Self::Other(super::truncate::truncate_name(kind)),
        }
    }
}

/// Describes an error of a journal without its path, which the caller has printed.
pub fn describe_journal_fault(fault: &JournalFault) -> String {
    match fault {
        JournalFault::Broken { broken, .. } => broken.to_string(),
        JournalFault::Unusable { source, .. } => format!("it cannot be read: {source}"),
        fault => fault.to_string(),
    }
}
