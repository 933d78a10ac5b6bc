//! Waits for a command until it ends, prompts for input, exceeds its time or must halt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exec::session::{GRACE, ProcessSession, Pump, SessionStage};
use tokio::time::{sleep_until, timeout};
use tool::{Cx, HaltReason};

use super::output_streamer::OutputStreamer;

/// A line without a newline for this long is taken for a prompt.
const PROMPT: Duration = Duration::from_millis(300);
/// The time to wait for killed processes. Shorter than the grace period of a halted call.
const END: Duration = Duration::from_secs(3);

/// Options for waiting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitOptions {
    pub(crate) until: Instant,
    /// Stops when the command seems to wait for input.
    pub(crate) prompts: bool,
    /// Stops when the command's own process has ended, although child processes remain.
    pub(crate) leaves: bool,
}

/// The reason why the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitResult {
    /// All processes have ended.
    Over,
    /// The command's own process has ended, child processes remain.
    Left,
    /// The command is still running.
    Yielded,
    /// The command is still running and seems to wait for input.
    Prompting,
    /// The call must end.
    Halted(HaltReason),
}

/// Waits for the command and streams its output to the observers. `pump` drives the command, if nothing else does.
pub(crate) async fn wait_for_command(
    session: &Arc<ProcessSession>,
    mut pump: Option<&mut Pump>,
    deltas: &mut OutputStreamer,
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
            () = deltas.send_available(cx) => {}
            halt = &mut halted => return WaitResult::Halted(halt),
            () = sleep_until(wait.until.into()) => return WaitResult::Yielded,
        }
        match session.stage() {
            SessionStage::Over { .. } | SessionStage::Lost => return WaitResult::Over,
            SessionStage::Leaving { settled: true, .. } if wait.leaves => return WaitResult::Left,
            SessionStage::Running | SessionStage::Leaving { .. } => {}
        }
        let prompt = wait.prompts.then(|| session.prompting_since()).flatten().map(|since| since + PROMPT);
        let asks = prompt.is_some_and(|at| at < wait.until);
        tokio::select! {
            biased;
            () = moved(pump.as_deref_mut()) => pump = None,
            _ = changed.changed() => {}
            halt = &mut halted => return WaitResult::Halted(halt),
            () = sleep_until(prompt.unwrap_or(wait.until).into()), if asks => return WaitResult::Prompting,
            () = sleep_until(wait.until.into()) => return WaitResult::Yielded,
        }
    }
}

async fn moved(pump: Option<&mut Pump>) {
    match pump {
        Some(pump) => pump.await,
        None => std::future::pending().await,
    }
}

/// Ends the remaining processes, and waits until they are gone or prove to be stuck.
pub(crate) async fn end_command(
    session: &Arc<ProcessSession>,
    pump: Option<&mut Pump>,
    deltas: &mut OutputStreamer,
) {
    if session.is_over() {
        return;
    }
    // A slow observer must not keep a process alive.
    deltas.lift_backpressure();
    session.end(GRACE);
    let gone = async {
        tokio::select! {
            () = moved(pump) => {}
            () = session.wait_until(|session| session.is_over() || !session.stuck_processes().is_empty()) => {}
        }
    };
    let _will_not = timeout(END, gone).await;
}
