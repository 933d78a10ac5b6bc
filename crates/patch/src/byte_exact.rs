//! Applies a diff that fits to the byte at its line numbers, and detects that its result is already present.

use crate::edit::{Hunk, HunkLine};
use crate::line_index::SearchBudget;
use crate::matching::MatchPass;
use crate::update::LandedHunks;

/// Applies `hunks` if each stands exactly at its line number. `blob_matches`: the blob id proves that this is the
/// file.
pub(crate) fn apply_exactly(
    bytes: &[u8],
    hunks: &[Hunk],
    blob_matches: bool,
    budget: &SearchBudget,
) -> Option<(Vec<u8>, LandedHunks)> {
    if hunks.iter().any(|hunk| hunk.old_start.is_none()) {
        return None;
    }
    let lines: Vec<&str> = std::str::from_utf8(bytes).ok()?.split_inclusive('\n').collect();
    // A hunk that only adds lines has nothing but its number to go by. Other hunks must confirm the numbering.
    let numbers_are_trusted = blob_matches || lines.is_empty() || has_consistent_numbers(hunks);
    let mut out = LineAppender { text: String::with_capacity(bytes.len() + 256) };
    let (mut next, mut places) = (0, Vec::new());
    for hunk in hunks {
        let at = hunk.old_start?.checked_sub(1)?;
        let (old, new) = old_and_new_lines(hunk);
        let has_evidence = !old.is_empty() || numbers_are_trusted;
        let fits =
            at >= next && lines.get(at..at.saturating_add(old.len())).is_some_and(|there| there == old);
        if !has_evidence || !fits || !is_below_headers(&lines[..at], hunk, budget) {
            return None;
        }
        out.add(&lines[next..at])?;
        out.add(&new)?;
        next = at + old.len();
        let kept = hunk.lines.iter().take_while(|line| matches!(line, HunkLine::Keep(_))).count();
        places.push((at + kept + 1, MatchPass::Exact));
    }
    out.add(&lines[next..])?;
    Some((out.text.into_bytes(), places))
}

/// Returns true if all old and new line numbers agree, as in a diff by a program, and some hunk has old lines.
fn has_consistent_numbers(hunks: &[Hunk]) -> bool {
    let mut line_shift = 0_isize;
    let agree = hunks.iter().all(|hunk| {
        let new_at = hunk.old_start.and_then(|at| at.checked_add_signed(line_shift));
        line_shift += hunk.new_lines().count().cast_signed() - hunk.old_lines().count().cast_signed();
        new_at.is_some() && hunk.new_start == new_at
    });
    agree && hunks.iter().any(|hunk| hunk.old_lines().next().is_some())
}

/// Returns true if the file is exactly the result of `hunks`.
pub(crate) fn is_result_present(bytes: &[u8], hunks: &[Hunk]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut line_shift = 0;
    hunks.iter().all(|hunk| {
        let (old, new) = old_and_new_lines(hunk);
        let at = hunk.old_start.and_then(|at| at.checked_sub(1)?.checked_add_signed(line_shift));
        line_shift += new.len().cast_signed() - old.len().cast_signed();
        // A hunk without new lines leaves no evidence, except an empty file.
        let has_evidence = !new.is_empty() || lines.is_empty();
        has_evidence
            && at.and_then(|at| lines.get(at..at.saturating_add(new.len()))).is_some_and(|there| there == new)
    })
}

/// Returns true if the new lines of all `hunks` stand near their line numbers. Then the matched old lines may be part
/// of the result: if lines repeat or numbers are wrong, an applied patch may fit once more.
pub(crate) fn may_be_applied(bytes: &[u8], hunks: &[Hunk], budget: &SearchBudget) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    hunks.iter().all(|hunk| {
        let (old, new) = old_and_new_lines(hunk);
        let Some(at) = hunk.old_start.and_then(|at| at.checked_sub(1)).filter(|_| !new.is_empty()) else {
            return false;
        };
        let end = at.saturating_add(old.len());
        // New lines within the old lines were there before.
        let mut about = (at.saturating_sub(new.len())..=end)
            .filter(|from| *from < at || from.saturating_add(new.len()) > end);
        about.any(|from| {
            let there = lines.get(from..from.saturating_add(new.len()));
            // The last line may lack the newline that the patch gives it.
            let alike = |(there, new): &(&&str, &String)| there.trim_end() == new.trim_end();
            let same = |there: &&[&str]| there.iter().zip(&new).take_while(alike).count();
            let far = there.as_ref().map_or(0, same);
            // A comparison that was cut short may have matched.
            !budget.spend(far + 1) || there.is_some_and(|there| there.len() == far)
        })
    })
}

/// Returns true if only line ends change. A hunk cannot express that once line ends are stripped.
pub(crate) fn changes_only_line_ends(hunk: &Hunk) -> bool {
    let side = |drops: bool| {
        let lines_with_crlf = hunk.lines.iter().zip(&hunk.crlf);
        lines_with_crlf.filter_map(move |(line, returns)| match line {
            HunkLine::Drop(text) if drops => Some((text, *returns)),
            HunkLine::Add(text) if !drops => Some((text, *returns)),
            HunkLine::Keep(_) | HunkLine::Drop(_) | HunkLine::Add(_) => None,
        })
    };
    let same = side(true).map(|(text, _)| text).eq(side(false).map(|(text, _)| text));
    same && side(true).next().is_some()
        && !side(true).eq(side(false))
        && hunk.old_without_newline == hunk.new_without_newline
}

/// Returns the old lines and the new lines, with their line ends.
fn old_and_new_lines(hunk: &Hunk) -> (Vec<String>, Vec<String>) {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for (at, line) in hunk.lines.iter().enumerate() {
        let end = if hunk.crlf.get(at).is_some_and(|returns| *returns) { "\r\n" } else { "\n" };
        match line {
            HunkLine::Keep(text) => {
                old.push(format!("{text}{end}"));
                new.push(format!("{text}{end}"));
            }
            HunkLine::Drop(text) => old.push(format!("{text}{end}")),
            HunkLine::Add(text) => new.push(format!("{text}{end}")),
        }
    }
    for (side, without_newline) in
        [(&mut old, hunk.old_without_newline), (&mut new, hunk.new_without_newline)]
    {
        if let Some(last) = side.last_mut().filter(|_| without_newline) {
            last.pop();
        }
    }
    (old, new)
}

/// Returns true if all headers stand above the hunk: line numbers alone do not overrule headers.
fn is_below_headers(above: &[&str], hunk: &Hunk, budget: &SearchBudget) -> bool {
    let stands = |header: &str| {
        let far = above.iter().rev().position(|line| line.trim_start().starts_with(header));
        budget.spend(far.unwrap_or(above.len())) && far.is_some()
    };
    hunk.headers.iter().all(|header| stands(header.trim()))
}

struct LineAppender {
    text: String,
}

impl LineAppender {
    /// Appends lines. Fails if the text so far ends without a newline, since nothing can follow.
    fn add(&mut self, lines: &[impl AsRef<str>]) -> Option<()> {
        for line in lines {
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                return None;
            }
            self.text.push_str(line.as_ref());
        }
        Some(())
    }
}
