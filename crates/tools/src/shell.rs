//! `shell`: runs a program to its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use policy::{CommandLine, EnvironmentPolicy, Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, JsonType, ShellForm, ToolError, ToolHandler, ToolJob, ToolOutput, WorkingDir};

use crate::commands::{CommandRunner, EscalationRequest, SandboxPermissions, resolve_workdir};
use crate::shell_command::CommandArg;

/// The `shell` tool.
pub(crate) struct ShellTool(pub(crate) Arc<CommandRunner>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Program and arguments, e.g. `["git", "status"]`, or `["bash", "-lc", "make && make test"]` for a script.
    command: CommandArg,
    /// Run it here (default: the working directory).
    workdir: Option<String>,
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
    /// Set these environment variables, e.g. `{"CI": "1"}`.
    env: Option<BTreeMap<String, String>>,
    /// Run as this user; only the current user is accepted.
    user: Option<String>,
}

impl ToolHandler for ShellTool {
    type Args = Args;
    const NAME: &'static str = "shell";
    const ABOUT: &'static str = "Runs a program to its end and returns its exit code and output. It reads nothing; whatever it leaves running is ended. For a script, give a shell with -lc.";
    const ALIASES: &'static [&'static str] = &["container.exec", "local_shell", "local_shell_call"];
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[
        ("cmd", "command"),
        ("timeout", "timeout_ms"),
        ("cwd", "workdir"),
        ("working_directory", "workdir"),
        ("request_permission_elevation", "with_escalated_permissions"),
    ];
    const HIDDEN_ARGS: &'static [&'static str] =
        &["with_escalated_permissions", "prefix_rule", "env", "user"];
    const ADVERTISED_TYPES: &'static [(&'static str, JsonType)] = &[("command", JsonType::Array)];
    const JOB: ToolJob = ToolJob::Shell(ShellForm::Argv);

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        check_user(args.user.as_deref())?;
        let line = with_env_vars(args.command.parse(&self.0, true)?, args.env.as_ref())?;
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

/// Prepends `env` with these variables to `line`, so that rules and the user see them as part of the command.
fn with_env_vars(
    line: CommandLine,
    variables: Option<&BTreeMap<String, String>>,
) -> Result<CommandLine, ToolError> {
    let Some(variables) = variables.filter(|variables| !variables.is_empty()) else { return Ok(line) };
    for (name, value) in variables {
        let set = vec![(name.clone(), value.clone())];
        let checked = EnvironmentPolicy { set, ..EnvironmentPolicy::default() }.check();
        checked.map_err(|fault| ToolError::bad_argument(format!("env.{name}"), fault.to_string()))?;
    }
    let set = variables.iter().map(|(name, value)| format!("{name}={value}"));
    let argv = std::iter::once("env".to_owned()).chain(set).chain(line.argv()).collect();
    Ok(CommandLine::Program { argv })
}

/// Rejects a user other than the current one.
fn check_user(user: Option<&str>) -> Result<(), ToolError> {
    match user.filter(|user| !user.is_empty() && !exec::process::is_own_user(user)) {
        None => Ok(()),
        Some(_) => Err(ToolError::bad_argument(
            "user",
            "commands run as the user who runs this session; leave `user` out",
        )),
    }
}
