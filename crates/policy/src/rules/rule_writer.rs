//! Writes rules as TOML, and appends a rule to a rule file.

use std::fmt::Write;
use std::path::Path;

use super::{PathAccess, PolicyRule, RuleDecision, RuleFault, RuleLayer, RuleSet, RuleSubject};

/// A rule to be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRule {
    /// The subject of the rule.
    pub subject: RuleSubject,
    /// The decision of the rule.
    pub decision: RuleDecision,
    /// The reason.
    pub reason: Option<String>,
    /// Allowed commands run without confinement: only with [`RuleDecision::Allow`] and [`RuleSubject::Command`].
    pub unsandboxed: bool,
    /// The words of a matching command, as a `match` example.
    pub example: Option<Vec<String>>,
}

/// The outcome of adding a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleAddition {
    /// An equal rule already exists on this line.
    AlreadyExists {
        /// The line, from 1.
        line: usize,
    },
    /// The new text: the old text, byte for byte, followed by the rule.
    Added {
        /// The complete text.
        text: String,
        /// The line of the rule.
        line: usize,
    },
}

/// Adds `rule` to `text`, the user's own rules. The result has been parsed again and contains the rule.
pub fn add_rule(text: &str, file: &Path, rule: &NewRule) -> Result<RuleAddition, RuleFault> {
    let before = RuleSet::parse(text, file, RuleLayer::User)?;
    let is_same = |other: &&PolicyRule| {
        other.subject == rule.subject
            && other.decision == rule.decision
            && other.unsandboxed == rule.unsandboxed
    };
    if let Some(existing) = before.iter().find(is_same) {
        return Ok(RuleAddition::AlreadyExists { line: existing.line });
    }
    let written = rule.to_string();
    // Distinguishes a fault of the rule itself from a fault of the file.
    let alone = RuleSet::parse(&written, file, RuleLayer::User)
        .map_err(|fault| RuleFault::in_file(file, format!("the new rule is wrong: {}", fault.why)))?;
    let separator = match text {
        "" => "",
        _ if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let text = format!("{text}{separator}{written}");
    let after = RuleSet::parse(&text, file, RuleLayer::User).map_err(|fault| {
        let why =
            format!("no rule can be added at its end ({}); write each rule below a `[[rule]]`", fault.why);
        RuleFault::in_file(file, why)
    })?;
    match (after.iter().last(), alone.iter().next()) {
        (Some(last), Some(_))
            if after.len() == before.len() + 1 && is_same(&last) && alone.iter().all(|one| is_same(&one)) =>
        {
            Ok(RuleAddition::Added { line: last.line, text })
        }
        (Some(_) | None, Some(_) | None) => {
            Err(RuleFault::in_file(file, "the new rule would be read as another one"))
        }
    }
}

impl std::fmt::Display for NewRule {
    /// Formats the rule for a rule file.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "[[rule]]")?;
        match &self.subject {
            RuleSubject::Command { pattern, exact } => {
                let positions: Vec<String> = pattern.iter().map(|names| toml_value(names)).collect();
                writeln!(out, "pattern = [{}]", positions.join(", "))?;
                if *exact {
                    writeln!(out, "exact = true")?;
                }
            }
            RuleSubject::Path { paths, access } => {
                let paths: Vec<String> = paths.iter().map(super::RulePath::to_text).collect();
                writeln!(out, "path = {}", toml_value(&paths))?;
                if *access == PathAccess::Read {
                    writeln!(out, "access = \"read\"")?;
                }
            }
            RuleSubject::Tool { names } => writeln!(out, "tool = {}", toml_value(names))?,
            RuleSubject::Host { hosts } => {
                let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
                writeln!(out, "host = {}", toml_value(&hosts))?;
            }
        }
        writeln!(out, "decision = {}", toml_string(self.decision.as_str()))?;
        if self.unsandboxed {
            writeln!(out, "unsandboxed = true")?;
        }
        if let Some(reason) = &self.reason {
            writeln!(out, "reason = {}", toml_string(reason))?;
        }
        match &self.example {
            Some(words) => writeln!(out, "match = [{}]", toml_list(words)),
            None => Ok(()),
        }
    }
}

fn toml_value(texts: &[String]) -> String {
    match texts {
        [one] => toml_string(one),
        [] | [_, ..] => toml_list(texts),
    }
}

/// Formats a TOML list of strings.
pub(super) fn toml_list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| toml_string(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// Formats `text` as a TOML string on one line, with invisible characters escaped.
pub(super) fn toml_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if crate::invisible_chars::is_deceptive(letter) => {
                let number = u32::from(letter);
                let _infallible = if number > 0xffff {
                    write!(out, "\\U{number:08x}")
                } else {
                    write!(out, "\\u{number:04x}")
                };
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}
