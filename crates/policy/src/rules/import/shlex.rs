//! Splits a text into words like Python's `shlex.split`: quotes and escapes, but no other shell syntax.

/// Splits `text` into words; `None` if a quote is not closed.
pub(super) fn split_words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut letters = text.chars();
    // ends: each round takes a letter
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let word = word.get_or_insert_default();
                let (inner, rest) = letters.as_str().split_once('\'')?;
                word.push_str(inner);
                letters = rest.chars();
            }
            '"' => read_double_quoted(&mut letters, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(letters.next()?),
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '#' if word.is_none() => {
                let rest = letters.as_str();
                letters = rest.split_once('\n').map_or("", |(_, rest)| rest).chars();
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

/// Reads text in double quotes, after the opening quote.
fn read_double_quoted(letters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    // ends: each round takes a letter
    loop {
        match letters.next()? {
            '"' => return Some(()),
            '\\' => match letters.next()? {
                letter @ ('"' | '\\' | '$' | '`') => word.push(letter),
                '\n' => {}
                letter => word.extend(['\\', letter]),
            },
            letter => word.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_like_python_shlex() {
        for (text, expected) in [
            ("git push origin", Some(vec!["git", "push", "origin"])),
            ("  a\tb\nc ", Some(vec!["a", "b", "c"])),
            ("a 'b c'\"d e\"f", Some(vec!["a", "b cd ef"])),
            (r#"a\ b "\"\\\n" '\'"#, Some(vec!["a b", "\"\\\\n", "\\"])),
            ("'' \"\"", Some(vec!["", ""])),
            ("a $x | b", Some(vec!["a", "$x", "|", "b"])),
            ("a # b\nc#d", Some(vec!["a", "c#d"])),
            ("", Some(vec![])),
            ("'a", None),
            ("\"a", None),
            ("a\\", None),
        ] {
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(split_words(text), expected, "{text}");
        }
    }
}
