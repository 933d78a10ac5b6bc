//! Keeps the last message of a model.

use agent::{SessionEvent, SessionObserver};
use parking_lot::Mutex;

/// The text of the current or last response.
#[derive(Default)]
pub struct LastMessage(Mutex<String>);

impl LastMessage {
    /// Returns the text.
    pub fn text(&self) -> String {
        self.0.lock().clone()
    }
}

impl SessionObserver for LastMessage {
    fn on_session_event(&self, seen: SessionEvent<'_>) {
        let mut last = self.0.lock();
        match seen {
            SessionEvent::RequestSent { .. } => last.clear(),
            SessionEvent::Text(text) => last.push_str(text),
            SessionEvent::Thought(_)
            | SessionEvent::Called(_)
            | SessionEvent::ProviderToolRan { .. }
            | SessionEvent::Answered(..)
            | SessionEvent::Responded { .. }
            | SessionEvent::Retried { .. }
            | SessionEvent::Compacted { .. }
            | SessionEvent::FilesChanged(_)
            | SessionEvent::Notice(_) => {}
        }
    }
}
