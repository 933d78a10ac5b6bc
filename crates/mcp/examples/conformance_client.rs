//! The client under test of the MCP conformance suite: our servers, router, login, and a user who accepts all.
//!
//! `@modelcontextprotocol/conformance client --command conformance_client` starts it once per scenario, with a server
//! URL as its last argument. `MCP_CONFORMANCE_SCENARIO` and `MCP_CONFORMANCE_CONTEXT` describe the scenario.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use engine::{ToolRegistry, ToolRouter};
use policy::{DenyRead, Gate, ReadRoot, ReadScope, ReviewDecision, SandboxPolicy};
use serde_json::{Map, Value, json};
use testkit::TestApprover;
use tokio_util::sync::CancellationToken;
use tool::{BoxFuture, ToolCall, ToolSource, WorkingDir};
use toolgate_mcp::{
    BrowserOpener, Elicitation, ElicitationAnswer, ElicitationKind, Elicitor, HttpTransport, McpClientDeps,
    McpServerConfig, McpServers, OAuthClientId, OAuthConfig, ServerHealth, ServerTransport, TokenStore,
    alias, login,
};

type ConformanceResult<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Our client metadata document in the suite.
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
/// Maximum number of logins to one server.
const MAX_LOGINS: usize = 3;
const SERVER_NAME: &str = "suite";

#[tokio::main]
pub(crate) async fn main() -> ConformanceResult<()> {
    let url = std::env::args().next_back().ok_or("the URL of a server is the last argument")?;
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context: Value = serde_json::from_str(&context)?;
    let state = tempfile::tempdir()?;
    let tokens = Arc::new(TokenStore::in_state_dir(state.path()));
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    let client = match text("client_id") {
        Some(id) => OAuthClientId::Registered { id, secret: text("client_secret") },
        None => OAuthClientId::Document(CLIENT_METADATA_URL.to_owned()),
    };
    let auth = OAuthConfig { client, ..OAuthConfig::new(tokens) };
    let http = HttpTransport { auth: Some(auth), ..HttpTransport::new(url) };
    let server = McpServerConfig::new(SERVER_NAME, ServerTransport::Http(http));
    let calls = context.get("toolCalls").and_then(Value::as_array).cloned();
    // ends: after `MAX_LOGINS` rounds
    for _ in 0..MAX_LOGINS {
        match run_calls(&server, calls.as_deref()).await? {
            LoginState::LoggedIn => return Ok(()),
            LoginState::LoginRequired => {
                let logged_in = login(&server, &AutoLoginBrowser).await?;
                tell(&format!("logged in: {logged_in:?}"));
            }
        }
    }
    match run_calls(&server, calls.as_deref()).await? {
        LoginState::LoggedIn => Ok(()),
        LoginState::LoginRequired => Err("the server is never content".into()),
    }
}

enum LoginState {
    LoggedIn,
    LoginRequired,
}

/// Starts the server and calls its tools: those of the suite's list, otherwise all of them.
async fn run_calls(server: &McpServerConfig, calls: Option<&[Value]>) -> ConformanceResult<LoginState> {
    let deps = McpClientDeps { elicitor: Some(Arc::new(AcceptDefaults)), ..McpClientDeps::default() };
    let servers = McpServers::start(vec![server.clone()], &deps);
    servers.wait_until_settled(None).await;
    match servers.health().remove(0).1 {
        ServerHealth::Ready { tools, left_out, .. } => {
            tell(&format!("ready: {tools:?}, without {left_out:?}"));
        }
        ServerHealth::Failed(why) if wants_login(&why) => return Ok(LoginState::LoginRequired),
        ServerHealth::Failed(why) => return Err(why.into()),
        ServerHealth::Starting => return Err("it did not start".into()),
    }
    // This scenario mistakes the stream of every session for the reopened one, unless it was open before.
    if std::env::var("MCP_CONFORMANCE_SCENARIO").is_ok_and(|scenario| scenario == "sse-retry") {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let router = router(&servers)?;
    let listed: Vec<(String, Value)> = match calls {
        Some(calls) => calls.iter().map(|call| (tool_name(call), call["arguments"].clone())).collect(),
        None => servers
            .offered_tools()
            .iter()
            .map(|tool| (tool.spec().name().to_owned(), sample_arguments(&**tool)))
            .collect(),
    };
    for (number, (name, arguments)) in listed.into_iter().enumerate() {
        let call = ToolCall::function(number.to_string(), name.clone(), arguments.to_string());
        let output = router.dispatch(call, CancellationToken::new()).await;
        let text = format!("{:?}", output.items);
        tell(&format!("{name} {arguments}: {text}"));
        if wants_login(&text) {
            return Ok(LoginState::LoginRequired);
        }
    }
    Ok(LoginState::LoggedIn)
}

/// Returns whether a text tells the user to log in.
fn wants_login(text: &str) -> bool {
    text.contains("the user must log in")
}

fn tool_name(call: &Value) -> String {
    alias(SERVER_NAME, call["name"].as_str().unwrap_or_default())
}

fn router(servers: &McpServers) -> ConformanceResult<ToolRouter> {
    let tools = servers.offered_tools();
    let registry = tools.into_iter().fold(ToolRegistry::builder(), |builder, tool| builder.erased(tool));
    let root = std::env::temp_dir();
    let read_scope = ReadScope::new(vec![ReadRoot::new(&root)], DenyRead::new(&[] as &[&str], None)?);
    let gate = Gate::new(read_scope, SandboxPolicy::ReadOnly);
    let router = ToolRouter::new(registry.build()?, gate, WorkingDir { cwd: root });
    Ok(router.with_approver(TestApprover::new(|_| ReviewDecision::Approved)))
}

/// Returns valid arguments for a tool.
fn sample_arguments(tool: &dyn tool::AnyTool) -> Value {
    let tool::ToolSpec::Function(spec) = tool.spec() else { return json!({}) };
    let schema = serde_json::to_value(&spec.parameters).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let value = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("test"),
    };
    properties.iter().map(|(name, schema)| (name.clone(), value(schema))).collect::<Map<_, _>>().into()
}

/// A user who accepts every form with its defaults.
struct AcceptDefaults;

impl Elicitor for AcceptDefaults {
    fn elicit<'a>(&'a self, elicitation: &'a Elicitation) -> BoxFuture<'a, ElicitationAnswer> {
        let answer = match &elicitation.kind {
            ElicitationKind::Visit(_) => ElicitationAnswer::Declined,
            ElicitationKind::Form(schema) => {
                let properties = schema.get("properties").and_then(Value::as_object);
                let filled = properties.into_iter().flatten();
                let filled =
                    filled.filter_map(|(name, one)| Some((name.clone(), one.get("default")?.clone())));
                ElicitationAnswer::Accepted(Some(Value::Object(filled.collect())))
            }
        };
        Box::pin(std::future::ready(answer))
    }
}

/// A browser in which the user is logged in already.
struct AutoLoginBrowser;

impl BrowserOpener for AutoLoginBrowser {
    fn open<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { visit(address).await.map_err(|error| error.to_string()) })
    }
}

async fn visit(address: &str) -> ConformanceResult<()> {
    let browser = reqwest::Client::builder().timeout(Duration::from_secs(10)).build()?;
    let page = browser.get(address).send().await?;
    tell(&format!("{address}: {}", page.status()));
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the suite keeps it beside its verdict")]
pub(crate) fn tell(what: &str) {
    eprintln!("{what}");
}
