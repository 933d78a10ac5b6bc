//! Waits for the signals that end a server.

use std::io;

use runtime::CancelCause;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The reason why a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerExit {
    /// The input ended.
    InputEnded,
    /// SIGINT arrived.
    Interrupted,
    /// SIGTERM arrived.
    Terminated,
    /// SIGHUP arrived.
    HungUp,
}

impl ServerExit {
    /// Returns the cause that the answers of running calls name.
    pub(crate) fn cancel_cause(self) -> CancelCause {
        match self {
            Self::InputEnded | Self::Interrupted => CancelCause::User,
            Self::Terminated => CancelCause::Signal("SIGTERM"),
            Self::HungUp => CancelCause::Signal("SIGHUP"),
        }
    }
}

/// Installs handlers for SIGINT, SIGTERM and SIGHUP, and returns a future that waits for one of them.
///
/// To be called before a server answers its first client, who may send a signal at once.
///
/// # Errors
/// If a handler cannot be installed.
pub fn wait_for_signal() -> io::Result<impl Future<Output = ServerExit>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = HangUp::install()?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => ServerExit::Interrupted,
            _ = terminate.recv() => ServerExit::Terminated,
            () = hang_up.wait() => ServerExit::HungUp,
        }
    })
}

/// The signal SIGHUP, unless the parent process made us ignore it, as `nohup` does.
pub struct HangUp(Option<Signal>);

impl HangUp {
    /// Installs a handler, if the signal is not ignored.
    ///
    /// # Errors
    /// If the handler cannot be installed.
    pub fn install() -> io::Result<Self> {
        let signal = if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self(signal))
    }

    /// Waits for the signal.
    pub async fn wait(&mut self) {
        match &mut self.0 {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Returns true if SIGHUP is ignored.
fn ignores_hang_up() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the kernel's own word, and no file of anybody's")]
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_signal_mask(&status).is_some_and(|mask| mask & 1 == 1)
}

fn ignored_signal_mask(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signals_that_are_ignored_are_read() {
        assert_eq!(
            ignored_signal_mask("Name:\ttoolgate\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"),
            Some(0x1001)
        );
        assert_eq!(ignored_signal_mask("SigIgn: none"), None);
    }
}
