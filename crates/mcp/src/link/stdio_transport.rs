//! Stdio transport to a server program: limits the size of messages, and cuts off programs that do not read.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::json_limits::{JsonMeter, MAX_MESSAGE_BYTES};

/// Time limit for a program to read our messages.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes it may write meanwhile, because each of its requests queues an answer.
const MAX_BYTES_WHILE_BLOCKED: usize = MAX_MESSAGE_BYTES;

/// The shared state of both directions, and the reason if the line was cut.
#[derive(Default)]
pub(super) struct StdioLink {
    cut_reason: OnceLock<String>,
    cut: CancellationToken,
    /// Bytes received while a write is blocked, plus one; zero if no write is blocked.
    bytes_while_blocked: AtomicUsize,
}

impl StdioLink {
    /// Wraps both directions with limits.
    pub(super) fn wrap<R, W>(self: &Arc<Self>, output: R, input: W) -> (BoundedReader<R>, BoundedWriter<W>) {
        let cut = || Box::pin(self.cut.clone().cancelled_owned());
        let reader = BoundedReader {
            inner: output,
            link: Arc::clone(self),
            cut: cut(),
            message: JsonMeter::default(),
        };
        let writer = BoundedWriter { inner: input, link: Arc::clone(self), cut: cut(), write_deadline: None };
        (reader, writer)
    }

    /// Returns the reason if the line was cut.
    pub(super) fn cut_reason(&self) -> Option<String> {
        self.cut_reason.get().cloned()
    }

    fn cut_link(&self, why: &impl ToString) -> io::Error {
        let why = self.cut_reason.get_or_init(|| why.to_string());
        self.cut.cancel();
        io::Error::other(why.clone())
    }

    /// Counts received bytes.
    fn count_received(&self, bytes: usize) -> io::Result<()> {
        let waits = |before: usize| (before > 0).then(|| before.saturating_add(bytes));
        match self.bytes_while_blocked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, waits) {
            Ok(before) if before > MAX_BYTES_WHILE_BLOCKED => Err(self.cut_link(&format!(
                "it asks more than {} MiB, and does not read the answers",
                MAX_BYTES_WHILE_BLOCKED >> 20
            ))),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

type CutSignal = Pin<Box<WaitForCancellationFutureOwned>>;

/// The output of a program.
pub(super) struct BoundedReader<R> {
    inner: R,
    link: Arc<StdioLink>,
    cut: CutSignal,
    message: JsonMeter,
}

impl<R> BoundedReader<R> {
    /// Returns the number of bytes that may be read. If the rest is too much, cuts the line.
    fn checked_length(&mut self, bytes: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' {
                self.message = JsonMeter::default();
            } else if let Err(excess) = self.message.push_byte(*byte) {
                self.link.cut_link(&excess);
                return at;
            }
        }
        bytes.len()
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(self.link.cut_link(&"it was left")));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let received = buffer.filled().len() - before;
        self.link.count_received(received)?;
        let good = self.checked_length(&buffer.filled()[before..]);
        buffer.set_filled(before + good);
        if good == 0 && received > 0 {
            return Poll::Ready(Err(self.link.cut_link(&"it was left")));
        }
        Poll::Ready(Ok(()))
    }
}

/// The input of a program.
pub(super) struct BoundedWriter<W> {
    inner: W,
    link: Arc<StdioLink>,
    cut: CutSignal,
    /// The deadline for a blocked write.
    write_deadline: Option<Pin<Box<Sleep>>>,
}

impl<W> BoundedWriter<W> {
    /// Handles the result of a write, and cuts the line if a write is blocked for too long.
    fn check_write<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.write_deadline = None;
            self.link.bytes_while_blocked.store(0, Ordering::Relaxed);
            return result;
        }
        // Keeps an existing count.
        let _counts =
            self.link.bytes_while_blocked.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
        let deadline = self.write_deadline.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        if deadline.as_mut().poll(cx).is_ready() {
            let why = format!("it has not read its input for {} s", WRITE_TIMEOUT.as_secs());
            return Poll::Ready(Err(self.link.cut_link(&why)));
        }
        if self.cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(self.link.cut_link(&"it was left")));
        }
        Poll::Pending
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for BoundedWriter<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.check_write(cx, result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(cx);
        self.check_write(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    async fn heard(said: &'static [u8]) -> (String, Option<String>) {
        let line = Arc::<StdioLink>::default();
        let (mut heard, _said) = line.wrap(said, tokio::io::sink());
        let mut text = Vec::new();
        let _cut = heard.read_to_end(&mut text).await;
        (String::from_utf8_lossy(&text).into_owned(), line.cut_reason())
    }

    #[tokio::test]
    async fn messages_before_an_invalid_one_are_read() {
        assert_eq!(heard(b"{}\n[]\nwords \xff\n").await, ("{}\n[]\nwords \u{fffd}\n".to_owned(), None));
        let (text, why) = heard(b"{}\n{\"a\": \"\xff\"}\n{}\n").await;
        assert_eq!(text, "{}\n{\"a\": \"");
        assert_eq!(why.as_deref(), Some("its answer is not UTF-8"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_does_not_read_is_cut_off() {
        let (ours, _theirs) = duplex(16);
        let line = Arc::<StdioLink>::default();
        let (mut heard, mut said) = line.wrap(tokio::io::empty(), ours);
        let error = said.write_all(&[b'x'; 100]).await.unwrap_err();
        assert_eq!(error.to_string(), "it has not read its input for 10 s");
        assert!(heard.read_u8().await.unwrap_err().to_string().contains("10 s"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_writes_but_does_not_read_is_cut_off_early() {
        let (ours, _theirs) = duplex(16);
        let line = Arc::<StdioLink>::default();
        let (mut heard, mut said) = line.wrap(tokio::io::repeat(b'\n'), ours);
        let mut buffer = vec![0; 1 << 20];
        let reading = async {
            // ends: the line is cut after 16 of them
            while heard.read(&mut buffer).await.is_ok() {}
        };
        let words = [b'x'; 100];
        let (told, ()) = tokio::join!(said.write_all(&words), reading);
        assert_eq!(told.unwrap_err().to_string(), "it asks more than 16 MiB, and does not read the answers");
    }
}
