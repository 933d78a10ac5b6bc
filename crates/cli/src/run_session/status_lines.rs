//! The status lines at the bottom of the screen: unfinished text, running calls and typed input.
//!
//! They are redrawn in place.

use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::refusal_lines::{LiveRefusals, WARN};
use session::approval::ScreenSize;
use terminal::{FAINT, NAME, escape_invisible, to_one_line, wrap_words};

/// Maximum number of calls shown, and of output lines of each.
const MAX_CALLS: usize = 4;
const MAX_TAIL_LINES: usize = 3;
/// Maximum rows of typed text, and of the candidates below it.
const MAX_TYPED_ROWS: usize = 10;
const MAX_CANDIDATE_ROWS: usize = 3;
/// Width of the mark before typed text.
const INPUT_MARK_WIDTH: usize = 2;
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_FRAME_MILLIS: u128 = 100;

/// A running call, or the wait for the model.
pub(super) struct BusyStatus<'a> {
    pub(super) label: &'a str,
    pub(super) elapsed: Duration,
    /// The tail of its output.
    pub(super) tail: &'a str,
    pub(super) refusals: LiveRefusals<'a>,
}

/// The content of the status lines.
pub(super) struct StatusView<'a> {
    /// The unfinished text.
    pub(super) partial_text: &'a str,
    pub(super) busy: Vec<BusyStatus<'a>>,
    /// The typed input, if the user can type.
    pub(super) typed: Option<TypedText<'a>>,
}

/// Typed text, with its cursor and the candidates of a completion.
#[derive(Clone, Copy)]
pub(super) struct TypedText<'a> {
    pub(super) text: &'a str,
    /// Position of the cursor in bytes.
    pub(super) cursor: usize,
    pub(super) candidates: &'a [String],
}

/// Rendered status lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StatusFrame {
    lines: Vec<String>,
    /// Line and column of the cursor; `None` for the end of the last line.
    cursor: Option<(usize, usize)>,
}

impl StatusView<'_> {
    /// Renders the lines, none wider than `size` and at most as many as fit.
    pub(super) fn render(&self, size: ScreenSize) -> StatusFrame {
        let width = size.width.saturating_sub(1).max(8);
        let room = size.height.saturating_sub(1).max(1);
        let mut below = Vec::new();
        for busy in self.busy.iter().take(MAX_CALLS) {
            below.extend(busy.lines(width));
        }
        if self.busy.len() > MAX_CALLS {
            below.push(format!("{FAINT}  and {} more{FAINT:#}", self.busy.len() - MAX_CALLS));
        }
        let typed = self.typed.map(|typed| typed.render(width, room.min(MAX_TYPED_ROWS)));
        let typed_rows = typed.as_ref().map_or(0, |typed| typed.lines.len());
        below.drain(..(below.len() + typed_rows).saturating_sub(room).min(below.len()));
        let partial_rows: Vec<String> = match self.partial_text.trim_end() {
            "" => Vec::new(),
            text => text.lines().flat_map(|line| wrap_words(&escape_invisible(line), width)).collect(),
        };
        let from = partial_rows.len().saturating_sub(room - below.len() - typed_rows);
        let mut lines: Vec<String> = partial_rows[from..].iter().cloned().chain(below).collect();
        let above = lines.len();
        let cursor = typed.as_ref().and_then(|typed| typed.cursor).map(|(row, column)| (above + row, column));
        lines.extend(typed.into_iter().flat_map(|typed| typed.lines));
        StatusFrame { lines, cursor }
    }
}

impl TypedText<'_> {
    /// Renders the text in at most `max_rows` rows around the cursor.
    fn render(&self, width: usize, max_rows: usize) -> StatusFrame {
        let room = width.saturating_sub(INPUT_MARK_WIDTH).max(1);
        let rows = self.wrapped_rows(room);
        let cursor = self.cursor_cell(&rows);
        let rows: Vec<String> =
            rows.iter().map(|row| row.iter().map(|(_, shown)| shown.as_str()).collect()).collect();
        let last = (cursor.0 + 1).max(max_rows.min(rows.len()));
        let first = last.saturating_sub(max_rows);
        let mark = |row: usize| if row == 0 { format!("{NAME}›{NAME:#} ") } else { "  ".to_owned() };
        let mut lines: Vec<String> =
            (first..last).map(|row| format!("{}{}", mark(row), rows[row].trim_end())).collect();
        let spare = max_rows.saturating_sub(lines.len()).min(MAX_CANDIDATE_ROWS);
        let candidates = self.candidates.join("  ");
        let candidates = wrap_words(&escape_invisible(&candidates), room).into_iter().take(spare);
        lines.extend(candidates.filter(|row| !row.is_empty()).map(|row| format!("  {FAINT}{row}{FAINT:#}")));
        StatusFrame { lines, cursor: Some((cursor.0 - first, cursor.1 + INPUT_MARK_WIDTH)) }
    }

    /// Wraps the text at words into rows of `room` columns. Each letter has its position in bytes.
    fn wrapped_rows(&self, room: usize) -> Vec<Vec<(usize, String)>> {
        let (mut rows, mut row, mut column) = (Vec::new(), Vec::<(usize, String)>::new(), 0);
        for (at, letter) in self.text.char_indices() {
            let shown = match letter {
                '\n' => {
                    row.push((at, String::new()));
                    rows.push(std::mem::take(&mut row));
                    column = 0;
                    continue;
                }
                '\t' => "    ".to_owned(),
                letter => escape_invisible(letter.encode_utf8(&mut [0; 4])).into_owned(),
            };
            if column + shown.width() <= room {
                column += shown.width();
                row.push((at, shown));
                continue;
            }
            // A blank at the end of a row takes no place.
            if letter == ' ' {
                row.push((at, String::new()));
                continue;
            }
            let is_blank = |(at, _): &(usize, String)| self.text.as_bytes()[*at] == b' ';
            let word_start = row.iter().rposition(is_blank).map_or(row.len(), |blank| blank + 1);
            let word = row.split_off(word_start);
            rows.push(std::mem::replace(&mut row, word));
            row.push((at, shown));
            column = row.iter().map(|(_, shown)| shown.width()).sum();
        }
        rows.push(row);
        rows
    }

    /// Returns the row and the column of the cursor.
    fn cursor_cell(&self, rows: &[Vec<(usize, String)>]) -> (usize, usize) {
        let row =
            rows.iter().rposition(|row| row.first().is_some_and(|(at, _)| *at <= self.cursor)).unwrap_or(0);
        // After a line break at the end, the cursor stands in the empty row that follows.
        let row = if self.cursor >= self.text.len() { rows.len() - 1 } else { row };
        let before = rows[row].iter().take_while(|(at, _)| *at < self.cursor);
        (row, before.map(|(_, shown)| shown.width()).sum())
    }
}

impl BusyStatus<'_> {
    fn lines(&self, width: usize) -> Vec<String> {
        let turn =
            usize::try_from(self.elapsed.as_millis() / SPINNER_FRAME_MILLIS).unwrap_or(0) % SPINNER.len();
        let took = format!(" {} s, Esc stops it", self.elapsed.as_secs());
        let what = truncate_to_width(self.label, width.saturating_sub(took.width() + 2));
        let mut lines = vec![format!("{} {what}{FAINT}{took}{FAINT:#}", SPINNER[turn])];
        let plain = anstream::adapter::strip_str(self.tail).to_string();
        let written: Vec<&str> = plain
            .lines()
            .map(|line| line.trim_end().rsplit('\r').next().unwrap_or_default())
            .filter(|line| !line.trim().is_empty())
            .collect();
        for line in &written[written.len().saturating_sub(MAX_TAIL_LINES)..] {
            let line = truncate_to_width(&to_one_line(&line.replace('\t', "    ")), width - 4);
            lines.push(format!("  {FAINT}│ {line}{FAINT:#}"));
        }
        let refused = self.refusals.rows(width - 4).into_iter().map(|row| truncate_to_width(&row, width - 2));
        lines.extend(refused.map(|row| format!("  {WARN}{row}{WARN:#}")));
        lines
    }
}

/// Truncates `text` to `width` columns, keeping its beginning.
pub(super) fn truncate_to_width(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |letter: &char| {
        let needed = letter.width().unwrap_or(0);
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// The status lines on the screen, remembered so that they can be overwritten.
#[derive(Default)]
pub(super) struct StatusLines {
    shown: StatusFrame,
}

impl StatusLines {
    /// Returns the escape sequence that erases the lines and leaves the cursor at the start of the first.
    pub(super) fn erase_sequence(&mut self, size: ScreenSize) -> String {
        let StatusFrame { lines, cursor } = std::mem::take(&mut self.shown);
        if lines.is_empty() {
            return String::new();
        }
        // On a screen that became narrower, a line covers several rows.
        let height = |line: &String| {
            anstream::adapter::strip_str(line).to_string().width().max(1).div_ceil(size.width)
        };
        let up = match cursor {
            Some((row, column)) => {
                lines.iter().take(row).map(height).sum::<usize>() + column / size.width.max(1)
            }
            None => lines.iter().map(height).sum::<usize>() - 1,
        };
        match up {
            0 => "\r\x1b[J".to_owned(),
            up => format!("\r\x1b[{up}A\x1b[J"),
        }
    }

    /// Returns the text that replaces the lines with `frame`, or `None` if they are unchanged.
    pub(super) fn redraw_sequence(&mut self, frame: StatusFrame, size: ScreenSize) -> Option<String> {
        if frame == self.shown {
            return None;
        }
        let mut text = self.erase_sequence(size);
        text.push_str(&frame.lines.join("\n"));
        if let Some((row, column)) = frame.cursor {
            let up = frame.lines.len() - 1 - row;
            text.push_str(&if up == 0 { "\r".to_owned() } else { format!("\r\x1b[{up}A") });
            text.push_str(&if column == 0 { String::new() } else { format!("\x1b[{column}C") });
        }
        self.shown = frame;
        Some(text)
    }
}

impl StatusFrame {
    /// Returns the frame without styles.
    pub(super) fn without_styles(mut self) -> Self {
        self.lines = self.lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use runtime::{Denial, NetworkPolicy};

    use super::super::refusal_lines::RemedyForm;
    use super::*;

    fn render_plain(view: &StatusView<'_>, width: usize, height: usize) -> String {
        let frame = view.render(ScreenSize { width, height }).without_styles();
        assert!(frame.lines.iter().all(|line| line.width() < width), "{frame:?}");
        assert!(frame.lines.len() < height, "{frame:?}");
        frame.lines.join("\n")
    }

    fn typed(text: &str) -> Option<TypedText<'_>> {
        Some(TypedText { text, cursor: text.len(), candidates: &[] })
    }

    #[test]
    fn a_running_call_is_shown_with_the_tail_of_its_output() {
        let tail = "one\ntwo\nthree\n\x1b[32mok\x1b[0m  10%\r 20%\r\n\nend\x07";
        let busy = BusyStatus {
            label: "exec_command cargo test --workspace",
            elapsed: Duration::from_secs(3),
            tail,
            refusals: LiveRefusals::default(),
        };
        let view = StatusView { partial_text: "Let me see", busy: vec![busy], typed: typed("wait") };
        assert_snapshot!(render_plain(&view, 40, 10), @r"
        Let me see
        ⠋ exec_command cargo… 3 s, Esc stops it
          │ three
          │  20%
          │ end
        › wait
        ");
        assert_snapshot!(render_plain(&view, 20, 3), @r"
          │ end
        › wait
        ");
    }

    #[test]
    fn the_refusals_of_a_running_call_are_shown_below_its_output() {
        let denials = ["a.example", "b.example", "c.example"]
            .map(|host| Denial::MayNotConnect { target: host.to_owned(), network: NetworkPolicy::Off });
        let refusals = LiveRefusals { denials: &denials, form: RemedyForm::AllowCommand };
        let (label, elapsed) = ("exec_command npm install", Duration::from_secs(12));
        let busy = BusyStatus { label, elapsed, tail: "waiting\n", refusals };
        let view = StatusView { partial_text: "", busy: vec![busy], typed: None };
        assert_snapshot!(render_plain(&view, 50, 20), @r"
        ⠋ exec_command npm install 12 s, Esc stops it
          │ waiting
          ⊘ the sandbox refused: connecting to
            `a.example` is not allowed: no host can be
            reached (the network is off)
            to allow it: /allow --host a.example
          ⊘ the sandbox refused: connecting to
            `b.example` is not allowed: no host can be
            reached (the network is off)
            to allow it: /allow --host b.example
            and 1 more
        ");
    }

    #[test]
    fn long_text_is_shown_by_its_end() {
        let view = StatusView {
            partial_text: &"abcdefg ".repeat(10),
            busy: vec![],
            typed: typed("0123456789 0123456789"),
        };
        assert_snapshot!(render_plain(&view, 17, 4), @"
        abcdefg abcdefg
        › 0123456789
          0123456789
        ");
        let wide = StatusView {
            partial_text: "漢字漢字漢字漢字漢字",
            busy: vec![],
            typed: typed("漢字漢字漢字漢字"),
        };
        assert_snapshot!(render_plain(&wide, 12, 9), @"
        漢字漢字漢
        字漢字漢字
        › 漢字漢字
          漢字漢字
        ");
    }

    #[test]
    fn typed_text_is_wrapped_at_words() {
        for (text, room, expected) in [
            ("one two three", 7, "one two|three"),
            ("one two three", 8, "one two |three"),
            ("one two  three", 7, "one two|three"),
            ("abcdefghij k", 4, "abcd|efgh|ij k"),
            ("a bcdefghij", 4, "a |bcde|fghi|j"),
            ("one\n\ntwo ", 7, "one||two "),
            ("", 7, ""),
        ] {
            let typed = TypedText { text, cursor: 0, candidates: &[] };
            let rows = typed.wrapped_rows(room);
            let rows: Vec<String> =
                rows.iter().map(|row| row.iter().map(|(_, shown)| shown.as_str()).collect()).collect();
            assert_eq!(rows.join("|"), expected, "{text:?}");
        }
    }

    #[test]
    fn typed_text_is_shown_around_its_cursor() {
        let text = "first line\nsecond one\nthird";
        let candidates = ["src/".to_owned(), "README.md".to_owned()];
        let view = |cursor| StatusView {
            partial_text: "",
            busy: vec![],
            typed: Some(TypedText { text, cursor, candidates: &candidates }),
        };
        let size = |height| ScreenSize { width: 20, height };
        assert_snapshot!(render_plain(&view(0), 20, 10), @r"
        › first line
          second one
          third
          src/  README.md
        ");
        for (cursor, height, expected) in [
            (0, 10, (0, 2)),
            (11, 10, (1, 2)),
            (14, 10, (1, 5)),
            (text.len(), 10, (2, 7)),
            (text.len(), 3, (1, 7)),
        ] {
            assert_eq!(view(cursor).render(size(height)).cursor, Some(expected), "{cursor}");
        }
    }

    #[test]
    fn the_cursor_stands_in_the_typed_text() {
        let mut status = StatusLines::default();
        let size = ScreenSize { width: 40, height: 9 };
        let view = |cursor| StatusView {
            partial_text: "said",
            busy: vec![],
            typed: Some(TypedText { text: "ab\nc", cursor, candidates: &[] }),
        };
        let frame = view(1).render(size).without_styles();
        assert_eq!(status.redraw_sequence(frame, size).unwrap(), "said\n› ab\n  c\r\x1b[1A\x1b[3C");
        assert_eq!(status.erase_sequence(size), "\r\x1b[1A\x1b[J");
        status.redraw_sequence(view(4).render(size).without_styles(), size);
        assert_eq!(status.erase_sequence(size), "\r\x1b[2A\x1b[J");
    }

    #[test]
    fn status_lines_are_erased_after_the_screen_became_narrower() {
        let mut foot = StatusLines::default();
        let (wide, narrow) = (ScreenSize { width: 40, height: 9 }, ScreenSize { width: 10, height: 9 });
        let frame = || StatusFrame { lines: vec!["a".repeat(30), "b".to_owned()], cursor: None };
        assert_eq!(foot.redraw_sequence(frame(), wide).unwrap(), format!("{}\nb", "a".repeat(30)));
        assert_eq!(foot.redraw_sequence(frame(), wide), None);
        assert_eq!(foot.erase_sequence(narrow), "\r\x1b[3A\x1b[J");
        assert_eq!(foot.erase_sequence(narrow), "");
    }
}
