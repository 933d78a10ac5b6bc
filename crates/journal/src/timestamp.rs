//! UTC timestamps: the current time as RFC 3339 text, and the parser of such text.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;
/// Fractions of a second that three hexadecimal digits can count.
const PARTS_A_SECOND: u64 = 1 << 12;
/// The last second of the year 9999.
const MAX_SECONDS: u64 = 253_402_300_799;

/// A timestamp in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UtcTimestamp {
    seconds: u64,
    millis: u32,
    /// The elapsed part of the second, in 1/4096.
    parts: u32,
}

impl UtcTimestamp {
    /// Returns the current time, clamped to the years 1970 to 9999.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let parts = u64::from(since.subsec_nanos()) * PARTS_A_SECOND / 1_000_000_000;
        Self {
            seconds: since.as_secs().min(MAX_SECONDS),
            millis: since.subsec_millis(),
            parts: u32::try_from(parts).unwrap_or(0),
        }
    }

    /// Returns the elapsed part of the second in 1/4096, which is three hexadecimal digits.
    pub(crate) fn subsecond_parts(self) -> u32 {
        self.parts
    }

    /// Formats as RFC 3339, such as `2026-11-16T21:36:02.123Z`.
    pub(crate) fn to_rfc3339(self) -> String {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.time_of_day();
        let mut text = String::with_capacity(24);
        let written = write!(
            text,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
            self.millis
        );
        written.map_or_else(|_| String::new(), |()| text)
    }

    /// Formats for a session id, such as `20261116-213602`.
    pub(crate) fn to_compact(self) -> String {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.time_of_day();
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
    }

    fn time_of_day(self) -> (u64, u64, u64) {
        let of_day = self.seconds % SECONDS_A_DAY;
        (of_day / 3600, of_day / 60 % 60, of_day % 60)
    }

    /// Returns year, month and day by Howard Hinnant's algorithm: years begin in March, so the leap day is the last
    /// day.
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

/// Returns the current time as a journal timestamp, such as `2026-11-16T21:36:02.123Z`.
#[must_use]
pub fn current_timestamp() -> String {
    UtcTimestamp::now().to_rfc3339()
}

/// Parses a journal timestamp, such as `2026-11-16T21:36:02.123Z`, into milliseconds since 1970; `None` for other
/// formats.
#[must_use]
pub fn parse_millis(at: &str) -> Option<u64> {
    const TIMESTAMP_PATTERN: &[u8] = b"0000-00-00T00:00:00.000Z";
    let is_digit = |(byte, form): (u8, &u8)| byte == *form || (*form == b'0' && byte.is_ascii_digit());
    if at.len() != TIMESTAMP_PATTERN.len() || !at.bytes().zip(TIMESTAMP_PATTERN).all(is_digit) {
        return None;
    }
    let number = |from: usize, to: usize| at.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // The inverse of `UtcTimestamp::date`.
    let (year, shifted) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    let (era, of_era) = (year / 400, year % 400);
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = days * SECONDS_A_DAY + number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    Some(seconds * 1000 + number(20, 23)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_match_the_date_command() {
        // `date -u -d @N +%FT%TZ`
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_399, "2000-02-28T23:59:59.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (951_868_800, "2000-03-01T00:00:00.007Z"),
            (1_709_164_800, "2024-02-29T00:00:00.007Z"),
            (1_794_864_962, "2026-11-16T21:36:02.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
            (MAX_SECONDS, "9999-12-31T23:59:59.007Z"),
        ] {
            assert_eq!(UtcTimestamp { seconds, millis: 7, parts: 0 }.to_rfc3339(), text);
            assert_eq!(parse_millis(text), Some(seconds * 1000 + 7));
        }
        assert_eq!(
            UtcTimestamp { seconds: 1_794_864_962, millis: 0, parts: 0 }.to_compact(),
            "20261116-213602"
        );
    }

    #[test]
    fn malformed_timestamps_are_refused() {
        for text in [
            "", "2026-11-16", "2026-13-16T21:36:02.123Z", "1969-12-31T23:59:59.999Z",
            "2026-11-16T21:36:02.12éZ",
        ] {
            assert_eq!(parse_millis(text), None, "{text}");
        }
    }
}
