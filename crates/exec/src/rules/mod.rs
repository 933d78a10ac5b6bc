//! Rule files: read with a size limit, and saved atomically.
//!
//! The crate `policy` defines the meaning of rules; this module only reads and writes their text.

mod read_rules;
mod save_rule;

use std::path::PathBuf;

use policy::rules::{RuleFault, RuleLayer, RuleSet};

pub use read_rules::read;
pub use save_rule::{RuleSaveFault, SavedRule, save};

/// Reads the rules of all `files`. A missing file holds no rules.
pub fn load(files: &[(RuleLayer, PathBuf)]) -> Result<RuleSet, RuleFault> {
    let mut rules = RuleSet::default();
    for (layer, file) in files {
        if let Some(text) = read(file, *layer)? {
            rules = rules.merge(RuleSet::parse(&text, file, *layer)?);
        }
    }
    Ok(rules)
}
