//! `toolgate policy`: explains decisions, and checks, tests and imports rules.

mod check;
pub(super) mod explain;
mod import;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use runtime::rules::{RuleFault, RuleLayer};

use crate::args::{PolicyArgs, PolicyCommand};
use config::OperationFault;
use config::{UserDirs, rule_files};
use session::compose::absolute;

pub(crate) fn run(args: &PolicyArgs) -> Result<ExitCode, OperationFault> {
    match &args.command {
        PolicyCommand::Explain(args) => explain::run(args),
        PolicyCommand::Check(args) => check::run(args),
        PolicyCommand::Test(args) => test::run(args),
        PolicyCommand::Import(args) => import::run(args),
    }
}

/// A rule file with its text, or the fault that prevented reading it.
struct RuleFileText {
    layer: RuleLayer,
    file: PathBuf,
    /// `None` if the file does not exist.
    text: Result<Option<String>, RuleFault>,
}

/// Reads the named rule files, or else the files in force in `cwd` (default: the current directory).
fn read_rule_files(named: &[PathBuf], cwd: Option<&Path>) -> Result<Vec<RuleFileText>, OperationFault> {
    if named.is_empty() {
        let cwd = absolute(cwd.unwrap_or(Path::new("")))?;
        exec::fs::canonicalize(&cwd.join(".")).map_err(|error| {
            OperationFault::usage(format!("`{}` cannot be read as a directory: {error}", cwd.display()))
        })?;
        let files = rule_files(&cwd, &UserDirs::from_env()?);
        let read = |(layer, file): (RuleLayer, PathBuf)| RuleFileText {
            layer,
            text: exec::rules::read(&file, layer),
            file,
        };
        return Ok(files.into_iter().map(read).collect());
    }
    let read = |file: &PathBuf| {
        let file = absolute(file)?;
        let in_project = file.parent().is_some_and(|directory| directory.ends_with(".toolgate"));
        let layer = if in_project { RuleLayer::Project } else { RuleLayer::User };
        match exec::rules::read(&file, layer) {
            Ok(None) => Err(OperationFault::usage(format!("`{}` does not exist", file.display()))),
            Ok(text) => Ok(RuleFileText { layer, file, text: Ok(text) }),
            Err(fault) => Err(OperationFault::usage(fault.to_string())),
        }
    };
    named.iter().map(read).collect()
}

/// Formats a count with its noun: `1 rule`, `2 rules`.
fn format_count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
