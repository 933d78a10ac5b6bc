//! Bulk reader: reads a burst of output on its own thread, without a scheduler turn for every few kilobytes.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use super::ProcessSession;
use super::pump::{PipeState, read_once};
use crate::capture::CapturedStream;

/// A burst is this many bytes without a longer pause than this between two reads.
const BURST_BYTES: u64 = 1 << 20;
const MAX_BURST_PAUSE: Duration = Duration::from_millis(2);
/// The pipe size during a burst: a larger pipe would not fit into the CPU cache, and would be copied half as fast.
const BURST_PIPE_BYTES: usize = 128 << 10;
/// The interval at which waiting tasks are notified.
const NOTIFY_INTERVAL: Duration = Duration::from_millis(20);
/// A burst is over when nothing arrives for this long.
const BURST_END_TIMEOUT: Duration = Duration::from_millis(5);
/// The maximum number of bulk-reader threads; other bursts are read as usual.
const MAX_THREADS: usize = 8;

/// The number of threads.
static ACTIVE_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Counts one thread as long as it lives, even if it never runs.
struct BulkThreadCount;

impl BulkThreadCount {
    fn acquire() -> Option<Self> {
        let one = Self;
        (ACTIVE_THREADS.fetch_add(1, Ordering::Relaxed) < MAX_THREADS).then_some(one)
    }
}

impl Drop for BulkThreadCount {
    fn drop(&mut self) {
        ACTIVE_THREADS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Detects a burst.
#[derive(Debug)]
pub(super) struct BurstDetector {
    /// The total at the start of the burst.
    burst_start: u64,
    last_read_at: Instant,
}

impl BurstDetector {
    pub(super) fn new() -> Self {
        Self { burst_start: 0, last_read_at: Instant::now() }
    }

    /// Records a read; `written` is the total afterwards. Returns true if this is a burst.
    pub(super) fn record_read(&mut self, written: u64) -> bool {
        let now = Instant::now();
        if now - self.last_read_at > MAX_BURST_PAUSE {
            self.burst_start = written;
        }
        self.last_read_at = now;
        written.saturating_sub(self.burst_start) >= BURST_BYTES
    }
}

/// A pipe that a thread reads until the burst is over. Dropping it stops the thread.
pub(super) struct BulkReader {
    thread: JoinHandle<Option<OwnedFd>>,
    stop: Arc<AtomicBool>,
}

impl BulkReader {
    /// Starts a thread that reads `pipe`. Returns the pipe if there are too many threads, or `None` if it is
    /// unusable.
    pub(super) fn begin(
        pipe: pipe::Receiver,
        session: &Arc<ProcessSession>,
        stream: CapturedStream,
    ) -> Result<Self, Option<pipe::Receiver>> {
        let Some(counted) = BulkThreadCount::acquire() else { return Err(Some(pipe)) };
        let Ok(pipe) = pipe.into_nonblocking_fd() else { return Err(None) };
        let _may_not = rustix::pipe::fcntl_setpipe_size(&pipe, BURST_PIPE_BYTES);
        let stop = Arc::new(AtomicBool::new(false));
        let (session, stopped) = (Arc::clone(session), Arc::clone(&stop));
        #[expect(clippy::disallowed_methods, reason = "it reads for a session, not for a call")]
        let thread = tokio::task::spawn_blocking(move || {
            let _counted = counted;
            let pipe_state = read_burst(&pipe, &session, stream, &stopped);
            (pipe_state == PipeState::Open).then_some(pipe)
        });
        Ok(Self { thread, stop })
    }

    /// Waits until the burst is over, and returns the pipe if more may come.
    pub(super) async fn finished(&mut self) -> Option<pipe::Receiver> {
        let pipe = (&mut self.thread).await.ok()??;
        pipe::Receiver::from_owned_fd(pipe).ok()
    }
}

impl Drop for BulkReader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn read_burst(
    pipe: &OwnedFd,
    session: &ProcessSession,
    stream: CapturedStream,
    stop: &AtomicBool,
) -> PipeState {
    let mut notified_at = Instant::now();
    let wait = Timespec::try_from(BURST_END_TIMEOUT).ok();
    let mut pipe_state = PipeState::Open;
    // ends: with the output, with the burst, or when it is stopped
    while pipe_state == PipeState::Open && !stop.load(Ordering::Relaxed) && session.state.lock().may_read() {
        if poll(&mut [PollFd::new(pipe, PollFlags::IN)], wait.as_ref()) == Ok(0) {
            break;
        }
        let read = read_once(session, stream, |chunk| Ok(rustix::io::read(pipe, chunk)?));
        pipe_state = read.unwrap_or(PipeState::Open);
        // Notifying the waiting tasks of every read would take longer than the reads.
        if notified_at.elapsed() > NOTIFY_INTERVAL {
            session.changed.send_replace(());
            notified_at = Instant::now();
        }
    }
    session.changed.send_replace(());
    pipe_state
}
