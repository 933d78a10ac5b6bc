//! Matches text against a shell glob pattern.

/// Maximum length of a pattern and of a text.
const MAX_GLOB_BYTES: usize = 256;

/// Returns true if all of `text` matches `pattern`, with the shell's `*`, `?` and `[…]`.
pub(crate) fn glob_matches(pattern: &str, text: &str) -> bool {
    if pattern.len() > MAX_GLOB_BYTES || text.len() > MAX_GLOB_BYTES {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    // Dynamic programming: `reached[n]` is true if the pattern so far matches the first n characters.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut at = 0;
    // ends: each round passes a letter of the pattern
    while at < pattern.len() {
        let (item, after) = parse_item(&pattern, at);
        let mut next = vec![false; text.len() + 1];
        match item {
            GlobItem::AnySequence => {
                let mut seen = false;
                for (here, was) in next.iter_mut().zip(&reached) {
                    seen |= *was;
                    *here = seen;
                }
            }
            GlobItem::OneChar(set) => {
                for (end, letter) in text.iter().enumerate() {
                    next[end + 1] = reached[end] && set.contains(*letter);
                }
            }
        }
        reached = next;
        at = after;
    }
    reached[text.len()]
}

/// One element of a pattern.
enum GlobItem<'a> {
    AnySequence,
    OneChar(GlobCharSet<'a>),
}

/// The characters that one element matches.
enum GlobCharSet<'a> {
    AnyChar,
    Literal(char),
    Class { listed: &'a [char], but: bool },
}

impl GlobCharSet<'_> {
    fn contains(&self, letter: char) -> bool {
        match self {
            Self::AnyChar => true,
            Self::Literal(one) => *one == letter,
            Self::Class { listed, but } => {
                let ranges = listed.windows(3).any(|w| w[1] == '-' && (w[0]..=w[2]).contains(&letter));
                (ranges || listed.contains(&letter)) != *but
            }
        }
    }
}

/// Parses the element of `pattern` at `at`, and returns the position after it.
fn parse_item(pattern: &[char], at: usize) -> (GlobItem<'_>, usize) {
    match pattern[at] {
        '*' => (GlobItem::AnySequence, at + 1),
        '?' => (GlobItem::OneChar(GlobCharSet::AnyChar), at + 1),
        '\\' if at + 1 < pattern.len() => (GlobItem::OneChar(GlobCharSet::Literal(pattern[at + 1])), at + 2),
        '[' => {
            let but = matches!(pattern.get(at + 1), Some('!' | '^'));
            let from = at + 1 + usize::from(but);
            // A bracket in the first position is an ordinary character.
            let end = pattern.iter().skip(from + 1).position(|letter| *letter == ']');
            match end.map(|end| from + 1 + end) {
                Some(end) => {
                    (GlobItem::OneChar(GlobCharSet::Class { listed: &pattern[from..end], but }), end + 1)
                }
                None => (GlobItem::OneChar(GlobCharSet::Literal('[')), at + 1),
            }
        }
        letter => (GlobItem::OneChar(GlobCharSet::Literal(letter)), at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::glob_matches;

    #[test]
    fn matches_shell_patterns() {
        for (pattern, text, expected) in [
            ("rm", "rm", true),
            ("r?", "rm", true),
            ("r?", "r", false),
            ("*", "", true),
            ("r*m", "rm", true),
            ("*m", "rm", true),
            ("[r]m", "rm", true),
            ("[!r]m", "rm", false),
            ("[a-z]m", "rm", true),
            ("[a-c]m", "rm", false),
            ("[]r]m", "rm", true),
            ("[m", "[m", true),
            ("\\*", "x", false),
            ("r??", "rm", false),
        ] {
            assert_eq!(glob_matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
