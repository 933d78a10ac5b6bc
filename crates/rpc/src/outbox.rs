//! What waits to be written: bounded, in order, and given up when nobody reads.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Bytes that wait before whoever sends more has to wait too.
const ROOM: usize = 4 << 20;
/// The same for what may be left out.
const ROOM_FOR_LESS: usize = 1 << 20;

/// Messages for one connection.
#[derive(Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    /// Something was put in, or it was closed.
    filled: Notify,
    /// Something was taken out, or it was closed.
    emptied: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<String>,
    bytes: usize,
    is_closed: bool,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A queue is whole between any two statements.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a message in as soon as there is room; `false` if nobody takes any more.
    pub(crate) async fn send(&self, message: String) -> bool {
        let mut message = Some(message);
        // ends: when there is room, or it is closed
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            match self.put(&mut message, ROOM) {
                Some(done) => return done,
                None => emptied.await,
            }
        }
    }

    /// Puts a message in if there is much room.
    pub(crate) fn offer(&self, message: String) -> bool {
        self.put(&mut Some(message), ROOM_FOR_LESS).unwrap_or(false)
    }

    /// Puts a message in whether or not there is room.
    pub(crate) fn push(&self, message: String) -> bool {
        self.put(&mut Some(message), usize::MAX).unwrap_or(false)
    }

    /// Whether it was taken; `None` if there is no room. One that is alone always has room.
    fn put(&self, message: &mut Option<String>, room: usize) -> Option<bool> {
        let mut queue = self.lock();
        if queue.is_closed {
            return Some(false);
        }
        if !queue.waiting.is_empty() && queue.bytes >= room {
            return None;
        }
        if let Some(message) = message.take() {
            queue.bytes += message.len();
            queue.waiting.push_back(message);
        }
        drop(queue);
        self.filled.notify_one();
        Some(true)
    }

    /// The next message; `None` when it is closed and empty.
    pub(crate) async fn next(&self) -> Option<String> {
        // ends: with a message, or when it is closed
        loop {
            let filled = self.filled.notified();
            tokio::pin!(filled);
            filled.as_mut().enable();
            match self.take() {
                Some(taken) => return taken,
                None => filled.await,
            }
        }
    }

    /// The first message, if there is one; nothing on the inside if there will be none.
    fn take(&self) -> Option<Option<String>> {
        let mut queue = self.lock();
        let Some(message) = queue.waiting.pop_front() else { return queue.is_closed.then_some(None) };
        queue.bytes -= message.len();
        drop(queue);
        self.emptied.notify_waiters();
        Some(Some(message))
    }

    /// Whether more waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// Takes no more; what is in it can still be taken out.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.filled.notify_one();
        self.emptied.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn whoever_sends_more_than_is_read_waits_and_what_may_be_left_out_is() {
        let outbox = Arc::new(Outbox::default());
        let long = "x".repeat(ROOM);
        assert!(outbox.send(long.clone()).await);
        assert!(!outbox.offer("left out".to_owned()));
        let mut waiting = std::pin::pin!(outbox.send("next".to_owned()));
        assert!(tokio::time::timeout(Duration::from_millis(10), &mut waiting).await.is_err());
        assert_eq!(outbox.next().await, Some(long));
        assert!(waiting.await);
        outbox.close();
        assert!(!outbox.send("late".to_owned()).await);
        assert_eq!((outbox.next().await.as_deref(), outbox.next().await), (Some("next"), None));
    }
}
