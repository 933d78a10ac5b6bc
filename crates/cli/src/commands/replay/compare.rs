//! Whether an answer is what it was: times and places of chance do not count.

/// How an answer differs: the first line that does, as it was and as it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) was: String,
    pub(super) is: String,
}

/// Compares two answers.
pub(super) fn difference(was: &str, is: &str) -> Option<Difference> {
    let (mut was, mut is) = (lines(was), lines(is));
    // ends: with either of them
    loop {
        match (was.next(), is.next()) {
            (None, None) => return None,
            (was, is) if was == is => {}
            (was, is) => {
                let line = |line: Option<String>| line.unwrap_or_else(|| "(nothing more)".to_owned());
                return Some(Difference { was: line(was), is: line(is) });
            }
        }
    }
}

/// The lines that count.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let counts = |line: &&str| !line.starts_with("Wall time: ") && !line.contains("the whole output is in `");
    text.lines().filter(counts).map(timeless)
}

/// A line with every `2026-11-17 02:12` in it made the same.
fn timeless(line: &str) -> String {
    const SHAPE: &[u8] = b"dddd-dd-dd dd:dd";
    let fits = |part: &[u8]| {
        part.len() == SHAPE.len()
            && part.iter().zip(SHAPE).all(|(byte, shape)| match shape {
                b'd' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    let mut out = line.to_owned();
    let mut from = 0;
    while let Some(at) = out.as_bytes()[from..].windows(SHAPE.len()).position(fits) {
        let start = from + at;
        out.replace_range(start..start + SHAPE.len(), "(a time)");
        from = start + 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_do_not_count_and_words_do() {
        let rows = [
            ("Wall time: 0.1 seconds\nok", "Wall time: 0.2 seconds\nok", None),
            ("2026-11-17 01:40 8 a", "2027-01-02 03:04 8 a", None),
            ("a\nb", "a\nc", Some(("b", "c"))),
            ("a\nb", "a", Some(("b", "(nothing more)"))),
            ("", "x", Some(("(nothing more)", "x"))),
        ];
        for (was, is, expected) in rows {
            let found = difference(was, is);
            let found = found.as_ref().map(|found| (found.was.as_str(), found.is.as_str()));
            assert_eq!(found, expected, "{was:?} {is:?}");
        }
    }
}
