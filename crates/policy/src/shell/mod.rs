//! Says which commands a shell script would run, without running anything.
//!
//! The answer is never too small: a command that the shell, or a program that only starts another one (`env`, `xargs`,
//! `find -exec` …), may run is listed, or something is said to be undecided. It may be too large: both branches of an `if`
//! are listed, and so is the body of a function that nothing calls.
//!
//! ```
//! let analysis = toolgate_policy::shell::analyse("cd src && env RUST_LOG=off cargo test | tail -n 5");
//! assert!(analysis.undecided.is_empty());
//! assert_eq!(analysis.commands.len(), 4);
//! ```

mod arithmetic;
mod bomb;
mod builtins;
mod compound;
mod condition;
mod cursor;
mod declare;
mod dollar;
mod find;
mod git;
mod grammar;
mod guess;
mod heredoc;
mod names;
mod options;
mod parameter;
mod patch;
mod redirect;
mod rows;
mod shells;
mod show;
mod starters;
mod syntax;
mod test;
mod walk;
mod words;
mod wrappers;

pub use patch::{Patch, patch};

/// The longest script that is read.
pub(super) const MAX_SCRIPT: usize = 64 * 1024;
/// The most commands that are listed.
pub(super) const MAX_COMMANDS: usize = 256;
/// How deep anything may nest: lists in lists, substitutions in words, scripts in scripts, wrappers around wrappers.
pub(super) const MAX_DEPTH: usize = 32;

/// A word, as far as it can be known without running anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Exactly this, with quotes and escapes resolved.
    Literal(String),
    /// As it is written. It may stand for several words, or for none, unless it is in double quotes.
    Unknown(String),
}

/// Where a command sends or takes its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirect {
    /// `< file`
    Read(Word),
    /// `> file`, `>| file`, `&> file` and `>& file`
    Write(Word),
    /// `>> file` and `&>> file`
    Append(Word),
    /// `<> file`
    ReadWrite(Word),
    /// The text of a here-document or a here-string.
    Text(Word),
}

/// One command that a script may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its name first; never empty. A redirection without a command is listed as the command `:`.
    pub words: Vec<Word>,
    /// More arguments follow, and they are not known: those that `xargs` or `find -exec … +` adds.
    pub more: bool,
    /// What is set for it alone: `NAME=value` before it, or given by `env`.
    pub variables: Vec<(String, Word)>,
    /// Its own redirections, then those of what it is part of.
    pub redirects: Vec<Redirect>,
    /// What starts it, the outermost first, e.g. `["bash -lc", "env", "xargs"]`.
    pub through: Vec<String>,
    /// Its standard input is the output of another command of the script, or what was opened before as another descriptor.
    pub fed: bool,
    /// Its name means a command that the shell has built in, and no program.
    pub built_in: bool,
}

/// Something that cannot be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecided {
    /// The part of the script that it is about.
    pub text: String,
    /// Why, in one short phrase.
    pub why: &'static str,
    /// Whether a part of the script was not read at all: it may hold anything.
    pub unread: bool,
}

/// How a command makes a script grow without a bound that could be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// It starts processes beside those that run already, again and again: a fork bomb.
    Processes,
    /// A function that calls itself, one after the other.
    Recursion,
    /// An endless loop writes to a file.
    Output,
}

/// What a script would run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Every command that may be run by the shell or by a wrapper, in the order they are written; built-in ones too.
    pub commands: Vec<Command>,
    /// What could not be decided. If this is empty, there are no other commands.
    pub undecided: Vec<Undecided>,
    /// Functions and aliases that it defines.
    pub defined: Vec<String>,
    /// Variables that it sets for what follows.
    pub assigned: Vec<(String, Word)>,
    /// Commands, by their place in the list, that are run again and again without an end that could be seen.
    pub grows: Vec<(usize, Growth)>,
}

impl Command {
    /// Whether some output of it goes to a file.
    pub(crate) fn writes_a_file(&self) -> bool {
        self.redirects.iter().any(|redirect| match redirect {
            Redirect::Write(Word::Literal(to)) | Redirect::Append(Word::Literal(to)) => {
                !to.starts_with("/dev/")
            }
            Redirect::Write(_) | Redirect::Append(_) | Redirect::ReadWrite(_) => true,
            Redirect::Read(_) | Redirect::Text(_) => false,
        })
    }
}

/// Says what the bash script `script` would run.
pub fn analyse(script: &str) -> Analysis {
    walk::script(script)
}

/// Says what the program `argv[0]` would run, itself included, if it is given the other words as its arguments.
pub fn analyse_argv(argv: &[String]) -> Analysis {
    walk::argv(argv)
}
