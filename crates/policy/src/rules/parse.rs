//! Parses a rule file: the TOML syntax, and the constraints between the fields of a rule.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rule_examples::{self, ExampleResult};
use super::rule_fault::{LineStarts, RuleFault};
use super::rule_fields::{RuleFields, RuleSource, nearest_name};
use super::{
    MAX_RULE_FILE_BYTES, PathAccess, PolicyRule, RuleDecision, RuleLayer, RuleSubject, rule_subject,
};

const RULE_KEYS: &[&str] = &[
    "pattern", "exact", "path", "access", "tool", "host", "decision", "reason", "unsandboxed", "match",
    "not_match",
];
/// The possible subjects of a rule, which has exactly one.
const SUBJECT_KEYS: &[&str] = &["pattern", "path", "tool", "host"];
/// Maximum length of a reason in characters: a model reads it.
const MAX_REASON_CHARS: usize = 500;

/// A parsed file; some of its examples may have failed.
pub(super) struct ParsedRules {
    pub(super) rules: Vec<PolicyRule>,
    pub(super) example_results: Vec<ExampleResult>,
}

pub(super) fn parse_rules(text: &str, file: &Path, layer: RuleLayer) -> Result<ParsedRules, RuleFault> {
    if text.len() > MAX_RULE_FILE_BYTES {
        return Err(RuleFault::in_file(file, format!("longer than {MAX_RULE_FILE_BYTES} bytes")));
    }
    let source = RuleSource { file: Arc::from(file), layer, lines: LineStarts::new(text) };
    let document = DeTable::parse(text).map_err(|error| {
        // The parser puts the expected token on a second line.
        let why = error.message().lines().collect::<Vec<_>>().join(", ");
        source.fault(&error.span().unwrap_or(0..0), why)
    })?;
    let mut parsed = ParsedRules { rules: Vec::new(), example_results: Vec::new() };
    for (key, value) in document.get_ref() {
        if key.get_ref() != "rule" {
            let why =
                format!("there is no `{}` in a file of rules, only `[[rule]]`", key.get_ref().escape_debug());
            return Err(source.fault(&key.span(), why));
        }
        let once = || source.fault(&key.span(), "a rule begins with `[[rule]]`, with two brackets");
        for rule in value.get_ref().as_array().ok_or_else(once)? {
            parse_rule(&source, rule, &mut parsed)?;
        }
    }
    Ok(parsed)
}

fn parse_rule<'a>(
    source: &'a RuleSource<'a>,
    value: &'a Spanned<DeValue<'a>>,
    parsed: &mut ParsedRules,
) -> Result<(), RuleFault> {
    let not = || source.fault(&value.span(), "a rule is a table: write `[[rule]]` and its keys below");
    let table = value.get_ref().as_table().ok_or_else(not)?;
    let fields = RuleFields { source, table, span: value.span() };
    check_keys(&fields)?;
    let decision = fields.decision()?;
    let subject = rule_subject::parse_subject(&fields, decision)?;
    check_constraints(&fields, &subject, decision)?;
    let rule = PolicyRule {
        layer: source.layer,
        file: Arc::clone(&source.file),
        line: source.lines.line_and_column(fields.span.start).0,
        subject,
        decision,
        reason: parse_reason(&fields)?,
        unsandboxed: fields.flag("unsandboxed")?,
    };
    rule_examples::run_examples(&fields, &rule, &mut parsed.example_results)?;
    parsed.rules.push(rule);
    Ok(())
}

fn check_keys(fields: &RuleFields<'_>) -> Result<(), RuleFault> {
    let unknown = fields.table.keys().filter(|key| !RULE_KEYS.contains(&key.get_ref().as_ref()));
    // Reports the first key in source order, not in alphabetical order.
    if let Some(key) = unknown.min_by_key(|key| key.span().start) {
        let name = key.get_ref();
        let meant = match nearest_name(name, RULE_KEYS) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("there are `{}`", RULE_KEYS.join("`, `")),
        };
        return Err(fields.fault(&key.span(), format!("a rule has no `{}`; {meant}", name.escape_debug())));
    }
    let mut given: Vec<&str> = SUBJECT_KEYS.iter().copied().filter(|key| fields.get(key).is_some()).collect();
    given.sort_by_key(|key| fields.key_span(key).start);
    match given[..] {
        [_] => Ok(()),
        [] => {
            let why = "the rule is about nothing: it needs `pattern`, `path`, `tool` or `host`";
            Err(fields.fault(&fields.span, why))
        }
        [one, other, ..] => {
            let why =
                format!("a rule is about one thing, and this one has `{one}` and `{other}`: make two of it");
            Err(fields.fault(&fields.key_span(other), why))
        }
    }
}

/// Checks the constraints between the fields of a rule.
fn check_constraints(
    fields: &RuleFields<'_>,
    subject: &RuleSubject,
    decision: RuleDecision,
) -> Result<(), RuleFault> {
    let belongs = |key: &str, to: &str| match fields.get(key) {
        Some(_) => {
            Err(fields.fault(&fields.key_span(key), format!("`{key}` belongs to a rule with a `{to}`")))
        }
        None => Ok(()),
    };
    let (is_command, access) = match subject {
        RuleSubject::Command { .. } => (true, None),
        RuleSubject::Path { access, .. } => (false, Some(*access)),
        RuleSubject::Tool { .. } | RuleSubject::Host { .. } => (false, None),
    };
    if !is_command {
        belongs("exact", "pattern")?;
    }
    if access.is_none() {
        belongs("access", "path")?;
    }
    if fields.flag("unsandboxed")? && !(is_command && decision == RuleDecision::Allow) {
        let why = "`unsandboxed` says that an allowed command runs without confinement: it needs a `pattern` and \
                   decision = \"allow\"";
        return Err(fields.fault(&fields.key_span("unsandboxed"), why));
    }
    let decided = || fields.get("decision").map_or_else(|| fields.span.clone(), Spanned::span);
    if access == Some(PathAccess::Read) && decision == RuleDecision::Ask {
        let why =
            "reading a path never causes a question: write \"forbid\", or \"allow\" to make it readable";
        return Err(fields.fault(&decided(), why));
    }
    if fields.source.layer == RuleLayer::Project && decision == RuleDecision::Allow {
        let why = "a project may tighten the rules, not loosen them: this belongs in your own file";
        return Err(fields.fault(&decided(), why));
    }
    Ok(())
}

fn parse_reason(fields: &RuleFields<'_>) -> Result<Option<String>, RuleFault> {
    let Some(reason) = fields.text("reason")? else { return Ok(None) };
    let why = match reason {
        _ if reason.trim().is_empty() => "`reason` is empty: say why, or leave it out".to_owned(),
        _ if reason.chars().count() > MAX_REASON_CHARS => {
            format!(
                "`reason` is longer than {MAX_REASON_CHARS} characters: a model and a person have to read it"
            )
        }
        _ => return Ok(Some(reason.to_owned())),
    };
    Err(fields.fault(&fields.key_span("reason"), why))
}
