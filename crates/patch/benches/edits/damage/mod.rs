//! The kinds of damage: mistakes of models in patches, and changes to files in the meantime.

mod blanks;
mod context;
mod endings;
mod indent;
mod order;
mod places;
mod spelling;

use crate::chance::CaseRandom;
use crate::draft::{CaseDraft, DraftFormat, CaseGoal};

/// Applies the damage to a case. Returns false if the case offers no opportunity for it.
type DamageFn = fn(&mut CaseDraft, &mut CaseRandom) -> bool;

/// A kind of damage.
#[derive(Clone, Copy)]
pub(crate) struct DamageKind {
    pub(crate) name: &'static str,
    pub(crate) formats: &'static [DraftFormat],
    pub(crate) harm: DamageFn,
    /// The relative number of its cases.
    pub(crate) share: usize,
}

const ALL: &[DraftFormat] = &[DraftFormat::Envelope, DraftFormat::Unified, DraftFormat::Replace];
const HUNKS: &[DraftFormat] = &[DraftFormat::Envelope, DraftFormat::Unified];
const ENVELOPE: &[DraftFormat] = &[DraftFormat::Envelope];
const UNIFIED: &[DraftFormat] = &[DraftFormat::Unified];

/// The name of the kind without damage.
pub(crate) const NONE: &str = "none";

const fn kind(name: &'static str, formats: &'static [DraftFormat], harm: DamageFn) -> DamageKind {
    DamageKind { name, formats, harm, share: 1 }
}

/// All kinds.
pub(crate) const KINDS: &[DamageKind] = &[
    DamageKind { share: 4, ..kind(NONE, ALL, |_, _| true) },
    kind("indent: all lines shifted", ALL, indent::shifted),
    kind("indent: one context line", ALL, indent::one_line),
    kind("indent: tabs for spaces", ALL, indent::tabs),
    kind("indent: spaces for tabs", ALL, indent::spaces),
    kind("blank lines: dropped from context", ALL, blanks::dropped),
    kind("blank lines: all dropped but added ones", ALL, blanks::all_dropped),
    kind("blank lines: added to context", ALL, blanks::added),
    kind("drift: a context line edited in the file", ALL, context::edited),
    kind("drift: a line inserted in the file", ALL, context::inserted),
    kind("drift: a context line deleted from the file", ALL, context::deleted),
    kind("stale: a context line in older words", ALL, context::stale),
    kind("context: one line or none on a side", ALL, context::truncated),
    kind("context: lines cut off", ALL, context::cut_off),
    kind("context: lines left out with `...`", ALL, context::elided),
    kind("header: not in the file", ENVELOPE, places::unknown_header),
    kind("header: misspelt", ENVELOPE, places::misspelt_header),
    kind("header: another function's", ENVELOPE, places::other_header),
    kind("header: the nearest above, as git has it", ENVELOPE, places::git_header),
    kind("header: the nearest above, as models do", ENVELOPE, places::model_header),
    kind("numbers: wrong lines", UNIFIED, places::wrong_numbers),
    kind("numbers: wrong counts", UNIFIED, places::wrong_counts),
    kind("numbers: none", UNIFIED, places::no_numbers),
    kind("spelling: quotes and dashes, old lines", ALL, spelling::quotes_in_old),
    kind("spelling: quotes and dashes, all lines", ALL, spelling::quotes),
    kind("spelling: non-breaking spaces", ALL, spelling::hard_spaces),
    kind("trailing blanks: in the patch", ALL, spelling::trailing_in_patch),
    kind("trailing blanks: in the file", ALL, spelling::trailing_in_file),
    kind("endings: CRLF file, LF patch", ALL, endings::windows_file),
    kind("endings: LF file, CRLF patch", ALL, endings::windows_patch),
    kind("endings: mixed file", ALL, endings::mixed),
    kind("byte order mark", ALL, endings::mark),
    kind("no newline at the end", ALL, endings::bare),
    kind("blank context lines without their space", HUNKS, endings::tight),
    kind("fence, heredoc or JSON around it", HUNKS, endings::wrapped),
    kind("duplicate: nothing tells which", ALL, places::duplicated),
    kind("duplicate: a header tells which", ENVELOPE, places::duplicated_headed),
    kind("duplicate: further below its header", ENVELOPE, places::duplicated_below),
    kind("duplicate: the function's twin", ENVELOPE, places::twin),
    kind("hunks: out of order", HUNKS, order::shuffled),
    kind("hunks: second as if first were applied", HUNKS, order::second_after_first),
    kind("hunks: second repeats lines of first", HUNKS, order::second_before_first),
    kind("hunks: first is applied already", HUNKS, order::partly_applied),
    DamageKind { share: 2, ..kind("two damages at once", ALL, two) },
    DamageKind { share: 2, ..kind("already applied", ALL, order::applied) },
    DamageKind { share: 2, ..kind("a line to remove is not in the file", ALL, context::stale_drop) },
];

/// Kinds that can be combined.
const MIXABLE: &[DamageFn] = &[
    indent::shifted,
    indent::one_line,
    blanks::dropped,
    blanks::added,
    context::edited,
    context::inserted,
    context::deleted,
    context::stale,
    context::truncated,
    context::cut_off,
    places::misspelt_header,
    places::git_header,
    places::model_header,
    spelling::quotes_in_old,
    spelling::hard_spaces,
    spelling::trailing_in_patch,
    spelling::trailing_in_file,
    endings::windows_file,
    endings::tight,
];

fn two(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let first = chance.below(MIXABLE.len());
    let second = (first + 1 + chance.below(MIXABLE.len() - 1)) % MIXABLE.len();
    let done = MIXABLE[first](draft, chance) && MIXABLE[second](draft, chance);
    done && draft.goal == CaseGoal::Lands
}
