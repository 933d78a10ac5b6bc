//! Limits connections: a new unauthenticated one evicts the oldest unauthenticated one, never an authenticated one.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Maximum number of authenticated connections; a further one gets "429 Too Many Requests".
const MAX_AUTHENTICATED: usize = 256;
/// Maximum number of unauthenticated connections; a further one evicts the oldest.
const MAX_UNAUTHENTICATED: usize = 64;

/// Limits connections.
pub(super) struct ConnectionLimiter {
    unauthenticated: Mutex<WaitingConnections>,
    slots: Arc<Semaphore>,
}

#[derive(Default)]
struct WaitingConnections {
    next_number: u64,
    connections: VecDeque<(u64, CancellationToken)>,
}

/// A connection.
pub(super) struct LimitedConnection {
    number: u64,
    /// Cancelled when the connection is evicted.
    pub(super) evicted: CancellationToken,
    limiter: Arc<ConnectionLimiter>,
    slot: OnceLock<OwnedSemaphorePermit>,
}

impl ConnectionLimiter {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            unauthenticated: Mutex::default(),
            slots: Arc::new(Semaphore::new(MAX_AUTHENTICATED)),
        })
    }

    /// Registers a connection, and evicts the longest-waiting one if there are too many.
    pub(super) fn accept(self: &Arc<Self>) -> LimitedConnection {
        let mut unauthenticated = self.unauthenticated.lock();
        if unauthenticated.connections.len() >= MAX_UNAUTHENTICATED
            && let Some((_, oldest)) = unauthenticated.connections.pop_front()
        {
            oldest.cancel();
        }
        let (number, evicted) = (unauthenticated.next_number, CancellationToken::new());
        unauthenticated.next_number += 1;
        unauthenticated.connections.push_back((number, evicted.clone()));
        LimitedConnection { number, evicted, limiter: Arc::clone(self), slot: OnceLock::new() }
    }
}

impl LimitedConnection {
    /// Marks the connection as authenticated, for its lifetime. Returns `false` if the limit is reached.
    pub(super) fn take_slot(&self) -> bool {
        if self.slot.get().is_some() {
            return true;
        }
        let Ok(slot) = Arc::clone(&self.limiter.slots).try_acquire_owned() else { return false };
        self.remove_from_waiting();
        // A connection has one request at a time.
        let _twice = self.slot.set(slot);
        true
    }

    fn remove_from_waiting(&self) {
        self.limiter.unauthenticated.lock().connections.retain(|(number, _)| *number != self.number);
    }
}

impl Drop for LimitedConnection {
    fn drop(&mut self) {
        self.remove_from_waiting();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unauthenticated_connections_are_evicted() {
        let lobby = ConnectionLimiter::new();
        let known = lobby.accept();
        assert!(known.take_slot());
        let silent: Vec<LimitedConnection> = (0..MAX_UNAUTHENTICATED + 1).map(|_| lobby.accept()).collect();
        assert!(silent[0].evicted.is_cancelled() && !silent[1].evicted.is_cancelled());
        assert!(!known.evicted.is_cancelled() && known.take_slot());
        drop(silent);
        assert!(lobby.unauthenticated.lock().connections.is_empty());
    }

    #[test]
    fn authenticated_connections_are_limited() {
        let lobby = ConnectionLimiter::new();
        let mut inside: Vec<LimitedConnection> = (0..MAX_AUTHENTICATED).map(|_| lobby.accept()).collect();
        assert!(inside.iter().all(LimitedConnection::take_slot));
        let late = lobby.accept();
        assert!(!late.take_slot());
        inside.pop();
        assert!(late.take_slot());
    }
}
