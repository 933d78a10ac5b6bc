//! What a client can be asked, and asking it the older way: with a request of its own while the call waits.

use std::collections::BTreeMap;

use rmcp::model::{ClientCapabilities, ElicitationCapability, ServerRequest};
use rmcp::service::{Peer, RoleServer, ServiceError};
use serde_json::{Value, json};

use super::convert;
use super::host::{Ask, Request};

/// Whether a client that can do this much can be asked for that.
pub(super) fn can(capabilities: &ClientCapabilities, request: &Request) -> bool {
    match request {
        Request::Form { .. } => takes_forms(capabilities),
        Request::Sample(_) => capabilities.sampling.is_some(),
        Request::Roots => capabilities.roots.is_some(),
    }
}

/// Whether it shows forms; one that only says that it elicits does.
pub(super) fn takes_forms(capabilities: &ClientCapabilities) -> bool {
    let forms = |how: &ElicitationCapability| how.form.is_some() || how.url.is_none();
    capabilities.elicitation.as_ref().is_some_and(forms)
}

/// Asks for one after the other, and hands the answers on; gives up when nobody wants them any more.
pub(super) async fn ask(peer: Peer<RoleServer>, ask: Ask) {
    let Ask { requests, mut answer } = ask;
    let asked = async {
        let mut answers = BTreeMap::new();
        for (name, request) in requests {
            match one(&peer, &request).await {
                Ok(said) => {
                    answers.insert(name, said);
                }
                Err(error) => tracing::warn!(%error, "the client did not answer what it was asked"),
            }
        }
        answers
    };
    let answers = tokio::select! {
        answers = asked => answers,
        () = answer.closed() => return,
    };
    let _nobody_waits = answer.send(answers);
}

/// Asks for one thing, and gives the answer as the protocol writes it.
pub(super) async fn one(peer: &Peer<RoleServer>, request: &Request) -> Result<Value, ServiceError> {
    let wrong = ServiceError::McpError;
    let (method, params) = match request {
        Request::Form { .. } => ("elicitation/create", convert::form(request)),
        Request::Sample(params) => ("sampling/createMessage", params.clone()),
        Request::Roots => ("roots/list", json!({})),
    };
    let request: ServerRequest =
        convert::read(json!({ "method": method, "params": params })).map_err(wrong)?;
    let answer = peer.send_request(request).await?;
    serde_json::to_value(answer).map_err(|error| {
        wrong(rmcp::ErrorData::internal_error(format!("the answer cannot be read: {error}"), None))
    })
}
