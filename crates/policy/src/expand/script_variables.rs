//! Collects the values that a script gives to its variables, without running it.

use std::collections::HashMap;

use super::word_expander::{WordExpander, printed_output, split_array_words};
use super::{MAX_VALUE_BYTES, UnknownExpansion, expand_words};
use crate::programs::{ShellFamily, program_name};
use crate::shell::{ScriptCommand, ScriptRedirect, ScriptWord, literal_text, word_text};

/// Maximum number of values kept for one variable.
const MAX_VALUES: usize = 8;

/// The value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum VariableValue {
    Text(String),
    List(Vec<String>),
}

/// The possible values of variables and positional parameters. All values assigned anywhere count, in any order.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScriptVariables {
    values: HashMap<String, Vec<VariableValue>>,
    /// A `shift` drops positional parameters from the front.
    has_shift: bool,
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
        values.add_value("IFS", VariableValue::Text(" \t\n".to_owned()));
        values.has_shift = commands.iter().any(|command| literal_text(&command.words[0]) == Some("shift"));
        // A positional parameter may be set from a variable, and a variable from a positional parameter.
        for _ in 0..2 {
            let own = commands.iter().flat_map(|command| &command.variables);
            for (name, word) in assigned.iter().chain(own) {
                values.assign(name, word);
            }
            for command in commands {
                values.collect_from_command(command, defined);
            }
        }
        values
    }

    /// Returns the values of `name`.
    pub(super) fn values_of(&self, name: &str) -> impl Iterator<Item = &VariableValue> {
        self.values.get(name).into_iter().flatten()
    }

    /// Returns the values for a nested word, or `None` beyond the depth `most`.
    pub(super) fn one_level_deeper(&self, most: usize) -> Option<Self> {
        (self.depth < most).then(|| Self { depth: self.depth + 1, ..self.clone() })
    }

    fn add_value(&mut self, name: &str, value: VariableValue) {
        let length = match &value {
            VariableValue::Text(text) => text.len(),
            VariableValue::List(items) => items.iter().map(|item| item.len() + 1).sum(),
        };
        if length > MAX_VALUE_BYTES {
            return;
        }
        let values = self.values.entry(name.to_owned()).or_default();
        if values.len() < MAX_VALUES && !values.contains(&value) {
            values.push(value);
        }
    }

    fn assign(&mut self, name: &str, word: &ScriptWord) {
        let given = match word {
            ScriptWord::Literal(text) => vec![VariableValue::Text(text.clone())],
            ScriptWord::Unknown(raw) => self.values_of_source(raw),
        };
        for value in given {
            // The assignment may be `+=`, which appends.
            let before = self.values_of(name).next().cloned().filter(|before| *before != value);
            if let Some(before) = before {
                self.add_value(name, concatenate(&before, &value));
            }
            self.add_value(name, value);
        }
    }

    /// Returns the possible values of the source text `raw`.
    fn values_of_source(&self, raw: &str) -> Vec<VariableValue> {
        if let Some(list) = raw.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            let items: Vec<ScriptWord> = split_array_words(list)
                .iter()
                .map(|item| ScriptWord::Unknown(without_subscript(word_text(item))))
                .collect();
            let expansions = expand_words(&items, self, UnknownExpansion::Kept);
            return expansions.into_iter().take(MAX_VALUES).map(VariableValue::List).collect();
        }
        let texts = WordExpander::new(raw, self, UnknownExpansion::Kept).expand_to_texts();
        // File names and the output of commands are unknown.
        let by_builtin = ["getopts", "mapfile", "printf", "read", "readarray"].contains(&raw);
        let known = |text: &String| !text.contains(['*', '?', '`', '$', '[']) && !by_builtin;
        texts.into_iter().filter(known).map(VariableValue::Text).collect()
    }

    /// Collects the values that a command gives to variables or to a function.
    fn collect_from_command(&mut self, command: &ScriptCommand, defined: &[String]) {
        let Some(name) = literal_text(&command.words[0]) else { return };
        let args = &command.words[1..];
        if defined.iter().any(|function| function == name) {
            return self.collect_positional(args);
        }
        let is = |word: &ScriptWord, wanted: &str| literal_text(word) == Some(wanted);
        match (program_name(name), args) {
            ("set", [first, rest @ ..]) if is(first, "--") => self.collect_positional(rest),
            ("set", [first, ..]) if !word_text(first).starts_with(['-', '+']) => {
                self.collect_positional(args);
            }
            ("printf", [option, variable, rest @ ..]) if is(option, "-v") => {
                let words: Vec<ScriptWord> =
                    [ScriptWord::Literal("printf".to_owned())].iter().chain(rest).cloned().collect();
                for words in expand_words(&words, self, UnknownExpansion::Empty) {
                    if let Some(text) = printed_output(&words) {
                        self.add_value(self::word_text(variable), VariableValue::Text(text));
                    }
                }
            }
            ("read" | "mapfile" | "readarray", _) => self.collect_read(command),
            (shell, _) if ShellFamily::of(shell).is_some() => {
                let script = args.iter().position(|word| {
                    word_text(word)
                        .strip_prefix('-')
                        .is_some_and(|it| !it.starts_with('-') && it.contains('c'))
                });
                let behind = script.and_then(|at| args.get(at + 2..)).unwrap_or_default();
                if let Some((zero, rest)) = behind.split_first() {
                    for words in expand_words(std::slice::from_ref(zero), self, UnknownExpansion::Empty) {
                        self.add_value("0", VariableValue::Text(words.join(" ")));
                    }
                    self.collect_positional(rest);
                }
            }
            _ => {}
        }
    }

    /// Collects the arguments of a function or a script.
    fn collect_positional(&mut self, args: &[ScriptWord]) {
        for words in expand_words(args, self, UnknownExpansion::Kept).into_iter().take(MAX_VALUES) {
            for (at, word) in words.iter().enumerate().take(9) {
                self.add_value(&(at + 1).to_string(), VariableValue::Text(word.clone()));
            }
            let shifted = if self.has_shift { words.len() } else { 1 };
            for at in 0..shifted.min(MAX_VALUES / 2) {
                self.add_value("@", VariableValue::List(words[at..].to_vec()));
                self.add_value("*", VariableValue::List(words[at..].to_vec()));
            }
        }
    }

    /// Collects the text that the script itself feeds to `read`.
    fn collect_read(&mut self, command: &ScriptCommand) {
        let given = command.redirects.iter().find_map(|redirect| match redirect {
            ScriptRedirect::Text(ScriptWord::Literal(text)) => Some(text.clone()),
            _ => None,
        });
        let Some(given) = given else { return };
        let parts: Vec<String> = given.split_whitespace().map(str::to_owned).collect();
        for name in command.words[1..].iter().map(word_text).filter(|word| !word.starts_with('-')) {
            self.add_value(name, VariableValue::Text(given.trim().to_owned()));
            self.add_value(name, VariableValue::List(parts.clone()));
            parts.iter().for_each(|part| self.add_value(name, VariableValue::Text(part.clone())));
        }
    }
}

/// Removes the subscript of an array element: `[0]=x`.
fn without_subscript(raw: &str) -> String {
    let rest = raw.strip_prefix('[').and_then(|rest| rest.split_once("]=")).map(|(_, value)| value);
    rest.unwrap_or(raw).to_owned()
}

/// Concatenates two values.
fn concatenate(before: &VariableValue, after: &VariableValue) -> VariableValue {
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
