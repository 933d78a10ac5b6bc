//! `toolgate call`: makes one tool call and prints the answer.

use std::process::ExitCode;
use std::sync::Arc;

use agent::WebSearchTool;
use base64::Engine;
use parking_lot::Mutex;
use runtime::mcp::{self, McpClientDeps};
use runtime::{
    Approver, CallEvent, CallId, CallObserver, CancelCause, CancellationToken, Lane, OutputItem, ToolCall,
    ToolErrorKind, ToolHandler, ToolNotice, ToolOutput, Toolgate,
};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{CallArgs, OutputFormat};
use crate::exit_status::{INTERRUPTED, TERMINATED, USAGE};
use crate::terminal_approver::TerminalApprover;
use crate::terminal_elicitation::TerminalElicitor;
use config::OperationFault;
use config::UserDirs;
use server::event_json;
use session::approval::PromptScope;
use session::compose::compose;
use session::mcp_servers::{self, ServerNotices};
use session::turn_diff_store::TurnDiffRecorder;

pub(crate) fn run(args: &CallArgs) -> Result<ExitCode, OperationFault> {
    let call = ToolCall::function("call", args.name.as_str(), read_arguments(args)?);
    let mut composed = compose(&args.place)?;
    // Without a terminal, a call that needs approval is refused at once.
    let terminal = TerminalApprover::detect(PromptScope::Call);
    if let Some(terminal) = &terminal {
        composed = composed.with_approver(Arc::clone(terminal) as Arc<dyn Approver>);
    }
    let notices = Arc::new(CallNotices::default());
    composed = composed.with_observer(Arc::clone(&notices) as Arc<dyn CallObserver>);
    let (output, ended) = super::block_on(async {
        let mut servers = None;
        let wanted = WantedServers::for_call(&call, composed.search_server());
        let wanted = wanted.or_all_if_unconfigured(|name| composed.has_server(name));
        if wanted != WantedServers::None || composed.requires_server() {
            let elicit = terminal.as_ref().and_then(|_| TerminalElicitor::detect());
            let deps = McpClientDeps {
                observer: Some(Arc::new(ServerNotices::Problems)),
                elicitor: elicit,
                ..McpClientDeps::default()
            };
            (composed, servers) = composed.start_servers(deps, |server| wanted.includes(server))?;
        }
        let toolgate = composed.build()?;
        if let Some(servers) = &servers {
            let missing = servers.wait_for_required().await;
            missing.map_err(|missing| OperationFault::usage(missing.to_string()))?;
        }
        // A call of a server's tool waits for that server itself.
        if let Some(servers) = servers.as_ref().filter(|_| wanted == WantedServers::All) {
            servers.wait_until_settled(None).await;
        }
        let mut turn_recorder = start_turn_recorder(&toolgate, &call)?;
        let is_asking =
            || TerminalElicitor::is_asking() || terminal.as_ref().is_some_and(|person| person.is_asking());
        let answered = dispatch_call(&toolgate, call, &args.name, (&is_asking, &notices)).await?;
        if let Some(turn_recorder) = &mut turn_recorder {
            turn_recorder.end_turn();
        }
        mcp_servers::close_servers(servers).await;
        Ok(answered)
    })?;
    match args.output {
        OutputFormat::Json => terminal::print_text(&as_json(&args.name, &output).to_string())?,
        OutputFormat::Text => {
            print_output(&output)?;
            notices.setup_hints.lock().iter().for_each(|hint| terminal::print_hint(hint));
        }
    }
    Ok(if ended { ExitCode::from(TERMINATED) } else { exit_code(&output) })
}

/// The servers that must be started for a call.
#[derive(Debug, PartialEq, Eq)]
enum WantedServers {
    None,
    All,
    /// The server of this name.
    One(String),
    /// The servers that may have a tool of this name.
    MayHave(String),
}

impl WantedServers {
    /// Returns the servers that `call` needs. `search` is the server whose tool answers web searches.
    fn for_call(call: &ToolCall, search: Option<&str>) -> Self {
        let name = call.name.as_str();
        match (search, mcp_servers::needs_servers(name)) {
            (Some(server), _) if name == WebSearchTool::NAME => Self::One(server.to_owned()),
            (_, false) => Self::None,
            (_, true) if mcp_servers::is_server_tool(name) => Self::MayHave(name.to_owned()),
            (_, true) => {
                let arguments: Value = serde_json::from_str(&call.payload.arguments()).unwrap_or_default();
                arguments["server"].as_str().map_or(Self::All, |server| Self::One(server.to_owned()))
            }
        }
    }

    /// Falls back to all servers if the wanted one is not configured: the answer then lists the configured
    /// ones.
    fn or_all_if_unconfigured(self, is_configured: impl Fn(&str) -> bool) -> Self {
        match self {
            Self::One(name) if !is_configured(&name) => Self::All,
            other => other,
        }
    }

    fn includes(&self, server: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::One(one) => one == server,
            Self::MayHave(name) => mcp::may_belong_to(name, server),
        }
    }
}

/// The notices of the tool that are shown.
#[derive(Default)]
struct CallNotices {
    /// The latest progress message.
    progress: Mutex<Option<String>>,
    /// The hints for a machine that cannot confine commands.
    setup_hints: Mutex<Vec<String>>,
}

impl CallNotices {
    /// Returns the first 60 characters of the message, which fit on a terminal line.
    fn last(&self) -> Option<String> {
        let said = self.progress.lock();
        said.as_ref().map(|text| text.chars().take(60).collect())
    }
}

impl CallObserver for CallNotices {
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        match event {
            CallEvent::Notice(ToolNotice::Progress { text, .. }) => {
                *self.progress.lock() = Some(text.clone());
            }
            CallEvent::Notice(ToolNotice::WeakerSandbox { text, refused: true }) => {
                // The answer has the sentence and the first hint.
                *self.setup_hints.lock() = text.lines().skip(2).map(str::to_owned).collect();
            }
            _ => {}
        }
    }
}

/// Answers the call. The second value is true if the program received SIGTERM meanwhile.
async fn dispatch_call(
    toolgate: &Toolgate,
    call: ToolCall,
    name: &str,
    (is_asking, notices): (&impl Fn() -> bool, &CallNotices),
) -> Result<(ToolOutput, bool), OperationFault> {
    // SIGTERM cancels the call, so that the terminal is restored even while a question is open.
    let (mut terminate, mut ended) = (signal(SignalKind::terminate())?, false);
    let cancel = CancellationToken::new();
    let answer = toolgate.router().dispatch(call, cancel.clone());
    tokio::pin!(answer);
    let mut progress = terminal::ProgressLine::new(name);
    // ends: with the answer, which Ctrl-C and SIGTERM hasten
    let output = loop {
        tokio::select! {
            output = &mut answer => break output,
            _ = tokio::signal::ctrl_c() => cancel.cancel(),
            _ = terminate.recv() => {
                ended = true;
                toolgate.router().cancel_cause().set(CancelCause::Signal("SIGTERM"));
                cancel.cancel();
            }
            () = tokio::time::sleep(terminal::ProgressLine::TICK_INTERVAL) => if !is_asking() {
                match notices.last() {
                    Some(text) => progress.show(&text),
                    None => progress.tick(),
                }
            },
        }
    };
    if toolgate.open_session_count() > 0 {
        terminal::print_hint(
            "what still ran was ended with this call; `toolgate pipe` keeps sessions between calls",
        );
    }
    toolgate.close().await;
    Ok((output, ended))
}

/// Starts recording the turn's changes, if the tool may change anything.
fn start_turn_recorder(
    toolgate: &Toolgate,
    call: &ToolCall,
) -> Result<Option<TurnDiffRecorder>, OperationFault> {
    let found = toolgate.router().registry().tool_for_call(call);
    let theirs = mcp_servers::is_server_tool(&call.name) || mcp::CALL_TOOL.contains(&call.name.as_str());
    let changes = theirs || found.is_ok_and(|tool| tool.lane() == Lane::Exclusive);
    // Without a state directory the diff could not be stored, so it is not computed.
    let state = UserDirs::from_env()?.state.filter(|_| changes);
    Ok(state.map(|state| TurnDiffRecorder::start(toolgate, Some(&state))))
}

fn read_arguments(args: &CallArgs) -> Result<String, OperationFault> {
    match (&args.json, &args.input) {
        (Some(json), _) => Ok(json.clone()),
        (None, Some(file)) => session::read_file_or_stdin(file),
        (None, None) => Ok(String::new()),
    }
}

/// Prints the answer to standard output, including the output of a stopped process. The error of a call
/// without output goes to standard error.
fn print_output(output: &ToolOutput) -> Result<(), OperationFault> {
    if output.facts.error.is_some() && output.facts.usage.is_none() {
        terminal::print_error(&output.joined_text());
        return Ok(());
    }
    for item in &output.items {
        match item {
            OutputItem::Text(text) => terminal::print_text(text)?,
            OutputItem::Image(image) => {
                let about = format!("[{}, {} bytes; --output json has them]", image.mime, image.bytes.len());
                terminal::print_text(&about)?;
            }
        }
    }
    Ok(())
}

fn exit_code(output: &ToolOutput) -> ExitCode {
    match output.facts.error {
        Some(ToolErrorKind::UnknownTool | ToolErrorKind::BadArguments) => ExitCode::from(USAGE),
        Some(ToolErrorKind::Cancelled | ToolErrorKind::Stopped) => ExitCode::from(INTERRUPTED),
        _ if output.success => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn as_json(tool: &str, output: &ToolOutput) -> Value {
    let items: Vec<Value> = output
        .items
        .iter()
        .map(|item| match item {
            OutputItem::Text(text) => json!({ "type": "text", "text": text }),
            OutputItem::Image(image) => {
                let data = base64::engine::general_purpose::STANDARD.encode(&image.bytes);
                json!({ "type": "image", "mime": image.mime, "base64": data })
            }
        })
        .collect();
    let facts = &output.facts;
    let mut value = json!({ "tool": tool, "success": output.success, "items": items });
    let optional = [
        ("error", facts.error.map(|kind| json!(kind.as_str()))),
        ("exit_code", facts.exit_code.map(|code| json!(code))),
        ("duration_ms", facts.duration.map(event_json::millis_json)),
        ("cut", facts.omitted.map(|cut| json!({ "bytes": cut.bytes, "lines": cut.lines }))),
        ("usage", facts.usage.map(event_json::usage_json)),
        ("structured", output.structured.clone()),
    ];
    for (name, fact) in optional {
        if let Some(fact) = fact {
            value[name] = fact;
        }
    }
    value
}
