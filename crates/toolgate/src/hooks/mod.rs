//! Hooks that are programs: a command of the user's own is told of a call in JSON, and may tighten what becomes of it.

mod event;
mod says;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{Hook, HookSays, HookWants, Planned};
use exec::errand::{Errand, find};
use exec::process::Spawner;
use policy::rules::concerns_tool;
use policy::{
    DenyRead, Effect, Environment, Gate, Inherit, Intent, Permit, Reach, ReviewDecision, Root, SandboxPolicy,
    Settled, Verdict,
};
use serde_json::Value;
use tool::{BoxFuture, ToolOutput};

use crate::BuildFault;

/// How long a hook may take if nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes that it may write.
const OUTPUT: u64 = 64 << 10;
/// What tools of servers are called: those may come and go.
const OF_SERVERS: &str = "mcp__";

/// A program that is run before and after calls. It runs as the user and without confinement, like their editor.
///
/// It finds one JSON object at its standard input, and what it prints may deny the call, have somebody asked about it, or
/// add a note; docs/hooks.md has both. If it does not work, the call is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHook {
    /// What it is called when somebody is told what it says.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// When it is run.
    pub on: Vec<Moment>,
    /// For which tools: their names, in which `*` stands for any letters; for all if there are none.
    pub tools: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// What its failure does.
    pub on_failure: OnFailure,
    /// Variables that look like credentials and that it gets all the same, by their full names. Of the others it gets all.
    pub pass: Vec<String>,
    /// Where it is configured, e.g. a file and a line, for whoever has to mend it.
    pub from: String,
}

/// When a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the call is judged.
    Before,
    /// When it was answered, before anybody reads the answer.
    After,
}

/// What the failure of a hook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// The call is denied.
    #[default]
    Deny,
    /// It is as if the hook were not there, and whoever watches is warned.
    Ignore,
}

impl CommandHook {
    /// Runs `command` before and after every call.
    pub fn new(name: impl Into<String>, command: Vec<String>) -> Self {
        Self {
            name: name.into(),
            command,
            on: vec![Moment::Before, Moment::After],
            tools: Vec::new(),
            timeout: TIMEOUT,
            on_failure: OnFailure::default(),
            pass: Vec::new(),
            from: String::new(),
        }
    }

    /// What of its command are files: who may change them can do away with the hook.
    pub(crate) fn files(&self, cwd: &Path) -> Vec<PathBuf> {
        let program = self.command.first().and_then(|name| find(name, path().as_deref()));
        let words = self.command.iter().map(|word| cwd.join(word));
        words.chain(program).filter(|path| exec::fs::real(path).is_ok_and(|real| real.is_file())).collect()
    }

    /// Looks for its program, and for the tools that it names among `known`.
    pub(crate) fn prepare(
        self,
        cwd: &Path,
        known: &[String],
        spawner: &Spawner,
    ) -> Result<Arc<dyn Hook>, BuildFault> {
        let fault = |why: String| BuildFault::Hook { name: self.name.clone(), from: self.from.clone(), why };
        let is_known = |pattern: &str| known.iter().any(|name| concerns_tool(pattern, name));
        if let Some(none) = self.tools.iter().find(|tool| !is_of_servers(tool) && !is_known(tool)) {
            return Err(fault(format!("it is for the tool `{none}`, and there is none of that name")));
        }
        let Some(name) = self.command.first() else { return Err(fault("its command is empty".to_owned())) };
        let Some(program) = find(name, path().as_deref()) else {
            return Err(fault(match name.contains('/') {
                true => format!("`{name}` is no program that can be run"),
                false => format!("there is no program `{name}` along the PATH"),
            }));
        };
        let mut argv = self.command.clone();
        argv[0] = program.to_string_lossy().into_owned();
        let permit = permit(&argv, cwd).map_err(fault)?;
        let environment = Environment { inherit: Inherit::All, pass: self.pass.clone(), set: Vec::new() };
        environment.check().map_err(|wrong| fault(wrong.to_string()))?;
        let mut env = environment.build(std::env::vars_os());
        env.insert("PWD".into(), cwd.into());
        env.insert("TOOLGATE".into(), "1".into());
        Ok(Arc::new(Prepared { hook: self, argv, env, permit, spawner: spawner.clone() }))
    }
}

/// Whether a pattern is for tools of servers.
fn is_of_servers(pattern: &str) -> bool {
    pattern.starts_with(OF_SERVERS) || pattern.contains('/')
}

fn path() -> Option<OsString> {
    std::env::var_os(OsStr::new("PATH"))
}

/// The key to a program of the user's own. They have said yes by writing it down.
pub(crate) fn permit(argv: &[String], cwd: &Path) -> Result<Permit, String> {
    let nothing = DenyRead::new([""; 0], None).map_err(|fault| fault.to_string())?;
    let gate = Gate::new(Reach::new(vec![Root::new("/")], nothing), SandboxPolicy::FullAccess);
    match gate.decide("hook", &Intent::run(argv.to_vec(), cwd)) {
        Verdict::Allow(permit) => Ok(permit),
        Verdict::Forbid(denial) => Err(denial.to_string()),
        Verdict::Ask(question) => match gate.settle(*question, &ReviewDecision::Approved) {
            Settled::Allow(permit) => Ok(permit),
            Settled::Denied { .. } | Settled::Stop => Err("it may not be run".to_owned()),
        },
    }
}

/// A hook whose program was found.
struct Prepared {
    hook: CommandHook,
    argv: Vec<String>,
    env: BTreeMap<OsString, OsString>,
    permit: Permit,
    spawner: Spawner,
}

impl Prepared {
    fn is_for(&self, moment: Moment, call: Planned<'_>) -> bool {
        let tools = &self.hook.tools;
        // A tool of a server can be named as `server/tool` too.
        let paths = call.intent.effects.iter().filter_map(|effect| match effect {
            Effect::Foreign(foreign) => Some(format!("{}/{}", foreign.server, foreign.tool)),
            _ => None,
        });
        let called: Vec<String> = paths.chain([call.tool.to_owned()]).collect();
        let fits = |pattern: &String| called.iter().any(|name| concerns_tool(pattern, name));
        let names = tools.is_empty() || tools.iter().any(fits);
        names && self.hook.on.contains(&moment)
    }

    async fn ask(&self, call: Planned<'_>, event: &Value) -> HookSays {
        let event = event.to_string();
        let errand = Errand {
            argv: &self.argv,
            env: &self.env,
            directory: &call.place.cwd,
            input: event.as_bytes(),
            at_most: self.hook.timeout,
            output: OUTPUT,
        };
        let ran = errand.run(&self.spawner, &self.permit).await.map_err(|fault| fault.to_string());
        ran.and_then(|ran| says::read(&ran)).unwrap_or_else(|why| self.failed(&why))
    }

    fn failed(&self, why: &str) -> HookSays {
        let from = &self.hook.from;
        let from = if from.is_empty() { String::new() } else { format!(" ({from})") };
        match self.hook.on_failure {
            OnFailure::Deny => HookSays {
                wants: HookWants::Deny(format!("it failed, which counts as a no: {why}{from}")),
                ..HookSays::default()
            },
            OnFailure::Ignore => HookSays { warning: Some(format!("{why}{from}")), ..HookSays::default() },
        }
    }
}

impl Hook for Prepared {
    fn name(&self) -> &str {
        &self.hook.name
    }

    fn before<'a>(&'a self, call: Planned<'a>) -> BoxFuture<'a, HookSays> {
        Box::pin(async move {
            match self.is_for(Moment::Before, call) {
                true => self.ask(call, &event::before(call)).await,
                false => HookSays::default(),
            }
        })
    }

    fn after<'a>(&'a self, call: Planned<'a>, output: &'a ToolOutput) -> BoxFuture<'a, HookSays> {
        Box::pin(async move {
            match self.is_for(Moment::After, call) {
                true => self.ask(call, &event::after(call, output)).await,
                false => HookSays::default(),
            }
        })
    }
}
