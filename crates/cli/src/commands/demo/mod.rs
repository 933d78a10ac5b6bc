//! `toolgate demo`: runs a scripted model on a small broken project; everything else is real.
#![expect(clippy::disallowed_methods, reason = "our own files, in a directory that we made")]

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agent::{ScriptedBackend, ScriptedTurn};
use runtime::wire::{Dialect, ReasoningMode};
use runtime::{ApprovalQuestion, Approver, BoxFuture, CallId, ReviewDecision};

use crate::args::{DemoArgs, RunArgs, WorkspaceArgs};
use crate::run_session::{RunInputs, run_session};
use crate::terminal_approver::TerminalApprover;
use config::OperationFault;
use config::flags::ConfinementArgs;
use config::{ApprovalMode, ConfinementTier, SandboxMode, UserDirs};
use session::ChosenModel;
use session::approval::PromptScope;
use session::compose::ToolFormApi;
use terminal::{FAINT, NAME};

const SCRIPT: &str = include_str!("script.jsonl");
const PROMPT: &str = "The word count is wrong: check.sh fails. Find out why, fix it, and tidy up.";
/// The demo approves a question itself after this time without an answer.
const AUTO_APPROVE_AFTER: Duration = Duration::from_secs(5);

/// Commands to try after the demo.
const NEXT_STEPS: &str = "
Next:
  toolgate log last                      what happened, call by call
  toolgate log last --html demo.html     the same as a page for a browser
  toolgate run 'fix the failing test'    with a model of yours, in a directory of yours
  toolgate sandbox -- CMD                any command, confined
  toolgate mcp setup claude              the same tools under Claude Code (codex, cursor, vscode, zed, goose)";

pub(crate) fn run(args: &DemoArgs) -> Result<ExitCode, OperationFault> {
    let demo_dir = DemoDirectory::create(args.keep)?;
    let project = demo_dir.path.join("project");
    terminal::print_wrapped_stderr(&format!(
        "{FAINT}A small broken project is in {}.\nThe model is scripted; tools, sandbox, policy and journal are real.{FAINT:#}",
        project.display()
    ));
    terminal::print_stderr(&format!("{NAME}›{NAME:#} {PROMPT}"));
    let home = demo_dir.path.join("home");
    let dirs = UserDirs {
        home: std::env::home_dir(),
        config: Some(home.clone()),
        state: Some(home.join("state")),
        sessions: Some(own_sessions().unwrap_or_else(|| home.join("sessions"))),
    };
    let place = WorkspaceArgs {
        cwd: Some(project),
        sandbox: Some(SandboxMode::WorkspaceWrite),
        approval: Some(ApprovalMode::OnRequest),
        // Commands of the demo are our own, and missing enforcement is reported. Landlock is enough, so the
        // demo also runs in a container.
        confine: ConfinementArgs { require: Some(ConfinementTier::Landlock), ..ConfinementArgs::default() },
        ..WorkspaceArgs::default()
    };
    let prompt = Some(PROMPT.to_owned());
    let run_args = RunArgs { prompt, once: true, json: args.json, place, ..RunArgs::default() };
    let turns =
        ScriptedTurn::parse_script(SCRIPT).map_err(|fault| OperationFault::failed(fault.to_string()))?;
    let model = Arc::new(ScriptedBackend::new(Dialect::Responses, turns));
    let chosen = ChosenModel {
        model,
        name: "scripted".to_owned(),
        reasoning: ReasoningMode::None,
        api: ToolFormApi::OpenAi,
        base_url: None,
    };
    let terminal = TerminalApprover::detect(PromptScope::Session).filter(|_| !args.json);
    let approver = Arc::new(DemoApprover { terminal: terminal.clone() });
    let approver = Some(approver as Arc<dyn Approver>);
    let inputs = RunInputs { dirs, chosen: Some(chosen), terminal, approver, can_go_on: false };
    let code = run_session(&run_args, &inputs)?;
    if !args.json {
        terminal::print_wrapped_stderr(NEXT_STEPS);
    }
    if args.keep {
        terminal::print_hint(&format!("all of it is still in {}", demo_dir.path.display()));
    }
    Ok(code)
}

/// Returns the directory of the user's own sessions, so that `toolgate log` shows the demo; `None` if it cannot be
/// written.
fn own_sessions() -> Option<PathBuf> {
    let sessions = UserDirs::from_env().ok()?.sessions?;
    private_files::PrivateDir::open_or_create(&sessions).ok()?;
    Some(sessions)
}

/// The approver of the demo: the user can refuse, and silence is a yes.
struct DemoApprover {
    terminal: Option<Arc<TerminalApprover>>,
}

impl Approver for DemoApprover {
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(async move {
            let Some(terminal) = &self.terminal else {
                let why: Vec<String> = question.reasons.iter().map(ToString::to_string).collect();
                let why = terminal::to_one_line(&why.join("; "));
                terminal::print_stderr(&format!(
                    "{NAME}?{NAME:#} {why} {FAINT}(the demo answers yes by itself){FAINT:#}"
                ));
                return ReviewDecision::Approved;
            };
            terminal::print_stderr(&format!(
                "{FAINT}In {} seconds the demo says yes for you.{FAINT:#}",
                AUTO_APPROVE_AFTER.as_secs()
            ));
            let answer = tokio::time::timeout(AUTO_APPROVE_AFTER, terminal.ask(call, question)).await;
            answer.unwrap_or(ReviewDecision::Approved)
        })
    }
}

/// The directory of the demo, removed on drop unless `keep` is set.
struct DemoDirectory {
    path: PathBuf,
    keep: bool,
}

impl DemoDirectory {
    fn create(keep: bool) -> Result<Self, OperationFault> {
        let path = create_private_dir(&std::env::temp_dir())?;
        let demo_dir = Self { path, keep };
        let project = demo_dir.path.join("project");
        std::fs::create_dir_all(project.join("old-build"))?;
        for (name, text) in [
            ("count.sh", include_str!("count.sh")),
            ("check.sh", include_str!("check.sh")),
            (".env", "API_TOKEN=not-a-real-one\n"),
            ("old-build/count", "yesterday's\n"),
        ] {
            std::fs::write(project.join(name), text)?;
        }
        Ok(demo_dir)
    }
}

/// Creates a new directory that only the user can access.
fn create_private_dir(parent: &Path) -> io::Result<PathBuf> {
    let mut number = std::process::id();
    // ends: with the first name that is free
    loop {
        let at = parent.join(format!("toolgate-demo-{number}"));
        match std::fs::DirBuilder::new().mode(0o700).create(&at) {
            Ok(()) => return Ok(at.canonicalize().unwrap_or(at)),
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => number = number.wrapping_add(1),
            Err(fault) => return Err(fault),
        }
    }
}

impl Drop for DemoDirectory {
    fn drop(&mut self) {
        if !self.keep {
            let _stays = std::fs::remove_dir_all(&self.path);
        }
    }
}
