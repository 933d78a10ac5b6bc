//! Collects the values that a script gives to its variables, without running it.

use std::collections::HashMap;

use super::word_expander::{WordExpander, printed_output, split_array_words};
use super::{LONGEST, UnknownExpansion, expand_words};
use crate::command_analysis::{literal_text, word_text};
use crate::programs::program_name;
use crate::shell::{ScriptCommand, ScriptRedirect, ScriptWord};

/// Maximum number of values kept for one variable.
const VALUES: usize = 8;
/// Shells that pass the arguments after a script to it.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// The value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum VariableValue {
    Text(String),
    List(Vec<String>),
}

/// The possible values of variables and positional parameters. All values assigned anywhere count, in any order.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScriptVariables {
    names: HashMap<String, Vec<VariableValue>>,
    /// A `shift` drops positional parameters from the front.
    shifts: bool,
    depth: usize,
}

impl ScriptVariables {
    /// Collects the values of a script that runs `commands`, defines these functions and sets these variables.
    pub(crate) fn from_script(
        commands: &[ScriptCommand],
        defined: &[String],
        assigned: &[(String, ScriptWord)],
    ) -> Self {
        let mut values = Self::default();
        values.add("IFS", VariableValue::Text(" \t\n".to_owned()));
        values.shifts = commands.iter().any(|command| literal_text(&command.words[0]) == Some("shift"));
        // A positional parameter may be set from a variable, and a variable from a positional parameter.
        for _ in 0..2 {
            let own = commands.iter().flat_map(|command| &command.variables);
            for (name, word) in assigned.iter().chain(own) {
                values.assign(name, word);
            }
            for command in commands {
                values.by_command(command, defined);
            }
        }
        values
    }

    /// Returns the values of `name`.
    pub(super) fn values_of(&self, name: &str) -> impl Iterator<Item = &VariableValue> {
        self.names.get(name).into_iter().flatten()
    }

    /// Returns the values for a nested word, or `None` beyond the depth `most`.
    pub(super) fn one_level_deeper(&self, most: usize) -> Option<Self> {
        (self.depth < most).then(|| Self { depth: self.depth + 1, ..self.clone() })
    }

    fn add(&mut self, name: &str, value: VariableValue) {
        let length = match &value {
            VariableValue::Text(text) => text.len(),
            VariableValue::List(items) => items.iter().map(|item| item.len() + 1).sum(),
        };
        if length > LONGEST {
            return;
        }
        let values = self.names.entry(name.to_owned()).or_default();
        if values.len() < VALUES && !values.contains(&value) {
            values.push(value);
        }
    }

    fn assign(&mut self, name: &str, word: &ScriptWord) {
        let given = match word {
            ScriptWord::Literal(text) => vec![VariableValue::Text(text.clone())],
            ScriptWord::Unknown(raw) => self.unknown(raw),
        };
        for value in given {
            // The assignment may be `+=`, which appends.
            let before = self.values_of(name).next().cloned().filter(|before| *before != value);
            if let Some(before) = before {
                self.add(name, joined(&before, &value));
            }
            self.add(name, value);
        }
    }

    /// Returns the possible values of the source text `raw`.
    fn unknown(&self, raw: &str) -> Vec<VariableValue> {
        if let Some(list) = raw.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            let items: Vec<ScriptWord> = split_array_words(list)
                .iter()
                .map(|item| ScriptWord::Unknown(unindexed(word_text(item))))
                .collect();
            let ways = expand_words(&items, self, UnknownExpansion::Kept);
            return ways.into_iter().take(VALUES).map(VariableValue::List).collect();
        }
        let texts = WordExpander::new(raw, self, UnknownExpansion::Kept).expand_to_texts();
        // File names and the output of commands are unknown.
        let by_builtin = ["getopts", "mapfile", "printf", "read", "readarray"].contains(&raw);
        let known = |text: &String| !text.contains(['*', '?', '`', '$', '[']) && !by_builtin;
        texts.into_iter().filter(known).map(VariableValue::Text).collect()
    }

    /// Collects the values that a command gives to variables or to a function.
    fn by_command(&mut self, command: &ScriptCommand, defined: &[String]) {
        let Some(name) = literal_text(&command.words[0]) else { return };
        let args = &command.words[1..];
        if defined.iter().any(|function| function == name) {
            return self.positional(args);
        }
        let is = |word: &ScriptWord, wanted: &str| literal_text(word) == Some(wanted);
        match (program_name(name), args) {
            ("set", [first, rest @ ..]) if is(first, "--") => self.positional(rest),
            ("set", [first, ..]) if !word_text(first).starts_with(['-', '+']) => self.positional(args),
            ("printf", [option, variable, rest @ ..]) if is(option, "-v") => {
                let words: Vec<ScriptWord> =
                    [ScriptWord::Literal("printf".to_owned())].iter().chain(rest).cloned().collect();
                for words in expand_words(&words, self, UnknownExpansion::Empty) {
                    if let Some(text) = printed_output(&words) {
                        self.add(self::word_text(variable), VariableValue::Text(text));
                    }
                }
            }
            ("read" | "mapfile" | "readarray", _) => self.read(command),
            (shell, _) if SHELLS.contains(&shell) => {
                let script = args.iter().position(|word| {
                    word_text(word)
                        .strip_prefix('-')
                        .is_some_and(|it| !it.starts_with('-') && it.contains('c'))
                });
                let behind = script.and_then(|at| args.get(at + 2..)).unwrap_or_default();
                if let Some((zero, rest)) = behind.split_first() {
                    for words in expand_words(std::slice::from_ref(zero), self, UnknownExpansion::Empty) {
                        self.add("0", VariableValue::Text(words.join(" ")));
                    }
                    self.positional(rest);
                }
            }
            _ => {}
        }
    }

    /// Collects the arguments of a function or a script.
    fn positional(&mut self, args: &[ScriptWord]) {
        for words in expand_words(args, self, UnknownExpansion::Kept).into_iter().take(VALUES) {
            for (at, word) in words.iter().enumerate().take(9) {
                self.add(&(at + 1).to_string(), VariableValue::Text(word.clone()));
            }
            let shifted = if self.shifts { words.len() } else { 1 };
            for at in 0..shifted.min(VALUES / 2) {
                self.add("@", VariableValue::List(words[at..].to_vec()));
                self.add("*", VariableValue::List(words[at..].to_vec()));
            }
        }
    }

    /// Collects the text that the script itself feeds to `read`.
    fn read(&mut self, command: &ScriptCommand) {
        let given = command.redirects.iter().find_map(|redirect| match redirect {
            ScriptRedirect::Text(ScriptWord::Literal(text)) => Some(text.clone()),
            _ => None,
        });
        let Some(given) = given else { return };
        let parts: Vec<String> = given.split_whitespace().map(str::to_owned).collect();
        for name in command.words[1..].iter().map(word_text).filter(|word| !word.starts_with('-')) {
            self.add(name, VariableValue::Text(given.trim().to_owned()));
            self.add(name, VariableValue::List(parts.clone()));
            parts.iter().for_each(|part| self.add(name, VariableValue::Text(part.clone())));
        }
    }
}

/// Removes the subscript of an array element: `[0]=x`.
fn unindexed(raw: &str) -> String {
    let rest = raw.strip_prefix('[').and_then(|rest| rest.split_once("]=")).map(|(_, value)| value);
    rest.unwrap_or(raw).to_owned()
}

/// Concatenates two values.
fn joined(before: &VariableValue, after: &VariableValue) -> VariableValue {
    match (before, after) {
        (VariableValue::Text(before), VariableValue::Text(after)) => {
            VariableValue::Text(format!("{before}{after}"))
        }
        (VariableValue::List(before), VariableValue::List(after)) => {
            VariableValue::List([before.clone(), after.clone()].concat())
        }
        (VariableValue::List(before), VariableValue::Text(after)) => {
            VariableValue::List([before.clone(), vec![after.clone()]].concat())
        }
        (VariableValue::Text(before), VariableValue::List(after)) => {
            VariableValue::List([vec![before.clone()], after.clone()].concat())
        }
    }
}
