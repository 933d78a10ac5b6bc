//! Compares the answer of a replayed call with the recorded one, ignoring times, spill paths and process IDs.

/// The first differing line of two answers.
#[derive(Debug, PartialEq, Eq)]
pub struct AnswerDifference {
    /// Line of the recorded answer.
    pub was: String,
    /// Line of the replayed answer.
    pub is: String,
}

/// Returns the first difference of two answers.
pub(crate) fn first_difference(was: &str, is: &str) -> Option<AnswerDifference> {
    let (mut was, mut is) = (comparable_lines(was), comparable_lines(is));
    // ends: with either of them
    loop {
        match (was.next(), is.next()) {
            (None, None) => return None,
            (was, is) if was == is => {}
            (was, is) => {
                let line = |line: Option<String>| line.unwrap_or_else(|| "(nothing more)".to_owned());
                return Some(AnswerDifference { was: line(was), is: line(is) });
            }
        }
    }
}

/// Returns the lines that are compared, normalized.
fn comparable_lines(text: &str) -> impl Iterator<Item = String> {
    let counts = |line: &&str| !line.starts_with("Wall time: ") && !line.contains("the whole output is in `");
    let mut is_output = false;
    text.lines().filter(counts).map(move |line| {
        let line = if is_output { line.to_owned() } else { mask_varying_label(line) };
        is_output |= line == "Output:";
        mask_timestamps(&line)
    })
}

/// The starts of a label of a cancelled command.
const ABORTED: [&str; 2] = ["aborted by the user after ", "aborted after "];

/// Removes process IDs and times from a label of a command's answer.
fn mask_varying_label(line: &str) -> String {
    const PROCESS_LABELS: [&str; 3] = ["Ended: ", "Left running, so ended", "Could not be killed: "];
    if PROCESS_LABELS.iter().any(|label| line.starts_with(label)) {
        mask_numbers(line, (" (", ")"), "a process")
    } else if ABORTED.iter().any(|start| line.starts_with(start)) {
        mask_numbers(line, (" after ", " seconds"), "some")
    } else if line.contains(" s, pid ") {
        let line = mask_numbers(line, (" for ", " s, pid "), "some");
        mask_numbers(&line, (", pid ", ","), "some")
    } else {
        line.to_owned()
    }
}

/// Replaces each number between `before` and `after` with `word`.
fn mask_numbers(line: &str, (before, after): (&str, &str), word: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    // ends: with the line
    while let Some(at) = rest.find(before) {
        let (head, tail) = rest.split_at(at + before.len());
        out.push_str(head);
        let digits =
            tail.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(tail.len());
        let is_number = digits > 0 && tail[digits..].starts_with(after);
        out.push_str(if is_number { word } else { &tail[..digits] });
        rest = &tail[digits..];
    }
    out + rest
}

/// Replaces every timestamp like `2026-11-17 02:12` with a placeholder.
fn mask_timestamps(line: &str) -> String {
    const TIMESTAMP_SHAPE: &[u8] = b"dddd-dd-dd dd:dd";
    let fits = |part: &[u8]| {
        part.len() == TIMESTAMP_SHAPE.len()
            && part.iter().zip(TIMESTAMP_SHAPE).all(|(byte, shape)| match shape {
                b'd' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    let mut out = line.to_owned();
    let mut from = 0;
    while let Some(at) = out.as_bytes()[from..].windows(TIMESTAMP_SHAPE.len()).position(fits) {
        let start = from + at;
        out.replace_range(start..start + TIMESTAMP_SHAPE.len(), "(a time)");
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
            ("Ended: sleep (2)\nOutput:", "Ended: sleep (31)\nOutput:", None),
            ("Ended: a (2), b (3) and 1 more", "Ended: a (4), b (5) and 1 more", None),
            ("Ended: a (2)", "Ended: b (2)", Some(("Ended: a (a process)", "Ended: b (a process)"))),
            ("Could not be killed: a (2)", "Could not be killed: a (9)", None),
            ("aborted by the user after 0.2 seconds", "aborted by the user after 1.3 seconds", None),
            ("1000: running for 0.2 s, pid 7, x", "1000: running for 1.0 s, pid 8, x", None),
            ("Output:\nEnded: a (2)", "Output:\nEnded: a (3)", Some(("Ended: a (2)", "Ended: a (3)"))),
            ("a\nb", "a\nc", Some(("b", "c"))),
            ("a\nb", "a", Some(("b", "(nothing more)"))),
            ("", "x", Some(("(nothing more)", "x"))),
        ];
        for (was, is, expected) in rows {
            let found = first_difference(was, is);
            let found = found.as_ref().map(|found| (found.was.as_str(), found.is.as_str()));
            assert_eq!(found, expected, "{was:?} {is:?}");
        }
    }
}
