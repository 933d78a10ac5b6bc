//! Notices that a tool sends while it runs, and the listener interface.

use futures_util::future::BoxFuture;
use policy::Denial;

use crate::CallId;

/// A notice that a tool sends while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolNotice {
    /// The model has a new plan.
    PlanUpdated {
        /// The whole plan, in order.
        steps: Vec<PlanStep>,
        /// The reason for the change.
        explanation: Option<String>,
    },
    /// A file has changed.
    FileChanged {
        /// `A`dded, `M`odified, `D`eleted or `R`enamed.
        kind: char,
        /// The path as the model spells it.
        path: String,
    },
    /// Progress of the call.
    Progress {
        /// The work done so far, in one line.
        text: String,
        /// The share of the total work in percent, if known.
        percent: Option<u8>,
    },
    /// A problem beside the call; the call continues.
    Warning {
        /// One sentence.
        text: String,
    },
    /// Commands are confined less than the policy requires, or are refused for that reason. Sent once, before the first
    /// command.
    WeakerSandbox {
        /// One sentence. Each further line is a hint.
        text: String,
        /// True if commands are refused; the answer says so too.
        refused: bool,
    },
    /// The sandbox refused an access to a process, which goes on. The answer reports it too.
    AccessRefused {
        /// The refusal.
        denial: Denial,
    },
    /// A process wrote output.
    Output {
        /// The stream.
        stream: OutputStream,
        /// The next piece of the output.
        text: String,
    },
}

/// An output stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A terminal, which combines both.
    Terminal,
}

impl OutputStream {
    /// Returns the stream as programs spell it, e.g. `stdout`.
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
    /// The work to do.
    pub description: String,
    /// The progress.
    pub status: StepStatus,
}

/// The progress of a plan step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
}

impl StepStatus {
    /// Returns the status as models spell it, e.g. `in_progress`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// Receives the notices of tools.
pub trait NoticeListener: Send + Sync {
    /// Receives `notice` from the tool that answers `call`. Must not block.
    fn on_notice(&self, call: &CallId, notice: ToolNotice);

    /// Backpressure: the future resolves when the listener can accept more; `None` means now.
    fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// Returns true if it wants long output piece by piece.
    fn wants_output(&self) -> bool {
        true
    }
}
