//! The read-eval loop of `toolgate run`: prompts, lines typed during a turn, and signals.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::{AgentSession, SessionHandle, TurnEnd};
use runtime::{OutputImage, Toolgate};
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

use super::SessionView;
use super::line_editor::{self, TypedInput, TypedLines};
use super::slash_commands::SlashCommands;
use super::user_questions::UserQuestions;
use crate::exit_status::{INTERRUPTED, TERMINATED};
use crate::terminal_approver::TerminalApprover;
use config::OperationFault;
use config::UserDirs;

/// The exit status after the maximum number of requests.
const OUT_OF_ROUNDS_STATUS: u8 = 3;
/// Interval of the view's ticks.
const TICK_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time for the shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for the end of an interrupted turn.
const TURN_END_TIMEOUT: Duration = Duration::from_secs(3);
/// Ctrl-Z.
const SIGTSTP: i32 = Signal::TSTP.as_raw();
/// Two Ctrl-C within this time end the program.
const DOUBLE_INTERRUPT_WINDOW: Duration = Duration::from_secs(2);

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
    /// The end of the last turn, in a word.
    pub(super) last_turn_end: &'static str,
    /// True while a turn runs.
    pub(super) is_in_turn: watch::Sender<bool>,
}

impl ReplSession<'_> {
    /// Runs one turn for a given prompt, else one turn for each typed prompt.
    pub(super) async fn run_turns(
        &mut self,
        prompt: Option<String>,
        mut images: Vec<OutputImage>,
    ) -> Result<ExitCode, OperationFault> {
        if let Some(prompt) = prompt {
            return self.run_turn(&prompt, images).await.map(|ended| exit_code(&ended));
        }
        // ends: when the input ends
        loop {
            self.view.show_prompt();
            let line = match &mut self.lines {
                Some(lines) => lines.next().await,
                None => None,
            };
            let Some(line) = line else { return Ok(ExitCode::SUCCESS) };
            match TypedInput::parse(&line) {
                TypedInput::Nothing => {}
                TypedInput::Quit => return Ok(ExitCode::SUCCESS),
                TypedInput::Command(command) => {
                    let (state, sessions) = (self.dirs.state.as_deref(), self.dirs.sessions.as_deref());
                    let handle = &self.session.handle();
                    SlashCommands { toolgate: self.toolgate, state, sessions, handle }
                        .execute(command)
                        .await?;
                }
                TypedInput::Prompt(prompt) => {
                    if let Err(fault) = self.run_turn(prompt, std::mem::take(&mut images)).await {
                        crate::exit_status::report_fault(&fault);
                    }
                }
            }
        }
    }

    async fn run_turn(&mut self, prompt: &str, images: Vec<OutputImage>) -> Result<TurnEnd, OperationFault> {
        let (view, handle, terminal) = (Arc::clone(&self.view), self.session.handle(), self.terminal.clone());
        let (user_questions, lines) = (Arc::clone(&self.user_questions), &mut self.lines);
        let is_asking = move || terminal.as_ref().is_some_and(|person| person.is_asking());
        let mut ticks = tokio::time::interval(TICK_INTERVAL);
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
                            // A journal fault stops the turn, which reports it.
                            Some(Some(line)) if !line.trim().is_empty() => drop(handle.steer(line)),
                            Some(_) => {}
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
        ended.map_err(|fault| OperationFault::failed(fault.to_string()))
    }
}

fn exit_code(ended: &TurnEnd) -> ExitCode {
    match ended {
        TurnEnd::Done => ExitCode::SUCCESS,
        TurnEnd::CutShort { .. } => ExitCode::FAILURE,
        TurnEnd::Interrupted => ExitCode::from(INTERRUPTED),
        TurnEnd::OutOfRounds => ExitCode::from(OUT_OF_ROUNDS_STATUS),
    }
}

/// Waits until the interrupted turn has answered its calls and reported its end, but not for long.
pub(super) async fn wait_for_turn_end(mut is_in_turn: watch::Receiver<bool>) {
    let over = is_in_turn.wait_for(|is_in_turn| !is_in_turn);
    let _too_long = tokio::time::timeout(TURN_END_TIMEOUT, over).await;
}

/// Handles signals and resolves to the exit status. The first Ctrl-C stops the turn; a second one, SIGTERM
/// and SIGHUP stop it too and end the program.
///
/// Runs in a task of its own: a reader that blocks our output cannot prevent the exit.
pub(super) fn watch_signals(handle: SessionHandle) -> Result<impl Future<Output = u8>, OperationFault> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let (mut hangup, mut stop) = (signal(SignalKind::hangup())?, signal(SignalKind::from_raw(SIGTSTP))?);
    let (code_sender, code_receiver) = oneshot::channel();
    #[expect(clippy::disallowed_methods, reason = "no call: it watches for signals")]
    tokio::spawn(async move {
        let mut last: Option<Instant> = None;
        // ends: with the second of two in a row
        let code = loop {
            tokio::select! {
                _ = interrupt.recv() => {
                    let twice = last.is_some_and(|last| last.elapsed() < DOUBLE_INTERRUPT_WINDOW);
                    handle.interrupt();
                    if twice {
                        break INTERRUPTED;
                    }
                    last = Some(Instant::now());
                }
                _ = terminate.recv() => {
                    handle.interrupt();
                    break TERMINATED;
                }
                _ = hangup.recv() => {
                    handle.interrupt();
                    break TERMINATED;
                }
                // Restores the terminal for the shell while we are stopped.
                _ = stop.recv() => {
                    let typed = line_editor::leave_key_mode();
                    let _stopped = kill_process(getpid(), Signal::STOP);
                    if typed {
                        line_editor::enter_key_mode();
                    }
                }
            }
        };
        let _over = code_sender.send(code);
        tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
        line_editor::leave_key_mode();
        std::process::exit(i32::from(code));
    });
    Ok(async move {
        match code_receiver.await {
            Ok(code) => code,
            // The task has ended with the runtime.
            Err(_) => std::future::pending().await,
        }
    })
}
