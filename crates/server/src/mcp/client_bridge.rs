//! Bridges one running call and its MCP client: progress and questions out, answers in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::mcp::serve::{
    BearerToken, CallStep, CallUpdate, CallingClient, ClientInput, ClientInputBatch, HostReply, RunningCall,
};
use parking_lot::Mutex;
use runtime::{BoxFuture, ToolCallRuntime, Toolgate};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::running_calls::RegisteredCall;
use super::session_record::JournaledCall;
use super::tool_catalogue;

/// Minimum time between two progress notifications.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum bytes of a progress notification: the tail of the text since the last one.
const MAX_PROGRESS_BYTES: usize = 2000;

/// The bridge between a call and its client.
pub(super) struct ClientBridge {
    client: CallingClient,
    input_sender: mpsc::UnboundedSender<ClientInputBatch>,
    progress: Mutex<String>,
    progress_added: Notify,
}

impl ClientBridge {
    pub(super) fn connect(client: CallingClient) -> (Arc<Self>, mpsc::UnboundedReceiver<ClientInputBatch>) {
        // Unbounded is safe: the engine asks one question at a time.
        let (input_sender, input_requests) = mpsc::unbounded_channel();
        (
            Arc::new(Self {
                client,
                input_sender,
                progress: Mutex::default(),
                progress_added: Notify::new(),
            }),
            input_requests,
        )
    }

    /// Returns the name of the client, as it reports it.
    pub(super) fn client_name(&self) -> Option<&str> {
        self.client.name.as_deref()
    }

    /// Returns true if the client supports elicitation forms.
    pub(super) fn supports_forms(&self) -> bool {
        self.client.supports_forms
    }

    /// Returns the client at which a form stays open after another answer: its name.
    pub(super) fn form_keeper(&self) -> Option<String> {
        let CallingClient { name, supports_forms, keeps_forms, wants_progress: _ } = &self.client;
        (*supports_forms && *keeps_forms).then(|| name.clone().unwrap_or_else(|| "the client".to_owned()))
    }

    /// Buffers progress text, if the client wants progress.
    pub(super) fn push_progress(&self, text: &str) {
        if !self.client.wants_progress {
            return;
        }
        let mut progress = self.progress.lock();
        progress.push_str(text);
        let over = progress.len().saturating_sub(MAX_PROGRESS_BYTES);
        let cut = progress.ceil_char_boundary(over);
        progress.drain(..cut);
        drop(progress);
        self.progress_added.notify_one();
    }

    /// Waits for buffered text and takes it.
    async fn take_progress(&self) -> String {
        // ends: when there is text
        loop {
            let progress = std::mem::take(&mut *self.progress.lock());
            if !progress.is_empty() {
                return progress;
            }
            self.progress_added.notified().await;
        }
    }

    /// Asks the client. Returns `None` if it does not answer.
    pub(super) async fn ask(&self, form: ClientInput) -> Option<Value> {
        let (answer, answered) = oneshot::channel();
        // An unguessable name: the client cannot answer before it was asked.
        let name = format!("approval-{}", BearerToken::generate().ok()?);
        let requests = BTreeMap::from([(name.clone(), form)]);
        self.input_sender.send(ClientInputBatch { requests, answer }).ok()?;
        answered.await.ok()?.remove(&name)
    }
}

/// A call that was not made, with the reason.
pub(super) struct RefusedCall(pub(super) String);

impl RunningCall for RefusedCall {
    fn next(&mut self) -> BoxFuture<'_, CallStep> {
        let output = runtime::ToolOutput::failure(std::mem::take(&mut self.0));
        Box::pin(std::future::ready(CallStep::Done(HostReply::from(output))))
    }
}

/// A running call, whose answer comes from the engine.
pub(super) struct BridgedCall {
    pub(super) tool: String,
    pub(super) record: JournaledCall,
    pub(super) runtime: ToolCallRuntime,
    pub(super) bridge: Arc<ClientBridge>,
    pub(super) input_requests: mpsc::UnboundedReceiver<ClientInputBatch>,
    pub(super) progress_count: u32,
    /// The time of the next progress notification.
    pub(super) next_progress: Instant,
    /// Keeps the call registered.
    pub(super) _registration: RegisteredCall,
    /// Keeps the sessions of the call alive: they end with the last handle.
    pub(super) _toolgate: Toolgate,
}

impl RunningCall for BridgedCall {
    fn next(&mut self) -> BoxFuture<'_, CallStep> {
        Box::pin(async {
            let progress = async {
                tokio::time::sleep_until(self.next_progress).await;
                self.bridge.take_progress().await
            };
            tokio::select! {
                biased;
                Some(ask) = self.input_requests.recv() => CallStep::RequestInput(ask),
                text = progress => {
                    self.progress_count += 1;
                    self.next_progress = Instant::now() + PROGRESS_INTERVAL;
                    CallStep::Update(CallUpdate::Progress { done: self.progress_count.into(), total: None, text: Some(text) })
                }
                answer = self.runtime.next_answer() => {
                    let output = answer.map_or_else(
                        || runtime::ToolOutput::failure("the call was answered before"),
                        |answer| answer.output,
                    );
                    self.record.answer(&output);
                    CallStep::Done(tool_catalogue::reply_for_client(&self.tool, output))
                }
            }
        })
    }
}
