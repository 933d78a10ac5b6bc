//! Parses the `@@` line that begins a hunk.

/// git and diff truncate the text after the numbers. A text of this length may be incomplete.
const TRUNCATED_HEADER_BYTES: usize = 79;

/// A parsed `@@` line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HunkHeading<'a> {
    /// The first line and the number of lines in the old file.
    pub(super) old_range: Option<(usize, usize)>,
    /// The first line and the number of lines in the new file.
    pub(super) new_range: Option<(usize, usize)>,
    /// The header: a line that stands above the hunk, or empty.
    pub(super) header: &'a str,
}

impl HunkHeading<'_> {
    /// Returns the hunk's first line in the old file. A range without lines gives the line before it.
    pub(super) fn old_start(&self) -> Option<usize> {
        first_line_of_range(self.old_range?)
    }

    /// Returns the hunk's first line in the new file. A range without lines gives the line before it.
    pub(super) fn new_start(&self) -> Option<usize> {
        first_line_of_range(self.new_range?)
    }

    pub(super) fn headers(&self) -> Vec<String> {
        if self.header.is_empty() { Vec::new() } else { vec![self.header.to_owned()] }
    }
}

fn first_line_of_range(range: (usize, usize)) -> Option<usize> {
    match range {
        (line, 0) => line.checked_add(1),
        (0, _) => None,
        (line, _) => Some(line),
    }
}

/// Parses `@@`, `@@ name`, `@@ name @@`, `@@ -1,2 +3,4 @@ name` and `@@ ... @@`, and nothing else.
pub(super) fn parse_heading(line: &str) -> Option<HunkHeading<'_>> {
    let rest = line.strip_prefix("@@")?;
    if let Some(heading) = parse_numbered(rest.trim_start()) {
        return Some(heading);
    }
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    // `-X,Y +X,Y @@ name`: placeholders instead of numbers.
    if let Some((numbers, name)) = rest.split_once("@@")
        && (numbers.trim().is_empty() || numbers.trim_start().starts_with(['-', '.', '…']))
    {
        return Some(HunkHeading { header: trim_header(name), ..HunkHeading::default() });
    }
    Some(HunkHeading { header: trim_header(rest), ..HunkHeading::default() })
}

/// Parses `-1,2 +3,4 @@ name`. The second range is optional.
fn parse_numbered(text: &str) -> Option<HunkHeading<'_>> {
    let (old, rest) = parse_range(text.strip_prefix('-')?)?;
    let rest = rest.trim_start();
    let (new_range, rest) = match rest.strip_prefix('+').and_then(parse_range) {
        Some((new, rest)) => (Some(new), rest),
        None => (None, rest),
    };
    let rest = rest.trim_start();
    let header = match rest.strip_prefix("@@") {
        Some(name) => trim_header(name),
        None if rest.is_empty() => "",
        None => return None,
    };
    let header = if header.len() < TRUNCATED_HEADER_BYTES { header } else { "" };
    Some(HunkHeading { old_range: Some(old), new_range, header })
}

/// Parses `1` or `1,2`, and returns the rest of the text.
fn parse_range(text: &str) -> Option<((usize, usize), &str)> {
    let (line, rest) = parse_number(text)?;
    match rest.strip_prefix(',').and_then(parse_number) {
        Some((count, rest)) => Some(((line, count), rest)),
        None => Some(((line, 1), rest)),
    }
}

fn parse_number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// Strips spaces and `@@` around a header. Dots mean no header.
fn trim_header(text: &str) -> &str {
    let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
    let text = text.strip_suffix("@@").unwrap_or(text).trim_end();
    if matches!(text.trim(), "..." | "…" | "") { "" } else { text }
}
