//! Pump of a session: moves output in, input out, orders to the supervisor, and its reports back.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until, timeout};

use super::bulk_reader::{BulkReader, BurstDetector};
use super::{ProcessExit, ProcessSession, SessionOrder, SessionStage};
use crate::capture::CapturedStream;
use crate::process::{ProcessCommand, ProcessPipes, RunningProcess, SupervisorReport};

/// The number of bytes read at a time.
const READ_BYTES: usize = 128 << 10;
const PAGE_BYTES: usize = 4096;
/// After its process exited, output that others hold open is complete when nothing came for this long …
const QUIET_PERIOD: Duration = Duration::from_millis(50);
/// … and in any case after this.
const SETTLE_TIMEOUT: Duration = Duration::from_millis(250);

/// The time limit for reading the remaining output of processes that are gone.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The interval of checks whether a terminal was opened again.
const REOPEN_CHECK_INTERVAL: Duration = Duration::from_millis(20);

thread_local! {
    /// The read buffer: one for each thread, not one for each session.
    static READ_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Drives a session until no process is left. Dropping it ends the session at once: its supervisor kills all
/// processes.
///
/// It is a plain future, so a call can drive its own process without a separate task.
pub struct Pump(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Future for Pump {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl Pump {
    pub(super) fn new(
        session: Arc<ProcessSession>,
        process: RunningProcess,
        command: ProcessCommand,
    ) -> Self {
        let lost = LostIfDropped(Arc::clone(&session));
        Self(Box::pin(async move {
            PumpLoop::new(session, process).run(&command).await;
            drop(lost);
        }))
    }
}

/// The interval at which a running command is checked for files that take effect on the user's machine.
const HOST_FILE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Marks a session as lost when it is no longer driven.
struct LostIfDropped(Arc<ProcessSession>);

impl Drop for LostIfDropped {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        if !matches!(state.stage, SessionStage::Over { .. }) {
            state.stage = SessionStage::Lost;
            state.confined.set_aside_new();
            state.ended_at = Some(Instant::now());
        }
        state.input.open = false;
        drop(state);
        self.0.changed.send_replace(());
    }
}

struct PumpLoop {
    session: Arc<ProcessSession>,
    process: RunningProcess,
    work: watch::Receiver<()>,
    /// The time at which its process exited, while others have not.
    leader_exited_at: Option<Instant>,
    burst_detector: BurstDetector,
    bulk_reader: Option<(CapturedStream, BulkReader)>,
    /// The time of the next check for files that take effect on the user's machine.
    next_host_file_check: Option<Instant>,
}

/// An event of the pump.
enum PumpEvent {
    Report(Option<SupervisorReport>),
    Read(CapturedStream, PipeState),
    BurstOver(Option<pipe::Receiver>),
    Wrote(PipeState),
    Work,
    Settled,
    HostFileCheckDue,
}

/// The state of the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PipeState {
    Open,
    Closed,
}

impl PumpLoop {
    fn new(session: Arc<ProcessSession>, process: RunningProcess) -> Self {
        let work = session.work.subscribe();
        let next_host_file_check =
            session.state.lock().confined.is_watched().then(|| Instant::now() + HOST_FILE_CHECK_INTERVAL);
        Self {
            session,
            process,
            work,
            leader_exited_at: None,
            burst_detector: BurstDetector::new(),
            bulk_reader: None,
            next_host_file_check,
        }
    }

    async fn run(mut self, command: &ProcessCommand) {
        // ends: with the last report, which comes however the processes end
        loop {
            self.forward_orders().await;
            match self.next_event().await {
                PumpEvent::Report(Some(SupervisorReport::AllExited {
                    used,
                    ended,
                    more,
                    again,
                    touched,
                })) => {
                    self.drain_output().await;
                    tracing::debug!("all processes of the command ended");
                    let over = |exit| SessionStage::Over { exit, used, ended, more };
                    return self.finish(over, again, touched);
                }
                PumpEvent::Report(Some(report)) => self.handle_report(report, command),
                // The supervisor was killed. The spawner kills its processes, which may have written output before.
                PumpEvent::Report(None) => return self.drain_output().await,
                PumpEvent::Read(stream, PipeState::Closed) => self.process.pipes.close(stream),
                PumpEvent::Read(stream, PipeState::Open) => self.detect_burst(stream),
                PumpEvent::BurstOver(pipe) => self.restore_pipe(pipe),
                PumpEvent::Wrote(PipeState::Closed) => {
                    self.process.pipes.stdin = None;
                    let mut state = self.session.state.lock();
                    state.input.open = false;
                    state.input.waiting.clear();
                }
                PumpEvent::Wrote(PipeState::Open) | PumpEvent::Work => {}
                PumpEvent::HostFileCheckDue => {
                    self.session.state.lock().confined.set_aside_new();
                    self.next_host_file_check = Some(Instant::now() + HOST_FILE_CHECK_INTERVAL);
                }
                PumpEvent::Settled => {
                    self.leader_exited_at = None;
                    if let SessionStage::LeaderExited { settled, .. } = &mut self.session.state.lock().stage {
                        *settled = true;
                    }
                    self.session.changed.send_replace(());
                }
            }
        }
    }

    fn handle_report(&mut self, report: SupervisorReport, command: &ProcessCommand) {
        let mut state = self.session.state.lock();
        match report {
            SupervisorReport::Started { pid } => state.pid = Some(pid),
            SupervisorReport::Failed { step, errno } => state.fault = Some(command.launch_fault(step, errno)),
            SupervisorReport::Exited { status, left } => {
                let now = Instant::now();
                state.ended_at = Some(now);
                state.stage = SessionStage::LeaderExited {
                    exit: ProcessExit::from_status(status),
                    left,
                    settled: false,
                };
                self.leader_exited_at = (left > 0).then_some(now);
            }
            SupervisorReport::Stuck { left } => state.stuck = left,
            SupervisorReport::Refused(refusals) => state.confined.record_refusal(refusals),
            SupervisorReport::LayerNotMounted => state.confined.record_missing_layer(),
            SupervisorReport::Ready | SupervisorReport::AllExited { .. } => {}
        }
        drop(state);
        self.session.changed.send_replace(());
    }

    /// Records a read. A thread takes over a burst.
    fn detect_burst(&mut self, stream: CapturedStream) {
        let pipes = &mut self.process.pipes;
        let pipe = match stream {
            CapturedStream::Stdout => &mut pipes.stdout,
            CapturedStream::Stderr => &mut pipes.stderr,
            CapturedStream::Terminal => return,
        };
        let written = self.session.bytes_written(stream);
        let is_watched = self.session.state.lock().streamed.is_some();
        if !self.burst_detector.record_read(written) || self.bulk_reader.is_some() || is_watched {
            return;
        }
        if let Some(open) = pipe.take() {
            match BulkReader::begin(open, &self.session, stream) {
                Ok(bulk_reader) => self.bulk_reader = Some((stream, bulk_reader)),
                Err(back) => *pipe = back,
            }
        }
    }

    fn restore_pipe(&mut self, pipe: Option<pipe::Receiver>) {
        match self.bulk_reader.take() {
            Some((CapturedStream::Stdout, _)) => self.process.pipes.stdout = pipe,
            Some((CapturedStream::Stderr, _)) => self.process.pipes.stderr = pipe,
            Some((CapturedStream::Terminal, _)) | None => {}
        }
    }

    fn finish(self, stage: impl FnOnce(ProcessExit) -> SessionStage, again: bool, touched: bool) {
        let mut state = self.session.state.lock();
        state.confined.finish(touched);
        let exit = if let SessionStage::LeaderExited { exit, .. } = state.stage {
            exit
        } else {
            ProcessExit::Code(-1)
        };
        state.stage = stage(exit);
        state.ended_at.get_or_insert_with(Instant::now);
        state.input.open = false;
        drop(state);
        if again {
            self.process.release_supervisor();
        }
    }

    /// Waits for the next event.
    async fn next_event(&mut self) -> PumpEvent {
        let (may_read, has_input, settled_at) = {
            let state = self.session.state.lock();
            let settled_at = self
                .leader_exited_at
                .map(|at| (state.last_output.max(at) + QUIET_PERIOD).min(at + SETTLE_TIMEOUT));
            (state.may_read(), !state.input.waiting.is_empty(), settled_at)
        };
        let (session, work, bulk_reader, next_host_file_check) =
            (&*self.session, &mut self.work, &mut self.bulk_reader, self.next_host_file_check);
        let RunningProcess {
            control_socket, pipes: ProcessPipes { stdin, stdout, stderr, terminal }, ..
        } = &mut self.process;
        let (stdout, stderr, terminal) = (stdout.as_ref(), stderr.as_ref(), terminal.as_ref());
        tokio::select! {
            // Output written to both streams at about the same time is read in a fixed order.
            biased;
            report = control_socket.next_report() => PumpEvent::Report(report),
            _ = work.changed() => PumpEvent::Work,
            () = wait_until_instant(settled_at), if settled_at.is_some() => PumpEvent::Settled,
            () = wait_until_instant(next_host_file_check), if next_host_file_check.is_some() => PumpEvent::HostFileCheckDue,
            still = write_pipe(stdin.as_ref(), session), if has_input => PumpEvent::Wrote(still),
            still = write_terminal(terminal, session), if has_input => PumpEvent::Wrote(still),
            still = read_pipe(stdout, session, CapturedStream::Stdout), if may_read => PumpEvent::Read(CapturedStream::Stdout, still),
            still = read_pipe(stderr, session, CapturedStream::Stderr), if may_read => PumpEvent::Read(CapturedStream::Stderr, still),
            still = read_terminal(terminal, session, HangupMeaning::MayReopen), if may_read => PumpEvent::Read(CapturedStream::Terminal, still),
            pipe = wait_for_bulk_reader(bulk_reader) => PumpEvent::BurstOver(pipe),
        }
    }

    /// Passes on orders, and closes the input if requested.
    async fn forward_orders(&mut self) {
        let (orders, close) = {
            let mut state = self.session.state.lock();
            let close = !state.input.open && state.input.waiting.is_empty();
            (std::mem::take(&mut state.orders), close)
        };
        if close {
            self.process.pipes.stdin = None;
        }
        for order in orders {
            // A supervisor that is gone is noticed where its reports are read.
            let _gone = match order {
                SessionOrder::End(grace) => self.process.control_socket.end(grace).await,
                SessionOrder::Signal(signal) => self.process.control_socket.signal(signal).await,
            };
        }
    }

    /// Reads the remaining output. No process can write more, unless one outside holds a descriptor that it was
    /// given: then it is over when nothing comes.
    async fn drain_output(&mut self) {
        let until = Instant::now() + DRAIN_TIMEOUT;
        // ends: with the burst, when nothing comes, or with the time
        while let Some((stream, bulk_reader)) = &mut self.bulk_reader {
            let written = self.session.bytes_written(*stream);
            match timeout(SETTLE_TIMEOUT, bulk_reader.finished()).await {
                Ok(pipe) => self.restore_pipe(pipe),
                Err(_) if self.session.bytes_written(*stream) == written || Instant::now() > until => break,
                Err(_) => {}
            }
        }
        let ProcessPipes { stdout, stderr, terminal, .. } = &self.process.pipes;
        let session = &*self.session;
        let more = async |stream: CapturedStream| match stream {
            CapturedStream::Stdout => read_pipe(stdout.as_ref(), session, stream).await,
            CapturedStream::Stderr => read_pipe(stderr.as_ref(), session, stream).await,
            CapturedStream::Terminal => read_terminal(terminal.as_ref(), session, HangupMeaning::Final).await,
        };
        for (stream, open) in [
            (CapturedStream::Stdout, stdout.is_some()),
            (CapturedStream::Stderr, stderr.is_some()),
            (CapturedStream::Terminal, terminal.is_some()),
        ] {
            // ends: with the output, when nothing comes, or with the time
            while open
                && Instant::now() < until
                && matches!(timeout(SETTLE_TIMEOUT, more(stream)).await, Ok(PipeState::Open))
            {}
        }
    }
}

async fn wait_for_bulk_reader(
    bulk_reader: &mut Option<(CapturedStream, BulkReader)>,
) -> Option<pipe::Receiver> {
    match bulk_reader {
        Some((_, bulk_reader)) => bulk_reader.finished().await,
        None => pending().await,
    }
}

async fn wait_until_instant(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time.into()).await,
        None => pending().await,
    }
}

/// Reads once, into the session.
async fn read_pipe(
    pipe: Option<&pipe::Receiver>,
    session: &ProcessSession,
    stream: CapturedStream,
) -> PipeState {
    let Some(pipe) = pipe else { return pending().await };
    // ends: with something read, or nothing more to read
    loop {
        if pipe.readable().await.is_err() {
            return PipeState::Closed;
        }
        if let Some(still) = read_once(session, stream, |chunk| pipe.try_read(chunk)) {
            session.changed.send_replace(());
            return still;
        }
    }
}

/// The meaning of a hangup: no process has the terminal open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HangupMeaning {
    /// Nothing more comes: no process is left to open it.
    Final,
    /// A process may open it again.
    MayReopen,
}

async fn read_terminal(
    terminal: Option<&AsyncFd<Arc<OwnedFd>>>,
    session: &ProcessSession,
    hangup: HangupMeaning,
) -> PipeState {
    let Some(terminal) = terminal else { return pending().await };
    // ends: with something read, or nothing more to read
    loop {
        let Ok(mut ready) = terminal.readable().await else { return PipeState::Closed };
        let was_left = ready.ready().is_read_closed();
        let read = |chunk: &mut [u8]| match ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), chunk)?)) {
            Ok(done) => done,
            Err(_would_block) => Err(io::ErrorKind::WouldBlock.into()),
        };
        // A terminal that no process has open returns an error.
        match read_once(session, CapturedStream::Terminal, read) {
            Some(PipeState::Closed) if hangup == HangupMeaning::MayReopen => {
                sleep(REOPEN_CHECK_INTERVAL).await;
            }
            Some(still) => {
                session.changed.send_replace(());
                return still;
            }
            // The runtime reports it as ready forever once no process had it open.
            None if was_left => sleep(REOPEN_CHECK_INTERVAL).await,
            None => {}
        }
    }
}

/// Reads once through this thread's buffer; `None` if there was nothing yet. The caller notifies waiting tasks.
pub(super) fn read_once(
    session: &ProcessSession,
    stream: CapturedStream,
    read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
) -> Option<PipeState> {
    READ_BUFFER.with_borrow_mut(|scratch| {
        scratch.resize(READ_BYTES + PAGE_BYTES, 0);
        // The kernel copies twice as fast to a page boundary.
        let from = scratch.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        let scratch = &mut scratch[from..from + READ_BYTES];
        match read(scratch) {
            Ok(0) => Some(PipeState::Closed),
            Ok(length) => {
                session.state.lock().record_output(stream, &scratch[..length]);
                Some(PipeState::Open)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(_) => Some(PipeState::Closed),
        }
    })
}

/// Writes once, from the session.
async fn write_pipe(pipe: Option<&pipe::Sender>, session: &ProcessSession) -> PipeState {
    let Some(pipe) = pipe else { return pending().await };
    // ends: with something written, or no reader
    loop {
        if pipe.writable().await.is_err() {
            return PipeState::Closed;
        }
        if let Some(still) = write_pending_input(session, |bytes| pipe.try_write(bytes)) {
            return still;
        }
    }
}

async fn write_terminal(terminal: Option<&AsyncFd<Arc<OwnedFd>>>, session: &ProcessSession) -> PipeState {
    let Some(terminal) = terminal else { return pending().await };
    // ends: with something written, or no reader
    loop {
        let Ok(mut ready) = terminal.writable().await else { return PipeState::Closed };
        let was_left = ready.ready().is_write_closed();
        let write = |bytes: &[u8]| match ready.try_io(|fd| Ok(rustix::io::write(fd.get_ref(), bytes)?)) {
            Ok(done) => done,
            Err(_would_block) => Err(io::ErrorKind::WouldBlock.into()),
        };
        match write_pending_input(session, write) {
            Some(still) => return still,
            None if was_left => sleep(REOPEN_CHECK_INTERVAL).await,
            None => {}
        }
    }
}

fn write_pending_input(
    session: &ProcessSession,
    write: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> Option<PipeState> {
    let mut state = session.state.lock();
    let waiting = &mut state.input.waiting;
    let written = write(waiting.as_slices().0);
    match written {
        Ok(length) => {
            waiting.drain(..length);
            Some(PipeState::Open)
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => None,
        Err(_) => Some(PipeState::Closed),
    }
}
