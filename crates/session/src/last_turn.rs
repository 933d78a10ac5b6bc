//! The last turn of an earlier session, as `--resume` shows it.

use std::time::Duration;

use journal::{JournalEntry, SessionTimeline, TimelineCall, TimelineEvent, TimelineEventKind};
use runtime::wire::{TranscriptItem, transcript_items};
use runtime::{ToolErrorKind, Value};

use crate::call_title::title;

/// The last prompt of a session, and what followed it.
pub struct LastTurn {
    /// The prompt.
    pub prompt: String,
    /// The calls, in the order of the model.
    pub calls: Vec<EarlierCall>,
    /// The last text of the model; empty if it said nothing.
    pub said: String,
    /// The sentence about the interruption, if the turn was interrupted.
    pub interruption: Option<String>,
}

/// A call of an earlier session.
pub struct EarlierCall {
    /// The tool's name and a summary of the arguments.
    pub title: String,
    /// The state.
    pub state: EarlierCallState,
    /// The duration, if the call was answered.
    pub took: Option<Duration>,
}

/// The state of a call of an earlier session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierCallState {
    /// Answered with success.
    Done,
    /// Answered with an error.
    Failed,
    /// Not run: the policy or the user refused it.
    Refused,
    /// Stopped, or running when the program ended.
    Interrupted,
    /// The program ended before it ran.
    NotRun,
}

impl LastTurn {
    /// Returns the last turn; `None` if there was no prompt.
    pub(crate) fn of(timeline: &SessionTimeline) -> Option<Self> {
        let start = timeline.events.iter().rposition(TimelineEvent::is_prompt)?;
        let events = &timeline.events[start..];
        let (mut prompt, mut said, mut ended) = (String::new(), String::new(), None);
        for event in events {
            let TimelineEventKind::Entry(entry) = &event.kind else { continue };
            match entry {
                JournalEntry::Prompt { text, .. } => prompt.clone_from(text),
                JournalEntry::Said { items, .. } => {
                    said = Some(spoken_text(items)).filter(|text| !text.is_empty()).unwrap_or(said);
                }
                JournalEntry::Turn { ended: how, .. } => ended = Some(how.as_str()),
                _ => {}
            }
        }
        let calls: Vec<EarlierCall> =
            events.iter().filter_map(TimelineEvent::as_call).map(EarlierCall::from_timeline).collect();
        let was_interrupted = matches!(ended, None | Some("interrupted"));
        let interruption = was_interrupted.then(|| describe_interruption(&calls));
        Some(Self { prompt, calls, said, interruption })
    }
}

impl EarlierCall {
    fn from_timeline(call: &TimelineCall) -> Self {
        let title = title(&agent::recorded_tool_call(&call.call));
        let Some(answer) = call.answer.as_ref().map(|answer| &answer.answer) else {
            let state = match call.attempts.is_empty() {
                true => EarlierCallState::NotRun,
                false => EarlierCallState::Interrupted,
            };
            return Self { title, state, took: None };
        };
        let is_error =
            |kinds: &[ToolErrorKind]| kinds.iter().any(|kind| answer.error.as_deref() == Some(kind.as_str()));
        let state = match answer.success {
            true => EarlierCallState::Done,
            _ if is_error(&[ToolErrorKind::Forbidden, ToolErrorKind::Denied]) => EarlierCallState::Refused,
            _ if is_error(&[ToolErrorKind::Cancelled, ToolErrorKind::Stopped]) => {
                EarlierCallState::Interrupted
            }
            false => EarlierCallState::Failed,
        };
        Self { title, state, took: Some(Duration::from_millis(answer.took_ms)) }
    }
}

/// Says which calls were interrupted.
fn describe_interruption(calls: &[EarlierCall]) -> String {
    let mut interrupted = calls.iter().filter(|call| call.state == EarlierCallState::Interrupted);
    let Some(first) = interrupted.next() else { return "interrupted between calls".to_owned() };
    let (more, they) = match interrupted.count() {
        0 => (String::new(), "it"),
        more => (format!(" and {more} more"), "they"),
    };
    format!("interrupted during `{}`{more}; {they} may have changed files", first.title)
}

/// Returns the text of a response, without thoughts and calls.
fn spoken_text(items: &[Value]) -> String {
    let spoken = transcript_items(items).into_iter().filter_map(|item| match item {
        TranscriptItem::Text(text) => Some(text),
        TranscriptItem::Thought(_) | TranscriptItem::Other(_) | TranscriptItem::Call(_) => None,
    });
    spoken.collect()
}
