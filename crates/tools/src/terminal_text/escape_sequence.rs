//! Parses terminal escape sequences: their length and their effect on the current line.

/// The effect of an escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SequenceEffect {
    /// Erases the line from the cursor on.
    EraseRight,
    /// Erases the line up to and including the cursor.
    EraseLeft,
    /// Erases the line.
    EraseLine,
    /// Moves the cursor.
    Move(CursorMove),
    /// No effect on the characters of a line.
    Nothing,
}

/// A cursor movement within the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CursorMove {
    Left(usize),
    Right(usize),
    /// To this column, counted from 0.
    ToColumn(usize),
}

/// Parses the sequence at the start of `bytes`, which is an ESC. Returns its length, at least 1, and its effect.
///
/// Never looks beyond the next ESC, CR or LF, so repeated parsing stays linear.
pub(super) fn parse_sequence(bytes: &[u8]) -> (usize, SequenceEffect) {
    match bytes.get(1) {
        Some(b'[') => parse_control(bytes),
        // A title, a link, an image: up to BEL or `ESC \`. Without an end it is no sequence, and the following text is
        // shown.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => (string_end(bytes).unwrap_or(2), SequenceEffect::Nothing),
        // Selects a character set: `ESC ( B`.
        Some(0x20..=0x2f) => {
            let end = 1 + count_in_range(&bytes[1..], 0x20..=0x2f);
            (end + usize::from(matches!(bytes.get(end), Some(0x30..=0x7e))), SequenceEffect::Nothing)
        }
        Some(0x30..=0x7e) => (2, SequenceEffect::Nothing),
        _ => (1, SequenceEffect::Nothing),
    }
}

fn string_end(bytes: &[u8]) -> Option<usize> {
    let body = bytes[2..].iter().position(|byte| matches!(byte, 0x07 | 0x1b | b'\r' | b'\n'))?;
    match &bytes[2 + body..] {
        [0x07, ..] => Some(2 + body + 1),
        [0x1b, b'\\', ..] => Some(2 + body + 2),
        _ => None,
    }
}

/// Parses `ESC [`, parameters and a letter.
fn parse_control(bytes: &[u8]) -> (usize, SequenceEffect) {
    let parameters = 2 + count_in_range(&bytes[2..], 0x30..=0x3f);
    let end = parameters + count_in_range(&bytes[parameters..], 0x20..=0x2f);
    let Some(&letter @ 0x40..=0x7e) = bytes.get(end) else { return (end, SequenceEffect::Nothing) };
    let effect = match (&bytes[2..end], letter) {
        (b"" | b"0", b'K' | b'J') => SequenceEffect::EraseRight,
        (b"1", b'K') => SequenceEffect::EraseLeft,
        (b"2", b'K') => SequenceEffect::EraseLine,
        (number, b'C' | b'D' | b'G') => parse_cursor_move(number, letter),
        _ => SequenceEffect::Nothing,
    };
    (end + 1, effect)
}

fn parse_cursor_move(number: &[u8], letter: u8) -> SequenceEffect {
    // An empty number and 0 mean 1.
    let number = match std::str::from_utf8(number).map(str::parse::<usize>) {
        Ok(Ok(number)) => number.max(1),
        _ if number.is_empty() => 1,
        _ => return SequenceEffect::Nothing,
    };
    SequenceEffect::Move(match letter {
        b'C' => CursorMove::Right(number),
        b'D' => CursorMove::Left(number),
        _ => CursorMove::ToColumn(number - 1),
    })
}

fn count_in_range(bytes: &[u8], range: std::ops::RangeInclusive<u8>) -> usize {
    bytes.iter().take_while(|byte| range.contains(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_parsed() {
        for (bytes, length, ask) in [
            ("\x1b[31mred", 5, SequenceEffect::Nothing),
            ("\x1b[?2004h$", 8, SequenceEffect::Nothing),
            ("\x1b[38;2;1;2;3m", 13, SequenceEffect::Nothing),
            ("\x1b[2 qx", 5, SequenceEffect::Nothing),
            ("\x1b[K", 3, SequenceEffect::EraseRight),
            ("\x1b[0K", 4, SequenceEffect::EraseRight),
            ("\x1b[J", 3, SequenceEffect::EraseRight),
            ("\x1b[1K", 4, SequenceEffect::EraseLeft),
            ("\x1b[2K", 4, SequenceEffect::EraseLine),
            ("\x1b[?2K", 5, SequenceEffect::Nothing),
            ("\x1b[2J", 4, SequenceEffect::Nothing),
            ("\x1b[C", 3, SequenceEffect::Move(CursorMove::Right(1))),
            ("\x1b[12D", 5, SequenceEffect::Move(CursorMove::Left(12))),
            ("\x1b[0G", 4, SequenceEffect::Move(CursorMove::ToColumn(0))),
            ("\x1b[99999999999999999999G", 23, SequenceEffect::Nothing),
            ("\x1b[3\x1b[m", 3, SequenceEffect::Nothing),
            ("\x1b[", 2, SequenceEffect::Nothing),
            ("\x1b]0;title\x07x", 10, SequenceEffect::Nothing),
            ("\x1b]8;;http://a\x1b\\x", 15, SequenceEffect::Nothing),
            ("\x1b]0;no end", 2, SequenceEffect::Nothing),
            ("\x1b]0;no\rend\x07", 2, SequenceEffect::Nothing),
            ("\x1bPq#0\x1b\\", 7, SequenceEffect::Nothing),
            ("\x1b(B", 3, SequenceEffect::Nothing),
            ("\x1b(", 2, SequenceEffect::Nothing),
            ("\x1b=x", 2, SequenceEffect::Nothing),
            ("\x1b\x1b", 1, SequenceEffect::Nothing),
            ("\x1bé", 1, SequenceEffect::Nothing),
            ("\x1b", 1, SequenceEffect::Nothing),
        ] {
            assert_eq!(parse_sequence(bytes.as_bytes()), (length, ask), "{bytes:?}");
        }
    }
}
