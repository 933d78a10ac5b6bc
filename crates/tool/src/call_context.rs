//! The context of a running tool: call id, working directory, output budget, notices, cancellation and blocking work.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::SetOnce;

use crate::{CallId, CancelCause, ErrorHints, NoticeListener, ToolError, ToolNotice};

/// The working directory in which a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingDir {
    /// The base of relative paths.
    pub cwd: PathBuf,
}

impl WorkingDir {
    /// Makes the path in argument `name` absolute. An invalid path is an error of that argument.
    pub fn resolve_path(&self, name: &str, text: &str) -> Result<PathBuf, ToolError> {
        policy::resolve_path(&self.cwd, text)
            .map_err(|fault| ToolError::bad_argument(name, fault.to_string()))
    }
}

/// Tells blocking work that its result is no longer needed.
///
/// An atomic flag instead of a cancellation token: checking a token takes a lock. Threads that check it for every file
/// would contend for that lock.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Returns true if the work should stop. Cheap enough to check in every loop.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sets a [`StopFlag`] when it is dropped.
struct RaiseStopOnDrop(StopFlag);

impl Drop for RaiseStopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// The time that a tool waiting for [`Cx::wait_for_halt`](Cx::wait_for_halt) has to answer after the signal.
pub const HALT_GRACE: Duration = Duration::from_secs(5);

/// The reason why a call must end now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HaltReason {
    /// The call was cancelled.
    Cancelled {
        /// The cause.
        cause: CancelCause,
    },
    /// The time limit passed.
    TimedOut {
        /// The limit.
        after: Duration,
    },
}

/// The halt signal of one call; records whether its tool waits for it.
#[derive(Debug, Default)]
struct HaltSignal {
    is_awaited: AtomicBool,
    reason: SetOnce<HaltReason>,
}

impl HaltSignal {
    /// Records that the tool wants the signal, even before it waits, and returns a future for it.
    fn wait_for_reason(&self) -> impl Future<Output = HaltReason> + Send {
        self.is_awaited.store(true, Ordering::Release);
        async { *self.reason.wait().await }
    }

    /// Returns true if the signal was raised.
    fn is_raised(&self) -> bool {
        self.reason.initialized()
    }

    /// Raises the signal. Returns `false` if the tool never asked for it. The first reason is kept.
    fn raise(&self, why: HaltReason) -> bool {
        let _told_already = self.reason.set(why);
        self.is_awaited.load(Ordering::Acquire)
    }
}

/// The context of one attempt of one call.
#[derive(Clone)]
pub struct Cx {
    call_id: CallId,
    working_dir: Arc<WorkingDir>,
    output_budget: usize,
    listener: Option<Arc<dyn NoticeListener>>,
    hints: ErrorHints,
    halt_signal: Arc<HaltSignal>,
}

impl Cx {
    /// Creates the context of a call in `working_dir`. Its output should stay within `output_budget` bytes of text.
    pub fn new(call_id: CallId, working_dir: Arc<WorkingDir>, output_budget: usize) -> Self {
        let (hints, halt_signal) = (ErrorHints::default(), Arc::default());
        Self { call_id, working_dir, output_budget, listener: None, hints, halt_signal }
    }

    /// Sets the hints for errors that the tool reports inside its answer.
    #[must_use]
    pub fn with_hints(mut self, hints: ErrorHints) -> Self {
        self.hints = hints;
        self
    }

    /// Sets the listener for notices of the tool.
    #[must_use]
    pub fn with_listener(mut self, listener: Arc<dyn NoticeListener>) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Returns the id of the call.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// Returns the working directory of the call, for resolving paths.
    pub fn working_dir(&self) -> &WorkingDir {
        &self.working_dir
    }

    /// Returns the path of the working directory.
    pub fn cwd(&self) -> &Path {
        &self.working_dir.cwd
    }

    /// Returns the largest number of bytes of text that the model gets. Longer text is truncated in the middle.
    pub fn output_budget(&self) -> usize {
        self.output_budget
    }

    /// Returns the hints for errors.
    pub fn hints(&self) -> &ErrorHints {
        &self.hints
    }

    /// Returns true if a listener wants streamed output. Otherwise [`stream`](Self::stream) need not be called.
    pub fn is_watched(&self) -> bool {
        self.listener.as_ref().is_some_and(|listener| listener.wants_output())
    }

    /// Sends a small notice to the observers at once.
    pub fn notify(&self, notice: ToolNotice) {
        if let Some(listener) = &self.listener {
            listener.on_notice(&self.call_id, notice);
        }
    }

    /// Sends one piece of possibly long output, once every observer is ready for it.
    ///
    /// Waiting here applies backpressure: a slow observer slows the process down and loses nothing. The wait can be
    /// long, so wait for [`wait_for_halt`](Self::wait_for_halt) at the same time. A dropped wait has sent nothing.
    pub async fn stream(&self, notice: ToolNotice) {
        if let Some(listener) = &self.listener {
            if let Some(room) = listener.ready() {
                room.await;
            }
            listener.on_notice(&self.call_id, notice);
        }
    }

    /// Waits until the call must end. A tool that waits for this ends itself: it has
    /// [`HALT_GRACE`] to clean up and to answer with partial output. A tool that never calls this is
    /// dropped at once.
    pub fn wait_for_halt(&self) -> impl Future<Output = HaltReason> + Send {
        self.halt_signal.wait_for_reason()
    }

    /// Tells the tool that its call must end. Returns `false` if the tool never asked. The first reason is kept.
    pub fn halt(&self, why: HaltReason) -> bool {
        self.halt_signal.raise(why)
    }

    /// Returns true if the call must end.
    pub fn is_halted(&self) -> bool {
        self.halt_signal.is_raised()
    }

    /// Runs `work` on a thread that may block. Dropping this future sets its [`StopFlag`]: the tool dropped it, or the call
    /// was cancelled or timed out.
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StopFlag) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let stop = StopFlag::default();
        // Every way to abandon the work drops this future, so no other signal is needed.
        let _raised = RaiseStopOnDrop(stop.clone());
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that makes it stop with its call"
        )]
        let work = tokio::task::spawn_blocking(move || work(&stop));
        match work.await {
            Ok(done) => done,
            Err(gone) => match gone.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ToolError::Fatal("the runtime is shutting down".to_owned())),
            },
        }
    }
}
