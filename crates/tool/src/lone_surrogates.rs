//! Repairs JSON with lone surrogate escapes, e.g. `\ud83d` without its second half, which parsers reject.

/// Replaces every lone surrogate escape in `text` with U+FFFD. Returns `None` if there is none.
///
/// A stream cut inside an emoji leaves a lone surrogate, and the parser would reject the whole item.
///
/// ```
/// let mended = toolgate_tool::replace_lone_surrogates(r#"{"a": "\ud83d", "b": "\ud83d\ude00"}"#);
/// assert_eq!(mended.as_deref(), Some(r#"{"a": "\ufffd", "b": "\ud83d\ude00"}"#));
/// ```
pub fn replace_lone_surrogates(text: &str) -> Option<String> {
    let mut mended = String::with_capacity(text.len());
    let mut changed = false;
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (parse_surrogate(rest), parse_surrogate(rest.get(6..).unwrap_or_default())) {
            (Some(SurrogateHalf::High), Some(SurrogateHalf::Low)) => 12,
            (Some(_), _) => {
                changed = true;
                mended.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // Any other escape: the backslash and the escaped character stay together.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    mended.push_str(rest);
    changed.then_some(mended)
}

/// A half of a surrogate pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SurrogateHalf {
    High,
    Low,
}

/// Returns the surrogate half that the escape at the start of `text` encodes, if any.
fn parse_surrogate(text: &str) -> Option<SurrogateHalf> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u32::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(SurrogateHalf::High),
        0xdc00..=0xdfff => Some(SurrogateHalf::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn halves_are_replaced_and_pairs_kept() {
        for (text, expected) in [
            (r"plain", None),
            (r"\ud83d\ude00", None),
            (r"\\ud83d", None),
            (r"\ud83d", Some(r"\ufffd")),
            (r"\ude00\ud83d", Some(r"\ufffd\ufffd")),
            (r"a\ud83d\n\ud83d\ude00\", Some(r"a\ufffd\n\ud83d\ude00\")),
            (r"\ud83d\ud83d\ude00", Some(r"\ufffd\ud83d\ude00")),
        ] {
            assert_eq!(replace_lone_surrogates(text).as_deref(), expected, "{text}");
        }
    }

    proptest! {
        /// Law: any text survives, and mended text needs no more mending.
        #[test]
        fn replacement_is_idempotent(text in r#"(\\ud83d|\\ude00|\\|u|é|"){0,12}"#) {
            if let Some(mended) = replace_lone_surrogates(&text) {
                prop_assert_eq!(replace_lone_surrogates(&mended), None);
            }
        }
    }
}
