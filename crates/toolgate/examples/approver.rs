//! An approver: is asked before a dangerous command, shows the question, and decides.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use toolgate::approval::{ApprovalQuestion, Approver, ReviewDecision};
use toolgate::call::CallId;
use toolgate::sandbox::SandboxPolicy;
use toolgate::tool::Effect;
use toolgate::{BoxFuture, Toolgate, json};

/// Says yes to commands of a list that stay in the sandbox, and no to the rest.
struct KnownCommands(&'static [&'static str]);

impl KnownCommands {
    fn knows(&self, question: &ApprovalQuestion) -> bool {
        let known = question.intent.effects.iter().all(|effect| match effect {
            Effect::Exec(run) => run.line().script().is_some_and(|script| self.0.contains(&script)),
            Effect::Read(_) => true, // the policy has checked it: the directory of the command
            _ => false,
        });
        // A yes also gives these rights, and the call could ask to run unconfined.
        known && question.grants.is_empty() && question.confinement.is_some()
    }
}

impl Approver for KnownCommands {
    fn ask<'a>(&'a self, _: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(async move {
            // A program with people would show this to them and await their answer here.
            println!("{} asks:", question.tool);
            for reason in &question.reasons {
                println!("  because {reason}");
            }
            let effects = question.effect_summary();
            println!("  it seems to write {:?} and start {:?}", effects.writes, effects.programs);
            match self.knows(question) {
                true => ReviewDecision::Approved,
                false => ReviewDecision::Denied { note: Some("use `rm -rf build`".to_owned()) },
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
        .approver(Arc::new(KnownCommands(&["rm -rf build"])))
        .build()?;
    for command in ["mkdir -p build src", "rm -rf build", "rm -rf src"] {
        let answer = toolgate.call("shell_command", json!({ "command": command })).await;
        let text = answer.joined_text();
        println!("{command}: {}", text.lines().next().unwrap_or_default());
    }
    Ok(())
}
