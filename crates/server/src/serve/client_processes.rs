//! Answers process requests of clients: start, reads with backpressure, writes, resizing, signals and kill.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use exec::capture::CapturedStream;
use exec::process::PtySize;
use exec::session::{OutputStreaming, ProcessSession, SIGTERM_GRACE, SessionStage};
use parking_lot::Mutex;
use rpc::protocol as p;
use rpc::{RpcErrorCode, RpcFault};
use runtime::CancellationToken;
use serde_json::json;
use tokio::time::Instant;

use super::hosted_session::HostedSession;

/// Default and maximum bytes of one read.
const DEFAULT_READ_BYTES: usize = 64 << 10;
const MAX_READ_BYTES: usize = 1 << 20;
/// Maximum wait of a read, in milliseconds.
const MAX_WAIT_MILLIS: u64 = 30_000;
/// Maximum rows and columns of a terminal.
const MAX_TERMINAL_SIZE: u16 = 1000;
/// The signals that clients may send.
const SIGNALS: [(&str, i32); 8] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("USR1", 10),
    ("USR2", 12),
    ("TERM", 15),
    ("CONT", 18),
    ("STOP", 19),
];

/// The processes of one session, with their unread output.
#[derive(Default)]
pub(super) struct ClientProcesses(Mutex<HashMap<u32, Arc<ProcessReader>>>);

/// A process with its unread output.
struct ProcessReader {
    session: Arc<ProcessSession>,
    output: Mutex<UnreadOutput>,
}

/// The unread output of a process.
struct UnreadOutput {
    streaming: OutputStreaming,
    /// The output that was read and not discarded, and the offset of its first byte.
    buffered: VecDeque<(CapturedStream, Vec<u8>)>,
    start_offset: u64,
}

impl UnreadOutput {
    /// Returns the offset of the end of the known output.
    fn end_offset(&self) -> u64 {
        self.start_offset + self.buffered.iter().map(|(_, piece)| piece.len() as u64).sum::<u64>()
    }

    /// Discards the output before `from`. Discarded output cannot be read again.
    fn discard_before(&mut self, from: u64) {
        // ends: each round takes a piece, or is the last
        while self.start_offset < from {
            let Some((_, piece)) = self.buffered.front_mut() else { return };
            let gone = usize::try_from(from - self.start_offset).unwrap_or(usize::MAX).min(piece.len());
            piece.drain(..gone);
            self.start_offset += gone as u64;
            if piece.is_empty() {
                self.buffered.pop_front();
            }
        }
    }

    /// Reads available output, up to `max_bytes` bytes or slightly more.
    fn fill(&mut self, max_bytes: usize) {
        let mut held: usize = self.buffered.iter().map(|(_, piece)| piece.len()).sum();
        // ends: with the available output, or at `max_bytes`
        while held < max_bytes
            && let Some((stream, bytes)) = self.streaming.next()
        {
            held += bytes.len();
            self.buffered.push_back((stream, bytes));
        }
    }

    /// Returns the first `max_bytes` bytes, and the offset of their end. A piece that is not valid UTF-8, such as one
    /// cut inside a character, is sent as base64.
    fn first_pieces(&self, max_bytes: usize) -> (Vec<p::ProcessOutputChunk>, u64) {
        let (mut room, mut next, mut pieces) = (max_bytes, self.start_offset, Vec::new());
        for (stream, bytes) in &self.buffered {
            let bytes = &bytes[..bytes.len().min(room)];
            if bytes.is_empty() {
                break;
            }
            (room, next) = (room - bytes.len(), next + bytes.len() as u64);
            pieces.push(output_chunk(*stream, bytes));
        }
        (pieces, next)
    }
}

fn output_chunk(stream: CapturedStream, bytes: &[u8]) -> p::ProcessOutputChunk {
    let stream = match stream {
        CapturedStream::Stdout => "stdout",
        CapturedStream::Stderr => "stderr",
        CapturedStream::Terminal => "terminal",
    };
    let text = std::str::from_utf8(bytes).ok().map(str::to_owned);
    let base64 = text.is_none().then(|| base64::engine::general_purpose::STANDARD.encode(bytes));
    p::ProcessOutputChunk { stream: stream.to_owned(), text, base64 }
}

impl HostedSession {
    pub(super) async fn start_process(
        &self,
        start: &p::ProcessStartParams,
        cancel: CancellationToken,
    ) -> Result<p::ProcessStartResult, RpcFault> {
        let mut arguments = json!({ "command": start.command, "argv": start.argv, "cwd": start.cwd, "tty": start.tty, "stdin": start.stdin });
        if let Some(members) = arguments.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        let data = self.call_program_tool("process_start", arguments, cancel).await?;
        let number = data["process_id"].as_u64().and_then(|number| u32::try_from(number).ok());
        let session = number.and_then(|number| self.toolgate.find_process(number));
        let session =
            session.ok_or_else(|| RpcErrorCode::Internal.fault("a process was started and is not there"))?;
        let output =
            UnreadOutput { streaming: session.stream_output(), buffered: VecDeque::new(), start_offset: 0 };
        let process_id = session.id();
        let reader = ProcessReader { session, output: Mutex::new(output) };
        self.processes.0.lock().insert(process_id, Arc::new(reader));
        Ok(p::ProcessStartResult { process_id })
    }

    fn find_reader(&self, process: u32) -> Result<Arc<ProcessReader>, RpcFault> {
        let found = self.processes.0.lock().get(&process).cloned();
        found.ok_or_else(|| {
            RpcErrorCode::NoProcess
                .fault(format!("there is no process {process}; one whose end was read is forgotten"))
        })
    }

    pub(super) async fn read_process(
        &self,
        read: &p::ProcessReadParams,
        cancel: CancellationToken,
    ) -> Result<p::ProcessReadResult, RpcFault> {
        let reader = self.find_reader(read.process_id)?;
        let max_bytes = read.max_bytes.unwrap_or(DEFAULT_READ_BYTES).clamp(1, MAX_READ_BYTES);
        let until = Instant::now() + Duration::from_millis(read.wait_ms.min(MAX_WAIT_MILLIS));
        let mut watch = reader.session.subscribe();
        // ends: with output to read, with the process, or when the time is up
        loop {
            watch.borrow_and_update();
            // Read before the output: output that arrives later is returned by the next read.
            let stage = reader.session.stage();
            let (pieces, next) = {
                let mut output = reader.output.lock();
                if read.from > output.end_offset() {
                    let why = format!(
                        "the params do not fit at `from`: only {} bytes were read so far",
                        output.end_offset()
                    );
                    return Err(RpcErrorCode::Params.fault(why));
                }
                output.discard_before(read.from);
                output.fill(max_bytes);
                output.first_pieces(max_bytes)
            };
            let state = process_state(&stage);
            let over = pieces.is_empty() && state != p::ProcessState::Running;
            if let Some(fault) = over.then(|| reader.session.take_fault()).flatten() {
                self.forget_process(read.process_id);
                return Err(RpcErrorCode::Refused.fault(fault.to_string()));
            }
            if !pieces.is_empty() || over || Instant::now() >= until {
                // The process counts as running until all of its output is read.
                let state = if pieces.is_empty() { state } else { p::ProcessState::Running };
                if over {
                    self.forget_process(read.process_id);
                }
                let exit_code = over.then(|| stage.exit().map(exec::session::ProcessExit::code)).flatten();
                return Ok(p::ProcessReadResult { pieces, next, state, exit_code });
            }
            tokio::select! {
                _ = watch.changed() => {}
                () = tokio::time::sleep_until(until) => {}
                () = cancel.cancelled() => return Err(RpcErrorCode::Cancelled.fault("the read was cancelled")),
            }
        }
    }

    /// Forgets a process whose end was reported.
    fn forget_process(&self, process: u32) {
        self.processes.0.lock().remove(&process);
        self.toolgate.forget_process(process);
    }

    pub(super) async fn write_process(
        &self,
        write: &p::ProcessWriteParams,
        cancel: CancellationToken,
    ) -> Result<p::EmptyResult, RpcFault> {
        self.find_reader(write.process_id)?;
        let arguments = json!({ "process_id": write.process_id, "text": write.text, "close": write.close });
        self.call_program_tool("process_write", arguments, cancel).await.map(|_| p::EmptyResult {})
    }

    pub(super) fn resize_process(&self, resize: &p::ProcessResizeParams) -> Result<p::EmptyResult, RpcFault> {
        let p::ProcessTerminalSize { rows, cols } = resize.size;
        if !(1..=MAX_TERMINAL_SIZE).contains(&rows) || !(1..=MAX_TERMINAL_SIZE).contains(&cols) {
            return Err(RpcErrorCode::Params.fault(format!(
                "the params do not fit at `size`: a terminal has 1 to {MAX_TERMINAL_SIZE} rows and columns"
            )));
        }
        let resized = self.find_reader(resize.process_id)?.session.resize(PtySize { rows, cols });
        resized
            .map(|()| p::EmptyResult {})
            .map_err(|_| RpcErrorCode::Unusable.fault("the process has no terminal; start it with `tty`"))
    }

    pub(super) fn signal_process(&self, signal: &p::ProcessSignalParams) -> Result<p::EmptyResult, RpcFault> {
        let reader = self.find_reader(signal.process_id)?;
        let name = signal.signal.strip_prefix("SIG").unwrap_or(&signal.signal);
        let known = SIGNALS.iter().find(|(known, _)| *known == name);
        let (_, number) = known.ok_or_else(|| {
            let all: Vec<&str> = SIGNALS.iter().map(|(name, _)| *name).collect();
            RpcErrorCode::Params.fault(format!(
                "the params do not fit at `signal`: there are {}; `process/kill` ends it",
                all.join(", ")
            ))
        })?;
        reader.session.signal(*number);
        Ok(p::EmptyResult {})
    }

    pub(super) fn kill_process(&self, process: u32) -> Result<p::EmptyResult, RpcFault> {
        let reader = self.find_reader(process)?;
        reader.output.lock().streaming.without_limit();
        reader.session.end(SIGTERM_GRACE);
        Ok(p::EmptyResult {})
    }
}

fn process_state(stage: &SessionStage) -> p::ProcessState {
    match stage {
        SessionStage::Running | SessionStage::LeaderExited { .. } => p::ProcessState::Running,
        SessionStage::Over { .. } => p::ProcessState::Exited,
        SessionStage::Lost => p::ProcessState::Lost,
    }
}
