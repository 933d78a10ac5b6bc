//! The list of invisible and deceptive Unicode characters.

/// Returns true if a reader cannot see `letter`: control characters except tab and newline, and characters that hide or
/// reorder text.
pub fn is_invisible(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t')
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' // soft hyphen, joiners, Arabic and Mongolian marks
            | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{3164}' | '\u{ffa0}' // fillers
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' // zero width, separators, bidi
            | '\u{2060}'..='\u{206f}' | '\u{feff}' // word joiner, isolates
            | '\u{fe00}'..='\u{fe0f}' // variation selectors can carry bytes
            | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' // interlinear annotation, musical beams
            | '\u{e0000}'..='\u{e01ef}') // tags, more variation selectors
}

/// Returns true if `letter` is deceptive in a command: invisible, or a lookalike of the space character.
pub(crate) fn is_deceptive(letter: char) -> bool {
    is_invisible(letter)
        || matches!(
            letter,
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::ScriptWord;
    use crate::{CommandRisk, classify_command};

    #[test]
    fn invisible_characters_are_dangerous_and_escaped() {
        for letter in "\u{1b}\r\u{202e}\u{200b}\u{feff}\u{e0041}\u{1d173}\u{a0}\u{2800}".chars() {
            let word = format!("a{letter}b");
            assert!(matches!(classify_command(&["ls", &word]), CommandRisk::Dangerous(_)), "{word:?}");
            let shown = format!("'a{}b'", letter.escape_unicode());
            assert_eq!(ScriptWord::Literal(word).to_string(), shown);
        }
        // In other text a space lookalike is shown as a space.
        assert!(!is_invisible('\u{a0}') && !is_invisible('\u{3000}') && is_invisible('\u{1d173}'));
    }
}
