//! Classifies one command by its words alone: read-only, ordinary, risky or dangerous.
//!
//! The tables are independent. `reading` lists allowed options one by one; anything else is not read-only. `danger`
//! lists dangerous commands; anything else is ordinary. A gap in the danger table costs a question, never the
//! confinement.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

mod added;
mod altering;
mod awk;
mod danger;
mod destroying;
mod filter;
mod find;
mod git;
mod index;
mod lines;
mod options;
mod places;
mod predicate;
mod reading;
mod risks;
mod rows;
mod sed;
mod sending;
mod stem;
mod variables;
mod ways;
mod wrapper;

pub(crate) use added::{find_only_runs_commands, prints_file_names, is_read_only_with_any_args, xargs_only_runs_command};
pub(crate) use altering::first_altering_word;
pub(crate) use stem::is_unknown_program;
pub use stem::{is_interpreter, rule_prefix};
pub use variables::dangerous_variable;

pub(crate) use danger::{inner_commands, programs_matching};
pub(crate) use destroying::is_endless_device;
pub(crate) use places::{is_persistent_path, normalize_path_text};
pub(crate) use predicate::drops_data;
pub(crate) use ways::{may_name_special_files, may_be_read};

/// The danger of writing to a persistent path.
pub(crate) const LASTING: &str = "changes the system, or what runs later";
/// The danger of removing many files.
pub(crate) const REMOVES: &str = "removes files without asking";

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
/// use toolgate_policy::{Known, known};
/// assert_eq!(known(&["ls", "-la", "src"]), Known::ReadOnly);
/// assert_eq!(known(&["cargo", "test"]), Known::Ordinary);
/// assert!(matches!(known(&["rm", "-rf", "src"]), Known::Dangerous(_)));
/// ```
pub fn classify_command(argv: &[&str]) -> CommandRisk {
    let words: Vec<MaybeWord<'_>> = argv.iter().copied().map(Some).collect();
    classify_words(&words)
}

/// Classifies a command with unknown words. An unknown word never lowers the risk: the command is read-only only if the
/// word cannot be an option and may have any value.
pub fn classify_words(argv: &[Option<&str>]) -> CommandRisk {
    if argv.iter().flatten().any(|word| word.contains(crate::letters::is_deceptive)) {
        return CommandRisk::Dangerous("holds characters that do not show on a terminal");
    }
    let Some((Some(program), words)) = argv.split_first() else { return CommandRisk::Ordinary };
    if let Some(why) = danger::danger_reason(argv) {
        return CommandRisk::Dangerous(why);
    }
    if reading::is_read_only(program_name(program), words) {
        return CommandRisk::ReadOnly;
    }
    danger::risk_reason(argv).map_or(CommandRisk::Ordinary, CommandRisk::Risky)
}

/// Returns the program name of a path.
pub(crate) fn program_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

thread_local! {
    /// Caches the lists as hash sets: splitting them each time is the expensive step.
    static APART: RefCell<HashMap<(usize, usize), HashSet<&'static str>>> = RefCell::default();
}

/// Returns true if `list`, a whitespace-separated list, contains `name`.
fn lists(list: &'static str, name: &str) -> bool {
    APART.with_borrow_mut(|apart| {
        let key = (list.as_ptr().addr(), list.len());
        apart.entry(key).or_insert_with(|| list.split_whitespace().collect()).contains(name)
    })
}
