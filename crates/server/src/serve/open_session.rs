//! Opens a session for a client: a new one, or one resumed from its journal.

use std::path::PathBuf;
use std::sync::Arc;

use agent::{RunBudget, SessionObserver, TurnLimits, UserPrompter};
use clap::ValueEnum;
use journal::{SessionId, SessionSettings, SessionTimeline};
use parking_lot::Mutex;
use rpc::protocol as p;
use rpc::{RpcErrorCode, RpcFault};
use runtime::mcp::McpClientDeps;
use runtime::wire::Dialect;
use runtime::{Approver, CallObserver, ErrorHints, ToolSource};
use rustix::fs::FileType;

use super::client_approver::ClientApprover;
use super::client_processes::ClientProcesses;
use super::client_tools::{ClientTools, SessionClientTools};
use super::delta_sender::DeltaSender;
use super::hosted_session::{HostedSession, SessionFacts};
use super::idempotent_calls::ClientCalls;
use super::session_server::SessionServer;
use super::subscribers::Subscribers;
use super::turn_runner::TurnRunner;
use config::OperationFault;
use config::flags::WorkspaceArgs;
use config::{ApprovalMode, Config, SandboxMode, ServerSetting, ServerTable, SettingSource, SourcedValue};
use session::choose_model::{self, ChosenModel, ModelLocation};
use session::compose::{ComposedTools, compose_in_dirs};
use session::mcp_servers::ServerNotices;
use session::subagents::SubagentSessions;
use session::{self, AssembledSession, SessionSpec, WorktreePool};

/// The source of settings from a client.
const SOURCE: SettingSource = SettingSource::Flag("session/start");

/// Maximum bytes of a script.
const MAX_SCRIPT_BYTES: u64 = 64 << 20;

/// Opens a new session.
pub(super) fn start_new(
    server: &SessionServer,
    start: p::SessionStartParams,
) -> Result<Arc<HostedSession>, RpcFault> {
    open_session(server, start, SessionId::new(), None)
}

/// Resumes a session that no server has open.
pub(super) fn resume(
    server: &SessionServer,
    id: &str,
    start: p::SessionStartParams,
) -> Result<Arc<HostedSession>, RpcFault> {
    let gone = |why: String| {
        RpcErrorCode::NoSession
            .fault(format!("there is no session `{}`: {why}", terminal::escape_invisible(id)))
    };
    let directory =
        server.sessions_dir().ok_or_else(|| gone("there is no directory for journals".to_owned()))?;
    let id: SessionId = id.parse().map_err(|fault: journal::JournalFault| gone(fault.to_string()))?;
    let file = directory.join(id.file_name());
    if exec::fs::canonicalize(&file).is_err() {
        return Err(gone("`session/list` has those there are".to_owned()));
    }
    // Reading a long journal takes time, and other tasks need this thread.
    let timeline = tokio::task::block_in_place(|| journal::read_journal(&file))
        .map(|contents| SessionTimeline::from_records(contents.records))
        .map_err(|fault| gone(fault.to_string()))?;
    // Checked before resources are sought that only the program with the open session knows.
    if journal::is_in_use(&file) {
        return Err(RpcErrorCode::InUse.fault(format!("another program has the session `{}`", id.as_str())));
    }
    let (mut start, mut is_known) = (start, true);
    if let Some(SessionSettings { cwd, model: name, wire, sandbox, approval, base_url, .. }) =
        timeline.last_settings()
    {
        start.cwd.get_or_insert_with(|| cwd.clone());
        start.sandbox.get_or_insert_with(|| sandbox.clone());
        start.approval.get_or_insert_with(|| approval.clone());
        if start.model.is_none() && !name.is_empty() {
            let wire =
                Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == wire).map(to_protocol_wire);
            start.model = Some(p::ModelSelection {
                name: Some(name.clone()),
                wire,
                base_url: base_url.clone(),
                ..p::ModelSelection::default()
            });
            is_known = false;
        }
    }
    let calls = ClientCalls::from_timeline(&timeline);
    open_session(server, start, id, Some(calls)).map_err(|mut fault| {
        if !is_known && fault.has_code(RpcErrorCode::Unusable) {
            fault
                .message
                .push_str("; `start.model` says where the model is, which the journal does not know");
        }
        fault
    })
}

fn open_session(
    server: &SessionServer,
    start: p::SessionStartParams,
    id: SessionId,
    recorded_calls: Option<ClientCalls>,
) -> Result<Arc<HostedSession>, RpcFault> {
    let (subscribers, client_tools) = (Arc::<Subscribers>::default(), Arc::<ClientTools>::default());
    let client_approver =
        Arc::new(ClientApprover { session: id.as_str().to_owned(), subscribers: Arc::clone(&subscribers) });
    let deltas = Arc::new(DeltaSender::new(id.as_str(), &subscribers));
    let processes = Arc::new(server.processes.with_own_sessions());
    let metrics = server.metrics.observe_session();
    let composed = compose_tools(server, &start)?
        .with_processes(Arc::clone(&processes))
        .with_observer(Arc::clone(&metrics) as Arc<dyn CallObserver>)
        .with_source(Arc::new(SessionClientTools(Arc::clone(&client_tools))) as Arc<dyn ToolSource>)
        .with_observer(Arc::clone(&deltas) as Arc<dyn CallObserver>)
        .with_approver(Arc::clone(&client_approver) as Arc<dyn Approver>);
    let model = start.model.as_ref().map(|model| resolve_model(model, &composed)).transpose()?;
    let facts = session_facts(&id, &composed, model.as_ref());
    let subagents = model.as_ref().filter(|_| start.agents).map(|chosen| {
        let approver = Arc::clone(&client_approver) as Arc<dyn Approver>;
        let tools = Arc::clone(&client_tools) as Arc<dyn ToolSource>;
        build_subagents(server, &start, chosen.clone(), (approver, tools))
    });
    let subagents = subagents.transpose()?;
    let spec = SessionSpec {
        composed,
        dirs: server.dirs.clone(),
        model,
        resume: recorded_calls.is_some().then(|| id.as_str().to_owned()),
        new_id: id,
        limits: turn_limits(start.model.as_ref()),
        instructions: start.instructions,
        observer: metrics.meter_tokens(Arc::clone(&deltas) as Arc<dyn SessionObserver>),
        prompter: Some(client_approver as Arc<dyn UserPrompter>),
        mcp_deps: McpClientDeps { observer: ServerNotices::problems(), ..McpClientDeps::default() },
        agents: subagents.as_ref().map(|subagents| Arc::clone(subagents).root_agents()),
    };
    let assembled = session::assemble(spec).map_err(|fault| to_rpc_fault(&fault))?;
    metrics.begin(&assembled.toolgate);
    if let Some(subagents) = &subagents {
        subagents.register(Vec::new(), &assembled);
    }
    client_tools.set_session(&facts.id, assembled.handle());
    let AssembledSession { recorder, toolgate, servers, session, agents, quota, .. } = assembled;
    let turn_runner = session.map(|session| TurnRunner::spawn(session, toolgate.clone(), deltas));
    Ok(Arc::new(HostedSession {
        facts,
        toolgate,
        recorder,
        servers,
        agents,
        subscribers,
        client_tools,
        turn_runner,
        calls: recorded_calls.unwrap_or_default(),
        processes: ClientProcesses::default(),
        quota,
    }))
}

fn session_facts(id: &SessionId, composed: &ComposedTools, model: Option<&ChosenModel>) -> SessionFacts {
    SessionFacts {
        id: id.as_str().to_owned(),
        cwd: composed.cwd().display().to_string(),
        sandbox: composed.sandbox_name().to_owned(),
        approval: composed.approval_name().to_owned(),
        model: model.map(|model| model.name.clone()),
    }
}

/// Creates the factory of subagent sessions.
fn build_subagents(
    server: &SessionServer,
    start: &p::SessionStartParams,
    chosen: session::ChosenModel,
    (approver, source): (Arc<dyn Approver>, Arc<dyn ToolSource>),
) -> Result<Arc<SubagentSessions>, RpcFault> {
    Ok(Arc::new(SubagentSessions {
        place: workspace_args(server, start)?,
        dirs: server.dirs.clone(),
        chosen,
        limits: turn_limits(start.model.as_ref()),
        instructions: start.instructions.clone(),
        approver: Some(approver),
        allowed_tools: start.only_tools.clone(),
        sources: vec![source],
        processes: Arc::new(server.processes.with_own_sessions()),
        sessions: Mutex::default(),
        worktrees: WorktreePool::default(),
    }))
}

fn to_rpc_fault(fault: &OperationFault) -> RpcFault {
    let code =
        if fault.kind() == config::FaultKind::Busy { RpcErrorCode::InUse } else { RpcErrorCode::Unusable };
    code.fault(fault.to_string())
}

/// Composes the tools for the client's settings.
fn compose_tools(server: &SessionServer, start: &p::SessionStartParams) -> Result<ComposedTools, RpcFault> {
    let place = workspace_args(server, start)?;
    let servers = server_settings(start)?;
    let change = |config: &mut Config| {
        if let Some(only) = &start.only_tools {
            config.tools.only.push(SourcedValue { value: only.clone(), source: SOURCE });
        }
        config.servers.extend(servers);
    };
    // A program gets facts; flags of this program mean nothing to it.
    let composed =
        compose_in_dirs(&place, server.dirs.clone(), change).map_err(|fault| to_rpc_fault(&fault))?;
    Ok(composed.with_hints(ErrorHints::default()))
}

fn workspace_args(server: &SessionServer, start: &p::SessionStartParams) -> Result<WorkspaceArgs, RpcFault> {
    let mut place = server.place.clone();
    if let Some(cwd) = &start.cwd {
        place.cwd = Some(PathBuf::from(cwd));
    }
    if let Some(name) = &start.sandbox {
        place.sandbox = Some(parse_enum::<SandboxMode>("sandbox", name)?);
    }
    if let Some(name) = &start.approval {
        place.approval = Some(parse_enum::<ApprovalMode>("approval", name)?);
    }
    if let Some(name) = start.model.as_ref().and_then(|model| model.name.clone()) {
        place.model = Some(name);
    }
    Ok(place)
}

fn parse_enum<T: ValueEnum>(member: &str, name: &str) -> Result<T, RpcFault> {
    T::from_str(name, false).map_err(|_| {
        let all: Vec<String> = T::value_variants()
            .iter()
            .filter_map(|variant| Some(format!("`{}`", variant.to_possible_value()?.get_name())))
            .collect();
        RpcErrorCode::Params
            .fault(format!("the params do not fit at `{member}`: there are {}", all.join(", ")))
    })
}

/// Returns the settings of the MCP servers that the client adds.
fn server_settings(start: &p::SessionStartParams) -> Result<Vec<SourcedValue<ServerSetting>>, RpcFault> {
    let one = |(name, table): (&String, &serde_json::Value)| {
        let wrong = |why: String| {
            RpcErrorCode::Params.fault(format!(
                "the params do not fit at `mcp_servers.{}`: {why}",
                terminal::escape_invisible(name)
            ))
        };
        if !config::is_server_name(name) {
            return Err(wrong("that is not a server name".to_owned()));
        }
        let table: ServerTable =
            serde_json::from_value(table.clone()).map_err(|error| wrong(error.to_string()))?;
        if let Some(why) = table.find_fault() {
            return Err(wrong(why));
        }
        Ok(SourcedValue { value: ServerSetting { name: name.clone(), table }, source: SOURCE })
    };
    start.mcp_servers.iter().map(one).collect()
}

fn resolve_model(
    model: &p::ModelSelection,
    composed: &ComposedTools,
) -> Result<session::ChosenModel, RpcFault> {
    let wire = model.wire.map(|wire| match wire {
        p::ModelApi::Responses => Dialect::Responses,
        p::ModelApi::Chat => Dialect::Chat,
        p::ModelApi::Anthropic => Dialect::Anthropic,
    });
    if let Some(script) = &model.script {
        // Reading a FIFO could block, and reading a device could be endless, while other clients wait.
        let stat = rustix::fs::stat(script.as_str());
        let fits = stat.is_ok_and(|stat| {
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            is_file && u64::try_from(stat.st_size).is_ok_and(|size| size <= MAX_SCRIPT_BYTES)
        });
        if !fits {
            let name = terminal::escape_invisible(script);
            let why = format!("the script `{name}` is not a file, or has more than {MAX_SCRIPT_BYTES} bytes");
            return Err(RpcErrorCode::Unusable.fault(why));
        }
    }
    let location = ModelLocation {
        wire,
        base_url: model.base_url.clone(),
        script: model.script.as_ref().map(PathBuf::from),
        ..ModelLocation::default()
    };
    // The hint names parameters of the protocol: flags of the program would not help a client.
    choose_model::choose_model(&location.with_configuration(composed), composed.model_name()).map_err(|fault| {
        let hint = "`model` has a `name`, and a `base_url` for a server of your own; keys are in the server's environment";
        RpcErrorCode::Unusable.fault(format!("{fault}; {hint}"))
    })
}

fn to_protocol_wire(dialect: Dialect) -> p::ModelApi {
    match dialect {
        Dialect::Responses => p::ModelApi::Responses,
        Dialect::Chat => p::ModelApi::Chat,
        Dialect::Anthropic => p::ModelApi::Anthropic,
    }
}

fn turn_limits(model: Option<&p::ModelSelection>) -> TurnLimits {
    let built_in = TurnLimits::default();
    let rounds = model.and_then(|model| model.max_turns).and_then(|rounds| usize::try_from(rounds).ok());
    let context = model.and_then(|model| model.context).unwrap_or(built_in.context);
    let budget = Arc::new(RunBudget::new(model.and_then(|model| model.max_tokens), None, None));
    TurnLimits { rounds: rounds.unwrap_or(built_in.rounds).max(1), context, budget, ..built_in }
}
