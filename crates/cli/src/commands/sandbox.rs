//! `toolgate sandbox`: runs one command in the sandbox.

use std::process::ExitCode;

use crate::args::{SandboxArgs, WorkspaceArgs};
use crate::confined_command::{SandboxRun, compose_for_command, run_in};
use config::OperationFault;
use session::compose::working_directory;

/// The exit code of a git command that cannot be done.
const GIT_FAILURE: u8 = 128;
const CLONE_HINT: &str = "in the sandbox, this empty directory has placeholders such as `.git`, and `git clone` refuses \
    a directory with files; clone into a new directory below it";
pub(crate) fn run(args: SandboxArgs) -> Result<ExitCode, OperationFault> {
    let SandboxArgs { explain, env, place, argv } = args;
    let composed = compose_for_command(&place, &env)?;
    let clones_here = clones_into_empty(&argv, &place);
    let sandbox = composed.record_refusals(explain).build_sandbox()?;
    let code = run_in(&sandbox, SandboxRun { argv, explain })?;
    if clones_here && code == ExitCode::from(GIT_FAILURE) {
        terminal::print_hint(CLONE_HINT);
    }
    Ok(code)
}

/// Returns true if the command is `git clone` in an empty directory, where the sandbox puts its placeholders.
#[expect(clippy::disallowed_methods, reason = "the user's own directory, for the user's own command")]
fn clones_into_empty(argv: &[String], place: &WorkspaceArgs) -> bool {
    let is_clone = argv.first().is_some_and(|program| program == "git" || program.ends_with("/git"))
        && argv.iter().any(|word| word == "clone");
    let is_empty = |directory| std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none());
    is_clone && working_directory(place).is_ok_and(is_empty)
}
