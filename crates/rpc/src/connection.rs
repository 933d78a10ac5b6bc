//! Serves one JSON-RPC connection: bounded reads, a task per pending request, ordered writes, and a write timeout.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fault::{RpcErrorCode, RpcFault};
use crate::message::{InvalidMessage, MAX_MESSAGE_BYTES, RequestId, RpcMessage, encode_response};
use crate::peer::Peer;
use crate::transport::{DisconnectProbe, FrameRead, FrameWrite, IncomingFrame, MessageTransport};

/// Limits of one connection.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Maximum number of concurrent requests.
    pub max_requests: usize,
    /// A write that stalls for this long closes the connection.
    pub write_timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { max_requests: 256, write_timeout: Duration::from_secs(30) }
    }
}

/// A request, with the peer that sent it.
#[derive(Debug)]
pub struct IncomingRequest {
    /// The peer that sent the request.
    pub peer: Peer,
    /// The method name.
    pub method: String,
    /// The parameters, an object.
    pub params: Value,
    /// Cancelled when the peer cancels the request. The host decides whether the request outlives its connection.
    pub cancel: CancellationToken,
}

/// Answers the requests of a connection.
pub trait RpcHost: Send + Sync + 'static {
    /// Answers one request. The future is polled once before the next message is read, so requests start in order.
    fn answer(self: Arc<Self>, request: IncomingRequest) -> BoxFuture<'static, Result<Value, RpcFault>>;

    /// Handles a notification other than a cancellation. Unknown notifications are ignored, as the protocol requires.
    fn on_notification(&self, _peer: &Peer, _method: &str, _params: Value) {}

    /// Returns the notification by which either side cancels a request.
    fn cancel_notification(&self) -> CancelNotification {
        CancelNotification::default()
    }

    /// Handles the half-close of the peer; its pending requests are still answered.
    fn on_half_close(&self, _peer: &Peer) {}

    /// Handles the end of a connection.
    fn on_disconnect(&self, _peer: &Peer) {}
}

/// The notification that cancels a request.
#[derive(Debug, Clone, Copy)]
pub struct CancelNotification {
    /// The method name.
    pub method: &'static str,
    /// The name of the parameter with the request id.
    pub id_param: &'static str,
}

impl Default for CancelNotification {
    fn default() -> Self {
        Self { method: "$/cancel", id_param: "id" }
    }
}

/// Serves one connection until either side closes it.
pub async fn serve_connection(
    host: Arc<dyn RpcHost>,
    mut frames: impl MessageTransport,
    limits: ConnectionLimits,
) {
    let probe = frames.probe();
    let (mut read, mut write) = frames.split();
    let peer = Peer::new(host.cancel_notification());
    let writing = write_messages(&peer, &mut write, limits.write_timeout);
    let dispatcher =
        MessageDispatcher { host: Arc::clone(&host), peer: peer.clone(), limits, open: Arc::default() };
    let reading = async {
        // ends: with the connection
        loop {
            match read.next().await {
                Some(IncomingFrame::Message(bytes)) => dispatcher.dispatch_message(&bytes).await,
                Some(IncomingFrame::TooLong) => {
                    let why =
                        format!("a message has at most {MAX_MESSAGE_BYTES} bytes; this one was not read");
                    dispatcher.respond(None, Err(RpcErrorCode::Request.fault(why))).await;
                }
                None => break,
            }
        }
        // A client that half-closed the connection still gets its answers. Our own requests to it cannot be answered
        // any more.
        peer.mark_half_closed();
        dispatcher.host.on_half_close(&peer);
        // The host is informed before our pending requests fail.
        peer.drop_pending();
        tokio::select! {
            () = dispatcher.wait_until_settled() => {}
            () = wait_for_disconnect(probe) => {}
        }
    };
    tokio::pin!(writing);
    tokio::select! {
        () = &mut writing => {}
        () = reading => {
            // Remaining answers are still written. The current writer finishes them, because it may have written half a
            // message.
            peer.outbox().close();
            let _stalled = tokio::time::timeout(limits.write_timeout.min(FINAL_WRITE_TIMEOUT), writing).await;
        }
    }
    dispatcher.close();
    host.on_disconnect(&peer);
}

/// Writes the messages of the outbox until the connection is closed, or a write fails or stalls.
async fn write_messages(peer: &Peer, write: &mut impl FrameWrite, write_timeout: Duration) {
    // ends: when the connection is closed, or a write fails or stalls
    while let Some(message) = peer.outbox().next().await {
        let flush = peer.outbox().is_empty();
        match write.send(message, flush, write_timeout).await {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                tracing::warn!("a client does not read what it is sent; its connection is closed");
                return;
            }
            Err(_) => return,
        }
    }
    write.finish().await;
}

/// Polling interval of the probe for a half-closed peer.
const PROBE_INTERVAL: Duration = Duration::from_millis(50);

/// Resolves when the peer has disconnected completely; never without a probe.
async fn wait_for_disconnect(probe: Option<DisconnectProbe>) {
    let Some(probe) = probe else { return std::future::pending().await };
    // ends: when the peer disconnects
    while !probe() {
        tokio::time::sleep(PROBE_INTERVAL).await;
    }
}

/// Time limit for the last messages.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Parses and dispatches the messages of one connection.
struct MessageDispatcher {
    host: Arc<dyn RpcHost>,
    peer: Peer,
    limits: ConnectionLimits,
    open: Arc<OpenRequests>,
}

/// The requests that are not answered yet.
#[derive(Default)]
struct OpenRequests {
    requests: Mutex<HashMap<RequestId, CancellationToken>>,
    /// Answers that are not queued yet. An id is freed before its answer is queued, because the client may reuse it
    /// once it has read the answer.
    unqueued_answers: AtomicUsize,
    request_finished: tokio::sync::Notify,
}

impl OpenRequests {
    fn remove(&self, id: &RequestId) {
        self.requests.lock().remove(id);
        self.request_finished.notify_waiters();
    }

    /// Records that one more answer is queued.
    fn answer_queued(&self) {
        self.unqueued_answers.fetch_sub(1, Ordering::SeqCst);
        self.request_finished.notify_waiters();
    }

    fn is_settled(&self) -> bool {
        self.requests.lock().is_empty() && self.unqueued_answers.load(Ordering::SeqCst) == 0
    }
}

impl MessageDispatcher {
    async fn dispatch_message(&self, bytes: &[u8]) {
        match RpcMessage::parse(bytes) {
            None => {}
            Some(Ok(RpcMessage::Request { id, method, params })) => {
                self.handle_request(id, method, params).await;
            }
            Some(Ok(RpcMessage::Notification { method, params })) => {
                self.handle_notification(&method, params);
            }
            Some(Ok(RpcMessage::Response { id, answer })) => {
                // Late and duplicate answers are ignored.
                let _nobody_waits = self.peer.complete_request(&id, answer);
            }
            Some(Err(InvalidMessage { id, fault })) => self.respond(id.as_ref(), Err(fault)).await,
        }
    }

    async fn handle_request(&self, id: RequestId, method: String, params: Value) {
        let cancel = CancellationToken::new();
        let fault = {
            let mut open = self.open.requests.lock();
            if open.contains_key(&id) {
                Some(RpcErrorCode::Request.fault("a request with this id is under way"))
            } else if open.len() >= self.limits.max_requests {
                let most = self.limits.max_requests;
                Some(RpcErrorCode::Limit.fault(format!("{most} requests are under way; wait for an answer")))
            } else {
                open.insert(id.clone(), cancel.clone());
                None
            }
        };
        if let Some(fault) = fault {
            return self.respond(Some(&id), Err(fault)).await;
        }
        let request = IncomingRequest { peer: self.peer.clone(), method, params, cancel };
        let mut answering = AssertUnwindSafe(Arc::clone(&self.host).answer(request)).catch_unwind().boxed();
        match poll_once(&mut answering) {
            Poll::Ready(answer) => {
                self.open.remove(&id);
                self.respond(Some(&id), or_internal_error(answer)).await;
            }
            Poll::Pending => {
                let (peer, open) = (self.peer.clone(), Arc::clone(&self.open));
                open.unqueued_answers.fetch_add(1, Ordering::SeqCst);
                #[expect(
                    clippy::disallowed_methods,
                    reason = "no call of a tool: a request, which ends with its connection"
                )]
                tokio::spawn(async move {
                    let answer = or_internal_error(answering.await);
                    open.remove(&id);
                    peer.outbox().send(encode_response(Some(&id), &answer)).await;
                    open.answer_queued();
                });
            }
        }
    }

    /// Handles a notification.
    fn handle_notification(&self, method: &str, params: Value) {
        let CancelNotification { method: cancel_method, id_param: id } = self.host.cancel_notification();
        if method != cancel_method {
            let handle = || self.host.on_notification(&self.peer, method, params);
            if std::panic::catch_unwind(AssertUnwindSafe(handle)).is_err() {
                tracing::error!(method, "the notification handler panicked; the connection continues");
            }
            return;
        }
        let id = match &params[id] {
            Value::String(text) => RequestId::Text(text.clone()),
            number => RequestId::Number(number.as_i64().unwrap_or(-1)),
        };
        if let Some(cancel) = self.open.requests.lock().get(&id) {
            cancel.cancel();
        }
    }

    async fn respond(&self, id: Option<&RequestId>, answer: Result<Value, RpcFault>) {
        self.peer.outbox().send(encode_response(id, &answer)).await;
    }

    /// Waits until every request is answered.
    async fn wait_until_settled(&self) {
        // ends: no more requests arrive, and each of them ends
        loop {
            let fewer = self.open.request_finished.notified();
            tokio::pin!(fewer);
            fewer.as_mut().enable();
            if self.open.is_settled() {
                return;
            }
            fewer.await;
        }
    }

    fn close(&self) {
        self.peer.disconnect();
        self.open.requests.lock().clear();
    }
}

/// The future of an answer, with panics caught.
type AnswerFuture = BoxFuture<'static, std::thread::Result<Result<Value, RpcFault>>>;

/// Polls the future once, in the reading task. Most requests finish at once, and the others start in order. The no-op
/// waker is harmless, because the spawned task polls the future again.
fn poll_once(answering: &mut AnswerFuture) -> Poll<std::thread::Result<Result<Value, RpcFault>>> {
    answering.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn or_internal_error(answer: std::thread::Result<Result<Value, RpcFault>>) -> Result<Value, RpcFault> {
    answer.unwrap_or_else(|_| {
        Err(RpcErrorCode::Internal
            .fault("the server panicked on this request; the connection continues")
            .with_data(json!({})))
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::transport::LineTransport;

    /// A host that sends a request of its own before it answers, and records its notifications.
    #[derive(Default)]
    struct AskingHost(Mutex<Vec<String>>);

    impl RpcHost for AskingHost {
        fn answer(self: Arc<Self>, asked: IncomingRequest) -> BoxFuture<'static, Result<Value, RpcFault>> {
            Box::pin(async move {
                let nothing = json!({});
                tokio::select! {
                    biased;
                    () = asked.cancel.cancelled() => Ok(json!("taken back")),
                    answer = asked.peer.request("why", &nothing) => answer,
                }
            })
        }

        fn on_notification(&self, _: &Peer, method: &str, params: Value) {
            self.0.lock().push(format!("{method} {params}"));
        }

        fn cancel_notification(&self) -> CancelNotification {
            CancelNotification { method: "$/undo", id_param: "which" }
        }

        fn on_half_close(&self, peer: &Peer) {
            self.0.lock().push(format!("silent {}", peer.is_half_closed()));
        }
    }

    /// Sends these lines as a client that then half-closes the connection and reads in small pieces. Returns the lines
    /// of the host, and the notifications that it recorded.
    async fn exchange_lines(lines: &str) -> (Vec<String>, Vec<String>) {
        let (host, (ours, theirs)) = (Arc::<AskingHost>::default(), tokio::io::duplex(16));
        let (read, write) = tokio::io::split(theirs);
        let serving = serve_connection(
            Arc::clone(&host) as Arc<dyn RpcHost>,
            LineTransport(read, write),
            ConnectionLimits::default(),
        );
        let asking = async {
            let (mut from, mut to) = tokio::io::split(ours);
            to.write_all(lines.as_bytes()).await.unwrap();
            to.shutdown().await.unwrap();
            // The host has sent all that it can by then.
            for _ in 0..64 {
                tokio::task::yield_now().await;
            }
            let mut text = String::new();
            from.read_to_string(&mut text).await.unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let ((), said) = tokio::join!(serving, asking);
        said.iter()
            .for_each(|line| assert!(serde_json::from_str::<Value>(line).is_ok(), "no message: {line}"));
        let told = host.0.lock().clone();
        (said, told)
    }

    #[tokio::test]
    async fn half_closed_client_is_still_answered_but_cannot_be_asked() {
        let (said, told) = exchange_lines("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":null}\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\"}\n").await;
        let answer: Value = serde_json::from_str(said.last().unwrap()).unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(RpcErrorCode::Peer.number()))
        );
        assert_eq!(told, ["x {}", "silent true"]);
    }

    #[tokio::test]
    async fn a_request_is_taken_back_as_the_host_says() {
        let (said, _) = exchange_lines("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"$/undo\",\"params\":{\"which\":7}}\n").await;
        assert!(said.contains(&r#"{"id":7,"jsonrpc":"2.0","result":"taken back"}"#.to_owned()), "{said:?}");
        assert!(
            said.iter().any(|line| line.contains(r#""method":"$/undo""#) && line.contains("which")),
            "{said:?}"
        );
    }

    #[tokio::test]
    async fn client_that_does_not_read_is_disconnected() {
        let (ours, theirs) = tokio::io::duplex(16);
        let (read, write) = tokio::io::split(theirs);
        let host = Arc::<AskingHost>::default();
        let limits =
            ConnectionLimits { write_timeout: Duration::from_millis(50), ..ConnectionLimits::default() };
        let serving =
            serve_connection(Arc::clone(&host) as Arc<dyn RpcHost>, LineTransport(read, write), limits);
        let (_unread, mut to) = tokio::io::split(ours);
        let asking = async {
            // Sends more requests than it reads; the connection stays open.
            for id in 0..3 {
                let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"a\"}}\n");
                let _cut_off = to.write_all(line.as_bytes()).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = serving => {}
            () = asking => {}
            () = tokio::time::sleep(Duration::from_secs(30)) => panic!("it waits for ever"),
        }
    }
}
