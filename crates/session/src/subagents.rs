//! Creates the sessions of subagents: with no more rights than their parent, and with the first session's approver.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use agent::{
    AgentLimits, AgentRestrictions, AgentWorkspace, SessionAgents, SessionHandle, SessionObserver,
    SubagentFactory as RaisesAgents, SubagentSession, SubagentSpec, TurnLimits, WorktreeDiffFn,
};
use journal::{JournalEntry, SessionId};
use parking_lot::Mutex;
use runtime::mcp::McpClientDeps;
use runtime::{
    ApprovalQuestion, Approver, BoxFuture, CallId, ErrorHints, Gate, ReviewDecision, SandboxPolicy,
    SharedProcesses, Spill, StagedWorkspace, ToolSource,
};

use crate::assemble::{AGENT_TOOLS, AssembledSession, SessionSpec, assemble};
use crate::choose_model::ChosenModel;
use crate::compose::{ComposedTools, compose_in_dirs};
use crate::last_message::LastMessage;
use crate::open_journal::close_journal;
use crate::worktree::{GitRunner, Worktree};
use crate::worktree_pool::WorktreePool;
use config::flags::WorkspaceArgs;
use config::{ChangesMode, Config, SandboxMode, SettingSource, SourcedValue, UserDirs};

/// The parts from which sessions of subagents are made, taken from the first session.
pub struct SubagentSessions {
    /// Flags of the first session: working directory, permissions and model.
    pub place: WorkspaceArgs,
    /// The user's directories for configuration, state and journals.
    pub dirs: UserDirs,
    /// Model of every subagent.
    pub chosen: ChosenModel,
    /// Limits of each turn.
    pub limits: TurnLimits,
    /// Instructions of the first session, passed on to every subagent.
    pub instructions: Option<String>,
    /// The approver of the first session.
    pub approver: Option<Arc<dyn Approver>>,
    /// The tools that the first session may use, if they are limited.
    pub allowed_tools: Option<Vec<String>>,
    /// Sources of tools that may appear and disappear.
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// Process state that all sessions share.
    pub processes: Arc<SharedProcesses>,
    /// The sessions by the path of their agent, with working directory and gate.
    pub sessions: Mutex<HashMap<Vec<String>, KnownSession>>,
    /// Git worktrees of subagents.
    pub worktrees: WorktreePool,
}

/// A session that may start others.
#[derive(Clone)]
pub struct KnownSession {
    /// Working directory.
    cwd: PathBuf,
    /// Permissions.
    gate: Gate,
    /// Hints in its answers.
    hints: ErrorHints,
    /// Name of its journal.
    session: String,
    /// Interrupts its turn.
    handle: Option<SessionHandle>,
    /// Its staged changes, if changes are staged.
    staged: Option<Arc<StagedWorkspace>>,
}

impl SubagentSessions {
    /// Returns the agents of the first session.
    pub fn root_agents(self: Arc<Self>) -> Arc<SessionAgents> {
        SessionAgents::root(self, AgentLimits::default())
    }

    /// Registers a session with its working directory and gate.
    pub fn register(&self, path: Vec<String>, assembled: &AssembledSession) {
        let router = assembled.toolgate.router();
        let (cwd, gate) = (router.working_dir().cwd.clone(), router.gate().clone());
        let hints = router.hints().clone();
        let known = KnownSession {
            cwd,
            gate,
            hints,
            session: assembled.id.as_str().to_owned(),
            handle: assembled.handle(),
            staged: assembled.toolgate.staged().cloned(),
        };
        self.sessions.lock().insert(path, known);
    }

    async fn start_agent(&self, spec: SubagentSpec) -> Result<SubagentSession, String> {
        let parent = spec.path.split_last().map(|(_, above)| above.to_vec()).unwrap_or_default();
        let parent_session = self.sessions.lock().get(&parent).cloned();
        let KnownSession { cwd, gate, session, staged, .. } =
            parent_session.ok_or("the agent that started it has ended")?;
        if spec.workspace == AgentWorkspace::Shared {
            let mut composed = self.compose_tools(&spec, &spec.restrictions, &cwd)?.inheriting_gate(gate);
            if let Some(staged) = staged {
                composed = composed.with_observer(staged);
            }
            return self.open_session(spec, composed, &session, None);
        }
        if gate.sandbox() == SandboxPolicy::ReadOnly {
            return Err(
                "nothing may be changed here, and a worktree is a change of the repository".to_owned()
            );
        }
        let path = spec.path.clone();
        let is_new = spec.resume.is_none();
        let worktree = match is_new {
            true => Arc::new(self.create_worktree(&path, &cwd).await?),
            // A resumed agent continues in its own worktree.
            false => self.worktrees.find(&path).ok_or("its worktree was taken away; start another agent")?,
        };
        let state = self.dirs.state.as_ref().ok_or("there is no state directory for what it changes")?;
        // The diff is stored for the parent session.
        let agent_worktree = AgentWorktree {
            worktree: Arc::clone(&worktree),
            diff_store: Spill::new(state.join("outputs"), &cwd),
        };
        let opened = match self.check_out(&spec, &worktree, is_new).await {
            Ok(()) => self
                .compose_tools(&spec, &spec.restrictions, worktree.cwd())
                .map(|composed| composed.mirror_denials(worktree.repository(), worktree.root()))
                .and_then(|composed| self.open_session(spec, composed, &session, Some(agent_worktree))),
            Err(why) => Err(why),
        };
        match (&opened, is_new) {
            (Ok(_), true) => self.worktrees.insert(path, worktree).await,
            (Err(_), true) => worktree.remove().await,
            (Ok(_) | Err(_), false) => {}
        }
        opened
    }

    /// Checks out the files in a new worktree.
    async fn check_out(&self, spec: &SubagentSpec, worktree: &Worktree, is_new: bool) -> Result<(), String> {
        if !is_new {
            return Ok(());
        }
        // A read-only agent needs files to read too, so the checkout ignores its bounds.
        let composed = self.compose_tools(spec, &AgentRestrictions::default(), worktree.root())?;
        let toolgate = composed.build().map_err(|fault| fault.to_string())?;
        worktree.check_out(toolgate.router().gate()).await
    }

    /// Composes the tools of an agent that works in `cwd`. The configuration is that of the first session, wherever
    /// the agent works, so its restrictions apply there too.
    fn compose_tools(
        &self,
        spec: &SubagentSpec,
        bounds: &AgentRestrictions,
        cwd: &Path,
    ) -> Result<ComposedTools, String> {
        let change = |config: &mut Config| {
            self.restrict_config(config, bounds, spec.agents.is_some());
            // An agent in the same directory writes to its parent's staged changes, through the parent's gate. A
            // worktree is a copy already.
            config.changes.value = ChangesMode::Direct;
        };
        let mut composed =
            compose_in_dirs(&self.place, self.dirs.clone(), change).map_err(|fault| fault.to_string())?;
        if exec::fs::canonicalize(composed.cwd()).ok().as_deref() != Some(cwd) {
            let first = composed.cwd().to_owned();
            composed = composed.in_directory(cwd).mirror_denials(&first, cwd);
        }
        let hints = self.sessions.lock().get(&[][..]).map(|first| first.hints.clone());
        composed = composed.with_processes(Arc::clone(&self.processes)).with_hints(hints.unwrap_or_default());
        composed = match bounds.read_only {
            true => composed.always_confined(),
            // The effects of these tools are unknown.
            false => {
                self.sources.iter().cloned().fold(composed, |composed, source| composed.with_source(source))
            }
        };
        Ok(match &self.approver {
            Some(approver) => {
                let first = self.sessions.lock().get(&[][..]).and_then(|first| first.handle.clone());
                let forwarding =
                    ForwardingApprover { approver: Arc::clone(approver), path: spec.path.clone(), first };
                composed.with_approver(Arc::new(forwarding))
            }
            None => composed,
        })
    }

    fn open_session(
        &self,
        spec: SubagentSpec,
        composed: ComposedTools,
        of: &str,
        agent_worktree: Option<AgentWorktree>,
    ) -> Result<SubagentSession, String> {
        let SubagentSpec { path, role, resume, request_limit: budget, agents, .. } = spec;
        let last_message = Arc::new(LastMessage::default());
        let assembled = assemble(SessionSpec {
            composed,
            dirs: self.dirs.clone(),
            model: Some(ChosenModel {
                model: budget.wrap_model(Arc::clone(&self.chosen.model)),
                ..self.chosen.clone()
            }),
            new_id: SessionId::new(),
            resume,
            limits: self.limits.clone(),
            instructions: Some(agent_instructions(self.instructions.as_deref(), role.as_deref())),
            observer: Arc::clone(&last_message) as Arc<dyn SessionObserver>,
            prompter: None,
            mcp_deps: McpClientDeps::default(),
            agents,
        })
        .map_err(|fault| fault.to_string())?;
        self.register(path.clone(), &assembled);
        let agent_entry = JournalEntry::Agent { path: path.join("/"), of: of.to_owned() };
        assembled.recorder.write(&agent_entry).map_err(|fault| fault.to_string())?;
        to_subagent_session(assembled, last_message, agent_worktree)
    }

    /// Restricts the configuration to the bounds of the agent.
    fn restrict_config(&self, config: &mut Config, bounds: &AgentRestrictions, starts_others: bool) {
        // An agent that cannot start others lacks these tools, although an inherited list may name them.
        let there = |name: &&String| starts_others || !AGENT_TOOLS.contains(&name.as_str());
        let lists = self.allowed_tools.iter().chain(&bounds.tools);
        let lists = lists.map(|list| list.iter().filter(there).cloned().collect());
        config
            .tools
            .only
            .extend(lists.map(|value| SourcedValue { value, source: SettingSource::Flag("spawn_agent") }));
        if bounds.read_only {
            config.sandbox.value = SandboxMode::ReadOnly;
            // The effects of server tools are unknown.
            config.servers.clear();
        }
    }

    async fn create_worktree(&self, path: &[String], cwd: &Path) -> Result<Worktree, String> {
        let state = self.dirs.state.as_ref().ok_or("there is no state directory for a worktree")?;
        let directory = state.join("worktrees");
        private_files::ensure_private_dir(&directory).map_err(|error| error.to_string())?;
        let untrusted_dirs =
            self.sessions.lock().values().flat_map(|known| known.gate.writable().to_vec()).collect();
        let git = GitRunner { processes: Arc::clone(&self.processes), untrusted_dirs };
        git.remove_abandoned(&directory).await;
        let name = format!("{}-{}", SessionId::new().as_str(), path.join("-"));
        Worktree::create(git, cwd, directory.join(name)).await
    }
}

impl RaisesAgents for SubagentSessions {
    fn create_session<'a>(&'a self, spec: SubagentSpec) -> BoxFuture<'a, Result<SubagentSession, String>> {
        Box::pin(self.start_agent(spec))
    }

    fn release_agents<'a>(&'a self, path: &'a [String]) -> BoxFuture<'a, ()> {
        self.sessions.lock().retain(|whose, _| whose.len() <= path.len() || !whose.starts_with(path));
        Box::pin(self.worktrees.remove_below(path))
    }
}

/// The worktree of an agent, and the store for its diff.
struct AgentWorktree {
    worktree: Arc<Worktree>,
    diff_store: Spill,
}

/// Converts an assembled session to the form that the agent driver needs.
fn to_subagent_session(
    assembled: AssembledSession,
    last_message: Arc<LastMessage>,
    agent_worktree: Option<AgentWorktree>,
) -> Result<SubagentSession, String> {
    let AssembledSession { id, recorder, toolgate, servers, session, .. } = assembled;
    let session = session.ok_or("an agent has no model; this is a bug")?;
    let gate = toolgate.router().gate().clone();
    let agent_worktree = agent_worktree.map(Arc::new);
    let changed = agent_worktree.clone().map(|desk| -> WorktreeDiffFn {
        Arc::new(move || {
            let (agent_worktree, gate) = (Arc::clone(&desk), gate.clone());
            Box::pin(async move { agent_worktree.worktree.diff(&gate, &agent_worktree.diff_store).await })
        })
    });
    if let Some(agent_worktree) = &agent_worktree {
        agent_worktree.worktree.is_open.store(true, Ordering::Relaxed);
    }
    let close = Box::new(move || -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // The driver closes the agents that this one started.
            AssembledSession::shut_down(&toolgate, servers, None).await;
            if let Err(fault) = close_journal(&recorder, "closed") {
                tracing::warn!(%fault, "the end of an agent could not be written down");
            }
            if let Some(agent_worktree) = agent_worktree {
                agent_worktree.worktree.is_open.store(false, Ordering::Relaxed);
            }
        })
    });
    let last = Box::new(move || last_message.text());
    Ok(SubagentSession {
        session,
        id: id.as_str().to_owned(),
        last_message: last,
        worktree_diff: changed,
        close,
    })
}

/// Returns the instructions of an agent, besides Toolgate's own and the project's.
fn agent_instructions(instructions: Option<&str>, role: Option<&str>) -> String {
    let mut text = "You are an agent that another agent started. Do what it asks; your last message is all that it reads of your work.".to_owned();
    if let Some(role) = role {
        text.push_str(&format!(" Your role: {role}."));
    }
    if let Some(instructions) = instructions {
        text.push_str(&format!("\n\n{instructions}"));
    }
    text
}

/// Approver that forwards questions to the first session's approver, with the agent's path.
struct ForwardingApprover {
    approver: Arc<dyn Approver>,
    path: Vec<String>,
    /// The first session, which is interrupted if the user aborts a question of its agents.
    first: Option<SessionHandle>,
}

impl Approver for ForwardingApprover {
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(async move {
            let mut question = question.clone();
            question.agent_path.clone_from(&self.path);
            let decision = self.approver.ask(call, &question).await;
            if let (ReviewDecision::Abort, Some(first)) = (&decision, &self.first) {
                first.interrupt();
            }
            decision
        })
    }
}
