//! Lines for a terminal: text from outside is made visible, put behind a bar and wrapped; nothing is left out unsaid.

use anstyle::Style;
use toolgate::invisible;

use crate::screen::{FAINT, visible};

/// The narrowest screen that is written for; on a narrower one the terminal wraps again.
const MIN_WIDTH: usize = 24;
/// Blank lines in a row that are shown as they are.
const BLANK_LINES: usize = 2;
/// Blanks in a row that are shown as they are.
const BLANKS: usize = 60;
/// How wide the names of fields are.
const LABEL: usize = 10;

/// Stands before the rest of a line that was wrapped: it cannot be taken for a line of its own.
const MORE: &str = "    ";

/// What is shown, line by line, with styles.
pub(super) struct Page {
    width: usize,
    lines: Vec<String>,
    /// Something was written as an escape.
    escaped: bool,
}

impl Page {
    pub(super) fn new(width: usize) -> Self {
        // The last column stays free: some terminals wrap when it is written.
        Self { width: width.max(MIN_WIDTH) - 1, lines: Vec::new(), escaped: false }
    }

    /// A line of ours, which may end with what is not ours: only its beginning stands at the edge.
    pub(super) fn say(&mut self, text: &str, style: Style) {
        self.look(text);
        for (at, line) in words(&one_line(text), self.width - MORE.len()).into_iter().enumerate() {
            let more = if at == 0 { "" } else { MORE };
            self.lines.push(format!("{more}{}", painted(&line, style)));
        }
    }

    /// An empty line.
    pub(super) fn space(&mut self) {
        self.lines.push(String::new());
    }

    /// A field of ours with values that may hold what is not ours: each begins a line of its own.
    pub(super) fn field(&mut self, label: &str, values: &[String], style: Style) {
        for (at, value) in values.iter().enumerate() {
            self.look(value);
            let label = if at == 0 { label } else { "" };
            let width = self.width - LABEL - 2 - MORE.len();
            for (at, line) in words(&one_line(value), width).into_iter().enumerate() {
                let (label, more) = if at == 0 { (label, "") } else { ("", MORE) };
                self.lines.push(format!("  {FAINT}{label:LABEL$}{FAINT:#}{more}{}", painted(&line, style)));
            }
        }
    }

    /// Text that is not ours, whole, behind a bar; a line that is wrapped goes on behind a broken bar.
    pub(super) fn quote(&mut self, text: &str, style: impl Fn(&str) -> Style) {
        let mut blank = 0;
        // Not `lines()`: that would hide what a line of Windows ends with.
        let text = text.strip_suffix('\n').unwrap_or(text);
        for line in text.split('\n') {
            if is_blank(line) {
                blank += 1;
                continue;
            }
            self.blanks(blank);
            blank = 0;
            self.look(line);
            let style = style(line);
            for (at, piece) in pieces(&squeezed(&shown(line)), self.width - 4).into_iter().enumerate() {
                let bar = if at == 0 { '│' } else { '┊' };
                self.lines.push(format!("  {FAINT}{bar}{FAINT:#} {}", painted(&piece, style)));
            }
        }
        self.blanks(blank);
    }

    fn blanks(&mut self, blank: usize) {
        if blank > BLANK_LINES {
            self.lines.push(format!("  {FAINT}│ … {blank} blank lines …{FAINT:#}"));
        } else {
            let bars = (0..blank).map(|_| format!("  {FAINT}│{FAINT:#}"));
            self.lines.extend(bars);
        }
    }

    fn look(&mut self, text: &str) {
        self.escaped |= text.contains(invisible);
    }

    /// Whether there were characters that do not show.
    pub(super) fn escaped(&self) -> bool {
        self.escaped
    }

    /// How many lines there are.
    pub(super) fn height(&self) -> usize {
        self.lines.len()
    }

    /// All of it, each line with its end.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// Text that is not ours, whole, line by line: each behind a bar, and none with a style.
pub(crate) fn quoted(text: &str, width: usize) -> Vec<String> {
    let mut page = Page::new(width);
    page.quote(text, |_| Style::new());
    let plain = |line: &String| anstream::adapter::strip_str(line).to_string().trim_end().to_owned();
    page.lines.iter().map(plain).collect()
}

fn painted(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// A line of a text with nothing in it that moves the cursor.
fn shown(line: &str) -> String {
    visible(line).replace('\t', "    ")
}

/// A text on one line.
fn one_line(text: &str) -> String {
    shown(text).replace('\n', "\\n")
}

/// Whether a line shows nothing: it would only push others out of sight.
fn is_blank(line: &str) -> bool {
    line.chars().all(|letter| letter.is_whitespace() && !invisible(letter) || letter == '\u{2800}')
}

/// A line in which many blanks in a row are counted instead.
fn squeezed(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let text = rest.find(char::is_whitespace).unwrap_or(rest.len());
        out.push_str(&rest[..text]);
        rest = &rest[text..];
        let blank = rest.find(|letter: char| !letter.is_whitespace()).unwrap_or(rest.len());
        let count = rest[..blank].chars().count();
        if count > BLANKS {
            out.push_str(&format!(" … {count} blanks … "));
        } else {
            out.push_str(&rest[..blank]);
        }
        rest = &rest[blank..];
    }
    out
}

/// How many columns a letter takes at the most. Nothing here knows which letters are wide, so all but ASCII count as such:
/// a line may end early, and never runs over.
fn columns(letter: char) -> usize {
    if letter.is_ascii() { 1 } else { 2 }
}

/// `line` cut where it must be.
fn pieces(line: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for letter in line.chars() {
        if used + columns(letter) > width {
            pieces.push(String::new());
            used = 0;
        }
        used += columns(letter);
        pieces.last_mut().expect("there is one from the beginning").push(letter);
    }
    pieces
}

/// `line` cut between words where that can be.
fn words(line: &str, width: usize) -> Vec<String> {
    let wide = |text: &str| text.chars().map(columns).sum::<usize>();
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        for (at, piece) in pieces(word, width).into_iter().enumerate() {
            let last = lines.last_mut().expect("there is one from the beginning");
            let fits = wide(last) + 1 + wide(&piece) <= width;
            if at == 0 && last.is_empty() {
                *last = piece;
            } else if at == 0 && fits {
                last.push(' ');
                last.push_str(&piece);
            } else {
                lines.push(piece);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_and_no_line_is_too_wide() {
        let long = "x".repeat(500);
        let padded = format!("a{}b", " ".repeat(61));
        for (text, lines) in [
            ("", &["  │"][..]),
            ("a\r\nb\n", &["  │ a\\u{d}", "  │ b"]),
            ("a\n\n\nb", &["  │ a", "  │", "  │", "  │ b"]),
            ("a\n\n\u{2800}\n \t\nb", &["  │ a", "  │ … 3 blank lines …", "  │ b"]),
            ("a\n\n\n\n\n", &["  │ a", "  │ … 4 blank lines …"]),
            ("0123456789012345678901", &["  │ 0123456789012345678", "  ┊ 901"]),
            ("漢漢漢漢漢漢漢漢漢漢", &["  │ 漢漢漢漢漢漢漢漢漢", "  ┊ 漢"]),
            ("a\u{200b}\rb", &["  │ a\\u{200b}\\u{d}b"]),
            (&padded, &["  │ a … 61 blanks … b"]),
        ] {
            let mut page = Page::new(MIN_WIDTH);
            page.quote(text, |_| Style::new());
            let shown = anstream::adapter::strip_str(&page.text()).to_string();
            assert_eq!(shown.lines().collect::<Vec<_>>(), lines, "{text:?}");
        }
        let mut page = Page::new(MIN_WIDTH);
        page.say(&long, Style::new());
        page.field("label", &[long.clone(), format!("a {long} b\nc")], Style::new());
        page.quote(&long, |_| Style::new());
        let shown = anstream::adapter::strip_str(&page.text()).to_string();
        assert!(shown.lines().all(|line| line.chars().count() < MIN_WIDTH), "{shown}");
        assert_eq!(shown.matches('x').count(), 4 * long.len());
    }
}
