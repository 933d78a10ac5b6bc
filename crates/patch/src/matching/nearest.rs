//! Decides between several places of a hunk by its header: the nearest below it, as the patch format has it.

use super::align::weight;
use super::fit::{Fit, Pass};
use super::header::{continues, opens, places};
use super::line::{fold, is_blank};
use super::sure::{TELLING, is_remark};
use crate::edit::{Hunk, Line};
use crate::text::Text;

/// So many lines on each side of a change are all the context that the patch format asks for. A hunk with fewer may stand
/// in several places because too little of it was written.
const AROUND: usize = 3;
/// Copies with no more than so many empty lines between them stand one after another.
const BESIDE: usize = 1;

/// Words that begin a block within a definition.
const FLOW: &[&str] = &[
    "if",
    "for",
    "foreach",
    "while",
    "until",
    "unless",
    "try",
    "switch",
    "case",
    "when",
    "with",
    "do",
    "match",
    "loop",
    "begin",
    "return",
    "default",
    "select",
    "using",
    "lock",
    "synchronized",
    "defer",
    "go",
];

/// The place of `hunk` among those in `fits` that is the nearest below its header, if that is beyond doubt: header and hunk
/// stand just so, the header once, the hunk has all its context, and no other definition is nearer.
pub(super) fn nearest(text: &Text<'_>, hunk: &Hunk, fits: &[Fit]) -> Option<Fit> {
    if fits.len() < 2 || hunk.at.is_some() || fits.iter().any(|fit| fit.pass != Pass::Exact) {
        return None;
    }
    let name = hunk.headers.iter().rfind(|header| !is_blank(header))?;
    let [header] = places(text, &hunk.headers)[..] else { return None };
    let mut below = fits.iter().filter(|fit| header < fit.end());
    let (first, next) = (below.next()?, below.next()?);
    if next.first() < first.end() {
        return None;
    }
    let mut between = first.end()..next.first();
    let beside = between.len() <= BESIDE && between.all(|at| is_blank(text.line(at)));
    let direct = || is_full(text, hunk, first) && !is_defined(text, header + 1, first.first());
    let beyond_doubt = context(hunk) >= AROUND && (beside || direct());
    (beyond_doubt && fold(text.line(header)) == fold(name))
        .then(|| Fit { pass: Pass::Nearest, ..first.clone() })
}

/// Whether `hunk` has all its context at `fit`: on each side of what it changes, unless the file ends there.
pub(super) fn is_full(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> bool {
    let keeps = |line: &&Line| matches!(line, Line::Keep(_));
    let before = hunk.lines.iter().take_while(keeps).count();
    let after = hunk.lines.iter().rev().take_while(keeps).count();
    (before >= AROUND || fit.first() == 0)
        && (after >= AROUND || fit.end() == text.len())
        && context(hunk) >= AROUND
}

/// How many lines of `hunk` stay and say something.
pub(super) fn context(hunk: &Hunk) -> usize {
    hunk.lines.iter().filter(|line| matches!(line, Line::Keep(text) if weight(text) >= TELLING)).count()
}

/// Whether one of the lines from `start` to `end` may begin a definition: a header would have named that one.
fn is_defined(text: &Text<'_>, start: usize, end: usize) -> bool {
    text.effort().spend(4 * end.saturating_sub(start));
    (start..end).any(|at| {
        let line = text.line(at).trim();
        let word =
            line.trim_start_matches(['}', ')', ' ']).split(|char: char| !char.is_alphanumeric()).next();
        let flows = continues(line) || word.is_some_and(|word| FLOW.contains(&word));
        let goes_on = line.ends_with(['(', '[', ',', '=', '\\', '+', '|', '&', '.', '"', '`']);
        weight(line) >= TELLING && !is_remark(line) && !flows && !goes_on && opens(text, at)
    })
}
