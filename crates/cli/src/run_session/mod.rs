//! Runs a model session with live output and optional user input, for `toolgate run` and `toolgate demo`.

mod allow_command;
mod background_processes;
mod call_lines;
mod diff_lines;
mod first_prompt;
mod json_view;
mod line_editor;
mod long_text;
mod recap_lines;
mod refusal_counter;
mod refusal_lines;
mod repl;
mod running_call;
mod sandbox_question;
mod signals;
mod slash_commands;
mod staged_commands;
mod status_lines;
mod terminal_view;
mod turn_totals;
mod typed_input;
mod user_questions;
mod work_timer;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agent::{SessionObserver, TurnEnd, TurnLimits, UserPrompter};
use parking_lot::Mutex;
use runtime::mcp::McpClientDeps;
use runtime::{Approver, CallObserver, CancelCause, OutputImage, PlainHttp, SandboxPolicy};
use tokio::sync::watch;

use crate::args::RunArgs;
use crate::exit_status::INTERRUPTED;
use crate::terminal_approver::TerminalApprover;
use config::OperationFault;
use config::UserDirs;
use config::flags::WorkspaceArgs;
use first_prompt::{FirstPrompt, RunLength};
use line_editor::TypedLines;
use prompt::{PromptCompleter, PromptEditor, PromptHistory};
use refusal_counter::RefusalCounter;
use refusal_lines::RemedyForm;
use repl::{ReplEnd, ReplSession};
use session::ChosenModel;
use session::choose_model;
use session::compose::{ComposedTools, compose_in_dirs, working_directory};
use session::mcp_servers::ServerNotices;
use session::subagents::SubagentSessions;
use session::{AssembledSession, EarlierSession, LastTurn, SessionSpec, UnfinishedTurn, WorktreePool};
use signals::{wait_for_turn_end, watch_signals};
use user_questions::UserQuestions;

/// A view of a running session.
trait SessionView: SessionObserver + CallObserver {
    /// A session begins.
    fn on_session_start(&self, start: &SessionStart<'_>);
    /// The session ends.
    fn on_session_end(&self, _id: &str) {}
    /// A turn has ended.
    fn on_turn_end(&self, ended: &Result<TurnEnd, String>);
    /// The turn is about to be cancelled.
    fn on_cancel(&self, _cause: CancelCause) {}
    /// Called regularly while a turn runs.
    fn tick(&self) {}
    /// Other output is about to be written to the screen.
    fn release_screen(&self) {}
    /// The program is about to be stopped by Ctrl-Z.
    fn on_stop(&self) {}
    /// The program goes on at the terminal after it was stopped.
    fn on_continue(&self) {}
    /// Returns true if the user was asked for a line and has begun one, or searches for an earlier prompt.
    fn has_typed_input(&self) -> bool {
        false
    }
    /// The user has pressed Ctrl-C.
    fn on_interrupt(&self) {}
    /// Shows a hint about a typed line.
    fn show_hint(&self, hint: &str) {
        terminal::print_hint(hint);
    }
    /// The user is asked to type a line.
    fn show_prompt(&self) {}
    /// The turn waits for the user, or goes on.
    fn set_waiting_for_user(&self, _is_waiting: bool) {}
    /// The user has edited the input.
    fn show_input(&self, _editor: &PromptEditor) {}
    /// The user has typed the whole line.
    fn commit_input(&self, _line: &str) {}
    /// Returns the last command that printed something.
    fn last_output(&self) -> Option<PrintedOutput> {
        None
    }
}

/// The output of a command.
#[derive(Clone)]
struct PrintedOutput {
    title: String,
    /// The text as the model got it, perhaps without its middle.
    text: String,
    /// The file with all of it, if the model did not get all.
    file: Option<PathBuf>,
}

/// A session that begins.
struct SessionStart<'a> {
    pub(crate) id: &'a str,
    pub(crate) journal: &'a str,
    pub(crate) model: &'a str,
    pub(crate) resumed: bool,
    /// The sandbox and the approval policy, in words.
    pub(crate) rights: String,
    /// The length of the model's context, in tokens.
    pub(crate) context: u64,
    /// The last turn of a resumed session.
    pub(crate) last_turn: Option<&'a LastTurn>,
    /// The directory of a resumed session, if it worked elsewhere.
    pub(crate) other_directory: Option<&'a str>,
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
    /// The session can be resumed: its directory stays.
    pub(crate) can_go_on: bool,
}

/// Runs a session with these inputs, and further ones if the user wants them.
pub(crate) fn run_session(args: &RunArgs, inputs: &RunInputs) -> Result<ExitCode, OperationFault> {
    let FirstPrompt { text, images, length } = FirstPrompt::read(args, inputs.is_interactive())?;
    let view = choose_view(args, length);
    let mut task = Some((text, images));
    let mut place = args.place.clone();
    let mut continued = args.resume.clone().map(ContinuedSession::Resumed);
    // ends: when the user wants no other session
    loop {
        let (prompt, images) = task.take().unwrap_or_default();
        let (place_now, continued_now) = (place.clone(), continued.take());
        let run = SessionRun {
            args,
            place: place_now,
            inputs,
            length,
            view: Arc::clone(&view),
            continued: continued_now,
        };
        match run.run_to_end(prompt, images)? {
            ReplEnd::Exit(code) => return Ok(code),
            ReplEnd::NewSession { model } => place.model = Some(model),
            ReplEnd::Widened { id, place: wider } => {
                place = *wider;
                continued = Some(ContinuedSession::Widened(id));
            }
        }
    }
}

/// The session that a run continues.
#[derive(Clone)]
enum ContinuedSession {
    /// An earlier session: the prefix of its id, or `last`.
    Resumed(String),
    /// The session that just ended, with more permissions.
    Widened(String),
}

/// One session of a run.
struct SessionRun<'a> {
    args: &'a RunArgs,
    /// The directory and the permissions, with what the user allowed meanwhile.
    place: WorkspaceArgs,
    inputs: &'a RunInputs,
    length: RunLength,
    view: Arc<dyn SessionView>,
    continued: Option<ContinuedSession>,
}

/// The tools and the model of a session, before it starts.
struct PreparedSession {
    composed: ComposedTools,
    chosen: ChosenModel,
    limits: TurnLimits,
    plain_http: PlainHttp,
    earlier: Option<EarlierSession>,
    cwd: PathBuf,
}

impl SessionRun<'_> {
    fn run_to_end(self, prompt: Option<String>, images: Vec<OutputImage>) -> Result<ReplEnd, OperationFault> {
        let Some(prepared) = self.prepare()? else { return Ok(ReplEnd::Exit(ExitCode::from(INTERRUPTED))) };
        let PreparedSession { composed, chosen, limits, plain_http, earlier, cwd } = prepared;
        let Self { args, place, inputs, length, view, continued } = self;
        let (name, dirs) = (chosen.name.clone(), inputs.dirs.clone());
        let (processes, refusals) =
            (Arc::<runtime::SharedProcesses>::default(), Arc::<RefusalCounter>::default());
        let mut composed = composed
            .with_observer(Arc::clone(&view) as Arc<dyn CallObserver>)
            .with_observer(Arc::clone(&refusals) as Arc<dyn CallObserver>)
            .with_processes(Arc::clone(&processes));
        if let Some(approver) = &inputs.approver {
            composed = composed.with_approver(Arc::clone(approver));
        }
        let subagents = args.agents.then(|| build_subagents(&place, inputs, (&chosen, &limits), &processes));
        let confinement_check = composed.check_confinement();
        let screen = SessionScreen::new(view, inputs, length, refusals);
        let is_widened = matches!(continued, Some(ContinuedSession::Widened(_)));
        let context = limits.context;
        crate::commands::block_on(async {
            let spec = SessionSpec {
                resume: earlier.as_ref().map(|earlier| earlier.id.as_str().to_owned()),
                limits,
                observer: Arc::clone(&screen.view) as Arc<dyn SessionObserver>,
                prompter: screen.prompter(),
                mcp_deps: McpClientDeps {
                    observer: Some(Arc::new(ServerNotices::Problems)),
                    ..McpClientDeps::default()
                },
                agents: subagents.as_ref().map(|subagents| Arc::clone(subagents).root_agents()),
                ..SessionSpec::new(composed, dirs.clone(), Some(chosen))
            };
            let assembled = session::assemble(spec)?;
            if let Some(subagents) = &subagents {
                subagents.register(Vec::new(), &assembled);
            }
            let path = assembled.recorder.path().display().to_string();
            screen.view.on_session_start(&SessionStart {
                id: assembled.id.as_str(),
                journal: &path,
                model: &name,
                resumed: assembled.resumed,
                rights: describe_rights(&assembled.toolgate),
                context,
                last_turn: earlier
                    .as_ref()
                    .and_then(|earlier| earlier.last_turn.as_ref())
                    .filter(|_| !is_widened),
                other_directory: earlier.as_ref().and_then(|earlier| earlier.other_directory(&cwd)),
            });
            let unfinished_turn = earlier.and_then(|earlier| earlier.unfinished_turn);
            let surroundings = RunSurroundings { dirs, place, plain_http, unfinished_turn };
            let running = run_turns_and_close(assembled, screen, surroundings, (prompt, images));
            run_beside_check(running, confinement_check).await
        })
    }

    /// Chooses rights, tools and model: as flags and configuration say, as in an earlier session, or as the user
    /// answers. `None` if the user stops.
    fn prepare(&self) -> Result<Option<PreparedSession>, OperationFault> {
        let (args, place, dirs) = (self.args, &self.place, &self.inputs.dirs);
        let cwd = working_directory(place)?;
        let continued = self.continued.as_ref().map(|continued| match continued {
            ContinuedSession::Resumed(prefix) | ContinuedSession::Widened(prefix) => prefix.as_str(),
        });
        let earlier = continued.map(|prefix| EarlierSession::read(dirs, prefix, &cwd)).transpose()?;
        let mut config = config::load(&cwd, dirs, place)?;
        if let Some(earlier) = &earlier {
            earlier.restore(&mut config, &cwd, dirs);
        }
        // Before the question: without a model, its answer would be for nothing.
        let location = args.model.location().with_settings(&config);
        let plain_http = location.plain_http;
        let chosen = match &self.inputs.chosen {
            Some(chosen) => chosen.clone(),
            None => {
                let location = earlier.iter().fold(location, |at, earlier| earlier.complete_location(at));
                choose_model::choose_model(&location, config.model.value.as_deref())?
            }
        };
        let budget = args.budget.to_budget(&config, &chosen.name)?;
        let limits = TurnLimits { budget, ..args.model.limits() };
        if self.inputs.is_interactive() {
            match sandbox_question::choose_sandbox(&config, &cwd, dirs)? {
                Some(sandbox) => config.sandbox = sandbox,
                None => return Ok(None),
            }
        }
        let composed = compose_in_dirs(place, dirs.clone(), |loaded| *loaded = config)?;
        Ok(Some(PreparedSession { composed, chosen, limits, plain_http, earlier, cwd }))
    }
}

/// Runs a session, and beside it the check, which must not delay the first request.
async fn run_beside_check<T>(running: impl Future<Output = T>, check: impl Future<Output = ()>) -> T {
    tokio::pin!(running);
    tokio::select! {
        biased;
        ended = &mut running => ended,
        () = check => running.await,
    }
}

impl RunInputs {
    /// Returns true if a user can type at the terminal.
    fn is_interactive(&self) -> bool {
        self.terminal.is_some() && std::io::stdin().is_terminal()
    }
}

/// The view of a session, and the user in front of it.
struct SessionScreen {
    view: Arc<dyn SessionView>,
    terminal: Option<Arc<TerminalApprover>>,
    user_questions: Arc<UserQuestions>,
    /// The user can type prompts.
    is_interactive: bool,
    length: RunLength,
    can_go_on: bool,
    refusals: Arc<RefusalCounter>,
}

impl SessionScreen {
    fn new(
        view: Arc<dyn SessionView>,
        inputs: &RunInputs,
        length: RunLength,
        refusals: Arc<RefusalCounter>,
    ) -> Self {
        Self {
            length,
            refusals,
            user_questions: Arc::new(UserQuestions::new(&view)),
            view,
            terminal: inputs.terminal.clone(),
            is_interactive: inputs.is_interactive(),
            can_go_on: inputs.can_go_on,
        }
    }

    /// Returns the user as the one who answers the model's questions.
    fn prompter(&self) -> Option<Arc<dyn UserPrompter>> {
        self.is_interactive.then(|| Arc::clone(&self.user_questions) as Arc<dyn UserPrompter>)
    }
}

/// The directories of the user, the permissions, the hosts that may be asked over plain HTTP, and the state of an
/// earlier session.
struct RunSurroundings {
    dirs: UserDirs,
    place: WorkspaceArgs,
    plain_http: PlainHttp,
    unfinished_turn: Option<UnfinishedTurn>,
}

/// Runs the turns of the session, closes its journal and ends everything that still runs.
async fn run_turns_and_close(
    assembled: AssembledSession,
    screen: SessionScreen,
    surroundings: RunSurroundings,
    (prompt, images): (Option<String>, Vec<OutputImage>),
) -> Result<ReplEnd, OperationFault> {
    let RunSurroundings { dirs, place, plain_http, unfinished_turn } = surroundings;
    let quota = assembled.quota.clone();
    let AssembledSession { id, recorder, toolgate, servers, session, agents, settings, .. } = assembled;
    let SessionScreen { view, terminal, user_questions, is_interactive, length, can_go_on, refusals } =
        screen;
    let Some(session) = session else {
        return Err(OperationFault::failed("a session without its model; this is a bug"));
    };
    let signals = watch_signals(session.handle(), Arc::clone(&view))?;
    let lines = is_interactive
        .then(|| {
            let editor = prompt_editor(&dirs, &toolgate, prompt.as_deref().unwrap_or_default());
            TypedLines::spawn_reader(&view, session.handle(), editor)
        })
        .transpose()?;
    let mut repl = ReplSession {
        session,
        view: Arc::clone(&view),
        terminal,
        lines,
        user_questions,
        toolgate: &toolgate,
        dirs,
        place,
        recorder: &recorder,
        settings,
        unfinished_turn,
        last_turn_end: "done",
        is_in_turn: watch::Sender::new(false),
        refusals,
        length,
    };
    let is_in_turn = repl.is_in_turn.subscribe();
    let (ended, stopped) = run_until_signal(repl.run_turns(prompt, images), signals, is_in_turn).await;
    let why = match stopped {
        Some(CancelCause::Signal(name)) => name,
        Some(CancelCause::User | CancelCause::TimeLimit) => "interrupted",
        None => repl.last_turn_end,
    };
    drop(repl);
    view.release_screen();
    if can_go_on && !matches!(ended, Ok(ReplEnd::Widened { .. })) {
        view.on_session_end(id.as_str());
    }
    session::close_journal(&recorder, why).map_err(session::journal_fault)?;
    tokio::join!(
        report::otlp::report_session(recorder.path(), plain_http),
        AssembledSession::shut_down(&toolgate, servers, agents)
    );
    quota.apply();
    ended
}

/// Returns the editor of prompts, with the earlier prompts of the working directory and the first one of this run.
fn prompt_editor(dirs: &UserDirs, toolgate: &runtime::Toolgate, first_prompt: &str) -> PromptEditor {
    let cwd = &toolgate.router().working_dir().cwd;
    let file = format!("{}.jsonl", session::directory_key(cwd));
    let history = dirs.state.as_ref().map(|state| PromptHistory::open(&state.join("prompts"), file));
    let mut history = history.unwrap_or_default();
    history.add(first_prompt);
    let allowed = || allow_command::FLAGS.iter().map(|&flag| flag.to_owned()).collect();
    let running = toolgate.clone();
    let completer = PromptCompleter::new(slash_commands::COMMANDS, cwd.clone())
        .with_arguments("allow", allowed)
        .with_arguments("kill", move || background_processes::kill_arguments(&running));
    PromptEditor::new(history, completer)
}

/// Runs `turns` to their end, or until a signal ends the program. Returns the reason of the end if that is a signal.
async fn run_until_signal(
    turns: impl Future<Output = Result<ReplEnd, OperationFault>>,
    signals: impl Future<Output = (u8, CancelCause)>,
    is_in_turn: watch::Receiver<bool>,
) -> (Result<ReplEnd, OperationFault>, Option<CancelCause>) {
    tokio::pin!(turns, signals);
    let stopped = |(code, cause): (u8, CancelCause)| (Ok(ReplEnd::Exit(ExitCode::from(code))), Some(cause));
    tokio::select! {
        biased;
        ended = &mut signals => {
            tokio::select! {
                _ = &mut turns => {}
                () = wait_for_turn_end(is_in_turn) => {}
            }
            stopped(ended)
        }
        // A signal may have come while the turn was polled, and ended it.
        ended = &mut turns => tokio::select! {
            biased;
            signal = &mut signals => stopped(signal),
            () = std::future::ready(()) => (ended, None),
        },
    }
}

/// Describes what the session may do.
fn describe_rights(toolgate: &runtime::Toolgate) -> String {
    let gate = toolgate.router().gate();
    let may = match gate.sandbox() {
        SandboxPolicy::ReadOnly => "reads files only",
        SandboxPolicy::WorkspaceWrite => "may change files here",
        SandboxPolicy::External => "not sandboxed (external)",
        SandboxPolicy::FullAccess => "not sandboxed",
    };
    format!("{may} · approval {}", gate.approval().as_str())
}

fn choose_view(args: &RunArgs, length: RunLength) -> Arc<dyn SessionView> {
    if args.json {
        return Arc::new(json_view::JsonLines::default());
    }
    let remedy_form = match length {
        RunLength::UntilQuit => RemedyForm::AllowCommand,
        RunLength::OneTurn => RemedyForm::Flag,
    };
    Arc::new(terminal_view::TerminalView::new(remedy_form))
}

/// Creates the factory of subagent sessions.
fn build_subagents(
    place: &WorkspaceArgs,
    inputs: &RunInputs,
    (chosen, limits): (&ChosenModel, &TurnLimits),
    processes: &runtime::SharedProcesses,
) -> Arc<SubagentSessions> {
    Arc::new(SubagentSessions {
        place: place.clone(),
        dirs: inputs.dirs.clone(),
        chosen: chosen.clone(),
        limits: limits.clone(),
        instructions: None,
        approver: inputs.approver.clone(),
        allowed_tools: None,
        sources: Vec::new(),
        processes: Arc::new(processes.with_own_sessions()),
        sessions: Mutex::default(),
        worktrees: WorktreePool::default(),
    })
}
