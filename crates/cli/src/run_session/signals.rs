//! Signals of `toolgate run`: Ctrl-C, Ctrl-Z, SIGTERM and SIGHUP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::SessionHandle;
use runtime::CancelCause;
use rustix::process::{Signal, getpid, kill_process};
use server::HangUp;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

use super::long_text::is_pager_open;
use super::{SessionView, line_editor};
use crate::exit_status::{HUNG_UP, INTERRUPTED, TERMINATED};
use config::OperationFault;

/// Maximum time for the shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for the end of an interrupted turn.
const TURN_END_TIMEOUT: Duration = Duration::from_secs(3);
/// Ctrl-Z.
const SIGTSTP: i32 = Signal::TSTP.as_raw();
/// The shell's `fg` and `bg`.
const SIGCONT: i32 = Signal::CONT.as_raw();
/// Two Ctrl-C within this time end the program.
const DOUBLE_INTERRUPT_WINDOW: Duration = Duration::from_secs(2);

/// Handles signals and resolves to the exit status and the cause that answers name. The first Ctrl-C stops the turn; a second one, SIGTERM
/// and SIGHUP stop it too and end the program.
///
/// Runs in a task of its own: a reader that blocks our output cannot prevent the exit.
pub(super) fn watch_signals(
    handle: SessionHandle,
    view: Arc<dyn SessionView>,
) -> Result<impl Future<Output = (u8, CancelCause)>, OperationFault> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let (mut hang_up, mut stop) = (HangUp::install()?, signal(SignalKind::from_raw(SIGTSTP))?);
    let mut go_on = signal(SignalKind::from_raw(SIGCONT))?;
    let (code_sender, code_receiver) = oneshot::channel();
    #[expect(clippy::disallowed_methods, reason = "no call: it watches for signals")]
    tokio::spawn(async move {
        let (mut last, mut is_stopped) = (None::<Instant>, false);
        // ends: with the second of two in a row
        let (code, cause) = loop {
            tokio::select! {
                _ = interrupt.recv() => {
                    if is_pager_open() {
                        continue;
                    }
                    if view.has_typed_input() {
                        line_editor::request_clear();
                        last = None;
                        continue;
                    }
                    if last.is_some_and(|last| last.elapsed() < DOUBLE_INTERRUPT_WINDOW) {
                        break (INTERRUPTED, CancelCause::User);
                    }
                    handle.interrupt();
                    view.on_interrupt();
                    last = Some(Instant::now());
                }
                _ = terminate.recv() => break (TERMINATED, CancelCause::Signal("SIGTERM")),
                () = hang_up.wait() => break (HUNG_UP, CancelCause::Signal("SIGHUP")),
                _ = stop.recv() => is_stopped |= stop_program(&*view),
                // Not after the stop above: the program may run on for a moment before it stops.
                _ = go_on.recv() => continue_program(&*view, std::mem::take(&mut is_stopped)),
            }
        };
        // The exit status and the cause are known before the turn ends.
        let _over = code_sender.send((code, cause));
        view.on_cancel(cause);
        handle.interrupt_because(cause);
        tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
        line_editor::leave_key_mode();
        std::process::exit(i32::from(code));
    });
    Ok(async move {
        match code_receiver.await {
            Ok(ended) => ended,
            // The task has ended with the runtime.
            Err(_) => std::future::pending().await,
        }
    })
}

/// Gives the terminal back to the shell and stops the program. Returns true if the terminal was in key mode.
fn stop_program(view: &dyn SessionView) -> bool {
    view.on_stop();
    let was_key_mode = line_editor::leave_key_mode();
    let _stopped = kill_process(getpid(), Signal::STOP);
    was_key_mode
}

/// Takes the terminal again, if the program goes on in the foreground.
fn continue_program(view: &dyn SessionView, was_key_mode: bool) {
    if was_key_mode {
        line_editor::enter_key_mode();
    }
    if line_editor::resume_key_mode() {
        view.on_continue();
    }
}

/// Waits until the interrupted turn has answered its calls and reported its end, but not for long.
pub(super) async fn wait_for_turn_end(mut is_in_turn: watch::Receiver<bool>) {
    let over = is_in_turn.wait_for(|is_in_turn| !is_in_turn);
    let _too_long = tokio::time::timeout(TURN_END_TIMEOUT, over).await;
}
