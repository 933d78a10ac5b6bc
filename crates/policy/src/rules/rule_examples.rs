//! Runs the examples in a rule file, which verify that a rule means what its author intends.

use super::rule_fault::RuleFault;
use super::rule_fields::{RuleFields, SpannedValue};
use super::{PolicyRule, RuleSubject, command, tool_pattern};
use crate::shell::{self, ScriptWord};
use crate::{HostPattern, HostPatternFault};

/// The result of one example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleResult {
    /// The line of the rule.
    pub rule_line: usize,
    /// The line of the example, from 1.
    pub line: usize,
    /// The column of the example, from 1.
    pub column: usize,
    /// The list that contains the example: `match` or `not_match`.
    pub list: &'static str,
    /// The example; the words of a list are joined by spaces.
    pub text: String,
    /// The failure; `None` if the example holds.
    pub fault: Option<String>,
}

/// Runs the examples of `rule`. A malformed example is a fault.
pub(super) fn run_examples(
    fields: &RuleFields<'_>,
    rule: &PolicyRule,
    results: &mut Vec<ExampleResult>,
) -> Result<(), RuleFault> {
    for (list, expected) in [("match", true), ("not_match", false)] {
        let Some(value) = fields.get(list) else { continue };
        let not = || {
            let why = format!("`{list}` must be a list of examples, e.g. `{list} = [\"git push\"]`");
            fields.fault(&value.span(), why)
        };
        for example in value.get_ref().as_array().ok_or_else(not)? {
            let (text, matches) = evaluate_example(fields, rule, list, example)?;
            let fault = match matches {
                Err(why) => Some(format!("`{}` is not an example: {why}", text.escape_debug())),
                Ok(matches) if matches == expected => None,
                Ok(true) => {
                    Some(format!("`{}` is in `not_match`, but the rule matches it", text.escape_debug()))
                }
                Ok(false) => {
                    Some(format!("`{}` is in `match`, but the rule does not match it", text.escape_debug()))
                }
            };
            let (line, column) = fields.source.lines.line_and_column(example.span().start);
            results.push(ExampleResult { rule_line: rule.line, line, column, list, text, fault });
        }
    }
    Ok(())
}

/// The text of an example, and its match result or the reason why there is none.
type ExampleMatch = (String, Result<bool, String>);

fn evaluate_example(
    fields: &RuleFields<'_>,
    rule: &PolicyRule,
    list: &str,
    example: &SpannedValue<'_>,
) -> Result<ExampleMatch, RuleFault> {
    let not = |value: &SpannedValue<'_>| {
        let why = match rule.subject {
            RuleSubject::Command { .. } => format!("an example in `{list}` is a text or a list of words"),
            RuleSubject::Path { .. } | RuleSubject::Tool { .. } | RuleSubject::Host { .. } => {
                format!("an example in `{list}` is a text")
            }
        };
        fields.fault(&value.span(), why)
    };
    if let (Some(words), RuleSubject::Command { pattern, exact }) =
        (example.get_ref().as_array(), &rule.subject)
    {
        let word =
            |value: &SpannedValue<'_>| value.get_ref().as_str().map(str::to_owned).ok_or_else(|| not(value));
        let words = words.iter().map(word).collect::<Result<Vec<String>, _>>()?;
        let text = words.join(" ");
        let words: Vec<ScriptWord> = words.into_iter().map(ScriptWord::Literal).collect();
        return Ok((
            text,
            Ok(command::match_pattern(pattern, *exact, &words, false) == command::PatternFit::Certain),
        ));
    }
    let text = example.get_ref().as_str().ok_or_else(|| not(example))?;
    let matches = match &rule.subject {
        RuleSubject::Command { pattern, exact } => single_command_words(text).map(|words| {
            command::match_pattern(pattern, *exact, &words, false) == command::PatternFit::Certain
        }),
        RuleSubject::Path { paths, .. } => {
            let from_base = fields
                .source
                .base_directory()
                .filter(|_| !text.starts_with("~/"))
                .map(|base| base.join(text));
            let path = from_base.map_or_else(|| text.to_owned(), |path| path.to_string_lossy().into_owned());
            Ok(paths.iter().any(|one| one.covers(&path)))
        }
        RuleSubject::Tool { names } => {
            Ok(names.iter().any(|pattern| tool_pattern::matches_tool_pattern(pattern, text)))
        }
        RuleSubject::Host { hosts } => {
            parse_host_port(text).map(|(name, port)| hosts.iter().any(|host| host.covers(name, port)))
        }
    };
    Ok((text.to_owned(), matches))
}

/// Returns the words of `text` if it is a single simple command.
pub(super) fn single_command_words(text: &str) -> Result<Vec<ScriptWord>, String> {
    if let Some(words) = split_plain_words(text) {
        return Ok(words);
    }
    let shell::ScriptAnalysis { commands, undecided, defined, assigned, .. } = shell::analyse_script(text);
    if let Some(undecided) = undecided.first() {
        return Err(format!("{}; write a list of words instead", undecided.why));
    }
    // The commands that a wrapper starts are listed too, but are not part of the text.
    let mut direct = commands.into_iter().filter(|command| command.wrappers.is_empty());
    let plain = "it must be one plain command, without variables, pipes and redirections; or a list of words";
    match (direct.next(), direct.next()) {
        (Some(one), None)
            if defined.is_empty()
                && assigned.is_empty()
                && one.variables.is_empty()
                && one.redirects.is_empty()
                && one.words.iter().all(|word| matches!(word, ScriptWord::Literal(_))) =>
        {
            Ok(one.words)
        }
        (Some(_) | None, Some(_) | None) => Err(plain.to_owned()),
    }
}

/// Words that are reserved where a command begins.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done",
    "in", "function", "time", "coproc",
];

/// Splits a text without shell syntax into words. Most examples are of this kind, and for a thousand rules this takes a
/// tenth of the time.
fn split_plain_words(text: &str) -> Option<Vec<ScriptWord>> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_./:@%+,".contains(&byte);
    if !text.bytes().all(is_plain) {
        return None;
    }
    let words: Vec<ScriptWord> = text
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| ScriptWord::Literal(word.to_owned()))
        .collect();
    match words.first() {
        Some(ScriptWord::Literal(first)) if !RESERVED.contains(&first.as_str()) => Some(words),
        Some(_) | None => None,
    }
}

/// Returns the host and the port, by default the HTTPS port.
fn parse_host_port(text: &str) -> Result<(&str, u16), String> {
    const HTTPS_PORT: u16 = 443;
    let fault = |fault: HostPatternFault| fault.to_string();
    text.parse::<HostPattern>().map_err(fault)?;
    let split = text.rsplit_once(':').filter(|(name, _)| !name.contains(':') || name.ends_with(']'));
    let (name, port) = split.unwrap_or((text, ""));
    Ok((name, port.parse().unwrap_or(HTTPS_PORT)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::*;

    proptest! {
        #[test]
        fn what_is_split_is_what_a_shell_would_run(text in "[a-z \\-_./:@%+,1]{0,20}") {
            let analysis = shell::analyse_script(&text);
            if let (Some(words), [one]) = (split_plain_words(&text), &analysis.commands[..]) {
                assert_eq!(words, one.words, "{text}");
            }
        }
    }
}
