//! Waiting for a command: until it ends, asks for something, takes too long or has to stop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exec::session::{GRACE, Pump, Session, Stage};
use tokio::time::{sleep_until, timeout};
use tool::{Cx, Halt};

use super::deltas::Deltas;

/// A line that is not finished for so long is taken for a prompt.
const PROMPT: Duration = Duration::from_millis(300);
/// How long killed processes are waited for. Shorter than the moment that a halted call has.
const END: Duration = Duration::from_secs(3);

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) until: Instant,
    /// Whether to stop when it seems to wait for input.
    pub(crate) prompts: bool,
    /// Whether to stop when its process has ended, though others that came of it have not.
    pub(crate) leaves: bool,
}

/// Why the waiting is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing is left of it.
    Over,
    /// Its process has ended, others that came of it have not.
    Left,
    /// It runs on.
    Yielded,
    /// It runs on, and seems to wait for input.
    Prompting,
    /// The call has to end.
    Halted(Halt),
}

/// Moves the command with `pump`, if it does not move by itself, and tells observers what it writes.
pub(crate) async fn attend(
    session: &Arc<Session>,
    mut pump: Option<&mut Pump>,
    deltas: &mut Deltas,
    wait: Wait,
    cx: &Cx,
) -> Outcome {
    let mut changed = session.watch();
    let halted = cx.halted();
    tokio::pin!(halted);
    // ends: with the wait at the latest
    loop {
        changed.mark_unchanged();
        tokio::select! {
            biased;
            () = deltas.tell(cx) => {}
            halt = &mut halted => return Outcome::Halted(halt),
            () = sleep_until(wait.until.into()) => return Outcome::Yielded,
        }
        match session.stage() {
            Stage::Over { .. } | Stage::Lost => return Outcome::Over,
            Stage::Leaving { settled: true, .. } if wait.leaves => return Outcome::Left,
            Stage::Running | Stage::Leaving { .. } => {}
        }
        let prompt = wait.prompts.then(|| session.prompting_since()).flatten().map(|since| since + PROMPT);
        let asks = prompt.is_some_and(|at| at < wait.until);
        tokio::select! {
            biased;
            () = moved(pump.as_deref_mut()) => pump = None,
            _ = changed.changed() => {}
            halt = &mut halted => return Outcome::Halted(halt),
            () = sleep_until(prompt.unwrap_or(wait.until).into()), if asks => return Outcome::Prompting,
            () = sleep_until(wait.until.into()) => return Outcome::Yielded,
        }
    }
}

async fn moved(pump: Option<&mut Pump>) {
    match pump {
        Some(pump) => pump.await,
        None => std::future::pending().await,
    }
}

/// Ends whatever is left of the command, and waits until it is gone or will not go.
pub(crate) async fn finish(session: &Arc<Session>, pump: Option<&mut Pump>, deltas: &mut Deltas) {
    if session.is_over() {
        return;
    }
    // Whoever watches slowly does not keep a process alive.
    deltas.hold_up_nothing();
    session.end(GRACE);
    let gone = async {
        tokio::select! {
            () = moved(pump) => {}
            () = session.until(|session| session.is_over() || !session.stuck().is_empty()) => {}
        }
    };
    let _will_not = timeout(END, gone).await;
}
