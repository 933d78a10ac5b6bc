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

pub(crate) use done::{is_done, is_telling};
pub(crate) use elsewhere::is_elsewhere;
pub(crate) use find::{PlacementMiss, is_in};
pub(crate) use line::{fold, indent};
pub(crate) use near::closest;
pub(crate) use place::{HunkPlacement, place};
pub(crate) use settle::LineEdits;
