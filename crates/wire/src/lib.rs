//! Converts between model API JSON and tool calls: OpenAI Responses, OpenAI Chat Completions, Anthropic Messages.
//!
//! No other crate of Toolgate knows these API formats. This crate does no I/O: values in, values out.
//!
//! For calls alone: [`Dialect::tools`] writes the tool declarations of a request. [`Dialect::reader`] reads the calls
//! of a response, streamed or whole. [`Dialect::answer`] writes the answer items for the next request.
//!
//! ```
//! use serde_json::json;
//! use tool::ToolOutput;
//! use toolgate_wire::{Dialect, Reading};
//!
//! let mut reader = Dialect::Responses.reader();
//! let item = json!({"type": "function_call", "call_id": "c1", "name": "list_dir", "arguments": "{}"});
//! let readings = reader.push(&item);
//! let Some(Reading::Call(call)) = readings.first() else { panic!("{readings:?}") };
//!
//! let answer = Dialect::Responses.answer(call, &ToolOutput::text("a.txt"));
//! assert_eq!(answer, [json!({"type": "function_call_output", "call_id": "c1", "output": "a.txt"})]);
//! ```
//!
//! For a whole conversation: [`Dialect::request`] writes the request body. A [`StreamDecoder`] decodes the response and
//! keeps it as [`AssistantTurn`]. [`Dialect::said`] and [`Dialect::replies`] write the items that the next request adds. Every
//! item is serialised once, as an [`SerializedItem`].
//!
//! ```
//! use serde_json::{Value, json};
//! use tool::ToolOutput;
//! use toolgate_wire::{Dialect, Entry, Reasoning, Request};
//!
//! let wire = Dialect::Anthropic;
//! let mut history: Vec<Entry> = vec![wire.entry(&wire.user("what is here?", &[]))];
//!
//! let mut listener = wire.listener();
//! let block = json!({"type": "tool_use", "id": "t1", "name": "list_dir", "input": {}});
//! listener.push(&json!({"type": "message", "content": [block], "stop_reason": "tool_use"}));
//! let said = listener.into_said();
//!
//! let output = ToolOutput::text("a.txt");
//! let answers = said.calls().map(|call| (&call.id, &output));
//! let items = [wire.said(&said), wire.replies(&said, answers)].concat();
//! history.extend(items.iter().map(|item| wire.entry(item)));
//!
//! let body = wire.request(&Request {
//!     model: "claude",
//!     instructions: "Be brief.",
//!     items: &history,
//!     tools: "[]",
//!     max_output_tokens: None,
//!     cache_key: None,
//!     reasoning: Reasoning::Keep,
//! });
//! let body: Value = serde_json::from_str(&body).unwrap();
//! assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "t1");
//! ```

mod dialect;
mod endpoint;
mod entry;
mod error;
mod fault;
mod hear;
mod history;
mod read;
mod request;
mod said;
mod speak;
mod style;
mod usage;
mod words;
mod write;

pub use dialect::{Dialect, UnknownDialect};
pub use entry::SerializedItem;
pub use error::{ModelErrorCode, ModelError, RetryAdvice};
pub use fault::{CallFaultReason, WireFault};
pub use hear::{ResponseEnd, ModelStreamEvent, StreamDecoder};
pub use read::{CallReader, ParsedCall};
pub use request::{ReasoningMode, ModelRequest};
pub use said::{AssistantTurn, UnreadableTurn};
pub use speak::MockOutput;
pub use style::{FreeformDeclaration, IntegerSpelling, ApiCompat};
pub use usage::TokenUsage;
pub use words::{TranscriptItem, transcript_items};
pub use write::mcp::mcp_tools;
