//! What a tool answers.

use std::path::PathBuf;
use std::time::Duration;

use policy::{Denial, Enforcement};
use serde_json::Value;

use crate::ErrorKind;

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What the model reads, in order.
    pub items: Vec<Item>,
    /// Whether the tool did what was asked.
    pub success: bool,
    /// What programs read about the answer.
    pub facts: Facts,
    /// The answer as data, for programs and for models that take it.
    pub structured: Option<Value>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Text for the model.
    Text(String),
    /// A picture for the model.
    Image(Image),
}

/// A picture, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// E.g. `image/png`.
    pub mime: &'static str,
    /// The encoded file.
    pub bytes: Vec<u8>,
}

/// What is known about an answer beside its text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// How a process ended.
    pub exit_code: Option<i32>,
    /// How long the call took, without the time that it waited.
    pub duration: Option<Duration>,
    /// How long it waited for other calls and for people.
    pub waited: Duration,
    /// Which kind of fault the answer reports.
    pub error: Option<ErrorKind>,
    /// What was left out of the text.
    pub cut: Option<Cut>,
    /// The file that all of it is in, or as much as could be kept.
    pub kept: Option<PathBuf>,
    /// What its process took.
    pub usage: Option<Usage>,
    /// What held for its process.
    pub enforcement: Option<Enforcement>,
    /// What the kernel refused to its process.
    pub denials: Vec<Denial>,
    /// What was perhaps refused too: only its output says so.
    pub suspected: Option<Denial>,
}

/// How much of an answer the model did not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Bytes left out.
    pub bytes: usize,
    /// Lines left out.
    pub lines: usize,
}

/// What a process took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// From its start to its end.
    pub wall: Duration,
    /// On processors, in its own code.
    pub user: Duration,
    /// On processors, in the system's code.
    pub system: Duration,
    /// The most memory it had at a time, in bytes.
    pub peak_memory: u64,
    /// Bytes it wrote to its standard output; a terminal's count as these.
    pub stdout: u64,
    /// Bytes it wrote to its standard error.
    pub stderr: u64,
}

impl ToolOutput {
    /// A successful answer of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            items: vec![Item::Text(text.into())],
            success: true,
            facts: Facts::default(),
            structured: None,
        }
    }

    /// A successful answer that shows a picture, with a line about it.
    pub fn image(about: impl Into<String>, image: Image) -> Self {
        let mut output = Self::text(about);
        output.items.push(Item::Image(image));
        output
    }

    /// An answer in which the tool reports that it did not succeed.
    pub fn failure(text: impl Into<String>) -> Self {
        Self { success: false, ..Self::text(text) }
    }

    /// Adds the answer as data.
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// All text of the answer, pieces joined by newlines.
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> = self.items.iter().filter_map(Item::as_text).collect();
        texts.join("\n")
    }
}

impl Item {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) => None,
        }
    }
}
