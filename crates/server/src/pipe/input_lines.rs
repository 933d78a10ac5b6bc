//! Reads standard input line by line with a length limit, and parses each line as JSON or a server-sent event.

use std::io::{self, BufRead, Read};

use serde_json::Value;
use tokio::sync::mpsc;

/// Maximum length of a line in bytes.
pub(super) const MAX_LINE_BYTES: u64 = 10 << 20;
/// Maximum number of lines that are read ahead.
const MAX_READ_AHEAD: usize = 2;

/// One line of the input.
pub(super) enum InputLine {
    Text(Vec<u8>),
    TooLong,
}

/// Reads standard input on a thread of its own, because reads block. The thread may end with the process.
pub(super) fn spawn_stdin_reader() -> mpsc::Receiver<InputLine> {
    let (sender, lines) = mpsc::channel(MAX_READ_AHEAD);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        // ends: with the input, or when the receiver is gone
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let whole = line.ends_with(b"\n") || (line.len() as u64) < MAX_LINE_BYTES;
            let line = if whole { InputLine::Text(line) } else { InputLine::TooLong };
            let skipped = if whole { Ok(()) } else { skip_rest_of_line(&mut input) };
            if sender.blocking_send(line).is_err() || skipped.is_err() {
                break;
            }
        }
    });
    lines
}

fn skip_rest_of_line(input: &mut impl BufRead) -> io::Result<()> {
    // ends: with the line, or with the input
    loop {
        let buffer = input.fill_buf()?;
        let (used, done) = match buffer.iter().position(|&byte| byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}

/// The content of a line that is not blank.
pub(super) enum LineContent {
    Json(Value),
    /// The end of a streamed response, which servers write as `[DONE]`.
    EndOfResponse,
}

/// Fields of a server-sent event other than `data`, and the start of a comment. They contain no call.
const SSE_FIELDS_WITHOUT_DATA: [&[u8]; 4] = [b"event:", b"id:", b"retry:", b":"];

/// Parses a line, which may be part of a server-sent event. Returns `None` for a line without content, and a
/// message for invalid JSON.
pub(super) fn parse(line: &[u8]) -> Option<Result<LineContent, String>> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    let line = line.strip_prefix(b"data:").unwrap_or(line).trim_ascii();
    if line.is_empty() || SSE_FIELDS_WITHOUT_DATA.iter().any(|field| line.starts_with(field)) {
        return None;
    }
    if line == b"[DONE]" {
        return Some(Ok(LineContent::EndOfResponse));
    }
    let parsed = serde_json::from_slice(line).or_else(|error| {
        let mended = std::str::from_utf8(line).ok().and_then(runtime::replace_lone_surrogates);
        mended.and_then(|mended| serde_json::from_str(&mended).ok()).ok_or(error)
    });
    Some(parsed.map(LineContent::Json).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default();
        format!("is not JSON at column {}: {why}", error.column())
    }))
}
