//! The calls of a turn: started in the model's order, answered in the model's order.

use std::collections::{HashMap, VecDeque};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tool::{CallId, ToolCall, ToolError, ToolOutput};

use crate::ToolRouter;
use crate::answer::answer;

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

/// Runs calls beside each other where their tools allow it, and gives the answers back in call order.
///
/// Dropping it cancels whatever still runs.
pub struct ToolCallRuntime {
    router: ToolRouter,
    turn: CancellationToken,
    waiting: VecDeque<(ToolCall, JoinHandle<ToolOutput>)>,
    live: HashMap<CallId, CancellationToken>,
}

impl ToolCallRuntime {
    /// A runtime that sends calls to `router`.
    pub fn new(router: ToolRouter) -> Self {
        Self {
            router,
            turn: CancellationToken::new(),
            waiting: VecDeque::new(),
            live: HashMap::new(),
        }
    }

    /// Starts `call` as soon as its lane is free.
    pub fn start(&mut self, call: ToolCall) -> Result<(), DuplicateCall> {
        if self.live.contains_key(&call.id) {
            return Err(DuplicateCall(call.id));
        }
        let cancel = self.turn.child_token();
        self.live.insert(call.id.clone(), cancel.clone());
        #[expect(clippy::disallowed_methods, reason = "the one place where calls become tasks")]
        let task = tokio::spawn(self.router.dispatch(call.clone(), cancel));
        self.waiting.push_back((call, task));
        Ok(())
    }

    /// Waits for the answer to the oldest unanswered call; `None` if there is none. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<Answer> {
        let (_, task) = self.waiting.front_mut()?;
        let output = task.await.unwrap_or_else(|_| {
            let gone = ToolError::Fatal("the session ended before the call was answered".to_owned());
            answer(Err(gone), std::time::Duration::ZERO, |output| output)
        });
        let (call, _) = self.waiting.pop_front()?;
        self.live.remove(&call.id);
        Some(Answer { call, output })
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

impl Drop for ToolCallRuntime {
    fn drop(&mut self) {
        self.turn.cancel();
    }
}
