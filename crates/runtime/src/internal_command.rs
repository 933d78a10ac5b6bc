//! Commands that Toolgate runs for itself and not for a model: git, for a worktree.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use exec::run_to_end::{OneShotCommand, OneShotOutput, find_program};
use exec::session::SharedProcesses;
use policy::{CommandLine, EnvironmentPolicy, Gate, Intent, Permit};

use crate::hooks::user_program_permit;

/// A command of our own and its working directory.
pub struct InternalCommand<'a> {
    /// The program and its arguments.
    pub argv: &'a [&'a str],
    /// Environment variables in addition to those of commands.
    pub env: &'a [(String, String)],
    /// Working directory.
    pub directory: &'a Path,
    /// Time limit.
    pub at_most: Duration,
    /// Maximum bytes of output.
    pub output: u64,
    /// Directories that models can write to. A program there is never used, even if it is on the PATH.
    pub untrusted_dirs: &'a [PathBuf],
}

impl InternalCommand<'_> {
    /// Runs it to its end, confined like the commands that `gate` permits.
    ///
    /// # Errors
    /// One sentence, if it could not be run.
    pub async fn run_confined(
        &self,
        processes: &SharedProcesses,
        gate: &Gate,
    ) -> Result<OneShotOutput, String> {
        let line = self.resolve_line()?;
        let gate = gate.for_internal_commands();
        // The user did not request this command, and its words are our own, so it is not asked about.
        let intent = Intent::run(line.clone(), self.directory);
        let permit = gate.permit_chosen("git", &intent).map_err(|denial| denial.to_string())?;
        self.run(processes, &line, &permit).await
    }

    /// Runs it to its end, unconfined. Use this only where no model output decides what it does.
    ///
    /// # Errors
    /// One sentence, if it could not be run.
    pub async fn run_unconfined(&self, processes: &SharedProcesses) -> Result<OneShotOutput, String> {
        let line = self.resolve_line()?;
        let permit = user_program_permit(&line, self.directory)?;
        self.run(processes, &line, &permit).await
    }

    fn resolve_line(&self) -> Result<CommandLine, String> {
        let name = self.argv.first().copied().unwrap_or_default();
        let path = std::env::var_os("PATH").map(|path| path_outside(&path, self.untrusted_dirs));
        let program = find_program(name, path.as_deref())
            .ok_or_else(|| format!("there is no program `{name}` in PATH"))?;
        let mut argv: Vec<String> = self.argv.iter().map(|&word| word.to_owned()).collect();
        argv[0] = program.to_string_lossy().into_owned();
        Ok(argv.into())
    }

    async fn run(
        &self,
        processes: &SharedProcesses,
        line: &CommandLine,
        permit: &Permit,
    ) -> Result<OneShotOutput, String> {
        let mut env = EnvironmentPolicy::default().build(std::env::vars_os());
        // If a git hook started this program, these variables point to another repository.
        env.retain(|name, _| !name.as_encoded_bytes().starts_with(b"GIT_"));
        env.extend(self.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let Self { directory, at_most, output, .. } = *self;
        let command = OneShotCommand {
            line,
            env: &env,
            directory,
            input: b"",
            time_limit: at_most,
            max_output_bytes: output,
        };
        command.run(processes.spawner(), permit).await.map_err(|fault| fault.to_string())
    }
}

/// Returns the directories of `path` outside `roots`. A project's virtual environment is often on the PATH.
fn path_outside(path: &OsStr, roots: &[PathBuf]) -> OsString {
    let lies_in_none = |place: &PathBuf| {
        let real = exec::fs::canonicalize(place).unwrap_or_else(|_| place.clone());
        !roots.iter().any(|root| place.starts_with(root) || real.starts_with(root))
    };
    // The directories come from `split_paths`, so joining them cannot fail.
    std::env::join_paths(std::env::split_paths(path).filter(lies_in_none)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_is_taken_from_where_a_model_may_write() {
        let path = OsStr::new("/w/.venv/bin:/usr/bin:/w2/bin:/w");
        let trusted = |roots: &[&str]| {
            let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
            path_outside(path, &roots).into_string().unwrap()
        };
        assert_eq!(trusted(&[]), "/w/.venv/bin:/usr/bin:/w2/bin:/w");
        assert_eq!(trusted(&["/w"]), "/usr/bin:/w2/bin");
        assert_eq!(trusted(&["/w", "/usr"]), "/w2/bin");
    }
}
