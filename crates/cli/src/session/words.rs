//! Keeps the last message of a model.

use std::sync::{Mutex, PoisonError};

use agent::{Seen, Watch};

/// The text of the current or last response.
#[derive(Default)]
pub(crate) struct Words(Mutex<String>);

impl Words {
    /// Returns the text.
    pub(crate) fn last(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watch for Words {
    fn saw(&self, seen: Seen<'_>) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen {
            Seen::Asked { .. } => last.clear(),
            Seen::Text(text) => last.push_str(text),
            Seen::Thought(_)
            | Seen::Called(_)
            | Seen::Hosted { .. }
            | Seen::Answered(..)
            | Seen::Responded { .. }
            | Seen::Retried { .. }
            | Seen::Compacted { .. }
            | Seen::Changed(_)
            | Seen::Notice(_) => {}
        }
    }
}
