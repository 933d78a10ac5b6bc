//! Runs the calls of a turn: started in the model's order, answered in the model's order.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tool::{CallId, ErrorHints, ToolCall, ToolError, ToolErrorKind, ToolOutput};

use crate::ToolRouter;
use crate::finalize_output::finalize_output;
use crate::stopwatch::CallStopwatch;

/// A call with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnsweredCall {
    /// The call as it was made.
    pub call: ToolCall,
    /// The output of the call.
    pub output: ToolOutput,
}

/// The error for a second call whose id is still in use. The call was not run: one id has one answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the call id `{0}` is in use by a call that is not answered yet; this call was not run")]
pub struct DuplicateCall(pub CallId);

/// The state of a started call.
enum CallTask {
    Done(Box<ToolOutput>),
    Running(JoinHandle<ToolOutput>),
}

/// Runs calls concurrently where their tools allow it, and returns the answers in call order.
///
/// Dropping the runtime cancels all running calls.
pub struct ToolCallRuntime {
    router: ToolRouter,
    turn_token: CancellationToken,
    unanswered: VecDeque<(ToolCall, CallTask)>,
    cancel_tokens: HashMap<CallId, CancellationToken>,
}

impl ToolCallRuntime {
    /// Creates a runtime that sends calls to `router`.
    pub fn new(router: ToolRouter) -> Self {
        Self {
            router,
            turn_token: CancellationToken::new(),
            unanswered: VecDeque::new(),
            cancel_tokens: HashMap::new(),
        }
    }

    /// Starts `call` as soon as its lane is free.
    pub fn start(&mut self, call: ToolCall) -> Result<(), DuplicateCall> {
        if self.cancel_tokens.contains_key(&call.id) {
            return Err(DuplicateCall(call.id));
        }
        let cancel = self.turn_token.child_token();
        self.cancel_tokens.insert(call.id.clone(), cancel.clone());
        let turn = self.turn_token.clone();
        // A user who says stop means the whole turn.
        let work = poll_or_spawn(self.router.dispatch(call.clone(), cancel).inspect(move |output| {
            if output.facts.error == Some(ToolErrorKind::Stopped) {
                turn.cancel();
            }
        }));
        self.unanswered.push_back((call, work));
        Ok(())
    }

    /// Waits for the answer to the oldest unanswered call; `None` if there is none. Cancel-safe.
    pub async fn next_answer(&mut self) -> Option<AnsweredCall> {
        let (_, work) = self.unanswered.front_mut()?;
        if let CallTask::Running(task) = work {
            let output = task.await.unwrap_or_else(|_| {
                let gone = ToolError::Fatal("the session ended before the call was answered".to_owned());
                let stopwatch = CallStopwatch::starting_at(Instant::now());
                finalize_output(Err(gone), &stopwatch, &ErrorHints::default())
            });
            *work = CallTask::Done(Box::new(output));
        }
        let (call, CallTask::Done(output)) = self.unanswered.pop_front()? else { return None };
        self.cancel_tokens.remove(&call.id);
        Some(AnsweredCall { call, output: *output })
    }

    /// Cancels one call, which is then answered as aborted. Returns `false` if no such call is open.
    pub fn cancel(&self, id: &CallId) -> bool {
        self.cancel_tokens.get(id).inspect(|cancel| cancel.cancel()).is_some()
    }

    /// Cancels every call of the turn; each is answered. Calls started later run.
    pub fn cancel_turn(&mut self) {
        std::mem::take(&mut self.turn_token).cancel();
    }

    /// Returns the number of unanswered calls.
    pub fn open_count(&self) -> usize {
        self.unanswered.len()
    }
}

/// Polls the call once here, and spawns a task only if it is not finished then.
///
/// A thread hop and back costs some 60 µs, while an unknown tool or a new plan is answered in five. Long work goes
/// through `Cx::run_blocking` or awaits something, so its first step is short.
fn poll_or_spawn(call: impl Future<Output = ToolOutput> + Send + 'static) -> CallTask {
    let mut call = Box::pin(call);
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => CallTask::Done(Box::new(output)),
        // The no-op waker is replaced when the task polls for the first time.
        Poll::Pending => {
            #[expect(clippy::disallowed_methods, reason = "the one place where calls become tasks")]
            let task = tokio::spawn(call);
            CallTask::Running(task)
        }
    }
}

impl Drop for ToolCallRuntime {
    fn drop(&mut self) {
        self.turn_token.cancel();
    }
}
