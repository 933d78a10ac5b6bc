//! Schedules concurrent calls: shared calls run together, exclusive calls run alone, all in arrival order.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tool::Lane;

/// The lanes of one session.
#[derive(Debug)]
pub(crate) struct Lanes {
    state: Mutex<LaneState>,
    max_shared: usize,
}

/// The calls that hold a lane, and the queue of those that wait.
#[derive(Debug, Default)]
struct LaneState {
    shared_running: usize,
    exclusive_running: bool,
    waiting: VecDeque<(Lane, oneshot::Sender<LaneGuard>)>,
}

impl Lanes {
    /// Creates lanes in which at most `max_shared` shared calls run at a time.
    pub(crate) fn new(max_shared: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), max_shared: max_shared.max(1) })
    }

    /// Joins the queue immediately; the ticket yields a guard when its turn comes.
    ///
    /// Not async: the order of calls to this function is the order of turns, however tasks are scheduled.
    pub(crate) fn enter(self: &Arc<Self>, lane: Lane) -> LaneTicket {
        let mut state = self.state.lock();
        if state.waiting.is_empty() && state.can_admit(lane, self.max_shared) {
            state.admit(lane);
            drop(state);
            return LaneTicket::Admitted(self.guard(lane));
        }
        let (turn, ticket) = oneshot::channel();
        state.waiting.push_back((lane, turn));
        LaneTicket::Queued(QueuePosition { turn: ticket, lanes: Arc::clone(self) })
    }

    fn guard(self: &Arc<Self>, lane: Lane) -> LaneGuard {
        LaneGuard { lanes: Arc::clone(self), lane }
    }

    fn leave(self: &Arc<Self>, lane: Lane) {
        let mut state = self.state.lock();
        match lane {
            Lane::Shared => state.shared_running -= 1,
            Lane::Exclusive => state.exclusive_running = false,
        }
        self.admit_waiting(state);
    }

    /// Admits every waiting call at the front of the queue that may run now.
    fn admit_waiting<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, LaneState>) {
        // ends: every round takes one from the queue or stops
        while let Some((next, turn)) = state.waiting.front() {
            let gone = turn.is_closed();
            if !gone && !state.can_admit(*next, self.max_shared) {
                break;
            }
            let Some((next, turn)) = state.waiting.pop_front() else { break };
            // The waiter was dropped: its turn is skipped, even if it had not come yet.
            if gone {
                continue;
            }
            state.admit(next);
            drop(state);
            // If the waiter is dropped right here, the guard comes back and its drop admits the next. Hence outside the
            // lock.
            drop(turn.send(self.guard(next)));
            state = self.state.lock();
        }
    }
}

impl LaneState {
    fn can_admit(&self, lane: Lane, max_shared: usize) -> bool {
        match lane {
            Lane::Shared => !self.exclusive_running && self.shared_running < max_shared,
            Lane::Exclusive => !self.exclusive_running && self.shared_running == 0,
        }
    }

    fn admit(&mut self, lane: Lane) {
        match lane {
            Lane::Shared => self.shared_running += 1,
            Lane::Exclusive => self.exclusive_running = true,
        }
    }
}

/// A position in the lanes: admitted or still queued.
#[derive(Debug)]
pub(crate) enum LaneTicket {
    Admitted(LaneGuard),
    Queued(QueuePosition),
}

/// A queued position. Dropping it admits the calls that waited only for this one.
#[derive(Debug)]
pub(crate) struct QueuePosition {
    turn: oneshot::Receiver<LaneGuard>,
    lanes: Arc<Lanes>,
}

impl Drop for QueuePosition {
    fn drop(&mut self) {
        self.turn.close();
        let lanes = Arc::clone(&self.lanes);
        // The turn came but was not taken: dropping its guard admits the next call.
        drop(self.turn.try_recv());
        lanes.admit_waiting(lanes.state.lock());
    }
}

impl QueuePosition {
    /// Waits for the turn.
    pub(crate) async fn wait_for_turn(mut self) -> LaneGuard {
        let turn = (&mut self.turn).await;
        turn.expect("the queue drops no sender whose receiver is open")
    }
}

/// The right to run; dropping it admits the next call.
#[derive(Debug)]
pub(crate) struct LaneGuard {
    lanes: Arc<Lanes>,
    lane: Lane,
}

impl Drop for LaneGuard {
    fn drop(&mut self) {
        self.lanes.leave(self.lane);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(ticket: &mut LaneTicket) -> bool {
        match ticket {
            LaneTicket::Admitted(_) => true,
            LaneTicket::Queued(place) => match place.turn.try_recv() {
                Ok(guard) => {
                    *ticket = LaneTicket::Admitted(guard);
                    true
                }
                Err(_) => false,
            },
        }
    }

    #[test]
    fn readers_share_and_a_writer_waits_for_them_and_holds_back_the_next() {
        let lanes = Lanes::new(8);
        let mut tickets: Vec<LaneTicket> =
            [Lane::Shared, Lane::Shared, Lane::Exclusive, Lane::Shared, Lane::Exclusive]
                .into_iter()
                .map(|lane| lanes.enter(lane))
                .collect();
        let now = |tickets: &mut Vec<LaneTicket>| tickets.iter_mut().map(ready).collect::<Vec<_>>();
        assert_eq!(now(&mut tickets), [true, true, false, false, false]);
        tickets.drain(..2);
        assert_eq!(now(&mut tickets), [true, false, false]);
        tickets.drain(..1);
        assert_eq!(now(&mut tickets), [true, false]);
        tickets.drain(..1);
        assert_eq!(now(&mut tickets), [true]);
    }

    #[test]
    fn shared_calls_are_limited_by_width() {
        let lanes = Lanes::new(2);
        let mut tickets: Vec<LaneTicket> = (0..3).map(|_| lanes.enter(Lane::Shared)).collect();
        assert!(!ready(&mut tickets[2]));
        tickets.remove(0);
        assert!(ready(&mut tickets[1]));
    }

    #[test]
    fn leaving_the_queue_passes_the_turn_on() {
        let lanes = Lanes::new(8);
        let first = lanes.enter(Lane::Exclusive);
        let second = lanes.enter(Lane::Exclusive);
        let mut third = lanes.enter(Lane::Shared);
        drop(second);
        drop(first);
        assert!(ready(&mut third));
    }

    #[test]
    fn dropped_waiter_unblocks_the_next() {
        let lanes = Lanes::new(8);
        let _reading = lanes.enter(Lane::Shared);
        let alone = lanes.enter(Lane::Exclusive);
        let mut reader = lanes.enter(Lane::Shared);
        assert!(!ready(&mut reader));
        drop(alone);
        assert!(ready(&mut reader));
    }

    #[test]
    fn a_turn_that_was_handed_over_but_never_taken_is_handed_on() {
        let lanes = Lanes::new(8);
        let first = lanes.enter(Lane::Exclusive);
        let second = lanes.enter(Lane::Exclusive);
        let mut third = lanes.enter(Lane::Exclusive);
        drop(first);
        drop(second);
        assert!(ready(&mut third));
    }
}
