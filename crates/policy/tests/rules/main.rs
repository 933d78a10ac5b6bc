//! Tests rules: faults, matching, import from other programs, writing, and property tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod import;
mod matching;
mod path_tool_host_rules;
mod properties;
mod rule_writer;

use std::path::Path;

use toolgate_policy::rules::{RuleFault, RuleLayer, RuleSet};

fn read(text: &str) -> RuleSet {
    parse(text, RuleLayer::User).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

fn parse(text: &str, layer: RuleLayer) -> Result<RuleSet, RuleFault> {
    RuleSet::parse(text, Path::new("/w/.toolgate/rules.toml"), layer)
}
