//! Measures one call: the time since its arrival, and the part spent waiting for other calls and for the user.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The stopwatch of one call.
#[derive(Debug)]
pub(crate) struct CallStopwatch {
    /// The time of the call's arrival.
    pub(crate) arrived: Instant,
    waited_nanos: AtomicU64,
}

impl CallStopwatch {
    pub(crate) fn starting_at(arrived: Instant) -> Self {
        Self { arrived, waited_nanos: AtomicU64::new(0) }
    }

    /// Runs `waiting` and counts its time as waiting, also if it is dropped.
    pub(crate) async fn time_wait<F: Future>(&self, waiting: F) -> F::Output {
        let _counted = WaitTimer { stopwatch: self, since: Instant::now() };
        waiting.await
    }

    /// Returns the total waiting time so far.
    pub(crate) fn total_wait(&self) -> Duration {
        Duration::from_nanos(self.waited_nanos.load(Relaxed))
    }
}

/// Adds its lifetime to the waiting time when it is dropped.
struct WaitTimer<'a> {
    stopwatch: &'a CallStopwatch,
    since: Instant,
}

impl Drop for WaitTimer<'_> {
    fn drop(&mut self) {
        let nanos = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.stopwatch.waited_nanos.fetch_add(nanos, Relaxed);
    }
}
