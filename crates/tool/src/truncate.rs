//! Truncates long text to its head and tail, with a marker line in between.
//!
//! Budgets are in tokens; a token counts as four bytes of UTF-8, rounded up. No tokenizer is used: the estimate is the
//! same for every model, costs nothing and errs on the long side for code. That is worth more here than an exact count
//! for one model.

use crate::OmittedSize;

/// The number of bytes that count as one token.
pub const BYTES_PER_TOKEN: usize = 4;
/// Space reserved for the marker line.
const MARKER_BYTES: usize = 200;
/// A cut moves to a line boundary if that costs at most one part in this many of the half.
const LINE_CUT_DIVISOR: usize = 2;

/// Truncates `text` to `tokens`, keeping its head and tail. `rest` is the marker's note on where the full text is.
///
/// Cuts between lines where possible, else between characters.
pub fn truncate_middle(text: &str, tokens: usize, rest: &str) -> (String, Option<OmittedSize>) {
    let budget = tokens.saturating_mul(BYTES_PER_TOKEN);
    if text.len() <= budget {
        return (text.to_owned(), None);
    }
    let half = budget.saturating_sub(MARKER_BYTES) / 2;
    let head = take_head(text, half);
    let tail = take_tail(&text[head.len()..], half);
    let missing = &text[head.len()..text.len() - tail.len()];
    let omitted = OmittedSize { bytes: missing.len(), lines: missing.matches('\n').count() };
    let marker = truncation_marker(omitted.bytes, Some(omitted.lines), rest);
    (format!("{}{marker}{tail}", with_newline(head)), Some(omitted))
}

/// Returns the line between head and tail. `lines` is `None` if the omitted lines were not counted.
pub fn truncation_marker(bytes: usize, lines: Option<usize>, rest: &str) -> String {
    let tokens = bytes.div_ceil(BYTES_PER_TOKEN);
    let lines = lines.map_or_else(String::new, |lines| format!("{lines} lines, "));
    format!("[… {lines}{bytes} bytes (about {tokens} tokens) cut here; {rest} …]\n")
}

fn with_newline(head: &str) -> String {
    let mut head = head.to_owned();
    if !head.is_empty() && !head.ends_with('\n') {
        head.push('\n');
    }
    head
}

/// Returns the beginning of `text`, at most `bytes` long.
pub fn take_head(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = text.floor_char_boundary(bytes);
    let line = text[..end].rfind('\n').map_or(0, |at| at + 1);
    if end - line <= bytes / LINE_CUT_DIVISOR { &text[..line] } else { &text[..end] }
}

/// Returns the end of `text`, at most `bytes` long.
pub fn take_tail(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let start = text.ceil_char_boundary(text.len() - bytes);
    let line = text[start..].find('\n').map_or(text.len(), |at| start + at + 1);
    if line - start <= bytes / LINE_CUT_DIVISOR { &text[line..] } else { &text[start..] }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(truncate_middle("abc\n", 1, "x"), ("abc\n".to_owned(), None));
        assert_eq!(truncate_middle("", 0, "x"), (String::new(), None));
    }

    #[test]
    fn long_text_keeps_whole_lines_at_both_ends() {
        let text: String = (1..=200).map(|n| format!("line {n}\n")).collect();
        let (short, cut) = truncate_middle(&text, 60, "all of it is in `/tmp/x`");
        assert_snapshot!(short, @r"
        line 1
        line 2
        [… 196 lines, 1660 bytes (about 415 tokens) cut here; all of it is in `/tmp/x` …]
        line 199
        line 200
        ");
        assert_eq!(cut, Some(OmittedSize { bytes: 1660, lines: 196 }));
    }

    #[test]
    fn one_endless_line_is_cut_between_characters() {
        let (short, _) = truncate_middle(&"é".repeat(1000), 60, "the rest was not kept");
        assert_snapshot!(short, @r"
        éééééééééé
        [… 0 lines, 1960 bytes (about 490 tokens) cut here; the rest was not kept …]
        éééééééééé
        ");
    }

    proptest! {
        /// Laws: within the budget, a prefix and a suffix of the text, and nothing miscounted.
        #[test]
        fn head_and_tail(text in "([a-zé\n]{0,40}){0,60}", tokens in 50usize..300) {
            let (short, cut) = truncate_middle(&text, tokens, "gone");
            prop_assert!(short.len() <= tokens * BYTES_PER_TOKEN);
            match cut {
                None => prop_assert_eq!(short, text),
                Some(cut) => {
                    let (head, tail) = short.split_once("[… ").unwrap();
                    let tail = tail.split_once(" …]\n").unwrap().1;
                    prop_assert!(text.starts_with(head.trim_end_matches('\n')));
                    prop_assert!(text.ends_with(tail));
                    prop_assert!(text.len() - cut.bytes <= head.len() + tail.len());
                }
            }
        }
    }
}
