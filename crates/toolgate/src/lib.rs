//! The tool runtime of a coding agent as a library: a model calls tools, Toolgate decides, confines, runs and answers.
//!
//! A [`Toolgate`] is a set of tools in a working directory. It answers calls:
//!
//! ```
//! use toolgate::{Toolgate, json};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), toolgate::BuildFault> {
//!     let toolgate = Toolgate::at(env!("CARGO_MANIFEST_DIR")).with_tools().build()?;
//!
//!     let lines = json!({"path": "Cargo.toml", "end_line": 1});
//!     let answer = toolgate.call("read_file", lines).await;
//!     assert_eq!(answer.joined_text().lines().next(), Some("1| [package]"));
//!
//!     // A command is confined: by default it reads, and writes only its own /tmp.
//!     let command = json!({"command": "touch Cargo.lock"});
//!     let answer = toolgate.call("shell_command", command).await;
//!     assert!(!answer.success);
//!     Ok(())
//! }
//! ```
//!
//! # The next steps
//!
//! | you want to | begin at | example |
//! |---|---|---|
//! | add a tool of your own | [`tool::ToolHandler`] | `my_first_tool` |
//! | let commands write, or reach hosts | [`ToolgateBuilder::sandbox`], [`ToolgateBuilder::confinement`] | `sandbox` |
//! | be asked before something dangerous | [`approval::Approver`] | `approver` |
//! | watch calls as they run | [`observe::CallObserver`] | `observer` |
//! | handle errors, limits and cancellation | [`ToolErrorKind`], [`call::CallLimits`], [`call::ToolCallRuntime`] | `cancel_and_limits` |
//! | connect a model, with a loop of your own | [`wire`], [`call::ToolCallRuntime`] | `model_loop` |
//! | have conversations with a model | `agent::AgentSession` (feature `agent`) | `conversation` |
//! | have sessions as `toolgate run` has them | `session::assemble` (feature `session`) | `whole_session` |
//! | run single commands confined, without tools | [`ToolgateBuilder::build_sandbox`] | `sandbox` |
//! | use the tools of MCP servers | [`mcp::McpServers`], [`ToolgateBuilder::tool_source`] | |
//!
//! The examples are in `crates/toolgate/examples`. Run one with
//! `cargo run --package toolgate --features session --example NAME`. The guide `docs/embedding.md` goes through them.
//!
//! # The map
//!
//! - [`Toolgate`] and [`ToolgateBuilder`]: everything begins with [`Toolgate::at`].
//! - [`call`]: calls, answers, limits, and the calls of a model's turn.
//! - [`tool`], [`fs`]: tools of your own, and the files that they may open.
//! - [`approval`], [`hook`]: who decides, and the rules.
//! - [`sandbox`]: what commands may do, and what was enforced.
//! - [`observe`]: events, metrics, diffs.
//! - [`wire`], [`mcp`], [`patch`]: model APIs, MCP, and the edit engine.
//! - With features: `agent`, `journal`, `session`, `config`, `report`, `server`.
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `tools` | the built-in tools: files, patches, commands, and the sandbox | yes |
//! | `wire` | reads and writes the JSON of model APIs | yes |
//! | `mcp` | the tools of MCP servers | yes |
//! | `agent` | the model loop: HTTP clients of model APIs, conversations, scripted models | |
//! | `session` | whole sessions: configuration, journal, approval questions, sub-agents | |
//! | `report` | reports on recorded sessions: text, HTML, statistics, replay | |
//! | `server` | servers of sessions: JSON-RPC, ACP, MCP, JSON lines | |
//!
//! # What your program must know
//!
//! - **Linux only**, kernel 5.12 or newer to confine commands. File tools by themselves need 5.6.
//! - **Calls need a tokio runtime** with its I/O and time drivers, as `#[tokio::main]` has them. Both flavours of the
//!   runtime work. [`ToolgateBuilder::build`] needs none. A call without a runtime is answered with
//!   [`ToolErrorKind::Fatal`].
//! - **`main` prepares nothing.** Commands are started by a second process, this same program, executed again. It takes
//!   that role before `main`. Tests can run commands too. A shared library cannot: see
//!   [`SpawnFault::NoConstructor`](sandbox::SpawnFault::NoConstructor).
//! - **Dropping cancels.** A call whose future is dropped is cancelled, and its processes are killed. The last clone of
//!   a [`Toolgate`] ends the background processes; [`Toolgate::close`] does so, waits, and removes the placeholder
//!   directories of the sandbox.

pub mod approval;
pub mod call;
pub mod hook;
pub mod observe;
pub mod sandbox;
pub mod tool;

#[cfg(feature = "agent")]
#[doc(inline)]
pub use agent;
#[cfg(feature = "session")]
#[doc(inline)]
pub use config;
#[cfg(feature = "agent")]
#[doc(inline)]
pub use journal;
#[cfg(feature = "report")]
#[doc(inline)]
pub use report;
#[doc(inline)]
pub use runtime::fs;
#[cfg(feature = "mcp")]
#[doc(inline)]
pub use runtime::mcp;
#[cfg(feature = "tools")]
#[doc(inline)]
pub use runtime::patch;
/// In a program, `toolgate_wire::` is `toolgate::wire::`, and `tool::ToolOutput` is `toolgate::ToolOutput`.
///
#[cfg(feature = "wire")]
#[doc(inline)]
pub use runtime::wire;
#[doc(inline)]
pub use runtime::{
    BoxFuture, BuildFault, CancellationToken, ToolCall, ToolError, ToolErrorKind, ToolOutput, Toolgate,
    ToolgateBuilder, Value, json,
};
#[cfg(feature = "server")]
#[doc(inline)]
pub use server;
#[cfg(feature = "session")]
#[doc(inline)]
pub use session;

/// Compiles and runs the programs of the guide.
#[cfg(all(doctest, feature = "session"))]
#[doc = include_str!("../../../docs/embedding.md")]
pub struct EmbeddingGuide;
