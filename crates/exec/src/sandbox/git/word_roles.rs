//! Roles of the words of a command: its program, the script of an interpreter, the value of an option.

use policy::{runs_script_file, script_file_options};

use super::shell_words::{UnexpandedWord, assignment};

/// Shell commands whose first argument is a script; elsewhere these words have another meaning.
const SOURCE_COMMANDS: &[&str] = &[".", "source"];
/// Interpreters that find `x.js` for `x`.
const MODULE_INTERPRETERS: &[&str] = &["node", "deno", "bun", "tsx", "ts-node"];
/// Words that precede a program.
const BEFORE_PROGRAM: &[&str] = &[
    "then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "exec", "env", "nohup", "sudo",
    "doas", "command", "builtin", "nice", "ionice", "timeout", "xargs", "stdbuf", "setsid",
];
/// The position of a word relative to an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptPlace {
    /// No interpreter: a missing file counts only if it contains a `/`.
    Argument,
    /// The script of an interpreter.
    Script,
    /// A later word after an interpreter: its script may follow the argument of an option.
    Later,
}

/// The meaning of a directory at the position of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryUse {
    /// Nothing in it is run.
    NotRun,
    /// An interpreter runs its entry file.
    EntryFile,
    /// An interpreter may run its entry file.
    MaybeEntryFile,
    /// Every file in it is run.
    AllFiles,
}

/// The role of one word.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordRole {
    pub(super) script_place: ScriptPlace,
    pub(super) directory: DirectoryUse,
    /// The word is the name of a program.
    pub(super) is_program: bool,
    /// The interpreter finds `x.js` for `x`.
    pub(super) finds_modules: bool,
    /// The offset in the word at which the script begins that an option names.
    pub(super) script_offset: Option<usize>,
}

/// Tracks the roles of consecutive words.
#[derive(Debug)]
pub(super) struct RoleReader {
    script_place: ScriptPlace,
    directory: DirectoryUse,
    /// The program of the command is still to come.
    awaits_program: bool,
    /// Arguments of `env` and similar may precede it.
    has_wrapper: bool,
    finds_modules: bool,
    script_options: &'static [&'static str],
}

impl RoleReader {
    pub(super) fn new() -> Self {
        Self {
            script_place: ScriptPlace::Argument,
            directory: DirectoryUse::NotRun,
            awaits_program: true,
            has_wrapper: false,
            finds_modules: false,
            script_options: &[],
        }
    }

    /// Returns the role of `word`, the next one after `before`.
    pub(super) fn next_role(&mut self, word: &UnexpandedWord, before: &[u8]) -> WordRole {
        if word.starts_command {
            let script_place = match self.script_place {
                ScriptPlace::Script => ScriptPlace::Later,
                place @ (ScriptPlace::Argument | ScriptPlace::Later) => place,
            };
            *self = Self { script_place, ..Self::new() };
        }
        let text = word.text.as_slice();
        let name = base_name(text);
        let is_option = text.starts_with(b"-");
        let is_inline = is_inline(before);
        let wraps = BEFORE_PROGRAM.contains(&name);
        let is_number = text.first().is_some_and(u8::is_ascii_digit);
        let passes = assignment(text).is_some() || wraps || self.has_wrapper && is_number;
        let is_program = self.awaits_program && !passes && !is_option;
        let named = self.script_options.iter().any(|option| option.as_bytes() == before);
        let is_argument = !is_option && !is_program;
        let role = WordRole {
            script_place: if is_inline {
                ScriptPlace::Argument
            } else if named {
                ScriptPlace::Script
            } else {
                self.script_place
            },
            directory: if is_argument && !is_inline { self.directory } else { DirectoryUse::NotRun },
            is_program,
            finds_modules: self.finds_modules,
            script_offset: self.script_options.iter().find_map(|option| attached_value_offset(option, text)),
        };
        self.has_wrapper |= self.awaits_program && wraps;
        // An option may already name the script: `-fx.awk`, `-mmodule`.
        let is_named = role.script_offset.is_some() || text.starts_with(b"-m") && text.len() > 2;
        if (is_argument || is_named) && !self.awaits_program && self.directory == DirectoryUse::EntryFile {
            self.directory = DirectoryUse::MaybeEntryFile;
        }
        if !is_option {
            self.advance(name, is_program);
        }
        role
    }

    /// Updates the state after the word `name`.
    fn advance(&mut self, name: &str, is_program: bool) {
        let is_interpreter = runs_script_file(name) || is_program && SOURCE_COMMANDS.contains(&name);
        self.script_place = match self.script_place {
            _ if is_interpreter => ScriptPlace::Script,
            ScriptPlace::Argument => ScriptPlace::Argument,
            ScriptPlace::Script | ScriptPlace::Later => ScriptPlace::Later,
        };
        if is_interpreter {
            self.finds_modules = is_listed_program(MODULE_INTERPRETERS, name);
        }
        let options = script_file_options(name);
        if !options.is_empty() {
            self.script_options = options;
        }
        if is_program {
            self.awaits_program = false;
            self.directory = match name {
                "run-parts" => DirectoryUse::AllFiles,
                _ if is_interpreter => DirectoryUse::EntryFile,
                _ => DirectoryUse::NotRun,
            };
        }
    }
}

/// Returns true if the next word is a script itself: after `-c`, `-ec`, `eval`.
pub(super) fn is_inline(word: &[u8]) -> bool {
    word == b"eval" || word.starts_with(b"-") && !word.starts_with(b"--") && word.ends_with(b"c")
}

/// Returns the offset of the value attached to `option` in `word`: `-Fvalue`, `--file=value`.
fn attached_value_offset(option: &str, word: &[u8]) -> Option<usize> {
    let rest = word.strip_prefix(option.as_bytes()).filter(|rest| !rest.is_empty())?;
    match option.starts_with("--") {
        true => rest.starts_with(b"=").then_some(option.len() + 1),
        // A sub-command such as `run` has no attached value.
        false => option.starts_with('-').then_some(option.len()),
    }
}

/// Returns the name of a program without its directory.
fn base_name(word: &[u8]) -> &str {
    let name = word.rsplit(|&byte| byte == b'/').next().unwrap_or(word);
    std::str::from_utf8(name).unwrap_or_default()
}

/// Returns true if `programs` contains `name` in any version: `python3.12` is `python`.
fn is_listed_program(programs: &[&str], name: &str) -> bool {
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    programs.contains(&name) || programs.contains(&plain)
}
