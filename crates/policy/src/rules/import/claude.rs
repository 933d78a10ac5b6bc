//! Imports the permissions in Claude Code's `settings.json`.

use std::path::Path;

use serde_json::{Map, Value};

use super::claude_path::{self, ConvertedPath};
use super::{ImportBuilder, ImportedRules, RuleExamples, check_length};
use crate::HostPattern;
use crate::rules::{NewRule, PathAccess, RuleDecision, RuleFault, RulePath, RuleSubject};
use crate::shell::ScriptWord;

const HEADER: &str = "\
# Imported from Claude Code's permissions.
# A command that is allowed runs without a question and stays confined, unless its rule says `unsandboxed = true`.
";
const PERMISSION_LISTS: [(&str, RuleDecision); 3] =
    [("allow", RuleDecision::Allow), ("ask", RuleDecision::Ask), ("deny", RuleDecision::Forbid)];
/// Toolgate's tools that run commands, and those that read.
const COMMAND_TOOLS: [&str; 3] = ["shell", "shell_command", "exec_command"];
const READ_TOOLS: [&str; 4] = ["read_file", "list_dir", "grep_files", "view_image"];

/// Converts `text`, a `settings.json`. Permissions without a counterpart are noted with their position.
pub fn import_claude(text: &str, file: &Path) -> Result<ImportedRules, RuleFault> {
    check_length(text, file)?;
    let settings: Value = serde_json::from_str(text).map_err(|error| {
        let position = (error.line(), error.column());
        let why = error.to_string();
        // Removes the position from the message, since it is given separately.
        let why = why.rsplit_once(" at line ").map_or(why.as_str(), |(why, _)| why);
        let codex = "; it looks like Codex's rules";
        let other = if super::codex::is_codex_rules(text) { codex } else { "" };
        RuleFault::at(file, position, format!("not JSON: {why}{other}"))
    })?;
    let Some(settings) = settings.as_object() else {
        return Err(RuleFault::in_file(file, "it holds no settings: a `settings.json` is an object"));
    };
    let mut builder = ImportBuilder::default();
    match settings.get("permissions") {
        Some(Value::Object(permissions)) => import_permissions(&mut builder, permissions),
        Some(_) => return Err(RuleFault::in_file(file, "`permissions` must be an object")),
        None => builder.add_note("permissions", "there are none"),
    }
    let others: Vec<&str> = settings.keys().map(String::as_str).filter(|key| *key != "permissions").collect();
    if !others.is_empty() {
        builder.add_note("settings", format!("not carried over, they are not rules: {}", others.join(", ")));
    }
    Ok(builder.finish(HEADER))
}

fn import_permissions(builder: &mut ImportBuilder, permissions: &Map<String, Value>) {
    for (key, decision) in PERMISSION_LISTS {
        for_each_text(builder, permissions, key, |page, at, text| {
            import_permission(page, at, text, decision);
        });
    }
    for_each_text(builder, permissions, "additionalDirectories", |page, at, text| {
        let path = if text.starts_with('/') { format!("/{text}") } else { text.to_owned() };
        import_paths(page, at, text, (&path, PathAccess::Read), RuleDecision::Allow);
    });
    let known =
        |key: &str| key == "additionalDirectories" || PERMISSION_LISTS.iter().any(|(list, _)| *list == key);
    for key in permissions.keys().filter(|key| !known(key)) {
        builder.add_note(&format!("permissions.{key}"), "not carried over: it is a setting, not a rule");
    }
}

fn for_each_text(
    builder: &mut ImportBuilder,
    permissions: &Map<String, Value>,
    key: &str,
    mut one: impl FnMut(&mut ImportBuilder, &str, &str),
) {
    let list = match permissions.get(key) {
        None => return,
        Some(Value::Array(list)) => list,
        Some(_) => {
            return builder.add_note(&format!("permissions.{key}"), "not carried over: it is not a list");
        }
    };
    for (number, value) in list.iter().enumerate() {
        let at = format!("permissions.{key}[{number}]");
        match value.as_str() {
            Some(text) => one(builder, &at, text.trim()),
            None => builder.add_note(&at, "not carried over: it is not text"),
        }
    }
}

/// Converts one permission: `Tool`, or `Tool(what)`.
fn import_permission(builder: &mut ImportBuilder, at: &str, text: &str, decision: RuleDecision) {
    let (tool, what) = match text.split_once('(') {
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(what) => (tool, Some(what)),
            None => return note_lost(builder, at, text, decision, "there is no `)` at its end"),
        },
        None => (text, None),
    };
    match (tool, what) {
        ("Bash", Some(what)) if what != "*" => import_command(builder, at, text, what, decision),
        ("Bash", Some(_) | None) => import_whole_tool(builder, at, text, &COMMAND_TOOLS, decision),
        ("Read", Some(what)) => import_paths(builder, at, text, (what, PathAccess::Read), decision),
        ("Read", None) => import_whole_tool(builder, at, text, &READ_TOOLS, decision),
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", Some(what)) => {
            import_paths(builder, at, text, (what, PathAccess::Write), decision);
        }
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", None) => {
            note_lost(
                builder,
                at,
                text,
                decision,
                "the sandbox policy says whether files may be changed, not a rule",
            );
        }
        ("WebFetch", Some(what)) => import_host(builder, at, text, what, decision),
        (tool, None) if tool.starts_with("mcp__") => {
            // The name of a server alone means all of its tools.
            let whole = tool["mcp__".len()..].split_once("__").is_none() && !tool.ends_with('*');
            let name = if whole { format!("{tool}__*") } else { tool.to_owned() };
            builder.add_rule(
                at,
                &new_rule(RuleSubject::Tool { names: vec![name] }, decision),
                &RuleExamples::default(),
            );
        }
        (_, Some(_) | None) => note_lost(builder, at, text, decision, "there is no such tool here"),
    }
}

/// Notes a permission that was not converted, and warns if it was a restriction.
fn note_lost(builder: &mut ImportBuilder, at: &str, text: &str, decision: RuleDecision, why: &str) {
    let open = match decision {
        RuleDecision::Allow => "",
        RuleDecision::Ask => ", so it causes no question here",
        RuleDecision::Forbid => ", so it is NOT forbidden here",
    };
    builder.add_note(at, format!("`{text}` is not carried over: {why}{open}"));
}

fn new_rule(subject: RuleSubject, decision: RuleDecision) -> NewRule {
    NewRule { subject, decision, reason: None, unsandboxed: false, example: None }
}

fn import_whole_tool(
    builder: &mut ImportBuilder,
    at: &str,
    text: &str,
    tools: &[&str],
    decision: RuleDecision,
) {
    match decision {
        RuleDecision::Allow => {
            note_lost(builder, at, text, decision, "it allows everything; say what is to be allowed");
        }
        RuleDecision::Ask | RuleDecision::Forbid => {
            let names = tools.iter().map(|tool| (*tool).to_owned()).collect();
            builder.add_rule(at, &new_rule(RuleSubject::Tool { names }, decision), &RuleExamples::default());
        }
    }
}

fn import_command(builder: &mut ImportBuilder, at: &str, text: &str, what: &str, decision: RuleDecision) {
    let (words, exact) = match what.strip_suffix(":*").or_else(|| what.strip_suffix(" *")) {
        Some(words) => (words, false),
        None => (what, true),
    };
    if words.contains('*') {
        return note_lost(builder, at, text, decision, "a `*` may only stand for all words at the end");
    }
    match crate::rules::rule_examples::single_command_words(words) {
        Ok(words) => {
            let word = |word| match word {
                ScriptWord::Literal(word) | ScriptWord::Unknown(word) => vec![word],
            };
            let pattern = words.into_iter().map(word).collect();
            builder.add_rule(
                at,
                &new_rule(RuleSubject::Command { pattern, exact }, decision),
                &RuleExamples::default(),
            );
        }
        Err(_) => note_lost(builder, at, text, decision, "it is not one plain command"),
    }
}

fn import_paths(
    builder: &mut ImportBuilder,
    at: &str,
    text: &str,
    (what, access): (&str, PathAccess),
    decision: RuleDecision,
) {
    if access == PathAccess::Read && decision == RuleDecision::Ask {
        return note_lost(builder, at, text, decision, "reading a path never causes a question");
    }
    match claude_path::convert_path(what, access, decision) {
        Ok(ConvertedPath { path, note }) => {
            let path = match RulePath::parse(&path, None, access, decision) {
                Ok(path) => path,
                Err(why) => return note_lost(builder, at, text, decision, &why),
            };
            if let Some(note) = note {
                builder.add_note(at, format!("`{text}`: {note}"));
            }
            builder.add_rule(
                at,
                &new_rule(RuleSubject::Path { paths: vec![path], access }, decision),
                &RuleExamples::default(),
            );
        }
        Err(why) => note_lost(builder, at, text, decision, &why),
    }
}

fn import_host(builder: &mut ImportBuilder, at: &str, text: &str, what: &str, decision: RuleDecision) {
    let Some(domain) = what.strip_prefix("domain:") else {
        return note_lost(builder, at, text, decision, "only `domain:` is known");
    };
    match domain.trim().parse::<HostPattern>() {
        Ok(host) => {
            if decision == RuleDecision::Allow {
                builder
                    .add_note(at, format!("`{text}` is a rule for the host, so it holds for commands too"));
            }
            builder.add_rule(
                at,
                &new_rule(RuleSubject::Host { hosts: vec![host] }, decision),
                &RuleExamples::default(),
            );
        }
        Err(_) => note_lost(builder, at, text, decision, "it names no host"),
    }
}
