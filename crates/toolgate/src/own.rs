//! Programs that we run ourselves, for the user and not for a model: git, for a worktree.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use exec::errand::{Errand, Ran, find};
use exec::session::Processes;
use policy::{Environment, Gate, Intent, Permit, ReviewDecision, Settled, Verdict};

use crate::hooks::permit;

/// A program with words of ours, and where it runs.
pub struct Own<'a> {
    /// The program and its arguments.
    pub argv: &'a [&'a str],
    /// Variables beside those that commands get.
    pub env: &'a [(String, String)],
    /// Where it runs.
    pub directory: &'a Path,
    /// When it is ended.
    pub at_most: Duration,
    /// Bytes that it may write.
    pub output: u64,
    /// Where models may write: no program is taken from there, though the PATH leads there.
    pub but_from: &'a [PathBuf],
}

impl Own<'_> {
    /// Runs it to its end, confined as commands are that `gate` lets run.
    ///
    /// # Errors
    /// Why it could not be run, in a sentence.
    pub async fn confined(&self, processes: &Processes, gate: &Gate) -> Result<Ran, String> {
        let argv = self.found()?;
        let gate = gate.for_ourselves();
        let permit = match gate.decide("git", &Intent::run(argv.clone(), self.directory)) {
            Verdict::Allow(permit) => permit,
            Verdict::Forbid(denial) => return Err(denial.to_string()),
            // Whoever would be asked did not ask for it, and its words are ours.
            Verdict::Ask(question) => match gate.settle(*question, &ReviewDecision::Approved) {
                Settled::Allow(permit) => permit,
                Settled::Denied { .. } | Settled::Stop => return Err("it may not be run".to_owned()),
            },
        };
        self.run(processes, &argv, &permit).await
    }

    /// Runs it to its end, not confined: only where nothing that a model has written decides what it does.
    ///
    /// # Errors
    /// Why it could not be run, in a sentence.
    pub async fn unconfined(&self, processes: &Processes) -> Result<Ran, String> {
        let argv = self.found()?;
        let permit = permit(&argv, self.directory)?;
        self.run(processes, &argv, &permit).await
    }

    fn found(&self) -> Result<Vec<String>, String> {
        let name = self.argv.first().copied().unwrap_or_default();
        let path = std::env::var_os("PATH").map(|path| trusted(&path, self.but_from));
        let program = find(name, path.as_deref())
            .ok_or_else(|| format!("there is no program `{name}` along the PATH"))?;
        let mut argv: Vec<String> = self.argv.iter().map(|&word| word.to_owned()).collect();
        argv[0] = program.to_string_lossy().into_owned();
        Ok(argv)
    }

    async fn run(&self, processes: &Processes, argv: &[String], permit: &Permit) -> Result<Ran, String> {
        let mut env = Environment::default().build(std::env::vars_os());
        // Whoever was started by a git hook is told of another repository by these.
        env.retain(|name, _| !name.as_encoded_bytes().starts_with(b"GIT_"));
        env.extend(self.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let Self { directory, at_most, output, .. } = *self;
        let errand = Errand { argv, env: &env, directory, input: b"", at_most, output };
        errand.run(processes.spawner(), permit).await.map_err(|fault| fault.to_string())
    }
}

/// The directories of `path` that lie in none of `roots`: a virtual environment of the project's is on many a PATH.
fn trusted(path: &OsStr, roots: &[PathBuf]) -> OsString {
    let lies_in_none = |place: &PathBuf| {
        let real = exec::fs::real(place).unwrap_or_else(|_| place.clone());
        !roots.iter().any(|root| place.starts_with(root) || real.starts_with(root))
    };
    // What was split can be joined.
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
            trusted(path, &roots).into_string().unwrap()
        };
        assert_eq!(trusted(&[]), "/w/.venv/bin:/usr/bin:/w2/bin:/w");
        assert_eq!(trusted(&["/w"]), "/usr/bin:/w2/bin");
        assert_eq!(trusted(&["/w", "/usr"]), "/w2/bin");
    }
}
