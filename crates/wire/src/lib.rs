//! Converts between model API JSON and tool calls: OpenAI Responses, OpenAI Chat Completions, Anthropic Messages.
//!
//! No other crate of Toolgate knows these API formats. This crate does no I/O: values in, values out.
//!
//! For calls alone: [`Dialect::tools`] writes the tool declarations of a request. [`Dialect::call_reader`] reads the calls
//! of a response, streamed or whole. [`Dialect::answer`] writes the answer items for the next request.
//!
//! ```
//! use serde_json::json;
//! use tool::ToolOutput;
//! use toolgate_wire::{Dialect, ParsedCall};
//!
//! let mut reader = Dialect::Responses.call_reader();
//! let item = json!({"type": "function_call", "call_id": "c1", "name": "list_dir", "arguments": "{}"});
//! let readings = reader.push(&item);
//! let Some(ParsedCall::Call(call)) = readings.first() else { panic!("{readings:?}") };
//!
//! let answer = Dialect::Responses.answer(call, &ToolOutput::text("a.txt"));
//! assert_eq!(answer, [json!({"type": "function_call_output", "call_id": "c1", "output": "a.txt"})]);
//! ```
//!
//! For a whole conversation: [`Dialect::request_body`] writes the request body. A [`StreamDecoder`] decodes the response and
//! keeps it as [`AssistantTurn`]. [`Dialect::assistant_turn`] and [`Dialect::turn_replies`] write the items that the next request adds. Every
//! item is serialised once, as a [`SerializedItem`].
//!
//! ```
//! use serde_json::{Value, json};
//! use tool::ToolOutput;
//! use toolgate_wire::{Dialect, SerializedItem, ReasoningMode, ModelRequest};
//!
//! let wire = Dialect::Anthropic;
//! let mut history: Vec<SerializedItem> = vec![wire.serialize_item(&wire.user_message("what is here?", &[]))];
//!
//! let mut decoder = wire.stream_decoder();
//! let block = json!({"type": "tool_use", "id": "t1", "name": "list_dir", "input": {}});
//! decoder.push(&json!({"type": "message", "content": [block], "stop_reason": "tool_use"}));
//! let said = decoder.into_turn();
//!
//! let output = ToolOutput::text("a.txt");
//! let answers = said.calls().map(|call| (&call.id, &output));
//! let items = [wire.assistant_turn(&said), wire.turn_replies(&said, answers)].concat();
//! history.extend(items.iter().map(|item| wire.serialize_item(item)));
//!
//! let body = wire.request_body(&ModelRequest {
//!     model: "claude",
//!     instructions: "Be brief.",
//!     items: &history,
//!     tools: "[]",
//!     max_output_tokens: None,
//!     cache_key: None,
//!     reasoning: ReasoningMode::Keep,
//! });
//! let body: Value = serde_json::from_str(&body).unwrap();
//! assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "t1");
//! ```

mod assistant_turn;
mod compat;
mod decode;
mod dialect;
mod endpoint;
mod error;
mod fault;
mod mock_stream;
mod request;
mod transcript;
mod usage;
mod write;

pub use assistant_turn::{AssistantTurn, UnreadableTurn};
pub use compat::{ApiCompat, FreeformDeclaration, IntegerSpelling};
pub use decode::{CallReader, ModelStreamEvent, ParsedCall, ResponseEnd, StreamDecoder};
pub use dialect::{Dialect, UnknownDialect};
pub use error::{ModelError, ModelErrorCode, RetryAdvice};
pub use fault::{CallFaultReason, WireFault};
pub use mock_stream::MockOutput;
pub use request::{ModelRequest, ReasoningMode, SerializedItem};
pub use transcript::{TranscriptItem, transcript_items};
pub use usage::TokenUsage;
pub use write::mcp::mcp_tools;
