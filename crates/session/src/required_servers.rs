//! Refuses all calls while an MCP server is missing that the configuration requires.

use std::sync::Arc;

use runtime::mcp::McpServers;
use runtime::{BoxFuture, Hook, HookDecision, HookResponse, PlannedCall, ToolOutput};

/// A hook that waits for the required servers before each call.
pub struct RequiredServers(Arc<dyn Fn() -> Option<Arc<McpServers>> + Send + Sync>);

impl RequiredServers {
    /// Creates the hook for `servers`, which run already.
    pub fn started(servers: &Arc<McpServers>) -> Arc<Self> {
        let servers = Arc::clone(servers);
        Self::on_demand(move || Some(Arc::clone(&servers)))
    }

    /// Creates the hook for servers that `start` starts, or has started.
    pub fn on_demand(start: impl Fn() -> Option<Arc<McpServers>> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self(Arc::new(start)))
    }
}

impl Hook for RequiredServers {
    fn name(&self) -> &str {
        "required servers"
    }

    fn before<'a>(&'a self, _: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        Box::pin(async {
            let Some(servers) = (self.0)() else { return HookResponse::default() };
            let decision = match servers.wait_for_required().await {
                Ok(()) => HookDecision::NoObjection,
                Err(missing) => HookDecision::Deny(missing.to_string()),
            };
            HookResponse { decision, ..HookResponse::default() }
        })
    }

    fn after<'a>(&'a self, _: PlannedCall<'a>, _: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        Box::pin(std::future::ready(HookResponse::default()))
    }
}
