//! Prints text, errors, diffs and progress to stdout and stderr; a terminal gets foreign text escaped.

mod code_highlight;
mod markdown;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use policy::is_invisible;
use unicode_width::UnicodeWidthStr;

pub use markdown::{MarkdownStream, wrap_words};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();
/// The style of names.
pub const NAME: Style = AnsiColor::Green.on_default().bold();
/// The style of secondary text.
pub const FAINT: Style = Style::new().dimmed();

/// Narrowest width for which messages are wrapped.
const MIN_MESSAGE_WIDTH: usize = 20;

/// The first error that lost output.
static OUTPUT_FAULT: OnceLock<String> = OnceLock::new();

/// Notes an error of writing to stdout, for the exit status. A reader that has left loses nothing that it wants.
pub fn note_output_error(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _first = OUTPUT_FAULT.set(error.to_string());
    }
}

/// Returns the error that lost output; `None` if everything was written.
pub fn output_fault() -> Option<&'static str> {
    OUTPUT_FAULT.get().map(String::as_str)
}

/// Prints foreign text with a final newline; escapes it if stdout is a terminal.
pub fn print_text(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let shown = if io::stdout().is_terminal() { escape_invisible(text) } else { Cow::Borrowed(text) };
    out.write_all(shown.as_bytes())?;
    if !shown.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Prints Toolgate's own text with a final newline, on a terminal wrapped at words.
pub fn print_wrapped(text: &str) -> io::Result<()> {
    match terminal_width() {
        Some(width) => print_text(&wrap_lines(&escape_invisible(text), width)),
        None => print_text(text),
    }
}

/// Prints Toolgate's own text to stderr, on a terminal wrapped at words; write errors are ignored.
pub fn print_wrapped_stderr(text: &str) {
    match stderr_width() {
        Some(width) => print_stderr(&wrap_lines(text, width)),
        None => print_stderr(text),
    }
}

/// Wraps each line at words, to fit a terminal of `width` columns. A continued line stands below the last column of a
/// table row, otherwise below the text. A word that is too long stays whole, so that it can be copied.
pub fn wrap_lines(text: &str, width: usize) -> String {
    let room = width.saturating_sub(1).max(MIN_MESSAGE_WIDTH);
    let wrap = |line: &str| {
        let (start, rest) = line.split_at(hanging_indent(line, room));
        let blanks = " ".repeat(start.width());
        let options = word_wrap(room).initial_indent(start).subsequent_indent(&blanks);
        textwrap::wrap(rest, options).join("\n")
    };
    text.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
}

/// Returns the start of the text in a line: after its last gap of several blanks that leaves enough room, or after
/// its indentation.
fn hanging_indent(line: &str, room: usize) -> usize {
    let gaps = line.match_indices("  ").map(|(at, _)| line.len() - line[at..].trim_start_matches(' ').len());
    gaps.filter(|start| line[..*start].width() <= room * 3 / 5).last().unwrap_or(0)
}

/// Returns options to wrap at blanks only.
fn word_wrap<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false)
}

/// Prints Toolgate's own styled text.
pub fn print_styled(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Returns the width of the terminal; `None` if stdout is not one.
pub fn terminal_width() -> Option<usize> {
    let stdout = io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    (size.ws_col > 0).then(|| size.ws_col.into())
}

/// Prints an error. It may contain foreign text, so each further line stands behind a bar.
pub fn print_error(message: &str) {
    print_stderr(&format_message(ERROR, "error", &escape_invisible(message), stderr_width()));
}

/// Prints a warning on its own line, over a progress line if there is one.
pub fn print_warning(message: &str) {
    let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    let message = format_message(WARNING, "warning", &to_one_line(message), stderr_width());
    print_stderr(&format!("{clear}{message}"));
}

/// Prints a hint as one line, because it may contain foreign text.
pub fn print_hint(message: &str) {
    print_stderr(&format_hint(message));
}

/// Formats a hint as [`print_hint`] prints it.
pub fn format_hint(message: &str) -> String {
    format_message(HINT, "hint", &to_one_line(message), stderr_width())
}

/// Formats escaped text after a label. Every further line stands behind a bar, so that foreign text begins no line.
/// With a `width`, lines are wrapped at words; a longer word stays whole, so that it can be copied.
fn format_message(style: Style, label: &str, text: &str, width: Option<usize>) -> String {
    let wrap = |line: &str, first: &str, others: &str| match width {
        Some(width) => {
            let room = width.saturating_sub(1).max(MIN_MESSAGE_WIDTH);
            let options = word_wrap(room).initial_indent(first).subsequent_indent(others);
            textwrap::wrap(line, options).join("\n")
        }
        None => format!("{first}{line}"),
    };
    let mut lines = text.trim_end_matches('\n').split('\n');
    let label = format!("{label}:");
    let first = wrap(lines.next().unwrap_or_default(), &format!("{label} "), "  ");
    let first = first.strip_prefix(&label).unwrap_or_default();
    let further: String = lines.map(|line| format!("\n{}", wrap(line, "  │ ", "  │ "))).collect();
    format!("{style}{label}{style:#}{first}{further}")
}

/// Returns the width of the terminal; `None` if standard error is not one.
fn stderr_width() -> Option<usize> {
    let stderr = io::stderr();
    let size = stderr.is_terminal().then(|| rustix::termios::tcgetwinsize(&stderr).ok()).flatten()?;
    (size.ws_col > 0).then(|| size.ws_col.into())
}

/// Prints a diff, with colours on a terminal.
pub fn print_diff(diff: &str) -> io::Result<()> {
    if io::stdout().is_terminal() { print_styled(&format_diff(diff)) } else { print_text(diff) }
}

/// Formats a diff with colours, and escapes it.
pub fn format_diff(diff: &str) -> String {
    let mut out = String::with_capacity(diff.len() * 2);
    for line in diff.lines() {
        let style = match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => Style::new().bold(),
            [b'+', ..] => AnsiColor::Green.on_default(),
            [b'-', ..] => AnsiColor::Red.on_default(),
            [b'@', ..] => AnsiColor::Cyan.on_default(),
            [b' ', ..] => Style::new(),
            _ => Style::new().bold(),
        };
        out.push_str(&format!("{style}{}{style:#}\n", escape_invisible(line)));
    }
    out
}

/// Shows a person that work continues after it takes longer than expected; prints nothing to a program.
pub struct ProgressLine {
    label: String,
    began: Instant,
    shown: bool,
}

impl ProgressLine {
    /// The interval between ticks.
    pub const TICK_INTERVAL: Duration = Duration::from_secs(1);

    /// Creates a line that begins with `what`. Nothing is shown yet.
    pub fn new(what: &str) -> Self {
        Self { label: to_one_line(what), began: Instant::now(), shown: false }
    }

    /// Shows the elapsed time, over the previous text.
    pub fn tick(&mut self) {
        let seconds = self.began.elapsed().as_secs();
        self.show(&format!("{seconds} s, Ctrl-C stops it"));
    }

    /// Shows the progress, over the previous text.
    pub fn show(&mut self, how_far: &str) {
        if io::stderr().is_terminal() {
            self.shown = true;
            let _nobody_reads = write!(io::stderr(), "\r{}: {}\x1b[K", self.label, to_one_line(how_far));
        }
    }
}

/// Does `work`, and calls `tick` after each interval of `every`.
pub fn with_ticks<T>(every: Duration, mut tick: impl FnMut() + Send, work: impl FnOnce() -> T) -> T {
    let (working, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let ticks = move || {
            // ends: with the work, which drops the other end
            while done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        };
        // If the thread cannot be started, the work is done without ticks.
        let _nobody_tells =
            std::thread::Builder::new().name("progress".to_owned()).spawn_scoped(scope, ticks);
        let done = work();
        drop(working);
        done
    })
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown {
            let _nobody_reads = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Prints a line to stderr; write errors are ignored.
pub fn print_stderr(line: &str) {
    let _nobody_reads = writeln!(anstream::stderr().lock(), "{line}");
}

/// Escapes text and joins it into one line, so that foreign text begins no line.
pub fn to_one_line(text: &str) -> String {
    escape_invisible(text).replace('\n', "\\n")
}

/// Escapes control, bidirectional and invisible characters, except newlines and tabs.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_invisible(letter) { out.extend(letter.escape_unicode()) } else { out.push(letter) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_wrapped_at_words() {
        let shown = |text: &str, width: Option<usize>| {
            anstream::adapter::strip_str(&format_message(HINT, "hint", text, width)).to_string()
        };
        let text = "the first words of a hint\n/a/path/that/is/longer/than/a/line and more";
        assert_eq!(shown(text, None), format!("hint: {}", text.replace('\n', "\n  │ ")));
        assert_eq!(
            shown(text, Some(25)),
            "hint: the first words of\n  a hint\n  │ /a/path/that/is/longer/than/a/line\n  │ and more"
        );
    }

    #[test]
    fn a_continued_line_stands_below_the_text_of_its_row() {
        let text = "/allow     gives this session one more permission\n  indented text that is continued\n\n\
            1 more word after a /path/that/is/longer/than/the/line";
        insta::assert_snapshot!(wrap_lines(text, 30), @r"
        /allow     gives this session
                   one more
                   permission
          indented text that is
          continued

        1 more word after a
        /path/that/is/longer/than/the/line
        ");
    }

    #[test]
    fn slow_work_ticks_until_it_ends() {
        let (told, heard) = mpsc::channel();
        let tick = move || told.send(()).expect("the receiver ends after the work");
        let done =
            with_ticks(Duration::from_millis(1), tick, || (heard.recv().is_ok(), heard.recv().is_ok()));
        assert_eq!(done, (true, true));
    }

    #[test]
    fn foreign_text_begins_no_line() {
        let text = "the server says: x\nerror: not ours\r\n\n";
        let shown = format_message(Style::new(), "error", &escape_invisible(text), None);
        assert_eq!(shown, "error: the server says: x\n  │ error: not ours\\u{d}");
        assert_eq!(to_one_line(text), "the server says: x\\nerror: not ours\\u{d}\\n\\n");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for (text, expected) in [
            ("plain\n\ttext é 漢", "plain\n\ttext é 漢"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\rb", "a\\u{d}b"),
            ("user\u{202e}cod.exe", "user\\u{202e}cod.exe"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\u{200b}b\u{e0041}", "a\\u{200b}b\\u{e0041}"),
        ] {
            assert_eq!(escape_invisible(text), expected);
        }
    }
}
