//! Shows text that may be longer than the screen: in the user's pager, or by its end.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use config::OperationFault;
use session::approval::ScreenSize;
use terminal::wrap_words;
use unicode_width::UnicodeWidthStr;

use super::line_editor::{enter_key_mode, leave_key_mode};
use crate::terminal_approver::terminal_lock;

/// The number of lines that are printed without a pager.
const MAX_PRINTED_LINES: usize = 200;
/// The pager if `PAGER` names none, and its options unless the user has set some: colours, and the text stays.
const DEFAULT_PAGER: &str = "less";
const LESS_OPTIONS: &str = "FRX";

/// A pager has the terminal, and Ctrl-C is for it.
static IS_PAGER_OPEN: AtomicBool = AtomicBool::new(false);

/// Returns true if a pager has the terminal.
pub(super) fn is_pager_open() -> bool {
    IS_PAGER_OPEN.load(Ordering::Acquire)
}

/// Shows the output of a command. `file` has all of it, if there is one.
pub(super) async fn show_output(text: &str, file: Option<&Path>) -> Result<(), OperationFault> {
    let text = terminal::escape_invisible(text);
    match terminal_size().filter(|size| count_rows(&text, size.width) >= size.height) {
        Some(size) => show_long_text(&text, file, size).await,
        None => Ok(print_lines(&text)?),
    }
}

/// Shows a diff. A pager gets its lines whole; otherwise they end between words.
pub(super) async fn show_diff(diff: &str) -> Result<(), OperationFault> {
    let text = terminal::format_diff(diff);
    match terminal_size() {
        Some(size) if count_rows(&text, size.width) >= size.height => show_long_text(&text, None, size).await,
        Some(size) => {
            let rows = text.lines().flat_map(|line| wrap_words(line, size.width.saturating_sub(1)));
            Ok(print_lines(&rows.collect::<Vec<_>>().join("\n"))?)
        }
        None => Ok(print_lines(&text)?),
    }
}

/// Shows text that is longer than the screen.
async fn show_long_text(text: &str, file: Option<&Path>, size: ScreenSize) -> Result<(), OperationFault> {
    let named = std::env::var("PAGER").ok();
    if let Some(pager) = choose_pager(named.as_deref(), &is_installed)
        && page(text, pager).await.is_ok()
    {
        return Ok(());
    }
    let (hidden, shown) = last_lines(text, MAX_PRINTED_LINES.max(size.height));
    print_lines(shown)?;
    if hidden > 0 {
        terminal::print_hint(&match file {
            Some(file) => format!("{hidden} lines above are not shown; {} has all", file.display()),
            None => format!("{hidden} lines above are not shown; with a program in PAGER they are"),
        });
    }
    Ok(())
}

fn print_lines(text: &str) -> io::Result<()> {
    terminal::print_styled(&format!("{}\n", text.strip_suffix('\n').unwrap_or(text)))
}

/// Returns the size of the terminal; `None` if standard output is none.
fn terminal_size() -> Option<ScreenSize> {
    let width = terminal::terminal_width()?;
    let height = rustix::termios::tcgetwinsize(io::stdout()).ok()?.ws_row.into();
    (height > 0).then_some(ScreenSize { width, height })
}

/// Counts the rows of the text on a screen of `width` columns.
fn count_rows(text: &str, width: usize) -> usize {
    text.lines().map(|line| strip_str(line).to_string().width().div_ceil(width).max(1)).sum()
}

/// Returns the command of the pager. A `PAGER` that only copies is none.
fn choose_pager<'a>(named: Option<&'a str>, is_installed: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    match named.map(str::trim) {
        Some("" | "cat") => None,
        Some(named) => Some(named),
        None => Some(DEFAULT_PAGER).filter(|pager| is_installed(pager)),
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Returns the last lines, and the number of those before them.
fn last_lines(text: &str, count: usize) -> (usize, &str) {
    let hidden = text.lines().count().saturating_sub(count);
    let start = match hidden {
        0 => 0,
        hidden => text.match_indices('\n').nth(hidden - 1).map_or(0, |(at, _)| at + 1),
    };
    (hidden, &text[start..])
}

/// Runs the pager, which has the keyboard until it ends.
async fn page(text: &str, pager: &str) -> io::Result<()> {
    let _keys_are_not_read = terminal_lock().lock_owned().await;
    let was_key_mode = leave_key_mode();
    IS_PAGER_OPEN.store(true, Ordering::Release);
    let shown = run_pager(text, pager);
    IS_PAGER_OPEN.store(false, Ordering::Release);
    if was_key_mode {
        enter_key_mode();
    }
    shown
}

#[expect(clippy::disallowed_methods, reason = "the user's own pager, at the user's command")]
fn run_pager(text: &str, pager: &str) -> io::Result<()> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS_OPTIONS);
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        let is_plain = AutoStream::choice(&io::stdout()) == ColorChoice::Never;
        let shown = if is_plain { strip_str(text).to_string() } else { text.to_owned() };
        // The user may leave before the end.
        let _left = input.write_all(shown.as_bytes());
    }
    let status = child.wait()?;
    // The shell's status if there is no such program: the text was not shown.
    match status.code() {
        Some(126 | 127) => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_is_named_or_installed() {
        for (named, installed, expected) in [
            (None, true, Some("less")),
            (None, false, None),
            (Some("most -s"), false, Some("most -s")),
            (Some(""), true, None),
            (Some("cat"), true, None),
        ] {
            assert_eq!(choose_pager(named, &|_| installed), expected, "{named:?}");
        }
    }

    #[test]
    fn the_end_of_a_text_and_its_rows_are_counted() {
        assert_eq!(last_lines("a\nb\nc\n", 2), (1, "b\nc\n"));
        assert_eq!(last_lines("a\nb", 2), (0, "a\nb"));
        assert_eq!(count_rows("12345\n\n\u{1b}[31m12\u{1b}[0m\n", 4), 4);
    }
}
