//! Reads a model's items as JSON lines and writes their answers (`toolgate pipe`).

mod approvals;
mod elicitations;
mod event_queue;
mod input_lines;
mod pipe_session;
#[cfg(test)]
mod tests;

pub(crate) use approvals::{parse_decision, question_json};

use std::sync::Arc;

use runtime::mcp::{Elicitor, McpClientDeps};
use runtime::wire::Dialect;
use runtime::{Approver, CallObserver, Toolgate};
use serde_json::Value;
use tokio::sync::mpsc;

use config::OperationFault;
use config::UserDirs;
use config::flags::WorkspaceArgs;
use session::compose::{ComposedTools, compose};
use session::mcp_servers::{self, ServerNotices};
use session::turn_diff_store::TurnDiffRecorder;

/// The settings of a session.
#[derive(Debug)]
pub struct PipeSettings {
    /// The API of the items that are read and written.
    pub dialect: Dialect,
    /// Also write the progress of each call.
    pub events: bool,
    /// Write approval questions and read the answers. Otherwise calls that need approval are refused.
    pub ask: bool,
    /// The configuration of the session.
    pub flags: WorkspaceArgs,
}

/// The result of a session.
pub struct PipeEnd {
    /// True if Ctrl-C ended the session.
    pub interrupted: bool,
    /// A hint for the user, if the input looked wrong.
    pub hint: Option<String>,
    /// The closed tools, for their metrics.
    pub toolgate: Toolgate,
}

/// Answers the calls on stdin until the input ends, or `interrupts` receives a message.
pub async fn run(settings: &PipeSettings, interrupts: mpsc::Receiver<()>) -> Result<PipeEnd, OperationFault> {
    let composed = compose(&settings.flags)?;
    let (events, happened) = event_queue::channel();
    let watched = settings.events.then(|| Arc::new(events) as Arc<dyn CallObserver>);
    let composed = watched.into_iter().fold(composed, ComposedTools::with_observer);
    // Without `ask` there is no approver: a call that needs approval is refused at once.
    let (approver, asked) = approvals::channel();
    let (elicit, wanted) = elicitations::channel();
    let approver = settings.ask.then(|| Arc::new(approver) as Arc<dyn Approver>);
    let composed = approver.into_iter().fold(composed, ComposedTools::with_approver);
    let elicitor = settings.ask.then(|| Arc::new(elicit) as Arc<dyn Elicitor>);
    let deps =
        McpClientDeps { observer: Some(Arc::new(ServerNotices::All)), elicitor, ..McpClientDeps::default() };
    let (composed, servers) = composed.start_servers(deps, |_| true)?;
    let toolgate = composed.build()?;
    if let Some(servers) = &servers {
        servers.wait_for_required().await.map_err(|missing| OperationFault::usage(missing.to_string()))?;
    }
    let write = |line: &Value| terminal::print_text(&line.to_string());
    let state = UserDirs::from_env()?.state;
    let turns = settings.events.then(|| TurnDiffRecorder::start(&toolgate, state.as_deref()));
    let mut session = pipe_session::PipeSession::new(settings.dialect, &toolgate, write, turns);
    let interrupted =
        session.run(input_lines::spawn_stdin_reader(), happened, (asked, wanted), interrupts).await?;
    let hint = session.hint();
    toolgate.close().await;
    mcp_servers::close_servers(servers).await;
    Ok(PipeEnd { interrupted, hint, toolgate })
}
