//! Lists the commands that a shell script would run, without running anything.
//!
//! The list is never too short: it contains every command that the shell, or a wrapper (`env`, `xargs`, `find -exec`
//! …), may run, or the analysis reports an undecided part. The list may be too long: it contains both branches of an
//! `if`, and the body of a function that is never called.
//!
//! ```
//! let analysis = toolgate_policy::shell::analyse_script("cd src && env RUST_LOG=off cargo test | tail -n 5");
//! assert!(analysis.undecided.is_empty());
//! assert_eq!(analysis.commands.len(), 4);
//! ```

mod arithmetic;
mod builtins;
mod command_collector;
mod compound;
mod display;
mod dollar_expansion;
mod double_bracket;
mod find_exec;
mod fork_bomb;
mod git_exec;
mod grammar;
mod heredoc;
mod likely_commands;
mod parameter_syntax;
mod parser_cursor;
mod patch_command;
mod redirect_parser;
mod shell_invocation;
mod special_wrappers;
mod syntax_tree;
mod variable_builtins;
mod variable_facts;
mod word_parser;
mod wrapper_options;
mod wrappers;

pub use patch_command::PatchCommand;
pub(crate) use syntax_tree::{ParsedWord, ShellDialect};
pub(crate) use wrapper_options::{OptionTable, parse_options};

use crate::CommandLine;

/// Maximum length of a script in bytes.
pub(super) const MAX_SCRIPT_BYTES: usize = 64 * 1024;
/// Maximum number of listed commands.
pub(super) const MAX_COMMANDS: usize = 256;
/// Maximum nesting depth: lists in lists, substitutions in words, scripts in scripts, wrappers around wrappers.
pub(super) const MAX_DEPTH: usize = 32;

/// A word, as far as it is known without running anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptWord {
    /// Exactly this text, with quotes and escapes resolved.
    Literal(String),
    /// The source text of an unknown word. It may become several words or none, unless it is in double quotes.
    Unknown(String),
}

/// Returns the text of a word, if it is known.
pub(crate) fn literal_text(word: &ScriptWord) -> Option<&str> {
    match word {
        ScriptWord::Literal(text) => Some(text),
        ScriptWord::Unknown(_) => None,
    }
}

/// Returns the literal text of a word, or its source text if it is unknown.
pub(crate) fn word_text(word: &ScriptWord) -> &str {
    match word {
        ScriptWord::Literal(text) | ScriptWord::Unknown(text) => text,
    }
}

/// A redirection of a command's input or output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptRedirect {
    /// `< file`
    Read(ScriptWord),
    /// `> file`, `>| file`, `&> file` and `>& file`
    Write(ScriptWord),
    /// `>> file` and `&>> file`
    Append(ScriptWord),
    /// `<> file`
    ReadWrite(ScriptWord),
    /// The text of a here-document or a here-string.
    Text(ScriptWord),
}

/// One command that a script may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptCommand {
    /// The name and the arguments; never empty. A redirection without a command is listed as the command `:`.
    pub words: Vec<ScriptWord>,
    /// Further unknown arguments follow: those that `xargs` or `find -exec … +` adds.
    pub more_args: bool,
    /// Variables set for this command alone: by `NAME=value` before it, or by `env`.
    pub variables: Vec<(String, ScriptWord)>,
    /// The command's own redirections, then those of the enclosing commands.
    pub redirects: Vec<ScriptRedirect>,
    /// The wrappers that start the command, outermost first, e.g. `["bash -lc", "env", "xargs"]`.
    pub wrappers: Vec<String>,
    /// Standard input is the output of another command of the script, or a previously opened file descriptor.
    pub has_piped_input: bool,
    /// The name means a shell built-in, not a program.
    pub built_in: bool,
}

/// A part of a script that the analysis cannot decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndecidedPart {
    /// The source text of the part.
    pub text: String,
    /// The reason, in one short phrase.
    pub why: &'static str,
    /// The part was not read at all, so it may contain anything.
    pub unread: bool,
}

/// The way in which a command makes a script grow without a visible bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnboundedGrowth {
    /// Starts processes in parallel again and again: a fork bomb.
    Processes,
    /// A function that calls itself sequentially.
    Recursion,
    /// An endless loop that writes to a file.
    Output,
}

/// The analysis of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptAnalysis {
    /// Every command that the shell or a wrapper may run, in source order; built-ins included.
    pub commands: Vec<ScriptCommand>,
    /// The undecided parts. If there are none, the list of commands is complete.
    pub undecided: Vec<UndecidedPart>,
    /// Functions and aliases that the script defines.
    pub defined: Vec<String>,
    /// Variables that the script sets for later commands.
    pub assigned: Vec<(String, ScriptWord)>,
    /// Commands, by index, that are repeated without a visible end.
    pub growth: Vec<(usize, UnboundedGrowth)>,
    /// The patch that the command line applies, if that is its only effect.
    pub patch: Option<PatchCommand>,
}

impl ScriptCommand {
    /// Returns true if some output of the command goes to a file.
    pub(crate) fn writes_a_file(&self) -> bool {
        self.redirects.iter().any(|redirect| match redirect {
            ScriptRedirect::Write(ScriptWord::Literal(to))
            | ScriptRedirect::Append(ScriptWord::Literal(to)) => !to.starts_with("/dev/"),
            ScriptRedirect::Write(_) | ScriptRedirect::Append(_) | ScriptRedirect::ReadWrite(_) => true,
            ScriptRedirect::Read(_) | ScriptRedirect::Text(_) => false,
        })
    }
}

/// Analyses the bash script `script`.
pub fn analyse_script(script: &str) -> ScriptAnalysis {
    command_collector::collect_script(script)
}

#[cfg(debug_assertions)]
thread_local! {
    static ANALYSED_LINES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the number of command lines that this thread has analysed. Tests check with it that a call is analysed once.
#[cfg(debug_assertions)]
#[doc(hidden)]
pub fn analysed_lines() -> usize {
    ANALYSED_LINES.with(std::cell::Cell::get)
}

/// Analyses a command line. The result includes the program, or the shell that runs the script.
pub fn analyse_line(line: &CommandLine) -> ScriptAnalysis {
    #[cfg(debug_assertions)]
    ANALYSED_LINES.with(|count| count.set(count.get() + 1));
    match line {
        CommandLine::Program { argv } => {
            let patch = patch_command::find_in_argv(argv);
            ScriptAnalysis { patch, ..command_collector::collect_argv(argv) }
        }
        CommandLine::Script { shell, login, text } => {
            command_collector::collect_shell(&line.argv(), shell, *login, text)
        }
    }
}

/// Analyses the program `argv[0]` with the other words as its arguments. The result includes the program itself.
pub fn analyse_argv(argv: &[String]) -> ScriptAnalysis {
    command_collector::collect_argv(argv)
}
