//! The checks of `toolgate doctor` beside the sandbox: model, key, configuration, state, temporary files, git, cgroups.
#![expect(clippy::disallowed_methods, reason = "looks at the user's own directories and at git")]

use std::io;
use std::path::Path;
use std::process::Command;

use crate::exit_status::{FAILED, UNCONFINED, USAGE};
use config::flags::{ConfinementArgs, WorkspaceArgs};
use config::{Config, ConfinementTier, OperationFault, UserDirs};
use exec::sandbox::{CgroupSupport, Scratch};
use private_files::probe_write;
use runtime::wire::Dialect;
use session::compose::working_directory;
use session::hints;

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
    /// Something is missing that not every command needs; the sentence says how to get it.
    Missing(String),
    /// No session can start before this is corrected.
    Failed(CheckFault),
}

impl MachineCheck {
    /// Returns the fault of a failed check.
    pub(super) fn fault(&self) -> Option<&CheckFault> {
        match &self.result {
            CheckResult::Failed(fault) => Some(fault),
            CheckResult::Good(_) | CheckResult::Missing(_) => None,
        }
    }
}

/// The fault that a check has found.
pub(super) struct CheckFault {
    /// The exit status of `toolgate doctor`.
    pub(super) status: u8,
    pub(super) text: String,
    pub(super) fix: Option<String>,
}

/// Runs every check. `scratch` is the private directory of commands, or the reason why there is none; `machine` is the
/// fault of a sandbox that could not be tried.
pub(super) fn run_all(
    scratch: &io::Result<Scratch>,
    machine: Option<String>,
    config: Result<&Config, &OperationFault>,
) -> Vec<MachineCheck> {
    let dirs = UserDirs::from_env();
    let model = config.ok().and_then(|config| config.model.value.clone());
    let check = |name, result| MachineCheck { name, result };
    let mut checks = Vec::new();
    if let Some(text) = machine {
        checks.push(check("sandbox", failed(UNCONFINED, text, None)));
    }
    checks.extend([
        check("config", check_config(config.err(), dirs.as_ref().ok())),
        check("model", check_model(model.as_deref())),
        check("key", check_key()),
        check("state", check_state(dirs.as_ref().ok().and_then(|dirs| dirs.state.as_deref()))),
        check("temporary", check_scratch(scratch)),
        check("git", check_git()),
        check("cgroups", check_cgroups(CgroupSupport::probe())),
    ]);
    checks
}

fn failed(status: u8, text: String, fix: Option<String>) -> CheckResult {
    CheckResult::Failed(CheckFault { status, text, fix })
}

/// Loads the configuration, with the required tier of the command line.
pub(super) fn load_config(require: Option<ConfinementTier>) -> Result<Config, OperationFault> {
    let confine = ConfinementArgs { require, ..ConfinementArgs::default() };
    let place = WorkspaceArgs { confine, ..WorkspaceArgs::default() };
    config::load(&working_directory(&place)?, &UserDirs::from_env()?, &place)
}

fn check_config(fault: Option<&OperationFault>, dirs: Option<&UserDirs>) -> CheckResult {
    if let Some(fault) = fault {
        return failed(USAGE, fault.message().to_owned(), fault.hint().map(str::to_owned));
    }
    match dirs.map(config::user_config_path) {
        Some(Ok(path)) if path.exists() => CheckResult::Good(path.display().to_string()),
        Some(Ok(path)) => CheckResult::Good(format!("built-in values; yours would be in {}", path.display())),
        Some(Err(fault)) => CheckResult::Missing(fault.to_string()),
        None => CheckResult::Missing("no directory for a configuration".to_owned()),
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
        let fix = "set HOME or TOOLGATE_HOME".to_owned();
        return failed(FAILED, "there is no directory for sessions".to_owned(), Some(fix));
    };
    let missing = |path: &Path, fault: &io::Error| {
        let fix = config::state_hint(fault).to_owned();
        failed(FAILED, format!("sessions cannot be recorded: `{}`: {fault}", path.display()), Some(fix))
    };
    let sessions = state.join("sessions");
    match private_files::PrivateDir::open_or_create(state).and_then(|_| probe_write(state)) {
        Ok(()) => {
            if let Err(fault) = probe_write(&sessions) {
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

fn check_scratch(scratch: &io::Result<Scratch>) -> CheckResult {
    let scratch = match scratch {
        Ok(scratch) => scratch,
        Err(fault) => {
            let text = format!("no private directory could be made for commands: {fault}");
            return failed(UNCONFINED, text, Some(hints::SCRATCH_HINT.to_owned()));
        }
    };
    if let Err(fault) = probe_write(scratch.base_directory()) {
        let text = format!("`{}` cannot be written: {fault}", scratch.base_directory().display());
        return failed(UNCONFINED, text, Some(hints::SCRATCH_HINT.to_owned()));
    }
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
                (false, false) => "no control group can be made for a session",
            };
            CheckResult::Missing(format!(
                "{held}: memory and process limits count for each process alone; in a systemd unit, `Delegate=yes` helps"
            ))
        }
    }
}
