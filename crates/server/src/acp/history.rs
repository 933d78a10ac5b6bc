//! Replays the conversation of a resumed session to the editor, from its journal.

use agent::{recorded_output, recorded_tool_call};
use journal::{
    JournalEntry, JournalPlanStep, SessionTimeline, TimelineAnswer, TimelineEvent, TimelineEventKind,
};
use rpc::{RpcErrorCode, RpcFault};
use runtime::wire::AssistantTurn;

use super::editor_session::EditorSession;
use super::editor_updates::{EditorUpdates, plan_entry};
use super::protocol::{ContentBlock, SessionUpdate};

/// Returns the updates for everything that was said and done.
pub(super) fn updates_from_journal(session: &EditorSession) -> Result<Vec<SessionUpdate>, RpcFault> {
    let contents = journal::read_journal(session.journal_path())
        .map_err(|fault| RpcErrorCode::Internal.fault(fault.to_string()))?;
    Ok(updates_from_timeline(&SessionTimeline::from_records(contents.records), session.updates()))
}

fn updates_from_timeline(timeline: &SessionTimeline, updates: &EditorUpdates) -> Vec<SessionUpdate> {
    let mut session_updates = Vec::new();
    // The journal records a response when it is complete, after its calls. Its text is still replayed before
    // the calls.
    let mut is_text_replayed = false;
    for (index, event) in timeline.events.iter().enumerate() {
        match &event.kind {
            TimelineEventKind::Call(call) => {
                if !is_text_replayed {
                    let next = next_message_updates(&timeline.events[index..]);
                    session_updates.extend(next.into_iter().flatten());
                    is_text_replayed = true;
                }
                let call_view = updates.call_started(&recorded_tool_call(&call.call));
                session_updates.extend(call_view.map(SessionUpdate::Begun));
                let answered = call.answer.as_ref().and_then(|TimelineAnswer { answer, .. }| {
                    updates.call_finished(&answer.call.as_str().into(), &recorded_output(answer))
                });
                session_updates.extend(answered.map(SessionUpdate::Changed));
            }
            TimelineEventKind::Entry(JournalEntry::Prompt { text, .. }) => {
                session_updates.push(SessionUpdate::User { content: ContentBlock::text(text.as_str()) });
                is_text_replayed = false;
            }
            TimelineEventKind::Entry(JournalEntry::Said { items, .. }) => {
                if !is_text_replayed {
                    session_updates.extend(message_updates(items));
                }
                is_text_replayed = false;
            }
            TimelineEventKind::Entry(JournalEntry::Plan { steps }) => {
                let entries =
                    steps.iter().map(|JournalPlanStep { step, status }| plan_entry(step, status)).collect();
                session_updates.push(SessionUpdate::Plan { entries });
            }
            // The protocol has no update for the others.
            TimelineEventKind::Entry(_) => {}
        }
    }
    session_updates
}

/// Returns the text of the response that the next calls belong to. Returns `None` if the response was never
/// completed.
fn next_message_updates(events: &[TimelineEvent]) -> Option<Vec<SessionUpdate>> {
    events.iter().find_map(|event| match &event.kind {
        TimelineEventKind::Entry(JournalEntry::Said { items, .. }) => Some(Some(message_updates(items))),
        TimelineEventKind::Entry(JournalEntry::Prompt { .. }) => Some(None),
        TimelineEventKind::Entry(_) | TimelineEventKind::Call(_) => None,
    })?
}

fn message_updates(items: &[serde_json::Value]) -> Vec<SessionUpdate> {
    let texts =
        items.iter().filter_map(|item| AssistantTurn::from_saved_json(item).ok()).map(|said| said.text());
    texts
        .filter(|text| !text.is_empty())
        .map(|text| SessionUpdate::Text { content: ContentBlock::text(text) })
        .collect()
}
