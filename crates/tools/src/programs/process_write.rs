//! `process_write`: writes a client program's text to a process's standard input, and can close it.

use std::sync::Arc;

use policy::{Effect, Intent, Permit, ProgramInput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool::{Cx, ToolError, ToolHandler, ToolOutput, WorkingDir};

use super::data_output;
use crate::commands::CommandRunner;
use crate::write_stdin::find_session;

/// The `process_write` tool.
pub(super) struct ProcessWriteTool(pub(super) Arc<CommandRunner>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    process_id: u32,
    #[serde(default)]
    text: String,
    #[serde(default)]
    close: bool,
}

impl ToolHandler for ProcessWriteTool {
    type Args = Args;
    const NAME: &'static str = "process_write";
    const ABOUT: &'static str = "Writes input to a process.";

    fn intent(&self, args: &Args, _: &WorkingDir) -> Result<Intent, ToolError> {
        let session = find_session(&self.0, args.process_id)?;
        let (command_line, confined) = (session.origin().command.clone(), session.confinement().is_some());
        Ok(Intent::from_effects(vec![Effect::SendInput(ProgramInput {
            command_line,
            text: args.text.clone(),
            confined,
        })]))
    }

    async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let session = find_session(&self.0, args.process_id)?;
        if !args.text.is_empty() {
            session.write_input(args.text.as_bytes()).map_err(|fault| {
                ToolError::bad_argument(
                    "text",
                    format!("process {} cannot take it: {fault}", args.process_id),
                )
            })?;
        }
        if args.close {
            session.close_input();
        }
        Ok(data_output("typed", json!({})))
    }
}
