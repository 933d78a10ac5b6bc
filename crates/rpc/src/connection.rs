//! One connection: read within bounds, answered in tasks, written in order, given up when nobody reads.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fault::{Code, RpcFault};
use crate::frames::{Frame, FrameRead, FrameWrite, Frames, Probe};
use crate::message::{Id, MAX_MESSAGE, Message, Misread, response};
use crate::peer::Peer;

/// How much one connection may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests that are under way at a time.
    pub requests: usize,
    /// How long a message may wait for the other side to read it before the connection is given up.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { requests: 256, stalled: Duration::from_secs(30) }
    }
}

/// A request, and who made it.
#[derive(Debug)]
pub struct Asked {
    /// Who made it.
    pub peer: Peer,
    /// What is wanted.
    pub method: String,
    /// With what: an object.
    pub params: Value,
    /// Cancelled when it is taken back. Whether it goes on without its connection is for the host to say.
    pub cancel: CancellationToken,
}

/// Answers requests.
pub trait Host: Send + Sync + 'static {
    /// Answers one. Its first step is taken before the next message is read, so what has an order keeps it.
    fn answer(self: Arc<Self>, asked: Asked) -> BoxFuture<'static, Result<Value, RpcFault>>;

    /// Hears what wants no answer, but for what takes a request back. What is not known is passed over, as the protocol says.
    fn told(&self, _peer: &Peer, _method: &str, _params: Value) {}

    /// How either side takes a request back.
    fn take_back(&self) -> TakeBack {
        TakeBack::default()
    }

    /// The other side says nothing more; what it asked is still answered.
    fn silent(&self, _peer: &Peer) {}

    /// A connection is gone.
    fn left(&self, _peer: &Peer) {}
}

/// The notification that takes a request back.
#[derive(Debug, Clone, Copy)]
pub struct TakeBack {
    /// What it is called.
    pub method: &'static str,
    /// The parameter with the id of the request.
    pub id: &'static str,
}

impl Default for TakeBack {
    fn default() -> Self {
        Self { method: "$/cancel", id: "id" }
    }
}

/// Serves one connection until it is closed, by either side.
pub async fn serve(host: Arc<dyn Host>, mut frames: impl Frames, limits: Limits) {
    let probe = frames.probe();
    let (mut read, mut write) = frames.split();
    let peer = Peer::new(host.take_back());
    let writing = async {
        // ends: when the connection is closed, or nobody reads
        while let Some(message) = peer.outbox().next().await {
            let flush = peer.outbox().is_empty();
            match write.send(message, flush, limits.stalled).await {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                    tracing::warn!("a client does not read what it is sent; its connection is closed");
                    return;
                }
                Err(_) => return,
            }
        }
        write.finish().await;
    };
    let desk = Desk { host: Arc::clone(&host), peer: peer.clone(), limits, open: Arc::default() };
    let reading = async {
        // ends: with the connection
        loop {
            match read.next().await {
                Some(Frame::Message(bytes)) => desk.take(&bytes).await,
                Some(Frame::TooLong) => {
                    let why = format!("a message has at most {MAX_MESSAGE} bytes; this one was not read");
                    desk.respond(None, Err(Code::Request.fault(why))).await;
                }
                None => break,
            }
        }
        // What was asked before the end is still answered, for whoever only closes their half. What they were asked is not.
        peer.falls_silent();
        desk.host.silent(&peer);
        // After the host knows why.
        peer.forget_asked();
        tokio::select! {
            () = desk.settled() => {}
            () = gone(probe) => {}
        }
    };
    tokio::pin!(writing);
    tokio::select! {
        () = &mut writing => {}
        () = reading => {
            // What is answered is still written, if somebody reads it, and by whoever has begun to: half a message may be out already.
            peer.outbox().close();
            let _stalled = tokio::time::timeout(limits.stalled.min(LAST_WORDS), writing).await;
        }
    }
    desk.close();
    host.left(&peer);
}

/// How often is looked whether somebody who is silent has left.
const LOOK: Duration = Duration::from_millis(50);

/// Resolves when the other side is gone altogether, if somebody can tell.
async fn gone(probe: Option<Probe>) {
    let Some(probe) = probe else { return std::future::pending().await };
    // ends: with the other side
    while !probe() {
        tokio::time::sleep(LOOK).await;
    }
}

/// How long the last messages may take.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Takes messages.
struct Desk {
    host: Arc<dyn Host>,
    peer: Peer,
    limits: Limits,
    open: Arc<Open>,
}

/// Requests that are under way.
#[derive(Default)]
struct Open {
    requests: Mutex<HashMap<Id, CancellationToken>>,
    /// Answers that are not on their way yet. An id is free before its answer is read: whoever reads it may use it again.
    unsaid: AtomicUsize,
    fewer: tokio::sync::Notify,
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, id: &Id) {
        self.lock().remove(id);
        self.fewer.notify_waiters();
    }

    /// One more answer is on its way.
    fn said(&self) {
        self.unsaid.fetch_sub(1, Ordering::SeqCst);
        self.fewer.notify_waiters();
    }

    fn is_settled(&self) -> bool {
        self.lock().is_empty() && self.unsaid.load(Ordering::SeqCst) == 0
    }
}

impl Desk {
    async fn take(&self, bytes: &[u8]) {
        match Message::read(bytes) {
            None => {}
            Some(Ok(Message::Request { id, method, params })) => self.request(id, method, params).await,
            Some(Ok(Message::Notification { method, params })) => self.told(&method, params),
            Some(Ok(Message::Response { id, answer })) => {
                // Whoever answers late, or twice, is not waited for.
                let _nobody_waits = self.peer.answered(&id, answer);
            }
            Some(Err(Misread { id, fault })) => self.respond(id.as_ref(), Err(fault)).await,
        }
    }

    async fn request(&self, id: Id, method: String, params: Value) {
        let cancel = CancellationToken::new();
        let fault = {
            let mut open = self.open.lock();
            if open.contains_key(&id) {
                Some(Code::Request.fault("a request with this id is under way"))
            } else if open.len() >= self.limits.requests {
                let most = self.limits.requests;
                Some(Code::Limit.fault(format!("{most} requests are under way; wait for an answer")))
            } else {
                open.insert(id.clone(), cancel.clone());
                None
            }
        };
        if let Some(fault) = fault {
            return self.respond(Some(&id), Err(fault)).await;
        }
        let asked = Asked { peer: self.peer.clone(), method, params, cancel };
        let mut answering = AssertUnwindSafe(Arc::clone(&self.host).answer(asked)).catch_unwind().boxed();
        match first_step(&mut answering) {
            Poll::Ready(answer) => {
                self.open.remove(&id);
                self.respond(Some(&id), caught(answer)).await;
            }
            Poll::Pending => {
                let (peer, open) = (self.peer.clone(), Arc::clone(&self.open));
                open.unsaid.fetch_add(1, Ordering::SeqCst);
                #[expect(
                    clippy::disallowed_methods,
                    reason = "no call of a tool: a request, which ends with its connection"
                )]
                tokio::spawn(async move {
                    let answer = caught(answering.await);
                    open.remove(&id);
                    peer.outbox().send(response(Some(&id), &answer)).await;
                    open.said();
                });
            }
        }
    }

    /// Something that wants no answer.
    fn told(&self, method: &str, params: Value) {
        let TakeBack { method: take_back, id } = self.host.take_back();
        if method != take_back {
            let told = || self.host.told(&self.peer, method, params);
            if std::panic::catch_unwind(AssertUnwindSafe(told)).is_err() {
                tracing::error!(method, "the host stumbled over what it was told; its other work goes on");
            }
            return;
        }
        let id = match &params[id] {
            Value::String(text) => Id::Text(text.clone()),
            number => Id::Number(number.as_i64().unwrap_or(-1)),
        };
        if let Some(cancel) = self.open.lock().get(&id) {
            cancel.cancel();
        }
    }

    async fn respond(&self, id: Option<&Id>, answer: Result<Value, RpcFault>) {
        self.peer.outbox().send(response(id, &answer)).await;
    }

    /// Waits until every request is answered.
    async fn settled(&self) {
        // ends: no request comes any more, and each of them ends
        loop {
            let fewer = self.open.fewer.notified();
            tokio::pin!(fewer);
            fewer.as_mut().enable();
            if self.open.is_settled() {
                return;
            }
            fewer.await;
        }
    }

    fn close(&self) {
        self.peer.leave();
        self.open.lock().clear();
    }
}

type Answering = BoxFuture<'static, std::thread::Result<Result<Value, RpcFault>>>;

/// Taken here and now: most requests need no other, and those that have an order keep it. Whoever was told to wake nobody is told anew.
fn first_step(answering: &mut Answering) -> Poll<std::thread::Result<Result<Value, RpcFault>>> {
    answering.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn caught(answer: std::thread::Result<Result<Value, RpcFault>>) -> Result<Value, RpcFault> {
    answer.unwrap_or_else(|_| {
        Err(Code::Internal
            .fault("the server stumbled over this request; its other work goes on")
            .with(json!({})))
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::frames::Lines;

    /// Asks back before it answers, and writes down what it is told.
    #[derive(Default)]
    struct Curious(Mutex<Vec<String>>);

    impl Host for Curious {
        fn answer(self: Arc<Self>, asked: Asked) -> BoxFuture<'static, Result<Value, RpcFault>> {
            Box::pin(async move {
                let nothing = json!({});
                tokio::select! {
                    biased;
                    () = asked.cancel.cancelled() => Ok(json!("taken back")),
                    answer = asked.peer.request("why", &nothing) => answer,
                }
            })
        }

        fn told(&self, _: &Peer, method: &str, params: Value) {
            self.0.lock().unwrap().push(format!("{method} {params}"));
        }

        fn take_back(&self) -> TakeBack {
            TakeBack { method: "$/undo", id: "which" }
        }

        fn silent(&self, peer: &Peer) {
            self.0.lock().unwrap().push(format!("silent {}", peer.is_silent()));
        }
    }

    /// What a host says to these lines, of somebody who closes their half after them, and reads a few letters at a time.
    async fn said(lines: &str) -> (Vec<String>, Vec<String>) {
        let (host, (ours, theirs)) = (Arc::<Curious>::default(), tokio::io::duplex(16));
        let (read, write) = tokio::io::split(theirs);
        let serving = serve(Arc::clone(&host) as Arc<dyn Host>, Lines(read, write), Limits::default());
        let asking = async {
            let (mut from, mut to) = tokio::io::split(ours);
            to.write_all(lines.as_bytes()).await.unwrap();
            to.shutdown().await.unwrap();
            // The host has said all that it can by then.
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
        let told = host.0.lock().unwrap().clone();
        (said, told)
    }

    #[tokio::test]
    async fn whoever_falls_silent_is_asked_in_vain_and_still_answered() {
        let (said, told) = said("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":null}\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\"}\n").await;
        let answer: Value = serde_json::from_str(said.last().unwrap()).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(Code::Peer.number())));
        assert_eq!(told, ["x {}", "silent true"]);
    }

    #[tokio::test]
    async fn a_request_is_taken_back_as_the_host_says() {
        let (said, _) = said("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"$/undo\",\"params\":{\"which\":7}}\n").await;
        assert!(said.contains(&r#"{"id":7,"jsonrpc":"2.0","result":"taken back"}"#.to_owned()), "{said:?}");
        assert!(
            said.iter().any(|line| line.contains(r#""method":"$/undo""#) && line.contains("which")),
            "{said:?}"
        );
    }

    #[tokio::test]
    async fn whoever_does_not_read_is_cut_off() {
        let (ours, theirs) = tokio::io::duplex(16);
        let (read, write) = tokio::io::split(theirs);
        let host = Arc::<Curious>::default();
        let limits = Limits { stalled: Duration::from_millis(50), ..Limits::default() };
        let serving = serve(Arc::clone(&host) as Arc<dyn Host>, Lines(read, write), limits);
        let (_unread, mut to) = tokio::io::split(ours);
        let asking = async {
            // More questions than are read; the connection stays open.
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
