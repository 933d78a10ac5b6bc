//! Resumes a session: rebuilds the conversation from its journal.

use journal::{JournalEntry, JournalRecord, McpToolRef, RecordedCallForm};
use tool::{CallId, ToolCall, ToolOutput, ToolPayload};
use wire::{AssistantTurn, Dialect};

use crate::AgentFault;
use crate::history::{ConversationHistory, HistoryItem};

/// A session as its journal records it.
#[derive(Default)]
pub struct ResumedSession {
    pub(crate) items: Vec<HistoryItem>,
    /// Model calls that were running when the program died; their effects are unknown.
    pub(crate) lost_calls: Vec<ToolCall>,
    /// Client calls that were running when the program died. The model does not know about them.
    pub(crate) abandoned: Vec<ToolCall>,
    /// The turn that was running then.
    pub(crate) interrupted_turn: Option<String>,
    /// Steering input of that turn that the model has not read.
    pub(crate) unread_input: Vec<String>,
}

impl ResumedSession {
    /// Returns the number of conversation pieces.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether the conversation is empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the number of calls that were running when the program died.
    pub fn lost_calls(&self) -> usize {
        self.lost_calls.len()
    }
}

/// A response and its answers, while they are collected.
#[derive(Default)]
struct PartialRound {
    turn: Option<AssistantTurn>,
    calls: Vec<ToolCall>,
    answers: Vec<(CallId, ToolOutput)>,
}

impl PartialRound {
    /// Returns the conversation piece, if the model said anything, and its unanswered calls.
    fn finish(self, dialect: Dialect) -> (Option<HistoryItem>, Vec<ToolCall>) {
        let Self { turn, calls, answers } = self;
        // If the program died during the response, the journal has its calls only.
        let turn = turn.unwrap_or_else(|| AssistantTurn::from_calls(dialect, calls));
        let answered = |call: &&ToolCall| !answers.iter().any(|(id, _)| *id == call.id);
        let lost_calls = turn.calls().filter(answered).cloned().collect();
        ((!turn.is_empty()).then_some(HistoryItem::Round { said: turn, answers }), lost_calls)
    }
}

/// Rebuilds a session from `records`, to continue in `dialect`.
///
/// # Errors
/// If a recorded response cannot be parsed.
pub fn resume_from_records(
    records: &[JournalRecord],
    dialect: Dialect,
) -> Result<ResumedSession, AgentFault> {
    let mut replay = JournalReplay {
        dialect,
        items: Vec::new(),
        lost_calls: Vec::new(),
        round: PartialRound::default(),
        client_calls: Vec::new(),
    };
    let (mut turn, mut unread_input) = (None, Vec::new());
    for record in records {
        match &record.entry {
            JournalEntry::Added { text } => unread_input.push(text.clone()),
            JournalEntry::Prompt { text, .. } => {
                // Steering input is recorded as a prompt once the model reads it.
                turn.get_or_insert(turn_id(record.seq));
                if unread_input.first() == Some(text) {
                    unread_input.remove(0);
                }
            }
            JournalEntry::Turn { .. } => turn = None,
            _ => {}
        }
        replay.apply_entry(&record.entry)?;
    }
    replay.close_round();
    let JournalReplay { items, lost_calls, client_calls: abandoned, .. } = replay;
    Ok(ResumedSession { items, lost_calls, abandoned, interrupted_turn: turn, unread_input })
}

/// Returns the id of the turn whose prompt is at line `number`.
pub(crate) fn turn_id(number: u64) -> String {
    format!("t{number}")
}

struct JournalReplay {
    dialect: Dialect,
    items: Vec<HistoryItem>,
    lost_calls: Vec<ToolCall>,
    round: PartialRound,
    /// Unanswered calls of client programs.
    client_calls: Vec<ToolCall>,
}

impl JournalReplay {
    /// Adds one entry. A request is sent only after every earlier call is answered, so any later entry that is no
    /// answer belongs to the next round.
    fn apply_entry(&mut self, entry: &JournalEntry) -> Result<(), AgentFault> {
        match entry {
            JournalEntry::Prompt { text, .. } => {
                self.close_round();
                self.items.push(HistoryItem::User { text: text.clone(), images: Vec::new() });
            }
            JournalEntry::Call { form: RecordedCallForm::Client | RecordedCallForm::ClientText, .. } => {
                self.client_calls.extend(call_from_entry(entry));
            }
            JournalEntry::Answered { call, .. } if self.is_client_call(call) => {
                self.client_calls.retain(|open| open.id.as_str() != call);
            }
            JournalEntry::Call { .. } => {
                if self.round.turn.is_some() {
                    self.close_round();
                }
                self.round.calls.extend(call_from_entry(entry));
            }
            JournalEntry::Answered { call, success, text, .. } => {
                let output = if *success { ToolOutput::text(text) } else { ToolOutput::failure(text) };
                self.round.answers.push((call.as_str().into(), output));
            }
            JournalEntry::Said { items, .. } => {
                if self.round.turn.is_some() {
                    self.close_round();
                }
                for item in items {
                    let turn = AssistantTurn::from_saved_json(item)
                        .map_err(|fault| AgentFault::Resume(fault.to_string()))?;
                    self.round.turn = Some(turn);
                }
            }
            JournalEntry::Compacted { summary, dropped } => {
                self.close_round();
                let dropped = usize::try_from(*dropped).unwrap_or(usize::MAX);
                let kept = self.items.len().saturating_sub(dropped);
                let mut history = ConversationHistory::new(self.dialect, std::mem::take(&mut self.items));
                history.replace_with_summary(summary, kept);
                self.items = history.into_items();
            }
            JournalEntry::Session { .. }
            | JournalEntry::Intent { .. }
            | JournalEntry::Verdict { .. }
            | JournalEntry::Asked { .. }
            | JournalEntry::Decided { .. }
            | JournalEntry::Attempt { .. }
            | JournalEntry::Kept { .. }
            | JournalEntry::Plan { .. }
            | JournalEntry::Diff { .. }
            | JournalEntry::Usage { .. }
            | JournalEntry::Turn { .. }
            | JournalEntry::Added { .. }
            | JournalEntry::Agent { .. }
            | JournalEntry::Interrupted { .. }
            | JournalEntry::Notice { .. }
            | JournalEntry::End { .. }
            | JournalEntry::Unknown(_) => {}
        }
        Ok(())
    }

    fn is_client_call(&self, call: &str) -> bool {
        self.client_calls.iter().any(|open| open.id.as_str() == call)
    }

    fn close_round(&mut self) {
        let (piece, lost) = std::mem::take(&mut self.round).finish(self.dialect);
        self.items.extend(piece);
        self.lost_calls.extend(lost);
    }
}

/// Returns the call in `entry`, if it is a call entry.
pub fn call_from_entry(entry: &JournalEntry) -> Option<ToolCall> {
    let JournalEntry::Call { id, tool, form, arguments, remote } = entry else { return None };
    let payload = call_payload(*form, arguments, remote.as_ref());
    Some(ToolCall { id: id.as_str().into(), name: tool.clone(), payload })
}

fn call_payload(form: RecordedCallForm, arguments: &str, remote: Option<&McpToolRef>) -> ToolPayload {
    let arguments = arguments.to_owned();
    match (form, remote) {
        (RecordedCallForm::Custom | RecordedCallForm::ClientText, _) => {
            ToolPayload::Custom { input: arguments }
        }
        (RecordedCallForm::Mcp, Some(McpToolRef { server, tool })) => {
            ToolPayload::Mcp { server: server.clone(), tool: tool.clone(), arguments }
        }
        (
            RecordedCallForm::Function
            | RecordedCallForm::LocalShell
            | RecordedCallForm::Mcp
            | RecordedCallForm::Client,
            _,
        ) => ToolPayload::Function { arguments },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(entry: JournalEntry) -> JournalRecord {
        JournalRecord { seq: 1, at: String::new(), entry, hash: String::new() }
    }

    fn call(id: &str) -> JournalRecord {
        let (id, tool, arguments) = (id.to_owned(), "t".to_owned(), "{}".to_owned());
        record(JournalEntry::Call { id, tool, form: RecordedCallForm::Function, arguments, remote: None })
    }

    fn answered(id: &str) -> JournalRecord {
        record(JournalEntry::Answered {
            call: id.to_owned(),
            success: true,
            error: None,
            took_ms: 1,
            text: "a".to_owned(),
            pictures: Vec::new(),
            spilled: None,
        })
    }

    fn said_record(ids: &[&str]) -> JournalRecord {
        let calls = ids.iter().map(|id| ToolCall::function(*id, "t", "{}"));
        let said = AssistantTurn::from_calls(Dialect::Chat, calls);
        record(JournalEntry::Said { wire: "chat".to_owned(), items: vec![said.to_saved_json()] })
    }

    fn of_client(id: &str) -> JournalRecord {
        let (id, tool, arguments) = (id.to_owned(), "t".to_owned(), "{}".to_owned());
        record(JournalEntry::Call { id, tool, form: RecordedCallForm::Client, arguments, remote: None })
    }

    #[test]
    fn calls_of_clients_are_kept_out_of_the_conversation() {
        let records = [
            prompt(),
            of_client("x"),
            call("a"),
            answered("x"),
            answered("a"),
            said_record(&["a"]),
            of_client("y"),
        ];
        assert_eq!(shape(&records), ("u 1/1".to_owned(), 0));
        let resumed = resume_from_records(&records, Dialect::Chat).unwrap();
        assert_eq!(resumed.abandoned.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["y"]);
    }

    fn prompt() -> JournalRecord {
        record(JournalEntry::Prompt { text: "go".to_owned(), images: Vec::new() })
    }

    /// `u` for a user message, and for each round the number of answers and of calls.
    fn shape(records: &[JournalRecord]) -> (String, usize) {
        let resumed = resume_from_records(records, Dialect::Chat).unwrap();
        let piece = |piece: &HistoryItem| match piece {
            HistoryItem::User { .. } => "u".to_owned(),
            HistoryItem::Summary { .. } => "s".to_owned(),
            HistoryItem::Round { said, answers } => format!("{}/{}", answers.len(), said.calls().count()),
        };
        (resumed.items.iter().map(piece).collect::<Vec<_>>().join(" "), resumed.lost_calls.len())
    }

    #[test]
    fn every_call_is_in_one_round_with_its_answer() {
        let rows: &[(&[JournalRecord], &str, usize)] = &[
            (&[prompt(), call("a"), answered("a"), said_record(&["a"])], "u 1/1", 0),
            (
                &[prompt(), call("a"), said_record(&["a"]), answered("a"), call("b"), said_record(&["b"])],
                "u 1/1 0/1",
                1,
            ),
            (&[prompt(), call("a"), call("b"), answered("a")], "u 1/2", 1),
            (
                &[prompt(), call("a"), said_record(&["a"]), answered("a"), call("a"), answered("a")],
                "u 1/1 1/1",
                0,
            ),
            (&[prompt(), call("a"), said_record(&["a"]), answered("a"), prompt()], "u 1/1 u", 0),
            (&[prompt()], "u", 0),
        ];
        for (records, pieces, lost) in rows {
            assert_eq!(shape(records), ((*pieces).to_owned(), *lost), "{records:?}");
        }
    }
}
