//! Drives one call of a client: forwards its updates, requests its input, and returns its answer.
#![expect(deprecated, reason = "only the older era has logs, and it is served too")]

use std::collections::BTreeMap;
use std::future::pending;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, ClientCapabilities, InputRequiredResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tool::BoxFuture;

use super::parked_calls::{CallDigest, ParkedCall};
use super::tool_host::{CallStep, CallUpdate, ClientInputBatch, RunningCall};
use super::{SharedServerState, client_requests, to_rmcp};

/// Time limit for cancelling a request at the client.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// The protocol era, which determines how a client is asked for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtocolEra {
    /// With a request of the server, while the call waits.
    Sessions,
    /// With the result of the call; the client then repeats the call with its input.
    Stateless,
}

impl ProtocolEra {
    pub(super) fn from_context(context: &RequestContext<RoleServer>) -> Self {
        let stateless = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if stateless { Self::Stateless } else { Self::Sessions }
    }
}

/// A call and the request that it answers.
pub(super) struct CallDriver<'a> {
    pub(super) server: &'a SharedServerState,
    pub(super) context: &'a RequestContext<RoleServer>,
    pub(super) digest: CallDigest,
    /// Input that came with the request.
    pub(super) inputs: BTreeMap<String, Value>,
}

impl CallDriver<'_> {
    /// Drives a call until it is answered, or parks it until the client returns with its input.
    pub(super) async fn run(mut self, parked: ParkedCall) -> Result<CallToolResponse, ErrorData> {
        let ParkedCall { mut running, input_batch: ask } = parked;
        let era = ProtocolEra::from_context(self.context);
        let mut open_request: Option<BoxFuture<'_, ()>> = None;
        let mut step = ask.map(CallStep::RequestInput);
        // ends: with the call, which is dropped when the request is cancelled
        loop {
            let next = match step.take() {
                Some(step) => step,
                None => tokio::select! {
                    next = running.next() => next,
                    () = await_answer(&mut open_request) => {
                        open_request = None;
                        continue;
                    }
                    () = self.context.ct.cancelled() => {
                        drop(running);
                        await_withdrawal(open_request).await;
                        return Err(ErrorData::internal_error("the call was cancelled", None));
                    }
                },
            };
            match next {
                CallStep::Update(tell) => self.send_update(tell).await,
                CallStep::MissingCapability(request) => return Err(to_rmcp::missing_capability(&request)),
                CallStep::Done(reply) => {
                    await_withdrawal(open_request).await;
                    return Ok(to_rmcp::to_call_result(reply).into());
                }
                CallStep::RequestInput(ask) => match (self.resolve_locally(ask)?, era) {
                    (None, _) => {}
                    (Some(ask), ProtocolEra::Stateless) => return self.park(running, ask),
                    (Some(ask), ProtocolEra::Sessions) => {
                        open_request =
                            Some(Box::pin(client_requests::ask_all(self.context.peer.clone(), ask)));
                    }
                },
            }
        }
    }

    /// Resolves requests that need no client: those no longer needed, unsupported by the client, or answered with the
    /// request.
    fn resolve_locally(
        &mut self,
        mut batch: ClientInputBatch,
    ) -> Result<Option<ClientInputBatch>, ErrorData> {
        if batch.answer.is_closed() {
            return Ok(None);
        }
        let capabilities: ClientCapabilities = self.context.client_capabilities().unwrap_or_default();
        batch.requests.retain(|_, request| client_requests::can_ask(&capabilities, request));
        if !batch.requests.keys().all(|name| self.inputs.contains_key(name)) {
            return Ok(Some(batch));
        }
        let inputs = std::mem::take(&mut self.inputs);
        let answers: BTreeMap<String, Value> =
            inputs.into_iter().filter(|(name, _)| batch.requests.contains_key(name)).collect();
        if let Some((name, _)) = answers.iter().find(|(_, answer)| !answer.is_object()) {
            let why = format!("the input response `{name}` is not an object");
            return Err(ErrorData::invalid_params(why, None));
        }
        let _nobody_waits = batch.answer.send(answers);
        Ok(None)
    }

    /// Parks the call until its client returns.
    fn park(
        &self,
        running: Box<dyn RunningCall>,
        batch: ClientInputBatch,
    ) -> Result<CallToolResponse, ErrorData> {
        let inputs = to_rmcp::input_requests(&batch.requests)?;
        let parked = ParkedCall { running, input_batch: Some(batch) };
        let request_state = self.server.parked.park(&self.digest, parked);
        let request_state =
            request_state.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(InputRequiredResult::new(Some(inputs), Some(request_state)).into())
    }

    async fn send_update(&self, tell: CallUpdate) {
        let peer = &self.context.peer;
        let sent = match tell {
            CallUpdate::Progress { done, total, text } => {
                let Some(token) = self.context.meta.get_progress_token() else { return };
                let mut progress = ProgressNotificationParam::new(token, done);
                (progress.total, progress.message) = (total, text);
                peer.notify_progress(progress).await
            }
            // Clients of the stateless era would have to request logs.
            CallUpdate::Log { .. } if ProtocolEra::from_context(self.context) == ProtocolEra::Stateless => {
                return;
            }
            CallUpdate::Log { level, data } => {
                let Ok(level) = serde_json::from_value(Value::String(level)) else { return };
                peer.notify_logging_message(LoggingMessageNotificationParam::new(level, data)).await
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "the client was not told");
        }
    }
}

/// Lets the client receive the cancellation of a request whose call is over.
async fn await_withdrawal(open_request: Option<BoxFuture<'_, ()>>) {
    if let Some(asking) = open_request {
        let _too_late = tokio::time::timeout(CANCEL_TIMEOUT, asking).await;
    }
}

/// Resolves when the client has answered; never if no request is open.
async fn await_answer(open_request: &mut Option<BoxFuture<'_, ()>>) {
    match open_request {
        Some(asking) => asking.await,
        None => pending().await,
    }
}
