//! A call that has to end, and how its tool hears of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::SetOnce;

/// How long a tool that waits for [`Cx::halted`](crate::Cx::halted) has for its answer once it was told.
pub const GRACE: Duration = Duration::from_secs(5);

/// Why a call has to end now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// Somebody stopped it.
    Cancelled,
    /// Its time ran out.
    TimedOut {
        /// The limit that was reached.
        after: Duration,
    },
}

/// Whether a call has to end, and whether its tool asked to be told.
#[derive(Debug, Default)]
pub(crate) struct Halting {
    asked: AtomicBool,
    raised: SetOnce<Halt>,
}

impl Halting {
    /// Remembers that somebody asks, even if they do not wait yet.
    pub(crate) fn asked(&self) -> impl Future<Output = Halt> + Send {
        self.asked.store(true, Ordering::Release);
        async { *self.raised.wait().await }
    }

    /// Whether it has to end.
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.initialized()
    }

    /// Tells whoever waits; `false` if nobody ever asked. The first reason stays.
    pub(crate) fn raise(&self, why: Halt) -> bool {
        let _told_already = self.raised.set(why);
        self.asked.load(Ordering::Acquire)
    }
}
