//! Compares two lines: exactly, ignoring whitespace, or ignoring typography.

use std::borrow::Cow;

/// The strictness of a line comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LineLikeness {
    /// Byte for byte.
    Exact,
    /// Ignores trailing whitespace.
    Trailing,
    /// Ignores leading and trailing whitespace.
    Trimmed,
    /// Collapses runs of whitespace, and ignores the typography of quotes and dashes.
    Folded,
}

impl LineLikeness {
    /// Returns true if `a` and `b` are equal under this comparison.
    pub(crate) fn accepts(self, a: &str, b: &str) -> bool {
        match self {
            Self::Exact => a == b,
            Self::Trailing => a.trim_end() == b.trim_end(),
            Self::Trimmed => a.trim() == b.trim(),
            Self::Folded => fold_line(a) == fold_line(b),
        }
    }
}

/// Returns the ASCII equivalent of a quote, dash or space character.
pub(crate) fn ascii_equivalent(char: char) -> char {
    match char {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{02bc}' | '\u{ff07}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ff02}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// Returns true for zero-width characters and soft hyphens.
fn is_zero_width(char: char) -> bool {
    matches!(char, '\u{200b}' | '\u{200c}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

/// Normalises whitespace and typography for a comparison.
pub(crate) fn fold_line(line: &str) -> Cow<'_, str> {
    let trimmed = line.trim();
    let usual = |bytes: &[u8]| bytes.iter().all(u8::is_ascii) && !bytes.contains(&b'\t');
    if usual(trimmed.as_bytes()) && !trimmed.contains("  ") {
        return Cow::Borrowed(trimmed);
    }
    let mut folded = String::with_capacity(trimmed.len());
    for char in trimmed.chars().filter(|char| !is_zero_width(*char)) {
        match char {
            '…' => folded.push_str("..."),
            char => match ascii_equivalent(char) {
                blank if blank.is_whitespace() => {
                    if !folded.is_empty() && !folded.ends_with(' ') {
                        folded.push(' ');
                    }
                }
                char => folded.push(char),
            },
        }
    }
    folded.truncate(folded.trim_end().len());
    Cow::Owned(folded)
}

/// Returns the leading whitespace of a line.
pub(crate) fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Returns true if a line is empty or whitespace.
pub(crate) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Returns the similarity of two lines, from 0 to 1. A value that cannot reach one half counts as 0.
pub(crate) fn line_similarity(a: &str, b: &str) -> f64 {
    let (a, b) = (fold_line(a), fold_line(b));
    if a == b {
        return 1.0;
    }
    let (short, long) = if a.len() < b.len() { (&a, &b) } else { (&b, &a) };
    // A truncated line matches the line that it begins.
    let cut = short.trim_end_matches("...").trim_end();
    if cut.len() >= 10 && long.starts_with(cut) {
        return 0.9;
    }
    // The Sørensen–Dice coefficient is bounded by the shorter line's share.
    let said = |line: &str| line.chars().filter(|char| !char.is_whitespace()).count().saturating_sub(1);
    if said(short) * 3 < said(long) {
        return 0.0;
    }
    strsim::sorensen_dice(&a, &b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_alike_as_far_as_is_asked() {
        use LineLikeness::{Exact, Folded, Trailing, Trimmed};
        let rows = [
            ("a b", "a b", Some(Exact)),
            ("a b", "a b  ", Some(Trailing)),
            ("\ta b", "    a b", Some(Trimmed)),
            ("let a  = 'x';", "let a = ‘x’;", Some(Folded)),
            ("a – b", "a - b", Some(Folded)),
            ("wait…", "wait...", Some(Folded)),
            ("a\u{a0}b", "a b", Some(Folded)),
            ("zero\u{200b}width", "zerowidth", Some(Folded)),
            ("ab", "a b", None),
            ("a", "A", None),
        ];
        for (a, b, least) in rows {
            for likeness in [Exact, Trailing, Trimmed, Folded] {
                let expected = least.is_some_and(|least| likeness >= least);
                assert_eq!(likeness.accepts(a, b), expected, "{a:?} {b:?} {likeness:?}");
            }
        }
    }
}
