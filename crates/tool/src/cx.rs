//! What a running tool has beside its arguments and its permit.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{CallId, ToolError};

/// Where a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Relative paths start here.
    pub cwd: PathBuf,
}

impl Place {
    /// Makes the path in argument `name` absolute; a path that is none is that argument's fault.
    pub fn path(&self, name: &str, text: &str) -> Result<PathBuf, ToolError> {
        policy::resolve(&self.cwd, text).map_err(|fault| ToolError::argument(name, fault.to_string()))
    }
}

/// What a tool says while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The model has a new plan.
    PlanUpdated {
        /// The whole plan, in order.
        steps: Vec<PlanStep>,
        /// Why it changed.
        explanation: Option<String>,
    },
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// The model's own name for it.
    pub id: String,
    /// What is to be done.
    pub description: String,
    /// How far it is.
    pub status: StepStatus,
}

/// How far a step of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

impl StepStatus {
    /// The status as models spell it, e.g. `in_progress`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// Tells blocking work that nobody waits for it any more.
///
/// A flag and not a token: a token's question takes a lock, which threads that ask for every file queue for.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether to give up now. Cheap: ask in every loop.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Raises a [`Stop`] when it is dropped.
struct RaisedOnDrop(Stop);

impl Drop for RaisedOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// The surroundings of one attempt of one call.
#[derive(Clone)]
pub struct Cx {
    call: CallId,
    place: Arc<Place>,
    budget: usize,
    tell: Arc<dyn Fn(Notice) + Send + Sync>,
}

impl Cx {
    /// Surroundings for `call` at `place`, whose answer should stay within `budget` bytes of text.
    pub fn new(call: CallId, place: Arc<Place>, budget: usize) -> Self {
        Self { call, place, budget, tell: Arc::new(|_| ()) }
    }

    /// Sends what the tool says to `tell`.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        self.tell = Arc::new(tell);
        self
    }

    /// The call that is being answered.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// Where it was made.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The working directory.
    pub fn cwd(&self) -> &Path {
        &self.place.cwd
    }

    /// How many bytes of text the model will get at the most; what is longer is cut in the middle.
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Tells observers something.
    pub fn tell(&self, notice: Notice) {
        (self.tell)(notice);
    }

    /// Runs `work` where it may block. When the call is cancelled, timed out or dropped, its [`Stop`] is raised.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let stop = Stop::default();
        // Cancel and timeout drop this future, so dropping is all there is to listen for.
        let _raised = RaisedOnDrop(stop.clone());
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
