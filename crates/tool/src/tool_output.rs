//! The output of a tool: text and images for the model, metadata (exit code, usage, denials) and JSON for programs.

use std::path::PathBuf;
use std::time::Duration;

use policy::{Denial, Enforcement, UnreachableHost};
use serde_json::Value;

use crate::ToolErrorKind;

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The content for the model, in order.
    pub items: Vec<OutputItem>,
    /// True if the tool did what was asked.
    pub success: bool,
    /// Metadata for programs.
    pub facts: OutputFacts,
    /// The answer as structured data, for programs and for models that support it.
    pub structured: Option<Value>,
}

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputItem {
    /// Text for the model.
    Text(String),
    /// An image for the model.
    Image(OutputImage),
}

/// An encoded image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputImage {
    /// E.g. `image/png`.
    pub mime: &'static str,
    /// The encoded file.
    pub bytes: Vec<u8>,
}

/// Metadata of an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutputFacts {
    /// The exit code of a process.
    pub exit_code: Option<i32>,
    /// The duration of the call, without waiting time.
    pub duration: Option<Duration>,
    /// Time spent waiting for other calls and for the user.
    pub waited: Duration,
    /// The kind of error that the answer reports.
    pub error: Option<ToolErrorKind>,
    /// The size of the omitted text.
    pub omitted: Option<OmittedSize>,
    /// The file with the full output, or with as much as could be kept.
    pub output_file: Option<PathBuf>,
    /// Resource usage of the process.
    pub usage: Option<ProcessUsage>,
    /// The sandbox enforcement for the process.
    pub enforcement: Option<Enforcement>,
    /// The denial that the answer reports, or accesses that the kernel refused to the process.
    pub denials: Vec<Denial>,
    /// An access that was perhaps refused too: only the output suggests it.
    pub suspected_denial: Option<Denial>,
    /// The changes to files as a diff, for people. `None` if nobody watches the call, or if the files are large.
    pub diff: Option<String>,
    /// Allowed hosts that the process could not reach.
    pub unreachable_hosts: Vec<UnreachableHost>,
}

/// The size of the text that the model did not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OmittedSize {
    /// Omitted bytes.
    pub bytes: usize,
    /// Omitted lines.
    pub lines: usize,
}

/// Resource usage of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Wall-clock time from start to end.
    pub wall: Duration,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in kernel mode.
    pub system: Duration,
    /// Peak memory in bytes.
    pub peak_memory: u64,
    /// Bytes written to standard output; terminal output counts here.
    pub stdout: u64,
    /// Bytes written to standard error.
    pub stderr: u64,
}

impl ToolOutput {
    /// Creates a successful answer with one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            items: vec![OutputItem::Text(text.into())],
            success: true,
            facts: OutputFacts::default(),
            structured: None,
        }
    }

    /// Creates a successful answer with an image and a line about it.
    pub fn image(about: impl Into<String>, image: OutputImage) -> Self {
        let mut output = Self::text(about);
        output.items.push(OutputItem::Image(image));
        output
    }

    /// Creates an answer in which the tool reports failure.
    pub fn failure(text: impl Into<String>) -> Self {
        Self { success: false, ..Self::text(text) }
    }

    /// Adds the answer as structured data.
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// Returns all text of the answer, items joined by newlines.
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> = self.items.iter().filter_map(OutputItem::as_text).collect();
        texts.join("\n")
    }
}

impl OutputItem {
    /// Returns the text, if the item is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) => None,
        }
    }
}
