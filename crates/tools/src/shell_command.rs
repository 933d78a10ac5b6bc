//! `shell_command`: runs a script to its end.

use std::sync::Arc;

use exec::process::Stdio;
use exec::session::Lifetime;
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Place, ToolError, ToolHandler, ToolOutput};

use crate::commands::{Commands, Plea, SandboxPermissions, Wanted, without_nul, workdir};

/// The tool.
pub(crate) struct ShellCommand(pub(crate) Arc<Commands>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Script for the user's shell, e.g. `cargo test 2>&1 | tail -50`.
    command: String,
    /// Where to run it; the working directory if left out.
    workdir: Option<String>,
    /// Whether the user's profile counts, as in a login shell; true if left out.
    login: Option<bool>,
    /// Milliseconds after which it is ended, 10000 if left out.
    #[schemars(range(min = 1))]
    timeout_ms: Option<u64>,
    /// `require_escalated` asks to run it without the sandbox.
    sandbox_permissions: Option<SandboxPermissions>,
    /// For the user: why without the sandbox.
    justification: Option<String>,
}

impl ShellCommand {
    fn argv(&self, args: &Args) -> Result<Vec<String>, ToolError> {
        Ok(self.0.shell(None)?.argv(&args.command, args.login.unwrap_or(true)))
    }
}

impl ToolHandler for ShellCommand {
    type Args = Args;
    const NAME: &'static str = "shell_command";
    const ABOUT: &'static str = "Runs a script in the user's shell to its end and returns its exit code and output. It reads nothing; whatever it leaves running is ended. For what takes long, runs in the background or needs input, use exec_command.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] =
        &[("cmd", "command"), ("timeout", "timeout_ms"), ("cwd", "workdir")];

    fn intent(&self, args: &Args, place: &Place) -> Result<Intent, ToolError> {
        without_nul("command", &args.command)?;
        let intent = Intent::run(self.argv(args)?, &workdir(args.workdir.as_deref(), place)?);
        let plea =
            Plea { permissions: args.sandbox_permissions, justification: args.justification.as_deref() };
        Ok(plea.into(intent))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let wanted = Wanted {
            argv: self.argv(args)?,
            shown: args.command.clone(),
            workdir: args.workdir.as_deref(),
            stdio: Stdio::Piped,
            lifetime: Lifetime::Session,
        };
        self.0.run_once(wanted, args.timeout_ms, permit, cx).await
    }
}
