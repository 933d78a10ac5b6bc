//! Process sessions: processes that continue between calls, with their output, input and exit status.

mod bulk_reader;
mod output_streaming;
mod pump;
mod session_confinement;
mod session_table;

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;

use self::session_confinement::SessionConfinement;
use crate::capture::{Capture, Captured, CapturedStream};
use crate::process::{
    CellPermit, KilledProcess, ProcessCommand, PtySize, ResourceUsage, SpawnFault, Spawner, Stdio, resize,
};
pub use output_streaming::OutputStreaming;
pub use pump::Pump;
pub use session_table::{Lifetime, SessionTable, SessionTableFull, SharedProcesses, TimeLimit};

/// The time between SIGTERM and SIGKILL.
pub const SIGTERM_GRACE: Duration = Duration::from_millis(500);
/// The maximum number of input bytes that wait for a process to read them.
const MAX_PENDING_INPUT_BYTES: usize = 1 << 20;
/// The number of terminal bytes that are kept to render its screen.
const MAX_TERMINAL_BYTES: usize = 256 << 10;
/// The backpressure limit of streamed output: while more bytes wait, nothing is read.
const MAX_STREAMED_BYTES: usize = 256 << 10;
/// The backpressure limit for a process that is being ended.
const MAX_FINAL_STREAMED_BYTES: usize = 16 << 20;
/// A longer piece of streamed output is not extended.
const MAX_PIECE_BYTES: usize = 16 << 10;

/// The exit status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessExit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl ProcessExit {
    fn from_status(status: i32) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let status = std::process::ExitStatus::from_raw(status);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(-1),
        }
    }

    /// Returns the exit code as a shell reports it: 128 plus the signal number for a signal.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// The stage of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStage {
    /// Its process runs.
    Running,
    /// Its process has exited, but some descendants have not.
    LeaderExited {
        /// The exit status.
        exit: ProcessExit,
        /// The number of descendants at that time.
        left: u32,
        /// True if its output can be considered complete.
        settled: bool,
    },
    /// No process is left, and all output was read.
    Over {
        /// The exit status.
        exit: ProcessExit,
        /// The resources that all of its processes used.
        used: ResourceUsage,
        /// The first processes that had to be killed.
        ended: Vec<KilledProcess>,
        /// The number of further ones.
        more: u32,
    },
    /// Its supervisor was killed, and the process with it.
    Lost,
}

impl SessionStage {
    /// Returns the exit status of its process, if it has exited.
    pub fn exit(&self) -> Option<ProcessExit> {
        match self {
            Self::LeaderExited { exit, .. } | Self::Over { exit, .. } => Some(*exit),
            Self::Running | Self::Lost => None,
        }
    }
}

/// The facts about a session that are known from its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionOrigin {
    /// The command as the model wrote it.
    pub command: String,
    /// The working directory.
    pub workdir: PathBuf,
    /// The call that started it.
    pub owner: String,
    /// The lifetime.
    pub lifetime: Lifetime,
    /// True if it has a terminal.
    pub terminal: bool,
}

/// The output taken from a session, consistent with its stage.
#[derive(Debug)]
pub struct TakenOutput {
    /// The stage at that time.
    pub stage: SessionStage,
    /// The output since the last call.
    pub output: Captured,
    /// The part of it that was not streamed yet.
    pub unstreamed: Vec<(CapturedStream, Vec<u8>)>,
}

/// The reason why input was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputFault {
    /// The standard input is closed.
    #[error("its standard input is closed")]
    Closed,
    /// The process does not read earlier input.
    #[error("it has not read {waiting} bytes of earlier input")]
    Full {
        /// The number of waiting bytes.
        waiting: usize,
    },
}

/// One process and its descendants.
#[derive(Debug)]
pub struct ProcessSession {
    id: u32,
    origin: SessionOrigin,
    started_at: Instant,
    state: Mutex<ProcessSessionState>,
    /// Notified when there is output or another stage.
    changed: watch::Sender<()>,
    /// Notifies the pump of work.
    work: watch::Sender<()>,
}

#[derive(Debug)]
struct ProcessSessionState {
    capture: Capture,
    /// The beginning of an incomplete character, left from the last time that output was taken.
    incomplete_char: Vec<u8>,
    stage: SessionStage,
    pid: Option<i32>,
    stuck: Vec<KilledProcess>,
    fault: Option<SpawnFault>,
    confined: SessionConfinement,
    last_output: Instant,
    input: PendingInput,
    orders: Vec<SessionOrder>,
    streamed: Option<VecDeque<(CapturedStream, Vec<u8>)>>,
    /// The backpressure limit of streamed output.
    stream_limit: usize,
    terminal: Option<SessionTerminal>,
    ended_at: Option<Instant>,
    timed_out: Option<Duration>,
}

#[derive(Debug)]
struct PendingInput {
    waiting: VecDeque<u8>,
    open: bool,
}

#[derive(Debug)]
struct SessionTerminal {
    fd: Arc<OwnedFd>,
    size: PtySize,
    recent: VecDeque<u8>,
}

#[derive(Debug, Clone, Copy)]
enum SessionOrder {
    End(Duration),
    Signal(i32),
}

impl ProcessSession {
    /// Starts `command`. The caller polls the pump to drive the session; dropping the pump ends it.
    pub(crate) async fn begin(
        id: u32,
        command: ProcessCommand,
        origin: SessionOrigin,
        capture: Capture,
        spawner: &Spawner,
        allowed: &CellPermit<'_>,
    ) -> Result<(Arc<Self>, Pump), SpawnFault> {
        let mut process = spawner.start(&command, allowed).await?;
        let size = if let Stdio::Terminal(size) = command.stdio { size } else { PtySize::default() };
        let fd = process.pipes.terminal.as_ref().map(|terminal| Arc::clone(terminal.get_ref()));
        let terminal = fd.map(|fd| SessionTerminal { fd, size, recent: VecDeque::new() });
        let accepts_input = !matches!(command.stdio, Stdio::NoInput | Stdio::FileInput(_));
        let confined = SessionConfinement::from_process(&mut process, allowed.enforcement());
        let state = ProcessSessionState::new(capture, accepts_input, terminal, confined);
        let session = Arc::new(Self {
            id,
            origin,
            started_at: Instant::now(),
            state: Mutex::new(state),
            changed: watch::Sender::new(()),
            work: watch::Sender::new(()),
        });
        // Only the program holds its descriptors, so the reader sees the end of file when it closes them.
        let command = ProcessCommand { stdio: Stdio::NoInput, ..command };
        let pump = Pump::new(Arc::clone(&session), process, command);
        Ok((session, pump))
    }

    /// Returns the session number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns the facts known from its start.
    pub fn origin(&self) -> &SessionOrigin {
        &self.origin
    }

    /// Returns the start time.
    pub fn started_at(&self) -> Instant {
        self.started_at
    }

    /// Returns the run time so far, or in total.
    pub fn wall_time(&self) -> Duration {
        self.state.lock().ended_at.unwrap_or_else(Instant::now) - self.started_at
    }

    /// Returns the pid, once it is known.
    pub fn pid(&self) -> Option<i32> {
        self.state.lock().pid
    }

    /// Returns the stage.
    pub fn stage(&self) -> SessionStage {
        self.state.lock().stage.clone()
    }

    /// Returns true if no process of it is left.
    pub fn is_over(&self) -> bool {
        matches!(self.stage(), SessionStage::Over { .. } | SessionStage::Lost)
    }

    /// Waits until the condition `it` holds. Some task must be driving the session.
    pub async fn wait_until(&self, condition: impl Fn(&Self) -> bool) {
        let mut changed = self.subscribe();
        // ends: when it holds; a session that is no longer driven is over
        while !condition(self) && changed.changed().await.is_ok() {}
    }

    /// Takes the error if it did not start; later calls return `None`.
    pub fn take_fault(&self) -> Option<SpawnFault> {
        self.state.lock().fault.take()
    }

    /// Returns the processes that survived SIGKILL.
    pub fn stuck_processes(&self) -> Vec<KilledProcess> {
        self.state.lock().stuck.clone()
    }

    /// Takes the stage and the output since the last call. While the process runs, an incomplete character is left
    /// for the next call.
    pub fn take_output(&self) -> TakenOutput {
        let mut state = self.state.lock();
        let mut output = state.capture.take();
        let rest = std::mem::take(&mut state.incomplete_char);
        output.head.splice(0..0, rest);
        if state.stage == SessionStage::Running {
            let end = if output.tail.is_empty() { &mut output.head } else { &mut output.tail };
            state.incomplete_char = end.split_off(complete_chars_len(end));
        }
        let unstreamed = state.streamed.as_mut().map(std::mem::take).unwrap_or_default().into();
        TakenOutput { stage: state.stage.clone(), output, unstreamed }
    }

    /// Returns the number of output bytes that were not taken yet.
    pub fn pending_output(&self) -> u64 {
        self.state.lock().capture.pending()
    }

    /// Returns the total number of bytes written to `stream`.
    pub fn bytes_written(&self, stream: CapturedStream) -> u64 {
        self.state.lock().capture.total(stream)
    }

    /// Returns the time since which it waits in the middle of a line, as a prompt does.
    pub fn prompting_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        let listens = state.input.open && state.input.waiting.is_empty();
        let prompt = listens && state.stage == SessionStage::Running && !state.capture.ends_with_newline();
        prompt.then_some(state.last_output)
    }

    /// Subscribes to changes: new output or another stage.
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Queues `bytes` as input of the process.
    pub fn write_input(&self, bytes: &[u8]) -> Result<(), InputFault> {
        let mut state = self.state.lock();
        if !state.input.open || state.stage != SessionStage::Running {
            return Err(InputFault::Closed);
        }
        let waiting = state.input.waiting.len();
        if waiting + bytes.len() > MAX_PENDING_INPUT_BYTES {
            return Err(InputFault::Full { waiting });
        }
        state.input.waiting.extend(bytes);
        drop(state);
        self.work.send_replace(());
        Ok(())
    }

    /// Returns the number of input bytes that the process has not read.
    pub fn unread_input(&self) -> usize {
        self.state.lock().input.waiting.len()
    }

    /// Closes the input after the queued bytes are read. A terminal has no end of file: it receives Ctrl-D.
    pub fn close_input(&self) {
        const END_OF_INPUT: u8 = 4;
        let mut state = self.state.lock();
        match state.terminal {
            Some(_) => state.input.waiting.push_back(END_OF_INPUT),
            None => state.input.open = false,
        }
        drop(state);
        self.work.send_replace(());
    }

    /// Ends every process: SIGTERM, then SIGKILL after `grace`.
    pub fn end(&self, grace: Duration) {
        self.queue_order(SessionOrder::End(grace));
    }

    /// Ends every process because its time limit `after` is over.
    pub(crate) fn time_out(&self, after: Duration) {
        let mut state = self.state.lock();
        // A process that has exited was in time, even if it left others running.
        if state.stage == SessionStage::Running {
            state.timed_out = Some(after);
        }
        drop(state);
        self.end(SIGTERM_GRACE);
    }

    /// Returns the time limit that ended its process, if one did.
    pub fn timed_out(&self) -> Option<Duration> {
        self.state.lock().timed_out
    }

    /// Sends a signal to the process group.
    pub fn signal(&self, signal: i32) {
        self.queue_order(SessionOrder::Signal(signal));
    }

    fn queue_order(&self, order: SessionOrder) {
        self.state.lock().orders.push(order);
        self.work.send_replace(());
    }

    /// Changes the size of its terminal.
    pub fn resize(&self, size: PtySize) -> io::Result<()> {
        match &mut self.state.lock().terminal {
            Some(terminal) => {
                terminal.size = size;
                resize(&terminal.fd, size)
            }
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns the recent output of its terminal, and its size; `None` without a terminal.
    pub fn recent_terminal_output(&self) -> Option<(Vec<u8>, PtySize)> {
        let state = self.state.lock();
        let terminal = state.terminal.as_ref()?;
        Some((terminal.recent.iter().copied().collect(), terminal.size))
    }
}

/// Returns the number of `bytes` that are complete characters, or invalid ones.
fn complete_chars_len(bytes: &[u8]) -> usize {
    const MAX_UTF8_BYTES: usize = 4;
    let from = bytes.len().saturating_sub(MAX_UTF8_BYTES - 1);
    let cut = (from..bytes.len()).find(|&at| {
        let fault = std::str::from_utf8(&bytes[at..]).err();
        fault.is_some_and(|fault| fault.valid_up_to() == 0 && fault.error_len().is_none())
    });
    cut.unwrap_or(bytes.len())
}

impl ProcessSessionState {
    fn new(
        capture: Capture,
        input_open: bool,
        terminal: Option<SessionTerminal>,
        confined: SessionConfinement,
    ) -> Self {
        Self {
            capture,
            incomplete_char: Vec::new(),
            stage: SessionStage::Running,
            pid: None,
            stuck: Vec::new(),
            fault: None,
            confined,
            last_output: Instant::now(),
            input: PendingInput { waiting: VecDeque::new(), open: input_open },
            orders: Vec::new(),
            streamed: None,
            stream_limit: MAX_STREAMED_BYTES,
            terminal,
            ended_at: None,
            timed_out: None,
        }
    }

    fn record_output(&mut self, stream: CapturedStream, bytes: &[u8]) {
        self.capture.push(stream, bytes);
        self.last_output = Instant::now();
        if let Some(terminal) = &mut self.terminal {
            let bytes = &bytes[bytes.len().saturating_sub(MAX_TERMINAL_BYTES)..];
            let excess = (terminal.recent.len() + bytes.len()).saturating_sub(MAX_TERMINAL_BYTES);
            terminal.recent.drain(..excess);
            terminal.recent.extend(bytes);
        }
        if let Some(streamed) = &mut self.streamed {
            match streamed.back_mut() {
                Some((last, piece)) if *last == stream && piece.len() < MAX_PIECE_BYTES => {
                    piece.extend(bytes);
                }
                _ => streamed.push_back((stream, bytes.to_owned())),
            }
        }
    }

    /// Returns true unless the streaming observer falls behind.
    fn may_read(&self) -> bool {
        let waiting = self.streamed.iter().flatten().map(|(_, bytes)| bytes.len()).sum::<usize>();
        waiting < self.stream_limit
    }
}
