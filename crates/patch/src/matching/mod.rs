//! Matches hunks to places in a file, from exact to tolerant, and never guesses between two places.
//!
//! Context lines keep the file's own bytes, and removed lines must exist. Added lines are indented and spelled as the
//! file is.

mod align;
mod already_applied;
mod assign;
mod candidate;
mod file_style;
mod find_hunk;
mod fuzzy;
mod fuzzy_accept;
mod header;
mod header_choice;
mod header_scope;
mod indent_shift;
mod insertion;
mod line_compare;
mod line_edits;
mod rivals;
mod skip_empty;

pub use candidate::MatchPass;

pub(crate) use already_applied::{are_all_applied, has_alphanumeric};
pub(crate) use assign::{HunkPlacement, place_hunks};
pub(crate) use find_hunk::{PlacementMiss, is_exactly_present};
pub(crate) use fuzzy::closest_lines;
pub(crate) use line_compare::{fold_line, indentation};
pub(crate) use line_edits::LineEdits;
pub(crate) use rivals::has_rival_outside;
