//! The status lines at the bottom of the screen: unfinished text, running calls and typed input.
//!
//! They are redrawn in place.

use std::fmt::Write;
use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use session::approval::ScreenSize;
use terminal::{FAINT, NAME, escape_invisible, to_one_line};

/// Maximum number of calls shown, and of output lines of each.
const MAX_CALLS: usize = 4;
const MAX_TAIL_LINES: usize = 3;
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_FRAME_MILLIS: u128 = 100;

/// A running call, or the wait for the model.
pub(super) struct BusyStatus<'a> {
    pub(super) label: &'a str,
    pub(super) elapsed: Duration,
    /// The tail of its output.
    pub(super) tail: &'a str,
}

/// The content of the status lines.
pub(super) struct StatusView<'a> {
    /// The text of the unfinished line.
    pub(super) partial_line: &'a str,
    pub(super) busy: Vec<BusyStatus<'a>>,
    /// The typed input, if the user can type.
    pub(super) typed: Option<&'a str>,
}

impl StatusView<'_> {
    /// Returns the lines, none wider than `size` and at most as many as fit.
    pub(super) fn lines(&self, size: ScreenSize) -> Vec<String> {
        let width = size.width.saturating_sub(1).max(8);
        let mut below = Vec::new();
        for busy in self.busy.iter().take(MAX_CALLS) {
            below.extend(busy.lines(width));
        }
        if self.busy.len() > MAX_CALLS {
            below.push(format!("{FAINT}  and {} more{FAINT:#}", self.busy.len() - MAX_CALLS));
        }
        if let Some(typed) = self.typed {
            let shown = truncate_start(&typed.replace('\n', "⏎"), width - 2);
            below.push(format!("{NAME}›{NAME:#} {shown}"));
        }
        let room = size.height.saturating_sub(1).max(1);
        below.drain(..below.len().saturating_sub(room));
        let partial_rows = wrap_rows(&escape_invisible(self.partial_line), width);
        let from = partial_rows.len().saturating_sub(room - below.len());
        partial_rows[from..].iter().cloned().chain(below).collect()
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
        lines
    }
}

/// Truncates `text` to `width` columns, keeping its beginning.
pub(super) fn truncate_to_width(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    wrap_rows(text, width.saturating_sub(1).max(1)).into_iter().next().unwrap_or_default() + "…"
}

/// Truncates `text` to `width` columns, keeping its end.
fn truncate_start(text: &str, width: usize) -> String {
    let shown = escape_invisible(text);
    let mut room = width.saturating_sub(1);
    let cut = shown.char_indices().rev().find(|(_, letter)| {
        let wide = letter.width().unwrap_or(0);
        let full = wide > room;
        room = room.saturating_sub(wide);
        full
    });
    match cut {
        Some((at, letter)) => format!("…{}", &shown[at + letter.len_utf8()..]),
        None => shown.into_owned(),
    }
}

/// Wraps `text` into rows of `width` columns.
fn wrap_rows(text: &str, width: usize) -> Vec<String> {
    let (mut rows, mut row, mut taken) = (Vec::new(), String::new(), 0);
    for letter in text.chars().map(|letter| if letter == '\t' { ' ' } else { letter }) {
        let wide = letter.width().unwrap_or(0);
        if taken + wide > width {
            rows.push(std::mem::take(&mut row));
            taken = 0;
        }
        row.push(letter);
        taken += wide;
    }
    if !row.is_empty() {
        rows.push(row);
    }
    rows
}

/// The status lines on the screen, remembered so that they can be overwritten.
#[derive(Default)]
pub(super) struct StatusLines {
    lines: Vec<String>,
}

impl StatusLines {
    /// Returns the escape sequence that erases the lines and leaves the cursor at the start of the first.
    pub(super) fn erase_sequence(&mut self, size: ScreenSize) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        // On a screen that became narrower, a line covers several rows.
        let high = |line: &String| {
            anstream::adapter::strip_str(line).to_string().width().max(1).div_ceil(size.width)
        };
        let up: usize = self.lines.iter().map(high).sum::<usize>() - 1;
        self.lines.clear();
        match up {
            0 => "\r\x1b[J".to_owned(),
            up => format!("\r\x1b[{up}A\x1b[J"),
        }
    }

    /// Returns the text that replaces the lines with `lines`, or `None` if they are unchanged.
    pub(super) fn redraw_sequence(&mut self, lines: Vec<String>, size: ScreenSize) -> Option<String> {
        if lines == self.lines {
            return None;
        }
        let mut text = self.erase_sequence(size);
        let _infallible = write!(text, "{}", lines.join("\n"));
        self.lines = lines;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn render_plain(view: &StatusView<'_>, width: usize, height: usize) -> String {
        let lines = view.lines(ScreenSize { width, height });
        let text = anstream::adapter::strip_str(&lines.join("\n")).to_string();
        assert!(text.lines().all(|line| line.width() < width), "{text}");
        text
    }

    #[test]
    fn a_running_call_is_shown_with_the_tail_of_its_output() {
        let tail = "one\ntwo\nthree\n\x1b[32mok\x1b[0m  10%\r 20%\r\n\nend\x07";
        let busy = BusyStatus {
            label: "exec_command cargo test --workspace",
            elapsed: Duration::from_secs(3),
            tail,
        };
        let view = StatusView { partial_line: "Let me see", busy: vec![busy], typed: Some("wait") };
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
    fn long_text_is_shown_by_its_end() {
        let view = StatusView {
            partial_line: &"abcdefg ".repeat(10),
            busy: vec![],
            typed: Some("0123456789 0123456789"),
        };
        assert_snapshot!(render_plain(&view, 17, 4), @"
        abcdefg abcdefg 
        abcdefg abcdefg 
        › …89 0123456789
        ");
        let wide = StatusView {
            partial_line: "漢字漢字漢字漢字漢字",
            busy: vec![],
            typed: Some("漢字漢字漢字漢字"),
        };
        assert_snapshot!(render_plain(&wide, 12, 9), @"
        漢字漢字漢
        字漢字漢字
        › …漢字漢字
        ");
    }

    #[test]
    fn status_lines_are_erased_after_the_screen_became_narrower() {
        let mut foot = StatusLines::default();
        let (wide, narrow) = (ScreenSize { width: 40, height: 9 }, ScreenSize { width: 10, height: 9 });
        assert_eq!(
            foot.redraw_sequence(vec!["a".repeat(30), "b".to_owned()], wide).unwrap(),
            format!("{}\nb", "a".repeat(30))
        );
        assert_eq!(foot.redraw_sequence(vec!["a".repeat(30), "b".to_owned()], wide), None);
        assert_eq!(foot.erase_sequence(narrow), "\r\x1b[3A\x1b[J");
        assert_eq!(foot.erase_sequence(narrow), "");
    }
}
