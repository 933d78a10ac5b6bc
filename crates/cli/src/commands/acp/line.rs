//! The way to the editor, for one session.

use rpc::Peer;
use serde_json::{Value, json};

use super::protocol::Update;

const UPDATE: &str = "session/update";

/// Tells an editor what happens in one session.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) peer: Peer,
    pub(super) session: String,
}

impl Line {
    fn params(&self, update: &Update) -> Value {
        json!({ "sessionId": self.session, "update": update })
    }

    /// Tells what has to be told, in its place. It piles up for an editor that does not read, until the connection is given up: what a
    /// model says until then has a bound.
    pub(super) fn tell(&self, update: &Update) {
        let _left = self.peer.say(UPDATE, &self.params(update));
    }

    /// Tells what may be left out.
    pub(super) fn mention(&self, update: &Update) {
        let _left_out = self.peer.mention(UPDATE, &self.params(update));
    }

    /// Tells what may be long, as fast as the editor reads.
    pub(super) async fn send(&self, update: &Update) {
        let _left = self.peer.tell(UPDATE, &self.params(update).to_string()).await;
    }
}
