//! What a terminal was sent → what it shows.

use std::num::NonZero;

use exec::process::Size;

/// The lines that a terminal of this size shows after it was sent `bytes`, and where its cursor is.
pub(crate) fn screen(bytes: &[u8], size: Size) -> String {
    let at_least_one = |length: u16| NonZero::new(length).unwrap_or(NonZero::<u16>::MIN);
    let mut parser = vt100::Parser::new(at_least_one(size.rows), at_least_one(size.cols), 0);
    parser.process(bytes);
    let screen = parser.screen();
    let (row, column) = screen.cursor_position();
    let mut lines: Vec<String> = screen.rows(0, size.cols).map(|line| line.trim_end().to_owned()).collect();
    let used = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    lines.truncate(used.max(usize::from(row) + 1));
    let Size { rows, cols } = size;
    let shown = lines.join("\n");
    format!(
        "Screen: {rows} lines of {cols} columns, cursor at line {}, column {}\n{shown}\n",
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
        let size = Size { rows: 5, cols: 20 };
        let drawn = b"one\r\ntwo\x1b[1;1H\x1b[31mONE\x1b[0m\x1b[3;5Hhere";
        assert_snapshot!(screen(drawn, size), @"
        Screen: 5 lines of 20 columns, cursor at line 3, column 9
        ONE
        two
            here
        ");
    }
}
