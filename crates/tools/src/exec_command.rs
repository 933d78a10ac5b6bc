//! `exec_command`: runs a script and returns after a limited wait; the script continues as a session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exec::process::{PtySize, Stdio};
use exec::session::{Lifetime, TimeLimit};
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, ShellForm, ToolError, ToolHandler, ToolJob, ToolOutput, WorkingDir};

use crate::commands::{
    CommandEnding, CommandReport, CommandRequest, CommandRunner, EscalationRequest, OutputStreamer,
    ReportLabels, SandboxPermissions, WaitOptions, WaitResult, end_command, reject_nul, resolve_workdir,
    spawn_error, wait_for_command,
};

/// The default, shortest and longest wait in milliseconds.
const DEFAULT_YIELD_MS: u64 = 10_000;
const MIN_YIELD_MS: u64 = 250;
const MAX_YIELD_MS: u64 = 30_000;

/// The `exec_command` tool.
pub(crate) struct ExecCommand(pub(crate) Arc<CommandRunner>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Shell script, e.g. `npm run dev`.
    cmd: String,
    workdir: Option<String>,
    shell: Option<String>,
    /// Load the user's profile (default true).
    login: Option<bool>,
    /// Attach a terminal.
    tty: Option<bool>,
    /// Without tty: keep stdin open.
    stdin: Option<bool>,
    #[schemars(range(min = 1, max = 1000))]
    rows: Option<u16>,
    #[schemars(range(min = 1, max = 1000))]
    cols: Option<u16>,
    /// Wait 250 to 30000 (default 10000).
    yield_time_ms: Option<u64>,
    /// Output limit (default 10000).
    max_output_tokens: Option<u64>,
    /// Lifetime (default session).
    lifetime: Option<LifetimeArg>,
    /// Ask to run outside the sandbox.
    sandbox_permissions: Option<SandboxPermissions>,
    /// Tell the user why.
    justification: Option<String>,
    /// Kill it after this many milliseconds.
    #[schemars(range(min = 1))]
    timeout_ms: Option<u64>,
    /// Same as `sandbox_permissions: "require_escalated"`.
    with_escalated_permissions: Option<bool>,
    /// Propose a rule to save, e.g. `["cargo", "test"]`.
    prefix_rule: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LifetimeArg {
    Turn,
    Session,
    Keep,
}

impl Args {
    fn stdio(&self) -> Stdio {
        let PtySize { rows, cols } = PtySize::default();
        match (self.tty, self.stdin) {
            (Some(true), _) => {
                Stdio::Terminal(PtySize { rows: self.rows.unwrap_or(rows), cols: self.cols.unwrap_or(cols) })
            }
            (_, Some(true)) => Stdio::PipedInput,
            _ => Stdio::NoInput,
        }
    }

    /// Returns the time limit of the process, if the call has one.
    fn time_limit(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    /// Returns the time to wait for the process: until its time limit, if the call gives only that.
    fn wait_time(&self) -> Duration {
        let clamped = |wait: u64| Duration::from_millis(wait.clamp(MIN_YIELD_MS, MAX_YIELD_MS));
        match (self.yield_time_ms, self.time_limit()) {
            (Some(wait), limit) => clamped(wait).min(limit.unwrap_or(Duration::MAX)),
            (None, Some(limit)) => limit,
            (None, None) => clamped(DEFAULT_YIELD_MS),
        }
    }

    fn lifetime(&self) -> Lifetime {
        match self.lifetime {
            Some(LifetimeArg::Turn) => Lifetime::Turn,
            Some(LifetimeArg::Session) | None => Lifetime::Session,
            Some(LifetimeArg::Keep) => Lifetime::Keep,
        }
    }
}

impl ToolHandler for ExecCommand {
    type Args = Args;
    const NAME: &'static str = "exec_command";
    const ABOUT: &'static str = "Runs a shell script and returns its output, or what there is after yield_time_ms: then it runs on under a session ID, for write_stdin and kill_session.";
    const ALIASES: &'static [&'static str] = &["unified_exec"];
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[
        ("command", "cmd"),
        ("cwd", "workdir"),
        ("timeout", "timeout_ms"),
        ("request_permission_elevation", "with_escalated_permissions"),
    ];
    const HIDDEN_ARGS: &'static [&'static str] = &["timeout_ms", "with_escalated_permissions", "prefix_rule"];
    const JOB: ToolJob = ToolJob::Shell(ShellForm::Exec);

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        reject_nul("cmd", &args.cmd)?;
        let shell = self.0.find_shell(args.shell.as_deref())?;
        let line = shell.command_line(&args.cmd, args.login.unwrap_or(true));
        let intent = Intent::run(line, &resolve_workdir(args.workdir.as_deref(), working_dir)?);
        let escalation = EscalationRequest {
            permissions: args.sandbox_permissions,
            escalated: args.with_escalated_permissions,
            justification: args.justification.as_deref(),
            prefix_rule: args.prefix_rule.as_deref(),
        };
        Ok(escalation.apply_to(intent.with_terminal(args.tty == Some(true))))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let commands = &self.0;
        commands.sessions.make_room().map_err(|full| ToolError::io(full.to_string()))?;
        let request =
            CommandRequest { command_text: args.cmd.clone(), stdio: args.stdio(), lifetime: args.lifetime() };
        let (session, mut pump) = commands.start(request, permit, cx).await?;
        let begun = Instant::now();
        let limit = args.time_limit().map(|after| TimeLimit { max_run_time: after, deadline: begun + after });
        let wait =
            WaitOptions { deadline: begun + args.wait_time(), stop_at_prompt: true, stop_at_exit: true };
        let mut streamer = OutputStreamer::for_session(&session, cx);
        let outcome = wait_for_command(&session, Some(&mut pump), &mut streamer, wait, cx).await;
        let late = limit.filter(|limit| limit.deadline <= Instant::now());
        let late = late.filter(|_| outcome == WaitResult::StillRunning && !session.is_over());
        if matches!(outcome, WaitResult::Halted(_)) || late.is_some() {
            end_command(&session, Some(&mut pump), &mut streamer).await;
        }
        if let Some(fault) = session.take_fault() {
            return Err(spawn_error(fault));
        }
        let report =
            CommandReport::new(&session, streamer, session.started_at(), args.max_output_tokens, cx).await;
        commands.refresh_profile_if_not_found(&report);
        let ending =
            late.map_or_else(|| report.ending(outcome), |limit| CommandEnding::TimedOut(limit.max_run_time));
        if matches!(
            ending,
            CommandEnding::ChildrenRemain | CommandEnding::Running | CommandEnding::AwaitingInput
        ) {
            commands.sessions.adopt_until(&session, pump, limit);
        }
        Ok(report.to_output(ending, ReportLabels::Session))
    }
}
