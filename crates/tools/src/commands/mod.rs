//! Runs commands for the command tools: [`CommandRunner`], escalation arguments, waiting, ending and reporting.

mod command_report;
mod git_failures;
mod output_streamer;
mod private_tmp;
mod sandbox_refusals;
mod signal_names;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exec::fs::FileKind;
use exec::process::{CellPermit, SpawnFault, Stdio};
use exec::session::{
    Lifetime, ProcessSession, Pump, SIGTERM_GRACE, SessionOrigin, SessionStage, SessionTable,
};
use exec::shell::{InstalledShell, ShellCommands};
use policy::{EnvironmentPolicy, Escalation, Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{sleep_until, timeout};
use tool::{Cx, HaltReason, ToolError, ToolNotice, ToolOutput, WorkingDir};

pub(crate) use command_report::{CommandEnding, CommandReport, ReportLabels};
pub(crate) use output_streamer::OutputStreamer;
pub(crate) use signal_names::signal_name;

use crate::file_access::look_up;

/// The default time limit of a one-shot command.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A line without a newline for this long is taken for a prompt.
const PROMPT_DELAY: Duration = Duration::from_millis(300);
/// The time to wait for killed processes. Shorter than the grace period of a halted call.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs commands: owns the sessions and the shells that scripts run in.
#[derive(Debug)]
pub struct CommandRunner {
    /// The running sessions.
    pub sessions: SessionTable,
    /// The shells.
    pub shells: ShellCommands,
}

/// The default limit of sessions.
pub const DEFAULT_SESSIONS: usize = 64;

impl Default for CommandRunner {
    /// Uses the user's own shell, the safe environment variables, and a separate spawner.
    fn default() -> Self {
        let shell = InstalledShell::of_user(std::env::var_os("SHELL").as_deref());
        Self {
            sessions: SessionTable::new(Arc::default(), None, DEFAULT_SESSIONS),
            shells: ShellCommands::new(shell, EnvironmentPolicy::default(), std::env::vars_os()),
        }
    }
}

/// The request of a call to run inside or outside the sandbox.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxPermissions {
    #[default]
    UseDefault,
    RequireEscalated,
}

/// The escalation arguments, hidden from the model's schema where no process is started.
pub(crate) const ESCALATION_ARGS: &[&str] = &["sandbox_permissions", "justification"];

/// The escalation arguments of a command tool's call.
#[derive(Default)]
pub(crate) struct EscalationRequest<'a> {
    pub(crate) permissions: Option<SandboxPermissions>,
    /// Another form of the request: `with_escalated_permissions`, `request_permission_elevation`.
    pub(crate) escalated: Option<bool>,
    pub(crate) justification: Option<&'a str>,
    /// The rule that the model proposes.
    pub(crate) prefix_rule: Option<&'a [String]>,
}

impl EscalationRequest<'_> {
    /// Adds the request to `intent`.
    pub(crate) fn apply_to(self, intent: Intent) -> Intent {
        let escalation = match (self.permissions.unwrap_or_default(), self.escalated) {
            (SandboxPermissions::UseDefault, None | Some(false)) => Escalation::None,
            (SandboxPermissions::UseDefault, Some(true)) | (SandboxPermissions::RequireEscalated, _) => {
                Escalation::Required
            }
        };
        let proposed = self.prefix_rule.filter(|words| !words.is_empty()).map(<[String]>::to_vec);
        intent.with_escalation(escalation, self.justification.map(str::to_owned)).with_prefix_rule(proposed)
    }
}

/// The notice about a machine that cannot confine commands. The answer of each call has the reason.
pub const COMMANDS_REFUSED: &str =
    "commands are not run: this machine cannot confine them as the policy demands";

/// A command that a model wants to run.
pub(crate) struct CommandRequest {
    /// The command as the model wrote it, for lists.
    pub(crate) command_text: String,
    pub(crate) stdio: Stdio,
    pub(crate) lifetime: Lifetime,
}

/// Resolves the working directory that a call names; an empty name means none.
pub(crate) fn resolve_workdir(workdir: Option<&str>, working_dir: &WorkingDir) -> Result<PathBuf, ToolError> {
    match workdir.filter(|workdir| !workdir.is_empty()) {
        Some(workdir) => working_dir.resolve_path("workdir", workdir),
        None => Ok(working_dir.cwd.clone()),
    }
}

impl CommandRunner {
    /// Returns the shell that a call names, or the user's own.
    pub(crate) fn find_shell(&self, named: Option<&str>) -> Result<InstalledShell, ToolError> {
        let shell = match named.filter(|named| !named.is_empty()) {
            Some(named) => InstalledShell::find(named),
            None => self.shells.default_shell(),
        };
        shell.map_err(|fault| ToolError::bad_argument("shell", fault.to_string()))
    }

    /// Finds the cell for a command. Warns about weaker enforcement before anything runs; each warning is sent once.
    async fn find_cell<'a>(&self, permit: &'a Permit, cx: &Cx) -> Result<CellPermit<'a>, ToolError> {
        let found = self.sessions.spawner().find_cell(permit).await;
        let text = match &found {
            Ok(allowed) => allowed.enforcement().warning().map(|warning| cx.hints().explain(&warning)),
            Err(fault @ (SpawnFault::Unconfined { .. } | SpawnFault::NoProc)) => {
                Some(cx.hints().explain_in_lines(COMMANDS_REFUSED, fault))
            }
            Err(_) => None,
        };
        if let Some(text) = text.filter(|text| self.sessions.is_first_mention(text)) {
            cx.notify(ToolNotice::WeakerSandbox { text, refused: found.is_err() });
        }
        found.map_err(spawn_error)
    }

    /// Starts the command that `permit` allows. The caller drives it with the pump.
    pub(crate) async fn start(
        &self,
        request: CommandRequest,
        permit: &Permit,
        cx: &Cx,
    ) -> Result<(Arc<ProcessSession>, Pump), ToolError> {
        let allowed = self.find_cell(permit, cx).await?;
        let stated = permit.command().map_err(ToolError::Forbidden)?;
        let path = stated.cwd();
        let (_, directory) = look_up(permit, path)?;
        if directory.kind() != FileKind::Directory {
            let why = format!("`{}` is not a directory", path.display());
            return Err(ToolError::bad_argument("workdir", why));
        }
        let origin = SessionOrigin {
            command: request.command_text,
            workdir: directory.path().to_owned(),
            owner: cx.call_id().as_str().to_owned(),
            lifetime: request.lifetime,
            terminal: matches!(request.stdio, Stdio::Terminal(_)),
        };
        let spawner = self.sessions.spawner();
        let line = stated.line().clone();
        tracing::debug!(argv = ?line.argv(), "starts a command");
        let command = self.shells.command(line, directory, request.stdio, spawner, permit).await;
        self.sessions.start_in_cell(command, origin, &allowed).await.map_err(spawn_error)
    }

    /// Runs the command that `permit` allows to its end or time limit, and leaves no process behind.
    pub(crate) async fn run_once(
        &self,
        command_text: String,
        timeout_ms: Option<u64>,
        permit: &Permit,
        cx: &Cx,
    ) -> Result<ToolOutput, ToolError> {
        let request = CommandRequest { command_text, stdio: Stdio::NoInput, lifetime: Lifetime::Session };
        let limit = timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        let (session, mut pump) = self.start(request, permit, cx).await?;
        let deadline = Instant::now() + limit;
        let wait = WaitOptions { deadline, stop_at_prompt: false, stop_at_exit: true };
        let mut streamer = OutputStreamer::for_session(&session, cx);
        let ending = match wait_for_command(&session, Some(&mut pump), &mut streamer, wait, cx).await {
            WaitResult::Ended => CommandEnding::Exited,
            WaitResult::ChildrenRemain => CommandEnding::ChildrenEnded,
            // A slow observer must not change the outcome.
            WaitResult::StillRunning | WaitResult::AwaitingInput => match session.stage() {
                SessionStage::Over { .. } | SessionStage::Lost => CommandEnding::Exited,
                SessionStage::LeaderExited { settled: true, .. } => CommandEnding::ChildrenEnded,
                SessionStage::Running | SessionStage::LeaderExited { .. } => CommandEnding::TimedOut(limit),
            },
            WaitResult::Halted(halt) => CommandEnding::Halted(halt),
        };
        end_command(&session, Some(&mut pump), &mut streamer).await;
        if let Some(fault) = session.take_fault() {
            return Err(spawn_error(fault));
        }
        // The call has no argument for it: only the limit of all answers counts.
        let max_tokens = Some(u64::MAX);
        let report = CommandReport::new(&session, streamer, session.started_at(), max_tokens, cx).await;
        self.refresh_profile_if_not_found(&report);
        Ok(report.to_output(ending, ReportLabels::OneShot))
    }

    /// Forgets the cached profile if a command was not found: the next run may find it.
    pub(crate) fn refresh_profile_if_not_found(&self, report: &CommandReport) {
        const NOT_FOUND: i32 = 127;
        if report.exit_code() == Some(NOT_FOUND) {
            self.shells.forget_profile();
        }
    }
}

/// Options for waiting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitOptions {
    pub(crate) deadline: Instant,
    /// Stops when the command seems to wait for input.
    pub(crate) stop_at_prompt: bool,
    /// Stops when the command's own process has ended, although child processes remain.
    pub(crate) stop_at_exit: bool,
}

/// The reason why the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitResult {
    /// All processes have ended.
    Ended,
    /// The command's own process has ended, child processes remain.
    ChildrenRemain,
    /// The command is still running.
    StillRunning,
    /// The command is still running and seems to wait for input.
    AwaitingInput,
    /// The call must end.
    Halted(HaltReason),
}

/// Waits for the command and streams its output to the observers. `pump` drives the command, if nothing else does.
pub(crate) async fn wait_for_command(
    session: &Arc<ProcessSession>,
    mut pump: Option<&mut Pump>,
    streamer: &mut OutputStreamer,
    wait: WaitOptions,
    cx: &Cx,
) -> WaitResult {
    let mut changed = session.subscribe();
    let halted = cx.wait_for_halt();
    tokio::pin!(halted);
    // ends: with the wait at the latest
    loop {
        changed.mark_unchanged();
        for denial in session.take_new_denials() {
            cx.notify(ToolNotice::AccessRefused { denial });
        }
        tokio::select! {
            biased;
            () = streamer.send_available(cx) => {}
            halt = &mut halted => return WaitResult::Halted(halt),
            () = sleep_until(wait.deadline.into()) => return WaitResult::StillRunning,
        }
        match session.stage() {
            SessionStage::Over { .. } | SessionStage::Lost => return WaitResult::Ended,
            SessionStage::LeaderExited { settled: true, .. } if wait.stop_at_exit => {
                return WaitResult::ChildrenRemain;
            }
            SessionStage::Running | SessionStage::LeaderExited { .. } => {}
        }
        let prompt = wait
            .stop_at_prompt
            .then(|| session.prompting_since())
            .flatten()
            .map(|since| since + PROMPT_DELAY);
        let asks = prompt.is_some_and(|at| at < wait.deadline);
        tokio::select! {
            biased;
            () = drive_pump(pump.as_deref_mut()) => pump = None,
            _ = changed.changed() => {}
            halt = &mut halted => return WaitResult::Halted(halt),
            () = sleep_until(prompt.unwrap_or(wait.deadline).into()), if asks => return WaitResult::AwaitingInput,
            () = sleep_until(wait.deadline.into()) => return WaitResult::StillRunning,
        }
    }
}

async fn drive_pump(pump: Option<&mut Pump>) {
    match pump {
        Some(pump) => pump.await,
        None => std::future::pending().await,
    }
}

/// Ends the remaining processes, and waits until they are gone or prove to be stuck.
pub(crate) async fn end_command(
    session: &Arc<ProcessSession>,
    pump: Option<&mut Pump>,
    streamer: &mut OutputStreamer,
) {
    if session.is_over() {
        return;
    }
    // A slow observer must not keep a process alive.
    streamer.lift_backpressure();
    session.end(SIGTERM_GRACE);
    let gone = async {
        tokio::select! {
            () = drive_pump(pump) => {}
            () = session.wait_until(|session| session.is_over() || !session.stuck_processes().is_empty()) => {}
        }
    };
    let _will_not = timeout(END_TIMEOUT, gone).await;
}

/// Rejects text with a NUL, which no program argument can contain.
pub(crate) fn reject_nul(argument: &str, text: &str) -> Result<(), ToolError> {
    match text.contains('\0') {
        true => Err(ToolError::bad_argument(argument, "it contains a NUL character, which no argument can")),
        false => Ok(()),
    }
}

/// Converts a spawn error into a tool error.
pub(crate) fn spawn_error(fault: SpawnFault) -> ToolError {
    match fault {
        SpawnFault::Denied(denial) => ToolError::Blocked(denial),
        other => ToolError::io_source(other),
    }
}
