//! Stores text that is too long for a model in files that `read_file` can read.

use std::sync::Arc;

use exec::spill::Spill;
use runtime::{CallId, OverflowStore};

/// The session's spill directory, as the engine's store.
pub(crate) struct SpillStore(pub Arc<Spill>);

impl OverflowStore for SpillStore {
    fn store(&self, call: &CallId, text: &str) -> Option<String> {
        match self.0.keep(call.as_str(), text.as_bytes()) {
            Ok(path) => Some(path.to_string_lossy().into_owned()),
            Err(fault) => {
                tracing::warn!("what was cut was not kept: {fault}");
                None
            }
        }
    }
}
