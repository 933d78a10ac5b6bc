//! Records the assignments and uses of variables in a script, and checks that no used value can run a command.

use std::collections::HashMap;

use crate::shell::command_collector::CommandCollector;
use crate::shell::syntax_tree::{ParsedWord, ValueKind, VariableFact};
use crate::shell::{MAX_COMMANDS, ScriptWord};

/// Variables that change how commands are found, parsed or run, for any value.
const COMMAND_CHANGING_NAMES: &[&str] = &[
    "CDPATH", "COMP_WORDBREAKS", "ENV", "EXECIGNORE", "FPATH", "FUNCNEST", "GLOBIGNORE", "HISTCONTROL",
    "IFS", "NULLCMD", "PATH", "POSIXLY_CORRECT", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4",
    "READNULLCMD", "SHELL", "SHELLOPTS", "TMPPREFIX", "ZDOTDIR",
];
/// Prefixes of the names of such variables.
const COMMAND_CHANGING_PREFIXES: &[&str] = &["BASH", "DYLD_", "LD_"];
/// Variables that the shell keeps numeric.
const NUMERIC_VARIABLES: &[&str] = &[
    "BASHPID", "EPOCHSECONDS", "EUID", "HISTCMD", "LINENO", "OPTIND", "PPID", "RANDOM", "SECONDS", "SRANDOM",
    "UID",
];

impl CommandCollector {
    /// Records an assignment for later commands.
    pub(crate) fn assign(&mut self, name: &str, word: &ScriptWord, kind: ValueKind) {
        self.set_variable(name, word, kind);
        let set = (name.to_owned(), word.clone());
        if self.analysis.assigned.len() < MAX_COMMANDS {
            self.analysis.assigned.push(set);
        } else {
            self.add_doubt(name, "it sets too many variables");
        }
    }

    /// Records an assignment, also one for a single command.
    pub(crate) fn set_variable(&mut self, name: &str, word: &ScriptWord, kind: ValueKind) {
        // The shell evaluates every value assigned to these variables.
        let evaluated = NUMERIC_VARIABLES.contains(&name) && kind != ValueKind::Number;
        if evaluated || changes_commands(name, word) {
            self.add_doubt(name, "this variable changes how commands are found or run");
        }
        // These variables are read-only.
        if matches!(name, "UID" | "EUID" | "PPID") {
            self.note_possible_error();
        }
        if matches!(word, ScriptWord::Unknown(text) if text.starts_with('(') && !text.starts_with("((")) {
            self.note_array(name);
        }
        self.facts.push(VariableFact::Set(name.to_owned(), word.clone(), kind));
    }

    /// Records an assignment that may not take effect.
    pub(crate) fn set_variable_conditionally(&mut self, name: &str, word: &ScriptWord, kind: ValueKind) {
        self.conditionally(|collector| collector.set_variable(name, word, kind));
    }

    /// Records a possible error, after which the rest of the line does not run.
    pub(crate) fn note_possible_error(&mut self) {
        self.facts.push(VariableFact::MayFail);
    }

    /// Records that a variable must have a value of this kind.
    pub(crate) fn require_kind(&mut self, name: &str, kind: ValueKind) {
        self.facts.push(VariableFact::Use(name.to_owned(), kind));
    }

    /// Accepts a word that is known, or consists of variables that must be plain: then it is one word and not an
    /// option.
    pub(crate) fn require_plain(&mut self, term: &ParsedWord) -> bool {
        let Some(names) = &term.variables else { return term.kind == ValueKind::Number };
        for name in names {
            self.require_kind(name, ValueKind::Plain);
        }
        true
    }

    /// Records that a variable may be an array.
    pub(crate) fn note_array(&mut self, name: &str) {
        self.arrays.insert(name.to_owned());
    }

    /// Records a variable declared with an unknown value, which must not be an array.
    pub(crate) fn note_declared(&mut self, name: &str) {
        self.declared.push(name.to_owned());
    }

    pub(crate) fn note_definition(&mut self, name: &str) {
        self.analysis.defined.push(name.to_owned());
    }

    /// Checks that each used variable is set before its use, and has the required kind in every assignment.
    pub(super) fn check_facts(&mut self) {
        let facts = std::mem::take(&mut self.facts);
        let mut worst: HashMap<&str, ValueKind> = HashMap::new();
        for fact in &facts {
            if let VariableFact::Set(name, _, kind) = fact {
                let entry = worst.entry(name).or_insert(*kind);
                *entry = (*entry).max(*kind);
            }
        }
        let mut set: Vec<&str> = NUMERIC_VARIABLES.to_vec();
        let mut begun = Vec::new();
        // After an error on its line a command does not run, and its assignments do not take effect.
        let fails = facts.iter().any(|fact| matches!(fact, VariableFact::MayFail));
        for fact in &facts {
            match fact {
                VariableFact::Set(name, ..) => set.push(name),
                VariableFact::Use(name, wanted) => {
                    let worst = worst.get(name.as_str()).copied().unwrap_or(ValueKind::Number);
                    if fails || !set.contains(&name.as_str()) || worst > *wanted {
                        self.add_doubt(name, "the value of this variable might run a command");
                    }
                }
                VariableFact::BeginConditional => begun.push(set.len()),
                VariableFact::EndConditional => set.truncate(begun.pop().unwrap_or(NUMERIC_VARIABLES.len())),
                VariableFact::MayFail => {}
            }
        }
        self.facts = facts;
        for name in std::mem::take(&mut self.declared) {
            if self.arrays.contains(&name) {
                self.add_doubt(&name, "the value of this variable might run a command");
            }
        }
    }
}

/// Returns true if setting this variable may change which commands run.
fn changes_commands(name: &str, value: &ScriptWord) -> bool {
    let is_locale = name == "LANG" || name.starts_with("LC_");
    let function = name.contains(['%', '(', ')']);
    COMMAND_CHANGING_NAMES.contains(&name)
        || COMMAND_CHANGING_PREFIXES.iter().any(|family| name.starts_with(family))
        || function
        || (is_locale && !is_usual_locale(value))
}

/// Returns true if a locale has ordinary characters: in some locales characters end with a backslash.
fn is_usual_locale(value: &ScriptWord) -> bool {
    match value {
        ScriptWord::Literal(text) => {
            matches!(text.as_str(), "" | "C" | "POSIX") || text.ends_with(".UTF-8") || text.ends_with(".utf8")
        }
        ScriptWord::Unknown(_) => false,
    }
}
