//! The bounded, ordered queue of outgoing messages of a connection.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Queued bytes at which senders have to wait.
const MAX_QUEUED_BYTES: usize = 4 << 20;
/// Queued bytes at which optional messages are dropped.
const MAX_QUEUED_BYTES_OPTIONAL: usize = 1 << 20;

/// The outgoing messages of one connection.
#[derive(Default)]
pub(crate) struct Outbox {
    queue: Mutex<OutboxQueue>,
    /// Signals a new message or the close.
    filled: Notify,
    /// Signals a removed message or the close.
    emptied: Notify,
}

/// The queued messages and their total size.
#[derive(Default)]
struct OutboxQueue {
    messages: VecDeque<String>,
    bytes: usize,
    is_closed: bool,
}

impl Outbox {
    /// Queues a message as soon as there is room; returns `false` if the outbox is closed.
    pub(crate) async fn send(&self, message: String) -> bool {
        let mut message = Some(message);
        // ends: when there is room, or the outbox is closed
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            match self.try_enqueue(&mut message, MAX_QUEUED_BYTES) {
                Some(done) => return done,
                None => emptied.await,
            }
        }
    }

    /// Queues an optional message if the queue is short.
    pub(crate) fn try_send(&self, message: String) -> bool {
        self.try_enqueue(&mut Some(message), MAX_QUEUED_BYTES_OPTIONAL).unwrap_or(false)
    }

    /// Queues a message regardless of the queue length.
    pub(crate) fn send_unbounded(&self, message: String) -> bool {
        self.try_enqueue(&mut Some(message), usize::MAX).unwrap_or(false)
    }

    /// Returns whether the message was queued; `None` if there is no room. An empty queue always has room.
    fn try_enqueue(&self, message: &mut Option<String>, room: usize) -> Option<bool> {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return Some(false);
        }
        if !queue.messages.is_empty() && queue.bytes >= room {
            return None;
        }
        if let Some(message) = message.take() {
            queue.bytes += message.len();
            queue.messages.push_back(message);
        }
        drop(queue);
        self.filled.notify_one();
        Some(true)
    }

    /// Returns the next message; `None` when the outbox is closed and empty.
    pub(crate) async fn next(&self) -> Option<String> {
        // ends: with a message, or when the outbox is closed
        loop {
            let filled = self.filled.notified();
            tokio::pin!(filled);
            filled.as_mut().enable();
            match self.take_next() {
                Some(taken) => return taken,
                None => filled.await,
            }
        }
    }

    /// Takes the first message; `Some(None)` if the outbox is closed and empty.
    fn take_next(&self) -> Option<Option<String>> {
        let mut queue = self.queue.lock();
        let Some(message) = queue.messages.pop_front() else { return queue.is_closed.then_some(None) };
        queue.bytes -= message.len();
        drop(queue);
        self.emptied.notify_waiters();
        Some(Some(message))
    }

    /// Returns whether no message is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.lock().messages.is_empty()
    }

    /// Closes the outbox for new messages; queued messages can still be taken.
    pub(crate) fn close(&self) {
        self.queue.lock().is_closed = true;
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
    async fn full_outbox_makes_send_wait_and_try_send_fail() {
        let outbox = Arc::new(Outbox::default());
        let long = "x".repeat(MAX_QUEUED_BYTES);
        assert!(outbox.send(long.clone()).await);
        assert!(!outbox.try_send("left out".to_owned()));
        let mut waiting = std::pin::pin!(outbox.send("next".to_owned()));
        assert!(tokio::time::timeout(Duration::from_millis(10), &mut waiting).await.is_err());
        assert_eq!(outbox.next().await, Some(long));
        assert!(waiting.await);
        outbox.close();
        assert!(!outbox.send("late".to_owned()).await);
        assert_eq!((outbox.next().await.as_deref(), outbox.next().await), (Some("next"), None));
    }
}
