//! Where a hunk belongs although lines around it have changed: by what is still the same.

use super::align::Sought;
use super::fit::Fit;
use super::sure::is_sure;
use crate::edit::Hunk;
use crate::text::Text;

/// How much of a hunk must be there.
pub(super) const ENOUGH: f64 = 0.55;
/// By how much it must be more there than anywhere else, if lines go, and if none do.
const CLEARLY: f64 = 0.2;
const MORE_CLEARLY: f64 = 0.5;
/// Places that are told apart.
const NAMED: usize = 6;

/// The places where most of `hunk` is: one if it is clear, more if it is not.
pub(crate) fn near(text: &Text<'_>, hunk: &Hunk) -> Vec<Fit> {
    let sought = Sought::of(text, hunk);
    let clearly = if sought.olds.iter().any(|old| old.goes) { CLEARLY } else { MORE_CLEARLY };
    let mut fits: Vec<Fit> = Vec::new();
    let mut most = None;
    // ends: so many places are enough
    while fits.len() < NAMED
        && let Some((share, fit)) = sought.best(true, &fits)
    {
        let most = *most.get_or_insert(share);
        let enough = if fits.is_empty() {
            share >= ENOUGH && is_sure(&sought, hunk, &fit)
        } else {
            share > most - clearly
        };
        if !enough {
            break;
        }
        fits.push(if fits.is_empty() || is_sure(&sought, hunk, &fit) {
            fit
        } else {
            Fit { doubt: Some("only some of its lines are there"), ..fit }
        });
    }
    fits
}

/// The lines of the file that resemble `hunk` most, if any do.
pub(crate) fn closest(text: &Text<'_>, hunk: &Hunk) -> Option<(usize, usize)> {
    let (share, fit) = Sought::of(text, hunk).best(false, &[])?;
    let missing = |at: &Option<usize>| at.is_none();
    let before = fit.at.iter().take_while(|at| missing(at)).count();
    let after = fit.at.iter().rev().take_while(|at| missing(at)).count();
    (share > 0.2).then(|| (fit.first().saturating_sub(before), (fit.end() + after).min(text.len())))
}
