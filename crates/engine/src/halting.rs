//! A tool's work, until it answers or has to end.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tool::{Cx, ErrorKind, GRACE, Halt, ToolError, ToolOutput};

/// Lets `work` run until it is done, until `limit` is over or until `cancel`.
///
/// A tool that asked to be told of its end is told, and gets [`GRACE`] to answer with what it has. Every other one is
/// given up then and there.
pub(crate) async fn bounded(
    mut work: Pin<&mut impl Future<Output = Result<ToolOutput, ToolError>>>,
    cx: &Cx,
    limit: Duration,
    cancel: &CancellationToken,
    arrived: Instant,
) -> Result<ToolOutput, ToolError> {
    let (why, ended) = tokio::select! {
        biased; // a result that is there when the call is cancelled is the better answer
        // `timeout` and no branch of its own: it looks at the clock even if the work never rests.
        done = tokio::time::timeout(limit, &mut work) => match done {
            Ok(done) => return done,
            Err(_) => (Halt::TimedOut { after: limit }, ToolError::TimedOut { after: limit }),
        },
        () = cancel.cancelled() => (Halt::Cancelled, ToolError::Cancelled { after: arrived.elapsed() }),
    };
    if !cx.halt(why) {
        return Err(ended);
    }
    match tokio::time::timeout(GRACE, work).await {
        Ok(done) => done.map(|output| cut_short(output, ended.kind())),
        Err(_) => Err(ended),
    }
}

/// Programs have to know that it is not all; the model reads what the tool says about it.
fn cut_short(mut output: ToolOutput, by: ErrorKind) -> ToolOutput {
    if output.facts.error.is_none() {
        output.facts.error = Some(by);
        output.success = false;
    }
    output
}
