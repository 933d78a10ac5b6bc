//! A conversation with a model: the history, retries and the loop of calls are done for you. Nothing is recorded.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use toolgate::Toolgate;
use toolgate::agent::{
    AgentSession, AgentSessionSetup, ScriptedBackend, ScriptedTurn, SessionEvent, SessionObserver,
};
use toolgate::wire::Dialect;

/// One response of the model a line.
const SCRIPT: &str = r#"
{"items": [{"type": "function_call", "name": "shell_command", "arguments": {"command": "date +%A"}}]}
{"items": [{"type": "message", "text": "I looked at the calendar."}]}
{"items": [{"type": "message", "text": "Tomorrow is another day."}]}
"#;

/// Prints text as it arrives, and each call with its answer.
struct ConversationPrinter;

impl SessionObserver for ConversationPrinter {
    fn on_session_event(&self, event: SessionEvent<'_>) {
        match event {
            SessionEvent::Text(text) => print!("{text}"),
            SessionEvent::Called(call) => println!("[{}]", call.name),
            SessionEvent::Answered(_, output) => println!("[success: {}]", output.success),
            _ => {}
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // A real model: ModelEndpoint::new(Dialect::Responses, "https://api.openai.com/v1", Some(&key))?
    let model = ScriptedBackend::new(Dialect::Responses, ScriptedTurn::parse_script(SCRIPT)?);
    let toolgate = Toolgate::at(".").with_tools().build()?;
    let setup = AgentSessionSetup {
        observer: Arc::new(ConversationPrinter),
        ..AgentSessionSetup::new(toolgate.router().clone(), Arc::new(model), "gpt-5")
    };
    let mut session = AgentSession::new(setup, None)?;
    // `session.handle()` interrupts a turn, or adds to it, from another task.
    for prompt in ["What day is it?", "And tomorrow?"] {
        println!("> {prompt}");
        let end = session.prompt(prompt, Vec::new()).await?;
        println!("\n({})", end.as_str());
    }
    toolgate.close().await;
    Ok(())
}
