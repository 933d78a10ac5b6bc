//! A rule → the text of it, and a file of rules with one rule more.

use std::fmt::Write;
use std::path::Path;

use super::{Access, Decision, Layer, On, Rule, RuleFault, Rules};

/// A rule that is to be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRule {
    /// What it is about.
    pub on: On,
    /// What it says.
    pub decision: Decision,
    /// Why.
    pub reason: Option<String>,
    /// What it allows runs without confinement: only with [`Decision::Allow`] and [`On::Command`].
    pub unsandboxed: bool,
    /// The words of a command that it matches, as a `match` example.
    pub example: Option<Vec<String>>,
}

/// What became of a rule that was to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// A rule that says the same is there already, on this line.
    There {
        /// From 1.
        line: usize,
    },
    /// The text with the rule behind what was there, which is the same byte for byte.
    Text {
        /// All of it.
        text: String,
        /// The line of the rule.
        line: usize,
    },
}

/// Adds `rule` to `text`, the user's own rules. What comes out has been read again and holds the rule.
pub fn add(text: &str, file: &Path, rule: &NewRule) -> Result<Added, RuleFault> {
    let before = Rules::parse(text, file, Layer::User)?;
    let is_same = |other: &&Rule| {
        other.on == rule.on && other.decision == rule.decision && other.unsandboxed == rule.unsandboxed
    };
    if let Some(there) = before.iter().find(is_same) {
        return Ok(Added::There { line: there.line });
    }
    let written = rule.to_string();
    // A fault of the rule itself is not one of the file.
    let alone = Rules::parse(&written, file, Layer::User)
        .map_err(|fault| RuleFault::whole(file, format!("the new rule is wrong: {}", fault.why)))?;
    let apart = match text {
        "" => "",
        _ if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let text = format!("{text}{apart}{written}");
    let after = Rules::parse(&text, file, Layer::User).map_err(|fault| {
        let why =
            format!("no rule can be added at its end ({}); write each rule below a `[[rule]]`", fault.why);
        RuleFault::whole(file, why)
    })?;
    match (after.iter().last(), alone.iter().next()) {
        (Some(last), Some(_))
            if after.len() == before.len() + 1 && is_same(&last) && alone.iter().all(|one| is_same(&one)) =>
        {
            Ok(Added::Text { line: last.line, text })
        }
        (Some(_) | None, Some(_) | None) => {
            Err(RuleFault::whole(file, "the new rule would be read as another one"))
        }
    }
}

impl std::fmt::Display for NewRule {
    /// As it stands in a file.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "[[rule]]")?;
        match &self.on {
            On::Command { pattern, exact } => {
                let positions: Vec<String> = pattern.iter().map(|names| one_or_list(names)).collect();
                writeln!(out, "pattern = [{}]", positions.join(", "))?;
                if *exact {
                    writeln!(out, "exact = true")?;
                }
            }
            On::Path { paths, access } => {
                let paths: Vec<String> = paths.iter().map(super::Where::text).collect();
                writeln!(out, "path = {}", one_or_list(&paths))?;
                if *access == Access::Read {
                    writeln!(out, "access = \"read\"")?;
                }
            }
            On::Tool { names } => writeln!(out, "tool = {}", one_or_list(names))?,
            On::Host { hosts } => {
                let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
                writeln!(out, "host = {}", one_or_list(&hosts))?;
            }
        }
        writeln!(out, "decision = {}", quoted(self.decision.as_str()))?;
        if self.unsandboxed {
            writeln!(out, "unsandboxed = true")?;
        }
        if let Some(reason) = &self.reason {
            writeln!(out, "reason = {}", quoted(reason))?;
        }
        match &self.example {
            Some(words) => writeln!(out, "match = [{}]", list(words)),
            None => Ok(()),
        }
    }
}

fn one_or_list(texts: &[String]) -> String {
    match texts {
        [one] => quoted(one),
        [] | [_, ..] => list(texts),
    }
}

/// A list of texts in TOML.
pub(super) fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// `text` as TOML, on one line, with nothing in it that does not show.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if crate::letters::hides(letter) => {
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
