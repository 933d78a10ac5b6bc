//! Waits for a command until it ends, prompts for input, exceeds its time or must halt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exec::session::{ProcessSession, Pump, SIGTERM_GRACE, SessionStage};
use tokio::time::{sleep_until, timeout};
use tool::{Cx, HaltReason};

use super::output_streamer::OutputStreamer;

/// A line without a newline for this long is taken for a prompt.
const PROMPT_DELAY: Duration = Duration::from_millis(300);
/// The time to wait for killed processes. Shorter than the grace period of a halted call.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// Options for waiting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitOptions {
    pub(crate) deadline: Instant,
    /// Stops when the command seems to wait for input.
    pub(crate) stop_at_prompt: bool,
    /// Stops when the command's own process has ended, although child processes remain.
    pub(crate) stop_at_exit: bool,
}

/// The reason why the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitResult {
    /// All processes have ended.
    Ended,
    /// The command's own process has ended, child processes remain.
    ChildrenRemain,
    /// The command is still running.
    StillRunning,
    /// The command is still running and seems to wait for input.
    AwaitingInput,
    /// The call must end.
    Halted(HaltReason),
}

/// Waits for the command and streams its output to the observers. `pump` drives the command, if nothing else does.
pub(crate) async fn wait_for_command(
    session: &Arc<ProcessSession>,
    mut pump: Option<&mut Pump>,
    streamer: &mut OutputStreamer,
    wait: WaitOptions,
    cx: &Cx,
) -> WaitResult {
    let mut changed = session.subscribe();
    let halted = cx.wait_for_halt();
    tokio::pin!(halted);
    // ends: with the wait at the latest
    loop {
        changed.mark_unchanged();
        tokio::select! {
            biased;
            () = streamer.send_available(cx) => {}
            halt = &mut halted => return WaitResult::Halted(halt),
            () = sleep_until(wait.deadline.into()) => return WaitResult::StillRunning,
        }
        match session.stage() {
            SessionStage::Over { .. } | SessionStage::Lost => return WaitResult::Ended,
            SessionStage::LeaderExited { settled: true, .. } if wait.stop_at_exit => {
                return WaitResult::ChildrenRemain;
            }
            SessionStage::Running | SessionStage::LeaderExited { .. } => {}
        }
        let prompt = wait
            .stop_at_prompt
            .then(|| session.prompting_since())
            .flatten()
            .map(|since| since + PROMPT_DELAY);
        let asks = prompt.is_some_and(|at| at < wait.deadline);
        tokio::select! {
            biased;
            () = drive_pump(pump.as_deref_mut()) => pump = None,
            _ = changed.changed() => {}
            halt = &mut halted => return WaitResult::Halted(halt),
            () = sleep_until(prompt.unwrap_or(wait.deadline).into()), if asks => return WaitResult::AwaitingInput,
            () = sleep_until(wait.deadline.into()) => return WaitResult::StillRunning,
        }
    }
}

async fn drive_pump(pump: Option<&mut Pump>) {
    match pump {
        Some(pump) => pump.await,
        None => std::future::pending().await,
    }
}

/// Ends the remaining processes, and waits until they are gone or prove to be stuck.
pub(crate) async fn end_command(
    session: &Arc<ProcessSession>,
    pump: Option<&mut Pump>,
    streamer: &mut OutputStreamer,
) {
    if session.is_over() {
        return;
    }
    // A slow observer must not keep a process alive.
    streamer.lift_backpressure();
    session.end(SIGTERM_GRACE);
    let gone = async {
        tokio::select! {
            () = drive_pump(pump) => {}
            () = session.wait_until(|session| session.is_over() || !session.stuck_processes().is_empty()) => {}
        }
    };
    let _will_not = timeout(END_TIMEOUT, gone).await;
}
