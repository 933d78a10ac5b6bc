//! Classifies one command by its words alone: read-only, ordinary, risky or dangerous.
//!
//! The tables are independent. `read_only` lists allowed options one by one; anything else is not read-only.
//! `dangerous_commands` lists dangerous commands; anything else is ordinary. A gap in the danger table costs a
//! question, never the confinement.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

mod altering_options;
mod appended_args;
mod arg_grammars;
mod awk;
mod catalogue;
mod danger_matcher;
mod danger_predicates;
mod dangerous_commands;
mod dangerous_variables;
mod destructive_predicates;
mod exact_commands;
mod find_expression;
mod git_dangers;
mod option_scanner;
mod persistent_paths;
mod program_index;
mod read_only;
mod readable_paths;
mod rule_prefix;
mod sed;
mod unconfined_risks;
mod upload_predicates;
mod wrapped_commands;

pub(crate) use altering_options::first_altering_word;
pub(crate) use appended_args::{
    find_only_runs_commands, is_read_only_with_any_args, prints_file_names, xargs_only_runs_command,
};
pub(crate) use catalogue::{
    COMMAND_OPTIONS, ENV_OPTIONS, FLOCK_OPTIONS, Listing, SCRIPT_OPTIONS, SU_OPTIONS, SUDO_OPTIONS, Starter,
    WATCH_OPTIONS, XARGS_OPTIONS,
};
use catalogue::{RUNNERS, Runner};
pub use catalogue::{ShellFamily, is_interpreter, runs_script_file, script_file_options};
pub use dangerous_variables::dangerous_variable;
pub(crate) use rule_prefix::is_unknown_program;
pub use rule_prefix::rule_prefix;

pub(crate) use danger_matcher::{inner_commands, programs_matching};
pub(crate) use danger_predicates::drops_data;
pub(crate) use destructive_predicates::is_endless_device;
pub(crate) use persistent_paths::{is_persistent_path, normalize_path_text};
pub(crate) use readable_paths::{may_be_read, may_name_special_files};

/// The danger of writing to a persistent path.
pub(crate) const WRITES_PERSISTENT_PATH: &str = "changes the system, or what runs later";
/// The danger of removing many files.
pub(crate) const REMOVES_FILES: &str = "removes files without asking";

/// One word of a command; `None` if it is unknown.
type MaybeWord<'a> = Option<&'a str>;

/// The risk of a command, judged by its words alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandRisk {
    /// Only reads and prints, whatever the files contain.
    ReadOnly,
    /// Nothing is known; the command runs confined.
    Ordinary,
    /// May do harm without confinement, for this reason; ordinary when confined.
    Risky(&'static str),
    /// Needs review even when confined, for this reason.
    Dangerous(&'static str),
}

/// Classifies the command `argv`. Only the last component of the program path counts; its location is judged elsewhere.
///
/// ```
/// use toolgate_policy::{CommandRisk, classify_command};
/// assert_eq!(classify_command(&["ls", "-la", "src"]), CommandRisk::ReadOnly);
/// assert_eq!(classify_command(&["cargo", "test"]), CommandRisk::Ordinary);
/// assert!(matches!(classify_command(&["rm", "-rf", "src"]), CommandRisk::Dangerous(_)));
/// ```
pub fn classify_command(argv: &[&str]) -> CommandRisk {
    let words: Vec<MaybeWord<'_>> = argv.iter().copied().map(Some).collect();
    classify_words(&words)
}

/// Classifies a command with unknown words. An unknown word never lowers the risk: the command is read-only only if the
/// word cannot be an option and may have any value.
pub fn classify_words(argv: &[Option<&str>]) -> CommandRisk {
    if argv.iter().flatten().any(|word| word.contains(crate::invisible_chars::is_deceptive)) {
        return CommandRisk::Dangerous("holds characters that do not show on a terminal");
    }
    let Some((Some(program), words)) = argv.split_first() else { return CommandRisk::Ordinary };
    if let Some(why) = danger_matcher::danger_reason(argv) {
        return CommandRisk::Dangerous(why);
    }
    if read_only::is_read_only(program_name(program), words) {
        return CommandRisk::ReadOnly;
    }
    danger_matcher::risk_reason(argv).map_or(CommandRisk::Ordinary, CommandRisk::Risky)
}

/// Returns the program name of a path.
pub(crate) fn program_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

thread_local! {
    /// Caches the lists as hash sets: splitting them each time is the expensive step.
    static LIST_CACHE: RefCell<HashMap<(usize, usize), HashSet<&'static str>>> = RefCell::default();
}

/// Returns true if `list`, a whitespace-separated list, contains `name`.
fn list_contains(list: &'static str, name: &str) -> bool {
    LIST_CACHE.with_borrow_mut(|cache| {
        let key = (list.as_ptr().addr(), list.len());
        cache.entry(key).or_insert_with(|| list.split_whitespace().collect()).contains(name)
    })
}
