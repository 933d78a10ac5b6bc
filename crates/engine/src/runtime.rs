//! The calls of a turn: started in the model's order, answered in the model's order.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tool::{CallId, ErrorKind, ToolCall, ToolError, ToolOutput};

use crate::ToolRouter;
use crate::answer::answer;
use crate::stopwatch::Stopwatch;

/// A call with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What was asked.
    pub call: ToolCall,
    /// What is answered.
    pub output: ToolOutput,
}

/// A second call under an id that is not answered yet. It was not run: one id has one answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the call id `{0}` is in use by a call that is not answered yet; this call was not run")]
pub struct DuplicateCall(pub CallId);

/// What becomes of a call.
enum Work {
    Done(Box<ToolOutput>),
    Running(JoinHandle<ToolOutput>),
}

/// Runs calls beside each other where their tools allow it, and gives the answers back in call order.
///
/// Dropping it cancels whatever still runs.
pub struct ToolCallRuntime {
    router: ToolRouter,
    turn: CancellationToken,
    waiting: VecDeque<(ToolCall, Work)>,
    live: HashMap<CallId, CancellationToken>,
}

impl ToolCallRuntime {
    /// A runtime that sends calls to `router`.
    pub fn new(router: ToolRouter) -> Self {
        Self { router, turn: CancellationToken::new(), waiting: VecDeque::new(), live: HashMap::new() }
    }

    /// Starts `call` as soon as its lane is free.
    pub fn start(&mut self, call: ToolCall) -> Result<(), DuplicateCall> {
        if self.live.contains_key(&call.id) {
            return Err(DuplicateCall(call.id));
        }
        let cancel = self.turn.child_token();
        self.live.insert(call.id.clone(), cancel.clone());
        let turn = self.turn.clone();
        // A person who says stop means all of it.
        let work = begin(self.router.dispatch(call.clone(), cancel).inspect(move |output| {
            if output.facts.error == Some(ErrorKind::Stopped) {
                turn.cancel();
            }
        }));
        self.waiting.push_back((call, work));
        Ok(())
    }

    /// Waits for the answer to the oldest unanswered call; `None` if there is none. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<Answer> {
        let (_, work) = self.waiting.front_mut()?;
        if let Work::Running(task) = work {
            let output = task.await.unwrap_or_else(|_| {
                let gone = ToolError::Fatal("the session ended before the call was answered".to_owned());
                answer(Err(gone), &Stopwatch::since(Instant::now()), |_| ())
            });
            *work = Work::Done(Box::new(output));
        }
        let (call, Work::Done(output)) = self.waiting.pop_front()? else { return None };
        self.live.remove(&call.id);
        Some(Answer { call, output: *output })
    }

    /// Stops one call; it is answered as aborted. `false` if no such call is open.
    pub fn cancel(&self, id: &CallId) -> bool {
        self.live.get(id).inspect(|cancel| cancel.cancel()).is_some()
    }

    /// Stops every call of the turn; each is answered. Calls started later run.
    pub fn cancel_turn(&mut self) {
        std::mem::take(&mut self.turn).cancel();
    }

    /// How many calls are not answered yet.
    pub fn open(&self) -> usize {
        self.waiting.len()
    }
}

/// Takes the first step here and now, and makes a task only of what is not done then.
///
/// Handing work to another thread and back costs some 60 µs, an unknown tool or a new plan is answered in five. Work
/// that takes long goes through `Cx::blocking` or waits for something, so the first step of it is short.
fn begin(call: impl Future<Output = ToolOutput> + Send + 'static) -> Work {
    let mut call = Box::pin(call);
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Work::Done(Box::new(output)),
        // Whatever was told to wake nobody is told anew when the task asks for the first time.
        Poll::Pending => {
            #[expect(clippy::disallowed_methods, reason = "the one place where calls become tasks")]
            let task = tokio::spawn(call);
            Work::Running(task)
        }
    }
}

impl Drop for ToolCallRuntime {
    fn drop(&mut self) {
        self.turn.cancel();
    }
}
