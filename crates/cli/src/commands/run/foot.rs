//! The lines below what was said: the sentence that is being said, what runs, and what somebody types. They are written over.

use std::fmt::Write;
use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::approve::Size;
use crate::screen::{FAINT, NAME, one_line, visible};

/// Calls that are shown, and lines of what each writes.
const CALLS: usize = 4;
const TAIL: usize = 3;
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const TURN: u128 = 100;

/// What takes a while.
pub(super) struct Busy<'a> {
    pub(super) what: &'a str,
    pub(super) since: Duration,
    /// The end of what it has written.
    pub(super) tail: &'a str,
}

/// What is to be seen.
pub(super) struct View<'a> {
    /// What has been said of a line.
    pub(super) said: &'a str,
    pub(super) busy: Vec<Busy<'a>>,
    /// What somebody types, if they can.
    pub(super) typed: Option<&'a str>,
}

impl View<'_> {
    /// Its lines, none wider than `size`, and not more than it has.
    pub(super) fn lines(&self, size: Size) -> Vec<String> {
        let width = size.width.saturating_sub(1).max(8);
        let mut below = Vec::new();
        for busy in self.busy.iter().take(CALLS) {
            below.extend(busy.lines(width));
        }
        if self.busy.len() > CALLS {
            below.push(format!("{FAINT}  and {} more{FAINT:#}", self.busy.len() - CALLS));
        }
        if let Some(typed) = self.typed {
            let shown = end_of(&typed.replace('\n', "⏎"), width - 2);
            below.push(format!("{NAME}›{NAME:#} {shown}"));
        }
        let room = size.height.saturating_sub(1).max(1);
        below.drain(..below.len().saturating_sub(room));
        let said = rows(&visible(self.said), width);
        let from = said.len().saturating_sub(room - below.len());
        said[from..].iter().cloned().chain(below).collect()
    }
}

impl Busy<'_> {
    fn lines(&self, width: usize) -> Vec<String> {
        let turn = usize::try_from(self.since.as_millis() / TURN).unwrap_or(0) % SPINNER.len();
        let took = format!(" {} s, Esc stops it", self.since.as_secs());
        let what = start_of(self.what, width.saturating_sub(took.width() + 2));
        let mut lines = vec![format!("{} {what}{FAINT}{took}{FAINT:#}", SPINNER[turn])];
        let plain = anstream::adapter::strip_str(self.tail).to_string();
        let written: Vec<&str> = plain
            .lines()
            .map(|line| line.trim_end().rsplit('\r').next().unwrap_or_default())
            .filter(|line| !line.trim().is_empty())
            .collect();
        for line in &written[written.len().saturating_sub(TAIL)..] {
            let line = start_of(&one_line(&line.replace('\t', "    ")), width - 4);
            lines.push(format!("  {FAINT}│ {line}{FAINT:#}"));
        }
        lines
    }
}

/// As much of the beginning of `text` as has room.
pub(super) fn start_of(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    rows(text, width.saturating_sub(1).max(1)).into_iter().next().unwrap_or_default() + "…"
}

/// As much of its end.
fn end_of(text: &str, width: usize) -> String {
    let shown = visible(text);
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

/// `text` in rows of `width`.
fn rows(text: &str, width: usize) -> Vec<String> {
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

/// What stands there, so that it can be written over.
#[derive(Default)]
pub(super) struct Foot {
    lines: Vec<String>,
}

impl Foot {
    /// What takes it away: the cursor is where its first line began.
    pub(super) fn cleared(&mut self, size: Size) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        // A screen that has become narrower shows a line on several.
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

    /// What puts `lines` in its place; nothing if they stand there.
    pub(super) fn drawn(&mut self, lines: Vec<String>, size: Size) -> Option<String> {
        if lines == self.lines {
            return None;
        }
        let mut text = self.cleared(size);
        let _infallible = write!(text, "{}", lines.join("\n"));
        self.lines = lines;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn plain(view: &View<'_>, width: usize, height: usize) -> String {
        let lines = view.lines(Size { width, height });
        let text = anstream::adapter::strip_str(&lines.join("\n")).to_string();
        assert!(text.lines().all(|line| line.width() < width), "{text}");
        text
    }

    #[test]
    fn what_runs_is_shown_with_the_end_of_what_it_writes() {
        let tail = "one\ntwo\nthree\n\x1b[32mok\x1b[0m  10%\r 20%\r\n\nend\x07";
        let busy = Busy { what: "exec_command cargo test --workspace", since: Duration::from_secs(3), tail };
        let view = View { said: "Let me see", busy: vec![busy], typed: Some("wait") };
        assert_snapshot!(plain(&view, 40, 10), @r"
        Let me see
        ⠋ exec_command cargo… 3 s, Esc stops it
          │ three
          │  20%
          │ end
        › wait
        ");
        assert_snapshot!(plain(&view, 20, 3), @r"
          │ end
        › wait
        ");
    }

    #[test]
    fn the_end_of_what_is_long_is_shown() {
        let view = View { said: &"abcdefg ".repeat(10), busy: vec![], typed: Some("0123456789 0123456789") };
        assert_snapshot!(plain(&view, 17, 4), @"
        abcdefg abcdefg 
        abcdefg abcdefg 
        › …89 0123456789
        ");
        let wide = View {
            said: "漢字漢字漢字漢字漢字", busy: vec![], typed: Some("漢字漢字漢字漢字")
        };
        assert_snapshot!(plain(&wide, 12, 9), @"
        漢字漢字漢
        字漢字漢字
        › …漢字漢字
        ");
    }

    #[test]
    fn what_stands_there_is_taken_away_whatever_the_screen_has_become() {
        let mut foot = Foot::default();
        let (wide, narrow) = (Size { width: 40, height: 9 }, Size { width: 10, height: 9 });
        assert_eq!(
            foot.drawn(vec!["a".repeat(30), "b".to_owned()], wide).unwrap(),
            format!("{}\nb", "a".repeat(30))
        );
        assert_eq!(foot.drawn(vec!["a".repeat(30), "b".to_owned()], wide), None);
        assert_eq!(foot.cleared(narrow), "\r\x1b[3A\x1b[J");
        assert_eq!(foot.cleared(narrow), "");
    }
}
