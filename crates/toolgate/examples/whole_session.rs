//! A session with a model in your own program: configuration, journal and timeline. Needs the feature `session`.
//!
//! A script stands for the model, so that the example needs no key. Run it with
//! `cargo run --package toolgate --features session --example whole_session`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use toolgate::agent::{SessionEvent, SessionObserver};
use toolgate::config::UserDirs;
use toolgate::config::flags::WorkspaceArgs;
use toolgate::journal::{SessionTimeline, TextBudget};
use toolgate::session::choose_model::{ModelLocation, choose_model};
use toolgate::session::compose::compose_in_dirs;
use toolgate::session::{AssembledSession, SessionSpec, assemble, close_journal};

/// The script of the model, one response a line.
const SCRIPT: &str = r#"
{"items": [{"type": "function_call", "name": "read_file", "arguments": {"path": "greeting.txt"}}]}
{"items": [{"type": "message", "text": "The file says hello."}]}
"#;

/// Prints the model's text as it arrives.
struct TextPrinter;

impl SessionObserver for TextPrinter {
    fn on_session_event(&self, event: SessionEvent<'_>) {
        if let SessionEvent::Text(text) = event {
            print!("{text}");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "an example writes the files that it shows")]
fn main() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("greeting.txt"), "hello\n")?;
    std::fs::write(home.path().join("model.jsonl"), SCRIPT)?;
    tokio::runtime::Runtime::new()?.block_on(run(home.path()))
}

async fn run(home: &Path) -> Result<(), Box<dyn Error>> {
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
