//! The signal that a call must end, and the reason for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::SetOnce;

/// The time that a tool waiting for [`Cx::wait_for_halt`](crate::Cx::wait_for_halt) has to answer after the signal.
pub const HALT_GRACE: Duration = Duration::from_secs(5);

/// The reason why a call must end now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HaltReason {
    /// The call was cancelled.
    Cancelled,
    /// The time limit passed.
    TimedOut {
        /// The limit.
        after: Duration,
    },
}

/// The halt signal of one call; records whether its tool waits for it.
#[derive(Debug, Default)]
pub(crate) struct HaltSignal {
    is_awaited: AtomicBool,
    reason: SetOnce<HaltReason>,
}

impl HaltSignal {
    /// Records that the tool wants the signal, even before it waits, and returns a future for it.
    pub(crate) fn wait_for_reason(&self) -> impl Future<Output = HaltReason> + Send {
        self.is_awaited.store(true, Ordering::Release);
        async { *self.reason.wait().await }
    }

    /// Returns true if the signal was raised.
    pub(crate) fn is_raised(&self) -> bool {
        self.reason.initialized()
    }

    /// Raises the signal. Returns `false` if the tool never asked for it. The first reason is kept.
    pub(crate) fn raise(&self, why: HaltReason) -> bool {
        let _told_already = self.reason.set(why);
        self.is_awaited.load(Ordering::Acquire)
    }
}
