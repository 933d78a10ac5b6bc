//! An observer: sees every call while it runs, with the output of commands as they write it.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use toolgate::call::CallId;
use toolgate::observe::{CallEvent, CallObserver, ToolNotice};
use toolgate::{Toolgate, json};

struct CallPrinter;

impl CallObserver for CallPrinter {
    // Runs on the thread of the call, so it must not block: a screen gets the event through a channel.
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        match event {
            CallEvent::Queued { tool } => println!("{tool}"),
            CallEvent::Judged { verdict, by, .. } => println!("  verdict: {verdict} ({by})"),
            CallEvent::Notice(ToolNotice::Output { stream, text }) => {
                println!("  {}: {text:?}", stream.as_str());
            }
            CallEvent::Finished { success, elapsed, .. } => {
                println!("  success: {success}, {} ms", elapsed.as_millis());
            }
            // Started, attempted, asked, decided, other notices.
            other => println!("  {other:?}"),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let toolgate = Toolgate::at(".").with_tools().observer(Arc::new(CallPrinter)).build()?;
    toolgate.call("list_dir", json!({"path": "."})).await;
    let command = "echo compiling; sleep 0.2; echo done; exit 3";
    toolgate.call("shell_command", json!({ "command": command })).await;

    for stats in toolgate.router().metrics().snapshot() {
        println!("{}: {} calls, median {:?}", stats.tool, stats.call_count(), stats.percentile(50));
    }
    Ok(())
}
