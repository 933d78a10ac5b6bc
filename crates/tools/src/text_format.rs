//! Formats paths, numbers and times for people and models.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of a path that are shown.
const MAX_PATH_BYTES: usize = 1000;

/// Formats a path as one line. Control characters are escaped, so that a name cannot forge a line; a very long path is
/// truncated.
pub(crate) fn format_path(path: &Path) -> String {
    let mut out = String::new();
    for letter in path.to_string_lossy().chars() {
        if out.len() > MAX_PATH_BYTES {
            out.push('…');
            break;
        }
        if letter.is_control() { out.extend(letter.escape_default()) } else { out.push(letter) }
    }
    out
}

/// Formats `1234567` as `1,234,567`.
pub(crate) fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count with its noun: `3 lines`, `1 line`.
pub(crate) fn format_count(number: u64, noun: &str) -> String {
    let ending = match (number, noun) {
        (1, _) => "",
        (_, "match" | "process") => "es",
        _ if noun.ends_with('y') => {
            return format!("{} {}ies", group_digits(number), &noun[..noun.len() - 1]);
        }
        _ => "s",
    };
    format!("{} {noun}{ending}", group_digits(number))
}

/// Formats a time in UTC to the minute, e.g. `2026-11-15 20:10`.
pub(crate) fn format_utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil_date(seconds / 86_400);
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

/// Converts days since 1970-01-01 to year, month and day, by 400-year eras that begin in March, so that leap days come
/// last.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn numbers_are_grouped_and_counts_pluralized() {
        let rows = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, expected) in rows {
            assert_eq!(group_digits(number), expected);
        }
        assert_eq!(format_count(1, "line"), "1 line");
        assert_eq!(format_count(2, "match"), "2 matches");
        assert_eq!(format_count(1200, "entry"), "1,200 entries");
    }

    #[test]
    fn times_are_formatted_in_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00"),
            (951_782_400, "2000-02-29 00:00"),
            (1_709_251_199, "2024-02-29 23:59"),
            (4_102_444_800, "2100-01-01 00:00"),
        ] {
            assert_eq!(format_utc(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
