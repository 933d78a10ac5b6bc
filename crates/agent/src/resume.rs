//! Resumes a session: rebuilds the conversation from its journal.

use journal::{
    JournalEntry, McpToolRef, RecordedAnswer, RecordedCall, RecordedCallForm, SessionTimeline,
    TimelineAnswer, TimelineCall, TimelineEventKind,
};
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
    /// The answers, with the sequence numbers of their records.
    answers: Vec<(u64, CallId, ToolOutput)>,
}

impl PartialRound {
    /// Returns the conversation piece, if the model said anything, and its unanswered calls.
    fn finish(self, dialect: Dialect) -> (Option<HistoryItem>, Vec<ToolCall>) {
        let Self { turn, calls, mut answers } = self;
        // The model received them in the order in which they were given.
        answers.sort_by_key(|(seq, ..)| *seq);
        let answers: Vec<_> = answers.into_iter().map(|(_, call, output)| (call, output)).collect();
        // If the program died during the response, the journal has its calls only.
        let turn = turn.unwrap_or_else(|| AssistantTurn::from_calls(dialect, calls));
        let answered = |call: &&ToolCall| !answers.iter().any(|(id, _)| *id == call.id);
        let lost_calls = turn.calls().filter(answered).cloned().collect();
        ((!turn.is_empty()).then_some(HistoryItem::Round { said: turn, answers }), lost_calls)
    }
}

/// Rebuilds a session from its timeline, to continue in `dialect`.
///
/// # Errors
/// If a recorded response cannot be parsed.
pub fn resume_from_timeline(
    timeline: &SessionTimeline,
    dialect: Dialect,
) -> Result<ResumedSession, AgentFault> {
    let mut rebuild =
        ConversationRebuild { dialect, session: ResumedSession::default(), round: PartialRound::default() };
    for event in &timeline.events {
        match &event.kind {
            TimelineEventKind::Call(call) => rebuild.add_call(call),
            TimelineEventKind::Entry(entry) => rebuild.add_entry(entry, event.seq)?,
        }
    }
    rebuild.close_round();
    Ok(rebuild.session)
}

/// Returns the id of the turn whose prompt is at line `number`.
pub(crate) fn turn_id(number: u64) -> String {
    format!("t{number}")
}

struct ConversationRebuild {
    dialect: Dialect,
    session: ResumedSession,
    round: PartialRound,
}

impl ConversationRebuild {
    /// Adds a call with its answer. A request is sent only after every earlier call is answered, so a call after a
    /// complete response belongs to the next round.
    fn add_call(&mut self, call: &TimelineCall) {
        let tool_call = recorded_tool_call(&call.call);
        if call.call.form.is_of_client() {
            // A later call with the same id takes the place of an earlier one without an answer.
            self.session.abandoned.retain(|open| open.id != tool_call.id);
            if call.answer.is_none() {
                self.session.abandoned.push(tool_call);
            }
            return;
        }
        if self.round.turn.is_some() {
            self.close_round();
        }
        self.round.calls.push(tool_call);
        if let Some(TimelineAnswer { seq, answer, .. }) = &call.answer {
            self.round.answers.push((*seq, answer.call.as_str().into(), recorded_output(answer)));
        }
    }

    fn add_entry(&mut self, entry: &JournalEntry, seq: u64) -> Result<(), AgentFault> {
        match entry {
            JournalEntry::Prompt { text, .. } => {
                self.close_round();
                let ResumedSession { items, interrupted_turn, unread_input, .. } = &mut self.session;
                items.push(HistoryItem::User { text: text.clone(), images: Vec::new() });
                // Steering input is recorded as a prompt once the model reads it.
                interrupted_turn.get_or_insert_with(|| turn_id(seq));
                if unread_input.first() == Some(text) {
                    unread_input.remove(0);
                }
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
                let items = std::mem::take(&mut self.session.items);
                let kept = items.len().saturating_sub(dropped);
                let mut history = ConversationHistory::new(self.dialect, items);
                history.replace_with_summary(summary, kept);
                self.session.items = history.into_items();
            }
            JournalEntry::Added { text } => self.session.unread_input.push(text.clone()),
            JournalEntry::Turn { .. } => self.session.interrupted_turn = None,
            // A stop is not undone by what was added before it.
            JournalEntry::Interrupted { .. } => self.session.unread_input.clear(),
            // The conversation does not contain them, or they are about a call that does not exist.
            JournalEntry::Session(_)
            | JournalEntry::Call(_)
            | JournalEntry::Intent { .. }
            | JournalEntry::Verdict { .. }
            | JournalEntry::Asked { .. }
            | JournalEntry::Decided { .. }
            | JournalEntry::Attempt { .. }
            | JournalEntry::Answered(_)
            | JournalEntry::Kept { .. }
            | JournalEntry::Plan { .. }
            | JournalEntry::Diff { .. }
            | JournalEntry::Usage(_)
            | JournalEntry::Agent { .. }
            | JournalEntry::Notice { .. }
            | JournalEntry::End { .. }
            | JournalEntry::Unknown(_) => {}
        }
        Ok(())
    }

    fn close_round(&mut self) {
        let (piece, lost) = std::mem::take(&mut self.round).finish(self.dialect);
        self.session.items.extend(piece);
        self.session.lost_calls.extend(lost);
    }
}

/// Returns a recorded call as it was made.
pub fn recorded_tool_call(call: &RecordedCall) -> ToolCall {
    let RecordedCall { id, tool, form, arguments, remote } = call;
    let payload = call_payload(*form, arguments, remote.as_ref());
    ToolCall { id: id.as_str().into(), name: tool.clone(), payload }
}

/// Returns a recorded answer as it was given, without its images.
pub fn recorded_output(answer: &RecordedAnswer) -> ToolOutput {
    if answer.success { ToolOutput::text(&answer.text) } else { ToolOutput::failure(&answer.text) }
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
    use journal::JournalRecord;

    use super::*;

    fn record(entry: JournalEntry) -> JournalRecord {
        JournalRecord { seq: 1, at: String::new(), entry, hash: String::new() }
    }

    fn call(id: &str) -> JournalRecord {
        let (id, tool, arguments) = (id.to_owned(), "t".to_owned(), "{}".to_owned());
        record(JournalEntry::Call(RecordedCall {
            id,
            tool,
            form: RecordedCallForm::Function,
            arguments,
            remote: None,
        }))
    }

    fn answered(id: &str) -> JournalRecord {
        record(JournalEntry::Answered(RecordedAnswer {
            call: id.to_owned(),
            success: true,
            error: None,
            took_ms: 1,
            text: "a".to_owned(),
            pictures: Vec::new(),
            spilled: None,
            refused: Vec::new(),
        }))
    }

    fn said_record(ids: &[&str]) -> JournalRecord {
        let calls = ids.iter().map(|id| ToolCall::function(*id, "t", "{}"));
        let said = AssistantTurn::from_calls(Dialect::Chat, calls);
        record(JournalEntry::Said { wire: "chat".to_owned(), items: vec![said.to_saved_json()] })
    }

    fn of_client(id: &str) -> JournalRecord {
        let (id, tool, arguments) = (id.to_owned(), "t".to_owned(), "{}".to_owned());
        record(JournalEntry::Call(RecordedCall {
            id,
            tool,
            form: RecordedCallForm::Client,
            arguments,
            remote: None,
        }))
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
        let resumed = resume(&records);
        assert_eq!(resumed.abandoned.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["y"]);
    }

    fn resume(records: &[JournalRecord]) -> ResumedSession {
        let records = records.iter().cloned().zip(1..).map(|(record, seq)| JournalRecord { seq, ..record });
        resume_from_timeline(&SessionTimeline::from_records(records), Dialect::Chat).unwrap()
    }

    fn prompt() -> JournalRecord {
        record(JournalEntry::Prompt { text: "go".to_owned(), images: Vec::new() })
    }

    /// `u` for a user message, and for each round the number of answers and of calls.
    fn shape(records: &[JournalRecord]) -> (String, usize) {
        let resumed = resume(records);
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
