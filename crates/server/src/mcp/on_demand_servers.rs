//! The user's configured MCP servers, started on demand for clients of `toolgate mcp`.
//!
//! They are not listed. The first call of one of their tools starts them.

use std::sync::{Arc, OnceLock};

use runtime::mcp::McpServers;
use runtime::{AnyTool, BoxFuture, ToolCall, ToolError, ToolSource};

use session::mcp_servers::needs_servers;

/// Servers that start on first use.
pub(super) struct OnDemandServers {
    start: Box<dyn Fn() -> Option<Arc<McpServers>> + Send + Sync>,
    started: OnceLock<Option<Arc<McpServers>>>,
}

impl OnDemandServers {
    /// Creates servers that `start` starts: once, and within a runtime.
    pub(super) fn new(start: impl Fn() -> Option<Arc<McpServers>> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { start: Box::new(start), started: OnceLock::new() })
    }

    /// Closes the servers, if they were started.
    pub(super) async fn close(&self) {
        if let Some(Some(servers)) = self.started.get() {
            servers.close().await;
        }
    }

    /// Returns the servers, and starts them if necessary.
    pub(super) fn started(&self) -> Option<Arc<McpServers>> {
        self.started.get_or_init(&self.start).clone()
    }

    /// Returns the servers if a tool of this name may be theirs, and starts them if necessary.
    fn servers_for_tool(&self, name: &str) -> Option<&Arc<McpServers>> {
        match needs_servers(name) {
            true => self.started.get_or_init(&self.start).as_ref(),
            false => None,
        }
    }
}

impl ToolSource for OnDemandServers {
    fn offered_tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        self.servers_for_tool(name)?.find(name)
    }

    fn rewrite_call(&self, call: &ToolCall) -> Option<Result<ToolCall, ToolError>> {
        self.servers_for_tool(&call.name)?.rewrite_call(call)
    }

    fn wait_for_tool(&self, name: &str) -> Option<BoxFuture<'static, ()>> {
        self.servers_for_tool(name)?.wait_for_tool(name)
    }

    fn sibling_names(&self, name: &str) -> Vec<String> {
        self.servers_for_tool(name).map(|servers| servers.sibling_names(name)).unwrap_or_default()
    }

    fn absence_reason(&self, name: &str) -> Option<String> {
        self.servers_for_tool(name)?.absence_reason(name)
    }
}
