//! The catalogue of programs that run others: shells, interpreters, starters, runners.

mod interpreters;
mod runners;
mod shells;
mod starters;

pub use interpreters::{is_interpreter, runs_script_file, script_file_options};
pub use shells::ShellFamily;

pub(super) use runners::{RUNNERS, Runner};
pub(super) use shells::shell_names;
pub(crate) use starters::{
    COMMAND_OPTIONS, ENV_OPTIONS, FLOCK_OPTIONS, Listing, SCRIPT_OPTIONS, SU_OPTIONS, SUDO_OPTIONS, Starter,
    WATCH_OPTIONS, XARGS_OPTIONS,
};

use super::{list_contains, program_name};

/// Returns a program name without a version at its end: `python3.12` is `python`.
fn without_version(name: &str) -> &str {
    name.trim_end_matches(|end: char| end.is_ascii_digit() || matches!(end, '.' | '-'))
}

#[cfg(test)]
mod tests;
