//! Moments as text: UTC, by our own count of days.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;
/// The last second that four digits can say the year of.
const LATEST: u64 = 253_402_300_799;

/// A moment of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    seconds: u64,
    millis: u32,
}

impl Moment {
    /// Now, as far as the clock knows. Before 1970 is 1970, and after 9999 is its end.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { seconds: since.as_secs().min(LATEST), millis: since.subsec_millis() }
    }

    /// As RFC 3339 has it, such as `2026-11-16T21:36:02.123Z`.
    pub(crate) fn rfc3339(self) -> String {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.clock();
        let mut text = String::with_capacity(24);
        let written = write!(
            text,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
            self.millis
        );
        written.map_or_else(|_| String::new(), |()| text)
    }

    /// For the name of a session, such as `20261116-213602`.
    pub(crate) fn compact(self) -> String {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.clock();
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
    }

    fn clock(self) -> (u64, u64, u64) {
        let of_day = self.seconds % SECONDS_A_DAY;
        (of_day / 3600, of_day / 60 % 60, of_day % 60)
    }

    /// Howard Hinnant's count: years begin in March, so that the day that comes and goes is their last.
    fn date(self) -> (u64, u64, u64) {
        let days = self.seconds / SECONDS_A_DAY + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        (year_of_era + era * 400 + u64::from(month <= 2), month, day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_what_date_says() {
        // `date -u -d @N +%FT%TZ`
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_399, "2000-02-28T23:59:59.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (951_868_800, "2000-03-01T00:00:00.007Z"),
            (1_709_164_800, "2024-02-29T00:00:00.007Z"),
            (1_794_864_962, "2026-11-16T21:36:02.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
            (LATEST, "9999-12-31T23:59:59.007Z"),
        ] {
            assert_eq!(Moment { seconds, millis: 7 }.rfc3339(), text);
        }
        assert_eq!(Moment { seconds: 1_794_864_962, millis: 0 }.compact(), "20261116-213602");
    }
}
