//! `list_sessions`: lists the command sessions with their state, running or ended.

use std::fmt::Write;
use std::sync::Arc;

use exec::session::{Lifetime, ProcessExit, ProcessSession, SessionStage};
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool::{Cx, Lane, ToolError, ToolHandler, ToolJob, ToolOutput, WorkingDir};

use crate::commands::{CommandRunner, ESCALATION_ARGS, EscalationRequest, SandboxPermissions, signal_name};
use crate::text_format::{format_count, format_path};

/// Characters of a command that are shown.
const MAX_COMMAND_CHARS: usize = 120;

/// The `list_sessions` tool.
pub(crate) struct ListSessionsTool(pub(crate) Arc<CommandRunner>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Accepted, but not needed to list sessions.
    sandbox_permissions: Option<SandboxPermissions>,
    /// Tell the user why.
    justification: Option<String>,
}

impl ToolHandler for ListSessionsTool {
    type Args = Args;
    const NAME: &'static str = "list_sessions";
    const ABOUT: &'static str = "Lists the sessions of exec_command, and how each is.";
    const HIDDEN_ARGS: &'static [&'static str] = ESCALATION_ARGS;
    const JOB: ToolJob = ToolJob::Session;
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &Args, _: &WorkingDir) -> Result<Intent, ToolError> {
        let escalation = EscalationRequest {
            permissions: args.sandbox_permissions,
            justification: args.justification.as_deref(),
            ..EscalationRequest::default()
        };
        Ok(escalation.apply_to(Intent::nothing()))
    }

    async fn run(&self, _: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let all = self.0.sessions.all();
        let mut text = match all.len() {
            0 => "No sessions.\n".to_owned(),
            many => format!("{}:\n", format_count(many as u64, "session")),
        };
        for session in &all {
            let _written = writeln!(text, "{}", format_session(session));
        }
        let sessions: Vec<Value> = all.iter().map(|session| session_json(session)).collect();
        Ok(ToolOutput::text(text).with_structured(json!({ "sessions": sessions })))
    }
}

fn describe_state(session: &ProcessSession) -> String {
    if let (SessionStage::Over { .. }, Some(limit)) = (session.stage(), session.timed_out()) {
        return format!("timed out after {} milliseconds", limit.as_millis());
    }
    match session.stage() {
        SessionStage::Running => "running".to_owned(),
        SessionStage::LeaderExited { exit, .. } => {
            format!("exited with code {}, background processes run", exit.code())
        }
        SessionStage::Over { exit: ProcessExit::Signal(signal), .. } => {
            format!("ended by {}", signal_name(signal))
        }
        SessionStage::Over { exit, .. } => format!("exited with code {}", exit.code()),
        SessionStage::Lost => "killed from outside".to_owned(),
    }
}

fn format_session(session: &ProcessSession) -> String {
    let origin = session.origin();
    let terminal = if origin.terminal { ", terminal" } else { "" };
    let pid = session.pid().map(|pid| format!(", pid {pid}")).unwrap_or_default();
    format!(
        "{}: {} for {:.1} s{pid}{terminal}, lives as long as {}, {} not read: `{}` in {}",
        session.id(),
        describe_state(session),
        session.wall_time().as_secs_f64(),
        match origin.lifetime {
            Lifetime::Turn => "the turn",
            Lifetime::Session => "the session",
            Lifetime::Keep => "this process",
        },
        format_count(session.pending_output(), "byte"),
        abridge_command(&origin.command),
        format_path(&origin.workdir),
    )
}

/// Returns the first line of a command, truncated if it is long.
fn abridge_command(command: &str) -> String {
    let line = command.trim().lines().next().unwrap_or_default();
    let short: String = line.chars().take(MAX_COMMAND_CHARS).collect();
    if short.len() < command.trim().len() { format!("{short}…") } else { short }
}

fn session_json(session: &ProcessSession) -> Value {
    let origin = session.origin();
    json!({
        "session_id": session.id(),
        "state": describe_state(session),
        "pid": session.pid(),
        "command": origin.command,
        "workdir": origin.workdir,
        "tty": origin.terminal,
        "lifetime": origin.lifetime.as_str(),
        "owner": origin.owner,
        "wall_time_seconds": session.wall_time().as_secs_f64(),
        "unread_bytes": session.pending_output(),
    })
}
