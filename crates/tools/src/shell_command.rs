//! `shell_command`: runs a script to its end.

use std::borrow::Cow;
use std::sync::Arc;

use policy::{CommandLine, Intent, Permit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use tool::{Cx, JsonType, ShellForm, ToolError, ToolHandler, ToolJob, ToolOutput, WorkingDir};

use crate::commands::{CommandRunner, EscalationRequest, SandboxPermissions, reject_nul, resolve_workdir};

/// A command: a program with arguments, or a script. Each shell tool documents one form for models and accepts both.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum CommandArg {
    Words(Vec<String>),
    Script(String),
}

impl JsonSchema for CommandArg {
    fn schema_name() -> Cow<'static, str> {
        "CommandArg".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["array", "string"], "items": { "type": "string" }, "minItems": 1 })
    }
}

impl CommandArg {
    /// Returns the command line to run. A script runs in the user's shell, which reads their profile if `login`.
    pub(crate) fn parse(&self, commands: &CommandRunner, login: bool) -> Result<CommandLine, ToolError> {
        match self {
            Self::Script(script) => {
                reject_nul("command", script)?;
                Ok(commands.find_shell(None)?.command_line(script, login))
            }
            Self::Words(words) => {
                if words.first().is_none_or(String::is_empty) {
                    return Err(ToolError::bad_argument("command[0]", "the name of a program, e.g. `ls`"));
                }
                for (at, word) in words.iter().enumerate() {
                    reject_nul(&format!("command[{at}]"), word)?;
                }
                Ok(words.clone().into())
            }
        }
    }

    /// Returns the command as the model wrote it, for lists.
    pub(crate) fn display_text(&self) -> String {
        match self {
            Self::Script(script) => script.clone(),
            Self::Words(words) => words.join(" "),
        }
    }
}

/// The `shell_command` tool.
pub(crate) struct ShellCommand(pub(crate) Arc<CommandRunner>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Script for the user's shell, e.g. `cargo test 2>&1 | tail -50`.
    command: CommandArg,
    /// Run it here (default: the working directory).
    workdir: Option<String>,
    /// Load the user's profile, like a login shell (default true).
    login: Option<bool>,
    /// Kill it after this many milliseconds (default 10000).
    #[schemars(range(min = 1))]
    timeout_ms: Option<u64>,
    /// `require_escalated` asks to run outside the sandbox.
    sandbox_permissions: Option<SandboxPermissions>,
    /// Tell the user why it must leave the sandbox.
    justification: Option<String>,
    /// Same as `sandbox_permissions: "require_escalated"`.
    with_escalated_permissions: Option<bool>,
    /// Propose a rule to save, e.g. `["cargo", "test"]`.
    prefix_rule: Option<Vec<String>>,
}

impl ToolHandler for ShellCommand {
    type Args = Args;
    const NAME: &'static str = "shell_command";
    const ABOUT: &'static str = "Runs a script in the user's shell to its end and returns its exit code and output. It reads nothing; whatever it leaves running is ended.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[
        ("cmd", "command"),
        ("timeout", "timeout_ms"),
        ("cwd", "workdir"),
        ("request_permission_elevation", "with_escalated_permissions"),
    ];
    const HIDDEN_ARGS: &'static [&'static str] = &["with_escalated_permissions", "prefix_rule"];
    const ADVERTISED_TYPES: &'static [(&'static str, JsonType)] = &[("command", JsonType::String)];
    const JOB: ToolJob = ToolJob::Shell(ShellForm::Script);

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        let line = args.command.parse(&self.0, args.login.unwrap_or(true))?;
        let intent = Intent::run(line, &resolve_workdir(args.workdir.as_deref(), working_dir)?);
        let escalation = EscalationRequest {
            permissions: args.sandbox_permissions,
            escalated: args.with_escalated_permissions,
            justification: args.justification.as_deref(),
            prefix_rule: args.prefix_rule.as_deref(),
        };
        Ok(escalation.apply_to(intent))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        self.0.run_once(args.command.display_text(), args.timeout_ms, permit, cx).await
    }
}
