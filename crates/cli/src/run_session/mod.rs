//! Runs a model session with live output and optional user input, for `toolgate run` and `toolgate demo`.

mod json_view;
mod key_decoder;
mod line_editor;
mod repl;
mod signals;
mod slash_commands;
mod status_lines;
mod terminal_view;
mod user_questions;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agent::{SessionObserver, TurnEnd, UserPrompter};
use parking_lot::Mutex;
use runtime::mcp::McpClientDeps;
use runtime::{Approver, CallObserver, OutputImage};
use tokio::sync::watch;

use crate::args::RunArgs;
use crate::terminal_approver::TerminalApprover;
use config::OperationFault;
use config::UserDirs;
use line_editor::TypedLines;
use repl::ReplSession;
use server::content_conversion::image_mime_type;
use session::ChosenModel;
use session::choose_model;
use session::compose::compose_in_dirs;
use session::mcp_servers::ServerNotices;
use session::subagents::SubagentSessions;
use session::{self, AssembledSession, SessionSpec, WorktreePool};
use signals::{wait_for_turn_end, watch_signals};
use user_questions::UserQuestions;

/// A view of a running session.
pub(crate) trait SessionView: SessionObserver + CallObserver {
    /// A session begins.
    fn on_session_start(&self, session: &str, journal: &str, model: &str, resumed: bool);
    /// A turn has ended.
    fn on_turn_end(&self, ended: &Result<TurnEnd, String>);
    /// Called regularly while a turn runs.
    fn tick(&self) {}
    /// Other output is about to be written to the screen.
    fn release_screen(&self) {}
    /// The user is asked to type a line.
    fn show_prompt(&self) {}
    /// The user has typed this part of the line.
    fn show_input(&self, _line: &str) {}
    /// The user has typed the whole line.
    fn commit_input(&self, _line: &str) {}
}

/// The directories, model and approver of a run.
pub(crate) struct RunInputs {
    pub(crate) dirs: UserDirs,
    /// `None` selects the model from the command line and configuration.
    pub(crate) chosen: Option<ChosenModel>,
    /// The user at the terminal.
    pub(crate) terminal: Option<Arc<TerminalApprover>>,
    /// The approver. Without one, calls that need approval are refused.
    pub(crate) approver: Option<Arc<dyn Approver>>,
}

/// Runs a session with these inputs.
pub(crate) fn run_session(args: &RunArgs, inputs: RunInputs) -> Result<ExitCode, OperationFault> {
    let RunInputs { dirs, chosen, terminal, approver } = inputs;
    let view = choose_view(args.json);
    let (prompt, images) = (read_prompt(args)?, read_pictures(args)?);
    let composed = compose_in_dirs(&args.place, dirs.clone(), |_| {})?;
    let chosen = chosen
        .map_or_else(|| choose_model::choose_model(&args.model.location(), composed.model_name()), Ok)?;
    let name = chosen.name.clone();
    let user_questions = Arc::new(UserQuestions::new(&view));
    let is_interactive = terminal.is_some() && std::io::stdin().is_terminal();
    let processes = Arc::<runtime::SharedProcesses>::default();
    let mut composed = composed
        .with_observer(Arc::clone(&view) as Arc<dyn CallObserver>)
        .with_processes(Arc::clone(&processes));
    if let Some(approver) = &approver {
        composed = composed.with_approver(Arc::clone(approver));
    }
    let subagents = args.agents.then(|| build_subagents(args, &dirs, &chosen, approver, &processes));
    crate::commands::block_on(async {
        let spec = SessionSpec {
            composed,
            dirs: dirs.clone(),
            model: Some(chosen),
            new_id: journal::SessionId::new(),
            resume: args.resume.clone(),
            limits: args.model.limits(),
            instructions: None,
            observer: Arc::clone(&view) as Arc<dyn SessionObserver>,
            prompter: is_interactive.then(|| Arc::clone(&user_questions) as Arc<dyn UserPrompter>),
            mcp_deps: McpClientDeps {
                observer: Some(Arc::new(ServerNotices::Problems)),
                ..McpClientDeps::default()
            },
            agents: subagents.as_ref().map(|subagents| Arc::clone(subagents).root_agents()),
        };
        let assembled = session::assemble(spec)?;
        if let Some(subagents) = &subagents {
            subagents.register(Vec::new(), &assembled);
        }
        let path = assembled.recorder.path().display().to_string();
        view.on_session_start(assembled.id.as_str(), &path, &name, assembled.resumed);
        let screen = SessionScreen { view, terminal, user_questions, is_interactive };
        run_to_end(assembled, screen, dirs, (prompt, images)).await
    })
}

/// The view of a session, and the user in front of it.
struct SessionScreen {
    view: Arc<dyn SessionView>,
    terminal: Option<Arc<TerminalApprover>>,
    user_questions: Arc<UserQuestions>,
    /// The user can type prompts.
    is_interactive: bool,
}

/// Runs the turns of the session, closes its journal and ends everything that still runs.
async fn run_to_end(
    assembled: AssembledSession,
    screen: SessionScreen,
    dirs: UserDirs,
    (prompt, images): (Option<String>, Vec<OutputImage>),
) -> Result<ExitCode, OperationFault> {
    let AssembledSession { recorder, toolgate, servers, session, agents, .. } = assembled;
    let SessionScreen { view, terminal, user_questions, is_interactive } = screen;
    let Some(session) = session else {
        return Err(OperationFault::failed("a session without its model; this is a bug"));
    };
    let signals = watch_signals(session.handle())?;
    let lines = is_interactive.then(|| TypedLines::spawn_reader(&view, session.handle())).transpose()?;
    let mut repl = ReplSession {
        session,
        view: Arc::clone(&view),
        terminal,
        lines,
        user_questions,
        toolgate: &toolgate,
        dirs,
        last_turn_end: "done",
        is_in_turn: watch::Sender::new(false),
    };
    let is_in_turn = repl.is_in_turn.subscribe();
    let (ended, stopped) = {
        let turns = repl.run_turns(prompt, images);
        tokio::pin!(turns);
        tokio::select! {
            ended = &mut turns => (ended, None),
            code = signals => {
                tokio::select! {
                    _ = &mut turns => {}
                    () = wait_for_turn_end(is_in_turn) => {}
                }
                (Ok(ExitCode::from(code)), Some("stopped"))
            }
        }
    };
    let why = stopped.unwrap_or(repl.last_turn_end);
    drop(repl);
    view.release_screen();
    session::close_journal(&recorder, why).map_err(session::journal_fault)?;
    tokio::join!(
        report::otlp::report_session(recorder.path()),
        AssembledSession::shut_down(&toolgate, servers, agents)
    );
    ended
}

fn choose_view(to_programs: bool) -> Arc<dyn SessionView> {
    if to_programs { Arc::new(json_view::JsonLines) } else { Arc::new(terminal_view::TerminalView::new()) }
}

/// Creates the factory of subagent sessions.
fn build_subagents(
    args: &RunArgs,
    dirs: &UserDirs,
    chosen: &ChosenModel,
    approver: Option<Arc<dyn Approver>>,
    processes: &runtime::SharedProcesses,
) -> Arc<SubagentSessions> {
    Arc::new(SubagentSessions {
        place: args.place.clone(),
        dirs: dirs.clone(),
        chosen: chosen.clone(),
        limits: args.model.limits(),
        instructions: None,
        approver,
        allowed_tools: None,
        sources: Vec::new(),
        processes: Arc::new(processes.with_own_sessions()),
        sessions: Mutex::default(),
        worktrees: WorktreePool::default(),
    })
}

/// Returns the first prompt, or `None` if the user is to type it.
fn read_prompt(args: &RunArgs) -> Result<Option<String>, OperationFault> {
    match args.prompt.as_deref() {
        Some("-") => session::read_file_or_stdin(Path::new("-")).map(Some),
        Some(prompt) => Ok(Some(prompt.to_owned())),
        None if std::io::stdin().is_terminal() && !args.json => Ok(None),
        None => Err(OperationFault::usage("what should be done? there is no prompt")
            .with_hint("toolgate run 'fix the failing test'; or `-` to read it from standard input")),
    }
}

fn read_pictures(args: &RunArgs) -> Result<Vec<OutputImage>, OperationFault> {
    args.image.iter().map(|file| read_picture(file)).collect()
}

#[expect(clippy::disallowed_methods, reason = "the user named this file, not a model")]
fn read_picture(file: &Path) -> Result<OutputImage, OperationFault> {
    let wrong = |why: &str| OperationFault::usage(format!("the picture `{}` {why}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    let mime = image_mime_type(&bytes)
        .ok_or_else(|| wrong("has a format that models do not read; they read png, jpeg, gif and webp"))?;
    Ok(OutputImage { mime, bytes })
}
