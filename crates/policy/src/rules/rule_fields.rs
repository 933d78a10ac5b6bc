//! Reads the fields of a rule with their positions in the file.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rule_fault::{LineStarts, RuleFault};
use super::{RuleDecision, RuleLayer};

/// Minimum similarity, from 0 to 1, for proposing another name.
const MIN_SIMILARITY: f64 = 0.75;

/// A value with its position.
pub(super) type SpannedValue<'a> = Spanned<DeValue<'a>>;

/// The file being parsed.
pub(super) struct RuleSource<'a> {
    pub(super) file: Arc<Path>,
    pub(super) layer: RuleLayer,
    pub(super) lines: LineStarts<'a>,
}

impl RuleSource<'_> {
    /// Creates a fault at a position in the file.
    pub(super) fn fault(&self, span: &Range<usize>, why: impl Into<String>) -> RuleFault {
        RuleFault::at(&self.file, self.lines.line_and_column(span.start), why.into())
    }

    /// Returns the base directory of relative paths; only a project file has one.
    pub(super) fn base_directory(&self) -> Option<&Path> {
        match self.layer {
            RuleLayer::System | RuleLayer::User => None,
            RuleLayer::Project => {
                let directory = self.file.parent()?;
                if directory.ends_with(".toolgate") { directory.parent() } else { Some(directory) }
            }
        }
    }
}

/// The source of one rule.
pub(super) struct RuleFields<'a> {
    pub(super) source: &'a RuleSource<'a>,
    pub(super) table: &'a DeTable<'a>,
    /// The position of the rule.
    pub(super) span: Range<usize>,
}

impl<'a> RuleFields<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a SpannedValue<'a>> {
        self.table.get(key)
    }

    /// Returns the position of a key.
    pub(super) fn key_span(&self, key: &str) -> Range<usize> {
        self.table.get_key_value(key).map_or_else(|| self.span.clone(), |(key, _)| key.span())
    }

    pub(super) fn fault(&self, span: &Range<usize>, why: impl Into<String>) -> RuleFault {
        self.source.fault(span, why)
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, RuleFault> {
        match self.get(key) {
            None => Ok(false),
            Some(value) => {
                let not = || self.fault(&value.span(), format!("`{key}` must be true or false"));
                value.get_ref().as_bool().ok_or_else(not)
            }
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, RuleFault> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let not = || self.fault(&value.span(), format!("`{key}` must be a text, e.g. `{key} = \"…\"`"));
        value.get_ref().as_str().map(Some).ok_or_else(not)
    }

    /// Reads a text or a nonempty list of texts, with their positions.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<(&'a str, Range<usize>)>, RuleFault> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let not = |value: &SpannedValue<'_>| {
            self.fault(&value.span(), format!("`{key}` must be a text or a list of texts"))
        };
        let one = |value: &'a SpannedValue<'a>| {
            let text = value.get_ref().as_str().ok_or_else(|| not(value))?;
            Ok((text, value.span()))
        };
        match value.get_ref().as_array() {
            Some(list) if list.is_empty() => {
                Err(self
                    .fault(&value.span(), format!("`{key}` is an empty list, so the rule is about nothing")))
            }
            Some(list) => list.iter().map(one).collect(),
            None => Ok(vec![one(value)?]),
        }
    }

    pub(super) fn decision(&self) -> Result<RuleDecision, RuleFault> {
        const DECISION_CHOICES: &str = "write \"allow\", \"ask\" or \"forbid\"";
        let Some(text) = self.text("decision")? else {
            return Err(self.fault(&self.span, format!("the rule has no `decision`: {DECISION_CHOICES}")));
        };
        match text {
            "allow" => Ok(RuleDecision::Allow),
            "ask" => Ok(RuleDecision::Ask),
            "forbid" => Ok(RuleDecision::Forbid),
            _ => {
                let meant = match text.to_ascii_lowercase().as_str() {
                    "allow" | "approve" | "permit" | "yes" => "; did you mean \"allow\"?",
                    "ask" | "prompt" | "confirm" => "; did you mean \"ask\"?",
                    "forbid" | "forbidden" | "deny" | "block" | "reject" | "no" => {
                        "; did you mean \"forbid\"?"
                    }
                    _ => "",
                };
                let span = self.get("decision").map_or_else(|| self.span.clone(), Spanned::span);
                let text = text.escape_debug();
                Err(self.fault(&span, format!("`{text}` is not a decision: {DECISION_CHOICES}{meant}")))
            }
        }
    }
}

/// Returns the most similar name of `known`.
pub(super) fn nearest_name<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let alike = known.iter().map(|known| (strsim::jaro_winkler(name, known), *known));
    let (how, known) = alike.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (how >= MIN_SIMILARITY).then_some(known)
}
