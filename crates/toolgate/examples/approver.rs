//! An approver: is asked before a dangerous command, shows the question, and decides.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use toolgate::approval::{ApprovalQuestion, Approver, ReviewDecision};
use toolgate::call::CallId;
use toolgate::sandbox::SandboxPolicy;
use toolgate::{BoxFuture, Toolgate, json};

/// Says yes to everything in `build/`, and no to the rest.
struct BuildDirectoryOnly;

impl Approver for BuildDirectoryOnly {
    fn ask<'a>(&'a self, _: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(async move {
            // A program with people would show this to them and await their answer here.
            let effects = question.effect_summary();
            println!("{} asks:", question.tool);
            for reason in &question.reasons {
                println!("  because {reason}");
            }
            println!("  it writes {:?}, starts {:?}", effects.writes, effects.programs);
            match effects.writes.iter().all(|path| path.starts_with("build/")) {
                true => ReviewDecision::Approved,
                false => ReviewDecision::Denied { note: Some("only build/ may be removed".to_owned()) },
            }
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let toolgate = Toolgate::at(directory.path())
        .with_tools()
        .sandbox(SandboxPolicy::WorkspaceWrite)
        .approver(Arc::new(BuildDirectoryOnly))
        .build()?;
    for command in ["mkdir -p build/old src", "rm -rf build/old", "rm -rf src"] {
        let answer = toolgate.call("shell_command", json!({ "command": command })).await;
        let text = answer.joined_text();
        println!("{command}: {}", text.lines().next().unwrap_or_default());
    }
    Ok(())
}
