//! Assembles one session from its tools, model and journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::{
    AgentFault, AgentSession, AgentSessionSetup, BaselineReady, CloseAgent, ContextMeter,
    GetContextRemaining, GetMemory, JournalRecorder, ListAgents, ListMemories, MemoryStore, Remember,
    RequestUserInput, ResumeAgent, SendInput, SessionAgents, SessionHandle, SessionObserver, SpawnAgent,
    TurnChangesFn, TurnLimits, TurnPrecondition, UserPrompter, WaitForAgents,
};
use journal::{JournalFault, SessionId, SessionSettings};
use runtime::mcp::{McpClientDeps, McpServers};
use runtime::{CallObserver, Hook, ToolHandler, Toolgate};

use crate::choose_model::ChosenModel;
use crate::compose::ComposedTools;
use crate::mcp_servers;
use crate::open_journal::{OpenJournal, SessionHeader};
use crate::prune::JournalQuota;
use crate::turn_diff_store::TurnDiffRecorder;
use config::{OperationFault, UserDirs, state_hint};

/// The parts of a session.
pub struct SessionSpec {
    /// The tools, with their observers and approver.
    pub composed: ComposedTools,
    /// The user's directories for configuration, state and journals.
    pub dirs: UserDirs,
    /// Without a model, the session offers tools only.
    pub model: Option<ChosenModel>,
    /// The id of a new session.
    pub new_id: SessionId,
    /// The prefix of the session to resume, or `last`.
    pub resume: Option<String>,
    /// Limits of each turn.
    pub limits: TurnLimits,
    /// Instructions for the model, besides Toolgate's own and the project's.
    pub instructions: Option<String>,
    /// Observer of the session's events.
    pub observer: Arc<dyn SessionObserver>,
    /// Answers the model's questions.
    pub prompter: Option<Arc<dyn UserPrompter>>,
    /// The dependencies of MCP servers.
    pub mcp_deps: McpClientDeps,
    /// The agents that the model may start; `None` if it may start none.
    pub agents: Option<Arc<SessionAgents>>,
}

impl SessionSpec {
    /// Returns the parts of a new session with default limits, that observes, asks and resumes nothing.
    pub fn new(composed: ComposedTools, dirs: UserDirs, model: Option<ChosenModel>) -> Self {
        Self {
            composed,
            dirs,
            model,
            new_id: SessionId::new(),
            resume: None,
            limits: TurnLimits::default(),
            instructions: None,
            observer: Arc::new(()),
            prompter: None,
            mcp_deps: McpClientDeps::default(),
            agents: None,
        }
    }
}

/// An assembled session.
pub struct AssembledSession {
    /// Id of the session, which also names its journal.
    pub id: SessionId,
    /// Writer of the journal.
    pub recorder: Arc<JournalRecorder>,
    /// Tools of the session.
    pub toolgate: Toolgate,
    /// Running MCP servers; `None` without servers.
    pub servers: Option<Arc<McpServers>>,
    /// The session with the model, if there is one.
    pub session: Option<AgentSession>,
    /// True if the session continues an earlier journal.
    pub resumed: bool,
    /// The settings in the journal.
    pub settings: SessionSettings,
    /// The agents that the model may start.
    pub agents: Option<Arc<SessionAgents>>,
    /// The quota to apply when the session has ended.
    pub quota: JournalQuota,
}

impl AssembledSession {
    /// Ends everything that still runs, agents first.
    pub async fn shut_down(
        toolgate: &Toolgate,
        servers: Option<Arc<McpServers>>,
        agents: Option<Arc<SessionAgents>>,
    ) {
        if let Some(agents) = agents {
            agents.close_all().await;
        }
        toolgate.close().await;
        mcp_servers::close_servers(servers).await;
    }

    /// Returns a handle to control the session while it works.
    pub fn handle(&self) -> Option<SessionHandle> {
        self.session.as_ref().map(AgentSession::handle)
    }
}

/// Assembles a session. Must be called in a runtime. A new session that fails to assemble leaves no journal.
pub fn assemble(spec: SessionSpec) -> Result<AssembledSession, OperationFault> {
    let header = SessionHeader::new(&spec.composed, spec.model.as_ref());
    let (sessions, resume) = (spec.dirs.sessions.clone(), spec.resume.clone());
    let journal = OpenJournal::open(sessions, spec.new_id.clone(), resume.as_deref(), header)?;
    let recorder = Arc::clone(&journal.recorder);
    assemble_parts(spec, journal).inspect_err(|_| {
        if resume.is_none() {
            recorder.delete_journal();
        }
    })
}

fn assemble_parts(spec: SessionSpec, journal: OpenJournal) -> Result<AssembledSession, OperationFault> {
    let SessionSpec {
        composed,
        dirs,
        model,
        limits,
        instructions,
        observer: watch,
        prompter,
        mcp_deps,
        agents,
        ..
    } = spec;
    let (context_meter, quota) = (Arc::<ContextMeter>::default(), composed.journal_quota());
    let composed = composed.with_session_stage(&journal.id)?;
    let composed = match &model {
        Some(chosen) => {
            with_session_tools(composed.for_api(chosen.api), prompter, &context_meter, dirs.state.as_deref())
        }
        None => composed,
    };
    let style = composed.wire_style();
    let composed = agents.iter().fold(composed, with_agent_tools);
    let composed = composed
        .with_observer(Arc::clone(&journal.recorder) as Arc<dyn CallObserver>)
        .with_hook(Arc::clone(&journal.recorder) as Arc<dyn Hook>);
    let (composed, servers) = composed.start_servers(mcp_deps, |_| true)?;
    let (toolgate, resumed) = (composed.build()?, journal.resumed.is_some());
    let session = model.map(|chosen| {
        let (changed, ready) = track_turn_changes(&toolgate, dirs.state.as_deref());
        let setup = AgentSessionSetup {
            router: toolgate.router().clone(),
            model: chosen.model,
            model_name: chosen.name,
            instructions: full_instructions(&toolgate, instructions.as_deref()),
            api_compat: style,
            reasoning: chosen.reasoning,
            recorder: Some(Arc::clone(&journal.recorder)),
            observer: watch,
            limits,
            turn_changes: Some(changed),
            baseline_ready: Some(ready),
            context_meter,
            agents: agents.clone(),
            cache_key: Some(journal.id.as_str().to_owned()),
            precondition: servers.as_ref().map(wait_for_required),
        };
        AgentSession::new(setup, journal.resumed).map_err(journal_fault)
    });
    Ok(AssembledSession {
        id: journal.id,
        recorder: journal.recorder,
        toolgate,
        servers,
        session: session.transpose()?,
        resumed,
        settings: journal.settings,
        agents,
        quota,
    })
}

/// Returns the precondition of each turn: the required servers have started.
fn wait_for_required(servers: &Arc<McpServers>) -> TurnPrecondition {
    let servers = Arc::clone(servers);
    Arc::new(move || {
        let servers = Arc::clone(&servers);
        Box::pin(async move { servers.wait_for_required().await.map_err(|missing| missing.to_string()) })
    })
}

/// Returns Toolgate's own and the project's instructions, followed by `more`.
fn full_instructions(toolgate: &Toolgate, more: Option<&str>) -> String {
    let (gate, cwd) = (toolgate.router().gate(), &toolgate.router().working_dir().cwd);
    let mut instructions = crate::project_instructions::model_instructions(gate, cwd);
    instructions.extend(more.map(|more| format!("\n\n{more}")));
    instructions
}

/// Converts an error of the journal to a command's error.
pub fn journal_fault(fault: JournalFault) -> OperationFault {
    agent_fault(&AgentFault::from(fault))
}

/// Converts the error that ends a turn to a command's error.
pub fn agent_fault(fault: &AgentFault) -> OperationFault {
    let told = OperationFault::failed(fault.to_string());
    match fault {
        AgentFault::Journal(JournalFault::Unwritten { source, .. }) => told.with_hint(state_hint(source)),
        AgentFault::Journal(_)
        | AgentFault::Model(_)
        | AgentFault::Resume(_)
        | AgentFault::Precondition(_) => told,
    }
}

/// Names of the tools that manage other agents.
pub(crate) const AGENT_TOOLS: [&str; 6] = [
    SpawnAgent::NAME,
    SendInput::NAME,
    ResumeAgent::NAME,
    WaitForAgents::NAME,
    CloseAgent::NAME,
    ListAgents::NAME,
];

/// Adds the tools that manage other agents.
fn with_agent_tools(composed: ComposedTools, agents: &Arc<SessionAgents>) -> ComposedTools {
    composed
        .with_tool(SpawnAgent(Arc::clone(agents)))
        .with_tool(SendInput(Arc::clone(agents)))
        .with_tool(ResumeAgent(Arc::clone(agents)))
        .with_tool(WaitForAgents(Arc::clone(agents)))
        .with_tool(CloseAgent(Arc::clone(agents)))
        .with_tool(ListAgents(Arc::clone(agents)))
}

/// Adds the tools that only a session can have.
fn with_session_tools(
    composed: ComposedTools,
    prompter: Option<Arc<dyn UserPrompter>>,
    context_meter: &Arc<ContextMeter>,
    state: Option<&Path>,
) -> ComposedTools {
    let composed = composed
        .with_tool(RequestUserInput(prompter))
        .with_tool(GetContextRemaining(Arc::clone(context_meter)));
    let Some(state) = state else { return composed };
    let memories = Arc::new(MemoryStore::new(state, composed.cwd()));
    composed
        .with_tool(Remember(Arc::clone(&memories)))
        .with_tool(GetMemory(Arc::clone(&memories)))
        .with_tool(ListMemories(memories))
}

/// Returns a function for the changes of a turn, and a future that is ready once the initial snapshot exists. The
/// snapshot takes a while, and only calls have to wait for it.
fn track_turn_changes(toolgate: &Toolgate, state: Option<&Path>) -> (TurnChangesFn, BaselineReady) {
    let shared = Arc::new(parking_lot::Mutex::new(None::<TurnDiffRecorder>));
    let (inside, toolgate, state) = (Arc::clone(&shared), toolgate.clone(), state.map(PathBuf::from));
    #[expect(clippy::disallowed_methods, reason = "no call: it looks at files while the model thinks")]
    let snapshot = tokio::task::spawn_blocking(move || {
        let turn_recorder = TurnDiffRecorder::start(&toolgate, state.as_deref());
        *inside.lock() = Some(turn_recorder);
    });
    let changed = move || {
        let mut turn_recorder = shared.lock();
        tokio::task::block_in_place(|| turn_recorder.as_mut()?.end_turn()).map(|turn| turn.text)
    };
    let ready = async move {
        let _looked = snapshot.await;
    };
    (Box::new(changed), Box::pin(ready))
}
