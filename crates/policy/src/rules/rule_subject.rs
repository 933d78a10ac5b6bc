//! Parses and validates the subject of a rule: commands, paths, tools or hosts.

use std::ops::Range;

use super::rule_fault::RuleFault;
use super::rule_fields::{RuleFields, SpannedValue};
use super::{MAX_PATTERN_WORDS, PathAccess, RuleDecision, RulePath, RuleSubject, tool_pattern};
use crate::HostPattern;

pub(super) fn parse_subject(
    fields: &RuleFields<'_>,
    decision: RuleDecision,
) -> Result<RuleSubject, RuleFault> {
    if let Some(pattern) = fields.get("pattern") {
        return Ok(RuleSubject::Command {
            pattern: parse_pattern(fields, pattern)?,
            exact: fields.flag("exact")?,
        });
    }
    if fields.get("path").is_some() {
        let access = parse_access(fields)?;
        let base = fields.source.base_directory();
        let paths = parse_each(fields, "path", |text| RulePath::parse(text, base, access, decision))?;
        return Ok(RuleSubject::Path { paths, access });
    }
    if fields.get("tool").is_some() {
        return Ok(RuleSubject::Tool {
            names: parse_each(fields, "tool", |name| {
                tool_pattern::tool_pattern_fault(name).map(|()| name.to_owned())
            })?,
        });
    }
    let host = |(text, span): (&str, Range<usize>)| {
        text.parse::<HostPattern>().map_err(|fault| fields.fault(&span, fault.to_string()))
    };
    Ok(RuleSubject::Host { hosts: fields.texts("host")?.into_iter().map(host).collect::<Result<_, _>>()? })
}

/// Parses every text of `key`; a fault points at the text.
fn parse_each<T>(
    fields: &RuleFields<'_>,
    key: &str,
    one: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, RuleFault> {
    let read = |(text, span): (&str, Range<usize>)| {
        one(text).map_err(|why| fields.fault(&span, format!("`{}`: {why}", text.escape_debug())))
    };
    fields.texts(key)?.into_iter().map(read).collect()
}

fn parse_access(fields: &RuleFields<'_>) -> Result<PathAccess, RuleFault> {
    match fields.text("access")? {
        None | Some("write") => Ok(PathAccess::Write),
        Some("read") => Ok(PathAccess::Read),
        Some(other) => {
            let why = format!("`{}` is not an access: write \"read\" or \"write\"", other.escape_debug());
            Err(fields.fault(&fields.key_span("access"), why))
        }
    }
}

fn parse_pattern(fields: &RuleFields<'_>, pattern: &SpannedValue<'_>) -> Result<Vec<Vec<String>>, RuleFault> {
    let Some(positions) = pattern.get_ref().as_array() else {
        let why = "`pattern` must be a list of words, e.g. `[\"git\", [\"push\", \"fetch\"]]`";
        return Err(fields.fault(&pattern.span(), why));
    };
    if positions.is_empty() {
        let why =
            "`pattern` is empty and would match every command: name the program, e.g. `[\"git\", \"push\"]`";
        return Err(fields.fault(&pattern.span(), why));
    }
    if let Some(one_more) = positions.get(MAX_PATTERN_WORDS) {
        return Err(
            fields.fault(&one_more.span(), format!("more than {MAX_PATTERN_WORDS} words are too many"))
        );
    }
    positions.iter().enumerate().map(|(at, position)| parse_alternatives(fields, at, position)).collect()
}

fn parse_alternatives(
    fields: &RuleFields<'_>,
    at: usize,
    position: &SpannedValue<'_>,
) -> Result<Vec<String>, RuleFault> {
    let word = |value: &SpannedValue<'_>| {
        let fault = |why: &str| Err(fields.fault(&value.span(), why));
        match value.get_ref().as_str() {
            None => fault("a word of a pattern must be a text, or a list of texts for alternatives"),
            Some("") if at == 0 => fault("the first word is the program, which has a name"),
            Some(word) if word.contains('\0') => fault("it holds a NUL, which no word of a command can"),
            Some(word) => Ok(word.to_owned()),
        }
    };
    match position.get_ref().as_array() {
        Some(list) if list.is_empty() => {
            Err(fields.fault(&position.span(), "a list of alternatives needs at least one word"))
        }
        Some(list) => list.iter().map(word).collect(),
        None => Ok(vec![word(position)?]),
    }
}
