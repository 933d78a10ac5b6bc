//! Restores default signal dispositions for programs that tests start, if the test run inherited ignored signals.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

/// The signals that a background job of a script, or `nohup`, ignores.
const RESTORED_SIGNALS: [fn() -> SignalKind; 3] =
    [SignalKind::hangup, SignalKind::interrupt, SignalKind::quit];

/// Restores the default disposition of SIGHUP, SIGINT and SIGQUIT for programs that this process starts later.
///
/// A child inherits ignored signals, but not handlers. Ignored signals therefore get a no-op handler here. The others
/// stay unchanged, so Ctrl-C still ends the tests.
///
/// # Panics
/// If a handler cannot be installed.
pub fn restore_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = ignored_signals_mask();
        let is_ignored = |kind: &SignalKind| ignored >> (kind.as_raw_value() - 1) & 1 == 1;
        let kinds: Vec<SignalKind> =
            RESTORED_SIGNALS.map(|kind| kind()).into_iter().filter(is_ignored).collect();
        if kinds.is_empty() {
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        let _entered = runtime.enter();
        for kind in kinds {
            // The handler stays for the life of the process.
            drop(signal(kind).expect("a signal that is ignored can be handled"));
        }
    });
}

/// Returns the bit mask of the signals that this process ignores.
#[expect(clippy::disallowed_methods, reason = "tests look at their own process")]
fn ignored_signals_mask() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
