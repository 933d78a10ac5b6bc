//! Sends transient progress of a session to its clients; slow readers miss it.

use std::sync::Arc;
use std::time::Duration;

use agent::{SessionEvent, SessionObserver};
use rpc::protocol::{SessionDeltaParams, SessionProgress};
use runtime::{CallEvent, CallId, CallObserver, OutputStream, ToolNotice};
use serde_json::json;

use super::subscribers::Subscribers;
use session::LastMessage;

/// Sends the deltas of one session to its followers.
pub(super) struct DeltaSender {
    pub(super) session: String,
    pub(super) subscribers: Arc<Subscribers>,
    last_message: LastMessage,
}

impl DeltaSender {
    pub(super) fn new(session: &str, subscribers: &Arc<Subscribers>) -> Self {
        Self {
            session: session.to_owned(),
            subscribers: Arc::clone(subscribers),
            last_message: LastMessage::default(),
        }
    }

    /// Returns the last message of the model.
    pub(super) fn last_message(&self) -> String {
        self.last_message.text()
    }

    fn send(&self, happening: SessionProgress) {
        let followers = self.subscribers.connected_peers();
        if followers.is_empty() {
            return;
        }
        let delta = json!(SessionDeltaParams { session_id: self.session.clone(), happening });
        for peer in followers {
            // A slow reader gets the result with the event, at the end.
            let _left_out = peer.try_notify("session/delta", &delta);
        }
    }
}

impl SessionObserver for DeltaSender {
    fn on_session_event(&self, seen: SessionEvent<'_>) {
        self.last_message.on_session_event(seen);
        match seen {
            SessionEvent::RequestSent { round, bytes } => {
                self.send(SessionProgress::Request { number: round, bytes });
            }
            SessionEvent::Text(text) => self.send(SessionProgress::Text { text: text.to_owned() }),
            SessionEvent::Thought(text) => self.send(SessionProgress::Thought { text: text.to_owned() }),
            SessionEvent::Retried { why, pause } => {
                self.send(SessionProgress::Retry { why: why.to_owned(), pause_ms: millis(pause) });
            }
            // Sent as events.
            SessionEvent::Called(_)
            | SessionEvent::ProviderToolRan { .. }
            | SessionEvent::Answered(..)
            | SessionEvent::Responded { .. }
            | SessionEvent::Compacted { .. }
            | SessionEvent::FilesChanged(_)
            | SessionEvent::Notice(_) => {}
        }
    }
}

impl CallObserver for DeltaSender {
    fn on_event(&self, call: &CallId, event: &CallEvent) {
        let call_id = || call.as_str().to_owned();
        match event {
            CallEvent::Started => self.send(SessionProgress::Running { call_id: call_id() }),
            CallEvent::Notice(ToolNotice::Output { stream, text }) => {
                let stream = match stream {
                    OutputStream::Stdout => "stdout",
                    OutputStream::Stderr => "stderr",
                    OutputStream::Terminal => "terminal",
                };
                let (stream, text) = (stream.to_owned(), text.clone());
                self.send(SessionProgress::Output { call_id: call_id(), stream, text });
            }
            _ => {}
        }
    }

    fn wants_output(&self) -> bool {
        !self.subscribers.connected_peers().is_empty()
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
