//! `kill_session`: ends a session and all of its processes.

use std::sync::Arc;
use std::time::Instant;

use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, ToolError, ToolHandler, ToolJob, ToolOutput, WorkingDir};

use crate::commands::{
    CommandEnding, CommandReport, CommandRunner, ESCALATION_ARGS, EscalationRequest, OutputStreamer,
    ReportLabels, SandboxPermissions, end_command,
};
use crate::write_stdin::find_session;

/// The `kill_session` tool.
pub(crate) struct KillSession(pub(crate) Arc<CommandRunner>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// From exec_command or list_sessions.
    session_id: u32,
    /// Output limit (default 10000).
    max_output_tokens: Option<u64>,
    /// Accepted, but not needed to end a session.
    sandbox_permissions: Option<SandboxPermissions>,
    /// Tell the user why.
    justification: Option<String>,
}

impl ToolHandler for KillSession {
    type Args = Args;
    const NAME: &'static str = "kill_session";
    const ABOUT: &'static str =
        "Ends a session of exec_command with all its processes, and returns its last output.";
    const HIDDEN_ARGS: &'static [&'static str] = ESCALATION_ARGS;
    const JOB: ToolJob = ToolJob::Session;

    fn intent(&self, args: &Args, _: &WorkingDir) -> Result<Intent, ToolError> {
        let escalation = EscalationRequest {
            permissions: args.sandbox_permissions,
            justification: args.justification.as_deref(),
            ..EscalationRequest::default()
        };
        Ok(escalation.apply_to(Intent::nothing()))
    }

    async fn run(&self, args: &Args, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let began = Instant::now();
        let session = find_session(&self.0, args.session_id)?;
        let mut streamer = OutputStreamer::for_session(&session, cx);
        end_command(&session, None, &mut streamer).await;
        let report = CommandReport::new(&session, streamer, began, args.max_output_tokens, cx).await;
        if report.is_over() {
            self.0.sessions.forget(session.id());
        }
        let ending = match (report.is_over(), session.timed_out()) {
            (true, Some(limit)) => CommandEnding::TimedOut(limit),
            (true, None) => CommandEnding::Killed,
            (false, _) => CommandEnding::Running,
        };
        Ok(report.to_output(ending, ReportLabels::Session))
    }
}
