//! Sanitizes foreign text for a model: removes invisible characters and limits the length.

use policy::is_invisible;

/// Removes invisible characters and truncates to `cap` characters, the last of which is then `…`.
pub(crate) fn sanitize_text(text: &str, cap: usize) -> String {
    let visible =
        text.chars().filter(|&letter| !is_invisible(letter)).skip_while(|letter| letter.is_whitespace());
    let mut cleaned = String::new();
    for (count, letter) in visible.enumerate() {
        if count == cap {
            cleaned.pop();
            cleaned.push('…');
            break;
        }
        cleaned.push(letter);
    }
    cleaned.truncate(cleaned.trim_end().len());
    cleaned
}

#[cfg(test)]
mod tests {
    use super::sanitize_text;

    #[test]
    fn invisible_text_is_stripped() {
        for (text, wanted) in [
            ("plain", "plain"),
            (" a\tb\n", "a\tb"),
            ("a\r\nb\u{1b}[31m\u{0}", "a\nb[31m"),
            ("i\u{200b}g\u{200d}n\u{feff}ore", "ignore"),
            ("\u{202e}evil\u{202c}\u{2066}x\u{2069}", "evilx"),
            ("x\u{e0041}\u{e0042}\u{e007f}", "x"),
            ("\u{200b} \u{200b}x \u{200b}", "x"),
            ("größe 尺寸", "größe 尺寸"),
        ] {
            assert_eq!(sanitize_text(text, 100), wanted);
        }
    }

    #[test]
    fn cut_counts_characters_and_settles() {
        for (text, wanted) in [("abcd", "abcd"), ("abcde", "abc…"), ("äöüßx", "äöü…"), ("ab  e", "ab …")]
        {
            let cut = sanitize_text(text, 4);
            assert_eq!(cut, wanted);
            assert_eq!(sanitize_text(&cut, 4), cut);
        }
    }
}
