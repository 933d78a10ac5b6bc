//! Decides between several places of a hunk by its header: the nearest below it, as the patch format has it.

use super::align::weight;
use super::fit::{Fit, Pass};
use super::header::places;
use super::line::{fold, is_blank};
use super::sure::TELLING;
use crate::edit::{Hunk, Line};
use crate::text::Text;

/// So many lines on each side of a change are all the context that the patch format asks for. A hunk with fewer may stand
/// in several places because too little of it was written.
pub(super) const AROUND: usize = 3;
/// Old lines that weigh less together may stand anywhere: an empty line and an attribute, say.
const ENOUGH: f64 = 5.0;

/// The place of `hunk` among those in `fits` that is the nearest below its header, as the patch format has it. Header and
/// hunk must stand just so, the header once; and a hunk without context on one side must be at that end of the file. Lines
/// before `from` are those of the hunk before it.
pub(super) fn nearest(text: &Text<'_>, hunk: &Hunk, fits: &[Fit], from: usize) -> Option<Fit> {
    if fits.len() < 2 || hunk.at.is_some() || fits.iter().any(|fit| fit.pass != Pass::Exact) {
        return None;
    }
    let name = hunk.headers.iter().rfind(|header| !is_blank(header))?;
    let [header] = places(text, &hunk.headers)[..] else { return None };
    let mut below = fits.iter().filter(|fit| header < fit.end() && from <= fit.core(hunk).0);
    let (first, next) = (below.next()?, below.next());
    let overlaps = next.is_some_and(|next| next.first() < first.end());
    let says_enough = hunk.old().map(weight).sum::<f64>() >= ENOUGH;
    (says_enough && !overlaps && has_both_sides(text, hunk, first) && fold(text.line(header)) == fold(name))
        .then(|| Fit { pass: Pass::Nearest, ..first.clone() })
}

/// Whether `hunk` keeps a line on each side of what it changes, unless `fit` is at that end of the file: whoever writes
/// context on one side alone has the end of the file on the other.
fn has_both_sides(text: &Text<'_>, hunk: &Hunk, fit: &Fit) -> bool {
    let keeps = |line: Option<&Line>| matches!(line, Some(Line::Keep(_)));
    (keeps(hunk.lines.first()) || fit.first() == 0) && (keeps(hunk.lines.last()) || fit.end() == text.len())
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
fn context(hunk: &Hunk) -> usize {
    hunk.lines.iter().filter(|line| matches!(line, Line::Keep(text) if weight(text) >= TELLING)).count()
}
