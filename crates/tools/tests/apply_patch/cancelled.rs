//! Tests that a call cancelled while it applies a patch leaves all of its changes, or none.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use engine::{CallEvent, CallObserver};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tool::{CallId, ToolCall, ToolErrorKind, ToolNotice, ToolPayload};

use super::{PatchWorkspace, envelope};

const FILES: usize = 40;

fn bench() -> PatchWorkspace {
    let bench = PatchWorkspace::new();
    for at in 0..FILES {
        bench.w.write_file(format!("d{}/f{at}.txt", at % 4), "old\n");
    }
    bench
}

fn call() -> ToolCall {
    let update = |at: usize| format!("*** Update File: d{}/f{at}.txt\n-old\n+new\n", at % 4);
    let input = envelope(&(0..FILES).map(update).collect::<String>());
    ToolCall { id: "call".into(), name: "apply_patch".to_owned(), payload: ToolPayload::Custom { input } }
}

/// Counts the new files, and checks that no other file is left.
fn new(bench: &PatchWorkspace) -> usize {
    let all = bench.everything();
    assert_eq!(all.len(), FILES, "{all:?}");
    assert!(all.iter().all(|(_, bytes)| bytes == b"old\n" || bytes == b"new\n"));
    assert!(fs::read_dir(bench.w.outside_dir().join("../records")).map_or(true, |left| {
        left.flatten().all(|entry| entry.path().extension().is_none_or(|kind| kind != "json"))
    }));
    all.iter().filter(|(_, bytes)| bytes == b"new\n").count()
}

/// Cancels when the first file has changed.
struct CancelOnFirstChange(Mutex<Option<CancellationToken>>);

impl CallObserver for CancelOnFirstChange {
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        if matches!(event, CallEvent::Notice(ToolNotice::FileChanged { .. }))
            && let Some(cancel) = self.0.lock().take()
        {
            cancel.cancel();
        }
    }
}

#[test]
fn started_patch_is_finished_and_reported() {
    let mut bench = bench();
    let cancel = CancellationToken::new();
    let hasty = CancelOnFirstChange(Mutex::new(Some(cancel.clone())));
    bench.router = bench.router.with_observer(Arc::new(hasty));
    let answer = bench.runtime.block_on(bench.router.dispatch(call(), cancel.clone()));
    assert!(cancel.is_cancelled());
    assert_eq!(new(&bench), FILES);
    assert!(answer.joined_text().starts_with("Applied:\nM d0/f0.txt"), "{}", answer.joined_text());
    // The call may have finished before the cancellation was noticed.
    assert!(matches!(answer.facts.error, None | Some(ToolErrorKind::Cancelled)), "{:?}", answer.facts);
}

#[test]
fn cancelled_patch_is_not_started() {
    let bench = bench();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let answer = bench.runtime.block_on(bench.router.dispatch(call(), cancel));
    assert_eq!((answer.facts.error, new(&bench)), (Some(ToolErrorKind::Cancelled), 0));
}

#[test]
fn a_call_that_is_dropped_at_any_moment_leaves_no_half() {
    for round in 0..30 {
        let bench = bench();
        let call = bench.router.dispatch(call(), CancellationToken::new());
        let given_up = Duration::from_micros(round * 300);
        bench.runtime.block_on(async { tokio::time::timeout(given_up, call).await }).ok();
        let PatchWorkspace { w, router, approver, events, runtime } = bench;
        // Waits for the running work.
        runtime.shutdown_timeout(Duration::from_secs(60));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let all = new(&PatchWorkspace { w, router, approver, events, runtime });
        assert!(all == 0 || all == FILES, "{all} files are new");
    }
}
