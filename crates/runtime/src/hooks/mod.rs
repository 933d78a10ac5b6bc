//! Command hooks: programs of the user that read a call as JSON and can deny it, ask about it or annotate it.

mod hook_event;
mod hook_output;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{Hook, HookDecision, HookResponse, PlannedCall};
use exec::process::Spawner;
use exec::run_to_end::{OneShotCommand, find_program};
use policy::rules::concerns_tool;
use policy::{
    CommandLine, DenyRead, Effect, EnvironmentPolicy, Gate, InheritScope, Intent, Permit, ReadRoot,
    ReadScope, SandboxPolicy,
};
use serde_json::Value;
use tool::{BoxFuture, ToolOutput};

use crate::BuildFault;

/// Default time limit of a hook.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of its output.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;
/// Name prefix of MCP tools, which can come and go.
const SERVER_TOOL_PREFIX: &str = "mcp__";

/// A program that runs before and after calls. It runs as the user, unconfined, like their editor.
///
/// It reads one JSON object from standard input. Its output can deny the call, require approval, or add a note;
/// docs/hooks.md specifies both. If the program fails, the call is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHook {
    /// Its name in messages.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The moments at which it runs.
    pub moments: Vec<HookMoment>,
    /// Tool names it applies to, where `*` matches any characters; all tools if empty.
    pub tools: Vec<String>,
    /// Its time limit.
    pub timeout: Duration,
    /// The effect of its failure.
    pub on_failure: HookFailurePolicy,
    /// Full names of variables that it receives although they look like credentials. It receives all other variables.
    pub pass: Vec<String>,
    /// Its place in the configuration, e.g. file and line, for error messages.
    pub from: String,
}

/// The moment at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookMoment {
    /// Before the verdict on the call.
    Before,
    /// After the answer, before anyone reads it.
    After,
}

/// The effect of a hook's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HookFailurePolicy {
    /// The call is denied.
    #[default]
    Deny,
    /// The hook is ignored, and observers get a warning.
    Ignore,
}

impl CommandHook {
    /// Creates a hook that runs `command` before and after every call.
    pub fn new(name: impl Into<String>, command: Vec<String>) -> Self {
        Self {
            name: name.into(),
            command,
            moments: vec![HookMoment::Before, HookMoment::After],
            tools: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            on_failure: HookFailurePolicy::default(),
            pass: Vec::new(),
            from: String::new(),
        }
    }

    /// Returns the files of its command. Write access to them would disable the hook.
    pub(crate) fn protected_files(&self, cwd: &Path) -> Vec<PathBuf> {
        let program = self.command.first().and_then(|name| find_program(name, path_variable().as_deref()));
        let words = self.command.iter().map(|word| cwd.join(word));
        words
            .chain(program)
            .filter(|path| exec::fs::canonicalize(path).is_ok_and(|real| real.is_file()))
            .collect()
    }

    /// Resolves its program, and checks the tools that it names against `known`.
    pub(crate) fn prepare(
        self,
        cwd: &Path,
        known: &[String],
        spawner: &Spawner,
    ) -> Result<Arc<dyn Hook>, BuildFault> {
        let fault = |why: String| BuildFault::Hook { name: self.name.clone(), from: self.from.clone(), why };
        let is_known = |pattern: &str| known.iter().any(|name| concerns_tool(pattern, name));
        if let Some(none) = self.tools.iter().find(|tool| !matches_server_tools(tool) && !is_known(tool)) {
            return Err(fault(format!("it is for the tool `{none}`, which does not exist")));
        }
        let Some(name) = self.command.first() else { return Err(fault("its command is empty".to_owned())) };
        let Some(program) = find_program(name, path_variable().as_deref()) else {
            return Err(fault(match name.contains('/') {
                true => format!("`{name}` is not an executable program"),
                false => format!("there is no program `{name}` in PATH"),
            }));
        };
        let mut argv = self.command.clone();
        argv[0] = program.to_string_lossy().into_owned();
        let line = CommandLine::from(argv);
        let permit = user_program_permit(&line, cwd).map_err(fault)?;
        let environment =
            EnvironmentPolicy { inherit: InheritScope::All, pass: self.pass.clone(), set: Vec::new() };
        environment.check().map_err(|wrong| fault(wrong.to_string()))?;
        let mut env = environment.build(std::env::vars_os());
        env.insert("PWD".into(), cwd.into());
        env.insert("TOOLGATE".into(), "1".into());
        Ok(Arc::new(PreparedHook { hook: self, line, env, permit, spawner: spawner.clone() }))
    }
}

/// Returns whether a pattern matches tools of MCP servers.
fn matches_server_tools(pattern: &str) -> bool {
    pattern.starts_with(SERVER_TOOL_PREFIX) || pattern.contains('/')
}

fn path_variable() -> Option<OsString> {
    std::env::var_os(OsStr::new("PATH"))
}

/// Returns a permit for a program of the user's. Configuring the program is the approval.
pub(crate) fn user_program_permit(line: &CommandLine, cwd: &Path) -> Result<Permit, String> {
    let nothing = DenyRead::new([""; 0], None).map_err(|fault| fault.to_string())?;
    let gate = Gate::new(ReadScope::new(vec![ReadRoot::new("/")], nothing), SandboxPolicy::FullAccess);
    gate.permit_chosen("hook", &Intent::run(line.clone(), cwd)).map_err(|denial| denial.to_string())
}

/// A hook with its resolved program.
struct PreparedHook {
    hook: CommandHook,
    line: CommandLine,
    env: BTreeMap<OsString, OsString>,
    permit: Permit,
    spawner: Spawner,
}

impl PreparedHook {
    fn applies_to(&self, moment: HookMoment, call: PlannedCall<'_>) -> bool {
        let tools = &self.hook.tools;
        // A server's tool can also be named `server/tool`.
        let paths = call.intent.effects.iter().filter_map(|effect| match effect {
            Effect::Foreign(foreign) => Some(format!("{}/{}", foreign.server, foreign.tool)),
            _ => None,
        });
        let called: Vec<String> = paths.chain([call.tool.to_owned()]).collect();
        let fits = |pattern: &String| called.iter().any(|name| concerns_tool(pattern, name));
        let names = tools.is_empty() || tools.iter().any(fits);
        names && self.hook.moments.contains(&moment)
    }

    async fn run_program(&self, call: PlannedCall<'_>, event: &Value) -> HookResponse {
        let event = event.to_string();
        let command = OneShotCommand {
            line: &self.line,
            env: &self.env,
            directory: &call.working_dir.cwd,
            input: event.as_bytes(),
            time_limit: self.hook.timeout,
            max_output_bytes: MAX_OUTPUT_BYTES,
        };
        let ran = command.run(&self.spawner, &self.permit).await.map_err(|fault| fault.to_string());
        ran.and_then(|ran| hook_output::parse_output(&ran)).unwrap_or_else(|why| self.failure_response(&why))
    }

    fn failure_response(&self, why: &str) -> HookResponse {
        let from = &self.hook.from;
        let from = if from.is_empty() { String::new() } else { format!(" ({from})") };
        match self.hook.on_failure {
            HookFailurePolicy::Deny => HookResponse {
                decision: HookDecision::Deny(format!("it failed, which counts as a no: {why}{from}")),
                ..HookResponse::default()
            },
            HookFailurePolicy::Ignore => {
                HookResponse { warning: Some(format!("{why}{from}")), ..HookResponse::default() }
            }
        }
    }
}

impl Hook for PreparedHook {
    fn name(&self) -> &str {
        &self.hook.name
    }

    fn before<'a>(&'a self, call: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        Box::pin(async move {
            match self.applies_to(HookMoment::Before, call) {
                true => self.run_program(call, &hook_event::before_event(call)).await,
                false => HookResponse::default(),
            }
        })
    }

    fn after<'a>(&'a self, call: PlannedCall<'a>, output: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        Box::pin(async move {
            match self.applies_to(HookMoment::After, call) {
                true => self.run_program(call, &hook_event::after_event(call, output)).await,
                false => HookResponse::default(),
            }
        })
    }
}
