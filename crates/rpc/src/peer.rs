//! The program at the other end: it can be told things, and asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::connection::TakeBack;
use crate::fault::{Code, RpcFault};
use crate::message::{self, Id};
use crate::methods::{Method, read};
use crate::outbox::Outbox;

static PEERS: AtomicU64 = AtomicU64::new(1);

/// One connection, seen from our side. Clones are the same one.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
}

struct Shared {
    number: u64,
    outbox: Outbox,
    asked: Mutex<HashMap<i64, oneshot::Sender<Result<Value, RpcFault>>>>,
    next: AtomicI64,
    gone: CancellationToken,
    /// Nothing comes from there any more, so that nothing is answered.
    silent: AtomicBool,
    take_back: TakeBack,
}

impl Peer {
    pub(crate) fn new(take_back: TakeBack) -> Self {
        let shared = Shared {
            number: PEERS.fetch_add(1, Ordering::Relaxed),
            outbox: Outbox::default(),
            asked: Mutex::default(),
            next: AtomicI64::new(1),
            gone: CancellationToken::new(),
            silent: AtomicBool::new(false),
            take_back,
        };
        Self { shared: Arc::new(shared) }
    }

    /// A number that no other connection of this process has.
    pub fn number(&self) -> u64 {
        self.shared.number
    }

    /// Cancelled when the connection is gone.
    pub fn gone(&self) -> &CancellationToken {
        &self.shared.gone
    }

    /// Whether nothing comes from there any more, so that nobody can be asked. What is told may still be read.
    pub fn is_silent(&self) -> bool {
        self.shared.silent.load(Ordering::SeqCst)
    }

    /// Tells something, as soon as there is room; `params` are JSON already. `false` if nobody is there any more.
    pub async fn tell(&self, method: &str, params: &str) -> bool {
        self.shared.outbox.send(message::notification(method, params)).await
    }

    /// Tells something that may be left out, if there is room.
    pub fn mention(&self, method: &str, params: &Value) -> bool {
        self.shared.outbox.offer(message::notification(method, &params.to_string()))
    }

    /// Tells something at once, room or not, and in its place: only for what has a bound of its own, such as what a model says. `false` if
    /// nobody is there any more.
    pub fn say(&self, method: &str, params: &Value) -> bool {
        self.shared.outbox.push(message::notification(method, &params.to_string()))
    }

    /// Asks for something. Dropping the future takes the request back, and tells the other side so.
    ///
    /// # Errors
    /// What the other side says is wrong; that it is gone; that its answer is none.
    pub async fn ask<M: Method>(&self, params: &M::Params) -> Result<M::Result, RpcFault> {
        let params = serde_json::to_value(params).map_err(|error| Code::Internal.fault(error.to_string()))?;
        let answer = self.request(M::NAME, &params).await?;
        read(answer).map_err(|why| {
            Code::Peer.fault(format!("the client's answer to `{}` cannot be read{why}", M::NAME))
        })
    }

    /// The same for a method that is none of ours.
    ///
    /// # Errors
    /// What the other side says is wrong; that it is gone.
    pub async fn request(&self, method: &str, params: &Value) -> Result<Value, RpcFault> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.asked().insert(id, answer);
        let asking = Asking { peer: self, id, is_open: true };
        let left = || Code::Peer.fault("the client left before it answered");
        // Looked at after it is in the list, which is cleared after it is set: one of the two sees the other.
        if self.is_silent() {
            return Err(left());
        }
        if !self.shared.outbox.send(message::request(id, method, params)).await {
            return Err(left());
        }
        let answer = answered.await.map_err(|_| left());
        asking.close();
        answer?
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Result<Value, RpcFault>>>> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an answer; `false` if nobody waits for it.
    pub(crate) fn answered(&self, id: &Id, answer: Result<Value, RpcFault>) -> bool {
        let Id::Number(id) = id else { return false };
        let asked = self.asked().remove(id);
        asked.is_some_and(|asked| asked.send(answer).is_ok())
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.shared.outbox
    }

    /// Nothing comes from there any more: whoever asks gets no answer.
    pub(crate) fn falls_silent(&self) {
        self.shared.silent.store(true, Ordering::SeqCst);
    }

    /// Nor does whoever waits for one.
    pub(crate) fn forget_asked(&self) {
        self.asked().clear();
    }

    /// Whoever waits for an answer gets none any more.
    pub(crate) fn leave(&self) {
        self.shared.gone.cancel();
        self.shared.outbox.close();
        self.forget_asked();
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("number", &self.shared.number).finish_non_exhaustive()
    }
}

/// A request of ours that is not answered.
struct Asking<'a> {
    peer: &'a Peer,
    id: i64,
    is_open: bool,
}

impl Asking<'_> {
    fn close(mut self) {
        self.is_open = false;
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.peer.asked().remove(&self.id);
        if self.is_open {
            let TakeBack { method, id } = self.peer.shared.take_back;
            self.peer.mention(method, &serde_json::json!({ id: self.id }));
        }
    }
}
