//! Errors, limits and cancellation: each call gets an answer, and a failed one has a kind for programs.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::{Duration, Instant};

use toolgate::call::{CallId, CallLimits};
use toolgate::{ToolCall, ToolOutput, Toolgate, json};

fn print(what: &str, answer: &ToolOutput) {
    let kind = answer.facts.error.map_or("none", |kind| kind.as_str());
    let text = answer.joined_text();
    println!("{what}\n  error: {kind}; the model reads: {}", text.lines().next().unwrap_or_default());
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let limits = CallLimits { call_timeout: Duration::from_secs(2), ..CallLimits::default() };
    let toolgate = Toolgate::at(".").with_tools().limits(limits).build()?;
    let sleep = json!({"command": "sleep 60"});

    print("an unknown tool", &toolgate.call("read_fil", json!({})).await);
    print("a missing argument", &toolgate.call("read_file", json!({"paht": "x"})).await);
    print("a file elsewhere", &toolgate.call("read_file", json!({"path": "/etc/shadow"})).await);
    print("a missing file", &toolgate.call("read_file", json!({"path": "no-such-file"})).await);
    // A command that fails is no error: its answer has the exit code.
    let answer = toolgate.call("shell_command", json!({"command": "exit 3"})).await;
    println!("a command that fails\n  exit code: {:?}", answer.facts.exit_code);
    print("a command over the limit of time", &toolgate.call("shell_command", sleep.clone()).await);

    // The calls of a model's turn run side by side. One of them is cancelled; both are answered, in order.
    let mut turn = toolgate.call_runtime();
    turn.start(ToolCall::function("call_1", "shell_command", sleep.to_string()))?;
    turn.start(ToolCall::function("call_2", "list_dir", json!({"path": "."}).to_string()))?;
    let began = Instant::now();
    turn.cancel(&CallId::from("call_1"));
    while let Some(answered) = turn.next_answer().await {
        print(&format!("{} after {:.0?}", answered.call.id, began.elapsed()), &answered.output);
    }
    toolgate.close().await;
    Ok(())
}
