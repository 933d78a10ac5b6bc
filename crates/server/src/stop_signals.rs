//! Waits for the signals that end a server.

use std::io;

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

/// Waits for SIGINT, SIGTERM or SIGHUP and returns which.
pub async fn wait_for_signal() -> io::Result<ServerExit> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => Ok(ServerExit::Interrupted),
        _ = terminate.recv() => Ok(ServerExit::Terminated),
        () = wait_for_hang_up(hang_up.as_mut()) => Ok(ServerExit::HungUp),
    }
}

async fn wait_for_hang_up(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Returns true if the parent process made us ignore SIGHUP, as `nohup` does.
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
