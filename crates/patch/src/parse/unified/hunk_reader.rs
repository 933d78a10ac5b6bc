//! Parses the hunks of a diff and finds the end of each, even if its line counts are wrong.

use std::ops::Range;

use super::file_head::{is_certain_name_pair, is_name_pair};
use super::{begins_file, is_between_files};
use crate::edit::{Hunk, HunkLine};
use crate::parse::heading::{self, HunkHeading};
use crate::parse::source_lines::SourceLines;
use crate::parse::{PatchSyntaxError, clip, hunk_body};

/// A hunk with the lines of the patch text that it occupies.
pub(super) struct ParsedHunk {
    pub(super) hunk: Hunk,
    pub(super) body: Range<usize>,
    /// The numbers of old and new lines that its `@@` line announces.
    pub(super) announced: Option<(usize, usize)>,
    /// True if the `@@` line ends with a carriage return. Then the whole text has them, and they are not the file's
    /// own.
    heading_has_cr: bool,
}

impl ParsedHunk {
    /// Returns the added text, with the file's line ends as the diff gives them.
    pub(super) fn added_text(&self, lines: &SourceLines<'_>) -> String {
        let mut content = String::new();
        for at in self.body.clone() {
            let Some(text) = lines.get(at).and_then(|line| line.strip_prefix('+')) else { continue };
            content.push_str(text);
            content.push_str(if lines.ends_with_cr(at) && !self.heading_has_cr { "\r\n" } else { "\n" });
        }
        if self.hunk.new_without_newline {
            content.pop();
        }
        content
    }
}

/// Parses consecutive hunks. Returns them and the line after the last.
pub(super) fn read_hunks(
    lines: &SourceLines<'_>,
    start: usize,
    complete: bool,
) -> Result<(Vec<ParsedHunk>, usize), PatchSyntaxError> {
    let mut found = Vec::new();
    let mut at = start;
    // ends: each round takes a line or more
    loop {
        if lines.get(at).is_some_and(|line| line.starts_with("@@")) {
            let hunk = read_hunk(lines, at, complete)?;
            at = hunk.body.end;
            found.push(hunk);
            continue;
        }
        // Blank lines before a hunk are separators.
        let next = (at..lines.len()).find(|at| !lines.is_blank(*at)).unwrap_or(lines.len());
        if next == at || !lines.get(next).is_some_and(|line| line.starts_with("@@")) {
            return Ok((found, at));
        }
        at = next;
    }
}

/// Returns true if a mail signature begins here: `-- ` and the version of git.
pub(super) fn is_mail_signature(lines: &SourceLines<'_>, at: usize) -> bool {
    let version = |line: &str| line.starts_with(|sign: char| sign.is_ascii_digit());
    let after = lines.get(at + 2);
    matches!(lines.get(at), Some("-- " | "--"))
        && lines.get(at + 1).is_some_and(version)
        && after.is_none_or(|line| line.trim().is_empty() || line.starts_with("From "))
}

fn read_hunk(lines: &SourceLines<'_>, start: usize, complete: bool) -> Result<ParsedHunk, PatchSyntaxError> {
    let number = lines.number(start);
    let line = lines.get(start).unwrap_or_default();
    let Some(heading) = heading::parse_heading(line) else {
        if line.starts_with("@@@") {
            let hint = "compare with one file: write a diff with `@@`";
            return Err(PatchSyntaxError::new(
                number,
                "a diff against several files cannot be applied",
                hint,
            ));
        }
        let what = format!("`{}` is not an `@@` line", clip(line));
        return Err(PatchSyntaxError::new(number, what, "write `@@ -1,2 +1,2 @@`, or `@@` alone"));
    };
    let counted = counted_end(lines, start + 1, &heading);
    let end = counted.unwrap_or_else(|| end_with_unsigned_lines(lines, start + 1));
    let (headers, old_start, new_start) = (heading.headers(), heading.old_start(), heading.new_start());
    let mut hunk = Hunk { line: number, headers, old_start, new_start, ..Hunk::default() };
    let heading_has_cr = lines.ends_with_cr(start);
    for at in start + 1..end {
        let text = lines.get(at).unwrap_or_default();
        if !hunk_body::push_line(&mut hunk, text, lines.number(at))? {
            hunk_body::push_unsigned_line(&mut hunk, text);
        }
        if !heading_has_cr && hunk.lines.len() > hunk.crlf.len() {
            hunk.crlf.push(lines.ends_with_cr(at));
        }
    }
    // A diff without carriage returns says nothing about the file's: models leave them out.
    if !hunk.crlf.contains(&true) {
        hunk.crlf.clear();
    }
    hunk_body::check_unsigned(&hunk)?;
    if counted.is_none() && !complete && end > lines.last() && is_short(&hunk, &heading) {
        let hint =
            "the last hunk has fewer lines than it says and its last line does not end; send all of it";
        return Err(PatchSyntaxError::cut_off(lines.number(lines.last()), hint));
    }
    if hunk.lines.is_empty() {
        return Err(PatchSyntaxError::new(
            number,
            "no lines follow the `@@`",
            "write the lines that change after it",
        ));
    }
    let announced = heading.old_range.zip(heading.new_range).map(|((_, old), (_, new))| (old, new));
    Ok(ParsedHunk { hunk, body: start + 1..end, announced, heading_has_cr })
}

/// Returns the end of the hunk by its own counts; `None` if they are wrong.
fn counted_end(lines: &SourceLines<'_>, start: usize, heading: &HunkHeading<'_>) -> Option<usize> {
    let ((_, mut old), (_, mut new)) = (heading.old_range?, heading.new_range?);
    let mut at = start;
    // ends: each round takes a line
    while old > 0 || new > 0 {
        // A count that is too high would take the names of the next file for changed lines.
        if is_certain_name_pair(lines, at) {
            return None;
        }
        match lines.get(at)?.as_bytes().first() {
            None | Some(b' ') => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
            Some(b'-') => old = old.checked_sub(1)?,
            Some(b'+') => new = new.checked_sub(1)?,
            Some(b'\\') => {}
            Some(_) => return None,
        }
        at += 1;
    }
    // ends: each round takes a line
    while lines.get(at).is_some_and(|line| line.starts_with("\\ ")) {
        at += 1;
    }
    let next = (at..lines.len()).find(|at| !lines.get(*at).unwrap_or_default().is_empty());
    match next {
        Some(next) if is_hunk_line(lines, next) => None,
        Some(_) | None => Some(at),
    }
}

/// Returns the end of the hunk by its lines. Trailing empty lines are separators.
fn end_by_lines(lines: &SourceLines<'_>, start: usize) -> usize {
    let line = |at: usize| lines.get(at).unwrap_or_default();
    let end = (start..lines.len())
        .find(|at| !line(*at).is_empty() && !is_hunk_line(lines, *at))
        .unwrap_or(lines.len());
    (start..end).rev().find(|at| !line(*at).is_empty()).map_or(start, |last| last + 1)
}

/// Returns the end of the hunk by its lines, and includes lines without a sign as far as they can be nothing else.
fn end_with_unsigned_lines(lines: &SourceLines<'_>, start: usize) -> usize {
    let end = end_by_lines(lines, start);
    let next = (end..lines.len()).find(|at| !lines.is_blank(*at));
    if next.is_none_or(|next| ends_hunk(lines, next)) {
        return end;
    }
    let until = (start..lines.len()).find(|at| ends_hunk(lines, *at)).unwrap_or(lines.len());
    (start..until).rev().find(|at| !lines.is_blank(*at)).map_or(end, |last| last + 1)
}

/// Returns true if a line ends a hunk: it begins another hunk or file, or may stand between files.
fn ends_hunk(lines: &SourceLines<'_>, at: usize) -> bool {
    let line = lines.get(at).unwrap_or_default();
    line.starts_with("@@") || begins_file(lines, at) || is_mail_signature(lines, at) || is_between_files(line)
}

/// Returns true if a line can only belong to a hunk.
fn is_hunk_line(lines: &SourceLines<'_>, at: usize) -> bool {
    let line = lines.get(at).unwrap_or_default();
    let sign = line.starts_with([' ', '+', '-']) || line.starts_with("\\ ");
    sign && !is_name_pair(lines, at) && !is_mail_signature(lines, at)
}

/// Returns true if the hunk has no more lines than announced.
fn is_short(hunk: &Hunk, heading: &HunkHeading<'_>) -> bool {
    let (Some((_, old)), Some((_, new))) = (heading.old_range, heading.new_range) else { return false };
    let has_old = hunk.lines.iter().filter(|line| !matches!(line, HunkLine::Add(_))).count();
    let has_new = hunk.lines.iter().filter(|line| !matches!(line, HunkLine::Drop(_))).count();
    has_old <= old && has_new <= new
}
