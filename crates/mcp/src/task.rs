//! Work that goes on beside calls: a server's life, what it says.

use std::future::Future;

use tokio::task::JoinHandle;

/// Does `work` until it is done, or there is no runtime any more.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    #[expect(clippy::disallowed_methods, reason = "no call: whatever is spawned here ends with its server")]
    tokio::spawn(work)
}
