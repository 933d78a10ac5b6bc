//! `toolgate pipe`: runs `server::pipe`, stops it on Ctrl-C, and prints the table of `--stats`.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use config::OperationFault;
use runtime::ToolMetrics;
use server::pipe::{self, PipeSettings};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::args::PipeArgs;
use crate::exit_status::INTERRUPTED;

pub(crate) fn run(args: &PipeArgs) -> Result<ExitCode, OperationFault> {
    if io::stdin().is_terminal() {
        terminal::print_hint("reading a model's items from the terminal, one JSON value a line; Ctrl-D ends");
    }
    let PipeArgs { wire, events, ask, stats, place } = args;
    let settings = PipeSettings { dialect: wire.dialect(), events: *events, ask: *ask, flags: place.clone() };
    super::block_on(async {
        let end = pipe::run(&settings, interrupts()?).await?;
        if let Some(hint) = &end.hint {
            terminal::print_hint(hint);
        }
        if *stats {
            print_stats(end.toolgate.router().metrics());
        }
        Ok(if end.interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
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

fn print_stats(metrics: &ToolMetrics) {
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
