//! Loose matching: finds ask- and forbid-rules that a command may violate although its words differ from the pattern.

use super::{PolicyRule, RuleDecision, RuleSet, RuleSubject};
use crate::command_analysis::GIT_VALUED;
use crate::programs::program_name;
use crate::shell::ScriptWord;

/// Programs whose operands are all targets, in any order.
const TARGET_PROGRAMS: &[&str] =
    &["gmake", "gradle", "gradlew", "just", "make", "mvn", "mvnw", "ninja", "rake", "task"];
/// Synonyms of `npm run`.
const NPM_RUN_NAMES: &[&str] = &["run", "run-script", "rum", "urn"];

/// Returns the ask- and forbid-rules that the command `words` may be about. The program must have the same name in any
/// directory. The other words must occur in order, with only options, their values and assignments between them.
pub(super) fn likely_rules<'a>(rules: &'a RuleSet, words: &[ScriptWord]) -> Vec<&'a PolicyRule> {
    let Some((ScriptWord::Literal(program), rest)) = words.split_first() else { return Vec::new() };
    let program = program_name(program);
    let is_likely = |rule: &&PolicyRule| match &rule.subject {
        RuleSubject::Command { pattern, exact } if rule.decision != RuleDecision::Allow => {
            let Some((names, after)) = pattern.split_first() else { return false };
            let named = names.iter().any(|name| program_name(name) == program);
            named
                && match_in_order(program, after, rest)
                    .is_some_and(|left| !exact || left.iter().all(is_skippable))
        }
        RuleSubject::Command { .. }
        | RuleSubject::Path { .. }
        | RuleSubject::Tool { .. }
        | RuleSubject::Host { .. } => false,
    };
    rules.rules.iter().filter(is_likely).collect()
}

/// Returns the words after the last word of `pattern`, if its words occur in order.
fn match_in_order<'w>(
    program: &str,
    pattern: &[Vec<String>],
    words: &'w [ScriptWord],
) -> Option<&'w [ScriptWord]> {
    let mut rest = words;
    for names in pattern {
        let mut option = false;
        // ends: each round takes a word
        loop {
            let (first, after) = rest.split_first()?;
            rest = after;
            match first {
                ScriptWord::Literal(word) if is_one_of(program, names, word) => break,
                // The unknown word may be the value of an option, or all remaining words of the pattern.
                ScriptWord::Unknown(_) if !option && !is_skippable(first) || after.is_empty() => {
                    return Some(after);
                }
                _ if !option && !is_skippable(first) && !TARGET_PROGRAMS.contains(&program) => return None,
                _ => option = may_take_value(program, first),
            }
        }
    }
    Some(rest)
}

fn is_one_of(program: &str, names: &[String], word: &str) -> bool {
    let npm = matches!(program, "npm" | "pnpm") && NPM_RUN_NAMES.contains(&word);
    names.iter().any(|name| name == word || npm && NPM_RUN_NAMES.contains(&name.as_str()))
}

/// Returns true if a word does not identify the command: an option, an assignment, or a separator of `parallel`.
fn is_skippable(word: &ScriptWord) -> bool {
    let (ScriptWord::Literal(text) | ScriptWord::Unknown(text)) = word;
    text.starts_with(['-', '+']) || text.contains('=') || text.starts_with(":::")
}

/// Returns true if the next word may be the value of this one; only for git this is certain.
fn may_take_value(program: &str, word: &ScriptWord) -> bool {
    let (ScriptWord::Literal(text) | ScriptWord::Unknown(text)) = word;
    if program == "git" {
        return GIT_VALUED.contains(&text.as_str());
    }
    text.starts_with('-') && !text.contains('=') && text != "--"
}
