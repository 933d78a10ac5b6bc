//! Posts one message to an HTTP server and reads its answer, with size limits.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode};
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
    StreamableHttpPostResponse as Answer,
};

use super::http_client::{McpHttpError, RequestHeaders};
use super::sse_events;
use crate::json_limits::{self, JsonExcess, MAX_MESSAGE_BYTES, UNREAD_MESSAGE_CODE};

/// The content types of answers.
const JSON_TYPE: &str = "application/json";
const EVENT_STREAM_TYPE: &str = "text/event-stream";
/// The session id header.
const SESSION_HEADER: &str = "mcp-session-id";
/// Reserved headers: configuring one is an error.
const RESERVED_HEADERS: &[&str] = &["accept", "last-event-id", SESSION_HEADER];
/// Maximum bytes read of an error response, and maximum characters of it that are shown.
const MAX_ERROR_BYTES: usize = 64 << 10;
const MAX_SHOWN_CHARS: usize = 500;

/// A message to send.
pub(super) struct HttpPost {
    pub(super) uri: Arc<str>,
    pub(super) message: ClientJsonRpcMessage,
    pub(super) session: Option<Arc<str>>,
    pub(super) headers: RequestHeaders,
}

impl HttpPost {
    /// Sends the message and reads the answer.
    pub(super) async fn send(
        &self,
        http: &reqwest::Client,
        token: Option<String>,
    ) -> Result<Answer, McpHttpError> {
        let mut request =
            http.post(self.uri.as_ref()).header(ACCEPT, format!("{EVENT_STREAM_TYPE}, {JSON_TYPE}"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in &self.headers {
            if RESERVED_HEADERS.contains(&name.as_str()) {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION_HEADER, session.as_ref());
        }
        let body = serde_json::to_vec(&self.message)?;
        let answer = request.header(CONTENT_TYPE, JSON_TYPE).body(body).send().await?;
        check_authorization(&answer)?;
        match answer.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(Answer::Accepted),
            StatusCode::NOT_FOUND if self.session.is_some() => Err(StreamableHttpError::SessionExpired),
            status if status.is_success() => self.read_answer(answer).await,
            _ => self.handle_error_status(answer).await,
        }
    }

    /// Returns the id of the request; `None` for messages that expect no answer.
    fn request_id(&self) -> Option<&RequestId> {
        match &self.message {
            ClientJsonRpcMessage::Request(request) => Some(&request.id),
            ClientJsonRpcMessage::Notification(_)
            | ClientJsonRpcMessage::Response(_)
            | ClientJsonRpcMessage::Error(_) => None,
        }
    }

    async fn read_answer(&self, answer: Response) -> Result<Answer, McpHttpError> {
        // Some servers answer like this instead of with "202 Accepted".
        if self.request_id().is_none() && answer.content_length() == Some(0) {
            return Ok(Answer::Accepted);
        }
        let session = header_value(&answer, SESSION_HEADER);
        let kind = header_value(&answer, CONTENT_TYPE.as_str());
        let is = |expected: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(expected));
        if is(EVENT_STREAM_TYPE) {
            return Ok(Answer::Sse(sse_events::answer_events(answer, self.request_id().cloned()), session));
        }
        if !is(JSON_TYPE) {
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let body = match read_body(answer, MAX_MESSAGE_BYTES).await? {
            Ok(body) => body,
            Err(excess) => {
                let unread = self
                    .request_id()
                    .map(|id| Answer::Json(unread_answer_error(id.clone(), excess), session));
                return Ok(unread.unwrap_or(Answer::Accepted));
            }
        };
        match (serde_json::from_slice(&body), self.request_id()) {
            (Ok(message), _) => Ok(Answer::Json(message, session)),
            (Err(_), None) => Ok(Answer::Accepted),
            (Err(error), Some(_)) => Err(StreamableHttpError::UnexpectedServerResponse(
                format!("it cannot be read: {error}").into(),
            )),
        }
    }

    /// Handles an error status, whose body may hold a JSON-RPC error.
    async fn handle_error_status(&self, answer: Response) -> Result<Answer, McpHttpError> {
        let (status, session) = (answer.status(), header_value(&answer, SESSION_HEADER));
        let is_json =
            header_value(&answer, CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with(JSON_TYPE));
        let overloaded = status == StatusCode::TOO_MANY_REQUESTS;
        let busy = (overloaded || status.is_server_error())
            .then(|| HttpStatusError::new(status.as_u16(), header_value(&answer, RETRY_AFTER.as_str())));
        let busy = match busy {
            Some(busy) if overloaded || !is_json => return Err(busy.into()),
            busy => busy,
        };
        let body = read_body(answer, MAX_ERROR_BYTES).await?.unwrap_or_default();
        let error = match serde_json::from_slice(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        let short: String = String::from_utf8_lossy(&body).chars().take(MAX_SHOWN_CHARS).collect();
        let unknown = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if let Some(id) = self.probe_id().filter(|_| status.is_client_error() && !unknown) {
            let said = || ErrorData::invalid_request(format!("HTTP {status}: {short}"), None);
            let error = error.map_or_else(said, |error| error.error);
            return Ok(Answer::Json(ServerJsonRpcMessage::error(error, Some(id.clone())), None));
        }
        match (error, busy) {
            (Some(error), _) if is_json && !unknown => {
                Ok(Answer::Json(ServerJsonRpcMessage::Error(error), session))
            }
            (_, Some(busy)) => Err(busy.into()),
            _ => Err(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}: {short}").into())),
        }
    }

    /// Returns the request id if this is the discovery probe. Servers of the older era reject the probe in many ways.
    fn probe_id(&self) -> Option<&RequestId> {
        match &self.message {
            ClientJsonRpcMessage::Request(request)
                if self.session.is_none() && matches!(request.request, ClientRequest::DiscoverRequest(_)) =>
            {
                Some(&request.id)
            }
            _ => None,
        }
    }
}

/// Returns the error response that replaces an oversized answer.
pub(super) fn unread_answer_error(id: RequestId, excess: JsonExcess) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(
        ErrorData::new(ErrorCode(UNREAD_MESSAGE_CODE), excess.to_string(), None),
        Some(id),
    )
}

async fn read_body(mut answer: Response, most: usize) -> Result<Result<Vec<u8>, JsonExcess>, reqwest::Error> {
    let mut body = Vec::new();
    // ends: with the body, or when it is too long
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > most {
            return Ok(Err(JsonExcess::Long));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(json_limits::check_message(&body).map(|()| body))
}

fn header_value(answer: &Response, name: &str) -> Option<String> {
    answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Returns an error if the server demands authorization or more scopes.
fn check_authorization(answer: &Response) -> Result<(), McpHttpError> {
    let Some(challenge) = header_value(answer, WWW_AUTHENTICATE.as_str()) else { return Ok(()) };
    match answer.status() {
        StatusCode::UNAUTHORIZED => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))),
        StatusCode::FORBIDDEN => {
            let scope = challenge_scope(&challenge);
            Err(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, scope)))
        }
        _ => Ok(()),
    }
}

/// Returns the scopes that a challenge names.
fn challenge_scope(challenge: &str) -> Option<String> {
    let at = challenge.to_ascii_lowercase().find("scope=")?;
    let rest = challenge.get(at + "scope=".len()..)?;
    let scope = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?.0,
        None => rest.split([',', ';', ' ', '\t']).next()?,
    };
    (!scope.is_empty()).then(|| scope.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_names_rights_in_quotes_or_without() {
        for (challenge, expected) in [
            (r#"Bearer error="x", scope="a:read b""#, Some("a:read b")),
            ("Bearer Scope=a, error=x", Some("a")),
            ("Bearer error=x", None),
            ("Bearer scope=", None),
            (r#"Bearer scope="a"#, None),
        ] {
            assert_eq!(challenge_scope(challenge).as_deref(), expected, "{challenge}");
        }
    }
}
