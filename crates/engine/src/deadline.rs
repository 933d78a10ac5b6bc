//! Runs a tool until it finishes, its time limit passes or the call is cancelled.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tool::{Cx, HALT_GRACE, HaltReason, ToolError, ToolErrorKind, ToolOutput};

/// Runs `work` until it finishes, `limit` passes or `cancel` fires.
///
/// A tool that waits for its halt signal receives it and has [`HALT_GRACE`] to answer with partial output. Every other tool
/// is dropped immediately.
pub(crate) async fn run_until_deadline(
    mut work: Pin<&mut impl Future<Output = Result<ToolOutput, ToolError>>>,
    cx: &Cx,
    limit: Duration,
    cancel: &CancellationToken,
    arrived: Instant,
) -> Result<ToolOutput, ToolError> {
    let (why, ended) = tokio::select! {
        biased; // a result that is ready when the call is cancelled is the better answer
        // `timeout` instead of a separate branch: it checks the clock even if the work is always ready.
        done = tokio::time::timeout(limit, &mut work) => match done {
            Ok(done) => return done,
            Err(_) => (HaltReason::TimedOut { after: limit }, ToolError::TimedOut { after: limit }),
        },
        () = cancel.cancelled() => (HaltReason::Cancelled, ToolError::Cancelled { after: arrived.elapsed() }),
    };
    if !cx.halt(why) {
        return Err(ended);
    }
    match tokio::time::timeout(HALT_GRACE, work).await {
        Ok(done) => done.map(|output| mark_failed(output, ended.kind())),
        Err(_) => Err(ended),
    }
}

/// Marks a partial output as failed with `by`, for programs; the tool's own text explains it to the model.
fn mark_failed(mut output: ToolOutput, by: ToolErrorKind) -> ToolOutput {
    if output.facts.error.is_none() {
        output.facts.error = Some(by);
        output.success = false;
    }
    output
}
