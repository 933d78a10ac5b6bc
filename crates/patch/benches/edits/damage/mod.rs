//! The kinds of damage: mistakes of models in patches, and changes to files in the meantime.

mod blank_lines;
mod hunk_locations;
mod hunk_order;
mod indentation;
mod line_ends_and_wrappers;
mod stale_context;
mod typography;

use crate::case_draft::{CaseDraft, CaseGoal, DraftFormat};
use crate::seeded_random::CaseRandom;

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
    kind("indent: all lines shifted", ALL, indentation::shift_all_lines),
    kind("indent: one context line", ALL, indentation::shift_one_line),
    kind("indent: tabs for spaces", ALL, indentation::tabs_for_spaces),
    kind("indent: spaces for tabs", ALL, indentation::spaces_for_tabs),
    kind("blank lines: dropped from context", ALL, blank_lines::drop_blank_context),
    kind("blank lines: all dropped but added ones", ALL, blank_lines::drop_all_blank),
    kind("blank lines: added to context", ALL, blank_lines::add_blank_context),
    kind("drift: a context line edited in the file", ALL, stale_context::edit_context_in_file),
    kind("drift: a line inserted in the file", ALL, stale_context::insert_into_context),
    kind("drift: a context line deleted from the file", ALL, stale_context::delete_context),
    kind("stale: a context line in older words", ALL, stale_context::reword_context),
    kind("context: one line or none on a side", ALL, stale_context::truncate_context),
    kind("context: lines cut off", ALL, stale_context::cut_off_lines),
    kind("context: lines left out with `...`", ALL, stale_context::elide_context),
    kind("header: not in the file", ENVELOPE, hunk_locations::unknown_header),
    kind("header: misspelt", ENVELOPE, hunk_locations::misspelt_header),
    kind("header: another function's", ENVELOPE, hunk_locations::other_header),
    kind("header: the nearest above, as git has it", ENVELOPE, hunk_locations::git_header),
    kind("header: the nearest above, as models do", ENVELOPE, hunk_locations::model_header),
    kind("numbers: wrong lines", UNIFIED, hunk_locations::wrong_numbers),
    kind("numbers: wrong counts", UNIFIED, hunk_locations::wrong_counts),
    kind("numbers: none", UNIFIED, hunk_locations::no_numbers),
    kind("spelling: quotes and dashes, old lines", ALL, typography::curly_quotes_in_old),
    kind("spelling: quotes and dashes, all lines", ALL, typography::curly_quotes),
    kind("spelling: non-breaking spaces", ALL, typography::no_break_spaces),
    kind("trailing blanks: in the patch", ALL, typography::trailing_blanks_in_patch),
    kind("trailing blanks: in the file", ALL, typography::trailing_blanks_in_file),
    kind("endings: CRLF file, LF patch", ALL, line_ends_and_wrappers::crlf_file),
    kind("endings: LF file, CRLF patch", ALL, line_ends_and_wrappers::crlf_patch),
    kind("endings: mixed file", ALL, line_ends_and_wrappers::mixed_line_ends),
    kind("byte order mark", ALL, line_ends_and_wrappers::add_bom),
    kind("no newline at the end", ALL, line_ends_and_wrappers::drop_last_newline),
    kind("blank context lines without their space", HUNKS, line_ends_and_wrappers::drop_blank_prefix),
    kind("fence, heredoc or JSON around it", HUNKS, line_ends_and_wrappers::wrap_patch),
    kind("duplicate: nothing tells which", ALL, hunk_locations::duplicated),
    kind("duplicate: a header tells which", ENVELOPE, hunk_locations::duplicated_headed),
    kind("duplicate: further below its header", ENVELOPE, hunk_locations::duplicated_below),
    kind("duplicate: the function's twin", ENVELOPE, hunk_locations::twin),
    kind("hunks: out of order", HUNKS, hunk_order::shuffle_hunks),
    kind("hunks: second as if first were applied", HUNKS, hunk_order::second_after_first),
    kind("hunks: second repeats lines of first", HUNKS, hunk_order::second_before_first),
    kind("hunks: first is applied already", HUNKS, hunk_order::apply_first_hunk),
    DamageKind { share: 2, ..kind("two damages at once", ALL, two) },
    DamageKind { share: 2, ..kind("already applied", ALL, hunk_order::apply_all_hunks) },
    DamageKind {
        share: 2,
        ..kind("a line to remove is not in the file", ALL, stale_context::reword_dropped)
    },
];

/// Kinds that can be combined.
const MIXABLE: &[DamageFn] = &[
    indentation::shift_all_lines,
    indentation::shift_one_line,
    blank_lines::drop_blank_context,
    blank_lines::add_blank_context,
    stale_context::edit_context_in_file,
    stale_context::insert_into_context,
    stale_context::delete_context,
    stale_context::reword_context,
    stale_context::truncate_context,
    stale_context::cut_off_lines,
    hunk_locations::misspelt_header,
    hunk_locations::git_header,
    hunk_locations::model_header,
    typography::curly_quotes_in_old,
    typography::no_break_spaces,
    typography::trailing_blanks_in_patch,
    typography::trailing_blanks_in_file,
    line_ends_and_wrappers::crlf_file,
    line_ends_and_wrappers::drop_blank_prefix,
];

fn two(draft: &mut CaseDraft, chance: &mut CaseRandom) -> bool {
    let first = chance.below(MIXABLE.len());
    let second = (first + 1 + chance.below(MIXABLE.len() - 1)) % MIXABLE.len();
    let done = MIXABLE[first](draft, chance) && MIXABLE[second](draft, chance);
    done && draft.goal == CaseGoal::Lands
}
