//! Answers the requests of a server (elicitation, roots) and receives its notifications (progress, tool changes).
#![expect(deprecated, reason = "servers of the older era still ask for roots")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, FormElicitationCapability, Implementation, InputRequest, ListRootsResult,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, Root, RootsCapabilities,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use super::ClientProfile;
use crate::elicitation::{Elicitation, ElicitationAnswer, ElicitationKind, find_secret_field};
use crate::peer::{CallProgress, PeerError};
use crate::url_policy::parse_page_url;

/// Maximum number of queued progress steps of one call; further ones are dropped.
const MAX_QUEUED_STEPS: usize = 64;
/// Maximum number of questions of one call; further ones are declined.
const MAX_QUESTIONS_PER_CALL: usize = 10;

type ProgressSenders = Mutex<HashMap<ProgressToken, mpsc::Sender<CallProgress>>>;

/// Handles the messages of a server.
pub(crate) struct ServerMessageHandler {
    client: ClientProfile,
    progress_senders: Arc<ProgressSenders>,
    tools_changed: Arc<Notify>,
    /// The number of running calls, and of questions since the last time there were none.
    running_calls: AtomicUsize,
    question_count: AtomicUsize,
}

/// A running call.
pub(crate) struct ActiveCall<'a>(&'a ServerMessageHandler);

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        self.0.running_calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Receives the progress of one call.
pub(crate) struct ProgressReceiver {
    token: ProgressToken,
    steps: mpsc::Receiver<CallProgress>,
    progress_senders: Arc<ProgressSenders>,
}

impl ProgressReceiver {
    pub(crate) async fn recv(&mut self) -> Option<CallProgress> {
        self.steps.recv().await
    }
}

impl Drop for ProgressReceiver {
    fn drop(&mut self) {
        self.progress_senders.lock().remove(&self.token);
    }
}

impl ServerMessageHandler {
    pub(crate) fn new(client: ClientProfile) -> Self {
        let (running_calls, question_count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self {
            client,
            progress_senders: Arc::default(),
            tools_changed: Arc::default(),
            running_calls,
            question_count,
        }
    }

    /// Begins a call, which resets the number of questions if it is the only one.
    pub(crate) fn begin_call(&self) -> ActiveCall<'_> {
        if self.running_calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.question_count.store(0, Ordering::Relaxed);
        }
        ActiveCall(self)
    }

    /// Counts a question and returns whether there are too many for the running calls. The protocol does not say
    /// which call a question belongs to.
    fn exceeds_question_limit(&self) -> bool {
        let calls = self.running_calls.load(Ordering::Relaxed).max(1);
        self.question_count.fetch_add(1, Ordering::Relaxed) >= MAX_QUESTIONS_PER_CALL.saturating_mul(calls)
    }

    pub(crate) fn tools_changed(&self) -> Arc<Notify> {
        Arc::clone(&self.tools_changed)
    }

    /// Returns the progress of the call with this token.
    pub(crate) fn follow_progress(&self, token: ProgressToken) -> ProgressReceiver {
        let (sender, steps) = mpsc::channel(MAX_QUEUED_STEPS);
        self.progress_senders.lock().insert(token.clone(), sender);
        ProgressReceiver { token, steps, progress_senders: Arc::clone(&self.progress_senders) }
    }

    /// Answers an input request of the newer era, which a server needs before its answer.
    pub(crate) async fn answer_input_request(&self, request: InputRequest) -> Result<Value, PeerError> {
        let answer = match request {
            InputRequest::Elicitation(request) => {
                serde_json::to_value(self.answer_elicitation(request.params).await)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(self.roots()),
            _ => {
                return Err(PeerError::ProtocolViolation(
                    "it requests a capability that this client does not offer".to_owned(),
                ));
            }
        };
        answer.map_err(|error| PeerError::ProtocolViolation(error.to_string()))
    }

    fn roots(&self) -> ListRootsResult {
        ListRootsResult::new(self.client.roots.iter().map(Root::new).collect())
    }

    async fn answer_elicitation(&self, params: ElicitRequestParams) -> ElicitResult {
        let (message, kind) = match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                (message, serde_json::to_value(requested_schema).map(ElicitationKind::Form))
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => match parse_page_url(&url) {
                Ok(url) => (message, Ok(ElicitationKind::Visit(url.into()))),
                Err(_) => return ElicitResult::new(ElicitationAction::Decline),
            },
            _ => return ElicitResult::new(ElicitationAction::Decline),
        };
        let (Ok(kind), Some(elicitor)) = (kind, &self.client.elicitor) else {
            return ElicitResult::new(ElicitationAction::Decline);
        };
        if let ElicitationKind::Form(schema) = &kind
            && let Some(name) = find_secret_field(&message, schema)
        {
            tracing::warn!(server = ?self.client.server, field = ?name, "a server asks for a secret; it was declined");
            return ElicitResult::new(ElicitationAction::Decline);
        }
        if self.exceeds_question_limit() {
            return ElicitResult::new(ElicitationAction::Decline);
        }
        let elicitation = Elicitation { server: self.client.server.clone(), message, kind };
        match elicitor.elicit(&elicitation).await {
            ElicitationAnswer::Accepted(Some(content)) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            ElicitationAnswer::Accepted(None) => ElicitResult::new(ElicitationAction::Accept),
            ElicitationAnswer::Declined => ElicitResult::new(ElicitationAction::Decline),
            ElicitationAnswer::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        }
    }
}

impl ClientHandler for ServerMessageHandler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.answer_elicitation(request).await)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let step = CallProgress { done: params.progress, total: params.total, message: params.message };
        let senders = self.progress_senders.lock();
        if let Some(sender) = senders.get(&params.progress_token) {
            // If the queue is full, the step is dropped.
            let _full = sender.try_send(step);
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if !self.client.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        if self.client.elicitor.is_some() {
            let elicitation = ElicitationCapability::new()
                .with_form(FormElicitationCapability::default())
                .with_url(UrlElicitationCapability::default());
            capabilities.elicitation = Some(elicitation);
        }
        ClientConfig::new(capabilities, Implementation::new("toolgate", env!("CARGO_PKG_VERSION")))
            // The version for the handshake of the older era; the newer era sends it with every request.
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}
