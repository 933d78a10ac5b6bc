//! One open session of the server: its tools, turns, client calls and followers.

use std::sync::Arc;
use std::time::Duration;

use agent::{JournalRecorder, SessionAgents};
use rpc::protocol as p;
use rpc::{Peer, RpcErrorCode, RpcFault};
use runtime::mcp::McpServers;
use runtime::{ToolSpec, Toolgate};

use super::client_processes::ClientProcesses;
use super::client_tools::ClientTools;
use super::event_stream::JournalTail;
use super::idempotent_calls::ClientCalls;
use super::subscribers::Subscribers;
use super::turn_runner::TurnRunner;
use crate::content_conversion;
use session::prune::JournalQuota;
use session::{self, AssembledSession};

/// Maximum time for running calls and turns to end when a session is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// An open session.
pub(super) struct HostedSession {
    pub(super) facts: SessionFacts,
    pub(super) toolgate: Toolgate,
    pub(super) recorder: Arc<JournalRecorder>,
    pub(super) servers: Option<Arc<McpServers>>,
    pub(super) agents: Option<Arc<SessionAgents>>,
    pub(super) subscribers: Arc<Subscribers>,
    pub(super) client_tools: Arc<ClientTools>,
    /// `None` without a model.
    pub(super) turn_runner: Option<TurnRunner>,
    pub(super) calls: ClientCalls,
    pub(super) processes: ClientProcesses,
    pub(super) quota: JournalQuota,
}

/// The facts of a session that are fixed at its start.
pub(super) struct SessionFacts {
    pub(super) id: String,
    pub(super) cwd: String,
    pub(super) sandbox: String,
    pub(super) approval: String,
    pub(super) model: Option<String>,
}

impl HostedSession {
    /// Returns the session id.
    pub(super) fn id(&self) -> &str {
        &self.facts.id
    }

    /// Describes the session for a client.
    pub(super) fn describe(&self) -> p::SessionDetails {
        let SessionFacts { id, cwd, sandbox, approval, model } = &self.facts;
        p::SessionDetails {
            session_id: id.clone(),
            journal: self.recorder.path().display().to_string(),
            cwd: cwd.clone(),
            sandbox: sandbox.clone(),
            approval: approval.clone(),
            model: model.clone(),
            tools: self.toolgate.router().registry().offered_names(),
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.turn_runner.as_ref().is_some_and(TurnRunner::is_busy)
    }

    /// Returns the number of the last event.
    pub(super) fn last_cursor(&self) -> u64 {
        *self.recorder.subscribe().borrow()
    }

    /// Sends all events after `cursor` to `peer`, and asks it questions according to its capabilities.
    pub(super) fn follow(&self, peer: &Peer, capabilities: p::ClientCapabilities, cursor: u64) {
        let subscription = self.subscribers.subscribe(peer, capabilities);
        let session_cursor = (self.facts.id.clone(), cursor);
        match JournalTail::open(self.recorder.path()) {
            Ok(tail) => {
                let streaming =
                    tail.stream_to(peer.clone(), session_cursor, self.recorder.subscribe(), subscription);
                #[expect(
                    clippy::disallowed_methods,
                    reason = "no call: it ends with its peer or its session"
                )]
                tokio::spawn(streaming);
            }
            Err(error) => {
                tracing::warn!(%error, "the journal of a session cannot be read; its clients get no event about it");
            }
        }
    }

    /// Stops the events to `peer`.
    pub(super) fn detach(&self, peer: &Peer) -> p::EmptyResult {
        self.subscribers.unsubscribe(peer);
        p::EmptyResult {}
    }

    /// Handles a client that closed its sending side.
    pub(super) fn peer_silent(&self, peer: &Peer) {
        self.subscribers.mark_silent(peer);
    }

    /// Handles a closed connection.
    pub(super) fn peer_left(&self, peer: &Peer) {
        self.subscribers.unsubscribe(peer);
    }

    fn turn_runner(&self) -> Result<&TurnRunner, RpcFault> {
        self.turn_runner.as_ref().ok_or_else(|| {
            RpcErrorCode::NoModel.fault("the session was started without a model; `tool/call` uses its tools")
        })
    }

    pub(super) async fn prompt(
        &self,
        prompt: &p::SessionPromptParams,
    ) -> Result<p::SessionPromptResult, RpcFault> {
        let turn_runner = self.turn_runner()?;
        let wrong =
            |why: String| RpcErrorCode::Params.fault(format!("the params do not fit at `images`: {why}"));
        let images = content_conversion::to_images(prompt.images.clone()).map_err(wrong)?;
        turn_runner.prompt(prompt.text.clone(), images).await
    }

    pub(super) fn interrupt(&self) -> p::EmptyResult {
        if let Some(turn_runner) = &self.turn_runner {
            turn_runner.interrupt();
        }
        p::EmptyResult {}
    }

    /// Lists the current tools.
    pub(super) fn list_tools(&self) -> p::ToolListResult {
        let describe = |spec: &ToolSpec| {
            let (description, input_schema) = match spec {
                ToolSpec::Function(function) => {
                    (function.description.clone(), serde_json::to_value(&function.parameters).ok())
                }
                ToolSpec::Freeform(freeform) => (freeform.description.clone(), None),
                // Tools that the provider runs, and aliases, are left out.
                ToolSpec::WebSearch { .. } | ToolSpec::LocalShell => return None,
            };
            Some(p::ToolDescription { name: spec.name().to_owned(), description, input_schema })
        };
        let specs = self.toolgate.router().registry().offered_specs();
        p::ToolListResult { tools: specs.iter().filter_map(describe).collect() }
    }

    pub(super) fn register(
        &self,
        peer: &Peer,
        tools: &[p::DynamicTool],
    ) -> Result<p::ToolRegisterResult, RpcFault> {
        let registry = self.toolgate.router().registry();
        self.client_tools.register(peer, tools, |name| registry.is_name_available(name))?;
        Ok(p::ToolRegisterResult { tools: self.client_tools.names() })
    }

    pub(super) fn unregister(&self, names: &[String]) -> p::ToolRegisterResult {
        self.client_tools.unregister(names);
        p::ToolRegisterResult { tools: self.client_tools.names() }
    }

    /// Closes the session and ends its processes. The journal stays on disk.
    pub(super) async fn close(&self, why: &str) {
        // Running calls are answered before the end is recorded.
        let ending = async {
            self.calls.stop_all().await;
            if let Some(turn_runner) = &self.turn_runner {
                turn_runner.stop().await;
            }
        };
        let _takes_too_long = tokio::time::timeout(CLOSE_TIMEOUT, ending).await;
        AssembledSession::shut_down(&self.toolgate, self.servers.clone(), self.agents.clone()).await;
        if let Err(fault) = session::close_journal(&self.recorder, why) {
            tracing::warn!(%fault, "the end of a session could not be written down");
        }
        self.quota.apply();
    }
}
