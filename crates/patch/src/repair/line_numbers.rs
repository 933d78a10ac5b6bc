//! Strips line numbers from the beginning of lines, as `cat -n` and other programs show them.

use std::collections::HashSet;

use crate::decoded_text::DecodedText;
use crate::edit::{Hunk, HunkLine};
use crate::engine_part::EnginePart;

/// Separators between a number and its line. The first two do not occur in code.
const SEPARATORS: &[&str] = &["\t", "→", ": ", ":", " | ", "| ", "|"];
/// The maximum number of digits of a line number.
const MAX_DIGITS: usize = 7;
/// The number of lines around the numbered place that count as part of it.
const NEARBY_LINES: usize = 5;

/// Returns the hunks without line numbers, for each separator that fits.
pub(super) fn strip_numbers(text: &DecodedText<'_>, hunks: &[Hunk]) -> Vec<Vec<Hunk>> {
    let one = |hunk: &Hunk, separator: &str| match strip_hunk_numbers(hunk, separator)? {
        (read, Some(start)) => {
            let near = may_be_near_number(text, &read, start) && EnginePart::NearNumber.is_on();
            (!near).then_some(read)
        }
        (read, None) => Some(read),
    };
    let with = |separator: &&str| -> Option<Vec<Hunk>> {
        let read: Option<Vec<Hunk>> = hunks.iter().map(|hunk| one(hunk, separator)).collect();
        read.filter(|read| read != hunks)
    };
    SEPARATORS.iter().filter_map(with).collect()
}

/// A line that begins with its number.
struct NumberedLine<'a> {
    /// The width of the number, with the blanks before it.
    width: usize,
    padded: bool,
    number: usize,
    rest: &'a str,
}

fn parse_numbered_line<'a>(line: &'a str, separator: &str) -> Option<NumberedLine<'a>> {
    let digits = line.trim_start_matches(' ');
    let blanks = line.len() - digits.len();
    let length = digits.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(digits.len());
    let number = digits[..length].parse().ok().filter(|_| length <= MAX_DIGITS)?;
    let after = &digits[length..];
    // An empty line may have lost its trailing blank.
    let rest = after
        .strip_prefix(separator)
        .or((after == separator.trim_end() && !after.is_empty()).then_some(""))?;
    Some(NumberedLine { width: blanks + length, padded: blanks > 0, number, rest })
}

/// Returns true if the old lines are not at their numbers, but some of them stand near there: that may be the place.
fn may_be_near_number(text: &DecodedText<'_>, hunk: &Hunk, start: usize) -> bool {
    let olds: Vec<&str> = hunk.old_lines().collect();
    let first = start.saturating_sub(1);
    let stands = |at: usize| {
        let alike = |(old, at): &(&&str, usize)| old.trim_end() == text.line(*at).trim_end();
        let same = olds.iter().zip(at..).take_while(alike).count();
        text.budget().spend(4 * (same + 1)) && same == olds.len()
    };
    if stands(first) {
        return false;
    }
    let mut places = (0..text.len()).take_while(|_| !text.budget().is_exhausted());
    let place = places.find(|at| stands(*at)).unwrap_or(text.len());
    let apart = |at: &usize| !(place..place + olds.len()).contains(at);
    let telling = |line: &str| line.chars().any(char::is_alphanumeric);
    let said: HashSet<&str> = olds.iter().map(|old| old.trim()).collect();
    let mut around = (first.saturating_sub(NEARBY_LINES)..first + olds.len() + NEARBY_LINES).filter(apart);
    around.any(|at| telling(text.line(at)) && said.contains(text.line(at).trim()))
}

/// Strips the line numbers of a hunk and returns the first. Returns the hunk unchanged if it has none, and `None` if it
/// is unclear.
fn strip_hunk_numbers(hunk: &Hunk, separator: &str) -> Option<(Hunk, Option<usize>)> {
    let olds: Vec<&str> = hunk.old_lines().collect();
    let is_blank = |line: &str| line.trim().is_empty();
    let found: Vec<(usize, NumberedLine<'_>)> = olds
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, parse_numbered_line(line, separator)?)))
        .collect();
    let Some((at, first)) = found.first() else { return Some((hunk.clone(), None)) };
    let start = first.number.checked_sub(*at)?;
    let padded = found.iter().any(|(_, line)| line.padded);
    let styled = |line: &NumberedLine<'_>| !padded || line.width == first.width;
    let runs = found.iter().all(|(at, line)| line.number == start + at && styled(line));
    // The file's own lines may be numbered.
    let twice = found.iter().any(|(_, line)| parse_numbered_line(line.rest, separator).is_some());
    let rare = matches!(separator, "\t" | "→");
    let enough = rare || found.iter().filter(|(_, line)| !is_blank(line.rest)).count() > 1;
    if !runs || twice || !enough || found.len() < olds.iter().filter(|line| !is_blank(line)).count() {
        return None;
    }
    let adds: Vec<&str> =
        super::all_added_lines(std::slice::from_ref(hunk)).filter(|line| !is_blank(line)).collect();
    let marked: Vec<NumberedLine<'_>> =
        adds.iter().filter_map(|line| parse_numbered_line(line, separator)).collect();
    let last = start + olds.len() + adds.len();
    let fits = marked.iter().all(|line| styled(line) && (start..=last).contains(&line.number));
    if !fits || !marked.is_empty() && marked.len() < adds.len() && !rare {
        return None;
    }
    let bare = |line: &str| parse_numbered_line(line, separator).map_or(line, |line| line.rest).to_owned();
    let line = |line: &HunkLine| match line {
        HunkLine::Keep(text) => HunkLine::Keep(bare(text)),
        HunkLine::Drop(text) => HunkLine::Drop(bare(text)),
        HunkLine::Add(text) => HunkLine::Add(bare(text)),
    };
    Some((Hunk { lines: hunk.lines.iter().map(line).collect(), ..hunk.clone() }, Some(start)))
}
