//! Text box for a terminal: escapes foreign text, puts it behind a bar and wraps it; every omission is marked.

use anstyle::Style;
use runtime::is_invisible;

use terminal::{FAINT, escape_invisible};

/// The narrowest supported screen; on a narrower one the terminal wraps again.
const MIN_WIDTH: usize = 24;
/// Consecutive blank lines that are shown unchanged.
const MAX_BLANK_LINES: usize = 2;
/// Consecutive blanks that are shown unchanged.
const MAX_BLANKS: usize = 60;
/// Width of the field labels.
const LABEL: usize = 10;

/// Indents the continuation of a wrapped line, so that it cannot pass for a line of its own.
const CONTINUATION_INDENT: &str = "    ";

/// Tells whether a line shows all of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SummaryLine {
    Complete,
    /// The text must be shown elsewhere.
    Shortened,
}

/// The lines to show, with styles.
pub(super) struct TextBox {
    width: usize,
    lines: Vec<String>,
    /// Some character was escaped.
    escaped: bool,
}

impl TextBox {
    pub(super) fn new(width: usize) -> Self {
        // The last column stays free: some terminals wrap when it is written.
        Self { width: width.max(MIN_WIDTH) - 1, lines: Vec::new(), escaped: false }
    }

    /// Adds one of Toolgate's own lines. It may end with foreign text: only its beginning stands at the left edge.
    pub(super) fn push_line(&mut self, text: &str, style: Style) {
        self.note_invisible(text);
        for (at, line) in wrap_words(&escape_to_one_line(text), self.width - CONTINUATION_INDENT.len())
            .into_iter()
            .enumerate()
        {
            let more = if at == 0 { "" } else { CONTINUATION_INDENT };
            self.lines.push(format!("{more}{}", apply_style(&line, style)));
        }
    }

    /// Adds one line, which is cut if the text is longer.
    pub(super) fn push_summary(&mut self, text: &str, style: Style) -> SummaryLine {
        self.note_invisible(text);
        let line = escape_to_one_line(text);
        let mut pieces = split_to_width(&line, self.width - 1).into_iter();
        let first = pieces.next().unwrap_or_default();
        match pieces.next() {
            None => {
                self.lines.push(apply_style(&first, style));
                SummaryLine::Complete
            }
            Some(_) => {
                self.lines.push(apply_style(&format!("{first}…"), style));
                SummaryLine::Shortened
            }
        }
    }

    /// Adds an empty line.
    pub(super) fn push_blank(&mut self) {
        self.lines.push(String::new());
    }

    /// Adds a labelled field. Each value, which may contain foreign text, begins on its own line.
    pub(super) fn push_field(&mut self, label: &str, values: &[String], style: Style) {
        for (at, value) in values.iter().enumerate() {
            self.note_invisible(value);
            let label = if at == 0 { label } else { "" };
            let width = self.width - LABEL - 2 - CONTINUATION_INDENT.len();
            for (at, line) in wrap_words(&escape_to_one_line(value), width).into_iter().enumerate() {
                let (label, more) = if at == 0 { (label, "") } else { ("", CONTINUATION_INDENT) };
                self.lines
                    .push(format!("  {FAINT}{label:LABEL$}{FAINT:#}{more}{}", apply_style(&line, style)));
            }
        }
    }

    /// Adds foreign text in full, behind a bar; a wrapped line continues behind a broken bar.
    pub(super) fn push_quote(&mut self, text: &str, style: impl Fn(&str) -> Style) {
        let mut blank = 0;
        // `lines()` would hide the carriage return of a Windows line ending.
        let text = text.strip_suffix('\n').unwrap_or(text);
        for line in text.split('\n') {
            if is_blank(line) {
                blank += 1;
                continue;
            }
            self.push_blank_lines(blank);
            blank = 0;
            self.note_invisible(line);
            let style = style(line);
            for (at, piece) in
                split_to_width(&squeeze_blanks(&make_visible(line)), self.width - 4).into_iter().enumerate()
            {
                let bar = if at == 0 { '│' } else { '┊' };
                self.lines.push(format!("  {FAINT}{bar}{FAINT:#} {}", apply_style(&piece, style)));
            }
        }
        self.push_blank_lines(blank);
    }

    fn push_blank_lines(&mut self, blank: usize) {
        if blank > MAX_BLANK_LINES {
            self.lines.push(format!("  {FAINT}│ … {blank} blank lines …{FAINT:#}"));
        } else {
            let bars = (0..blank).map(|_| format!("  {FAINT}│{FAINT:#}"));
            self.lines.extend(bars);
        }
    }

    fn note_invisible(&mut self, text: &str) {
        self.escaped |= text.contains(is_invisible);
    }

    /// Adds the lines of `other`, without a blank line at their beginning.
    pub(super) fn append(&mut self, other: &Self) {
        let blank = usize::from(other.lines.first().is_some_and(String::is_empty));
        self.lines.extend_from_slice(&other.lines[blank..]);
        self.escaped |= other.escaped;
    }

    /// Reports whether any character had to be escaped.
    pub(super) fn has_escapes(&self) -> bool {
        self.escaped
    }

    /// Returns the number of lines.
    pub(super) fn height(&self) -> usize {
        self.lines.len()
    }

    /// Returns all lines, each with a newline.
    pub(super) fn to_text(&self) -> String {
        self.lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// Returns foreign text in full, line by line, each behind a bar and without styles.
pub fn quote_lines(text: &str, width: usize) -> Vec<String> {
    let mut text_box = TextBox::new(width);
    text_box.push_quote(text, |_| Style::new());
    let plain = |line: &String| anstream::adapter::strip_str(line).to_string().trim_end().to_owned();
    text_box.lines.iter().map(plain).collect()
}

fn apply_style(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// Escapes everything in a line that could move the cursor.
fn make_visible(line: &str) -> String {
    escape_invisible(line).replace('\t', "    ")
}

/// Returns the text on one line.
fn escape_to_one_line(text: &str) -> String {
    make_visible(text).replace('\n', "\\n")
}

/// Reports whether a line shows nothing: it would only push other lines off the screen.
fn is_blank(line: &str) -> bool {
    line.chars().all(|letter| letter.is_whitespace() && !is_invisible(letter) || letter == '\u{2800}')
}

/// Replaces long runs of blanks with their count.
fn squeeze_blanks(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let text = rest.find(char::is_whitespace).unwrap_or(rest.len());
        out.push_str(&rest[..text]);
        rest = &rest[text..];
        let blank = rest.find(|letter: char| !letter.is_whitespace()).unwrap_or(rest.len());
        let count = rest[..blank].chars().count();
        if count > MAX_BLANKS {
            out.push_str(&format!(" … {count} blanks … "));
        } else {
            out.push_str(&rest[..blank]);
        }
        rest = &rest[blank..];
    }
    out
}

/// Returns the largest width of a character in columns. All characters but ASCII count as wide, so a line may end
/// early but never overflows.
fn char_width(letter: char) -> usize {
    if letter.is_ascii() { 1 } else { 2 }
}

/// Cuts `line` into pieces of at most `width` columns.
fn split_to_width(line: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for letter in line.chars() {
        if used + char_width(letter) > width {
            pieces.push(String::new());
            used = 0;
        }
        used += char_width(letter);
        pieces.last_mut().expect("there is one from the beginning").push(letter);
    }
    pieces
}

/// Wraps `line` between words where possible.
fn wrap_words(line: &str, width: usize) -> Vec<String> {
    let wide = |text: &str| text.chars().map(char_width).sum::<usize>();
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        for (at, piece) in split_to_width(word, width).into_iter().enumerate() {
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
            let mut page = TextBox::new(MIN_WIDTH);
            page.push_quote(text, |_| Style::new());
            let shown = anstream::adapter::strip_str(&page.to_text()).to_string();
            assert_eq!(shown.lines().collect::<Vec<_>>(), lines, "{text:?}");
        }
        let mut page = TextBox::new(MIN_WIDTH);
        page.push_line(&long, Style::new());
        page.push_field("label", &[long.clone(), format!("a {long} b\nc")], Style::new());
        page.push_quote(&long, |_| Style::new());
        let shown = anstream::adapter::strip_str(&page.to_text()).to_string();
        assert!(shown.lines().all(|line| line.chars().count() < MIN_WIDTH), "{shown}");
        assert_eq!(shown.matches('x').count(), 4 * long.len());
    }
}
