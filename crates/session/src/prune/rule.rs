//! Decides which sessions are removed: by age, by number and by size.

use std::time::{Duration, SystemTime};

/// The sessions that may be removed. A session goes if it is too old, or if the sessions together are too large. Without
/// these two limits, every session but the newest `keep` goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneRule {
    /// Removes sessions whose last entry is older.
    pub older_than: Option<Duration>,
    /// Keeps this number of the newest sessions in any case.
    pub keep: Option<usize>,
    /// Removes the oldest sessions until the others fit into this size.
    pub max_bytes: Option<u64>,
}

/// The facts of a session that the decision needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionWeight {
    pub(super) modified: SystemTime,
    pub(super) bytes: u64,
    /// Set if a process writes to it, or the user cannot remove it.
    pub(super) stays: bool,
}

/// The decision about a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PruneVerdict {
    Keep,
    /// The rule removes the session, but it is running, or the user cannot remove it.
    Unremovable,
    Remove,
}

impl PruneRule {
    /// Decides about each session. `sessions` has the newest first.
    pub(super) fn decide(&self, sessions: &[SessionWeight], now: SystemTime) -> Vec<PruneVerdict> {
        let protected = self.keep.unwrap_or(0);
        let takes_all_others = self.keep.is_some() && self.older_than.is_none() && self.max_bytes.is_none();
        let mut verdicts: Vec<PruneVerdict> = sessions
            .iter()
            .enumerate()
            .map(|(position, session)| {
                // A clock that went back makes a session young.
                let age = now.duration_since(session.modified).unwrap_or_default();
                let is_old = self.older_than.is_some_and(|limit| age > limit);
                if position >= protected && (is_old || takes_all_others) {
                    session.remove()
                } else {
                    PruneVerdict::Keep
                }
            })
            .collect();
        let Some(max_bytes) = self.max_bytes else { return verdicts };
        let stays = |verdict: &PruneVerdict| *verdict != PruneVerdict::Remove;
        let sizes = sessions.iter().zip(&verdicts).filter(|(_, verdict)| stays(verdict));
        let mut total: u64 = sizes.map(|(session, _)| session.bytes).sum();
        for (session, verdict) in sessions.iter().zip(&mut verdicts).skip(protected).rev() {
            if total <= max_bytes {
                break;
            }
            if *verdict == PruneVerdict::Keep {
                *verdict = session.remove();
                total -= if stays(verdict) { 0 } else { session.bytes };
            }
        }
        verdicts
    }
}

impl SessionWeight {
    fn remove(&self) -> PruneVerdict {
        if self.stays { PruneVerdict::Unremovable } else { PruneVerdict::Remove }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    /// Decides about four sessions of 10 bytes that are 1, 2, 3 and 4 days old; the third one is running.
    fn decide(days: Option<u32>, keep: Option<usize>, max_bytes: Option<u64>) -> String {
        let now = SystemTime::UNIX_EPOCH + 100 * DAY;
        let weight = |age: u32| SessionWeight { modified: now - age * DAY, bytes: 10, stays: age == 3 };
        let rule = PruneRule { older_than: days.map(|days| days * DAY), keep, max_bytes };
        let letter = |verdict| match verdict {
            PruneVerdict::Keep => 'k',
            PruneVerdict::Unremovable => 'R',
            PruneVerdict::Remove => 'x',
        };
        rule.decide(&[1, 2, 3, 4].map(weight), now).into_iter().map(letter).collect()
    }

    #[test]
    fn age_number_and_size_remove_the_oldest_and_never_a_running_one() {
        for (days, keep, max_bytes, expected) in [
            (None, None, None, "kkkk"),
            (Some(0), None, None, "xxRx"),
            (Some(1), None, None, "kxRx"),
            (Some(9), None, None, "kkkk"),
            (None, Some(0), None, "xxRx"),
            (None, Some(1), None, "kxRx"),
            (None, Some(4), None, "kkkk"),
            (Some(1), Some(3), None, "kkkx"),
            (None, None, Some(40), "kkkk"),
            (None, None, Some(39), "kkkx"),
            // The running session counts, and stays.
            (None, None, Some(29), "kxRx"),
            (None, None, Some(0), "xxRx"),
            (None, Some(2), Some(0), "kkRx"),
            (Some(3), None, Some(30), "kkkx"),
        ] {
            assert_eq!(decide(days, keep, max_bytes), expected, "{days:?} {keep:?} {max_bytes:?}");
        }
    }

    #[test]
    fn a_session_of_the_future_is_young() {
        let now = SystemTime::UNIX_EPOCH + DAY;
        let weight = SessionWeight { modified: now + DAY, bytes: 1, stays: false };
        let rule = PruneRule { older_than: Some(Duration::ZERO), ..PruneRule::default() };
        assert_eq!(rule.decide(&[weight], now), [PruneVerdict::Keep]);
    }
}
