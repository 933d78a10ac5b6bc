//! Starts the configured MCP servers, remembers their tool definitions and reports their state to the user.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use private_files::AtomicFile;
use runtime::mcp::{
    self, CallApproval, DefinitionPins, HttpTransport, LaunchFault, LaunchedServer, McpClientDeps,
    McpServerConfig, McpServers, OAuthClientId, OAuthConfig, ServerEvent, ServerLauncher, ServerObserver,
    ServerTransport, TokenStore,
};
use runtime::rules::RulePath;
use runtime::{
    BoxFuture, ConfinedServerProgram, Confinement, EnvironmentPolicy, HostRules, NetworkPolicy,
    SandboxPolicy, SharedProcesses,
};

use crate::configured_confinement::command_confinement;
use config::OperationFault;
use config::private_dirs;
use config::{ChangesMode, Config, ServerApproval, ServerSetting, ServerTable, SourcedValue, UserDirs};

/// The prefix of server tools.
const SERVER_TOOL_PREFIX: &str = "mcp__";

/// Starts the enabled servers of `config` for work in `cwd`. Must be called in a runtime.
pub fn start(
    config: &Config,
    cwd: &Path,
    dirs: &UserDirs,
    deps: McpClientDeps,
) -> Result<Arc<McpServers>, OperationFault> {
    let shared = ServerProcesses::default();
    let enabled = config.servers.iter().filter(|server| server.value.table.enabled != Some(false));
    let servers = enabled.map(|server| {
        build_server(server, config, (cwd, dirs), &shared).unwrap_or_else(|why| McpServerConfig {
            required: server.value.table.is_required(),
            ..McpServerConfig::new(
                &server.value.name,
                ServerTransport::Program(Arc::new(UnusableServer(why))),
            )
        })
    });
    let servers = servers.collect();
    let pins =
        dirs.state.as_ref().map(|state| Arc::new(PinFile::at(state.join("mcp"))) as Arc<dyn DefinitionPins>);
    let roots = vec![file_uri(cwd)];
    Ok(McpServers::start(servers, &McpClientDeps { pins, roots, ..deps }))
}

/// Returns true if `name` denotes one tool of one server.
pub fn is_server_tool(name: &str) -> bool {
    name.starts_with(SERVER_TOOL_PREFIX) || mcp::by_path(name).is_some()
}

/// Returns true if the tool `name` may belong to that server, or is a tool for all servers.
pub fn may_belong_to_server(name: &str, server: &str) -> bool {
    !is_server_tool(name) || mcp::may_belong_to(name, server)
}

/// Returns true if a tool needs servers to be started.
pub fn needs_servers(name: &str) -> bool {
    let stands_in = [mcp::CALL_TOOL, mcp::READ_RESOURCE].as_flattened().contains(&name);
    is_server_tool(name) || stands_in || name.contains("mcp_resource") || name == "tool_search"
}

/// Waits until all servers have started or failed, and shows the pending ones if that takes a while.
pub async fn wait_until_settled(servers: &McpServers) {
    let (mut progress, began) = (terminal::ProgressLine::new("servers"), std::time::Instant::now());
    let mut settled = std::pin::pin!(servers.wait_until_settled(None));
    // ends: servers start or fail in their time
    loop {
        tokio::select! {
            () = &mut settled => return,
            () = tokio::time::sleep(terminal::ProgressLine::TICK_INTERVAL) => progress.show(&pending_message(&servers.health(), began)),
        }
    }
}

/// Formats the names of the pending servers.
fn pending_message(health: &[(String, mcp::ServerHealth)], began: std::time::Instant) -> String {
    // A failed server is also pending if it is restarted.
    let waited = health.iter().filter(|(_, health)| !matches!(health, mcp::ServerHealth::Ready { .. }));
    let names: Vec<&str> = waited.map(|(name, _)| name.as_str()).collect();
    format!("{} s, waiting for {}", began.elapsed().as_secs(), names.join(", "))
}

/// Closes the servers and releases their resources.
pub async fn close_servers(servers: Option<Arc<McpServers>>) {
    if let Some(servers) = servers {
        servers.close().await;
    }
}

/// Formats a directory as a `file:` URI; every byte that could be special is percent-encoded.
fn file_uri(directory: &Path) -> String {
    let mut uri = "file://".to_owned();
    for &byte in directory.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(byte.into());
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// A server that cannot be started, with the reason. The other servers are not affected.
struct UnusableServer(String);

impl ServerLauncher for UnusableServer {
    fn launch(&self, _: [OwnedFd; 3]) -> BoxFuture<'_, Result<Box<dyn LaunchedServer>, LaunchFault>> {
        let fault = LaunchFault { why: format!("cannot be used: {}", self.0), retryable: false };
        Box::pin(std::future::ready(Err(fault)))
    }
}

/// The spawner and the start queue that all server programs share.
#[derive(Clone, Default)]
pub struct ServerProcesses {
    processes: Arc<SharedProcesses>,
    queue: Arc<tokio::sync::Mutex<()>>,
}

/// Builds a server from its settings.
pub fn build_server(
    setting: &SourcedValue<ServerSetting>,
    config: &Config,
    (cwd, dirs): (&Path, &UserDirs),
    shared: &ServerProcesses,
) -> Result<McpServerConfig, String> {
    let ServerSetting { name, table } = &setting.value;
    let transport = match (&table.command, &table.url) {
        (Some(command), _) => {
            let bounds = command_confinement(config, cwd, dirs);
            let ServerProcesses { processes, queue } = shared.clone();
            let mut program = ConfinedServerProgram {
                processes,
                start_queue: queue,
                ..confined_program(command, table, cwd, bounds)
            };
            if config.changes.value == ChangesMode::Staged && program.sandbox.confines() {
                // It would write to the user's files, past the staged changes.
                program.sandbox = SandboxPolicy::ReadOnly;
                program.confinement.writable.clear();
            }
            ServerTransport::Program(Arc::new(deny_secrets(program, config, dirs)))
        }
        (None, Some(url)) => ServerTransport::Http(http_transport(url, table, dirs)?),
        (None, None) => return Err("it needs a `command`, or a `url`".to_owned()),
    };
    let approval = |approval: ServerApproval| match approval {
        ServerApproval::Auto => CallApproval::Auto,
        ServerApproval::Ask => CallApproval::Ask,
        ServerApproval::Allow => CallApproval::Allow,
    };
    Ok(McpServerConfig {
        startup_timeout: table.startup_timeout(),
        tool_timeout: table.tool_timeout(),
        enabled_tools: table.enabled_tools.clone(),
        disabled_tools: table.disabled_tools.clone(),
        required: table.is_required(),
        annotations_trusted: !matches!(
            table.sandbox,
            Some(config::SandboxMode::External | config::SandboxMode::DangerFullAccess)
        ),
        approval: table.approval.map_or(CallApproval::Auto, approval),
        approvals: table.tools.iter().map(|(tool, table)| (tool.clone(), approval(table.approval))).collect(),
        ..McpServerConfig::new(name, transport)
    })
}

/// Describes a server program. It has the confinement of commands, except for the network and the writable paths,
/// which are its own.
fn confined_program(
    command: &str,
    table: &ServerTable,
    cwd: &Path,
    bounds: Confinement,
) -> ConfinedServerProgram {
    let argv = std::iter::once(command.to_owned()).chain(table.args.iter().cloned()).collect();
    let directory = table.cwd.as_ref().map_or(cwd.to_owned(), PathBuf::from);
    let network = match table.network {
        Some(config::NetworkMode::Off) => NetworkPolicy::Off,
        Some(config::NetworkMode::Loopback) => NetworkPolicy::Loopback,
        Some(config::NetworkMode::On) | None => NetworkPolicy::On,
    };
    let sandbox = match table.sandbox {
        Some(config::SandboxMode::ReadOnly) => SandboxPolicy::ReadOnly,
        Some(config::SandboxMode::WorkspaceWrite) | None => SandboxPolicy::WorkspaceWrite,
        Some(config::SandboxMode::External) => SandboxPolicy::External,
        Some(config::SandboxMode::DangerFullAccess) => SandboxPolicy::FullAccess,
    };
    let writable = table.writable.iter().map(PathBuf::from).collect();
    let environment = EnvironmentPolicy {
        pass: table.env_vars.clone(),
        set: table.env.clone().into_iter().collect(),
        ..EnvironmentPolicy::default()
    };
    ConfinedServerProgram {
        environment,
        sandbox,
        confinement: Confinement {
            network,
            writable,
            hosts: HostRules::default(),
            sockets: Vec::new(),
            ..bounds
        },
        ..ConfinedServerProgram::new(argv, directory)
    }
}

/// Denies the program reads of the tokens, the approval sockets, the configuration and the configured `deny_read`
/// paths.
fn deny_secrets(
    mut program: ConfinedServerProgram,
    config: &Config,
    dirs: &UserDirs,
) -> ConfinedServerProgram {
    // The configuration may hold credentials of other servers.
    let secret = private_dirs::token_dir(dirs)
        .into_iter()
        .chain(private_dirs::approval_socket_dirs(dirs))
        .chain(dirs.config.clone());
    program.deny_read =
        secret.map(|path| RulePath::Absolute(path.components().collect()).deny_read_pattern()).collect();
    program.deny_read.extend(config.files.deny_read.iter().map(|pattern| pattern.value.clone()));
    program
}

/// Returns the store of OAuth tokens.
fn token_store(dirs: &UserDirs) -> Option<Arc<TokenStore>> {
    private_dirs::token_dir(dirs).map(|directory| Arc::new(TokenStore::in_state_dir(&directory)))
}

fn http_transport(url: &str, table: &ServerTable, dirs: &UserDirs) -> Result<HttpTransport, String> {
    let variable = |name: &String| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("your variable `{name}` is not set; it holds what the server is given"))
    };
    let mut headers: Vec<(String, String)> = table.http_headers.clone().into_iter().collect();
    for (header, name) in &table.env_http_headers {
        headers.push((header.clone(), variable(name)?));
    }
    let bearer = table.bearer_token_env_var.as_ref().map(variable).transpose()?;
    let client = match &table.oauth {
        None => OAuthClientId::Any,
        Some(oauth) => OAuthClientId::Registered {
            id: oauth.client_id.clone(),
            secret: oauth.client_secret_env_var.as_ref().map(variable).transpose()?,
        },
    };
    let tokens = token_store(dirs).filter(|_| bearer.is_none());
    let auth =
        tokens.map(|tokens| OAuthConfig { client, scopes: table.scopes.clone(), ..OAuthConfig::new(tokens) });
    Ok(HttpTransport { headers, bearer, auth, ..HttpTransport::new(url) })
}

/// Stores tool definitions, one file for each server.
struct PinFile {
    directory: PathBuf,
    /// Definitions that were read: server, then tool.
    loaded: Mutex<BTreeMap<String, PinnedDefinitions>>,
}

/// The tool definitions of one server, or the error in reading them.
type PinnedDefinitions = Result<BTreeMap<String, String>, String>;

impl PinFile {
    fn at(directory: PathBuf) -> Self {
        Self { directory, loaded: Mutex::default() }
    }

    fn file_path(&self, server: &str) -> PathBuf {
        self.directory.join(format!("{server}.json"))
    }

    fn unreadable_message(&self, server: &str, error: &dyn std::fmt::Display) -> String {
        format!("`{}` cannot be read: {error}", self.file_path(server).display())
    }

    fn load(&self, server: &str) -> PinnedDefinitions {
        #[expect(clippy::disallowed_methods, reason = "our own state, at a path that no model names")]
        match std::fs::read_to_string(self.file_path(server)) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| self.unreadable_message(server, &error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(self.unreadable_message(server, &error)),
        }
    }

    fn save(&self, server: &str, tool: &str, definition: &str) -> Result<(), String> {
        let file = AtomicFile::open(&self.file_path(server)).map_err(|error| error.to_string())?;
        let locked = file.lock().map_err(|error| error.to_string())?;
        let Some(_held_to_the_end) = locked else { return Err("another program holds it".to_owned()) };
        // Another session may have added some. An unreadable file is started anew: the user has just approved this
        // definition.
        let mut pinned = self.load(server).unwrap_or_default();
        pinned.insert(tool.to_owned(), definition.to_owned());
        let text = serde_json::to_string_pretty(&pinned).map_err(|error| error.to_string())?;
        file.replace(&text).map_err(|error| error.to_string())
    }
}

impl DefinitionPins for PinFile {
    fn pinned(&self, server: &str, tool: &str) -> Result<Option<String>, String> {
        let mut loaded = self.loaded.lock();
        let pinned = loaded.entry(server.to_owned()).or_insert_with(|| self.load(server));
        pinned.as_ref().map(|tools| tools.get(tool).cloned()).map_err(Clone::clone)
    }

    fn pin(&self, server: &str, tool: &str, definition: &str) {
        if self.pinned(server, tool).is_ok_and(|pinned| pinned.as_deref() == Some(definition)) {
            return;
        }
        if let Err(why) = self.save(server, tool, definition) {
            tracing::warn!(server = ?server, why = ?why, "what a server says about its tools cannot be remembered");
        }
        let mut loaded = self.loaded.lock();
        let pinned = loaded.entry(server.to_owned()).or_insert_with(|| Ok(BTreeMap::new()));
        if let Ok(tools) = pinned {
            tools.insert(tool.to_owned(), definition.to_owned());
        } else {
            *pinned = Ok(BTreeMap::from([(tool.to_owned(), definition.to_owned())]));
        }
    }
}

/// Omitted tools that are reported one by one.
const MAX_REPORTED_OMISSIONS: usize = 5;

/// Reports server events to the user.
pub enum ServerNotices {
    /// All events.
    All,
    /// Only problems.
    Problems,
}

impl ServerNotices {
    /// Returns an observer that reports only problems.
    pub fn problems() -> Option<Arc<dyn ServerObserver>> {
        Some(Arc::new(Self::Problems))
    }
}

impl ServerObserver for ServerNotices {
    fn on_server_event(&self, server: &str, event: &ServerEvent) {
        if let ServerEvent::Ready { gaps, .. } = event
            && !gaps.is_empty()
        {
            let gaps = gaps.join("; ");
            terminal::print_hint(&format!(
                "the server `{server}` is confined only in part: {gaps}; `toolgate doctor` shows the fix"
            ));
        }
        if let ServerEvent::Ready { left_out, .. } = event {
            for why in left_out.iter().take(MAX_REPORTED_OMISSIONS) {
                terminal::print_hint(&format!(
                    "a tool of the server `{server}` is left out: {}",
                    terminal::to_one_line(why)
                ));
            }
            if let Some(more) = left_out.len().checked_sub(MAX_REPORTED_OMISSIONS).filter(|more| *more > 0) {
                terminal::print_hint(&format!(
                    "{more} more of its tools are left out: `toolgate mcp test {server}` says why"
                ));
            }
        }
        match event {
            ServerEvent::Ready { tools, took, .. } if matches!(self, Self::All) => {
                terminal::print_hint(&format!(
                    "the server `{server}` has started: {tools} tools in {} ms",
                    took.as_millis()
                ));
            }
            ServerEvent::Starting | ServerEvent::Ready { .. } => {}
            ServerEvent::ToolsChanged { tools } => {
                terminal::print_hint(&format!("the server `{server}` has {tools} tools now"));
            }
            ServerEvent::Failed { why, again_in } => {
                let again =
                    again_in.map(|pause| format!("; it is started again in {} s", pause.as_secs().max(1)));
                let told = format!("the server `{server}` {why}{}", again.as_deref().unwrap_or_default());
                match again {
                    Some(_) => terminal::print_hint(&told),
                    None => terminal::print_warning(&told),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_uri_is_percent_encoded() {
        let rows = [("/a/b-c", "file:///a/b-c"), ("/a b/ü%", "file:///a%20b/%C3%BC%25"), ("/", "file:///")];
        for (path, expected) in rows {
            assert_eq!(file_uri(Path::new(path)), expected);
        }
    }
}
