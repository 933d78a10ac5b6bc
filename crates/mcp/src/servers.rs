//! All servers of a client: started at once, each on its own. Only a call to a server waits for it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tool::{AnyTool, BoxFuture, ToolCall, ToolError, ToolHandler, ToolSource, erase};

use crate::call_rewrite;
use crate::connection::{McpClientDeps, McpConnection, ServerState};
use crate::deferred_tools::{BUDGET, LoadedTools, ToolSearch};
use crate::peer::ServerDescription;
use crate::resource_tools::{ListResourceTemplates, ListResources, ReadResource, has_resources};
use crate::server_config::McpServerConfig;
use crate::server_tools::ToolOffer;
use crate::tool_names::may_belong_to;

/// Time limit for ending servers.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Servers that are kept running. Dropping this value ends them.
pub struct McpServers {
    connections: Arc<[Arc<McpConnection>]>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    /// Our own tools that list and read resources.
    resource_tools: Vec<Arc<dyn AnyTool>>,
    search: Option<Arc<dyn AnyTool>>,
    loaded: Arc<LoadedTools>,
    budget: usize,
    /// The names of all configured servers, sorted.
    configured: Vec<String>,
}

/// State of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerHealth {
    /// It is being started.
    Starting,
    /// It is ready.
    Ready {
        /// Its self-description.
        about: ServerDescription,
        /// Its tools in use, by our names.
        tools: Vec<String>,
        /// Tools not in use, each with the reason.
        left_out: Vec<String>,
        /// Gaps in its confinement, each in a few words.
        gaps: Vec<&'static str>,
    },
    /// It cannot be used.
    Failed(String),
}

/// A required server that is missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the server `{server}` is required, and {why}")]
pub struct MissingServer {
    /// Its name.
    pub server: String,
    /// One sentence.
    pub why: String,
}

impl McpServers {
    /// Starts `servers` without waiting for them. Must be called in a tokio runtime.
    pub fn start(servers: Vec<McpServerConfig>, deps: &McpClientDeps) -> Arc<Self> {
        let mut connections: Vec<Arc<McpConnection>> =
            servers.into_iter().map(|server| McpConnection::new(server, deps.clone())).collect();
        connections.sort_by(|a, b| a.server.name.cmp(&b.server.name));
        let tasks = connections
            .iter()
            .map(|connection| crate::background_task::spawn(Arc::clone(connection).keep_running()));
        let tasks = Mutex::new(tasks.collect());
        let connections: Arc<[Arc<McpConnection>]> = connections.into();
        let loaded = Arc::<LoadedTools>::default();
        let all = || Arc::clone(&connections);
        // `erase` cannot fail: these schemas are our own, and none is strict.
        let resource_tools =
            [erase(ListResources(all())), erase(ListResourceTemplates(all())), erase(ReadResource(all()))];
        let search = erase(ToolSearch { connections: all(), loaded: Arc::clone(&loaded) }).ok();
        let resource_tools = resource_tools.into_iter().filter_map(Result::ok).collect();
        let started = connections.iter().map(|connection| &connection.server.name);
        let mut configured: Vec<String> = started.chain(&deps.configured).cloned().collect();
        configured.sort();
        configured.dedup();
        let budget = deps.budget.unwrap_or(BUDGET);
        Arc::new(Self { connections, tasks, resource_tools, search, loaded, budget, configured })
    }

    /// Waits for the required servers.
    pub async fn wait_for_required(&self) -> Result<(), MissingServer> {
        for connection in self.connections.iter().filter(|connection| connection.server.required) {
            let missing = |why| MissingServer { server: connection.server.name.clone(), why };
            connection.wait_until_ready().await.map_err(missing)?;
        }
        Ok(())
    }

    /// Waits until each server has started or failed: all of them, or those that a tool called `name` can belong to.
    pub async fn wait_until_settled(&self, name: Option<&str>) {
        let may_be = |connection: &&Arc<McpConnection>| {
            name.is_none_or(|name| may_belong_to(name, &connection.server.name))
        };
        let waits = self.connections.iter().filter(may_be).map(|connection| connection.wait_until_ready());
        futures_util::future::join_all(waits).await;
    }

    /// Ends all servers and waits until nothing of them is left, with a time limit.
    pub async fn close(&self) {
        self.connections.iter().for_each(|connection| connection.close());
        let tasks = std::mem::take(&mut *self.tasks.lock());
        let _in_time = tokio::time::timeout(CLOSE_TIMEOUT, futures_util::future::join_all(tasks)).await;
    }

    /// Returns the state of each server, by name.
    pub fn health(&self) -> Vec<(String, ServerHealth)> {
        let health = |connection: &Arc<McpConnection>| match connection.state() {
            ServerState::Starting => ServerHealth::Starting,
            ServerState::Failed { why, .. } => ServerHealth::Failed(why),
            ServerState::Closed => ServerHealth::Failed("is over".to_owned()),
            ServerState::Ready(peer) => ServerHealth::Ready {
                about: peer.about().clone(),
                tools: connection.offered_tools().tools.keys().cloned().collect(),
                left_out: connection.offered_tools().left_out.clone(),
                gaps: connection.gaps(),
            },
        };
        self.connections.iter().map(|one| (one.server.name.clone(), health(one))).collect()
    }
}

/// Returns the names of our own tools: those for all servers together, and those that stand for a server's tool.
pub fn own_tool_names() -> impl Iterator<Item = &'static str> {
    let lists = [ListResources::NAME, ListResourceTemplates::NAME, ReadResource::NAME, ToolSearch::NAME];
    lists.into_iter().chain(call_rewrite::CALL_TOOL).chain(call_rewrite::READ_RESOURCE)
}

impl Drop for McpServers {
    fn drop(&mut self) {
        self.connections.iter().for_each(|connection| connection.close());
    }
}

impl ToolSource for McpServers {
    fn offered_tools(&self) -> Vec<Arc<dyn AnyTool>> {
        let offers: Vec<Arc<ToolOffer>> =
            self.connections.iter().map(|connection| connection.offered_tools()).collect();
        let mut offered: Vec<Arc<dyn AnyTool>>;
        if offers.iter().map(|offer| offer.bytes).sum::<usize>() <= self.budget {
            offered = offers.iter().flat_map(|offer| offer.tools.values().cloned()).collect();
        } else {
            offered = self.loaded.tools_within(self.budget, &offers);
            offered.extend(self.search.clone());
        }
        if self.connections.iter().any(|connection| has_resources(connection)) {
            offered.extend(self.resource_tools.iter().cloned());
        }
        offered
    }

    fn find(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        let ours = self.resource_tools.iter().chain(&self.search).find(|tool| tool.spec().name() == name);
        let theirs = || {
            self.connections.iter().find_map(|connection| connection.offered_tools().tools.get(name).cloned())
        };
        ours.cloned().or_else(theirs)
    }

    fn rewrite_call(&self, call: &ToolCall) -> Option<Result<ToolCall, ToolError>> {
        call_rewrite::rewrite_call(call, &self.configured)
    }

    fn wait_for_tool(&self, name: &str) -> Option<BoxFuture<'static, ()>> {
        let waits = |connection: &&Arc<McpConnection>| {
            let coming = match connection.state() {
                ServerState::Starting => true,
                ServerState::Failed { retries, .. } => retries,
                ServerState::Ready(_) | ServerState::Closed => false,
            };
            coming && may_belong_to(name, &connection.server.name)
        };
        let connection = Arc::clone(self.connections.iter().find(waits)?);
        Some(Box::pin(async move {
            let _how_it_went = connection.wait_until_ready().await;
        }))
    }

    fn sibling_names(&self, name: &str) -> Vec<String> {
        let of_server =
            self.connections.iter().filter(|connection| may_belong_to(name, &connection.server.name));
        of_server
            .flat_map(|connection| connection.offered_tools().tools.keys().cloned().collect::<Vec<_>>())
            .collect()
    }

    fn possible_names(&self) -> Vec<String> {
        own_tool_names().map(str::to_owned).collect()
    }

    fn absence_reason(&self, name: &str) -> Option<String> {
        let may_be = |connection: &&Arc<McpConnection>| may_belong_to(name, &connection.server.name);
        let connection = self.connections.iter().find(may_be)?;
        let server = &connection.server.name;
        match connection.state() {
            ServerState::Starting => {
                Some(format!("the server `{server}` has not started yet; try again in a moment"))
            }
            ServerState::Failed { why, .. } => Some(format!("the server `{server}` {why}")),
            ServerState::Ready(_) | ServerState::Closed => None,
        }
    }
}
