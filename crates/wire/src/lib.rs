//! Model API JSON to tool calls and back: OpenAI Responses, OpenAI Chat Completions, Anthropic Messages.
//!
//! Nothing else in Toolgate knows what an API looks like. [`Dialect::tools`] writes what a request carries,
//! [`Dialect::reader`] takes what comes back, streamed or whole, and [`Dialect::answer`] writes what goes into the
//! next request. There is no I/O here: values in, values out.
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
mod style;
mod usage;
mod write;

pub use dialect::{Dialect, UnknownDialect};
pub use entry::Entry;
pub use error::{Code, ModelError, Retry};
pub use fault::{Why, WireFault};
pub use hear::{End, Heard, Listener};
pub use read::{CallReader, Reading};
pub use request::{Reasoning, Request};
pub use said::{Said, UnreadableSaid};
pub use style::{FreeformAs, Integers, Style};
pub use usage::Usage;
pub use write::mcp::mcp_tools;
