//! Files of rules: read with a bound, and saved so that nothing is lost.
//!
//! What the rules mean is `policy`'s; this is only where their text comes from and goes to.

mod read;
mod save;

use std::path::PathBuf;

use policy::rules::{Layer, RuleFault, Rules};

pub use read::read;
pub use save::{SaveFault, Saved, save};

/// Reads the rules of all `files`. One that is not there holds none.
pub fn load(files: &[(Layer, PathBuf)]) -> Result<Rules, RuleFault> {
    let mut rules = Rules::default();
    for (layer, file) in files {
        if let Some(text) = read(file, *layer)? {
            rules = rules.merge(Rules::parse(&text, file, *layer)?);
        }
    }
    Ok(rules)
}
