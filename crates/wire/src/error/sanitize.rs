//! Sanitises error text of a server into one bounded line, without invisible characters and API keys.

/// Maximum number of characters of a server's error text.
pub(super) const MAX_TEXT_CHARS: usize = 500;

/// Maximum number of characters of the status and the error identifier.
pub(super) const MAX_IDENTIFIER_CHARS: usize = 80;

/// Prefixes of API keys. OpenAI repeats part of a wrong key in its error text.
const KEY_PREFIXES: &[&str] = &[
    "sk-", "sk_", "pk-", "pk_", "rk_", "gsk_", "xai-", "hf_", "nvapi-", "csk-", "r8_", "tgp_", "AIza", "eyJ",
];

/// A run of this many letters and digits counts as a key, whatever its prefix.
const MIN_KEY_LENGTH: usize = 40;

/// Replaces a key.
const KEY_PLACEHOLDER: &str = "[key]";

/// Returns the text as one line of at most `cap` characters, followed by `…` if it was cut.
pub(super) fn sanitize_line(text: &str, cap: usize) -> String {
    // A body may be long, and text this far beyond the cap is never shown.
    let start: String = text.chars().take(cap.saturating_mul(4)).collect();
    let words = start.split_whitespace().map(|word| escape_invisible(&without_key(word)));
    let line = words.collect::<Vec<_>>().join(" ");
    if line.chars().count() <= cap && start.len() == text.len() {
        return line;
    }
    line.chars().take(cap).chain(['…']).collect()
}

/// Returns a body that is not JSON. An HTML page is replaced by a remark.
pub(super) fn describe_body(body: &str) -> String {
    if body.trim_start().starts_with('<') {
        "it answered with a web page".to_owned()
    } else {
        body.to_owned()
    }
}

/// Returns the word with everything that looks like a key replaced.
fn without_key(word: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '*');
    let mut clean = String::new();
    let mut rest = word;
    // ends: every round takes at least one character off `rest`
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        if end == 0 {
            clean.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (run, after) = rest.split_at(end);
        let secret = run.len() >= MIN_KEY_LENGTH
            || run.contains("**")
            || KEY_PREFIXES.iter().any(|key| run.starts_with(key));
        clean.push_str(if secret { KEY_PLACEHOLDER } else { run });
        rest = after;
    }
    clean
}

/// Escapes control characters, and characters that are invisible or change the direction of text.
fn escape_invisible(text: &str) -> String {
    let hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(letter, '\u{e0000}'..='\u{e0fff}')
    };
    text.chars().fold(String::new(), |mut shown, letter| {
        if hidden(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_hidden_letters_are_not_shown_as_they_are() {
        for (text, shown) in [
            ("Incorrect API key provided: sk-proj-ab12.", "Incorrect API key provided: [key]."),
            ("key abc******xyz, \"Bearer gsk_1\"", "key [key], \"Bearer [key]\""),
            ("a\u{1b}[31m\n\n b\u{202e}\u{0}", "a\\u{1b}[31m b\\u{202e}\\u{0}"),
            ("claude-sonnet-4-5-20250929 é", "claude-sonnet-4-5-20250929 é"),
            (&"x".repeat(40), "[key]"),
        ] {
            assert_eq!(sanitize_line(text, 100), shown);
        }
    }

    #[test]
    fn lines_are_bounded() {
        assert_eq!(sanitize_line("ab cd", 5), "ab cd");
        assert_eq!(sanitize_line("ab cde", 5), "ab cd…");
        assert_eq!(sanitize_line(&"\u{1} ".repeat(1000), 5).chars().count(), 6);
    }
}
