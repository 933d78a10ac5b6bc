//! `toolgate pipe`: a model's items as JSON lines in, the items that answer them out.

use std::collections::VecDeque;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgate::wire::{CallReader, Dialect, Reading, WireFault};
use toolgate::{Answer, CallId, Event, Metrics, Notice, Observer, ToolCallRuntime};

use crate::args::Pipe;
use crate::compose::{Composed, compose};
use crate::fault::{Fault, INTERRUPTED};
use crate::screen;

/// A longer line is not read.
const MAX_LINE: u64 = 32 << 20;
/// Lines that wait to be looked at.
const LINES: usize = 16;
/// Calls that wait for their answer; no line is looked at while there are more.
const MAX_OPEN: usize = 1024;

pub(crate) fn run(args: &Pipe) -> Result<ExitCode, Fault> {
    let composed = compose(&args.place)?;
    let (events, happened) = mpsc::unbounded_channel();
    // Bounded all the same: a call has a handful of events, and only so many calls are open.
    let watched = args.events.then(|| Arc::new(Events(events)) as Arc<dyn Observer>);
    let toolgate = watched.into_iter().fold(composed, Composed::observed).build()?;
    if io::stdin().is_terminal() {
        screen::hint("reading a model's items from the terminal, one JSON value a line; Ctrl-D ends");
    }
    let code = super::block_on(async {
        let mut session = Session::new(args.wire.dialect(), toolgate.runtime());
        session.run(lines(), happened).await
    })?;
    if args.stats {
        stats(toolgate.router().metrics());
    }
    Ok(code)
}

enum Line {
    Text(Vec<u8>),
    TooLong,
}

/// Reads standard input on a thread of its own: it blocks, and the thread may end with the process.
fn lines() -> mpsc::Receiver<Line> {
    let (sender, lines) = mpsc::channel(LINES);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        // ends: with the input, or when nobody listens
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let whole = line.ends_with(b"\n") || (line.len() as u64) < MAX_LINE;
            let line = if whole { Line::Text(line) } else { Line::TooLong };
            let skipped = if whole { Ok(()) } else { skip(&mut input) };
            if sender.blocking_send(line).is_err() || skipped.is_err() {
                break;
            }
        }
    });
    lines
}

fn skip(input: &mut impl BufRead) -> io::Result<()> {
    // ends: with the line, or with the input
    loop {
        let buffer = input.fill_buf()?;
        let (used, done) = match buffer.iter().position(|&byte| byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}

/// What stands at one place in the order of answers.
enum Slot {
    Running,
    Ready(Vec<Value>),
}

struct Session {
    dialect: Dialect,
    reader: CallReader,
    runtime: ToolCallRuntime,
    order: VecDeque<Slot>,
}

impl Session {
    fn new(dialect: Dialect, runtime: ToolCallRuntime) -> Self {
        Self { dialect, reader: dialect.reader(), runtime, order: VecDeque::new() }
    }

    async fn run(
        &mut self,
        mut lines: mpsc::Receiver<Line>,
        mut events: mpsc::UnboundedReceiver<Value>,
    ) -> Result<ExitCode, Fault> {
        let (mut open, mut code) = (true, ExitCode::SUCCESS);
        // ends: when the input has ended and every call is answered
        while open || self.runtime.open() > 0 {
            let room = open && self.runtime.open() < MAX_OPEN;
            tokio::select! {
                biased; // what happened to a call stands before its answer
                Some(event) = events.recv() => write(&[event])?,
                _ = tokio::signal::ctrl_c() => {
                    self.runtime.cancel_turn();
                    (open, code) = (false, ExitCode::from(INTERRUPTED));
                }
                answer = self.runtime.next(), if self.runtime.open() > 0 => {
                    while let Ok(event) = events.try_recv() {
                        write(&[event])?;
                    }
                    self.answered(answer)?;
                }
                line = lines.recv(), if room => match line {
                    Some(line) => self.line(line)?,
                    None => {
                        open = false;
                        let last = self.reader.finish();
                        self.take(last)?;
                    }
                },
            }
        }
        while let Ok(event) = events.try_recv() {
            write(&[event])?;
        }
        Ok(code)
    }

    fn line(&mut self, line: Line) -> Result<(), Fault> {
        let Line::Text(bytes) = line else {
            return self.ready(vec![fault(
                None,
                &format!("a line is longer than {MAX_LINE} bytes; it was not read"),
            )]);
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let value: Value = match serde_json::from_slice(&bytes) {
            Ok(value) => value,
            Err(error) => return self.ready(vec![fault(None, &format!("a line is not JSON: {error}"))]),
        };
        if value.get("type").and_then(Value::as_str) == Some("toolgate.cancel") {
            return self.cancel(&value);
        }
        let readings = self.reader.push(&value);
        self.take(readings)
    }

    fn cancel(&mut self, line: &Value) -> Result<(), Fault> {
        match line.get("call_id").and_then(Value::as_str) {
            None => self.runtime.cancel_turn(),
            Some(id) if self.runtime.cancel(&CallId::from(id)) => {}
            Some(id) => return self.ready(vec![fault(Some(id), "there is no such call to cancel")]),
        }
        Ok(())
    }

    fn take(&mut self, readings: Vec<Reading>) -> Result<(), Fault> {
        for reading in readings {
            match reading {
                Reading::Call(call) => match self.runtime.start(call) {
                    Ok(()) => self.order.push_back(Slot::Running),
                    Err(twice) => self.ready(vec![fault(Some(twice.0.as_str()), &twice.to_string())])?,
                },
                Reading::Fault(wrong) => {
                    let answer = wrong.answer(self.dialect);
                    self.ready(vec![answer.unwrap_or_else(|| unanswerable(&wrong))])?;
                }
            }
        }
        Ok(())
    }

    /// Writes `lines` when everything before them is written.
    fn ready(&mut self, lines: Vec<Value>) -> Result<(), Fault> {
        if self.order.is_empty() {
            return write(&lines);
        }
        self.order.push_back(Slot::Ready(lines));
        Ok(())
    }

    fn answered(&mut self, answer: Option<Answer>) -> Result<(), Fault> {
        if let Some(Answer { call, output }) = answer {
            self.order.pop_front();
            write(&self.dialect.answer(&call, &output))?;
        }
        while let Some(Slot::Ready(lines)) = self.order.front() {
            write(lines)?;
            self.order.pop_front();
        }
        Ok(())
    }
}

fn unanswerable(wrong: &WireFault) -> Value {
    fault(wrong.id().map(CallId::as_str), &wrong.to_string())
}

fn fault(id: Option<&str>, message: &str) -> Value {
    let mut value = json!({ "type": "toolgate.fault", "message": message });
    if let Some(id) = id {
        value["call_id"] = json!(id);
    }
    value
}

fn write(lines: &[Value]) -> Result<(), Fault> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.to_string());
        text.push('\n');
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes down what happens to calls.
struct Events(mpsc::UnboundedSender<Value>);

impl Observer for Events {
    fn saw(&self, call: &CallId, event: &Event) {
        let mut line = match event {
            Event::Queued { tool } => json!({ "event": "queued", "tool": tool }),
            Event::Started => json!({ "event": "started" }),
            Event::Notice(Notice::PlanUpdated { steps, explanation }) => {
                let steps: Vec<Value> = steps
                    .iter()
                    .map(|step| {
                        let status = step.status.as_str();
                        json!({ "id": step.id, "description": step.description, "status": status })
                    })
                    .collect();
                json!({ "event": "plan_updated", "steps": steps, "explanation": explanation })
            }
            Event::Finished { success, error, elapsed } => {
                let error = error.map(toolgate::ErrorKind::as_str);
                let elapsed = elapsed.as_secs_f64() * 1000.0;
                json!({ "event": "finished", "success": success, "error": error, "elapsed_ms": elapsed })
            }
        };
        line["type"] = json!("toolgate.event");
        line["call_id"] = json!(call.as_str());
        let _nobody_listens = self.0.send(line);
    }
}

fn stats(metrics: &Metrics) {
    screen::to_stderr("tool             calls   errors      p50      p99");
    for tool in metrics.snapshot() {
        let (p50, p99) = (tool.percentile(50), tool.percentile(99));
        let (calls, errors) = (tool.calls(), tool.errors);
        screen::to_stderr(&format!("{:<14} {calls:>7}  {errors:>7}  {p50:>7.0?}  {p99:>7.0?}", tool.tool));
    }
}
