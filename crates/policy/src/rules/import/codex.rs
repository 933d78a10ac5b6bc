//! Imports Codex's `.rules` files.

use std::collections::HashMap;
use std::path::Path;

use super::starlark::{StarlarkCall, StarlarkStatement, StarlarkValue, parse_statements};
use super::{ImportBuilder, ImportedRules, RuleExamples, check_length, shlex};
use crate::HostPattern;
use crate::rules::{NewRule, RuleDecision, RuleFault, RuleSubject};

const HEADER: &str = "\
# Imported from Codex's rules.
# A command that Codex allows runs outside its sandbox. Here it runs without a question and stays confined, unless its rule
# says `unsandboxed = true`.
";
/// Maximum length of a reason for a model, in characters.
const MAX_REASON_CHARS: usize = 500;
/// Maximum number of characters of a statement in a note.
const MAX_SHOWN_CHARS: usize = 80;
const RULE_CALLS: [&str; 3] = ["prefix_rule", "network_rule", "host_executable"];

/// Converts `text`, a Codex rule file. Statements other than calls with literal arguments are noted with their line.
pub fn import_codex(text: &str, file: &Path) -> Result<ImportedRules, RuleFault> {
    check_length(text, file)?;
    if text.trim_start().starts_with('{') {
        let why = "it looks like JSON, as Claude Code's settings are";
        return Err(RuleFault::in_file(file, why));
    }
    let mut builder = ImportBuilder::default();
    let statements = parse_statements(text, &RULE_CALLS);
    if let Some((line, name)) = statements.iter().find_map(redefined_name) {
        let why = format!("line {line} gives `{name}` another meaning, so its calls cannot be understood");
        return Err(RuleFault::in_file(file, why));
    }
    let mut hosts = CodexHostRules::default();
    for statement in &statements {
        match statement {
            StarlarkStatement::Call(call) => {
                let at = format!("line {}", call.line);
                match call.name.as_str() {
                    "prefix_rule" => import_prefix_rule(&mut builder, &at, call),
                    "network_rule" => import_network_rule(&mut builder, &at, call, &mut hosts),
                    "host_executable" => {
                        builder.add_note(&at, "`host_executable` is not carried over: a rule names a program, or its whole path");
                    }
                    name => {
                        builder.add_note(&at, format!("`{name}(…)` is not carried over: it is not a rule"));
                    }
                }
            }
            StarlarkStatement::Other { line, text, .. } => {
                let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
                builder.add_note(
                    &format!("line {line}"),
                    format!("not understood, and not carried over: {shown}"),
                );
            }
        }
    }
    for (at, rule) in hosts.rules.iter().flatten() {
        builder.add_rule(at, rule, &RuleExamples::default());
    }
    Ok(builder.finish(HEADER))
}

/// Returns true if `text` contains a Codex rule.
pub(super) fn is_codex_rules(text: &str) -> bool {
    let is_rule = |statement: &StarlarkStatement| matches!(statement, StarlarkStatement::Call(call) if RULE_CALLS.contains(&call.name.as_str()));
    parse_statements(text, &RULE_CALLS).iter().any(is_rule)
}

/// Returns the position and name if a statement redefines a known name.
fn redefined_name(statement: &StarlarkStatement) -> Option<(usize, &'static str)> {
    match statement {
        StarlarkStatement::Other { line, shadows, .. } => Some((*line, (*shadows)?)),
        StarlarkStatement::Call(_) => None,
    }
}

/// Returns the arguments in the order of `names`. Returns `None`, and adds a note, if an argument is unknown.
fn bind_arguments<'a>(
    builder: &mut ImportBuilder,
    at: &str,
    call: &'a StarlarkCall,
    names: &[&str],
) -> Option<Vec<Option<&'a StarlarkValue>>> {
    let mut found = vec![None; names.len()];
    for (position, (name, value)) in call.args.iter().enumerate() {
        let index = match name {
            Some(name) => names.iter().position(|known| known == name),
            None => Some(position).filter(|place| *place < names.len()),
        };
        match index {
            Some(index) if found[index].is_none() => found[index] = Some(value),
            Some(_) | None => {
                let which = name.clone().unwrap_or_else(|| format!("number {}", position + 1));
                builder.add_note(
                    at,
                    format!("not carried over: the argument `{which}` is not known, or is there twice"),
                );
                return None;
            }
        }
    }
    Some(found.into_iter().map(|value| value.filter(|value| **value != StarlarkValue::None)).collect())
}

fn import_prefix_rule(builder: &mut ImportBuilder, at: &str, call: &StarlarkCall) {
    let names = ["pattern", "decision", "match", "not_match", "justification"];
    let Some(args) = bind_arguments(builder, at, call, &names) else { return };
    let [pattern, decision, matching, other, justification] = args[..] else { return };
    let Some(pattern) = pattern.and_then(as_pattern) else {
        return builder
            .add_note(at, "not carried over: `pattern` must be a list of words and lists of words");
    };
    let decision = match decision.map(as_text) {
        None | Some(Some("allow")) => RuleDecision::Allow,
        Some(Some("prompt")) => RuleDecision::Ask,
        Some(Some("forbidden")) => RuleDecision::Forbid,
        Some(_) => {
            return builder
                .add_note(at, "not carried over: `decision` must be \"allow\", \"prompt\" or \"forbidden\"");
        }
    };
    let reason = import_reason(builder, at, justification);
    let subject = RuleSubject::Command { pattern, exact: false };
    let rule = NewRule { subject, decision, reason, unsandboxed: false, example: None };
    let examples = RuleExamples {
        matching: import_examples(builder, at, matching),
        not_matching: import_examples(builder, at, other),
    };
    builder.add_rule(at, &rule, &examples);
}

fn import_reason(
    builder: &mut ImportBuilder,
    at: &str,
    justification: Option<&StarlarkValue>,
) -> Option<String> {
    let reason = as_text(justification?).map(str::trim).filter(|reason| !reason.is_empty());
    let Some(reason) = reason else {
        builder.add_note(at, "`justification` was left out: it is not text, or is empty");
        return None;
    };
    if reason.chars().count() > MAX_REASON_CHARS {
        builder.add_note(at, format!("`justification` was cut to {MAX_REASON_CHARS} characters"));
    }
    Some(reason.chars().take(MAX_REASON_CHARS).collect())
}

fn import_network_rule(
    builder: &mut ImportBuilder,
    at: &str,
    call: &StarlarkCall,
    hosts: &mut CodexHostRules,
) {
    let Some(args) = bind_arguments(builder, at, call, &["host", "protocol", "decision", "justification"])
    else {
        return;
    };
    let [host, protocol, decision, justification] = args[..] else { return };
    let (Some(host), Some(protocol)) = (host.and_then(as_text), protocol.and_then(as_text)) else {
        return builder.add_note(at, "not carried over: `host` and `protocol` must be texts");
    };
    let decision = match decision.map(as_text) {
        Some(Some("allow")) => RuleDecision::Allow,
        Some(Some("prompt")) => RuleDecision::Ask,
        Some(Some("deny" | "forbidden")) => RuleDecision::Forbid,
        Some(_) | None => {
            return builder
                .add_note(at, "not carried over: `decision` must be \"allow\", \"prompt\" or \"deny\"");
        }
    };
    let port = match (decision, protocol) {
        (RuleDecision::Allow, "https" | "https_connect" | "http-connect") => ":443",
        (RuleDecision::Allow, "http") => ":80",
        (RuleDecision::Allow, _) => {
            return builder
                .add_note(at, format!("not carried over: which ports `{protocol}` allows is not known"));
        }
        // The result is stricter than the original, never looser.
        (RuleDecision::Ask | RuleDecision::Forbid, _) => "",
    };
    let key = format!("{} {protocol}", host.trim().to_ascii_lowercase());
    let host = format!("{}{port}", host.trim());
    let named = match host.parse::<HostPattern>() {
        Ok(named) => named,
        Err(fault) => return builder.add_note(at, format!("not carried over: {fault}")),
    };
    if decision == RuleDecision::Allow {
        builder.add_note(at, format!("`{protocol}` to this host is allowed as `{named}`: rules for hosts have a port and no protocol"));
    }
    let reason = import_reason(builder, at, justification);
    let subject = RuleSubject::Host { hosts: vec![named] };
    let rule = NewRule { subject, decision, reason, unsandboxed: false, example: None };
    // In Codex the last rule wins, here the strictest one: overruled rules are not converted.
    if let Some(before) = hosts.last_by_host.insert(key, hosts.rules.len())
        && let Some((before, _)) = hosts.rules[before].take()
    {
        builder.add_note(&before, format!("not carried over: {at} says something else about the same host"));
    }
    hosts.rules.push(Some((at.to_owned(), rule)));
}

/// Host rules with their positions, and the last rule for each host.
#[derive(Default)]
struct CodexHostRules {
    rules: Vec<Option<(String, NewRule)>>,
    last_by_host: HashMap<String, usize>,
}

fn as_text(value: &StarlarkValue) -> Option<&str> {
    match value {
        StarlarkValue::Text(text) => Some(text),
        StarlarkValue::List(_) | StarlarkValue::None => None,
    }
}

fn as_texts(value: &StarlarkValue) -> Option<Vec<String>> {
    match value {
        StarlarkValue::List(list) => list.iter().map(|one| as_text(one).map(str::to_owned)).collect(),
        StarlarkValue::Text(_) | StarlarkValue::None => None,
    }
}

fn as_pattern(value: &StarlarkValue) -> Option<Vec<Vec<String>>> {
    let StarlarkValue::List(positions) = value else { return None };
    positions
        .iter()
        .map(|position| as_text(position).map(|word| vec![word.to_owned()]).or_else(|| as_texts(position)))
        .collect()
}

fn import_examples(builder: &mut ImportBuilder, at: &str, value: Option<&StarlarkValue>) -> Vec<Vec<String>> {
    let list = match value {
        None => return Vec::new(),
        Some(StarlarkValue::List(list)) => list,
        Some(StarlarkValue::Text(_) | StarlarkValue::None) => {
            builder.add_note(at, "the examples were left out: they are not a list");
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for example in list {
        match as_text(example).map_or_else(|| as_texts(example), shlex::split_words) {
            Some(words) => found.push(words),
            None => {
                builder.add_note(at, "an example was left out: it is neither a command nor a list of words");
            }
        }
    }
    found
}
