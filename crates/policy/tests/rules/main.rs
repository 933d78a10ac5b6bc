//! Tests rules: matching, faults, and that saved rules are read back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod importing;
mod laws;
mod matching;
mod others;
mod writing;

use std::path::Path;

use toolgate_policy::rules::{RuleLayer, RuleFault, RuleSet};

fn read(text: &str) -> RuleSet {
    parse(text, RuleLayer::User).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

fn parse(text: &str, layer: RuleLayer) -> Result<RuleSet, RuleFault> {
    RuleSet::parse(text, Path::new("/w/.toolgate/rules.toml"), layer)
}
