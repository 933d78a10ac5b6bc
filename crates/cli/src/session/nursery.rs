//! The sessions of agents: made as that of whoever starts them, with no more rights, and their questions asked where it asks its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::{
    AgentLimits, Agents, Bounds, Changes, Handle, Limits, Nursery as RaisesAgents, Raised, Rearing, Watch,
    Workspace,
};
use journal::{Entry, SessionId};
use toolgate::mcp::Means;
use toolgate::{
    Approver, BoxFuture, CallId, Gate, Processes, Question, ReviewDecision, SandboxPolicy, Spill, ToolSource,
};

use super::words::Words;
use super::worktree::{Git, Worktree};
use super::{AGENT_TOOLS, Chosen, Made, Wanted, Worktrees, close, make};
use crate::args::Place;
use crate::compose::{Composed, compose_in};
use crate::config::{Config, Dirs, Sandbox, Setting, Source};
use crate::fault::Fault;

/// What the sessions of agents are made of: what that of the first was made of.
pub(crate) struct Nursery {
    pub(crate) place: Place,
    pub(crate) dirs: Dirs,
    pub(crate) chosen: Chosen,
    pub(crate) limits: Limits,
    pub(crate) instructions: Option<String>,
    /// Who is asked.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// What else changes the configuration: the tools that the first may use.
    pub(crate) only: Option<Vec<String>>,
    /// Tools that come and go.
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    pub(crate) processes: Arc<Processes>,
    /// Where each works, by its path, and what it may do.
    pub(crate) known: Mutex<HashMap<Vec<String>, Known>>,
    pub(crate) worktrees: Worktrees,
}

/// What is known of a session that may start others.
#[derive(Clone)]
pub(crate) struct Known {
    /// Where it works.
    cwd: PathBuf,
    /// What it may do.
    gate: Gate,
    /// What its journal is called.
    session: String,
    /// Stops its turn.
    handle: Option<Handle>,
}

impl Nursery {
    /// The agents of the first session.
    pub(crate) fn root(self: Arc<Self>) -> Arc<Agents> {
        Agents::root(self, AgentLimits::default())
    }

    /// A session is there: where it works, and what it may do.
    pub(crate) fn knows(&self, path: Vec<String>, made: &Made) {
        let router = made.toolgate.router();
        let (cwd, gate) = (router.place().cwd.clone(), router.gate().clone());
        let known = Known { cwd, gate, session: made.id.as_str().to_owned(), handle: made.handle() };
        self.known().insert(path, known);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Vec<String>, Known>> {
        // A map is whole between any two statements.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn made(&self, rearing: Rearing) -> Result<Raised, String> {
        let parent = rearing.path.split_last().map(|(_, above)| above.to_vec()).unwrap_or_default();
        let above = self.known().get(&parent).cloned();
        let Known { cwd, gate, session, .. } = above.ok_or("whoever started it is not there any more")?;
        if rearing.workspace == Workspace::Shared {
            let composed = self.composed(&rearing, &rearing.bounds, &cwd)?.inheriting(gate);
            return self.raised(rearing, composed, &session, None);
        }
        if gate.sandbox() == SandboxPolicy::ReadOnly {
            return Err(
                "nothing may be changed here, and a worktree is a change of the repository".to_owned()
            );
        }
        let path = rearing.path.clone();
        let is_new = rearing.resume.is_none();
        let worktree = match is_new {
            true => Arc::new(self.worktree(&path, &cwd).await?),
            // It knows its work by where it is.
            false => self.worktrees.of(&path).ok_or("its worktree was taken away; start another agent")?,
        };
        let state = self.dirs.state.as_ref().ok_or("there is no state directory for what it changes")?;
        // What it changed is for whoever started it.
        let desk = Desk { worktree: Arc::clone(&worktree), kept: Spill::new(state.join("outputs"), &cwd) };
        let raised = match self.filled(&rearing, &worktree, is_new).await {
            Ok(()) => self
                .composed(&rearing, &rearing.bounds, worktree.cwd())
                .map(|composed| composed.mirrored(worktree.of(), worktree.top()))
                .and_then(|composed| self.raised(rearing, composed, &session, Some(desk))),
            Err(why) => Err(why),
        };
        match (&raised, is_new) {
            (Ok(_), true) => self.worktrees.keep(path, worktree).await,
            (Err(_), true) => worktree.remove().await,
            (Ok(_) | Err(_), false) => {}
        }
        raised
    }

    /// Puts the files into a worktree that `is_new`.
    async fn filled(&self, rearing: &Rearing, worktree: &Worktree, is_new: bool) -> Result<(), String> {
        if !is_new {
            return Ok(());
        }
        // Whoever may change nothing still has something to look at.
        let composed = self.composed(rearing, &Bounds::default(), worktree.top())?;
        let toolgate = composed.build().map_err(Fault::sentence)?;
        worktree.check_out(toolgate.router().gate()).await
    }

    /// The tools of an agent that works in `cwd`. The configuration is that of the first session, wherever the agent works: what narrows the one narrows
    /// the other.
    fn composed(&self, rearing: &Rearing, bounds: &Bounds, cwd: &Path) -> Result<Composed, String> {
        let change = |config: &mut Config| self.narrow(config, bounds, rearing.agents.is_some());
        let mut composed = compose_in(&self.place, self.dirs.clone(), change).map_err(Fault::sentence)?;
        if exec::fs::real(composed.cwd()).ok().as_deref() != Some(cwd) {
            let first = composed.cwd().to_owned();
            composed = composed.moved(cwd).mirrored(&first, cwd);
        }
        composed = composed.sharing(Arc::clone(&self.processes));
        composed = match bounds.read_only {
            true => composed.always_confined(),
            // Nobody knows what these change.
            false => self.sources.iter().cloned().fold(composed, |composed, source| composed.source(source)),
        };
        Ok(match &self.approver {
            Some(approver) => {
                let first = self.known().get(&[][..]).and_then(|first| first.handle.clone());
                let bubbling = Bubbling { approver: Arc::clone(approver), path: rearing.path.clone(), first };
                composed.asking(Arc::new(bubbling))
            }
            None => composed,
        })
    }

    fn raised(
        &self,
        rearing: Rearing,
        composed: Composed,
        of: &str,
        desk: Option<Desk>,
    ) -> Result<Raised, String> {
        let Rearing { path, role, resume, budget, agents, .. } = rearing;
        let words = Arc::new(Words::default());
        let made = make(Wanted {
            composed,
            dirs: self.dirs.clone(),
            model: Some(Chosen {
                model: budget.share(Arc::clone(&self.chosen.model)),
                ..self.chosen.clone()
            }),
            new: SessionId::new(),
            resume,
            limits: self.limits,
            instructions: Some(told(self.instructions.as_deref(), role.as_deref())),
            watch: Arc::clone(&words) as Arc<dyn Watch>,
            person: None,
            means: Means::default(),
            agents,
        })
        .map_err(Fault::sentence)?;
        self.knows(path.clone(), &made);
        let whose = Entry::Agent { path: path.join("/"), of: of.to_owned() };
        made.recorder.write(&whose).map_err(|fault| fault.to_string())?;
        raised(made, words, desk)
    }

    /// What an agent may do is what the first may, and less.
    fn narrow(&self, config: &mut Config, bounds: &Bounds, starts_others: bool) {
        // At the bottom there are no such tools, which a list from above may name.
        let there = |name: &&String| starts_others || !AGENT_TOOLS.contains(&name.as_str());
        let lists = self.only.iter().chain(&bounds.tools);
        let lists = lists.map(|list| list.iter().filter(there).cloned().collect());
        config.tools.only.extend(lists.map(|value| Setting { value, source: Source::Flag("spawn_agent") }));
        if bounds.read_only {
            config.sandbox.value = Sandbox::ReadOnly;
            // Nobody knows what these change.
            config.servers.clear();
        }
    }

    async fn worktree(&self, path: &[String], cwd: &Path) -> Result<Worktree, String> {
        let state = self.dirs.state.as_ref().ok_or("there is no state directory for a worktree")?;
        let directory = state.join("worktrees");
        crate::private::directory(&directory).map_err(|error| error.to_string())?;
        let but_from = self.known().values().flat_map(|known| known.gate.writable().to_vec()).collect();
        let git = Git { processes: Arc::clone(&self.processes), but_from };
        git.sweep(&directory).await;
        let name = format!("{}-{}", SessionId::new().as_str(), path.join("-"));
        Worktree::make(git, cwd, directory.join(name)).await
    }
}

impl RaisesAgents for Nursery {
    fn raise<'a>(&'a self, rearing: Rearing) -> BoxFuture<'a, Result<Raised, String>> {
        Box::pin(self.made(rearing))
    }

    fn forget<'a>(&'a self, path: &'a [String]) -> BoxFuture<'a, ()> {
        self.known().retain(|whose, _| whose.len() <= path.len() || !whose.starts_with(path));
        Box::pin(self.worktrees.forget(path))
    }
}

/// Where an agent works by itself, and where what it changed is kept.
struct Desk {
    worktree: Arc<Worktree>,
    kept: Spill,
}

/// An agent's session, as whoever drives it wants it.
fn raised(made: Made, words: Arc<Words>, desk: Option<Desk>) -> Result<Raised, String> {
    let Made { id, recorder, toolgate, servers, session, .. } = made;
    let session = session.ok_or("an agent has no model; this is a bug")?;
    let gate = toolgate.router().gate().clone();
    let desk = desk.map(Arc::new);
    let changed = desk.clone().map(|desk| -> Changes {
        Arc::new(move || {
            let (desk, gate) = (Arc::clone(&desk), gate.clone());
            Box::pin(async move { desk.worktree.changed(&gate, &desk.kept).await })
        })
    });
    if let Some(desk) = &desk {
        desk.worktree.is_open.store(true, Ordering::Relaxed);
    }
    let close = Box::new(move || -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // Those that it started are closed by whoever drives it.
            Made::closed(&toolgate, servers, None).await;
            if let Err(fault) = close(&recorder, "closed") {
                tracing::warn!(%fault, "the end of an agent could not be written down");
            }
            if let Some(desk) = desk {
                desk.worktree.is_open.store(false, Ordering::Relaxed);
            }
        })
    });
    let last = Box::new(move || words.last());
    Ok(Raised { session, id: id.as_str().to_owned(), last, changed, close })
}

/// What an agent is told beside our own words and the project's.
fn told(instructions: Option<&str>, role: Option<&str>) -> String {
    let mut told = "You are an agent that another agent started. Do what it asks; your last message is all that it reads of your work.".to_owned();
    if let Some(role) = role {
        told.push_str(&format!(" Your role: {role}."));
    }
    if let Some(instructions) = instructions {
        told.push_str(&format!("\n\n{instructions}"));
    }
    told
}

/// Asks whoever is asked for the first session, and says who asks.
struct Bubbling {
    approver: Arc<dyn Approver>,
    path: Vec<String>,
    /// The first session, which stops if somebody says so to one of its agents.
    first: Option<Handle>,
}

impl Approver for Bubbling {
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a Question) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(async move {
            let mut question = question.clone();
            question.agents.clone_from(&self.path);
            let decision = self.approver.ask(call, &question).await;
            if let (ReviewDecision::Abort, Some(first)) = (&decision, &self.first) {
                first.interrupt();
            }
            decision
        })
    }
}
