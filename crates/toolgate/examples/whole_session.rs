//! A session as `toolgate run` has it: configuration, journal and timeline. A script stands for the model.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]
#![expect(clippy::disallowed_methods, reason = "an example writes the files that it shows")]

use std::error::Error;
use std::sync::Arc;

use toolgate::agent::{SessionEvent, SessionObserver};
use toolgate::config::UserDirs;
use toolgate::config::flags::WorkspaceArgs;
use toolgate::journal::{SessionTimeline, TextBudget};
use toolgate::session::choose_model::{ModelLocation, choose_model};
use toolgate::session::compose::compose_in_dirs;
use toolgate::session::{AssembledSession, SessionSpec, assemble, close_journal};

/// One response of the model a line.
const SCRIPT: &str = r#"
{"items": [{"type": "function_call", "name": "read_file", "arguments": {"path": "greeting.txt"}}]}
{"items": [{"type": "message", "text": "The file says hello."}]}
"#;

struct TextPrinter;

impl SessionObserver for TextPrinter {
    fn on_session_event(&self, event: SessionEvent<'_>) {
        if let SessionEvent::Text(text) = event {
            print!("{text}");
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let home = home.path();
    std::fs::write(home.join("greeting.txt"), "hello\n")?;
    std::fs::write(home.join("model.jsonl"), SCRIPT)?;
    // A program for users takes `UserDirs::from_env()`, which finds their configuration and journals.
    let dirs = UserDirs { sessions: Some(home.join("sessions")), ..UserDirs::default() };
    let place = WorkspaceArgs { cwd: Some(home.to_owned()), ..WorkspaceArgs::default() };
    let tools = compose_in_dirs(&place, dirs.clone(), |_| {})?;
    let script = ModelLocation { script: Some(home.join("model.jsonl")), ..ModelLocation::default() };
    let model = choose_model(&script, tools.model_name())?;

    let spec = SessionSpec { observer: Arc::new(TextPrinter), ..SessionSpec::new(tools, dirs, Some(model)) };
    let mut assembled = assemble(spec)?;
    let session = assembled.session.as_mut().ok_or("a session with a model")?;
    let end = session.prompt("What does greeting.txt say?", Vec::new()).await?;
    println!("\n({})", end.as_str());

    AssembledSession::shut_down(&assembled.toolgate, assembled.servers, assembled.agents).await;
    close_journal(&assembled.recorder, "done")?;
    let timeline = SessionTimeline::read(assembled.recorder.path(), TextBudget::for_display())?;
    for (_, call) in timeline.calls() {
        println!("{} {}: {}", call.call.tool, call.call.arguments, call.succeeded());
    }
    Ok(())
}
