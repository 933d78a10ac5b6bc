//! Which rules that ask or forbid may be meant by a command though its words do not stand as they are written there.

use super::{Decision, On, Rule, Rules};
use crate::account::GIT_VALUED;
use crate::shell::Word;

/// Programs all of whose operands are things to do, in any order.
const TARGETS: &[&str] =
    &["gmake", "gradle", "gradlew", "just", "make", "mvn", "mvnw", "ninja", "rake", "task"];
/// Other names of `npm run`.
const RUN: &[&str] = &["run", "run-script", "rum", "urn"];

/// The rules that do not allow, and that the command `words` may be about: its program has the same name, wherever it lies,
/// and the other words stand in their order with only options, their values and assignments between them.
pub(super) fn likely<'a>(rules: &'a Rules, words: &[Word]) -> Vec<&'a Rule> {
    let Some((Word::Literal(program), rest)) = words.split_first() else { return Vec::new() };
    let program = last_part(program);
    let is_likely = |rule: &&Rule| match &rule.on {
        On::Command { pattern, exact } if rule.decision != Decision::Allow => {
            let Some((names, after)) = pattern.split_first() else { return false };
            let named = names.iter().any(|name| last_part(name) == program);
            named
                && stand_in_order(program, after, rest).is_some_and(|left| !exact || left.iter().all(between))
        }
        On::Command { .. } | On::Path { .. } | On::Tool { .. } | On::Host { .. } => false,
    };
    rules.rules.iter().filter(is_likely).collect()
}

/// What follows the last word of `pattern`, if its words stand in their order.
fn stand_in_order<'w>(program: &str, pattern: &[Vec<String>], words: &'w [Word]) -> Option<&'w [Word]> {
    let mut rest = words;
    for names in pattern {
        let mut option = false;
        // ends: each round takes a word
        loop {
            let (first, after) = rest.split_first()?;
            rest = after;
            match first {
                Word::Literal(word) if is_one_of(program, names, word) => break,
                // It may be the value of an option, or all that the pattern still asks for.
                Word::Unknown(_) if !option && !between(first) || after.is_empty() => return Some(after),
                _ if !option && !between(first) && !TARGETS.contains(&program) => return None,
                _ => option = takes_more(program, first),
            }
        }
    }
    Some(rest)
}

fn is_one_of(program: &str, names: &[String], word: &str) -> bool {
    let npm = matches!(program, "npm" | "pnpm") && RUN.contains(&word);
    names.iter().any(|name| name == word || npm && RUN.contains(&name.as_str()))
}

/// Whether a word says how something is done and not what: an option, an assignment, or what `parallel` puts between.
fn between(word: &Word) -> bool {
    let (Word::Literal(text) | Word::Unknown(text)) = word;
    text.starts_with(['-', '+']) || text.contains('=') || text.starts_with(":::")
}

/// Whether the next word may be the value of this one: only of git it is known.
fn takes_more(program: &str, word: &Word) -> bool {
    let (Word::Literal(text) | Word::Unknown(text)) = word;
    if program == "git" {
        return GIT_VALUED.contains(&text.as_str());
    }
    text.starts_with('-') && !text.contains('=') && text != "--"
}

fn last_part(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
