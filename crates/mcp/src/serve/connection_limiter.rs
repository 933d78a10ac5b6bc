//! Limits connections: a new unauthenticated one evicts the oldest unauthenticated one, never an authenticated one.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Maximum number of authenticated connections; a further one gets "429 Too Many Requests".
const INSIDE: usize = 256;
/// Maximum number of unauthenticated connections; a further one evicts the oldest.
const WAITING: usize = 64;

/// Limits connections.
pub(super) struct ConnectionLimiter {
    waiting: Mutex<WaitingConnections>,
    room: Arc<Semaphore>,
}

#[derive(Default)]
struct WaitingConnections {
    next: u64,
    guests: VecDeque<(u64, CancellationToken)>,
}

/// A connection.
pub(super) struct LimitedConnection {
    number: u64,
    /// Cancelled when the connection is evicted.
    pub(super) out: CancellationToken,
    lobby: Arc<ConnectionLimiter>,
    place: OnceLock<OwnedSemaphorePermit>,
}

impl ConnectionLimiter {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), room: Arc::new(Semaphore::new(INSIDE)) })
    }

    /// Registers a connection, and evicts the longest-waiting one if there are too many.
    pub(super) fn accept(self: &Arc<Self>) -> LimitedConnection {
        let mut waiting = self.waiting.lock();
        if waiting.guests.len() >= WAITING
            && let Some((_, oldest)) = waiting.guests.pop_front()
        {
            oldest.cancel();
        }
        let (number, out) = (waiting.next, CancellationToken::new());
        waiting.next += 1;
        waiting.guests.push_back((number, out.clone()));
        LimitedConnection { number, out, lobby: Arc::clone(self), place: OnceLock::new() }
    }
}

impl LimitedConnection {
    /// Marks the connection as authenticated, for its lifetime. Returns `false` if the limit is reached.
    pub(super) fn take_slot(&self) -> bool {
        if self.place.get().is_some() {
            return true;
        }
        let Ok(place) = Arc::clone(&self.lobby.room).try_acquire_owned() else { return false };
        self.leaves_the_lobby();
        // A connection has one request at a time.
        let _twice = self.place.set(place);
        true
    }

    fn leaves_the_lobby(&self) {
        self.lobby.waiting.lock().guests.retain(|(number, _)| *number != self.number);
    }
}

impl Drop for LimitedConnection {
    fn drop(&mut self) {
        self.leaves_the_lobby();
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
        let silent: Vec<LimitedConnection> = (0..WAITING + 1).map(|_| lobby.accept()).collect();
        assert!(silent[0].out.is_cancelled() && !silent[1].out.is_cancelled());
        assert!(!known.out.is_cancelled() && known.take_slot());
        drop(silent);
        assert!(lobby.waiting.lock().guests.is_empty());
    }

    #[test]
    fn authenticated_connections_are_limited() {
        let lobby = ConnectionLimiter::new();
        let mut inside: Vec<LimitedConnection> = (0..INSIDE).map(|_| lobby.accept()).collect();
        assert!(inside.iter().all(LimitedConnection::take_slot));
        let late = lobby.accept();
        assert!(!late.take_slot());
        inside.pop();
        assert!(late.take_slot());
    }
}
