//! Tools that clients register with a session and answer themselves.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use agent::SessionHandle;
use parking_lot::Mutex;
use rpc::protocol as p;
use rpc::{Peer, RpcErrorCode, RpcFault, method};
use runtime::{
    AnyTool, Cx, ForeignBackend, ForeignToolSpec, Lane, ToolError, ToolOutput, ToolOutputFuture, ToolSource,
};
use serde_json::Value;

use crate::content_conversion;

/// Maximum number of client tools in a session.
pub(super) const MAX_TOOLS: usize = 128;
/// Default and maximum time for a client to answer.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// The prefix of MCP server tools.
const SERVER_TOOL_PREFIX: &str = "mcp__";

/// The tools of one session's clients.
#[derive(Default)]
pub(super) struct ClientTools {
    session: OnceLock<String>,
    /// Knows the current turn.
    session_handle: OnceLock<SessionHandle>,
    tools: Mutex<BTreeMap<String, ClientTool>>,
}

/// A registered tool with the client that answers it.
struct ClientTool {
    tool: Arc<dyn AnyTool>,
    owner: Peer,
}

impl ClientTools {
    /// Sets the session that the tools belong to, once it is known.
    pub(super) fn set_session(&self, session: &str, session_handle: Option<SessionHandle>) {
        let _said_before = self.session.set(session.to_owned());
        if let Some(session_handle) = session_handle {
            let _said_before = self.session_handle.set(session_handle);
        }
    }

    /// Returns the names of the tools.
    pub(super) fn names(&self) -> Vec<String> {
        self.tools.lock().keys().cloned().collect()
    }

    /// Registers the tools of `owner`, all or none. `is_available` checks if a name is available.
    pub(super) fn register(
        self: &Arc<Self>,
        owner: &Peer,
        tools: &[p::DynamicTool],
        is_available: impl Fn(&str) -> bool,
    ) -> Result<(), RpcFault> {
        let mut registered = BTreeMap::new();
        for tool in tools {
            let name = terminal::escape_invisible(&tool.name);
            let wrong = |why: &str| RpcErrorCode::Params.fault(format!("the tool `{name}` {why}"));
            if !is_tool_name(&tool.name) {
                return Err(wrong(
                    "needs another name: 1 to 128 letters, digits, `_` and `-`, not beginning with `mcp__`",
                ));
            }
            if !is_available(&tool.name) {
                return Err(wrong(
                    "has the name of a tool that is there already, or one that providers mean something else by",
                ));
            }
            let made = self.build_tool(owner, tool).map_err(|why| wrong(&why))?;
            if registered.insert(tool.name.clone(), ClientTool { tool: made, owner: owner.clone() }).is_some()
            {
                return Err(wrong("is given twice"));
            }
        }
        let mut all = self.tools.lock();
        let more = registered.keys().filter(|name| !all.contains_key(*name)).count();
        if all.len() + more > MAX_TOOLS {
            return Err(RpcErrorCode::Limit.fault(format!("clients may give a session {MAX_TOOLS} tools")));
        }
        all.extend(registered);
        Ok(())
    }

    /// Removes tools.
    pub(super) fn unregister(&self, names: &[String]) {
        self.tools.lock().retain(|name, _| !names.contains(name));
    }

    fn build_tool(self: &Arc<Self>, owner: &Peer, tool: &p::DynamicTool) -> Result<Arc<dyn AnyTool>, String> {
        let foreign = ForeignToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
        };
        let timeout = tool.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT);
        let handler = ClientToolHandler {
            client_tools: Arc::downgrade(self),
            owner: owner.clone(),
            name: tool.name.clone(),
            timeout,
            lane: if tool.read_only { Lane::Shared } else { Lane::Exclusive },
        };
        foreign.into_tool(Arc::new(handler)).map_err(|fault| format!("cannot be used: {fault}"))
    }
}

fn is_tool_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=128).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(SERVER_TOOL_PREFIX)
}

impl ToolSource for ClientTools {
    fn offered_tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.lock().values().map(|brought| Arc::clone(&brought.tool)).collect()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        self.tools.lock().get(name).map(|brought| Arc::clone(&brought.tool))
    }
}

/// The client tools as a source for their own session: all are offered, regardless of the session's tool
/// selection.
pub(super) struct SessionClientTools(pub(super) Arc<ClientTools>);

impl ToolSource for SessionClientTools {
    fn offered_tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.0.offered_tools()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        self.0.find(name)
    }

    fn obeys_config(&self) -> bool {
        false
    }
}

/// The handler of a client's tool: sends its calls to the client.
struct ClientToolHandler {
    /// Weak, because the tools own this handler.
    client_tools: Weak<ClientTools>,
    owner: Peer,
    name: String,
    timeout: Duration,
    lane: Lane,
}

impl ClientToolHandler {
    async fn ask_client(&self, arguments: Value, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let client_tools = self.client_tools.upgrade().unwrap_or_default();
        // A client that reconnected may have registered the tool again.
        let owner = client_tools
            .tools
            .lock()
            .get(&self.name)
            .map_or_else(|| self.owner.clone(), |now| now.owner.clone());
        let name = &self.name;
        if owner.disconnected().is_cancelled() {
            return Err(ToolError::io(format!(
                "the program that answers for `{name}` is not connected; go on without it"
            )));
        }
        let params = p::ToolInvokeParams {
            session_id: client_tools.session.get().cloned().unwrap_or_default(),
            call_id: cx.call_id().as_str().to_owned(),
            turn_id: client_tools.session_handle.get().map(SessionHandle::turn_id).unwrap_or_default(),
            tool: name.clone(),
            arguments,
        };
        let asking = owner.call::<method::ToolInvoke>(&params);
        let answer = tokio::select! {
            answer = tokio::time::timeout(self.timeout, asking) => answer,
            () = owner.disconnected().cancelled() => {
                let why = format!("the program that answers for `{name}` left before it answered; what it did is not known");
                return Err(ToolError::io(why));
            }
        };
        let result = match answer {
            Ok(Ok(invoked)) => invoked,
            Ok(Err(fault)) => return Err(ToolError::io(format!("`{name}`: {}", fault.message))),
            Err(_) => {
                let why = format!(
                    "the program that answers for `{name}` took longer than {} s; what it did is not known",
                    self.timeout.as_secs_f32()
                );
                return Err(ToolError::io(why));
            }
        };
        let items = content_conversion::to_items(result.content_items)
            .map_err(|why| ToolError::io(format!("the answer of `{name}` cannot be read: {why}")))?;
        Ok(ToolOutput { items, success: result.success, ..ToolOutput::text("") })
    }
}

impl ForeignBackend for ClientToolHandler {
    fn lane(&self) -> Lane {
        self.lane
    }

    fn answer(&self, arguments: Value, cx: Cx) -> ToolOutputFuture<'_> {
        Box::pin(async move { self.ask_client(arguments, &cx).await })
    }
}
