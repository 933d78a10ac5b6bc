//! Adds a rule to the user's rule file: under a lock and atomically, so that no reader sees a partial file.

use std::io;
use std::path::{Path, PathBuf};

use policy::rules::{NewRule, RuleAddition, RuleFault, RuleLayer, add_rule};

use private_files::AtomicFile;

/// The location of a saved rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedRule {
    /// The file, with links resolved.
    pub file: PathBuf,
    /// The line number, from 1.
    pub line: usize,
    /// True if the rule existed before.
    pub already_present: bool,
}

/// The reason why a rule was not saved. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RuleSaveFault {
    /// The file does not parse as rules, or the rule cannot be added to it.
    #[error("the rule was not saved: {0}")]
    Rules(#[from] RuleFault),
    /// Another process held the lock for too long.
    #[error("the rule was not saved: another program holds `{}`; try again when it has ended", .0.display())]
    Held(PathBuf),
    /// The system call failed.
    #[error("the rule was not saved to `{}`: {source}", file.display())]
    Machine {
        /// The file.
        file: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
}

/// Adds `rule` to the user's rules in `file`, which is created if missing. A symlink is kept: its target is written.
pub fn save(file: &Path, rule: &NewRule) -> Result<SavedRule, RuleSaveFault> {
    let machine = |source: io::Error| RuleSaveFault::Machine { file: file.to_owned(), source };
    let atomic_file = AtomicFile::open(file).map_err(machine)?;
    let locked = atomic_file.lock().map_err(machine)?;
    let Some(_held_to_the_end) = locked else {
        return Err(RuleSaveFault::Held(atomic_file.lock_path().to_owned()));
    };
    let before = super::read(atomic_file.path(), RuleLayer::User)?;
    match add_rule(before.as_deref().unwrap_or_default(), atomic_file.path(), rule)? {
        RuleAddition::AlreadyExists { line } => {
            Ok(SavedRule { file: atomic_file.path().to_owned(), line, already_present: true })
        }
        RuleAddition::Added { text, line } => {
            atomic_file.replace(&text).map_err(machine)?;
            Ok(SavedRule { file: atomic_file.path().to_owned(), line, already_present: false })
        }
    }
}
