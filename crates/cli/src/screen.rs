//! Everything that is printed. On a terminal, text from outside cannot move the cursor, hide or reorder.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use toolgate::invisible;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();
pub(crate) const NAME: Style = AnsiColor::Green.on_default().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Prints text from outside, with a newline at its end; made visible if a person is to read it.
pub(crate) fn text(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let shown = if io::stdout().is_terminal() { visible(text) } else { Cow::Borrowed(text) };
    out.write_all(shown.as_bytes())?;
    if !shown.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Prints our own styled text.
pub(crate) fn styled(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// How wide the screen is; nothing if nobody reads this on one.
pub(crate) fn width() -> Option<usize> {
    let stdout = io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    (size.ws_col > 0).then(|| size.ws_col.into())
}

/// Prints what went wrong. It may hold what is not ours, so each further line stands behind a bar.
pub(crate) fn error(message: &str) {
    to_stderr(&format!("{ERROR}error:{ERROR:#} {}", barred(message)));
}

/// Prints what a person has to know before anything runs, on a line of its own whatever is being drawn.
pub(crate) fn warning(message: &str) {
    let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    to_stderr(&format!("{clear}{WARNING}warning:{WARNING:#} {}", one_line(message)));
}

/// Prints what to try, on one line: it may hold what is not ours.
pub(crate) fn hint(message: &str) {
    to_stderr(&format!("{HINT}hint:{HINT:#} {}", one_line(message)));
}

/// Tells a person that work goes on, once it takes longer than they expect; says nothing to a program.
pub(crate) struct Progress {
    what: String,
    began: Instant,
    shown: bool,
}

impl Progress {
    /// How often to tick.
    pub(crate) const EVERY: Duration = Duration::from_secs(1);

    pub(crate) fn of(what: &str) -> Self {
        Self { what: one_line(what), began: Instant::now(), shown: false }
    }

    /// Says how long it has been, over what was said before.
    pub(crate) fn tick(&mut self) {
        let seconds = self.began.elapsed().as_secs();
        self.say(&format!("{seconds} s, Ctrl-C stops it"));
    }

    /// Says how far it has come, over what was said before.
    pub(crate) fn say(&mut self, how_far: &str) {
        if io::stderr().is_terminal() {
            self.shown = true;
            let _nobody_reads = write!(io::stderr(), "\r{}: {}\x1b[K", self.what, one_line(how_far));
        }
    }
}

/// Does `work`, and calls `tick` whenever it has taken so long again.
pub(crate) fn ticking<T>(every: Duration, mut tick: impl FnMut() + Send, work: impl FnOnce() -> T) -> T {
    let (working, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let ticks = move || {
            // ends: with the work, which drops the other end
            while done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        };
        // Without a thread nothing is told, and the work is done all the same.
        let _nobody_tells =
            std::thread::Builder::new().name("progress".to_owned()).spawn_scoped(scope, ticks);
        let done = work();
        drop(working);
        done
    })
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _nobody_reads = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Prints a line to stderr; if nobody can read it, that is that.
pub(crate) fn to_stderr(line: &str) {
    let _nobody_reads = writeln!(anstream::stderr().lock(), "{line}");
}

/// The same with all lines but the first behind a bar: what is not ours begins none.
fn barred(text: &str) -> String {
    visible(text.trim_end_matches('\n')).replace('\n', "\n  │ ")
}

/// The same on one line, whatever it is: what is not ours begins no line.
pub(crate) fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// Makes control, bidirectional and invisible characters visible, but for newlines and tabs.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(invisible) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if invisible(letter) { out.extend(letter.escape_unicode()) } else { out.push(letter) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_long_is_told_of_while_it_goes_on() {
        let (told, heard) = mpsc::channel();
        let tick = move || told.send(()).expect("whoever hears it ends after the work");
        let done = ticking(Duration::from_millis(1), tick, || (heard.recv().is_ok(), heard.recv().is_ok()));
        assert_eq!(done, (true, true));
    }

    #[test]
    fn what_is_not_ours_begins_no_line() {
        let text = "the server says: x\nerror: not ours\r\n\n";
        assert_eq!(barred(text), "the server says: x\n  │ error: not ours\\u{d}");
        assert_eq!(one_line(text), "the server says: x\\nerror: not ours\\u{d}\\n\\n");
    }

    #[test]
    fn nothing_hides() {
        for (text, expected) in [
            ("plain\n\ttext é 漢", "plain\n\ttext é 漢"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\rb", "a\\u{d}b"),
            ("user\u{202e}cod.exe", "user\\u{202e}cod.exe"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\u{200b}b\u{e0041}", "a\\u{200b}b\\u{e0041}"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }
}
