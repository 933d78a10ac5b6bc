//! A timer of work that stands still while the user is asked.

use std::time::{Duration, Instant};

/// Measures the time of work.
#[derive(Debug)]
pub(super) struct WorkTimer {
    began: Instant,
    /// The start of the time in which the user is asked, and the sum of these times.
    asked_since: Option<Instant>,
    asked: Duration,
}

impl WorkTimer {
    /// Starts the timer.
    pub(super) fn start() -> Self {
        Self { began: Instant::now(), asked_since: None, asked: Duration::ZERO }
    }

    /// The user is asked, or has answered.
    pub(super) fn set_asking(&mut self, is_asking: bool) {
        self.set_asking_at(is_asking, Instant::now());
    }

    /// Returns the time since the start in which the user was not asked.
    pub(super) fn worked(&self) -> Duration {
        self.worked_until(Instant::now())
    }

    fn set_asking_at(&mut self, is_asking: bool, now: Instant) {
        match (self.asked_since.take(), is_asking) {
            (Some(since), false) => self.asked += now.saturating_duration_since(since),
            (None, true) => self.asked_since = Some(now),
            (since, _) => self.asked_since = since,
        }
    }

    fn worked_until(&self, now: Instant) -> Duration {
        let now = self.asked_since.unwrap_or(now);
        now.saturating_duration_since(self.began).saturating_sub(self.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_question_does_not_count() {
        let mut timer = WorkTimer::start();
        let at = |seconds: u64| Duration::from_secs(seconds);
        let began = timer.began;
        timer.set_asking_at(true, began + at(2));
        timer.set_asking_at(true, began + at(3));
        assert_eq!(timer.worked_until(began + at(60)), at(2));
        timer.set_asking_at(false, began + at(60));
        timer.set_asking_at(false, began + at(61));
        assert_eq!(timer.worked_until(began + at(63)), at(5));
    }
}
