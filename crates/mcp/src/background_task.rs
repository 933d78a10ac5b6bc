//! Spawns background tasks that end with their server.

use std::future::Future;

use tokio::task::JoinHandle;

/// Runs `work` until it is done or the runtime ends.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    #[expect(clippy::disallowed_methods, reason = "no call: whatever is spawned here ends with its server")]
    tokio::spawn(work)
}
