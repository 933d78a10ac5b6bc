//! `toolgate pipe`: reads a model's items as JSON lines and writes the items that answer them.

mod asking;
mod eliciting;
mod events;
mod lines;
mod session;
#[cfg(test)]
mod tests;

pub(crate) use asking::{line as question, read as decision};
pub(crate) use events::event_line;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use toolgate::mcp::{Elicitor, McpClientDeps};
use toolgate::{Approver, ToolMetrics, CallObserver};

use crate::args::PipeArgs;
use crate::compose::{ComposedTools, compose};
use crate::config::UserDirs;
use crate::fault::{CliFault, INTERRUPTED};
use crate::screen;
use crate::servers::{self, ServerNotices};
use crate::turns::TurnDiffRecorder;

pub(crate) fn run(args: &PipeArgs) -> Result<ExitCode, CliFault> {
    let composed = compose(&args.place)?;
    let (events, happened) = events::queue();
    let watched = args.events.then(|| Arc::new(events) as Arc<dyn CallObserver>);
    let composed = watched.into_iter().fold(composed, ComposedTools::observed);
    // Without `--ask` there is no approver: a call that needs approval is refused at once.
    let (approver, asked) = asking::channel();
    let (elicit, wanted) = eliciting::channel();
    let approver = args.ask.then(|| Arc::new(approver) as Arc<dyn Approver>);
    let composed = approver.into_iter().fold(composed, ComposedTools::asking);
    if io::stdin().is_terminal() {
        screen::hint("reading a model's items from the terminal, one JSON value a line; Ctrl-D ends");
    }
    super::block_on(async {
        let elicit = args.ask.then(|| Arc::new(elicit) as Arc<dyn Elicitor>);
        let means = McpClientDeps { watch: Some(Arc::new(ServerNotices::All)), elicit, ..McpClientDeps::default() };
        let (composed, servers) = composed.serving(means, |_| true)?;
        let toolgate = composed.build()?;
        if let Some(servers) = &servers {
            servers.required().await.map_err(|missing| CliFault::usage(missing.to_string()))?;
        }
        let write = |line: &Value| screen::text(&line.to_string());
        let state = UserDirs::from_env()?.state;
        let turns = args.events.then(|| TurnDiffRecorder::begin(&toolgate, state.as_deref()));
        let mut session = session::PipeSession::new(args.wire.dialect(), &toolgate, write, turns);
        let stopped = session.run(lines::lines(), happened, (asked, wanted), interrupts()?).await?;
        toolgate.close().await;
        servers::ended(servers).await;
        if let Some(hint) = session.hint() {
            screen::hint(&hint);
        }
        if args.stats {
            stats(toolgate.router().metrics());
        }
        Ok(if stopped { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
    })
}

/// Reports the first Ctrl-C. The second ends the process, even while a write to standard output blocks.
fn interrupts() -> Result<mpsc::Receiver<()>, CliFault> {
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
    screen::to_stderr("tool             calls   errors      p50      p99");
    for tool in metrics.snapshot() {
        let (p50, p99) = (tool.percentile(50), tool.percentile(99));
        let (calls, errors) = (tool.calls(), tool.errors);
        screen::to_stderr(&format!("{:<14} {calls:>7}  {errors:>7}  {p50:>7.1?}  {p99:>7.1?}", tool.tool));
    }
}
