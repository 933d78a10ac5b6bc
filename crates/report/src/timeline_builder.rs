//! Builds a session's timeline from its journal records.

use std::collections::HashMap;

use journal::{JournalEntry, JournalRecord};

use super::session_clock::{ElapsedKind, SessionClock};
use super::timeline::{
    CallDecisions, JournalEnding, ModelSpeech, RequestUsage, SessionSettings, SessionTimeline,
    TimelineAnswer, TimelineAttempt, TimelineCall, TimelineDecision, TimelineEvent, TimelineEventKind,
    TimelinePlanStep, TimelineQuestion, TimelineVerdict,
};
use super::truncate::{TextTruncator, truncate_name};

/// Plan steps, message pieces, and records about one call that are kept at most.
const MAX_ITEMS: usize = 100;

/// Builds a timeline, record by record.
#[derive(Debug)]
pub(crate) struct TimelineBuilder {
    truncator: TextTruncator,
    clock: SessionClock,
    timeline: SessionTimeline,
    /// Calls without an answer: the index of each in the timeline.
    open_calls: HashMap<String, usize>,
}

impl TimelineBuilder {
    pub(crate) fn new(truncator: TextTruncator) -> Self {
        Self {
            truncator,
            clock: SessionClock::default(),
            timeline: SessionTimeline::default(),
            open_calls: HashMap::new(),
        }
    }

    pub(crate) fn add_record(&mut self, record: &JournalRecord) {
        // A prompt during a running call does not end the turn.
        let is_next = matches!(record.entry, JournalEntry::Prompt { .. }) && self.open_calls.is_empty();
        let goes_on = matches!(record.entry, JournalEntry::Session { .. });
        let passed = if is_next || goes_on { ElapsedKind::Idle } else { ElapsedKind::Working };
        let after = self.clock.tick(&record.at, passed);
        self.timeline.duration_ms = after;
        if self.timeline.started.is_empty() {
            self.timeline.started = truncate_name(&record.at);
        }
        if let Some(kind) = self.event_kind(&record.entry, after) {
            self.timeline.events.push(TimelineEvent { seq: record.seq, after, kind });
        }
        if let JournalEntry::Call { id, .. } = &record.entry {
            self.open_calls.insert(truncate_name(id), self.timeline.events.len() - 1);
        }
    }

    pub(crate) fn finish(mut self, ending: JournalEnding) -> SessionTimeline {
        self.timeline.ending = ending;
        self.timeline
    }

    /// Returns the event for a record; `None` if the record belongs to a call.
    fn event_kind(&mut self, entry: &JournalEntry, after: u64) -> Option<TimelineEventKind> {
        let truncator = &mut self.truncator;
        Some(match entry {
            JournalEntry::Session { .. } => {
                TimelineEventKind::Session(Box::new(session_settings(entry, truncator)?))
            }
            JournalEntry::Prompt { text, images } => {
                TimelineEventKind::Prompt { text: truncator.truncate(text), images: images.len() }
            }
            JournalEntry::Said { items, .. } => {
                let words = toolgate::wire::transcript_items(items);
                if words.is_empty() {
                    // The message contains only calls, which have records of their own.
                    return None;
                }
                TimelineEventKind::Message(
                    words
                        .iter()
                        .take(MAX_ITEMS)
                        .map(|words| ModelSpeech::from_words(words, truncator))
                        .collect(),
                )
            }
            JournalEntry::Call { .. } => TimelineEventKind::Call(Box::new(build_call(entry, truncator)?)),
            JournalEntry::Intent { call, .. }
            | JournalEntry::Verdict { call, .. }
            | JournalEntry::Asked { call, .. }
            | JournalEntry::Decided { call, .. }
            | JournalEntry::Attempt { call, .. }
            | JournalEntry::Answered { call, .. } => return self.add_to_call(call, entry, after),
            JournalEntry::Kept { call, path, sha256, bytes } => {
                let text =
                    format!("all {bytes} bytes that call {call} wrote are in {path}, SHA-256 {sha256}");
                TimelineEventKind::Notice(truncator.truncate(&text))
            }
            JournalEntry::Plan { steps } => {
                let step = |step: &journal::JournalPlanStep| TimelinePlanStep {
                    step: truncator.truncate(&step.step),
                    status: truncate_name(&step.status),
                };
                TimelineEventKind::Plan(steps.iter().take(MAX_ITEMS).map(step).collect())
            }
            JournalEntry::Diff { text } => TimelineEventKind::Diff(truncator.truncate(text)),
            JournalEntry::Usage { .. } => TimelineEventKind::Usage(request_usage(entry)?),
            JournalEntry::Compacted { summary, dropped } => {
                TimelineEventKind::Compacted { summary: truncator.truncate(summary), dropped: *dropped }
            }
            // Its facts have records of their own: the last message, the interruption, the error.
            JournalEntry::Turn { .. } | JournalEntry::Added { .. } => return None,
            JournalEntry::Agent { path, of } => {
                TimelineEventKind::Notice(truncator.truncate(&format!("the agent {path} of {of}")))
            }
            JournalEntry::Interrupted { why } => TimelineEventKind::Interrupted(truncator.truncate(why)),
            JournalEntry::Notice { text } => TimelineEventKind::Notice(truncator.truncate(text)),
            JournalEntry::End { why } => TimelineEventKind::End(truncator.truncate(why)),
            JournalEntry::Unknown(value) => {
                TimelineEventKind::UnknownRecord(truncate_name(value["kind"].as_str().unwrap_or("?")))
            }
        })
    }

    /// Adds a record to its call. A record about an unknown call becomes an event of its own.
    fn add_to_call(&mut self, id: &str, entry: &JournalEntry, after: u64) -> Option<TimelineEventKind> {
        let stray =
            || Some(TimelineEventKind::OrphanRecord { kind: entry_kind(entry), call: truncate_name(id) });
        let Some(at) = self.open_calls.get(&truncate_name(id)).copied() else { return stray() };
        let Some(TimelineEvent { kind: TimelineEventKind::Call(call), .. }) =
            self.timeline.events.get_mut(at)
        else {
            return stray();
        };
        if let JournalEntry::Answered { .. } = entry {
            call.answer = build_answer(entry, after, &mut self.truncator);
            self.open_calls.remove(&truncate_name(id));
        } else {
            call.apply_entry(entry, after, &mut self.truncator);
        }
        None
    }
}

impl TimelineCall {
    fn apply_entry(&mut self, entry: &JournalEntry, after: u64, truncator: &mut TextTruncator) {
        let decisions = &mut self.decisions;
        match entry {
            JournalEntry::Intent { effects, .. } => self.effects = truncator.truncate_list(effects),
            JournalEntry::Verdict { verdict, why, by, .. } if decisions.verdicts.len() < MAX_ITEMS => {
                decisions.verdicts.push(TimelineVerdict {
                    verdict: *verdict,
                    why: truncator.truncate_list(why),
                    by: truncate_name(by),
                });
            }
            JournalEntry::Asked { why, .. } if decisions.questions.len() < MAX_ITEMS => {
                decisions.questions.push(TimelineQuestion {
                    why: truncator.truncate_list(why),
                    asked: after,
                    decision: None,
                });
            }
            JournalEntry::Decided { decision, by, .. } => {
                if let Some(question) = decisions.questions.last_mut() {
                    question.decision = Some(TimelineDecision {
                        word: truncate_name(decision),
                        by: truncate_name(by),
                        after,
                    });
                }
            }
            JournalEntry::Attempt { number, enforcement, .. } if decisions.attempts.len() < MAX_ITEMS => {
                decisions.attempts.push(TimelineAttempt {
                    number: *number,
                    after,
                    enforcement: truncate_name(enforcement),
                });
            }
            // Not about a call, or beyond the limit.
            _ => {}
        }
    }
}

fn session_settings(entry: &JournalEntry, truncator: &mut TextTruncator) -> Option<SessionSettings> {
    let JournalEntry::Session { version, cwd, model, wire, sandbox, approval, resumed } = entry else {
        return None;
    };
    let [version, model, wire, sandbox, approval] =
        [version, model, wire, sandbox, approval].map(|text| truncate_name(text));
    Some(SessionSettings {
        version,
        cwd: truncator.truncate(cwd),
        model,
        wire,
        sandbox,
        approval,
        resumed: *resumed,
    })
}

fn build_call(entry: &JournalEntry, truncator: &mut TextTruncator) -> Option<TimelineCall> {
    let JournalEntry::Call { id: _, tool, form: _, arguments, remote } = entry else { return None };
    Some(TimelineCall {
        tool: truncate_name(tool),
        remote: remote.as_ref().map(|remote| (truncate_name(&remote.server), truncate_name(&remote.tool))),
        arguments: truncator.truncate(arguments),
        effects: Vec::new(),
        decisions: CallDecisions::default(),
        answer: None,
    })
}

fn build_answer(entry: &JournalEntry, after: u64, truncator: &mut TextTruncator) -> Option<TimelineAnswer> {
    let JournalEntry::Answered { success, error, took_ms, text, pictures, spilled, .. } = entry else {
        return None;
    };
    Some(TimelineAnswer {
        after,
        success: *success,
        error: error.as_deref().map(truncate_name),
        took_ms: *took_ms,
        text: truncator.truncate(text),
        pictures: pictures.len(),
        spilled: spilled.as_ref().map(|spilled| (truncator.truncate(&spilled.path), spilled.bytes)),
    })
}

fn request_usage(entry: &JournalEntry) -> Option<RequestUsage> {
    let JournalEntry::Usage { input_tokens, cached_tokens, output_tokens, request_bytes, model_ms } = *entry
    else {
        return None;
    };
    let (input, cached, output) = (input_tokens, cached_tokens, output_tokens);
    Some(RequestUsage { input, cached, output, bytes: request_bytes, millis: model_ms })
}

fn entry_kind(entry: &JournalEntry) -> &'static str {
    match entry {
        JournalEntry::Intent { .. } => "intent",
        JournalEntry::Verdict { .. } => "verdict",
        JournalEntry::Asked { .. } => "asked",
        JournalEntry::Decided { .. } => "decided",
        JournalEntry::Attempt { .. } => "attempt",
        JournalEntry::Answered { .. } => "answered",
        // The other entries are not about a call.
        _ => "word",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_session;

    fn kinds(story: &SessionTimeline) -> Vec<(u64, &'static str)> {
        let kind = |what: &TimelineEventKind| match what {
            TimelineEventKind::Session(_) => "session",
            TimelineEventKind::Prompt { .. } => "prompt",
            TimelineEventKind::Call(call) if call.answer.is_some() => "answered call",
            TimelineEventKind::Call(_) => "call",
            TimelineEventKind::OrphanRecord { kind, .. } => kind,
            _ => "another",
        };
        story.events.iter().map(|moment| (moment.after, kind(&moment.kind))).collect()
    }

    #[test]
    fn idle_time_between_turns_is_not_counted() {
        let Some((_, session)) = sample_session::sample_entries().into_iter().next() else {
            panic!("there is one")
        };
        let prompt = || JournalEntry::Prompt { text: String::new(), images: Vec::new() };
        let story = sample_session::build_timeline(vec![
            (0, session.clone()),
            (1000, prompt()),
            (1100, sample_session::call_entry("a", "shell", "")),
            (1150, prompt()),
            (600_000, session),
            (600_010, sample_session::answered_entry("a", Some("stopped"), 0, "")),
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
        assert_eq!(kinds(&story), expected);
    }

    #[test]
    fn reused_call_ids_and_stray_records_are_kept_apart() {
        let story = sample_session::build_timeline(vec![
            (0, sample_session::answered_entry("a", None, 0, "")),
            (1, sample_session::call_entry("a", "shell", "")),
            (2, sample_session::answered_entry("a", None, 0, "first")),
            (3, sample_session::call_entry("a", "shell", "")),
            (4, sample_session::answered_entry("b", None, 0, "")),
        ]);
        assert_eq!(kinds(&story), [(0, "answered"), (1, "answered call"), (3, "call"), (4, "answered")]);
    }
}
