//! What a running tool has beside its arguments and its permit.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::halt::Halting;
use crate::{CallId, Halt, Listen, Notice, ToolError};

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
    listener: Option<Arc<dyn Listen>>,
    halting: Arc<Halting>,
}

impl Cx {
    /// Surroundings for `call` at `place`, whose answer should stay within `budget` bytes of text.
    pub fn new(call: CallId, place: Arc<Place>, budget: usize) -> Self {
        Self { call, place, budget, listener: None, halting: Arc::default() }
    }

    /// Lets `listener` hear what the tool says.
    #[must_use]
    pub fn heard_by(mut self, listener: Arc<dyn Listen>) -> Self {
        self.listener = Some(listener);
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

    /// Whether anybody wants to hear pieces of something long: if not, [`stream`](Self::stream) can be spared.
    pub fn watched(&self) -> bool {
        self.listener.as_ref().is_some_and(|listener| listener.streams())
    }

    /// Tells observers something small, now.
    pub fn tell(&self, notice: Notice) {
        if let Some(listener) = &self.listener {
            listener.heard(&self.call, notice);
        }
    }

    /// Tells observers a piece of something that may be long, once all of them have room for it.
    ///
    /// Whoever streams waits, so that a slow reader slows the process down and loses nothing. That can take long: wait
    /// for [`halted`](Self::halted) beside it. A wait that is dropped has told nothing.
    pub async fn stream(&self, notice: Notice) {
        if let Some(listener) = &self.listener {
            if let Some(room) = listener.room() {
                room.await;
            }
            listener.heard(&self.call, notice);
        }
    }

    /// Waits until the call has to end. A tool that waits for this sees to its own end: it gets a moment
    /// ([`GRACE`](crate::GRACE)) to clean up and to answer with what it has. A tool that never asks is dropped at once.
    pub fn halted(&self) -> impl Future<Output = Halt> + Send {
        self.halting.asked()
    }

    /// Tells the tool that its call has to end; `false` if it never asked. The first reason stays.
    pub fn halt(&self, why: Halt) -> bool {
        self.halting.raise(why)
    }

    /// Whether the call has to end.
    pub fn is_halted(&self) -> bool {
        self.halting.is_raised()
    }

    /// Runs `work` where it may block. When this future is dropped, its [`Stop`] is raised: by the tool itself, or
    /// because the call was cancelled, timed out or given up.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let stop = Stop::default();
        // Whoever gives the work up drops this future, so dropping is all there is to listen for.
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
