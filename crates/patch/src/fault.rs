//! Errors that keep a patch from being applied, worded so that a model can correct the patch.

use std::fmt::{self, Write};

use similar::TextDiff;

use crate::decoded_text::DecodedText;
use crate::edit::{FileEdit, Hunk};
use crate::matching::{PlacementMiss, closest_lines};

/// The maximum number of lines shown of a place.
const MAX_SHOWN_LINES: usize = 40;
/// The maximum number of places listed.
const MAX_LISTED_PLACES: usize = 8;
/// The maximum number of bytes shown of a line.
const MAX_SHOWN_BYTES: usize = 300;

/// The reasons why a patch was not applied. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFailure {
    /// One entry for each error.
    pub faults: Vec<PatchFault>,
}

/// One error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFault {
    /// The path of the file, as the patch spells it.
    pub path: String,
    /// The line of the patch, counted from 1; 0 if there is none.
    pub line: usize,
    /// The error message, which continues after the file's name.
    pub what: String,
    /// The lines of the file that help to correct the patch.
    pub detail: Option<String>,
}

impl std::error::Error for PatchFailure {}

impl fmt::Display for PatchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            if at > 0 {
                f.write_char('\n')?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PatchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.what)?,
            path => write!(f, "`{path}` {}", self.what)?,
        }
        if let Some(detail) = &self.detail {
            write!(f, "\n{detail}")?;
        }
        Ok(())
    }
}

impl PatchFault {
    pub(crate) fn for_path(edit: &FileEdit, path: &str, what: String) -> Self {
        Self { path: path.to_owned(), line: edit.line, what, detail: None }
    }

    /// Creates the error for a hunk without a place in `text`. `number` is the hunk's index and the number of hunks.
    pub(crate) fn from_miss(
        edit: &FileEdit,
        text: &DecodedText<'_>,
        number: Option<(usize, usize)>,
        hunk: &Hunk,
        miss: &PlacementMiss,
    ) -> Self {
        let which = match number {
            Some((index, of)) => format!("hunk {} of {of} (line {} of the patch)", index + 1, hunk.line),
            None if hunk.line > 0 => format!("the hunk at line {} of the patch", hunk.line),
            None => "the text to replace".to_owned(),
        };
        let (what, detail) = describe_miss(text, hunk, miss);
        let line = if hunk.line > 0 { hunk.line } else { edit.line };
        Self { path: edit.path.clone(), line, what: format!("is unchanged: {which} {what}"), detail }
    }
}

/// Describes why a hunk has no place, with the lines of the file there.
fn describe_miss(text: &DecodedText<'_>, hunk: &Hunk, miss: &PlacementMiss) -> (String, Option<String>) {
    let there = |at: usize| Some(numbered_lines(text, at, at + hunk.old_lines().count()));
    match miss {
        PlacementMiss::Absent => {
            let (what, detail) = describe_absent(text, hunk);
            (what + &describe_present_result(text, hunk), detail)
        }
        PlacementMiss::Ambiguous(places) => describe_ambiguous(text, hunk, places),
        PlacementMiss::Doubtful(at, doubt) => {
            (format!("almost fits at line {}, but {doubt}; write it as the file has it", at + 1), there(*at))
        }
        PlacementMiss::SeemsApplied(_, at)
        | PlacementMiss::RepeatsNeighbour(at)
        | PlacementMiss::FitsAndApplied(at) => (describe_seemingly_applied(miss, *at), there(*at)),
        PlacementMiss::OutOfOrder(at) | PlacementMiss::OutsideHeader(_, at) | PlacementMiss::NotAtEnd(at) => {
            (describe_misplaced(text, miss, *at), there(*at))
        }
        PlacementMiss::OverlapsHunk(at) => {
            (format!("changes line {} too, which another hunk changes; make them one", at + 1), None)
        }
        PlacementMiss::IndentedSign(line) => {
            (format!("has blanks before the sign of `{}`; begin the line with it", line.trim()), None)
        }
        PlacementMiss::BudgetExhausted => {
            let what = "would take too long: the file is long for so many edits, or too much of it is alike; send them in parts, or with lines that stand only there";
            (what.to_owned(), None)
        }
        PlacementMiss::HeaderNotFound(_)
        | PlacementMiss::HeaderContinues(_)
        | PlacementMiss::HeaderNotAtEnd(_)
        | PlacementMiss::NoPlaceGiven => (describe_unplaced(text, miss), None),
    }
}

/// Describes a hunk that fits at a place where other evidence says that it does not belong.
fn describe_misplaced(text: &DecodedText<'_>, miss: &PlacementMiss, at: usize) -> String {
    let line = at + 1;
    match miss {
        PlacementMiss::OutsideHeader(header, _) => format!(
            "fits at line {line} alone, which is not below its header `{}` (line {}); write the lines as they stand below that, or give the header of the place that is meant",
            truncate_line(text.line(*header).trim()),
            header + 1
        ),
        PlacementMiss::NotAtEnd(_) => format!(
            "fits at line {line}, which is not the end of the file; leave `*** End of File` out, or give the lines that are the last"
        ),
        _ => format!(
            "almost fits at line {line}, which is before the hunk before it; give the hunks in the file's order, or write it as the file has it"
        ),
    }
}

/// Describes a hunk that only adds lines and does not say where.
fn describe_unplaced(text: &DecodedText<'_>, miss: &PlacementMiss) -> String {
    let header_text = |header: usize| truncate_line(text.line(header).trim());
    match miss {
        PlacementMiss::HeaderNotFound(header) => format!(
            "only adds lines, and its header `{header}` is not in the file; give lines that stand around them"
        ),
        PlacementMiss::HeaderContinues(header) => format!(
            "only adds lines, and its header `{}` goes on in the next lines; give the line that they come after",
            header_text(*header)
        ),
        PlacementMiss::HeaderNotAtEnd(header) => format!(
            "only adds lines, below `{}` and at the end of the file, which is not the same; give the lines that stand around them",
            header_text(*header)
        ),
        _ => "only adds lines, and gives none that stand around them; give some".to_owned(),
    }
}

/// Describes a hunk that may already be applied.
fn describe_seemingly_applied(miss: &PlacementMiss, at: usize) -> String {
    let line = at + 1;
    match miss {
        PlacementMiss::SeemsApplied(done, _) => format!(
            "seems to be applied already, at line {}: its old lines are only almost those at line {line}; if it belongs there, write them as the file has them",
            done + 1
        ),
        PlacementMiss::FitsAndApplied(_) => format!(
            "fits at line {line}, where its number says, and its result is already there too: perhaps it is applied already; if more is meant, give more lines around it, or the `index` line of git's diff"
        ),
        _ => format!(
            "only adds, at line {line}, what stands there: perhaps it is applied already; if more is meant, give the lines before and after it"
        ),
    }
}

fn describe_absent(text: &DecodedText<'_>, hunk: &Hunk) -> (String, Option<String>) {
    let Some((start, end)) = closest_lines(text, hunk) else {
        let stands = |line: &str| !line.trim().is_empty() && !text.index().lines_like(line).is_empty();
        let what = match hunk.old_lines().any(stands) {
            true => {
                "does not match: too few of its lines are in the file, or in too many places; give more of what stands there"
            }
            false => "does not match: none of its lines is in the file; read the file again",
        };
        return (what.to_owned(), None);
    };
    let end = end.min(start + MAX_SHOWN_LINES);
    let what = format!(
        "does not match; the closest place is lines {}-{end}. Lines with `-` are what the patch expects, with `+` what is there",
        start + 1
    );
    let expected: Vec<&str> = hunk.old_lines().take(2 * MAX_SHOWN_LINES).collect();
    let there: Vec<&str> = (start..end).map(|at| text.line(at)).collect();
    let diff = TextDiff::from_slices(&expected, &there);
    let mut detail = String::new();
    for change in diff.iter_all_changes().take(2 * MAX_SHOWN_LINES) {
        let number = change.new_index().map_or(String::new(), |at| (start + at + 1).to_string());
        let _ = writeln!(detail, "{number:>6} {}{}", change.tag(), truncate_line(change.value()));
    }
    detail.truncate(detail.trim_end_matches('\n').len());
    (what, Some(detail))
}

/// Reports where the new lines stand, if they do: the hunk may already be applied.
fn describe_present_result(text: &DecodedText<'_>, hunk: &Hunk) -> String {
    let new: Vec<&str> = hunk.new_lines().collect();
    let stands = |at: &usize| {
        let same = new.iter().zip(*at..).take_while(|(line, at)| **line == text.line(*at)).count();
        text.budget().spend(same + 1) && same == new.len()
    };
    let telling = new.iter().any(|line| !line.trim().is_empty());
    let mut places =
        (0..(text.len() + 1).saturating_sub(new.len())).take_while(|_| !text.budget().is_exhausted());
    let found = places.find(stands).filter(|_| telling);
    found.map_or(String::new(), |at| {
        format!("; its new lines stand at line {}: perhaps it is applied already", at + 1)
    })
}

fn describe_ambiguous(text: &DecodedText<'_>, hunk: &Hunk, places: &[usize]) -> (String, Option<String>) {
    let count = places.len();
    let more = if count > MAX_LISTED_PLACES {
        format!(" (the first {MAX_LISTED_PLACES} of {count})")
    } else {
        String::new()
    };
    let try_this = match hunk.line {
        0 => "give more of the text around it, or set `replace_all`",
        _ => "add lines around it that only one of them has, or an `@@` header that stands above it",
    };
    let what = format!("fits in {count} places{more}; {try_this}");
    let mut detail = String::new();
    for at in places.iter().take(MAX_LISTED_PLACES) {
        let above = (0..*at).rev().find(|above| is_heading(text.line(*above), text.line(*at)));
        let above = above.map(|above| {
            format!(", below `{}` (line {})", truncate_line(text.line(above).trim()), above + 1)
        });
        let end = at + hunk.old_lines().count().max(1);
        let _ = writeln!(detail, "lines {}-{end}{}", at + 1, above.unwrap_or_default());
    }
    detail.truncate(detail.trim_end_matches('\n').len());
    (what, Some(detail))
}

/// Returns true if a line may be the header of another: it is indented less and has at least three alphanumeric
/// characters.
fn is_heading(line: &str, of: &str) -> bool {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let telling = line.chars().filter(|char| char.is_alphanumeric()).count() > 2;
    telling && (depth(line) < depth(of) || depth(line) == 0)
}

fn numbered_lines(text: &DecodedText<'_>, start: usize, end: usize) -> String {
    let lines = (start.saturating_sub(2)..(end + 2).min(text.len())).take(MAX_SHOWN_LINES);
    let lines: Vec<String> =
        lines.map(|at| format!("{:>6} {}", at + 1, truncate_line(text.line(at)))).collect();
    lines.join("\n")
}

fn truncate_line(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_SHOWN_BYTES)]
}
