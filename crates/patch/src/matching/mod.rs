//! Matches hunks to places in a file, from exact to tolerant, and never guesses between two places.
//!
//! Context lines keep the file's own bytes, and removed lines must exist. Added lines are indented and spelled as the
//! file is.

mod adds;
mod align;
mod astray;
mod blanks;
mod done;
mod elsewhere;
mod find;
mod fit;
mod header;
mod indent;
mod line;
mod near;
mod nearest;
mod place;
mod settle;
mod spelling;
mod sure;

pub use fit::MatchPass;

pub(crate) use done::{are_all_applied, has_alphanumeric};
pub(crate) use elsewhere::has_rival_outside;
pub(crate) use find::{PlacementMiss, is_exactly_present};
pub(crate) use line::{fold_line, indentation};
pub(crate) use near::closest_lines;
pub(crate) use place::{HunkPlacement, place_hunks};
pub(crate) use settle::LineEdits;
