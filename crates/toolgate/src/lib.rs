//! The tool system of a coding agent as a library, with optional sessions, session reports and servers.
//!
//! ```
//! use toolgate::{Toolgate, json};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let toolgate = Toolgate::at(env!("CARGO_MANIFEST_DIR")).with_tools().build()?;
//! let answer = toolgate.call("read_file", json!({"path": "Cargo.toml", "end_line": 2})).await;
//! assert_eq!(answer.joined_text().lines().next(), Some("1| [package]"));
//! # Ok::<(), toolgate::BuildFault>(()) }).unwrap();
//! ```
//!
//! A tool of your own is one type: see `examples/my_first_tool.rs`.
//!
//! With the feature `session`, a program has sessions with a model as `toolgate run` has them: see
//! `examples/whole_session.rs`. `report` adds the reports on recorded sessions, `server` the servers.

#[doc(inline)]
pub use runtime::*;

/// Sessions with a model: turns, history, observers.
#[cfg(feature = "session")]
pub use agent;
/// The configuration: built-in values, the user's file, project files and flags.
#[cfg(feature = "session")]
pub use config;
/// Journals of sessions: writing, reading, and the timeline of a session.
#[cfg(feature = "session")]
pub use journal;
/// Reports on recorded sessions.
#[cfg(feature = "report")]
pub use report;
/// Servers of sessions.
#[cfg(feature = "server")]
pub use server;
/// Assembles sessions from the configuration, a model and a journal.
#[cfg(feature = "session")]
pub use session;
