//! Sessions: processes that run on between calls, with their output, their input and their end.

mod confined;
mod flood;
mod pump;
mod streaming;
mod table;

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use policy::Permit;
use tokio::sync::watch;

use self::confined::Confined;
use crate::capture::{Capture, Captured, Stream};
use crate::process::{Command, Ended, Size, SpawnFault, Spawner, Stdio, Used, resize};
pub use pump::Pump;
pub use streaming::Streaming;
pub use table::{Full, Processes, Sessions};

/// How long a process has between being asked to end and being killed.
pub const GRACE: Duration = Duration::from_millis(500);
/// Bytes of input that wait for a process to read them.
const MAX_INPUT: usize = 1 << 20;
/// Bytes of a terminal that are kept to draw its screen from.
const MAX_RECENT: usize = 256 << 10;
/// Bytes that wait for whoever streams the output; while there are more, nothing is read.
const MAX_STREAMED: usize = 256 << 10;
/// The same for a process that is being ended.
const MAX_LAST_WORDS: usize = 16 << 20;
/// A piece of them that is longer is not added to.
const MAX_PIECE: usize = 16 << 10;

/// How long a session lives, unless it is ended before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the turn is over.
    Turn,
    /// As long as the tool system that started it.
    #[default]
    Session,
    /// As long as this process: another tool system on the same spawner finds it.
    Keep,
}

impl Lifetime {
    /// The lifetime as models spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Session => "session",
            Self::Keep => "keep",
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    fn from_status(status: i32) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let status = std::process::ExitStatus::from_raw(status);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(-1),
        }
    }

    /// The code as a shell has it: 128 and the signal's number if it was a signal.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// How far a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Its process runs.
    Running,
    /// Its process has ended, but others that came of it have not.
    Leaving {
        /// How it ended.
        exit: Exit,
        /// How many others there were then.
        left: u32,
        /// Whether its output can be taken to be complete.
        settled: bool,
    },
    /// Nothing is left of it, and all of its output was read.
    Over {
        /// How it ended.
        exit: Exit,
        /// What all of its processes took.
        used: Used,
        /// Those that had to be ended, the first of them by name.
        ended: Vec<Ended>,
        /// How many more had to be.
        more: u32,
    },
    /// Its keeper was killed, and it with it.
    Lost,
}

impl Stage {
    /// How its process ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        match self {
            Self::Leaving { exit, .. } | Self::Over { exit, .. } => Some(*exit),
            Self::Running | Self::Lost => None,
        }
    }
}

/// What is known about a session from its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The command as the model wrote it.
    pub command: String,
    /// Where it runs.
    pub workdir: PathBuf,
    /// The call that started it.
    pub owner: String,
    /// How long it lives.
    pub lifetime: Lifetime,
    /// Whether it has a terminal.
    pub terminal: bool,
}

/// The time after which a command is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// How long the command may run.
    pub after: Duration,
    /// When that is over.
    pub deadline: Instant,
}

/// What was taken from a session, all at one moment.
#[derive(Debug)]
pub struct Taken {
    /// How far it was then.
    pub stage: Stage,
    /// What it had written since the last time.
    pub output: Captured,
    /// What of that was not streamed yet.
    pub unstreamed: Vec<(Stream, Vec<u8>)>,
}

/// Why input was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputFault {
    /// Nobody listens.
    #[error("its standard input is closed")]
    Closed,
    /// It does not read what it got before.
    #[error("it has not read {waiting} bytes of earlier input")]
    Full {
        /// Bytes that wait.
        waiting: usize,
    },
}

/// One process and what came of it.
#[derive(Debug)]
pub struct Session {
    id: u32,
    about: About,
    began: Instant,
    state: Mutex<State>,
    /// Told when there is output or another stage.
    changed: watch::Sender<()>,
    /// Tells the pump that there is something to do.
    work: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    capture: Capture,
    /// The beginning of a character, left from the last time that output was taken.
    rest: Vec<u8>,
    stage: Stage,
    pid: Option<i32>,
    stuck: Vec<Ended>,
    fault: Option<SpawnFault>,
    confined: Confined,
    last_output: Instant,
    input: Input,
    orders: Vec<Order>,
    streamed: Option<VecDeque<(Stream, Vec<u8>)>>,
    /// How much of it may wait.
    stream_limit: usize,
    terminal: Option<Terminal>,
    over_at: Option<Instant>,
    timed_out: Option<Duration>,
}

#[derive(Debug)]
struct Input {
    waiting: VecDeque<u8>,
    open: bool,
}

#[derive(Debug)]
struct Terminal {
    fd: Arc<OwnedFd>,
    size: Size,
    recent: VecDeque<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    End(Duration),
    Signal(i32),
}

impl Session {
    /// Starts `command`. Whoever holds the pump moves it; dropping the pump ends it.
    pub(crate) async fn begin(
        id: u32,
        command: Command,
        about: About,
        capture: Capture,
        spawner: &Spawner,
        permit: &Permit,
    ) -> Result<(Arc<Self>, Pump), SpawnFault> {
        let mut process = spawner.start(&command, permit).await?;
        let size = if let Stdio::Terminal(size) = command.stdio { size } else { Size::default() };
        let fd = process.pipes.terminal.as_ref().map(|terminal| Arc::clone(terminal.get_ref()));
        let terminal = fd.map(|fd| Terminal { fd, size, recent: VecDeque::new() });
        let listens = !matches!(command.stdio, Stdio::Piped | Stdio::Reading(_));
        let state = State::new(capture, listens, terminal, Confined::of(&mut process));
        let session = Arc::new(Self {
            id,
            about,
            began: Instant::now(),
            state: Mutex::new(state),
            changed: watch::Sender::new(()),
            work: watch::Sender::new(()),
        });
        // Only the program holds what it was given: whoever reads knows when it lets go of it.
        let command = Command { stdio: Stdio::Piped, ..command };
        let pump = Pump::new(Arc::clone(&session), process, command);
        Ok((session, pump))
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What is known about it from its start.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// When it began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// How long it ran, or has run.
    pub fn wall(&self) -> Duration {
        self.lock().over_at.unwrap_or_else(Instant::now) - self.began
    }

    /// The number of its process, once it is known.
    pub fn pid(&self) -> Option<i32> {
        self.lock().pid
    }

    /// How far it is.
    pub fn stage(&self) -> Stage {
        self.lock().stage.clone()
    }

    /// Why it did not start; only the first who asks is told.
    pub fn fault(&self) -> Option<SpawnFault> {
        self.lock().fault.take()
    }

    /// Processes that did not end though they were killed.
    pub fn stuck(&self) -> Vec<Ended> {
        self.lock().stuck.clone()
    }

    /// How far it is, and the output since the last time. While it runs, a character that is not whole yet is left for
    /// the next time.
    pub fn take(&self) -> Taken {
        let mut state = self.lock();
        let mut output = state.capture.take();
        let rest = std::mem::take(&mut state.rest);
        output.head.splice(0..0, rest);
        if state.stage == Stage::Running {
            let end = if output.tail.is_empty() { &mut output.head } else { &mut output.tail };
            state.rest = end.split_off(whole_chars(end));
        }
        let unstreamed = state.streamed.as_mut().map(std::mem::take).unwrap_or_default().into();
        Taken { stage: state.stage.clone(), output, unstreamed }
    }

    /// Bytes of output that were not taken yet.
    pub fn pending(&self) -> u64 {
        self.lock().capture.pending()
    }

    /// Bytes that it has written in all.
    pub fn written(&self, stream: Stream) -> u64 {
        self.lock().capture.total(stream)
    }

    /// Since when it is waiting in the middle of a line, as a prompt does; `None` if it is not.
    pub fn prompting_since(&self) -> Option<Instant> {
        let state = self.lock();
        let listens = state.input.open && state.input.waiting.is_empty();
        let prompt = listens && state.stage == Stage::Running && !state.capture.ends_with_newline();
        prompt.then_some(state.last_output)
    }

    /// Is told when there is more output or another stage.
    pub fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Has the process read `bytes`, as soon as it reads.
    pub fn write(&self, bytes: &[u8]) -> Result<(), InputFault> {
        let mut state = self.lock();
        if !state.input.open || state.stage != Stage::Running {
            return Err(InputFault::Closed);
        }
        let waiting = state.input.waiting.len();
        if waiting + bytes.len() > MAX_INPUT {
            return Err(InputFault::Full { waiting });
        }
        state.input.waiting.extend(bytes);
        drop(state);
        self.work.send_replace(());
        Ok(())
    }

    /// Bytes of input that the process has not read.
    pub fn unread(&self) -> usize {
        self.lock().input.waiting.len()
    }

    /// Closes the input once what waits is read. A terminal has no end: there it is Ctrl-D.
    pub fn close_input(&self) {
        const END_OF_INPUT: u8 = 4;
        let mut state = self.lock();
        match state.terminal {
            Some(_) => state.input.waiting.push_back(END_OF_INPUT),
            None => state.input.open = false,
        }
        drop(state);
        self.work.send_replace(());
    }

    /// Ends every process of it: asks, waits for `grace`, kills.
    pub fn end(&self, grace: Duration) {
        self.order(Order::End(grace));
    }

    /// Ends every process of it because its time limit `after` is over.
    pub(crate) fn time_out(&self, after: Duration) {
        let mut state = self.lock();
        // A process that has ended was in time, whatever it left running.
        if state.stage == Stage::Running {
            state.timed_out = Some(after);
        }
        drop(state);
        self.end(GRACE);
    }

    /// The time limit that ended its process, if one did.
    pub fn timed_out(&self) -> Option<Duration> {
        self.lock().timed_out
    }

    /// Sends a signal to the process and its group.
    pub fn signal(&self, signal: i32) {
        self.order(Order::Signal(signal));
    }

    fn order(&self, order: Order) {
        self.lock().orders.push(order);
        self.work.send_replace(());
    }

    /// Changes the size of its terminal.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        match &mut self.lock().terminal {
            Some(terminal) => {
                terminal.size = size;
                resize(&terminal.fd, size)
            }
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The last that its terminal was sent, and how large it is; `None` if it has none.
    pub fn recent(&self) -> Option<(Vec<u8>, Size)> {
        let state = self.lock();
        let terminal = state.terminal.as_ref()?;
        Some((terminal.recent.iter().copied().collect(), terminal.size))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds this, and what it guards is right between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many of `bytes` are whole characters, or no characters at all.
fn whole_chars(bytes: &[u8]) -> usize {
    const LONGEST: usize = 4;
    let from = bytes.len().saturating_sub(LONGEST - 1);
    let cut = (from..bytes.len()).find(|&at| {
        let fault = std::str::from_utf8(&bytes[at..]).err();
        fault.is_some_and(|fault| fault.valid_up_to() == 0 && fault.error_len().is_none())
    });
    cut.unwrap_or(bytes.len())
}

impl State {
    fn new(capture: Capture, input_open: bool, terminal: Option<Terminal>, confined: Confined) -> Self {
        Self {
            capture,
            rest: Vec::new(),
            stage: Stage::Running,
            pid: None,
            stuck: Vec::new(),
            fault: None,
            confined,
            last_output: Instant::now(),
            input: Input { waiting: VecDeque::new(), open: input_open },
            orders: Vec::new(),
            streamed: None,
            stream_limit: MAX_STREAMED,
            terminal,
            over_at: None,
            timed_out: None,
        }
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.capture.push(stream, bytes);
        self.last_output = Instant::now();
        if let Some(terminal) = &mut self.terminal {
            let bytes = &bytes[bytes.len().saturating_sub(MAX_RECENT)..];
            let excess = (terminal.recent.len() + bytes.len()).saturating_sub(MAX_RECENT);
            terminal.recent.drain(..excess);
            terminal.recent.extend(bytes);
        }
        if let Some(streamed) = &mut self.streamed {
            match streamed.back_mut() {
                Some((last, piece)) if *last == stream && piece.len() < MAX_PIECE => piece.extend(bytes),
                _ => streamed.push_back((stream, bytes.to_owned())),
            }
        }
    }

    /// Whether whoever watches keeps up.
    fn may_read(&self) -> bool {
        let waiting = self.streamed.iter().flatten().map(|(_, bytes)| bytes.len()).sum::<usize>();
        waiting < self.stream_limit
    }
}
