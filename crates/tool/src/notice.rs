//! What a tool says while it runs, and who hears it.

use futures_util::future::BoxFuture;

use crate::CallId;

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
    /// A file has changed.
    FileChanged {
        /// `A`dded, `M`odified, `D`eleted or `R`enamed.
        kind: char,
        /// Which one, as the model spells it.
        path: String,
    },
    /// How far it is.
    Progress {
        /// What is done, in one line.
        text: String,
        /// How much that is of all, in percent, if it is known.
        percent: Option<u8>,
    },
    /// Something went wrong beside the call, and the call goes on.
    Warning {
        /// One sentence.
        text: String,
    },
    /// Commands are confined less than the policy says, or cannot be run for that. Told once, before the first of them runs.
    Weaker {
        /// One sentence.
        text: String,
        /// Nothing is run for that, and the answer says so too.
        refused: bool,
    },
    /// A process wrote something.
    Output {
        /// Where to.
        stream: OutputStream,
        /// The next piece of it.
        text: String,
    },
}

/// Where a process writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
    /// A terminal, which is both.
    Terminal,
}

impl OutputStream {
    /// The stream as programs spell it, e.g. `stdout`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Terminal => "terminal",
        }
    }
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

/// Hears what tools say.
pub trait Listen: Send + Sync {
    /// Hears `notice` from the tool that answers `call`. Must not block.
    fn heard(&self, call: &CallId, notice: Notice);

    /// Resolves when it can take more; `None` if it can now.
    fn room(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// Whether it wants to hear what may be long, piece by piece.
    fn streams(&self) -> bool {
        true
    }
}
