//! The checks of `toolgate doctor` beside the sandbox: model, key, configuration, state, temporary files, git, cgroups.
#![expect(clippy::disallowed_methods, reason = "looks at the user's own directories and at git")]

use std::path::Path;
use std::process::Command;

use config::flags::WorkspaceArgs;
use config::{OperationFault, UserDirs};
use exec::sandbox::{CgroupSupport, Scratch};
use runtime::wire::Dialect;
use session::compose::working_directory;

/// Session journals that are counted.
const MAX_COUNTED_SESSIONS: usize = 100_000;

/// A check and its result.
pub(super) struct MachineCheck {
    pub(super) name: &'static str,
    pub(super) result: CheckResult,
}

/// The result of a check, with a sentence about it.
pub(super) enum CheckResult {
    Good(String),
    /// Something is missing; the sentence says how to get it.
    Missing(String),
}

/// Runs every check.
pub(super) fn run_all(scratch: &Scratch) -> Result<Vec<MachineCheck>, OperationFault> {
    let dirs = UserDirs::from_env()?;
    let place = WorkspaceArgs::default();
    let config = config::load(&working_directory(&place)?, &dirs, &place);
    let model = config.as_ref().ok().and_then(|config| config.model.value.clone());
    let check = |name, result| MachineCheck { name, result };
    Ok(vec![
        check("config", check_config(config.as_ref().err(), &dirs)),
        check("model", check_model(model.as_deref())),
        check("key", check_key()),
        check("state", check_state(dirs.state.as_deref())),
        check("temporary", check_scratch(scratch)),
        check("git", check_git()),
        check("cgroups", check_cgroups(CgroupSupport::probe())),
    ])
}

fn check_config(fault: Option<&OperationFault>, dirs: &UserDirs) -> CheckResult {
    match (fault, config::user_config_path(dirs)) {
        (Some(fault), _) => CheckResult::Missing(format!("{fault}; nothing runs until that is corrected")),
        (None, Ok(path)) if path.exists() => CheckResult::Good(path.display().to_string()),
        (None, Ok(path)) => {
            CheckResult::Good(format!("built-in values; yours would be in {}", path.display()))
        }
        (None, Err(fault)) => CheckResult::Missing(fault.to_string()),
    }
}

fn check_model(model: Option<&str>) -> CheckResult {
    match model {
        Some(model) => CheckResult::Good(model.to_owned()),
        None => CheckResult::Missing(
            "none is set; `toolgate run` needs --model NAME or `model = \"NAME\"` in your configuration"
                .to_owned(),
        ),
    }
}

fn check_key() -> CheckResult {
    let mut names: Vec<&str> = Dialect::ALL.into_iter().map(Dialect::api_key_variable).collect();
    names.dedup();
    let set: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| std::env::var_os(name).is_some_and(|key| !key.is_empty()))
        .collect();
    match set.is_empty() {
        false => CheckResult::Good(format!("{} is set", set.join(" and "))),
        true => CheckResult::Missing(format!(
            "neither {} is set; a server of your own needs none (--base-url)",
            names.join(" nor ")
        )),
    }
}

fn check_state(state: Option<&Path>) -> CheckResult {
    let Some(state) = state else {
        return CheckResult::Missing("no directory for sessions: set HOME or TOOLGATE_HOME".to_owned());
    };
    let missing = |path: &Path, fault: &dyn std::fmt::Display| {
        let hint = "XDG_STATE_HOME or TOOLGATE_HOME names another directory";
        CheckResult::Missing(format!("{}: {fault}; {hint}", path.display()))
    };
    let sessions = state.join("sessions");
    let writable =
        |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).map_err(std::io::Error::from);
    match private_files::PrivateDir::open_or_create(state).and_then(|_| writable(state)) {
        Ok(()) => {
            if sessions.exists()
                && let Err(fault) = writable(&sessions)
            {
                return missing(&sessions, &fault);
            }
            let count =
                std::fs::read_dir(&sessions).into_iter().flatten().take(MAX_COUNTED_SESSIONS).flatten();
            let count =
                count.filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl")).count();
            CheckResult::Good(format!("{} ({count} sessions)", state.display()))
        }
        Err(fault) => missing(state, &fault),
    }
}

fn check_scratch(scratch: &Scratch) -> CheckResult {
    let private = format!("{} holds the private /tmp of each session", scratch.base_directory().display());
    match scratch.foreign_base() {
        None => CheckResult::Good(private),
        Some(taken) => CheckResult::Missing(format!(
            "{} is not a directory of yours alone, so another one is used: {private}",
            taken.display()
        )),
    }
}

fn check_git() -> CheckResult {
    match Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            CheckResult::Good(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        _ => CheckResult::Missing("git is not installed; commits and worktrees of agents need it".to_owned()),
    }
}

fn check_cgroups(support: CgroupSupport) -> CheckResult {
    match support {
        CgroupSupport { processes: true, memory: true } => {
            CheckResult::Good("memory and processes of a session are limited together".to_owned())
        }
        CgroupSupport { processes, memory } => {
            let held = match (processes, memory) {
                (true, _) => "only the number of processes is limited for a session",
                (_, true) => "only memory is limited for a session",
                (false, false) => "no group of a session's own",
            };
            CheckResult::Missing(format!("{held}; the limits of single processes hold"))
        }
    }
}
