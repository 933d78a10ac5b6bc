//! Parses the lines of a hunk, which have the same syntax in envelopes and diffs.

use super::{PatchSyntaxError, clip};
use crate::edit::{Hunk, HunkLine};

/// Adds a line to `hunk`: context, removed or added, or the mark for a missing newline.
///
/// Returns `false` if the line is none of these.
pub(super) fn push_line(hunk: &mut Hunk, text: &str, number: usize) -> Result<bool, PatchSyntaxError> {
    let line = match text.as_bytes().first() {
        None => HunkLine::Keep(String::new()),
        Some(b' ') => HunkLine::Keep(text[1..].to_owned()),
        Some(b'-') => HunkLine::Drop(text[1..].to_owned()),
        Some(b'+') => HunkLine::Add(text[1..].to_owned()),
        Some(b'\\') if text.starts_with("\\ ") => return mark_missing_newline(hunk, number).map(|()| true),
        Some(_) => return Ok(false),
    };
    let late = match line {
        HunkLine::Keep(_) => hunk.old_without_newline || hunk.new_without_newline,
        HunkLine::Drop(_) => hunk.old_without_newline,
        HunkLine::Add(_) => hunk.new_without_newline,
    };
    if late {
        let what = "a line follows the one that the patch calls the last of the file";
        return Err(PatchSyntaxError::new(
            number,
            what,
            "write `\\ No newline at end of file` after the last line only",
        ));
    }
    hunk.lines.push(line);
    Ok(true)
}

/// Adds a line without a sign, unchanged.
pub(super) fn push_unsigned_line(hunk: &mut Hunk, text: &str) {
    hunk.unsigned_lines.push(hunk.lines.len());
    hunk.lines.push(HunkLine::Keep(text.to_owned()));
}

/// Rejects lines without signs if no other line of the hunk changes anything, or if the hunk marks a missing newline.
pub(super) fn check_unsigned(hunk: &Hunk) -> Result<(), PatchSyntaxError> {
    let Some(HunkLine::Keep(text)) = hunk.unsigned_lines.first().and_then(|at| hunk.lines.get(*at)) else {
        return Ok(());
    };
    let changes = hunk.lines.iter().any(|line| !matches!(line, HunkLine::Keep(_)));
    if changes && !hunk.old_without_newline && !hunk.new_without_newline {
        return Ok(());
    }
    let what = format!("`{}` begins with none of ` `, `+`, `-`, `@@` and `***`", clip(text));
    let hint = "begin a line that stays with a space, one that goes with `-`, one that comes with `+`";
    Err(PatchSyntaxError::new(hunk.line, what, hint))
}

fn mark_missing_newline(hunk: &mut Hunk, number: usize) -> Result<(), PatchSyntaxError> {
    match hunk.lines.last() {
        Some(HunkLine::Keep(_)) => (hunk.old_without_newline, hunk.new_without_newline) = (true, true),
        Some(HunkLine::Drop(_)) => hunk.old_without_newline = true,
        Some(HunkLine::Add(_)) => hunk.new_without_newline = true,
        None => {
            let what = "there is no line before this that could lack its newline";
            return Err(PatchSyntaxError::new(number, what, "write it after the line that it is about"));
        }
    }
    Ok(())
}
