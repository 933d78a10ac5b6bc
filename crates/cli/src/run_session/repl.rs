//! The read-eval loop of `toolgate run`: runs a turn for each prompt, and passes on lines typed meanwhile.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agent::{AgentSession, JournalRecorder, TurnEnd};
use journal::SessionSettings;
use runtime::{OutputImage, Toolgate};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::SessionView;
use super::first_prompt::RunLength;
use super::line_editor::TypedLines;
use super::refusal_counter::RefusalCounter;
use super::slash_commands::{AfterCommand, SlashCommands, session_id};
use super::staged_commands;
use super::typed_input::TypedInput;
use super::user_questions::UserQuestions;
use crate::exit_status::INTERRUPTED;
use crate::terminal_approver::TerminalApprover;
use config::OperationFault;
use config::UserDirs;
use config::flags::WorkspaceArgs;
use session::UnfinishedTurn;

/// The exit status after the maximum number of requests, or at the end of the budget.
const OUT_OF_BUDGET_STATUS: u8 = 3;
/// The exit status if the model is done and every call was refused, or no command could be confined.
pub(super) const ALL_REFUSED_STATUS: u8 = 4;
/// Interval of the view's ticks.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// The end of the read-eval loop.
#[derive(Debug)]
pub(super) enum ReplEnd {
    /// The program ends with this status.
    Exit(ExitCode),
    /// The user wants a new session, with this model.
    NewSession { model: String },
    /// The user wants to go on with this session and more permissions.
    Widened { id: String, place: Box<WorkspaceArgs> },
}

/// A session with its user.
pub(super) struct ReplSession<'a> {
    pub(super) session: AgentSession,
    pub(super) view: Arc<dyn SessionView>,
    pub(super) terminal: Option<Arc<TerminalApprover>>,
    /// The typed lines; `None` without a user at the terminal.
    pub(super) lines: Option<TypedLines>,
    pub(super) user_questions: Arc<UserQuestions>,
    pub(super) toolgate: &'a Toolgate,
    pub(super) dirs: UserDirs,
    /// The directory and the permissions, as flags give them.
    pub(super) place: WorkspaceArgs,
    pub(super) recorder: &'a JournalRecorder,
    pub(super) settings: SessionSettings,
    /// The last turn of a resumed session, if the program ended during it and no other turn followed.
    pub(super) unfinished_turn: Option<UnfinishedTurn>,
    /// The end of the last turn, in a word.
    pub(super) last_turn_end: &'static str,
    /// True while a turn runs.
    pub(super) is_in_turn: watch::Sender<bool>,
    pub(super) refusals: Arc<RefusalCounter>,
    pub(super) length: RunLength,
}

impl ReplSession<'_> {
    /// Runs a turn for a given prompt. Unless the run has one turn only, a turn for each typed prompt follows.
    pub(super) async fn run_turns(
        &mut self,
        prompt: Option<String>,
        mut images: Vec<OutputImage>,
    ) -> Result<ReplEnd, OperationFault> {
        if let Some(prompt) = prompt {
            match self.length {
                RunLength::OneTurn => {
                    let ended = self.run_turn(&prompt, images).await?;
                    return Ok(ReplEnd::Exit(exit_code(&ended, &self.refusals)));
                }
                RunLength::UntilQuit => {
                    self.view.commit_input(&prompt);
                    self.run_typed_turn(&prompt, std::mem::take(&mut images)).await;
                }
            }
        }
        let mut resized = signal(SignalKind::window_change())?;
        // ends: when the input ends
        loop {
            self.view.show_prompt();
            let Some(line) = self.wait_for_line(&mut resized).await else {
                return Ok(ReplEnd::Exit(ExitCode::SUCCESS));
            };
            match TypedInput::parse(&line) {
                TypedInput::Nothing => {}
                TypedInput::Quit => return Ok(ReplEnd::Exit(ExitCode::SUCCESS)),
                TypedInput::Mistake(hint) => self.view.show_hint(&hint),
                TypedInput::Command(command, argument) => match self.execute(command, argument).await {
                    Ok(AfterCommand::Continue) => {}
                    Ok(AfterCommand::NewSession) => {
                        return Ok(ReplEnd::NewSession { model: self.session.model_name().to_owned() });
                    }
                    Ok(AfterCommand::Widen(place)) => {
                        return Ok(ReplEnd::Widened { id: session_id(self.recorder), place });
                    }
                    Err(fault) => drop(crate::exit_status::report_fault(&fault)),
                },
                TypedInput::Prompt(prompt) => {
                    self.run_typed_turn(prompt, std::mem::take(&mut images)).await;
                }
            }
        }
    }

    /// Waits for a typed line, and redraws what is typed when the window changes. `None` at the end of the input.
    async fn wait_for_line(&mut self, resized: &mut Signal) -> Option<String> {
        let lines = self.lines.as_mut()?;
        // ends: with a line
        loop {
            tokio::select! {
                line = lines.next() => return line,
                Some(()) = resized.recv() => self.view.tick(),
            }
        }
    }

    async fn execute(&mut self, command: &str, argument: &str) -> Result<AfterCommand, OperationFault> {
        let (session, view) = (&mut self.session, &*self.view);
        let (toolgate, dirs, recorder) = (self.toolgate, &self.dirs, self.recorder);
        let (settings, place) = (&mut self.settings, &self.place);
        let unfinished_turn = self.unfinished_turn.as_ref();
        let commands =
            SlashCommands { toolgate, dirs, place, session, view, recorder, settings, unfinished_turn };
        commands.execute(command, argument).await
    }

    /// Runs a turn after which the user is asked again, whatever its end is.
    async fn run_typed_turn(&mut self, prompt: &str, images: Vec<OutputImage>) {
        if let Err(fault) = self.run_turn(prompt, images).await {
            crate::exit_status::report_fault(&fault);
        }
    }

    async fn run_turn(&mut self, prompt: &str, images: Vec<OutputImage>) -> Result<TurnEnd, OperationFault> {
        let (view, handle, terminal) = (Arc::clone(&self.view), self.session.handle(), self.terminal.clone());
        let (user_questions, lines) = (Arc::clone(&self.user_questions), &mut self.lines);
        let is_asking = move || terminal.as_ref().is_some_and(|person| person.is_asking());
        let mut ticks = tokio::time::interval(TICK_INTERVAL);
        self.unfinished_turn = None;
        self.is_in_turn.send_replace(true);
        let ended = {
            let turn = self.session.prompt(prompt, images);
            tokio::pin!(turn);
            // ends: with the turn
            loop {
                tokio::select! {
                    biased;
                    ended = &mut turn => break ended,
                    line = async { lines.as_mut()?.next().await }, if lines.is_some() => {
                        // A line answers the open question, else it steers the turn. Ctrl-D withdraws the
                        // question.
                        match line.map(|line| user_questions.offer_line(line)) {
                            None => user_questions.withdraw(),
                            Some(Some(line)) => match TypedInput::parse(&line).hint_during_turn() {
                                Some(hint) => view.show_hint(&hint),
                                None if line.trim().is_empty() => {}
                                // A journal fault stops the turn, which reports it.
                                None => drop(handle.steer(line)),
                            },
                            Some(None) => {}
                        }
                    }
                    _ = ticks.tick() => if !is_asking() { view.tick() },
                }
            }
        };
        self.toolgate.end_turn();
        let turn_end = ended.as_ref().map(Clone::clone).map_err(ToString::to_string);
        self.view.on_turn_end(&turn_end);
        self.last_turn_end = turn_end.as_ref().map_or("failed", TurnEnd::as_str);
        self.is_in_turn.send_replace(false);
        if let Some(pending) = staged_commands::pending_line(self.toolgate) {
            terminal::print_hint(&pending);
        }
        ended.map_err(|fault| session::agent_fault(&fault))
    }
}

fn exit_code(ended: &TurnEnd, refusals: &RefusalCounter) -> ExitCode {
    match ended {
        TurnEnd::Done => refusals.reason().map_or(ExitCode::SUCCESS, |reason| {
            terminal::print_hint(reason);
            ExitCode::from(ALL_REFUSED_STATUS)
        }),
        TurnEnd::CutShort { .. } => ExitCode::FAILURE,
        TurnEnd::Interrupted => ExitCode::from(INTERRUPTED),
        TurnEnd::OutOfRounds | TurnEnd::OutOfBudget { .. } => ExitCode::from(OUT_OF_BUDGET_STATUS),
    }
}
