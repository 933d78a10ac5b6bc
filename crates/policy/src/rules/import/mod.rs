//! Imports rules of other programs. Rules that cannot be converted are reported, never guessed.

mod claude;
mod claude_path;
mod codex;
mod shlex;
mod starlark;

pub use claude::import_claude;
pub use codex::import_codex;

use std::collections::HashSet;
use std::path::Path;

use super::rule_writer::toml_list;
use super::{MAX_RULE_FILE_BYTES, NewRule, RuleFault, RuleLayer, RuleSet};

/// Maximum number of notes.
const MAX_NOTES: usize = 500;
const LAST_NOTE_INDEX: usize = MAX_NOTES - 1;

/// A note about a rule that was not converted, or converted differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportNote {
    /// The position: `line 3`, or `permissions.allow[2]`.
    pub position: String,
    /// The outcome.
    pub message: String,
}

/// A rule file converted from another program's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedRules {
    /// The converted rules, with the notes as comments above them.
    pub text: String,
    /// The number of rules.
    pub rules: usize,
    /// The notes.
    pub notes: Vec<ImportNote>,
}

/// Collects the converted rules and notes.
#[derive(Default)]
struct ImportBuilder {
    rules: Vec<String>,
    seen_rules: HashSet<String>,
    notes: Vec<ImportNote>,
}

/// Examples of a rule, each a list of words.
#[derive(Default)]
struct RuleExamples {
    matching: Vec<Vec<String>>,
    not_matching: Vec<Vec<String>>,
}

impl ImportBuilder {
    fn add_note(&mut self, at: &str, message: impl Into<String>) {
        let message = match self.notes.len() {
            MAX_NOTES.. => return,
            LAST_NOTE_INDEX => "this is not all: there is more that was not carried over".to_owned(),
            _ => message.into(),
        };
        self.notes.push(ImportNote { position: at.to_owned(), message });
    }

    /// Adds a rule, with those of its examples that hold.
    fn add_rule(&mut self, at: &str, rule: &NewRule, examples: &RuleExamples) {
        let alone = rule.to_string();
        let read = RuleSet::parse(&alone, Path::new("rules.toml"), RuleLayer::User);
        if let Err(fault) = read {
            return self.add_note(at, format!("not carried over: {}", fault.why));
        }
        let examples = self.format_valid_examples(at, &alone, examples);
        let whole = format!("{alone}{examples}");
        // A repeated rule is written once.
        if self.seen_rules.insert(whole.clone()) {
            self.rules.push(whole);
        }
    }

    /// Formats those of `examples` that hold for `rule`.
    fn format_valid_examples(&mut self, at: &str, rule: &str, examples: &RuleExamples) -> String {
        if examples.matching.is_empty() && examples.not_matching.is_empty() {
            return String::new();
        }
        let lines = |matching: &[String], other: &[String]| {
            let line = |key: &str, list: &[String]| match list {
                [] => String::new(),
                [_, ..] => format!("{key} = [{}]\n", list.join(", ")),
            };
            format!("{}{}", line("match", matching), line("not_match", other))
        };
        let written =
            |examples: &[Vec<String>]| examples.iter().map(|words| toml_list(words)).collect::<Vec<_>>();
        let (mut matching, mut other) = (written(&examples.matching), written(&examples.not_matching));
        let all = format!("{rule}{}", lines(&matching, &other));
        let results = match RuleSet::run_examples(&all, Path::new("rules.toml"), RuleLayer::User) {
            Ok(tried) => tried,
            Err(fault) => {
                self.add_note(at, format!("the examples were left out: {}", fault.why));
                return String::new();
            }
        };
        let mut holds = results.iter().map(|tried| tried.fault.is_none());
        matching.retain(|_| holds.next().unwrap_or(false));
        other.retain(|_| holds.next().unwrap_or(false));
        for why in results.iter().filter_map(|tried| tried.fault.as_ref()) {
            self.add_note(at, format!("an example was left out: {why}"));
        }
        lines(&matching, &other)
    }

    fn finish(self, header: &str) -> ImportedRules {
        let mut text = header.to_owned();
        if !self.notes.is_empty() {
            text.push_str("#\n# What is not as it was there:\n");
        }
        for note in &self.notes {
            // One line each, without characters that could end the comment.
            let line = format!("# - {}: {}", note.position, note.message);
            text.extend(line.chars().map(|letter| {
                if crate::invisible_chars::is_deceptive(letter) || letter == '\n' { ' ' } else { letter }
            }));
            text.push('\n');
        }
        for rule in &self.rules {
            text.push('\n');
            text.push_str(rule);
        }
        ImportedRules { text, rules: self.rules.len(), notes: self.notes }
    }
}

/// Rejects a text that is too long for a rule file.
fn check_length(text: &str, file: &Path) -> Result<(), RuleFault> {
    if text.len() > MAX_RULE_FILE_BYTES {
        return Err(RuleFault::in_file(file, format!("longer than {MAX_RULE_FILE_BYTES} bytes")));
    }
    Ok(())
}
