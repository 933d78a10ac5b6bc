//! Builds the `web_search` tool from `[tools.web_search]`: by a command, by a tool of a server, or by a URL.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::{SearchEndpoint, SearchHit, SearchProvider, SearchQuery, WebSearchTool, parse_search_hits};
use exec::run_to_end::find_program;
use exec::session::ProcessExit;
use runtime::rules::{PolicyRule, RuleDecision, RuleLayer, RuleSubject};
use runtime::{
    AnyTool, BoxFuture, Confinement, EnvironmentPolicy, HostRules, NetworkPolicy, SandboxCommand,
    SandboxPolicy, ToolCall, ToolError, ToolHandler, ToolSource, Toolgate, ToolgateBuilder, mcp,
};
use serde_json::{Map, Value, json};

use config::OperationFault;
use config::{Config, HostedSearchMode, SearchApproval, SettingSource, SourcedValue, WebSearchTable};

/// Bytes that a search command may print.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// Adds the configured search, or a source that reports its absence.
pub(crate) fn with_search(
    builder: ToolgateBuilder,
    config: &Config,
    cwd: &Path,
    bounds: &Confinement,
) -> Result<ToolgateBuilder, OperationFault> {
    let Some(SourcedValue { value: table, source }) = &config.tools.search else {
        let hosted = config.tools.web_search.value != HostedSearchMode::Off;
        return Ok(builder.tool_source(Arc::new(MissingSearch { hosted })));
    };
    let wrong = |why: String| OperationFault::usage(format!("{source}: `[tools.web_search]`: {why}"));
    if let Some((server, tool)) = table.server_tool() {
        if !config.servers.iter().any(|known| known.value.name == server) {
            let why = format!(
                "its `tool` is one of the server `{server}`, and there is no `[mcp_servers.{server}]`"
            );
            return Err(wrong(why));
        }
        let by_server = SearchByServer::new(server, tool, table).map_err(wrong)?;
        return Ok(builder.tool_source(Arc::new(by_server)));
    }
    let provider: Arc<dyn SearchProvider> = match &table.url {
        Some(url) => Arc::new(search_endpoint(url, table).map_err(wrong)?),
        None => Arc::new(SearchCommand::new(table, cwd, bounds).map_err(wrong)?),
    };
    Ok(builder.tool(WebSearchTool(provider)))
}

/// Returns the name of the server tool that answers searches, if there is one.
pub(crate) fn search_tool_alias(config: &Config) -> Option<String> {
    let (server, tool) = config.tools.search.as_ref()?.value.server_tool()?;
    Some(mcp::alias(server, tool))
}

/// Returns the rule that allows searches without asking, if the user wants that. Other rules that forbid still win.
pub(crate) fn search_rule(config: &Config) -> Option<PolicyRule> {
    let SourcedValue { value: table, source } = config.tools.search.as_ref()?;
    let SettingSource::File { path, line } = source else { return None };
    (table.approval == Some(SearchApproval::Allow)).then(|| PolicyRule {
        layer: RuleLayer::User,
        file: path.as_path().into(),
        line: *line,
        subject: RuleSubject::Tool { names: vec![WebSearchTool::NAME.to_owned()] },
        decision: RuleDecision::Allow,
        reason: None,
        unsandboxed: false,
    })
}

fn search_endpoint(url: &str, table: &WebSearchTable) -> Result<SearchEndpoint, String> {
    let variable = |name: &String| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("your variable `{name}` is not set; it holds the token for searches"))
    };
    let bearer = table.bearer_token_env_var.as_ref().map(variable).transpose()?;
    SearchEndpoint::new(url, bearer.as_deref(), table.timeout())
}

/// A search by a command. It can write nothing, and reaches only the hosts that the user names.
struct SearchCommand {
    argv: Vec<String>,
    environment: EnvironmentPolicy,
    cwd: PathBuf,
    confinement: Confinement,
    hosts: Vec<String>,
    timeout: Duration,
}

impl SearchCommand {
    fn new(table: &WebSearchTable, cwd: &Path, bounds: &Confinement) -> Result<Self, String> {
        let mut argv = table.command.clone();
        let name = argv.first().cloned().unwrap_or_default();
        let program = find_program(&name, std::env::var_os("PATH").as_deref())
            .ok_or_else(|| format!("its `command` cannot be run: there is no program `{name}`"))?;
        if let Some(first) = argv.first_mut() {
            *first = program.to_string_lossy().into_owned();
        }
        let environment = EnvironmentPolicy { pass: table.env_vars.clone(), ..EnvironmentPolicy::default() };
        let hosts = table.hosts.iter().filter_map(|host| host.parse().ok()).collect();
        let confinement = Confinement {
            network: NetworkPolicy::Off,
            hosts: HostRules { allow: hosts, forbid: Vec::new() },
            sockets: Vec::new(),
            writable: Vec::new(),
            ..bounds.clone()
        };
        let (cwd, hosts) = (cwd.to_owned(), table.hosts.clone());
        Ok(Self { argv, environment, cwd, confinement, hosts, timeout: table.timeout() })
    }

    async fn run_search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, String> {
        let builder = Toolgate::at(&self.cwd).sandbox(SandboxPolicy::ReadOnly);
        let builder = builder.environment(self.environment.clone());
        let sandbox = builder.confinement(self.confinement.clone()).build_sandbox();
        let sandbox = sandbox.map_err(|fault| fault.to_string())?;
        let input = json!({ "query": query.text, "num_results": query.max_results }).to_string();
        let command = SandboxCommand::new(&self.argv).input(input);
        let command = command.time_limit(self.timeout).max_output_bytes(MAX_OUTPUT_BYTES);
        let ran = sandbox
            .run_to_end(&command)
            .await
            .map_err(|fault| format!("the command for searches: {fault}"))?;
        if ran.exit != ProcessExit::Code(0) {
            let said: String = String::from_utf8_lossy(&ran.stderr).chars().take(500).collect();
            let how = match ran.exit {
                ProcessExit::Code(code) => format!("exit code {code}"),
                ProcessExit::Signal(signal) => format!("signal {signal}"),
            };
            return Err(format!("the command for searches failed ({how}): {}", said.trim()));
        }
        parse_search_hits(&ran.stdout, query.max_results)
            .map_err(|why| format!("the command for searches: {why}"))
    }
}

impl SearchProvider for SearchCommand {
    fn hosts(&self) -> Vec<String> {
        self.hosts.clone()
    }

    fn search<'a>(&'a self, query: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, String>> {
        Box::pin(self.run_search(query))
    }
}

/// A search by a tool of a server: the call is rewritten to that tool, with its questions, rules and answer.
struct SearchByServer {
    offered_tool: Arc<dyn AnyTool>,
    /// The model's name for the server's tool.
    alias: String,
    query_argument: String,
    count_argument: Option<String>,
}

impl SearchByServer {
    fn new(server: &str, tool: &str, table: &WebSearchTable) -> Result<Self, String> {
        let offered_tool =
            runtime::erase(WebSearchTool(Arc::new(ServerSideSearch))).map_err(|fault| fault.to_string())?;
        let query = table.query_argument.clone().unwrap_or_else(|| "query".to_owned());
        Ok(Self {
            offered_tool,
            alias: mcp::alias(server, tool),
            query_argument: query,
            count_argument: table.count_argument.clone(),
        })
    }

    fn server_call(&self, call: &ToolCall) -> Result<ToolCall, ToolError> {
        let args = WebSearchTool::parse_query(&call.payload)?;
        let mut arguments = Map::from_iter([(self.query_argument.clone(), json!(args.text))]);
        arguments.extend(self.count_argument.iter().map(|name| (name.clone(), json!(args.max_results))));
        Ok(ToolCall::function(call.id.clone(), self.alias.as_str(), Value::Object(arguments).to_string()))
    }
}

impl ToolSource for SearchByServer {
    fn offered_tools(&self) -> Vec<Arc<dyn AnyTool>> {
        vec![Arc::clone(&self.offered_tool)]
    }

    fn find(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        (name == WebSearchTool::NAME).then(|| Arc::clone(&self.offered_tool))
    }

    fn rewrite_call(&self, call: &ToolCall) -> Option<Result<ToolCall, ToolError>> {
        (call.name == WebSearchTool::NAME).then(|| self.server_call(call))
    }

    fn is_built_in(&self) -> bool {
        true
    }
}

/// Provider for a search that a server's tool answers; it is never called.
struct ServerSideSearch;

impl SearchProvider for ServerSideSearch {
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    fn search<'a>(&'a self, _: &'a SearchQuery) -> BoxFuture<'a, Result<Vec<SearchHit>, String>> {
        Box::pin(std::future::ready(Err("a tool of a server answers it".to_owned())))
    }
}

/// Reports what is missing if no search is configured.
struct MissingSearch {
    hosted: bool,
}

impl ToolSource for MissingSearch {
    fn offered_tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    fn find(&self, _: &str) -> Option<Arc<dyn AnyTool>> {
        None
    }

    fn absence_reason(&self, name: &str) -> Option<String> {
        let why = match self.hosted {
            true => "web_search is run by the model's provider and cannot be called here",
            false => "no web search is configured here",
        };
        let hint = "the user can add one: `[tools.web_search]` with a `url`, a `command` or a `tool` in their own configuration";
        (name == WebSearchTool::NAME).then(|| format!("{why}; {hint}"))
    }
}
