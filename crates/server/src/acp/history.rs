//! Replays the conversation of a resumed session to the editor, from its journal.

use agent::call_from_entry;
use journal::{JournalEntry, JournalPlanStep, JournalRecord};
use rpc::{RpcErrorCode, RpcFault};
use toolgate::ToolOutput;
use toolgate::wire::AssistantTurn;

use super::editor_session::EditorSession;
use super::editor_updates::{EditorUpdates, plan_entry};
use super::protocol::{ContentBlock, SessionUpdate};

/// Returns the updates for everything that was said and done.
pub(super) fn updates_from_journal(session: &EditorSession) -> Result<Vec<SessionUpdate>, RpcFault> {
    let read = journal::read_journal(session.journal_path())
        .map_err(|fault| RpcErrorCode::Internal.fault(fault.to_string()))?;
    Ok(updates_from_records(&read.records, session.updates()))
}

fn updates_from_records(records: &[JournalRecord], updates: &EditorUpdates) -> Vec<SessionUpdate> {
    let mut session_updates = Vec::new();
    // The journal records a response when it is complete, after its calls. Its text is still replayed before
    // the calls.
    let mut is_text_replayed = false;
    for (index, record) in records.iter().enumerate() {
        match &record.entry {
            JournalEntry::Prompt { text, .. } => {
                session_updates.push(SessionUpdate::User { content: ContentBlock::text(text.as_str()) });
                is_text_replayed = false;
            }
            JournalEntry::Said { items, .. } => {
                if !is_text_replayed {
                    session_updates.extend(message_updates(items));
                }
                is_text_replayed = false;
            }
            call @ JournalEntry::Call { .. } => {
                if !is_text_replayed {
                    session_updates.extend(next_message_updates(&records[index..]).into_iter().flatten());
                    is_text_replayed = true;
                }
                let view = call_from_entry(call).and_then(|call| updates.call_started(&call));
                session_updates.extend(view.map(SessionUpdate::Begun));
            }
            JournalEntry::Answered { call, success, text, .. } => {
                let output = if *success { ToolOutput::text(text) } else { ToolOutput::failure(text) };
                session_updates.extend(
                    updates.call_finished(&call.as_str().into(), &output).map(SessionUpdate::Changed),
                );
            }
            JournalEntry::Plan { steps } => {
                let entries =
                    steps.iter().map(|JournalPlanStep { step, status }| plan_entry(step, status)).collect();
                session_updates.push(SessionUpdate::Plan { entries });
            }
            JournalEntry::Session { .. }
            | JournalEntry::Intent { .. }
            | JournalEntry::Verdict { .. }
            | JournalEntry::Asked { .. }
            | JournalEntry::Decided { .. }
            | JournalEntry::Attempt { .. }
            | JournalEntry::Kept { .. }
            | JournalEntry::Diff { .. }
            | JournalEntry::Usage { .. }
            | JournalEntry::Compacted { .. }
            | JournalEntry::Turn { .. }
            | JournalEntry::Added { .. }
            | JournalEntry::Agent { .. }
            | JournalEntry::Interrupted { .. }
            | JournalEntry::Notice { .. }
            | JournalEntry::End { .. }
            | JournalEntry::Unknown(_) => {}
        }
    }
    session_updates
}

/// Returns the text of the response that the next calls belong to. Returns `None` if the response was never
/// completed.
fn next_message_updates(records: &[JournalRecord]) -> Option<Vec<SessionUpdate>> {
    records.iter().find_map(|record| match &record.entry {
        JournalEntry::Said { items, .. } => Some(Some(message_updates(items))),
        JournalEntry::Prompt { .. } => Some(None),
        _ => None,
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
