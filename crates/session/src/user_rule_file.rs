//! The user's own rules file, to which a yes with a rule is saved.

use std::path::PathBuf;

use runtime::Rulebook;
use runtime::rules::{NewRule, RuleLayer, RuleSet};

/// The user's own rules file.
pub(crate) struct UserRuleFile {
    pub(crate) path: PathBuf,
}

impl Rulebook for UserRuleFile {
    fn save(&self, rule: &NewRule) -> Result<RuleSet, String> {
        exec::rules::save(&self.path, rule).map_err(|fault| fault.to_string())?;
        // Reloads the file as the next session will read it. Rules that are loaded twice change nothing.
        exec::rules::load(&[(RuleLayer::User, self.path.clone())]).map_err(|fault| fault.to_string())
    }
}
