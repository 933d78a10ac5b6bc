//! Tests rules: matching, faults, and that saved rules are read back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod importing;
mod laws;
mod matching;
mod others;
mod writing;

use std::path::Path;

use toolgate_policy::rules::{Layer, RuleFault, Rules};

fn read(text: &str) -> Rules {
    parse(text, Layer::User).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

fn parse(text: &str, layer: Layer) -> Result<Rules, RuleFault> {
    Rules::parse(text, Path::new("/w/.toolgate/rules.toml"), layer)
}
