//! Requests of the server to its client: capability checks, and requests of the older era while the call waits.

use std::collections::BTreeMap;

use rmcp::model::{ClientCapabilities, ClientResult, ElicitationCapability, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleServer, ServiceError};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::to_rmcp;
use super::tool_host::{ClientInput, ClientInputBatch};

/// Returns whether a client with these capabilities supports the request.
pub(super) fn can_ask(capabilities: &ClientCapabilities, request: &ClientInput) -> bool {
    match request {
        ClientInput::Form { .. } => supports_forms(capabilities),
        ClientInput::Sample(_) => capabilities.sampling.is_some(),
        ClientInput::Roots => capabilities.roots.is_some(),
    }
}

/// Returns whether the client supports forms. A client that declares elicitation without details does.
pub(super) fn supports_forms(capabilities: &ClientCapabilities) -> bool {
    let forms = |how: &ElicitationCapability| how.form.is_some() || how.url.is_none();
    capabilities.elicitation.as_ref().is_some_and(forms)
}

/// Sends the requests one after another and returns the answers. If the call no longer needs them, cancels the
/// request at the client.
pub(super) async fn ask_all(peer: Peer<RoleServer>, ask: ClientInputBatch) {
    let ClientInputBatch { requests, mut answer } = ask;
    let mut answers = BTreeMap::new();
    for (name, request) in requests {
        let asked = match send_request(&peer, &request).await {
            Ok(mut asked) => tokio::select! {
                said = &mut asked.rx => read_reply(said),
                () = answer.closed() => {
                    let _gone = asked.cancel(Some("it need not be answered any more".to_owned())).await;
                    return;
                }
            },
            Err(error) => Err(error),
        };
        match asked {
            Ok(said) => {
                answers.insert(name, said);
            }
            Err(error) => tracing::warn!(%error, "the client did not answer what it was asked"),
        }
    }
    let _nobody_waits = answer.send(answers);
}

/// Sends one request and returns the answer as protocol JSON.
pub(super) async fn ask_one(peer: &Peer<RoleServer>, request: &ClientInput) -> Result<Value, ServiceError> {
    read_reply(send_request(peer, request).await?.rx.await)
}

async fn send_request(
    peer: &Peer<RoleServer>,
    request: &ClientInput,
) -> Result<RequestHandle<RoleServer>, ServiceError> {
    let (method, params) = match request {
        ClientInput::Form { .. } => ("elicitation/create", to_rmcp::form_params(request)),
        ClientInput::Sample(params) => ("sampling/createMessage", params.clone()),
        ClientInput::Roots => ("roots/list", json!({})),
    };
    let request: ServerRequest = to_rmcp::parse_host_json(json!({ "method": method, "params": params }))
        .map_err(ServiceError::McpError)?;
    peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await
}

type ClientReply = Result<Result<ClientResult, ServiceError>, oneshot::error::RecvError>;

fn read_reply(reply: ClientReply) -> Result<Value, ServiceError> {
    let reply = reply.map_err(|_| ServiceError::TransportClosed)??;
    serde_json::to_value(reply).map_err(|error| {
        let why = format!("the answer cannot be read: {error}");
        ServiceError::McpError(rmcp::ErrorData::internal_error(why, None))
    })
}
