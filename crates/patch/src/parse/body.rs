//! Parses the lines of a hunk, which have the same syntax in envelopes and diffs.

use super::{Syntax, clip};
use crate::edit::{Hunk, Line};

/// Adds a line to `hunk`: context, removed or added, or the mark for a missing newline.
///
/// Returns `false` if the line is none of these.
pub(super) fn take(hunk: &mut Hunk, text: &str, number: usize) -> Result<bool, Syntax> {
    let line = match text.as_bytes().first() {
        None => Line::Keep(String::new()),
        Some(b' ') => Line::Keep(text[1..].to_owned()),
        Some(b'-') => Line::Drop(text[1..].to_owned()),
        Some(b'+') => Line::Add(text[1..].to_owned()),
        Some(b'\\') if text.starts_with("\\ ") => return bare(hunk, number).map(|()| true),
        Some(_) => return Ok(false),
    };
    let late = match line {
        Line::Keep(_) => hunk.old_bare || hunk.new_bare,
        Line::Drop(_) => hunk.old_bare,
        Line::Add(_) => hunk.new_bare,
    };
    if late {
        let what = "a line follows the one that the patch calls the last of the file";
        return Err(Syntax::new(
            number,
            what,
            "write `\\ No newline at end of file` after the last line only",
        ));
    }
    hunk.lines.push(line);
    Ok(true)
}

/// Adds a line without a sign, unchanged.
pub(super) fn take_unsigned(hunk: &mut Hunk, text: &str) {
    hunk.unsigned.push(hunk.lines.len());
    hunk.lines.push(Line::Keep(text.to_owned()));
}

/// Rejects lines without signs if no other line of the hunk changes anything, or if the hunk marks a missing newline.
pub(super) fn check(hunk: &Hunk) -> Result<(), Syntax> {
    let Some(Line::Keep(text)) = hunk.unsigned.first().and_then(|at| hunk.lines.get(*at)) else {
        return Ok(());
    };
    let changes = hunk.lines.iter().any(|line| !matches!(line, Line::Keep(_)));
    if changes && !hunk.old_bare && !hunk.new_bare {
        return Ok(());
    }
    let what = format!("`{}` begins with none of ` `, `+`, `-`, `@@` and `***`", clip(text));
    let hint = "begin a line that stays with a space, one that goes with `-`, one that comes with `+`";
    Err(Syntax::new(hunk.line, what, hint))
}

fn bare(hunk: &mut Hunk, number: usize) -> Result<(), Syntax> {
    match hunk.lines.last() {
        Some(Line::Keep(_)) => (hunk.old_bare, hunk.new_bare) = (true, true),
        Some(Line::Drop(_)) => hunk.old_bare = true,
        Some(Line::Add(_)) => hunk.new_bare = true,
        None => {
            let what = "there is no line before this that could lack its newline";
            return Err(Syntax::new(number, what, "write it after the line that it is about"));
        }
    }
    Ok(())
}
