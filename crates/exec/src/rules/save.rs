//! Adds a rule to the user's file: under a lock, and in one step, so that nobody ever reads half of it.

use std::io;
use std::path::{Path, PathBuf};

use policy::rules::{Added, Layer, NewRule, RuleFault, add};

use crate::own_file::OwnFile;

/// Where a rule now stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The file, with links resolved.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// It had been there before.
    pub was_there: bool,
}

/// Why a rule was not saved. What was there before is still there.
#[derive(Debug, thiserror::Error)]
pub enum SaveFault {
    /// The file holds something else than rules, or the rule cannot be added to it.
    #[error("the rule was not saved: {0}")]
    Rules(#[from] RuleFault),
    /// Somebody else has been saving all the time.
    #[error("the rule was not saved: another program holds `{}`; try again when it has ended", .0.display())]
    Held(PathBuf),
    /// The machine does not let us.
    #[error("the rule was not saved to `{}`: {source}", file.display())]
    Machine {
        /// The file.
        file: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

/// Adds `rule` to the user's rules in `file`, which is made if it is not there. A link stays one: what it points to is written.
pub fn save(file: &Path, rule: &NewRule) -> Result<Saved, SaveFault> {
    let machine = |source: io::Error| SaveFault::Machine { file: file.to_owned(), source };
    let place = OwnFile::of(file).map_err(machine)?;
    let locked = place.lock().map_err(machine)?;
    let Some(_held_to_the_end) = locked else { return Err(SaveFault::Held(place.lock_path().to_owned())) };
    let before = super::read(place.path(), Layer::User)?;
    match add(before.as_deref().unwrap_or_default(), place.path(), rule)? {
        Added::There { line } => Ok(Saved { file: place.path().to_owned(), line, was_there: true }),
        Added::Text { text, line } => {
            place.replace(&text).map_err(machine)?;
            Ok(Saved { file: place.path().to_owned(), line, was_there: false })
        }
    }
}
