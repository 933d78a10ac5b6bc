//! Renders process output as text for a model: the final state of overwritten lines, within a byte budget.

mod escape_sequence;
mod overwritten_line;
mod truncate;

use std::path::PathBuf;

use std::fmt::Write;

use exec::capture::{Captured, KeptOutput};
use tool::{BYTES_PER_TOKEN, OmittedSize};

use self::truncate::{CapturedText, describe_kept_file};

/// The device that the bytes were written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputDevice {
    /// Bytes are kept as they are, except in overwritten lines.
    Pipe,
    /// Only text is kept: control sequences take effect within their line and are removed.
    Terminal,
}

/// Renders output of a pipe. CRLF becomes LF, a lone CR overwrites the line, and bytes that are not UTF-8 become
/// `\xNN`. Other control characters and ANSI sequences are kept.
pub(crate) fn render_piped(bytes: &[u8]) -> String {
    render(bytes, OutputDevice::Pipe)
}

/// Renders output of a terminal. Beyond [`render_piped`], control characters and escape sequences are interpreted or
/// removed.
pub(crate) fn render_terminal(bytes: &[u8]) -> String {
    render(bytes, OutputDevice::Terminal)
}

/// Removes the fragments of a cut character at the end of `head` and at the start of `tail`.
pub(crate) fn trim_to_chars<'a>(head: &'a [u8], tail: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let is_cut = |bytes: &[u8]| {
        let error = std::str::from_utf8(bytes).err();
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    let end = (head.len().saturating_sub(3)..head.len()).find(|&at| is_cut(&head[at..]));
    let start = tail.iter().take(3).take_while(|&&byte| byte & 0xc0 == 0x80).count();
    (&head[..end.unwrap_or(head.len())], &tail[start..])
}

/// An output as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenderedOutput {
    pub(crate) text: String,
    /// The size of the omitted part. Lines that memory dropped are not counted.
    pub(crate) omitted: Option<OmittedSize>,
    /// The file with the full output, or with as much as could be kept.
    pub(crate) output_file: Option<PathBuf>,
    /// The token count of the full output.
    pub(crate) tokens: u64,
    /// The number of lines.
    pub(crate) lines: u64,
}

/// Renders an output in at most `budget` bytes, or in as many as the truncation marker needs. Only truncated output is
/// kept in a file.
pub(crate) fn render_within(captured: &mut Captured, terminal: bool, budget: usize) -> RenderedOutput {
    let render_bytes = if terminal { render_terminal } else { render_piped };
    let known = if captured.omitted == 0 && captured.tail.is_empty() {
        CapturedText::Whole(render_bytes(&captured.head))
    } else if captured.omitted == 0 {
        CapturedText::Whole(render_bytes(&[&*captured.head, &*captured.tail].concat()))
    } else {
        let (head, tail) = trim_to_chars(&captured.head, &captured.tail);
        let omitted = captured.bytes() - (head.len() + tail.len()) as u64;
        CapturedText::HeadAndTail { head: render_bytes(head), omitted, tail: render_bytes(tail) }
    };
    let tokens = captured.bytes().div_ceil(BYTES_PER_TOKEN as u64);
    let lines = captured.lines;
    match known {
        CapturedText::Whole(text) if text.len() <= budget => {
            RenderedOutput { text, omitted: None, output_file: None, tokens, lines }
        }
        known => {
            let kept = captured.keep_all();
            let (text, omitted) = known.truncate(budget, &describe_kept_file(&kept));
            let output_file = match kept {
                KeptOutput::Whole(path) | KeptOutput::Part { path, .. } => Some(path),
                KeptOutput::NotKept(_) => None,
            };
            RenderedOutput { text, omitted: Some(omitted), output_file, tokens, lines }
        }
    }
}

fn render(bytes: &[u8], device: OutputDevice) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !has_control_bytes(bytes, device)
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
        // A trailing CR overwrites nothing.
        let returns = line.iter().rev().take_while(|&&byte| byte == b'\r').count();
        let line = &line[..line.len() - returns];
        if has_control_bytes(line, device) {
            overwritten_line::render_line(line, device, &mut out);
        } else {
            escape_bytes(line, &mut out);
        }
        out.push_str(end);
    }
    out
}

/// Returns true if the bytes contain anything that moves the cursor or is invisible on the device.
fn has_control_bytes(bytes: &[u8], device: OutputDevice) -> bool {
    match device {
        OutputDevice::Pipe => memchr::memchr(b'\r', bytes).is_some(),
        OutputDevice::Terminal => bytes.iter().any(|byte| matches!(byte, 1..=8 | 11..=31 | 127)),
    }
}

/// Appends bytes as text. Bytes that are not UTF-8, and NUL, which some model APIs reject, become `\xNN`.
fn escape_bytes(bytes: &[u8], out: &mut String) {
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
