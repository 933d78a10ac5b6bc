//! One session of a pipe: calls in, answers out in their order, within bounds.

use std::collections::VecDeque;
use std::io;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgate::wire::{CallReader, Dialect, Reading};
use toolgate::{Answer, CallId, ErrorKind, Lane, ToolCallRuntime, Toolgate, TurnDiff};

use super::asking::{Asked, INPUT_ENDED, NO_ROOM, Questions};
use super::eliciting::{Elicitations, Wanted};
use super::events::Happened;
use super::lines::{Line, LineContent, MAX_LINE, parse};
use crate::turns::Turns;

/// Answers that are not written yet; no call is started while there are more.
const MAX_OPEN: usize = 1024;
/// Calls that were read and not started yet; no line is looked at while there are more. So many more lines can be
/// read that one which cancels is not stuck behind those that fill the session.
const MAX_HELD: usize = 4096;

/// What stands at one place in the order of answers.
enum Slot {
    Running,
    Ready(Value),
}

/// A session that writes its lines with `W`.
pub(super) struct Session<W> {
    write: W,
    dialect: Dialect,
    reader: CallReader,
    runtime: ToolCallRuntime,
    toolgate: Toolgate,
    held: VecDeque<Reading>,
    order: VecDeque<Slot>,
    /// Messages that may only stand behind all answers: pictures, in Chat.
    after: Vec<Value>,
    questions: Questions,
    elicitations: Elicitations,
    seen: Seen,
    turns: Option<Turns>,
    /// Something ran that may have changed files, and nobody has looked yet.
    stirred: bool,
}

/// What came in so far.
#[derive(Default)]
struct Seen {
    lines: u64,
    calls: u64,
    faults: u64,
    first: Option<Value>,
}

impl<W: FnMut(&Value) -> io::Result<()>> Session<W> {
    pub(super) fn new(dialect: Dialect, toolgate: &Toolgate, write: W, turns: Option<Turns>) -> Self {
        Self {
            write,
            dialect,
            reader: dialect.reader(),
            runtime: toolgate.runtime(),
            toolgate: toolgate.clone(),
            held: VecDeque::new(),
            order: VecDeque::new(),
            after: Vec::new(),
            questions: Questions::default(),
            elicitations: Elicitations::default(),
            seen: Seen::default(),
            turns,
            stirred: false,
        }
    }

    /// Answers until the input has ended; `true` if it was interrupted.
    pub(super) async fn run(
        &mut self,
        mut lines: mpsc::Receiver<Line>,
        mut events: Happened,
        (mut asked, mut wanted): (mpsc::UnboundedReceiver<Asked>, mpsc::UnboundedReceiver<Wanted>),
        mut interrupts: mpsc::Receiver<()>,
    ) -> io::Result<bool> {
        let (mut open, mut interrupted) = (true, false);
        // ends: when the input has ended and every call is answered
        while open || !self.held.is_empty() || self.runtime.open() > 0 {
            self.start_held()?;
            self.end_turn()?;
            // What was held may have been faults only, which are answered by now: nothing is left to wait for.
            if !open && self.held.is_empty() && self.runtime.open() == 0 {
                break;
            }
            let room = open && self.held.len() < MAX_HELD;
            if !room {
                self.questions.deny(if open { NO_ROOM } else { INPUT_ENDED });
                self.elicitations.cancel();
            }
            tokio::select! {
                // Not biased: a process that writes without end may not keep us from hearing that it is to stop.
                Some(event) = events.next() => (self.write)(&event)?,
                Some(question) = asked.recv() => {
                    self.drain(&mut events)?;
                    let line = self.questions.put(question);
                    (self.write)(&line)?;
                }
                Some(question) = wanted.recv() => {
                    self.drain(&mut events)?;
                    let line = self.elicitations.put(question);
                    (self.write)(&line)?;
                }
                Some(()) = interrupts.recv() => {
                    self.held.clear();
                    self.runtime.cancel_turn();
                    (open, interrupted) = (false, true);
                }
                answer = self.runtime.next(), if self.runtime.open() > 0 => {
                    // What happened to a call stands before its answer.
                    self.drain(&mut events)?;
                    self.answered(answer)?;
                }
                line = lines.recv(), if room => match line {
                    Some(line) => self.line(line)?,
                    None => {
                        open = false;
                        self.held.extend(self.reader.finish());
                    }
                },
            }
        }
        self.drain(&mut events)?;
        self.end_turn()?;
        Ok(interrupted)
    }

    /// Tells what changed, once every call is answered.
    fn end_turn(&mut self) -> io::Result<()> {
        if !self.stirred || !self.held.is_empty() || self.runtime.open() > 0 {
            return Ok(());
        }
        self.stirred = false;
        // It looks at many files, and nobody waits for anything else.
        let turn = tokio::task::block_in_place(|| self.turns.as_mut()?.end());
        let Some(TurnDiff { text, files, partial }) = turn else { return Ok(()) };
        let (kind, event) = ("toolgate.event", "turn_diff");
        (self.write)(
            &json!({"type": kind, "event": event, "files": files, "partial": partial, "unified_diff": text}),
        )
    }

    /// What to say to somebody whose input held no call at all.
    pub(super) fn hint(&self) -> Option<String> {
        let Seen { lines, calls: 0, faults: 0, first: Some(first) } = &self.seen else { return None };
        let wire = self.dialect;
        let other = Dialect::ALL.into_iter().filter(|other| *other != wire).find(|other| {
            let mut reader = other.reader();
            !reader.push(first).is_empty() || !reader.finish().is_empty()
        });
        let hint = match other {
            Some(other) => format!("; the first line is for --wire {other}"),
            None => String::new(),
        };
        Some(format!("{lines} lines came, and no call in them for --wire {wire}{hint}"))
    }

    fn line(&mut self, line: Line) -> io::Result<()> {
        self.seen.lines += 1;
        let number = self.seen.lines;
        let Line::Text(bytes) = line else {
            return self
                .fault(None, &format!("line {number} is longer than {MAX_LINE} bytes; it was not read"));
        };
        let value = match parse(&bytes) {
            None => return Ok(()),
            Some(Ok(LineContent::Json(value))) => value,
            Some(Ok(LineContent::EndOfResponse)) => {
                self.held.extend(self.reader.finish());
                return Ok(());
            }
            Some(Err(why)) => return self.fault(None, &format!("line {number} {why}")),
        };
        if let Some(word) = value["type"].as_str().and_then(|kind| kind.strip_prefix("toolgate.")) {
            return match word {
                "decision" => self.decision(&value),
                "elicited" => self.elicited(&value),
                _ => self.own(word, &value["call_id"]),
            };
        }
        self.held.extend(self.reader.push(&value));
        self.seen.first.get_or_insert(value);
        Ok(())
    }

    /// A line that is for us and not from a model.
    fn own(&mut self, word: &str, id: &Value) -> io::Result<()> {
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
            ("cancel", Value::String(id)) => self.fault(Some(id), "there is no such call to cancel"),
            ("cancel", _) => {
                self.fault(None, "the call_id of a toolgate.cancel must be a string; nothing was cancelled")
            }
            (other, _) => {
                let known =
                    "there are toolgate.cancel, toolgate.decision, toolgate.elicited and toolgate.end_turn";
                self.fault(None, &format!("there is no toolgate.{other}; {known}"))
            }
        }
    }

    /// An answer to a question. What is wrong with it is said at once: the answers before it may wait for it.
    fn decision(&mut self, line: &Value) -> io::Result<()> {
        let Err(why) = self.questions.decide(line) else { return Ok(()) };
        self.seen.faults += 1;
        (self.write)(&fault(line["call_id"].as_str(), &why))
    }

    /// An answer to what a server wants to know.
    fn elicited(&mut self, line: &Value) -> io::Result<()> {
        let Err(why) = self.elicitations.answer(line) else { return Ok(()) };
        self.seen.faults += 1;
        (self.write)(&fault(None, &why))
    }

    /// Stops the calls that run and those that wait: each is answered.
    fn start_all_as_cancelled(&mut self) {
        for reading in std::mem::take(&mut self.held) {
            self.start(reading);
        }
        self.runtime.cancel_turn();
    }

    fn start_held(&mut self) -> io::Result<()> {
        while self.order.len() < MAX_OPEN
            && let Some(reading) = self.held.pop_front()
        {
            self.start(reading);
        }
        self.flush()
    }

    fn start(&mut self, reading: Reading) {
        let slot = match reading {
            Reading::Call(call) => {
                self.seen.calls += 1;
                let found = self.toolgate.router().registry().answering(&call);
                self.stirred |= self.turns.is_some() && found.is_ok_and(|tool| tool.lane() == Lane::Alone);
                match self.runtime.start(call) {
                    Ok(()) => Slot::Running,
                    Err(twice) => Slot::Ready(fault(Some(twice.0.as_str()), &twice.to_string())),
                }
            }
            Reading::Fault(wrong) => {
                self.seen.faults += 1;
                let id = wrong.id().map(CallId::as_str);
                Slot::Ready(wrong.answer(self.dialect).unwrap_or_else(|| fault(id, &wrong.to_string())))
            }
        };
        self.order.push_back(slot);
    }

    fn fault(&mut self, id: Option<&str>, message: &str) -> io::Result<()> {
        self.seen.faults += 1;
        self.order.push_back(Slot::Ready(fault(id, message)));
        self.flush()
    }

    fn answered(&mut self, answer: Option<Answer>) -> io::Result<()> {
        if let Some(Answer { call, output }) = answer {
            self.order.pop_front();
            for line in self.dialect.answer(&call, &output) {
                if line["role"] == "user" { self.after.push(line) } else { (self.write)(&line)? }
            }
            // What a person stopped is the whole turn; what comes after it is another.
            if output.facts.error == Some(ErrorKind::Stopped) {
                self.start_all_as_cancelled();
            }
        }
        self.flush()
    }

    /// Writes what waits for nothing any more.
    fn flush(&mut self) -> io::Result<()> {
        while let Some(Slot::Ready(line)) = self.order.front() {
            (self.write)(line)?;
            self.order.pop_front();
        }
        if self.order.is_empty() && self.held.is_empty() {
            for line in std::mem::take(&mut self.after) {
                (self.write)(&line)?;
            }
        }
        Ok(())
    }

    fn drain(&mut self, events: &mut Happened) -> io::Result<()> {
        events.waiting().try_for_each(|event| (self.write)(&event))
    }
}

fn fault(id: Option<&str>, message: &str) -> Value {
    let mut value = json!({ "type": "toolgate.fault", "message": message });
    if let Some(id) = id {
        value["call_id"] = json!(id);
    }
    value
}
