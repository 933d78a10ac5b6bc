//! Signals that whoever started the tests ignores, given back to the programs that tests start.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

/// What a background job of a script, or `nohup`, has ignored.
const KINDS: [fn() -> SignalKind; 3] = [SignalKind::hangup, SignalKind::interrupt, SignalKind::quit];

/// Has programs that this process starts from now on see SIGHUP, SIGINT and SIGQUIT as they are by default.
///
/// What is ignored stays ignored in a program that is started; what is handled does not. So those that are ignored here get a
/// handler that does nothing, and the others stay as they are: Ctrl-C still ends the tests.
///
/// # Panics
/// If there can be no handler.
pub fn restore_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = ignored();
        let is_ignored = |kind: &SignalKind| ignored >> (kind.as_raw_value() - 1) & 1 == 1;
        let kinds: Vec<SignalKind> = KINDS.map(|kind| kind()).into_iter().filter(is_ignored).collect();
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

/// The signals that this process ignores, one bit each.
#[expect(clippy::disallowed_methods, reason = "tests look at their own process")]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
