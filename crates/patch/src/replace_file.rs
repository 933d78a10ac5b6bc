//! Replaces a whole file, keeping its byte order mark, encoding and line ends.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::decoded_text::{DecodedText, TextCodecError};

/// The time limit of the line diff. After it, the rest is compared coarsely.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// Encodes `content` like the file `before`. An encoding that cannot represent it is an error, never a silent
/// conversion.
pub(crate) fn encode_like(content: &str, before: &[u8]) -> Result<Vec<u8>, TextCodecError> {
    match DecodedText::from_bytes(before) {
        Ok(text) => text.encode(adopt_line_ends(text.strip_repeated_bom(content), &text)),
        // A binary file has no text properties to keep.
        Err(TextCodecError::Binary) => Ok(content.as_bytes().to_vec()),
        Err(fault) => Err(fault),
    }
}

/// Gives `content` the file's line ends, unless it has `\r` itself. Unchanged lines keep their line ends; replaced
/// lines pass theirs on.
fn adopt_line_ends(content: &str, text: &DecodedText<'_>) -> String {
    if content.contains('\r') || (0..text.len()).all(|at| matches!(text.line_end(at), "\n" | "")) {
        return content.to_owned();
    }
    let old: Vec<&str> = text.iter().collect();
    let new: Vec<&str> = content.lines().collect();
    let deadline = Instant::now() + DIFF_TIMEOUT;
    let ops = capture_diff_slices_deadline(Algorithm::Histogram, &old, &new, Some(deadline));
    let mut out = String::with_capacity(content.len() + new.len());
    for op in ops {
        let (old, new_range) = (op.old_range(), op.new_range());
        let last = if matches!(op, DiffOp::Insert { .. }) { old.start } else { old.end }.saturating_sub(1);
        for (at, line) in (old.start..).zip(&new[new_range]) {
            let ending = text.line_end(at.min(last));
            out.push_str(line);
            out.push_str(if ending.is_empty() { text.first_line_end() } else { ending });
        }
    }
    if !content.ends_with('\n') {
        out.truncate(out.trim_end_matches('\n').trim_end_matches('\r').len());
    }
    out
}
