//! Warnings about rules that allow more than they seem to.

use super::{PolicyRule, RuleDecision, RulePath, RuleSet, RuleSubject};
use crate::programs::is_unknown_program;
use crate::{CommandRisk, classify_command, is_interpreter, rule_prefix};

/// Maximum number of examined combinations of alternatives.
const MAX_COMBINATIONS: usize = 64;

/// A warning about a rule, which is in force nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleWarning<'a> {
    /// The rule.
    pub rule: &'a PolicyRule,
    /// The unexpected effect of the rule.
    pub why: String,
}

pub(super) fn find_warnings(rules: &RuleSet) -> Vec<RuleWarning<'_>> {
    rules.iter().filter_map(|rule| Some(RuleWarning { rule, why: warning_for(rule)? })).collect()
}

fn warning_for(rule: &PolicyRule) -> Option<String> {
    match &rule.subject {
        RuleSubject::Command { pattern, exact } => {
            let blank =
                pattern.first().into_iter().flatten().find(|word| word.contains(' ') && !word.contains('/'));
            if let Some(word) = blank {
                let words = word.split(' ').map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
                return Some(format!("no program is called `{word}`; a pattern lists words: `[{words}]`"));
            }
            if rule.decision != RuleDecision::Allow {
                return None;
            }
            let opened =
                combinations(pattern).into_iter().find_map(|words| unexpected_allowance(&words, *exact));
            match (rule.unsandboxed, opened) {
                (false, opened) => opened,
                (true, Some(opened)) => Some(format!("outside the sandbox, {opened}")),
                (true, None) => {
                    let words: Vec<String> = pattern.iter().map(|names| names.join("|")).collect();
                    let shown = words.join(" ");
                    Some(format!(
                        "`{shown}` leaves the sandbox (`unsandboxed = true`), and may do whatever you may"
                    ))
                }
            }
        }
        RuleSubject::Path { paths, .. } if rule.decision == RuleDecision::Allow => {
            let whole = |path: &&RulePath| match path {
                RulePath::Absolute(path) => path.parent().is_none(),
                RulePath::Home(path) => path.as_os_str().is_empty(),
                RulePath::Glob(_) => false,
            };
            let text = paths.iter().find(whole)?.to_text();
            Some(format!("`{text}` is everything that lies below it, your own configuration too"))
        }
        RuleSubject::Tool { names } if rule.decision == RuleDecision::Allow => {
            let all = names.iter().find(|name| name.bytes().all(|byte| byte == b'*'))?;
            Some(format!("`{all}` is every tool, also those that are added later"))
        }
        RuleSubject::Path { .. } | RuleSubject::Tool { .. } | RuleSubject::Host { .. } => None,
    }
}

/// Returns what a rule for commands that begin with `words` allows beyond its apparent meaning.
fn unexpected_allowance(words: &[&str], exact: bool) -> Option<String> {
    let shown = words.join(" ");
    if let CommandRisk::Dangerous(why) = classify_command(words) {
        return Some(format!("it allows `{shown}` without a question: {why}"));
    }
    let (program, rest) = words.split_first()?;
    // A file or a sub-command after the program makes the rule specific.
    let only_options = rest.iter().all(|word| word.starts_with('-'));
    if exact || rule_prefix(words).is_some() || is_unknown_program(program) {
        return None;
    }
    if is_interpreter(program) {
        let why = "runs any program that is given to it, so the rule allows everything";
        return only_options.then(|| format!("`{shown}` {why}; name the file, or say `exact = true`"));
    }
    let why = "can do very different things, or run any other command, by the words that follow";
    (only_options || rest.len() == 1)
        .then(|| format!("`{shown}` {why}; name more of them, or say `exact = true`"))
}

/// Returns the combinations of alternatives, one per position, up to a limit.
fn combinations(pattern: &[Vec<String>]) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for names in pattern {
        let longer = all.iter().flat_map(|words| {
            names.iter().map(move |name| words.iter().copied().chain([name.as_str()]).collect::<Vec<_>>())
        });
        all = longer.take(MAX_COMBINATIONS).collect();
    }
    all
}
