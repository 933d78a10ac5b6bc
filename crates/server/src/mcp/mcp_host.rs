//! The MCP host: offers Toolgate's tools to MCP clients and runs their calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::mcp::serve::{HostCall, HostIdentity, HostTool, RunningCall, ToolHost};
use runtime::{
    Approver, CallObserver, Hook, ToolCall, ToolCallRuntime, ToolRouter, ToolSource, Toolgate, Value,
    is_inside_configuration,
};
use tokio::time::Instant;

use super::McpSettings;
use super::client_bridge::{BridgedCall, ClientBridge, RefusedCall};
use super::on_demand_servers::OnDemandServers;
use super::running_calls::RunningCalls;
use super::session_record::SessionRecord;
use super::tool_catalogue;
use config::OperationFault;
use config::SandboxMode;
use config::flags::WorkspaceArgs;
use session::compose::{ToolFormApi, absolute, compose_with, working_directory};
use session::{DeferredJournal, RequiredServers};

const INSTRUCTIONS: &str = "Tools for work on the files of one directory: reading, searching, patches, and commands \
    that run in a sandbox. Paths are below that directory. The answer says what a sandbox or a rule refuses; if no approver is available, \
    the user can run `toolgate approve` in a terminal before it is tried again. A \
    command that does not end soon goes on as a session: exec_command gives its ID, write_stdin types into it.";

/// The directories where tools may work, and the router of approval questions.
pub(super) struct HostEnvironment {
    place: WorkspaceArgs,
    /// Canonical directories. Clients may choose a working directory below them.
    allowed: Vec<PathBuf>,
    running_calls: Arc<RunningCalls>,
}

impl HostEnvironment {
    pub(super) fn new(
        settings: &McpSettings,
        running_calls: Arc<RunningCalls>,
    ) -> Result<Arc<Self>, OperationFault> {
        let mut allowed = Vec::new();
        for root in std::iter::once(working_directory(&settings.flags)?).chain(settings.roots.iter().cloned())
        {
            let root = absolute(&root)?;
            // With a trailing `/.`, only a directory resolves.
            let real = exec::fs::canonicalize(&root.join(".")).map_err(|error| {
                OperationFault::usage(format!("`{}` cannot be read as a directory: {error}", root.display()))
            })?;
            allowed.push(real);
        }
        Ok(Arc::new(Self { place: settings.flags.clone(), allowed, running_calls }))
    }

    /// Builds the tools for `place`, with `more` working directories. Its router has no approver: the engine
    /// refuses calls that need approval, and says so.
    fn compose(&self, place: &WorkspaceArgs, more: &[PathBuf]) -> Result<HostParts, OperationFault> {
        let mut place = place.clone();
        place.read_root.extend(more.iter().cloned());
        let composed = compose_with(&place, |config| {
            if config.sandbox.value == SandboxMode::WorkspaceWrite {
                let written = config.files.read_roots.iter().filter(|root| more.contains(&root.value));
                config.confinement.writable.extend(written.cloned());
            }
        })?;
        let servers = OnDemandServers::new(composed.lazy_servers());
        let composed = if composed.requires_server() {
            let servers = Arc::clone(&servers);
            composed.with_hook(RequiredServers::on_demand(move || servers.started()) as Arc<dyn Hook>)
        } else {
            composed
        };
        let composed =
            composed.with_source(Arc::clone(&servers) as Arc<dyn ToolSource>).for_api(ToolFormApi::Functions);
        let instructions = format!("{INSTRUCTIONS} {}", composed.sandbox_sentence());
        let (record, state) =
            (SessionRecord::new(DeferredJournal::new(&composed)), composed.dirs().state.clone());
        let toolgate = composed
            .with_observer(Arc::clone(&self.running_calls) as Arc<dyn CallObserver>)
            .with_observer(Arc::clone(&record) as Arc<dyn CallObserver>)
            .with_hook(Arc::clone(&record) as Arc<dyn Hook>)
            .build()?;
        record.watch_files(&toolgate, state.as_deref());
        Ok(HostParts { toolgate, servers, record, instructions })
    }

    /// Returns the canonical directories among `roots` that a client may work in.
    fn choose_roots(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let mut chosen = Vec::new();
        for root in roots {
            let real = exec::fs::canonicalize(&root.join("."));
            // Configuration directories of git and agents are no working directories, because a working
            // directory is writable.
            let open = |allowed: &PathBuf, real: &Path| {
                real.starts_with(allowed) && !is_inside_configuration(allowed, real)
            };
            let below = |real: &PathBuf| self.allowed.iter().any(|allowed| open(allowed, real));
            match real.ok().filter(below) {
                Some(real) if !chosen.contains(&real) => chosen.push(real),
                Some(_) => {}
                None => tracing::warn!(
                    root = %root.display(),
                    "the client wants to work in a directory that it may not choose; --root allows one"
                ),
            }
        }
        chosen
    }
}

/// The tools for one working directory, with the servers that they use and the record of their calls.
struct HostParts {
    toolgate: Toolgate,
    servers: Arc<OnDemandServers>,
    record: Arc<SessionRecord>,
    /// The instructions for the client's model. They never change, for the sake of prompt caches.
    instructions: String,
}

/// The tools for one working directory.
pub(super) struct McpHost {
    environment: Arc<HostEnvironment>,
    parts: HostParts,
    /// The router for calls whose client or an approval terminal can be asked.
    asking_router: ToolRouter,
}

impl McpHost {
    /// Creates the host for the directory where the server was started.
    pub(super) fn at_start_directory(environment: Arc<HostEnvironment>) -> Result<Self, OperationFault> {
        let parts = environment.compose(&environment.place, &[])?;
        Ok(Self::from_parts(environment, parts))
    }

    fn from_parts(environment: Arc<HostEnvironment>, parts: HostParts) -> Self {
        let asking_router = parts
            .toolgate
            .router()
            .clone()
            .with_approver(Arc::clone(&environment.running_calls) as Arc<dyn Approver>);
        Self { environment, parts, asking_router }
    }

    /// Ends all running processes and servers.
    pub(super) async fn close(&self) {
        self.parts.toolgate.close().await;
        self.parts.servers.close().await;
        self.parts.record.close();
    }

    fn works_in(&self, directory: &Path) -> bool {
        self.parts.toolgate.router().working_dir().cwd == directory
    }
}

impl Drop for McpHost {
    fn drop(&mut self) {
        self.parts.record.close();
    }
}

impl ToolHost for McpHost {
    fn identity(&self) -> HostIdentity {
        HostIdentity {
            name: "toolgate".to_owned(),
            title: "Toolgate".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: Some(self.parts.instructions.clone()),
        }
    }

    fn tools(&self) -> Vec<HostTool> {
        tool_catalogue::tool_offers(&self.parts.toolgate.router().registry().offered_specs())
    }

    fn start(&self, call: HostCall) -> Box<dyn RunningCall> {
        let HostCall { tool, arguments, client } = call;
        let (bridge, input_requests) = ClientBridge::connect(client);
        let registration = self.environment.running_calls.register(&bridge);
        let router = if self.environment.running_calls.can_ask(&bridge) {
            &self.asking_router
        } else {
            self.parts.toolgate.router()
        };
        // Clients that want an order wait for each answer. So a call that waits for approval, or whose client
        // is gone, blocks no other call.
        let mut runtime = ToolCallRuntime::new(router.with_own_lanes());
        let arguments = Value::Object(arguments).to_string();
        let call = ToolCall::function(registration.id.as_str(), tool.as_str(), arguments);
        let record = match self.parts.record.begin_call(bridge.client_name(), call.clone()) {
            Ok(record) => record,
            Err(fault) => return Box::new(RefusedCall(fault.to_string())),
        };
        // The id is unique in this runtime.
        let _started = runtime.start(call);
        Box::new(BridgedCall {
            tool,
            record,
            runtime,
            bridge,
            input_requests,
            progress_count: 0,
            next_progress: Instant::now(),
            _registration: registration,
            _toolgate: self.parts.toolgate.clone(),
        })
    }

    fn on_client_left(&self) {
        self.environment.running_calls.withdraw_questions();
    }

    fn for_roots(&self, roots: &[PathBuf]) -> Option<Arc<dyn ToolHost>> {
        let chosen = self.environment.choose_roots(roots);
        let (first, more) = chosen.split_first()?;
        if more.is_empty() && self.works_in(first) {
            return None;
        }
        let place = WorkspaceArgs { cwd: Some(first.clone()), ..self.environment.place.clone() };
        match self.environment.compose(&place, more) {
            Ok(parts) => Some(Arc::new(Self::from_parts(Arc::clone(&self.environment), parts))),
            Err(fault) => {
                tracing::warn!(?fault, "the client's directory cannot be worked in; the server's own is");
                None
            }
        }
    }
}
