//! `process_start`: starts a background process for a program that reads its output.

use std::sync::Arc;

use exec::process::{PtySize, Stdio};
use exec::session::Lifetime;
use policy::{CommandLine, Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool::{Cx, ToolError, ToolHandler, ToolOutput, WorkingDir};

use super::data_output;
use crate::commands::{CommandRequest, CommandRunner, reject_nul, resolve_workdir};

/// The `process_start` tool.
pub(super) struct ProcessStartTool(pub(super) Arc<CommandRunner>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Script for the user's shell.
    command: Option<String>,
    /// Program and arguments, instead of a script.
    argv: Option<Vec<String>>,
    cwd: Option<String>,
    tty: Option<TerminalSizeArg>,
    #[serde(default)]
    stdin: bool,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TerminalSizeArg {
    #[schemars(range(min = 1, max = 1000))]
    rows: u16,
    #[schemars(range(min = 1, max = 1000))]
    cols: u16,
}

impl ProcessStartTool {
    fn command_line(&self, args: &Args) -> Result<CommandLine, ToolError> {
        match (&args.command, &args.argv) {
            (Some(script), None) => {
                reject_nul("command", script)?;
                Ok(self.0.find_shell(None)?.command_line(script, true))
            }
            (None, Some(argv)) if argv.first().is_some_and(|program| !program.is_empty()) => {
                argv.iter().try_for_each(|word| reject_nul("argv", word))?;
                Ok(argv.clone().into())
            }
            (None, Some(_)) => Err(ToolError::bad_argument("argv", "it names no program")),
            (None, None) => Err(ToolError::bad_argument("command", "there is neither `command` nor `argv`")),
            (Some(_), Some(_)) => {
                Err(ToolError::bad_argument("command", "there is `command` and `argv`; give one of them"))
            }
        }
    }
}

impl ToolHandler for ProcessStartTool {
    type Args = Args;
    const NAME: &'static str = "process_start";
    const ABOUT: &'static str = "Starts a process.";

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        let intent =
            Intent::run(self.command_line(args)?, &resolve_workdir(args.cwd.as_deref(), working_dir)?);
        Ok(intent.with_terminal(args.tty.is_some()))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let commands = &self.0;
        commands.sessions.make_room().map_err(|full| ToolError::io(full.to_string()))?;
        let argv = args.argv.iter().flatten().cloned();
        let command_text = args.command.clone().unwrap_or_else(|| argv.collect::<Vec<_>>().join(" "));
        let stdio = match args.tty {
            Some(TerminalSizeArg { rows, cols }) => Stdio::Terminal(PtySize { rows, cols }),
            None if args.stdin => Stdio::PipedInput,
            None => Stdio::NoInput,
        };
        let request = CommandRequest { command_text, stdio, lifetime: Lifetime::Session };
        let (session, pump) = commands.start(request, permit, cx).await?;
        // The program reads it a moment later; until then all of the output is kept.
        session.keep_for_stream();
        commands.sessions.adopt(&session, pump);
        Ok(data_output(format!("process {} runs", session.id()), json!({ "process_id": session.id() })))
    }
}
