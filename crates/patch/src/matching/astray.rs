//! Whether a hunk fits only outside of what its header names: then one of them is wrong, and nobody can tell which.

use super::align::{Sought, weight};
use super::elsewhere::likely;
use super::find::Miss;
use super::fit::{Fit, Pass};
use super::header::{depth, known, opens, reach, scope, spans};
use super::near::ENOUGH;
use super::sure::TELLING;
use crate::edit::{Hunk, Line};
use crate::text::Text;

/// So many lines around a change that stand once, just so, say more than a header.
const STRONG: usize = 3;

/// Leaves those of `fits` that lie below a header of `hunk`, the innermost of which is at these lines. An error if there is such a header, and nothing below it.
pub(super) fn below_headers(
    text: &Text<'_>,
    hunk: &Hunk,
    innermost: &[usize],
    mut fits: Vec<Fit>,
) -> Result<Vec<Fit>, Miss> {
    let outer = innermost.is_empty() && hunk.headers.len() > 1;
    let headers = if outer { known(text, &hunk.headers) } else { innermost.to_vec() };
    let (Some(header), Some(first)) = (headers.first(), fits.first()) else { return Ok(fits) };
    let spans = spans(text, &headers, reach);
    if !text.effort().spend(spans.len().saturating_mul(fits.len())) {
        return Err(Miss::Costly);
    }
    let below = |fit: &Fit| spans.iter().any(|span| is_below(text, hunk, *span, fit));
    if fits.iter().any(below) {
        fits.retain(below);
        // There may have been many, for each of many hunks.
        fits.shrink_to_fit();
        return Ok(fits);
    }
    let says_more = fits.len() == 1 && first.pass == Pass::Exact && context(hunk) >= STRONG;
    if says_more && !resembles(text, hunk, &spans, &fits) {
        return Ok(fits);
    }
    Err(Miss::Astray(*header, first.first()))
}

/// Whether `fit` lies in what the line at `header` heads, or holds that line.
fn is_below(text: &Text<'_>, hunk: &Hunk, (header, end): (usize, usize), fit: &Fit) -> bool {
    if header >= fit.end() {
        return false;
    }
    if fit.first() < end {
        return true;
    }
    // A diff names the last line above that begins something, wherever that ends.
    let Some(number) = hunk.at else { return false };
    let own = depth(text.line(header));
    let begins = |at: usize| depth(text.line(at)) <= own && opens(text, at);
    text.effort().spend(4 * (fit.first() - header));
    fit.pass <= Pass::Trailing
        && (number == fit.first() + 1 || !(scope(text, header)..fit.first()).any(begins))
}

/// How many lines of `hunk` stay and say something.
fn context(hunk: &Hunk) -> usize {
    hunk.lines.iter().filter(|line| matches!(line, Line::Keep(text) if weight(text) >= TELLING)).count()
}

/// Whether most of `hunk` stands below one of the headers at `spans`, though not just so; or nearly all of it after one.
fn resembles(text: &Text<'_>, hunk: &Hunk, spans: &[(usize, usize)], fits: &[Fit]) -> bool {
    let below = |fit: &Fit| spans.iter().any(|(header, end)| *header < fit.end() && fit.first() < *end);
    // What fits above all of them is not where they say; what fits below one may be, however far that reaches.
    let above = spans.iter().all(|(header, _)| fits.iter().all(|fit| fit.first() < *header));
    let after = |fit: &Fit| above && spans.iter().any(|(header, _)| *header < fit.first());
    let sought = Sought::of(text, hunk);
    sought.places(false, fits).any(|(share, fit)| share >= ENOUGH && below(&fit))
        || likely(&sought, fits).any(|fit| after(&fit))
}
