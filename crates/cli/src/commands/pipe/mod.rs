//! `toolgate pipe`: reads a model's items as JSON lines and writes the items that answer them.

mod approvals;
mod elicitations;
mod event_queue;
mod input_lines;
mod pipe_session;
#[cfg(test)]
mod tests;

pub(crate) use approvals::{parse_decision as decision, question_json as question};
pub(crate) use event_queue::event_line;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use toolgate::mcp::{Elicitor, McpClientDeps};
use toolgate::{Approver, CallObserver, ToolMetrics};

use crate::args::PipeArgs;
use crate::exit_status::INTERRUPTED;
use config::OperationFault;
use config::UserDirs;
use session::compose::{ComposedTools, compose};
use session::mcp_servers::{self, ServerNotices};
use session::turn_diff_store::TurnDiffRecorder;

pub(crate) fn run(args: &PipeArgs) -> Result<ExitCode, OperationFault> {
    let composed = compose(&args.place)?;
    let (events, happened) = event_queue::channel();
    let watched = args.events.then(|| Arc::new(events) as Arc<dyn CallObserver>);
    let composed = watched.into_iter().fold(composed, ComposedTools::with_observer);
    // Without `--ask` there is no approver: a call that needs approval is refused at once.
    let (approver, asked) = approvals::channel();
    let (elicit, wanted) = elicitations::channel();
    let approver = args.ask.then(|| Arc::new(approver) as Arc<dyn Approver>);
    let composed = approver.into_iter().fold(composed, ComposedTools::with_approver);
    if io::stdin().is_terminal() {
        terminal::print_hint("reading a model's items from the terminal, one JSON value a line; Ctrl-D ends");
    }
    super::block_on(async {
        let elicit = args.ask.then(|| Arc::new(elicit) as Arc<dyn Elicitor>);
        let means = McpClientDeps {
            observer: Some(Arc::new(ServerNotices::All)),
            elicitor: elicit,
            ..McpClientDeps::default()
        };
        let (composed, servers) = composed.start_servers(means, |_| true)?;
        let toolgate = composed.build()?;
        if let Some(servers) = &servers {
            servers
                .wait_for_required()
                .await
                .map_err(|missing| OperationFault::usage(missing.to_string()))?;
        }
        let write = |line: &Value| terminal::print_text(&line.to_string());
        let state = UserDirs::from_env()?.state;
        let turns = args.events.then(|| TurnDiffRecorder::start(&toolgate, state.as_deref()));
        let mut session = pipe_session::PipeSession::new(args.wire.dialect(), &toolgate, write, turns);
        let stopped =
            session.run(input_lines::spawn_stdin_reader(), happened, (asked, wanted), interrupts()?).await?;
        toolgate.close().await;
        mcp_servers::close_servers(servers).await;
        if let Some(hint) = session.hint() {
            terminal::print_hint(&hint);
        }
        if args.stats {
            stats(toolgate.router().metrics());
        }
        Ok(if stopped { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
    })
}

/// Reports the first Ctrl-C. The second ends the process, even while a write to standard output blocks.
fn interrupts() -> Result<mpsc::Receiver<()>, OperationFault> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let (first, told) = mpsc::channel(1);
    #[expect(clippy::disallowed_methods, reason = "no call: it watches for signals")]
    tokio::spawn(async move {
        interrupts.recv().await;
        let _over_already = first.send(()).await;
        interrupts.recv().await;
        std::process::exit(i32::from(INTERRUPTED));
    });
    Ok(told)
}

fn stats(metrics: &ToolMetrics) {
    terminal::print_stderr("tool             calls   errors      p50      p99");
    for tool in metrics.snapshot() {
        let (p50, p99) = (tool.percentile(50), tool.percentile(99));
        let (calls, errors) = (tool.call_count(), tool.errors);
        terminal::print_stderr(&format!(
            "{:<14} {calls:>7}  {errors:>7}  {p50:>7.1?}  {p99:>7.1?}",
            tool.tool
        ));
    }
}
