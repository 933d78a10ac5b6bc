//! Starts the hostile server in one of its modes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tool::ToolOutput;
use toolgate_mcp::{McpClientDeps, McpServers};

use crate::call::call;
use crate::program::program;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile/server.py");

/// Starts the server as `h` in a mode; `limit` is its time limit for starting and for a call.
pub(crate) fn start_mode(mode: &'static str, limit: Duration, means: &McpClientDeps) -> Arc<McpServers> {
    let command = ["python3", SCRIPT, mode].map(Into::into).to_vec();
    McpServers::start(vec![program("h", command, limit)], means)
}

/// Calls its tool `echo` with `hi`.
pub(crate) async fn call_echo(servers: &McpServers) -> ToolOutput {
    call(servers, "mcp__h__echo", &json!({"text": "hi"})).await
}
