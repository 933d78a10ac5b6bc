//! Lists the likely commands behind an unknown command name: a variable, braces, or the arguments of a function.
//!
//! The name stays undecided. The likely commands are listed too, so that rules and known dangers apply to them.

use crate::shell::command_collector::{CommandCall, CommandCollector, CommandContext, StartedBy};
use crate::shell::syntax_tree::{ParsedWord, VariableFact, WordSpread};
use crate::shell::{MAX_COMMANDS, ScriptCommand, ScriptWord};

/// Maximum number of values tried for a variable.
const MAX_VALUES: usize = 4;
/// Positional parameters that, as a command name, run a function's arguments.
const FORWARDED_PARAMETERS: &[&str] = &["$@", "$*", "$1", "${@}", "${*}", "${1}"];

impl CommandCollector {
    /// Lists the likely commands of a call with an unknown name.
    pub(crate) fn list_likely_commands(&mut self, call: &CommandCall, context: &CommandContext) {
        // Leaves room for commands that certainly run.
        if self.analysis.commands.len() > MAX_COMMANDS / 2 {
            return;
        }
        let written = call.words[0].text();
        let bare = written.trim_matches('"');
        let mut likely = Vec::new();
        if let Some(name) = looked_up_program(bare) {
            likely.push(vec![name.to_owned()]);
        } else if matches!(bare.trim_matches(['$', '{', '}']).split(':').next(), Some("SHELL" | "BASH" | "0"))
        {
            likely.push(vec!["bash".to_owned()]);
        } else if let Some(list) = bare.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            likely.push(list.split(',').map(str::to_owned).collect());
        } else if let Some(name) = bare.strip_prefix('$') {
            let name = name.trim_matches(['{', '}']).trim_end_matches("[@]");
            let printed: Vec<ParsedWord> = self
                .facts
                .iter()
                .rev()
                .filter_map(|fact| assigned_substitution(fact, name))
                .take(1)
                .collect();
            for term in printed {
                let words = [vec![term], call.words[1..].to_vec()].concat();
                self.push_command(
                    &CommandCall { words, more_args: call.more_args, started_by: StartedBy::Program },
                    &context.inside_wrapper(bare),
                );
            }
            likely.extend(
                self.facts
                    .iter()
                    .rev()
                    .filter_map(|fact| assigned_words(fact, name, written))
                    .take(MAX_VALUES),
            );
        }
        for first in likely.into_iter().filter(|words| words.iter().all(|word| is_plain(word))) {
            let first = first.iter().map(|word| ParsedWord::literal(word));
            let words: Vec<ParsedWord> = first.chain(call.words[1..].iter().cloned()).collect();
            if !words.is_empty() {
                let likely = CommandCall { words, more_args: call.more_args, started_by: StartedBy::Shell };
                self.conditionally(|collector| {
                    collector.collect_call(&likely, &context.inside_wrapper(bare));
                });
            }
        }
    }

    /// Returns the likely values of a word that is one variable: the texts assigned to it.
    pub(crate) fn likely_values(&self, written: &str) -> Vec<String> {
        let Some(name) = written.trim_matches('"').strip_prefix('$') else { return Vec::new() };
        let name = name.trim_matches(['{', '}']);
        let value = |fact: &VariableFact| match fact {
            VariableFact::Set(set, ScriptWord::Literal(text), _) if set == name => Some(text.clone()),
            _ => None,
        };
        self.facts.iter().rev().filter_map(value).take(MAX_VALUES).collect()
    }

    /// Lists the likely commands behind aliases where their names are used.
    pub(crate) fn expand_aliases(&mut self) {
        let mut expanded = Vec::new();
        for (name, value) in &self.aliases {
            let is_use = |command: &&ScriptCommand| matches!(&command.words[0], ScriptWord::Literal(word) if word == name);
            for call in self.analysis.commands.iter().filter(is_use) {
                let value = value.split_whitespace().map(|word| ScriptWord::Literal(word.to_owned()));
                let words: Vec<ScriptWord> = value.chain(call.words[1..].iter().cloned()).collect();
                let wrappers = call.wrappers.iter().chain([name]).cloned().collect();
                if !words.is_empty() {
                    expanded.push(ScriptCommand { words, wrappers, built_in: false, ..call.clone() });
                }
            }
        }
        expanded.truncate(MAX_COMMANDS.saturating_sub(self.analysis.commands.len()));
        self.analysis.commands.extend(expanded);
    }

    /// Lists the commands passed to functions that run their own arguments.
    pub(crate) fn list_forwarded_commands(&mut self) {
        let passes = |command: &ScriptCommand| match &command.words[0] {
            ScriptWord::Unknown(text) => FORWARDED_PARAMETERS.contains(&text.trim_matches('"')),
            ScriptWord::Literal(_) => false,
        };
        let mut passed = Vec::new();
        for (name, range) in &self.functions {
            if !self.analysis.commands[range.clone()].iter().any(passes) {
                continue;
            }
            let is_call = |command: &&ScriptCommand| matches!(&command.words[0], ScriptWord::Literal(word) if word == name);
            for call in self.analysis.commands.iter().filter(is_call).filter(|call| call.words.len() > 1) {
                let wrappers = call.wrappers.iter().chain([name]).cloned().collect();
                passed.push(ScriptCommand {
                    words: call.words[1..].to_vec(),
                    wrappers,
                    built_in: false,
                    ..call.clone()
                });
            }
        }
        passed.truncate(MAX_COMMANDS.saturating_sub(self.analysis.commands.len()));
        self.analysis.commands.extend(passed);
    }
}

/// Returns the program that a substitution looks up: `$(which rm)`.
fn looked_up_program(written: &str) -> Option<&str> {
    let inside = written.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let inside = inside.or_else(|| written.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')))?;
    let asks = ["which ", "command -v ", "type -p ", "type -P "];
    asks.iter().find_map(|asks| inside.trim().strip_prefix(asks)).map(str::trim)
}

/// Returns the words of the variable `name` as it is `written`, if `fact` assigns it.
fn assigned_words(fact: &VariableFact, name: &str, written: &str) -> Option<Vec<String>> {
    let VariableFact::Set(_, word, _) = fact else { return None };
    let text = match word {
        ScriptWord::Literal(text) if written.starts_with('"') => {
            return assigns(fact, name).then(|| vec![text.clone()]);
        }
        ScriptWord::Literal(text) => text.as_str(),
        ScriptWord::Unknown(text) => text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'))?,
    };
    assigns(fact, name).then(|| text.split_whitespace().map(str::to_owned).collect())
}

/// Returns the substitution that `fact` assigns to the variable `name`.
fn assigned_substitution(fact: &VariableFact, name: &str) -> Option<ParsedWord> {
    let VariableFact::Set(_, ScriptWord::Unknown(text), _) = fact else { return None };
    (assigns(fact, name) && text.trim_matches('"').starts_with("$("))
        .then(|| ParsedWord::unknown(text, WordSpread::Any))
}

fn assigns(fact: &VariableFact, name: &str) -> bool {
    matches!(fact, VariableFact::Set(set, ..) if set == name)
}

/// Returns true if `word` contains no shell metacharacter.
fn is_plain(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter))
}
