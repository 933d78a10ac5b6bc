//! Message transports: one JSON message a line over a pipe or a socket, one a frame over a WebSocket.

use std::future::Future;
use std::io;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WsError, Message as WsMessage, http};

use crate::message::MAX_MESSAGE_BYTES;

/// A frame that was received.
#[derive(Debug, PartialEq, Eq)]
pub enum IncomingFrame {
    /// A message.
    Message(Vec<u8>),
    /// A message that exceeded the maximum length and was skipped.
    TooLong,
}

/// A bidirectional transport of messages.
pub trait MessageTransport: Send {
    /// The receiving half.
    type Read: FrameRead;
    /// The sending half.
    type Write: FrameWrite;

    /// Splits the transport into its halves.
    fn split(self) -> (Self::Read, Self::Write);

    /// Returns a probe for a complete disconnect, as opposed to a half-close; `None` if the transport cannot tell.
    fn probe(&mut self) -> Option<DisconnectProbe> {
        None
    }
}

/// Returns whether the peer has disconnected completely.
pub type DisconnectProbe = Box<dyn Fn() -> bool + Send + Sync>;

/// A transport with a separate disconnect probe.
pub struct ProbedTransport<F> {
    frames: F,
    probe: Option<DisconnectProbe>,
}

impl<F: MessageTransport> ProbedTransport<F> {
    /// Attaches `probe`, which returns whether the peer has disconnected, to `frames`.
    pub fn new(frames: F, probe: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { frames, probe: Some(Box::new(probe)) }
    }
}

impl<F: MessageTransport> MessageTransport for ProbedTransport<F> {
    type Read = F::Read;
    type Write = F::Write;

    fn split(self) -> (F::Read, F::Write) {
        self.frames.split()
    }

    fn probe(&mut self) -> Option<DisconnectProbe> {
        self.probe.take()
    }
}

/// The receiving half of a transport.
pub trait FrameRead: Send {
    /// Receives the next frame; `None` at the end. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Option<IncomingFrame>> + Send;
}

/// The sending half of a transport.
pub trait FrameWrite: Send {
    /// Sends a message without newlines, and flushes it if `flush` is set. Fails with a timeout if the peer reads
    /// nothing for `write_timeout`.
    fn send(
        &mut self,
        message: String,
        flush: bool,
        write_timeout: Duration,
    ) -> impl Future<Output = io::Result<()>> + Send;

    /// Closes the sending half.
    fn finish(&mut self) -> impl Future<Output = ()> + Send;
}

/// Fails with `TimedOut` if the write takes longer than `write_timeout`.
async fn with_write_timeout<T>(
    write_timeout: Duration,
    writing: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    tokio::time::timeout(write_timeout, writing).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// A transport with one line for each message.
#[derive(Debug)]
pub struct LineTransport<R, W>(pub R, pub W);

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send> MessageTransport for LineTransport<R, W> {
    type Read = LineReader<R>;
    type Write = LineWriter<W>;

    fn split(self) -> (LineReader<R>, LineWriter<W>) {
        let reader = LineReader { reader: self.0, buffer: Vec::new(), scanned: 0, is_skipping: false };
        (reader, LineWriter { writer: self.1, pending: Vec::new() })
    }
}

/// Reads lines.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer without a newline.
    scanned: usize,
    /// Set while the rest of an overlong line is skipped.
    is_skipping: bool,
}

impl<R: AsyncRead + Unpin + Send> FrameRead for LineReader<R> {
    async fn next(&mut self) -> Option<IncomingFrame> {
        // ends: with a line, or with the stream
        loop {
            if let Some(at) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.scanned + at + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                self.scanned = 0;
                match std::mem::take(&mut self.is_skipping) {
                    true => continue,
                    // The newline may arrive in the same read that exceeds the limit.
                    false if line.len() > MAX_MESSAGE_BYTES => return Some(IncomingFrame::TooLong),
                    false => return Some(IncomingFrame::Message(line)),
                }
            }
            self.scanned = self.buffer.len();
            if self.buffer.len() > MAX_MESSAGE_BYTES {
                let was_skipping = std::mem::replace(&mut self.is_skipping, true);
                (self.buffer, self.scanned) = (Vec::new(), 0);
                if !was_skipping {
                    return Some(IncomingFrame::TooLong);
                }
            }
            self.buffer.reserve(8 << 10);
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) if self.buffer.is_empty() || self.is_skipping => return None,
                // A last line without a newline.
                Ok(0) | Err(_) => {
                    self.scanned = 0;
                    return Some(IncomingFrame::Message(std::mem::take(&mut self.buffer)));
                }
                Ok(_) => {}
            }
        }
    }
}

/// Writes lines.
#[derive(Debug)]
pub struct LineWriter<W> {
    writer: W,
    pending: Vec<u8>,
}

/// Bytes that are buffered before a write.
const WRITE_CHUNK_BYTES: usize = 64 << 10;

impl<W: AsyncWrite + Unpin + Send> FrameWrite for LineWriter<W> {
    async fn send(&mut self, message: String, flush: bool, write_timeout: Duration) -> io::Result<()> {
        self.pending.extend_from_slice(message.as_bytes());
        self.pending.push(b'\n');
        if flush || self.pending.len() >= WRITE_CHUNK_BYTES {
            // Each chunk has its own timeout, so a slow reader is not disconnected.
            for piece in self.pending.chunks(WRITE_CHUNK_BYTES) {
                with_write_timeout(write_timeout, self.writer.write_all(piece)).await?;
            }
            self.pending.clear();
            with_write_timeout(write_timeout, self.writer.flush()).await?;
        }
        Ok(())
    }

    async fn finish(&mut self) {}
}

/// The HTTP headers of a client's handshake.
#[derive(Debug)]
pub struct HandshakeHeaders<'a>(&'a http::HeaderMap);

impl HandshakeHeaders<'_> {
    /// Returns the value of header `name`; `None` if the header occurs more than once.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.0.get_all(name).iter();
        match (all.next(), all.next()) {
            (Some(one), None) => one.to_str().ok(),
            _ => None,
        }
    }

    /// Returns whether header `name` is present.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// A WebSocket after its handshake.
#[derive(Debug)]
pub struct WebSocketTransport<S>(WebSocketStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send> WebSocketTransport<S> {
    /// Performs the handshake with a client whose headers satisfy `admits`.
    ///
    /// # Errors
    /// If the handshake is invalid or refused.
    pub async fn accept(
        stream: S,
        admits: impl FnOnce(&HandshakeHeaders<'_>) -> bool + Unpin,
    ) -> Result<Self, tokio_tungstenite::tungstenite::Error> {
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        #[expect(clippy::result_large_err, reason = "the form that the handshake wants")]
        let callback = |request: &http::Request<()>, response: http::Response<()>| match admits(
            &HandshakeHeaders(request.headers()),
        ) {
            true => Ok(response),
            false => {
                let mut refusal = http::Response::new(Some("the token is missing or wrong\n".to_owned()));
                *refusal.status_mut() = http::StatusCode::UNAUTHORIZED;
                Err(refusal)
            }
        };
        tokio_tungstenite::accept_hdr_async_with_config(stream, callback, Some(config)).await.map(Self)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> MessageTransport for WebSocketTransport<S> {
    type Read = WebSocketReader<S>;
    type Write = WebSocketWriter<S>;

    fn split(self) -> (WebSocketReader<S>, WebSocketWriter<S>) {
        let (write, read) = self.0.split();
        (WebSocketReader { read, is_over: false }, WebSocketWriter(write))
    }

    fn probe(&mut self) -> Option<DisconnectProbe> {
        // A WebSocket has no half-close.
        Some(Box::new(|| true))
    }
}

/// Reads messages from a WebSocket.
#[derive(Debug)]
pub struct WebSocketReader<S> {
    read: futures_util::stream::SplitStream<WebSocketStream<S>>,
    /// Set after an overlong message, which cannot be skipped.
    is_over: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> FrameRead for WebSocketReader<S> {
    async fn next(&mut self) -> Option<IncomingFrame> {
        if self.is_over {
            return None;
        }
        // ends: with a message, or with the stream
        loop {
            match self.read.next().await? {
                Ok(WsMessage::Text(text)) => return Some(IncomingFrame::Message(text.as_bytes().to_vec())),
                Ok(WsMessage::Binary(bytes)) => return Some(IncomingFrame::Message(bytes.to_vec())),
                // An overlong message ends the connection after it was reported.
                Err(WsError::Capacity(_)) => {
                    self.is_over = true;
                    return Some(IncomingFrame::TooLong);
                }
                Ok(WsMessage::Close(_)) | Err(_) => return None,
                Ok(WsMessage::Ping(_) | WsMessage::Pong(_) | WsMessage::Frame(_)) => {}
            }
        }
    }
}

/// Writes messages to a WebSocket.
#[derive(Debug)]
pub struct WebSocketWriter<S>(futures_util::stream::SplitSink<WebSocketStream<S>, WsMessage>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send> FrameWrite for WebSocketWriter<S> {
    async fn send(&mut self, message: String, flush: bool, write_timeout: Duration) -> io::Result<()> {
        let message = WsMessage::text(message);
        let sending = async {
            let sent = if flush { self.0.send(message).await } else { self.0.feed(message).await };
            sent.map_err(io::Error::other)
        };
        with_write_timeout(write_timeout, sending).await
    }

    async fn finish(&mut self) {
        // A failed close means that the peer is gone.
        let _gone = self.0.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8]) -> Vec<IncomingFrame> {
        let (mut lines, _) = LineTransport(bytes, Vec::new()).split();
        let mut frames = Vec::new();
        while let Some(frame) = lines.next().await {
            frames.push(frame);
        }
        frames
    }

    fn line(text: &str) -> IncomingFrame {
        IncomingFrame::Message(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn a_line_is_a_message_and_one_that_is_too_long_is_passed_over() {
        assert_eq!(read(b"").await, []);
        assert_eq!(read(b"a\n\nb").await, [line("a"), line(""), line("b")]);
        let long = [b"a\n".to_vec(), vec![b'x'; 3 * MAX_MESSAGE_BYTES], b"\nb\n".to_vec()].concat();
        assert_eq!(read(&long).await, [line("a"), IncomingFrame::TooLong, line("b")]);
        let torn = [b"a\n".to_vec(), vec![b'x'; MAX_MESSAGE_BYTES + 1]].concat();
        assert_eq!(read(&torn).await, [line("a"), IncomingFrame::TooLong]);
        let longest = [vec![b'x'; MAX_MESSAGE_BYTES], b"\nb\n".to_vec()].concat();
        assert_eq!(read(&longest).await, [IncomingFrame::Message(vec![b'x'; MAX_MESSAGE_BYTES]), line("b")]);
        let by_one = [vec![b'x'; MAX_MESSAGE_BYTES + 1], b"\nb\n".to_vec()].concat();
        assert_eq!(read(&by_one).await, [IncomingFrame::TooLong, line("b")]);
    }
}
