//! The time of one call: since it arrived, and how much of that it waited for other calls and for people.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Measures one call.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    /// When the call came.
    pub(crate) arrived: Instant,
    waited_nanos: AtomicU64,
}

impl Stopwatch {
    pub(crate) fn since(arrived: Instant) -> Self {
        Self { arrived, waited_nanos: AtomicU64::new(0) }
    }

    /// Counts the time until `waiting` is over, or dropped, as waiting.
    pub(crate) async fn waits<F: Future>(&self, waiting: F) -> F::Output {
        let _counted = Waiting { watch: self, since: Instant::now() };
        waiting.await
    }

    /// The time that the call has waited.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_nanos.load(Relaxed))
    }
}

struct Waiting<'a> {
    watch: &'a Stopwatch,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let nanos = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.watch.waited_nanos.fetch_add(nanos, Relaxed);
    }
}
