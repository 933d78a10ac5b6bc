//! Formats durations, sizes and counts for people.

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// Formats milliseconds: `12 ms`, `2.1 s`, `48 s`, `3 min 20 s`, `2 h 5 min`.
pub fn format_duration(millis: u64) -> String {
    match millis {
        0..SECOND => format!("{millis} ms"),
        SECOND..10_000 => format!("{}.{} s", millis / SECOND, millis % SECOND / 100),
        10_000..MINUTE => format!("{} s", millis / SECOND),
        MINUTE..HOUR => format!("{} min {} s", millis / MINUTE, millis % MINUTE / SECOND),
        _ => format!("{} h {} min", format_count(millis / HOUR), millis % HOUR / MINUTE),
    }
}

/// Formats milliseconds in at most seven characters, for tables: `3.3 min`, `2.0 h`.
pub(crate) fn format_duration_short(millis: u64) -> String {
    let tenths = |unit: u64, name: &str| format!("{}.{} {name}", millis / unit, millis % unit / (unit / 10));
    match millis {
        0..MINUTE => format_duration(millis),
        MINUTE..HOUR => tenths(MINUTE, "min"),
        _ if millis < 1000 * HOUR => tenths(HOUR, "h"),
        _ => "> 999 h".to_owned(),
    }
}

/// Formats bytes: `9 bytes`, `12.3 kB`, `4.0 MB`.
pub(crate) fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return pluralize(bytes, "byte");
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    // ends: at the last unit
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    format!("{}.{} {}", format_count(tenths / 10), tenths % 10, UNITS[unit])
}

/// Formats a count with commas between thousands.
pub fn format_count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with a noun: `1 call`, `2 calls`.
pub fn pluralize(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{} {what}s", format_count(number)) }
}

/// Formats a timestamp such as `2026-11-16T21:36:02.123Z` as `2026-11-16 21:36`; returns `-` for anything else.
pub(crate) fn format_minute(at: &str) -> String {
    if journal::parse_millis(at).is_none() {
        return "-".to_owned();
    }
    at.chars().take("2026-11-16T21:36".len()).collect::<String>().replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_readable_units() {
        for (millis, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1000, "1.0 s"),
            (9_999, "9.9 s"),
            (59_999, "59 s"),
            (200_000, "3 min 20 s"),
            (7_500_000, "2 h 5 min"),
            (u64::MAX, "5,124,095,576,030 h 25 min"),
        ] {
            assert_eq!(format_duration(millis), expected);
            assert!(format_duration_short(millis).len() <= 7);
        }
        assert_eq!(
            [format_duration_short(59_999), format_duration_short(200_000), format_duration_short(7_500_000)],
            ["59 s", "3.3 min", "2.0 h"]
        );
        for (number, expected) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1000, "1.0 kB"),
            (12_345, "12.3 kB"),
            (4_000_000, "4.0 MB"),
            (u64::MAX, "18,446,744.0 TB"),
        ] {
            assert_eq!(format_bytes(number), expected);
        }
        assert_eq!(
            [format_count(7), format_count(1204), format_count(1_234_567)],
            ["7", "1,204", "1,234,567"]
        );
        assert_eq!(
            [format_minute("2026-11-16T21:36:02.123Z"), format_minute("\u{1b}[31m")],
            ["2026-11-16 21:36", "-"]
        );
    }
}
