//! Renders the bytes sent to a terminal as its current screen.

use std::num::NonZero;
use std::time::{Duration, Instant};

use exec::process::PtySize;
use tool::StopFlag;

/// The time limit of rendering, and the number of bytes between two checks.
const RENDER_TIMEOUT: Duration = Duration::from_secs(1);
const CHUNK_BYTES: usize = 64;

/// Returns the lines that a terminal of this size shows after receiving `bytes`, and its cursor position.
///
/// A few bytes can cause much drawing. Rendering therefore ends after a time limit, or when `stop` is set, with the
/// state so far.
pub(crate) fn render_screen(bytes: &[u8], size: PtySize, stop: &StopFlag) -> String {
    let at_least_one = |length: u16| NonZero::new(length).unwrap_or(NonZero::<u16>::MIN);
    let mut parser = vt100::Parser::new(at_least_one(size.rows), at_least_one(size.cols), 0);
    let began = Instant::now();
    let mut drawn = 0;
    for piece in bytes.chunks(CHUNK_BYTES) {
        if stop.is_requested() || began.elapsed() > RENDER_TIMEOUT {
            break;
        }
        parser.process(piece);
        drawn += piece.len();
    }
    let missing = match bytes.len() - drawn {
        0 => String::new(),
        missing => format!("; the last {missing} bytes take too long to draw"),
    };
    let screen = parser.screen();
    let (row, column) = screen.cursor_position();
    let mut lines: Vec<String> = screen.rows(0, size.cols).map(|line| line.trim_end().to_owned()).collect();
    let used = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    lines.truncate(used.max(usize::from(row) + 1));
    let PtySize { rows, cols } = size;
    let shown = lines.join("\n");
    format!(
        "Screen: {rows} lines of {cols} columns, cursor at line {}, column {}{missing}\n{shown}\n",
        row + 1,
        column + 1
    )
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn a_screen_is_what_a_person_would_see() {
        let size = PtySize { rows: 5, cols: 20 };
        let drawn = b"one\r\ntwo\x1b[1;1H\x1b[31mONE\x1b[0m\x1b[3;5Hhere";
        assert_snapshot!(render_screen(drawn, size, &StopFlag::default()), @"
        Screen: 5 lines of 20 columns, cursor at line 3, column 9
        ONE
        two
            here
        ");
    }
}
