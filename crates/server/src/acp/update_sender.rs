//! Sends the `session/update` notifications of one session to the editor.

use rpc::Peer;
use serde_json::{Value, json};

use super::protocol::SessionUpdate;

const UPDATE_METHOD: &str = "session/update";

/// Sends the updates of one session.
#[derive(Clone)]
pub(super) struct UpdateSender {
    pub(super) peer: Peer,
    pub(super) session: String,
}

impl UpdateSender {
    fn params(&self, update: &SessionUpdate) -> Value {
        json!({ "sessionId": self.session, "update": update })
    }

    /// Enqueues a mandatory update, in order and without backpressure. Updates accumulate for an editor that
    /// does not read, until the connection is closed. The text of a model until then is bounded.
    pub(super) fn enqueue(&self, update: &SessionUpdate) {
        let _left = self.peer.notify_unbounded(UPDATE_METHOD, &self.params(update));
    }

    /// Sends an optional update, and drops it if the outbox is full.
    pub(super) fn try_send(&self, update: &SessionUpdate) {
        let _left_out = self.peer.try_notify(UPDATE_METHOD, &self.params(update));
    }

    /// Sends a possibly long update and waits for room in the outbox.
    pub(super) async fn send(&self, update: &SessionUpdate) {
        let _left = self.peer.notify(UPDATE_METHOD, &self.params(update).to_string()).await;
    }
}
