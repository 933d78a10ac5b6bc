//! Working time of a session, computed from the timestamps of its journal.

use crate::timeline::EventTime;
use crate::timestamp::parse_millis;

/// Counts the working milliseconds of a session. The machine's clock may go back, and idle time does not count.
#[derive(Debug, Default)]
pub(crate) struct SessionClock {
    last: Option<u64>,
    now: EventTime,
}

/// The kind of time that passed before a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElapsedKind {
    Working,
    /// Between turns, or between the end of a session and its resumption.
    Idle,
}

impl SessionClock {
    /// Returns the time of a record written `at`.
    pub(crate) fn tick(&mut self, at: &str, passed: ElapsedKind) -> EventTime {
        let Some(unix_ms) = parse_millis(at) else { return self.now };
        let since = unix_ms.saturating_sub(self.last.unwrap_or(unix_ms));
        self.last = Some(unix_ms);
        self.now.unix_ms = unix_ms;
        if passed == ElapsedKind::Working {
            self.now.after_ms = self.now.after_ms.saturating_add(since);
        }
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_and_clock_jumps_do_not_count() {
        let mut clock = SessionClock::default();
        let times: Vec<u64> = [
            ("2026-11-16T21:36:00.000Z", ElapsedKind::Working),
            ("2026-11-16T21:36:01.500Z", ElapsedKind::Working),
            ("2026-11-16T22:36:00.000Z", ElapsedKind::Idle),
            ("2026-11-16T22:36:00.100Z", ElapsedKind::Working),
            ("2026-11-16T20:00:00.000Z", ElapsedKind::Working),
            ("2026-11-16T20:00:00.001Z", ElapsedKind::Working),
            ("no time", ElapsedKind::Working),
        ]
        .map(|(at, passed)| clock.tick(at, passed).after_ms)
        .into();
        assert_eq!(times, [0, 1500, 1500, 1600, 1600, 1601, 1601]);
    }
}
