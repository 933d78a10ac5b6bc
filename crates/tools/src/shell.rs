//! `shell`: runs a program to its end.

use std::sync::Arc;

use exec::process::Stdio;
use exec::session::Lifetime;
use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Place, ToolError, ToolHandler, ToolOutput};

use crate::commands::{Commands, Plea, SandboxPermissions, Wanted, without_nul, workdir};

/// The tool.
pub(crate) struct Shell(pub(crate) Arc<Commands>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Program and arguments, e.g. `["git", "status"]`, or `["bash", "-lc", "make && make test"]` for a script.
    #[schemars(length(min = 1))]
    command: Vec<String>,
    /// Where to run it; the working directory if left out.
    workdir: Option<String>,
    /// Milliseconds after which it is ended, 10000 if left out.
    #[schemars(range(min = 1))]
    timeout_ms: Option<u64>,
    /// `require_escalated` asks to run it without the sandbox.
    sandbox_permissions: Option<SandboxPermissions>,
    /// For the user: why without the sandbox.
    justification: Option<String>,
}

impl ToolHandler for Shell {
    type Args = Args;
    const NAME: &'static str = "shell";
    const ABOUT: &'static str = "Runs a program to its end and returns its exit code and output. It reads nothing; whatever it leaves running is ended. For a script, give a shell with -lc. For what takes long or needs input, use exec_command.";
    const ALIASES: &'static [&'static str] = &["container.exec", "local_shell"];
    const ARG_ALIASES: &'static [(&'static str, &'static str)] =
        &[("cmd", "command"), ("timeout", "timeout_ms"), ("cwd", "workdir")];

    fn intent(&self, args: &Args, place: &Place) -> Result<Intent, ToolError> {
        if args.command.first().is_none_or(String::is_empty) {
            return Err(ToolError::argument("command[0]", "the name of a program, e.g. `ls`"));
        }
        for (at, word) in args.command.iter().enumerate() {
            without_nul(&format!("command[{at}]"), word)?;
        }
        let intent = Intent::run(args.command.clone(), &workdir(args.workdir.as_deref(), place)?);
        let plea =
            Plea { permissions: args.sandbox_permissions, justification: args.justification.as_deref() };
        Ok(plea.into(intent))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let wanted = Wanted {
            argv: args.command.clone(),
            shown: args.command.join(" "),
            workdir: args.workdir.as_deref(),
            stdio: Stdio::Piped,
            lifetime: Lifetime::Session,
        };
        self.0.run_once(wanted, args.timeout_ms, permit, cx).await
    }
}
