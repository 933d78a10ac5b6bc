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
    kind("indent: all lines shifted", ALL, indent::shift_all_lines),
    kind("indent: one context line", ALL, indent::shift_one_line),
    kind("indent: tabs for spaces", ALL, indent::tabs_for_spaces),
    kind("indent: spaces for tabs", ALL, indent::spaces_for_tabs),
    kind("blank lines: dropped from context", ALL, blanks::drop_blank_context),
    kind("blank lines: all dropped but added ones", ALL, blanks::drop_all_blank),
    kind("blank lines: added to context", ALL, blanks::add_blank_context),
    kind("drift: a context line edited in the file", ALL, context::edit_context_in_file),
    kind("drift: a line inserted in the file", ALL, context::insert_into_context),
    kind("drift: a context line deleted from the file", ALL, context::delete_context),
    kind("stale: a context line in older words", ALL, context::reword_context),
    kind("context: one line or none on a side", ALL, context::truncate_context),
    kind("context: lines cut off", ALL, context::cut_off_lines),
    kind("context: lines left out with `...`", ALL, context::elide_context),
    kind("header: not in the file", ENVELOPE, places::unknown_header),
    kind("header: misspelt", ENVELOPE, places::misspelt_header),
    kind("header: another function's", ENVELOPE, places::other_header),
    kind("header: the nearest above, as git has it", ENVELOPE, places::git_header),
    kind("header: the nearest above, as models do", ENVELOPE, places::model_header),
    kind("numbers: wrong lines", UNIFIED, places::wrong_numbers),
    kind("numbers: wrong counts", UNIFIED, places::wrong_counts),
    kind("numbers: none", UNIFIED, places::no_numbers),
    kind("spelling: quotes and dashes, old lines", ALL, spelling::curly_quotes_in_old),
    kind("spelling: quotes and dashes, all lines", ALL, spelling::curly_quotes),
    kind("spelling: non-breaking spaces", ALL, spelling::no_break_spaces),
    kind("trailing blanks: in the patch", ALL, spelling::trailing_blanks_in_patch),
    kind("trailing blanks: in the file", ALL, spelling::trailing_blanks_in_file),
    kind("endings: CRLF file, LF patch", ALL, endings::crlf_file),
    kind("endings: LF file, CRLF patch", ALL, endings::crlf_patch),
    kind("endings: mixed file", ALL, endings::mixed_line_ends),
    kind("byte order mark", ALL, endings::add_bom),
    kind("no newline at the end", ALL, endings::drop_last_newline),
    kind("blank context lines without their space", HUNKS, endings::drop_blank_prefix),
    kind("fence, heredoc or JSON around it", HUNKS, endings::wrap_patch),
    kind("duplicate: nothing tells which", ALL, places::duplicated),
    kind("duplicate: a header tells which", ENVELOPE, places::duplicated_headed),
    kind("duplicate: further below its header", ENVELOPE, places::duplicated_below),
    kind("duplicate: the function's twin", ENVELOPE, places::twin),
    kind("hunks: out of order", HUNKS, order::shuffle_hunks),
    kind("hunks: second as if first were applied", HUNKS, order::second_after_first),
    kind("hunks: second repeats lines of first", HUNKS, order::second_before_first),
    kind("hunks: first is applied already", HUNKS, order::apply_first_hunk),
    DamageKind { share: 2, ..kind("two damages at once", ALL, two) },
    DamageKind { share: 2, ..kind("already applied", ALL, order::apply_all_hunks) },
    DamageKind { share: 2, ..kind("a line to remove is not in the file", ALL, context::reword_dropped) },
];

/// Kinds that can be combined.
const MIXABLE: &[DamageFn] = &[
    indent::shift_all_lines,
    indent::shift_one_line,
    blanks::drop_blank_context,
    blanks::add_blank_context,
    context::edit_context_in_file,
    context::insert_into_context,
    context::delete_context,
    context::reword_context,
    context::truncate_context,
    context::cut_off_lines,
    places::misspelt_header,
    places::git_header,
    places::model_header,
    spelling::curly_quotes_in_old,
    spelling::no_break_spaces,
    spelling::trailing_blanks_in_patch,
    spelling::trailing_blanks_in_file,
    endings::crlf_file,
    endings::drop_blank_prefix,
];

fn two(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let first = chance.below(MIXABLE.len());
    let second = (first + 1 + chance.below(MIXABLE.len() - 1)) % MIXABLE.len();
    let done = MIXABLE[first](draft, chance) && MIXABLE[second](draft, chance);
    done && draft.goal == CaseGoal::Lands
}
