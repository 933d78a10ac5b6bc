//! The session of a pipe: reads calls and writes their answers in order, within limits.

use std::collections::VecDeque;
use std::io;

use runtime::wire::{CallReader, Dialect, ParsedCall};
use runtime::{AnsweredCall, CallId, Lane, ToolCallRuntime, ToolErrorKind, Toolgate, TurnDiff};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::approvals::{INPUT_ENDED, NO_ROOM, PipedQuestion, UnansweredQuestions};
use super::elicitations::{PipedElicitation, UnansweredElicitations};
use super::event_queue::EventReceiver;
use super::input_lines::{InputLine, LineContent, MAX_LINE_BYTES, parse};
use session::turn_diff_store::TurnDiffRecorder;

/// Maximum number of unwritten answers. Above it, no call is started.
const MAX_OPEN_ANSWERS: usize = 1024;
/// Maximum number of calls that were read and not started. Above it, no line is read. It exceeds `MAX_OPEN_ANSWERS`,
/// so that a cancelling line is not stuck behind the calls that fill the session.
const MAX_HELD_CALLS: usize = 4096;

/// A position in the order of answers.
enum AnswerSlot {
    Running,
    Ready(Value),
}

/// A pipe session that writes its lines with `W`.
pub(super) struct PipeSession<W> {
    write: W,
    dialect: Dialect,
    reader: CallReader,
    runtime: ToolCallRuntime,
    toolgate: Toolgate,
    held: VecDeque<ParsedCall>,
    order: VecDeque<AnswerSlot>,
    /// Messages that must follow all answers: pictures, in the Chat dialect.
    trailing: Vec<Value>,
    questions: UnansweredQuestions,
    elicitations: UnansweredElicitations,
    input_counts: InputCounts,
    turn_recorder: Option<TurnDiffRecorder>,
    /// A call that may have changed files was started since the last turn diff.
    may_have_changed: bool,
}

/// Counts of the input so far.
#[derive(Default)]
struct InputCounts {
    lines: u64,
    calls: u64,
    faults: u64,
    first_value: Option<Value>,
}

impl<W: FnMut(&Value) -> io::Result<()>> PipeSession<W> {
    pub(super) fn new(
        dialect: Dialect,
        toolgate: &Toolgate,
        write: W,
        turn_recorder: Option<TurnDiffRecorder>,
    ) -> Self {
        Self {
            write,
            dialect,
            reader: dialect.call_reader(),
            runtime: toolgate.call_runtime(),
            toolgate: toolgate.clone(),
            held: VecDeque::new(),
            order: VecDeque::new(),
            trailing: Vec::new(),
            questions: UnansweredQuestions::default(),
            elicitations: UnansweredElicitations::default(),
            input_counts: InputCounts::default(),
            turn_recorder,
            may_have_changed: false,
        }
    }

    /// Answers calls until the input ends. Returns `true` if it was interrupted.
    pub(super) async fn run(
        &mut self,
        mut lines: mpsc::Receiver<InputLine>,
        mut events: EventReceiver,
        (mut questions, mut elicitations): (
            mpsc::UnboundedReceiver<PipedQuestion>,
            mpsc::UnboundedReceiver<PipedElicitation>,
        ),
        mut interrupts: mpsc::Receiver<()>,
    ) -> io::Result<bool> {
        let (mut open, mut interrupted) = (true, false);
        // ends: when the input has ended and every call is answered
        while open || !self.held.is_empty() || self.runtime.open_count() > 0 {
            self.start_held()?;
            self.end_turn()?;
            // The held items may have been faults only, which are answered by now. Then there is nothing to
            // wait for.
            if !open && self.held.is_empty() && self.runtime.open_count() == 0 {
                break;
            }
            let room = open && self.held.len() < MAX_HELD_CALLS;
            if !room {
                self.questions.deny_all(if open { NO_ROOM } else { INPUT_ENDED });
                self.elicitations.cancel_all();
            }
            tokio::select! {
                // Not biased: a process with endless output must not starve the lines that cancel it.
                Some(event) = events.next() => (self.write)(&event)?,
                Some(question) = questions.recv() => {
                    self.write_ready_events(&mut events)?;
                    let line = self.questions.insert(question);
                    (self.write)(&line)?;
                }
                Some(question) = elicitations.recv() => {
                    self.write_ready_events(&mut events)?;
                    let line = self.elicitations.insert(question);
                    (self.write)(&line)?;
                }
                Some(()) = interrupts.recv() => {
                    self.held.clear();
                    self.runtime.cancel_turn();
                    (open, interrupted) = (false, true);
                }
                answer = self.runtime.next_answer(), if self.runtime.open_count() > 0 => {
                    // The events of a call precede its answer.
                    self.write_ready_events(&mut events)?;
                    self.handle_answer(answer)?;
                }
                line = lines.recv(), if room => match line {
                    Some(line) => self.handle_line(line)?,
                    None => {
                        open = false;
                        self.held.extend(self.reader.finish());
                    }
                },
            }
        }
        self.write_ready_events(&mut events)?;
        self.end_turn()?;
        Ok(interrupted)
    }

    /// Writes the diff of the turn, once every call is answered.
    fn end_turn(&mut self) -> io::Result<()> {
        if !self.may_have_changed || !self.held.is_empty() || self.runtime.open_count() > 0 {
            return Ok(());
        }
        self.may_have_changed = false;
        // It reads many files, and no call is open.
        let turn = tokio::task::block_in_place(|| self.turn_recorder.as_mut()?.end_turn());
        let Some(TurnDiff { text, files, partial }) = turn else { return Ok(()) };
        let (kind, event) = ("toolgate.event", "turn_diff");
        (self.write)(
            &json!({"type": kind, "event": event, "files": files, "partial": partial, "unified_diff": text}),
        )
    }

    /// Returns a hint for an input without any call.
    pub(super) fn hint(&self) -> Option<String> {
        let InputCounts { lines, calls: 0, faults: 0, first_value: Some(first) } = &self.input_counts else {
            return None;
        };
        let wire = self.dialect;
        let other = Dialect::ALL.into_iter().filter(|other| *other != wire).find(|other| {
            let mut reader = other.call_reader();
            !reader.push(first).is_empty() || !reader.finish().is_empty()
        });
        let hint = match other {
            Some(other) => format!("; the first line is for --wire {other}"),
            None => String::new(),
        };
        Some(format!("{lines} lines came, and no call in them for --wire {wire}{hint}"))
    }

    fn handle_line(&mut self, line: InputLine) -> io::Result<()> {
        self.input_counts.lines += 1;
        let number = self.input_counts.lines;
        let InputLine::Text(bytes) = line else {
            return self.push_fault(
                None,
                &format!("line {number} is longer than {MAX_LINE_BYTES} bytes; it was not read"),
            );
        };
        let value = match parse(&bytes) {
            None => return Ok(()),
            Some(Ok(LineContent::Json(value))) => value,
            Some(Ok(LineContent::EndOfResponse)) => {
                self.held.extend(self.reader.finish());
                return Ok(());
            }
            Some(Err(why)) => return self.push_fault(None, &format!("line {number} {why}")),
        };
        if let Some(word) = value["type"].as_str().and_then(|kind| kind.strip_prefix("toolgate.")) {
            return match word {
                "decision" => self.handle_decision(&value),
                "elicited" => self.handle_elicited(&value),
                _ => self.handle_control(word, &value["call_id"]),
            };
        }
        self.held.extend(self.reader.push(&value));
        self.input_counts.first_value.get_or_insert(value);
        Ok(())
    }

    /// Handles a control line, which is not from the model.
    fn handle_control(&mut self, word: &str, id: &Value) -> io::Result<()> {
        match (word, id) {
            ("cancel", Value::Null) => {
                self.start_all_as_cancelled();
                Ok(())
            }
            ("end_turn", _) => {
                self.toolgate.end_turn();
                Ok(())
            }
            ("cancel", Value::String(id)) if self.runtime.cancel(&CallId::from(id)) => Ok(()),
            ("cancel", Value::String(id)) => self.push_fault(Some(id), "there is no such call to cancel"),
            ("cancel", _) => self
                .push_fault(None, "the call_id of a toolgate.cancel must be a string; nothing was cancelled"),
            (other, _) => {
                let known =
                    "there are toolgate.cancel, toolgate.decision, toolgate.elicited and toolgate.end_turn";
                self.push_fault(None, &format!("there is no toolgate.{other}; {known}"))
            }
        }
    }

    /// Handles the answer to a question. Its faults are written at once, because earlier answers may wait for
    /// the decision.
    fn handle_decision(&mut self, line: &Value) -> io::Result<()> {
        let Err(why) = self.questions.decide(line) else { return Ok(()) };
        self.input_counts.faults += 1;
        (self.write)(&fault_line(line["call_id"].as_str(), &why))
    }

    /// Handles the answer to an elicitation.
    fn handle_elicited(&mut self, line: &Value) -> io::Result<()> {
        let Err(why) = self.elicitations.answer(line) else { return Ok(()) };
        self.input_counts.faults += 1;
        (self.write)(&fault_line(None, &why))
    }

    /// Cancels running and held calls. Each gets an answer.
    fn start_all_as_cancelled(&mut self) {
        for parsed_call in std::mem::take(&mut self.held) {
            self.start(parsed_call);
        }
        self.runtime.cancel_turn();
    }

    fn start_held(&mut self) -> io::Result<()> {
        while self.order.len() < MAX_OPEN_ANSWERS
            && let Some(parsed_call) = self.held.pop_front()
        {
            self.start(parsed_call);
        }
        self.flush()
    }

    fn start(&mut self, parsed_call: ParsedCall) {
        let slot = match parsed_call {
            ParsedCall::Call(call) => {
                self.input_counts.calls += 1;
                let found = self.toolgate.router().registry().tool_for_call(&call);
                self.may_have_changed |=
                    self.turn_recorder.is_some() && found.is_ok_and(|tool| tool.lane() == Lane::Exclusive);
                match self.runtime.start(call) {
                    Ok(()) => AnswerSlot::Running,
                    Err(twice) => AnswerSlot::Ready(fault_line(Some(twice.0.as_str()), &twice.to_string())),
                }
            }
            ParsedCall::Fault(wrong) => {
                self.input_counts.faults += 1;
                let id = wrong.id().map(CallId::as_str);
                AnswerSlot::Ready(
                    wrong.answer(self.dialect).unwrap_or_else(|| fault_line(id, &wrong.to_string())),
                )
            }
        };
        self.order.push_back(slot);
    }

    fn push_fault(&mut self, id: Option<&str>, message: &str) -> io::Result<()> {
        self.input_counts.faults += 1;
        self.order.push_back(AnswerSlot::Ready(fault_line(id, message)));
        self.flush()
    }

    fn handle_answer(&mut self, answer: Option<AnsweredCall>) -> io::Result<()> {
        if let Some(AnsweredCall { call, output }) = answer {
            self.order.pop_front();
            for line in self.dialect.answer(&call, &output) {
                if line["role"] == "user" { self.trailing.push(line) } else { (self.write)(&line)? }
            }
            // A user who stops a call stops the whole turn. Later calls are a new turn.
            if output.facts.error == Some(ToolErrorKind::Stopped) {
                self.start_all_as_cancelled();
            }
        }
        self.flush()
    }

    /// Writes the answers that wait for no earlier answer.
    fn flush(&mut self) -> io::Result<()> {
        while let Some(AnswerSlot::Ready(line)) = self.order.front() {
            (self.write)(line)?;
            self.order.pop_front();
        }
        if self.order.is_empty() && self.held.is_empty() {
            for line in std::mem::take(&mut self.trailing) {
                (self.write)(&line)?;
            }
        }
        Ok(())
    }

    fn write_ready_events(&mut self, events: &mut EventReceiver) -> io::Result<()> {
        events.take_ready().try_for_each(|event| (self.write)(&event))
    }
}

fn fault_line(id: Option<&str>, message: &str) -> Value {
    let mut value = json!({ "type": "toolgate.fault", "message": message });
    if let Some(id) = id {
        value["call_id"] = json!(id);
    }
    value
}
