//! Bytes that a process wrote → text for a model: what a screen would show in the end, within a budget.

mod cut;
mod fold;
mod sequence;

use std::path::PathBuf;

use std::fmt::Write;

use exec::capture::{Captured, Kept};
use tool::{BYTES_PER_TOKEN, Cut};

use self::cut::{Known, whereabouts};

/// What the bytes were written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Device {
    /// Bytes as they are, but for lines that were overwritten.
    Pipe,
    /// Letters only: whatever steers the terminal is obeyed within its line, and left out.
    Terminal,
}

/// What came through a pipe: CRLF is LF, what a lone CR goes back over is overwritten, and bytes that no text can hold are
/// `\xNN`. Other control characters and ANSI sequences are kept.
pub(crate) fn piped(bytes: &[u8]) -> String {
    shown(bytes, Device::Pipe)
}

/// What came from a terminal: the same, and control characters and escape sequences are obeyed or left out.
pub(crate) fn shown_on_terminal(bytes: &[u8]) -> String {
    shown(bytes, Device::Terminal)
}

/// Takes away what is left of a character that was cut: at the end of `head`, and at the start of `tail`.
pub(crate) fn trim_to_chars<'a>(head: &'a [u8], tail: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let is_cut = |bytes: &[u8]| {
        let error = std::str::from_utf8(bytes).err();
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    let end = (head.len().saturating_sub(3)..head.len()).find(|&at| is_cut(&head[at..]));
    let start = tail.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
    (&head[..end.unwrap_or(head.len())], &tail[start..])
}

/// An output as a model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// What was left out. Lines that memory dropped are not counted.
    pub(crate) cut: Option<Cut>,
    /// The file that all of it is in, or as much as could be kept.
    pub(crate) kept: Option<PathBuf>,
    /// What all of the output would cost.
    pub(crate) tokens: u64,
    /// How many lines there are.
    pub(crate) lines: u64,
}

/// Shows an output in at most `budget` bytes, or else in as many as it takes to say what is missing. Only if something
/// is, the whole is kept.
pub(crate) fn fit(captured: &mut Captured, terminal: bool, budget: usize) -> Shown {
    let shown = if terminal { shown_on_terminal } else { piped };
    let known = if captured.omitted == 0 && captured.tail.is_empty() {
        Known::Whole(shown(&captured.head))
    } else if captured.omitted == 0 {
        Known::Whole(shown(&[&*captured.head, &*captured.tail].concat()))
    } else {
        let (head, tail) = trim_to_chars(&captured.head, &captured.tail);
        let omitted = captured.bytes() - (head.len() + tail.len()) as u64;
        Known::Ends { head: shown(head), omitted, tail: shown(tail) }
    };
    let tokens = captured.bytes().div_ceil(BYTES_PER_TOKEN as u64);
    let lines = captured.lines;
    match known {
        Known::Whole(text) if text.len() <= budget => Shown { text, cut: None, kept: None, tokens, lines },
        known => {
            let kept = captured.keep();
            let (text, cut) = known.shorten(budget, &whereabouts(&kept));
            let kept = match kept {
                Kept::Whole(path) | Kept::Part { path, .. } => Some(path),
                Kept::Nowhere(_) => None,
            };
            Shown { text, cut: Some(cut), kept, tokens, lines }
        }
    }
}

fn shown(bytes: &[u8], device: Device) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !is_steered(bytes, device)
        && memchr::memchr(0, bytes).is_none()
    {
        return text.to_owned();
    }
    let mut out = String::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let (line, end) = match line.strip_suffix(b"\n") {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        // A return that nothing follows overwrites nothing.
        let returns = line.iter().rev().take_while(|&&byte| byte == b'\r').count();
        let line = &line[..line.len() - returns];
        if is_steered(line, device) {
            fold::fold(line, device, &mut out);
        } else {
            escape(line, &mut out);
        }
        out.push_str(end);
    }
    out
}

/// Whether there is something that moves the cursor, or that the device does not show.
fn is_steered(bytes: &[u8], device: Device) -> bool {
    match device {
        Device::Pipe => memchr::memchr(b'\r', bytes).is_some(),
        Device::Terminal => bytes.iter().any(|byte| matches!(byte, 1..=8 | 11..=31 | 127)),
    }
}

/// Bytes as text; those that no text can hold, and NUL, which some model APIs refuse, as `\xNN`.
fn escape(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        for (at, part) in chunk.valid().split('\0').enumerate() {
            out.push_str(if at == 0 { "" } else { "\\x00" });
            out.push_str(part);
        }
        for byte in chunk.invalid() {
            let _written = write!(out, "\\x{byte:02x}");
        }
    }
}

#[cfg(test)]
mod tests;
