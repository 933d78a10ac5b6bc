//! `remember`: saves a memory for later sessions.

use std::sync::Arc;

use policy::{Effect, Intent, MemoryNote, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, ToolError, ToolHandler, ToolOutput, WorkingDir};

use crate::memory_store::{MAX_MEMORY_BYTES, MemoryScope, MemoryStore, is_valid_name};

/// The `remember` tool.
pub struct Remember(pub Arc<MemoryStore>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Short, e.g. `how-to-test`; replaces one of that name.
    name: String,
    text: String,
    /// Scope (default project).
    scope: Option<MemoryScope>,
}

impl ToolHandler for Remember {
    type Args = Args;
    const NAME: &'static str = "remember";
    const ABOUT: &'static str = "Keeps a fact that the user wants you to know in later sessions.";

    /// A memory affects every later session, so the user must see and approve it.
    fn intent(&self, args: &Args, _: &WorkingDir) -> Result<Intent, ToolError> {
        let Args { name, text, scope } = args;
        if !is_valid_name(name) {
            return Err(ToolError::bad_argument("name", "it must be 1 to 64 letters, digits, - and _"));
        }
        if text.trim().is_empty() || text.len() > MAX_MEMORY_BYTES {
            return Err(ToolError::bad_argument(
                "text",
                format!("it must have 1 to {MAX_MEMORY_BYTES} bytes"),
            ));
        }
        let scope = match scope.unwrap_or(MemoryScope::Project) {
            MemoryScope::Project => "this project",
            MemoryScope::User => "all of your projects",
        };
        // Clients that approve calls show this diff.
        let diff = text.lines().map(|line| format!("+{line}\n")).collect();
        let (name, scope, text) = (name.clone(), scope.to_owned(), text.clone());
        let intent = Intent::from_effects(vec![Effect::Remember(MemoryNote { name, scope, text })]);
        Ok(Intent { diff: Some(diff), ..intent })
    }

    async fn run(&self, args: &Args, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let Args { name, text, scope } = args;
        let scope = scope.unwrap_or(MemoryScope::Project);
        let (memories, name, text) = (Arc::clone(&self.0), name.clone(), text.clone());
        cx.run_blocking(move |_| {
            let kept = memories.save(scope, &name, &text);
            let file = kept.map_err(|fault| ToolError::io(format!("it was not kept: {fault}")))?;
            Ok(ToolOutput::text(format!("kept in {}", file.display())))
        })
        .await
    }
}
