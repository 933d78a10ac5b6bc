//! The program at the other end of a connection, to which we send notifications and requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::connection::CancelNotification;
use crate::fault::{RpcErrorCode, RpcFault};
use crate::message::{self, RequestId};
use crate::methods::{RpcMethod, parse_value};
use crate::outbox::Outbox;

static NEXT_PEER_NUMBER: AtomicU64 = AtomicU64::new(1);

/// The remote side of one connection. Clones share the connection.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<PeerState>,
}

/// State that all clones of a peer share.
struct PeerState {
    number: u64,
    outbox: Outbox,
    pending_requests: Mutex<HashMap<i64, oneshot::Sender<Result<Value, RpcFault>>>>,
    next_id: AtomicI64,
    disconnected: CancellationToken,
    /// Set when the peer has half-closed the connection, so it answers no requests.
    half_closed: AtomicBool,
    cancel_notification: CancelNotification,
}

impl Peer {
    pub(crate) fn new(cancel_notification: CancelNotification) -> Self {
        let shared = PeerState {
            number: NEXT_PEER_NUMBER.fetch_add(1, Ordering::Relaxed),
            outbox: Outbox::default(),
            pending_requests: Mutex::default(),
            next_id: AtomicI64::new(1),
            disconnected: CancellationToken::new(),
            half_closed: AtomicBool::new(false),
            cancel_notification,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns a number that is unique among the connections of this process.
    pub fn number(&self) -> u64 {
        self.shared.number
    }

    /// Returns a token that is cancelled when the connection ends.
    pub fn disconnected(&self) -> &CancellationToken {
        &self.shared.disconnected
    }

    /// Returns whether the peer has half-closed the connection, so it answers no requests. It may still read
    /// notifications.
    pub fn is_half_closed(&self) -> bool {
        self.shared.half_closed.load(Ordering::SeqCst)
    }

    /// Sends a notification as soon as the outbox has room; `params` is JSON text. Returns `false` if the connection is
    /// closed.
    pub async fn notify(&self, method: &str, params: &str) -> bool {
        self.shared.outbox.send(message::encode_notification(method, params)).await
    }

    /// Sends an optional notification if the outbox has room.
    pub fn try_notify(&self, method: &str, params: &Value) -> bool {
        self.shared.outbox.try_send(message::encode_notification(method, &params.to_string()))
    }

    /// Sends a notification at once, in order, regardless of the outbox limit. Only for data that is bounded elsewhere,
    /// such as the output of a model. Returns `false` if the connection is closed.
    pub fn notify_unbounded(&self, method: &str, params: &Value) -> bool {
        self.shared.outbox.send_unbounded(message::encode_notification(method, &params.to_string()))
    }

    /// Sends a request and waits for its result. Dropping the future cancels the request and notifies the peer.
    ///
    /// # Errors
    /// If the peer returns an error, disconnects, or returns an invalid result.
    pub async fn call<M: RpcMethod>(&self, params: &M::Params) -> Result<M::Result, RpcFault> {
        let params =
            serde_json::to_value(params).map_err(|error| RpcErrorCode::Internal.fault(error.to_string()))?;
        let answer = self.request(M::NAME, &params).await?;
        parse_value(answer).map_err(|why| {
            RpcErrorCode::Peer.fault(format!("the client's answer to `{}` cannot be read{why}", M::NAME))
        })
    }

    /// Sends a request for a method that is not in the catalogue.
    ///
    /// # Errors
    /// If the peer returns an error or disconnects.
    pub async fn request(&self, method: &str, params: &Value) -> Result<Value, RpcFault> {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.shared.pending_requests.lock().insert(id, answer);
        let guard = PendingRequestGuard { peer: self, id, is_open: true };
        let left = || RpcErrorCode::Peer.fault("the client left before it answered");
        // The flag is set before the list is cleared. A request that enters the list is therefore cleared, or sees the
        // flag here.
        if self.is_half_closed() {
            return Err(left());
        }
        if !self.shared.outbox.send(message::encode_request(id, method, params)).await {
            return Err(left());
        }
        let answer = answered.await.map_err(|_| left());
        guard.close();
        answer?
    }

    /// Delivers an answer; returns `false` if no request waits for it.
    pub(crate) fn complete_request(&self, id: &RequestId, answer: Result<Value, RpcFault>) -> bool {
        let RequestId::Number(id) = id else { return false };
        let asked = self.shared.pending_requests.lock().remove(id);
        asked.is_some_and(|asked| asked.send(answer).is_ok())
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.shared.outbox
    }

    /// Marks the peer as half-closed: later requests fail at once.
    pub(crate) fn mark_half_closed(&self) {
        self.shared.half_closed.store(true, Ordering::SeqCst);
    }

    /// Fails all pending requests.
    pub(crate) fn drop_pending(&self) {
        self.shared.pending_requests.lock().clear();
    }

    /// Closes the connection and fails all pending requests.
    pub(crate) fn disconnect(&self) {
        self.shared.disconnected.cancel();
        self.shared.outbox.close();
        self.drop_pending();
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("number", &self.shared.number).finish_non_exhaustive()
    }
}

/// A pending request; dropping it while open cancels the request.
struct PendingRequestGuard<'a> {
    peer: &'a Peer,
    id: i64,
    is_open: bool,
}

impl PendingRequestGuard<'_> {
    fn close(mut self) {
        self.is_open = false;
    }
}

impl Drop for PendingRequestGuard<'_> {
    fn drop(&mut self) {
        self.peer.shared.pending_requests.lock().remove(&self.id);
        if self.is_open {
            let CancelNotification { method, id_param: id } = self.peer.shared.cancel_notification;
            self.peer.try_notify(method, &serde_json::json!({ id: self.id }));
        }
    }
}
