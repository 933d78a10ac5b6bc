//! Errors of starting a process, each in one sentence.

use std::io;
use std::path::PathBuf;

use policy::{Denial, MissingTier, Tier};

use super::messages::LaunchStep;
use crate::sandbox::SetupFix;

/// The reason why a process was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnFault {
    /// The permit is for another command.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// Toolgate's constructor is not part of the program file: it is in a shared library, or was removed.
    #[error(
        "no process can be started: Toolgate's code is in a shared library and not in the program file, which it \
         executes again to start processes"
    )]
    NoConstructor,
    /// `/proc` is not mounted.
    #[error("no process can be started: /proc is not mounted")]
    NoProc,
    /// The program could not be run.
    #[error("{}", describe_refusal(*step, program, directory, errno))]
    Refused {
        /// The step that failed.
        step: LaunchStep,
        /// The program.
        program: String,
        /// The working directory.
        directory: PathBuf,
        /// The error of the system call.
        errno: io::Error,
    },
    /// This machine cannot confine the process as the policy requires.
    #[error("{}", describe_unconfined(*at_least, missing))]
    Unconfined {
        /// The weakest sufficient tier.
        at_least: Tier,
        /// The tiers that were tried.
        missing: Vec<MissingTier>,
        /// The remedy, if one is known.
        fix: Option<SetupFix>,
        /// The tier that this machine offers, for a user who accepts it.
        weaker: Option<Tier>,
    },
    /// The writable roots hold more files than can be scanned and protected.
    #[error(
        "nothing is run: the workspace holds more files, secrets or repositories than can be looked at, or is a \
         directory that cannot be listed, so that some would not be protected; work in a smaller directory, or remove what a command may have put there"
    )]
    TooMuch,
    /// Git's configuration cannot be read completely, so that files which it names would not be protected.
    #[error(
        "nothing is run: git's configuration for the repository at `{}` cannot be read as a whole ({why}), so that programs \
         which it names would not be protected; make it readable and smaller, or remove the repository if a command has made it",
        repository.display()
    )]
    GitUnread {
        /// The working tree of the repository.
        repository: PathBuf,
        /// The limit or the error, as a clause.
        why: String,
    },
    /// The spawner or the supervisor is gone, or a system resource is exhausted.
    #[error("no process could be started: {0}")]
    System(#[from] io::Error),
}

fn describe_unconfined(at_least: Tier, missing: &[MissingTier]) -> String {
    let tried: Vec<String> =
        missing.iter().map(|missing| format!("{} ({})", missing.tier.as_str(), missing.why)).collect();
    let tried = tried.join(" and ");
    let at_least = at_least.as_str();
    if tried.is_empty() {
        return format!(
            "nothing is run: the policy demands at least {at_least}, and allows no tier that is as strong"
        );
    }
    format!("nothing is run: the policy demands at least {at_least}, and this machine refuses {tried}")
}

fn describe_refusal(
    step: LaunchStep,
    program: &str,
    directory: &std::path::Path,
    errno: &io::Error,
) -> String {
    use rustix::io::Errno;
    let why = Errno::from_io_error(errno);
    let directory = directory.display();
    match (step, why) {
        (LaunchStep::Fork, _) => format!("no process could be made for `{program}`: {errno}"),
        (LaunchStep::Confine, _) => format!("`{program}` was not run: it could not be confined: {errno}"),
        (LaunchStep::Terminal, _) => format!("`{program}` got no terminal: {errno}"),
        (LaunchStep::Directory, _) => {
            format!("the working directory `{directory}` cannot be entered: {errno}")
        }
        (LaunchStep::Exec, Some(Errno::NOENT)) if program.contains('/') => {
            format!("there is no program `{program}`, or its interpreter is missing")
        }
        (LaunchStep::Exec, Some(Errno::NOENT)) => format!("there is no program `{program}` in PATH"),
        (LaunchStep::Exec, Some(Errno::ACCESS)) => format!("`{program}` may not be executed: {errno}"),
        (LaunchStep::Exec, Some(Errno::TOOBIG)) => {
            format!("the arguments of `{program}` are too long for the system; put them into a file")
        }
        (LaunchStep::Exec, _) => format!("`{program}` could not be executed: {errno}"),
    }
}
