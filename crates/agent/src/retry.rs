//! Retry policy for failed model requests: exponential backoff with jitter.

use std::time::Duration;

use wire::{ModelError, RetryAdvice};

/// Maximum number of attempts for one request.
const MAX_ATTEMPTS: u32 = 6;
/// The first pause, which doubles, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(20);
/// If a server asks for a longer wait, the request fails and the user is told.
const MAX_SERVER_WAIT: Duration = Duration::from_secs(300);

/// Counts the attempts of one request.
#[derive(Debug, Default)]
pub(crate) struct RetryCounter(u32);

impl RetryCounter {
    /// Returns the pause before the next attempt; `None` if there is none. `chance`, from 0 to 1, is the jitter that
    /// spreads clients that failed together.
    pub(crate) fn next_pause(&mut self, error: &ModelError, chance: f64) -> Option<Duration> {
        self.0 += 1;
        if self.0 >= MAX_ATTEMPTS {
            return None;
        }
        let doubled = FIRST_PAUSE.saturating_mul(1 << (self.0 - 1)).min(MAX_PAUSE);
        match error.retry {
            RetryAdvice::Never => None,
            RetryAdvice::After(wait) => (wait <= MAX_SERVER_WAIT).then_some(wait),
            RetryAdvice::Soon => Some(doubled.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)),
        }
    }
}

/// Returns a random number from 0 to 1 for jitter. It need not be cryptographically secure.
pub(crate) fn random_fraction() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let hash = RandomState::new().hash_one(0_u8);
    f64::from(u32::try_from(hash >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use wire::ModelErrorCode;

    use super::*;

    fn error(retry: RetryAdvice) -> ModelError {
        ModelError { code: ModelErrorCode::Server, message: String::new(), retry }
    }

    #[test]
    fn pauses_double_and_end() {
        let mut tries = RetryCounter::default();
        let pauses: Vec<Option<u128>> = (0..7)
            .map(|_| tries.next_pause(&error(RetryAdvice::Soon), 1.0).map(|pause| pause.as_millis()))
            .collect();
        assert_eq!(pauses, [Some(250), Some(500), Some(1000), Some(2000), Some(4000), None, None]);
        assert_eq!(
            RetryCounter::default().next_pause(&error(RetryAdvice::Soon), 0.0),
            Some(Duration::from_millis(125))
        );
    }

    #[test]
    fn retry_after_is_obeyed_and_never_is_final() {
        let minute = Duration::from_secs(60);
        assert_eq!(RetryCounter::default().next_pause(&error(RetryAdvice::After(minute)), 1.0), Some(minute));
        assert_eq!(RetryCounter::default().next_pause(&error(RetryAdvice::After(minute * 60)), 1.0), None);
        assert_eq!(RetryCounter::default().next_pause(&error(RetryAdvice::Never), 1.0), None);
    }
}
