//! A running server program, with the last bytes of its standard error for error messages.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::server_config::LaunchedServer;

/// Bytes kept of standard error.
const STDERR_TAIL_BYTES: usize = 4 << 10;
/// Time limit for the rest of it.
const STDERR_DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// A program and its last error output.
pub(crate) struct ServerProgram {
    pub(crate) launched: Box<dyn LaunchedServer>,
    pub(crate) stderr_tail: StderrTail,
}

impl ServerProgram {
    pub(crate) fn new(launched: Box<dyn LaunchedServer>, errors: pipe::Receiver) -> Self {
        Self { launched, stderr_tail: StderrTail::spawn_reader(errors) }
    }
}

/// The end of a program's standard error. All of it is read, so that the program never blocks on it.
pub(crate) struct StderrTail {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Cancelled when the output has ended.
    ended: CancellationToken,
}

impl StderrTail {
    fn spawn_reader(mut errors: pipe::Receiver) -> Self {
        let tail = Self { bytes: Arc::default(), ended: CancellationToken::new() };
        let (kept, all) = (Arc::clone(&tail.bytes), tail.ended.clone().drop_guard());
        crate::background_task::spawn(async move {
            let _all = all;
            let mut buffer = [0; 8 << 10];
            // ends: with the program
            while let Ok(read @ 1..) = errors.read(&mut buffer).await {
                let mut kept = kept.lock();
                kept.extend_from_slice(&buffer[..read]);
                let more = kept.len().saturating_sub(STDERR_TAIL_BYTES);
                kept.drain(..more);
            }
        });
        tail
    }

    /// Appends the last error line to the reason `why`.
    pub(crate) async fn append_to(&self, why: &str) -> String {
        // A program that has just ended may have unread output.
        let _or_not = timeout(STDERR_DRAIN_TIMEOUT, self.ended.cancelled()).await;
        match self.last_line() {
            Some(words) => format!("{why}; it last said: {words}"),
            None => why.to_owned(),
        }
    }

    /// Returns the last line that is not empty.
    fn last_line(&self) -> Option<String> {
        let kept = self.bytes.lock();
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().filter(|letter| !policy::is_invisible(*letter)).take(300).collect())
    }
}
