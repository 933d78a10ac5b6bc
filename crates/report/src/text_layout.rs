//! Layout of log text for a terminal: escapes and quotes foreign text, and marks truncation.

use std::fmt::Write;

use anstyle::Style;

use crate::format_amount;
use terminal::FAINT;

/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 240;

/// The column at which the further rows of a wrapped line begin.
const HANGING_INDENT: &str = "            ";
/// The narrowest screen for which lines are wrapped.
const MIN_WRAP_WIDTH: usize = 40;

/// The columns of the bar before a quoted line.
const BAR_WIDTH: usize = 2;

/// Styled text. All added text is made visible.
pub(crate) struct TextLayout {
    text: String,
    /// The width of the screen, if lines are wrapped at words.
    width: Option<usize>,
}

impl TextLayout {
    /// Creates a layout for a screen of `width` columns; without a width, lines are not wrapped.
    pub(crate) fn new(width: Option<usize>) -> Self {
        Self { text: String::new(), width: width.filter(|&width| width >= MIN_WRAP_WIDTH) }
    }

    /// Adds an empty line.
    pub(crate) fn blank_line(&mut self) {
        self.text.push('\n');
    }

    /// Adds a line of any text. `indent` is added unchanged.
    pub(crate) fn line(&mut self, indent: &str, text: &str, style: Style) {
        let text = truncate_line(&terminal::to_one_line(text));
        let (first, rest) = match self.room(indent.len()) {
            Some(room) => split_row(&text, room),
            None => (text.as_str(), ""),
        };
        let _infallible = writeln!(self.text, "{indent}{style}{first}{style:#}");
        for row in self.wrap(rest, HANGING_INDENT.len()) {
            let _infallible = writeln!(self.text, "{HANGING_INDENT}{style}{row}{style:#}");
        }
    }

    /// Returns the columns that a row has after `used` ones. The last column stays empty.
    fn room(&self, used: usize) -> Option<usize> {
        self.width.map(|width| width.saturating_sub(used + 1).max(1))
    }

    /// Wraps text into rows that begin after `used` columns; nothing for an empty text.
    fn wrap(&self, text: &str, used: usize) -> Vec<String> {
        match self.room(used) {
            _ if text.is_empty() => Vec::new(),
            Some(room) => terminal::wrap_words(text, room),
            None => vec![text.to_owned()],
        }
    }

    /// Quotes the first `max_lines` lines of a text behind a bar. A last line states how much is left out, with the
    /// bytes that were omitted before.
    pub(crate) fn quote(
        &mut self,
        indent: &str,
        (text, omitted_bytes): (&str, usize),
        max_lines: usize,
        style: impl Fn(&str) -> Style,
    ) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let mut rest = text.split('\n');
        if text.is_empty() {
            rest.next();
        }
        for line in rest.by_ref().take(max_lines) {
            let style = style(line);
            let line = truncate_line(&terminal::escape_invisible(line));
            if line.is_empty() {
                let _infallible = writeln!(self.text, "{indent}{FAINT}│{FAINT:#}{style}{style:#}");
            }
            for row in self.wrap(&line, indent.len() + BAR_WIDTH) {
                let _infallible = writeln!(self.text, "{indent}{FAINT}│{FAINT:#} {style}{row}{style:#}");
            }
        }
        let (lines, bytes) = (rest.count() as u64, omitted_bytes as u64);
        let left = match (lines, bytes) {
            (0, 0) => return,
            (lines, 0) => format!("… {} more", format_amount::pluralize(lines, "line")),
            (0, bytes) => format!("… {} more", format_amount::format_bytes(bytes)),
            (lines, bytes) => {
                format!(
                    "… {} and {} more",
                    format_amount::pluralize(lines, "line"),
                    format_amount::format_bytes(bytes)
                )
            }
        };
        let _infallible = writeln!(self.text, "{indent}{FAINT}│ {left}{FAINT:#}");
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// Splits a text at a word: the row that fits, and the rest.
fn split_row(text: &str, room: usize) -> (&str, &str) {
    let first = terminal::wrap_words(text, room).into_iter().next().unwrap_or_default();
    match text.strip_prefix(first.as_str()) {
        Some(rest) => (&text[..first.len()], rest.trim_start()),
        None => (text, ""),
    }
}

/// Truncates a line.
fn truncate_line(line: &str) -> String {
    let mut letters = line.chars();
    let mut clipped: String = letters.by_ref().take(MAX_LINE_CHARS).collect();
    if letters.next().is_some() {
        clipped.push('…');
    }
    clipped.truncate(clipped.trim_end().len());
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str, left_out: usize) -> String {
        let mut layout = TextLayout::new(None);
        layout.quote("  ", (text, left_out), 2, |_| Style::new());
        anstream::adapter::strip_str(&layout.into_text()).to_string()
    }

    #[test]
    fn a_cut_quote_states_how_much_is_left_out() {
        for (text, left_out, expected) in [
            ("", 0, ""),
            ("a\nb\n", 0, "  │ a\n  │ b\n"),
            ("a\n\nb\nc", 0, "  │ a\n  │\n  │ … 2 lines more\n"),
            ("a\nb\nc", 7, "  │ a\n  │ b\n  │ … 1 line and 7 bytes more\n"),
            ("", 2000, "  │ … 2.0 kB more\n"),
            ("\u{1b}[31m\r", 0, "  │ \\u{1b}[31m\\u{d}\n"),
        ] {
            assert_eq!(quoted(text, left_out), expected);
        }
        assert_eq!(truncate_line(&"x".repeat(1000)).chars().count(), MAX_LINE_CHARS + 1);
    }
}
