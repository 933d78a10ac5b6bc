//! What the tools that run commands share: how one is started, waited for, ended and reported.

mod arguments;
mod attend;
mod beside;
mod deltas;
mod kept_from_git;
mod refusals;
mod report;
mod signals;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exec::fs::Kind;
use exec::process::{SpawnFault, Stdio};
use exec::session::{About, Lifetime, Pump, Session, Sessions, Stage};
use exec::shell::{Shell, Shells};
use policy::{Environment, Escalation, Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Notice, Place, ToolError, ToolOutput};

pub(crate) use arguments::{CommandArg, environment, own_user};
pub(crate) use attend::{Outcome, Wait, attend, finish};
pub(crate) use deltas::Deltas;
pub(crate) use report::{Ending, Labels, Report};
pub(crate) use signals::signal_name;

use crate::door::look;

/// How long a one-shot command may take if the call does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The means to run commands: the sessions, and what makes commands out of scripts.
#[derive(Debug)]
pub struct Commands {
    /// What runs.
    pub sessions: Sessions,
    /// How scripts are run.
    pub shells: Shells,
}

/// How many sessions there may be if nobody says.
pub const DEFAULT_SESSIONS: usize = 64;

impl Default for Commands {
    /// Commands of the user's own shell, with the variables that are safe, and a spawner of their own.
    fn default() -> Self {
        let shell = Shell::of_user(std::env::var_os("SHELL").as_deref());
        Self {
            sessions: Sessions::new(Arc::default(), None, DEFAULT_SESSIONS),
            shells: Shells::new(shell, Environment::default(), std::env::vars_os()),
        }
    }
}

/// Whether a call asks to leave the sandbox.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxPermissions {
    #[default]
    UseDefault,
    RequireEscalated,
}

/// The arguments of that, which nobody needs where nothing is started.
pub(crate) const PLEA: &[&str] = &["sandbox_permissions", "justification"];

/// What every call of these tools can say about the sandbox.
#[derive(Default)]
pub(crate) struct Plea<'a> {
    pub(crate) permissions: Option<SandboxPermissions>,
    /// Another way to ask for it: `with_escalated_permissions`, `request_permission_elevation`.
    pub(crate) escalated: Option<bool>,
    pub(crate) justification: Option<&'a str>,
    /// The rule that the model proposes.
    pub(crate) prefix_rule: Option<&'a [String]>,
}

impl Plea<'_> {
    /// Carries it into the intent.
    pub(crate) fn into(self, intent: Intent) -> Intent {
        let escalation = match (self.permissions.unwrap_or_default(), self.escalated) {
            (SandboxPermissions::UseDefault, None | Some(false)) => Escalation::None,
            (SandboxPermissions::UseDefault, Some(true)) | (SandboxPermissions::RequireEscalated, _) => {
                Escalation::Required
            }
        };
        let proposed = self.prefix_rule.filter(|words| !words.is_empty()).map(<[String]>::to_vec);
        intent.escalated(escalation, self.justification.map(str::to_owned)).proposing(proposed)
    }
}

/// A command that a model wants to run.
pub(crate) struct Wanted<'a> {
    pub(crate) argv: Vec<String>,
    /// As the model wrote it, for lists.
    pub(crate) shown: String,
    pub(crate) workdir: Option<&'a str>,
    pub(crate) stdio: Stdio,
    pub(crate) lifetime: Lifetime,
}

/// The directory that a call names; an empty name means none.
pub(crate) fn workdir(workdir: Option<&str>, place: &Place) -> Result<PathBuf, ToolError> {
    match workdir.filter(|workdir| !workdir.is_empty()) {
        Some(workdir) => place.path("workdir", workdir),
        None => Ok(place.cwd.clone()),
    }
}

impl Commands {
    /// The shell that a call names, or the user's own.
    pub(crate) fn shell(&self, named: Option<&str>) -> Result<Shell, ToolError> {
        let shell = match named.filter(|named| !named.is_empty()) {
            Some(named) => Shell::named(named),
            None => self.shells.own(),
        };
        shell.map_err(|fault| ToolError::argument("shell", fault.to_string()))
    }

    /// Says what does not hold, before anything runs; once for each thing there is to say.
    async fn warn(&self, permit: &Permit, cx: &Cx) -> Result<(), ToolError> {
        let held = self.sessions.spawner().enforcement(permit).await;
        let text = match &held {
            Ok(enforcement) => enforcement.warning(),
            Err(fault @ SpawnFault::Unconfined { .. }) => Some(fault.to_string()),
            Err(_) => None,
        };
        if let Some(text) = text.filter(|text| self.sessions.is_news(text)) {
            cx.tell(Notice::Weaker { text, refused: held.is_err() });
        }
        held.map(drop).map_err(|fault| not_started(&fault))
    }

    /// Starts what is wanted. The caller moves it with the pump.
    pub(crate) async fn start(
        &self,
        wanted: Wanted<'_>,
        permit: &Permit,
        cx: &Cx,
    ) -> Result<(Arc<Session>, Pump), ToolError> {
        self.warn(permit, cx).await?;
        let path = workdir(wanted.workdir, cx.place())?;
        let (_, directory) = look(permit, &path)?;
        if directory.kind() != Kind::Directory {
            let why = format!("`{}` is no directory to run a command in", path.display());
            return Err(ToolError::argument("workdir", why));
        }
        let about = About {
            command: wanted.shown,
            workdir: directory.path().to_owned(),
            owner: cx.call().as_str().to_owned(),
            lifetime: wanted.lifetime,
            terminal: matches!(wanted.stdio, Stdio::Terminal(_)),
        };
        let spawner = self.sessions.spawner();
        let command = self.shells.command(wanted.argv, directory, wanted.stdio, spawner, permit).await;
        self.sessions.start(command, about, permit).await.map_err(|fault| not_started(&fault))
    }

    /// Runs what is wanted to its end, or until its time is up, and leaves nothing of it.
    pub(crate) async fn run_once(
        &self,
        wanted: Wanted<'_>,
        timeout_ms: Option<u64>,
        permit: &Permit,
        cx: &Cx,
    ) -> Result<ToolOutput, ToolError> {
        let limit = timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        let (session, mut pump) = self.start(wanted, permit, cx).await?;
        let until = Instant::now() + limit;
        let wait = Wait { until, prompts: false, leaves: true };
        let mut deltas = Deltas::of(&session, cx);
        let ending = match attend(&session, Some(&mut pump), &mut deltas, wait, cx).await {
            Outcome::Over => Ending::Itself,
            Outcome::Left => Ending::Leaving,
            // Whoever watches slowly changes no outcome.
            Outcome::Yielded | Outcome::Prompting => match session.stage() {
                Stage::Over { .. } | Stage::Lost => Ending::Itself,
                Stage::Leaving { settled: true, .. } => Ending::Leaving,
                Stage::Running | Stage::Leaving { .. } => Ending::TimedOut(limit),
            },
            Outcome::Halted(halt) => Ending::Halted(halt),
        };
        finish(&session, Some(&mut pump), &mut deltas).await;
        if let Some(fault) = session.fault() {
            return Err(not_started(&fault));
        }
        let report = Report::new(&session, deltas, session.began(), None, cx).await;
        self.learn(&report);
        Ok(report.answer(ending, Labels::OneShot))
    }

    /// A command that was not found may be found next time: the profile is looked at anew.
    pub(crate) fn learn(&self, report: &Report) {
        const NOT_FOUND: i32 = 127;
        if report.exit_code() == Some(NOT_FOUND) {
            self.shells.forget_profile();
        }
    }
}

/// No program can be given a NUL.
pub(crate) fn without_nul(argument: &str, text: &str) -> Result<(), ToolError> {
    match text.contains('\0') {
        true => Err(ToolError::argument(argument, "it holds a NUL character, which no program can be given")),
        false => Ok(()),
    }
}

/// A process that was not started, as a fault of the call.
pub(crate) fn not_started(fault: &SpawnFault) -> ToolError {
    match fault {
        SpawnFault::Denied(denial) => ToolError::Blocked(denial.clone()),
        other => ToolError::io(other.to_string()),
    }
}
