//! HTTP server for many clients: checks each request before reading it, and reads it with limits.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, AUTHORIZATION, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::SharedServerState;
use super::connection_limiter::{ConnectionLimiter, LimitedConnection};
use super::message_check;
use super::request_guard::{AccessRequirement, RequestGuard, RequestRefusal};
use super::request_handler::McpRequestHandler;
use super::tool_host::ToolHost;

/// The path of the server.
pub const PATH: &str = "/mcp";

/// The session id header.
const SESSION_HEADER: &str = "mcp-session-id";
/// Maximum size of a request body.
const MAX_BODY_BYTES: usize = 4 << 20;
/// Maximum size of a request head.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Time limit for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for the body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The endpoint of the server.
pub struct HttpEndpoint {
    /// A bound listener. Its owner decides who can reach it.
    pub listener: std::net::TcpListener,
    /// The access requirement for clients.
    pub access: AccessRequirement,
    /// Host names and addresses of the server beyond this machine, as clients write them.
    pub host_names: Vec<String>,
}

type HttpReply = Response<BoxBody<Bytes, Infallible>>;
type RmcpHttpService = StreamableHttpService<McpRequestHandler, LocalSessionManager>;

/// Serves all admitted clients until `stop`.
pub async fn serve_http(
    host: Arc<dyn ToolHost>,
    endpoint: HttpEndpoint,
    stop: CancellationToken,
) -> io::Result<()> {
    let HttpEndpoint { listener, access, host_names } = endpoint;
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let state = Arc::new(HttpServerState::new(
        host,
        RequestGuard::new(access, listener.local_addr()?, &host_names),
        &stop,
    )?);
    let limiter = ConnectionLimiter::new();
    // Dropping the set ends all connections.
    let mut connections = JoinSet::new();
    // ends: at `stop`
    loop {
        let (stream, from) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            () = stop.cancelled() => return Ok(()),
        };
        let (state, limited) = (Arc::clone(&state), limiter.accept());
        connections.spawn(async move {
            tokio::select! {
                () = state.serve_connection(stream, from, &limited) => {}
                () = limited.evicted.cancelled() => tracing::debug!(%from, "a connection gave way to another"),
            }
        });
    }
}

/// State that all connections share.
struct HttpServerState {
    guard: RequestGuard,
    service: RmcpHttpService,
    sessions: Arc<LocalSessionManager>,
}

impl HttpServerState {
    fn new(host: Arc<dyn ToolHost>, guard: RequestGuard, stop: &CancellationToken) -> io::Result<Self> {
        let shared = SharedServerState::new(host)?;
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(guard.host_names())
            .with_max_request_body_bytes(MAX_BODY_BYTES)
            .with_cancellation_token(stop.child_token());
        let handlers = move || Ok(McpRequestHandler::new(&shared));
        let sessions = Arc::<LocalSessionManager>::default();
        let service = StreamableHttpService::new(handlers, Arc::clone(&sessions), config);
        Ok(Self { guard, service, sessions })
    }

    async fn serve_connection(&self, stream: TcpStream, from: SocketAddr, limited: &LimitedConnection) {
        let answering =
            service_fn(|request| async { Ok::<_, Infallible>(self.answer_request(request, limited).await) });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), answering);
        if let Err(error) = connection.await {
            tracing::debug!(%from, %error, "a connection ended");
        }
    }

    async fn answer_request(&self, request: Request<Incoming>, limited: &LimitedConnection) -> HttpReply {
        let (mut head, body) = request.into_parts();
        if let Err(refusal) = self.guard.admit(&head) {
            tracing::warn!(?refusal, "a request was rejected");
            return refusal_reply(refusal);
        }
        if !limited.take_slot() {
            return too_many_connections();
        }
        // The handlers do not need the header, and removing it keeps the token out of logs.
        head.headers.remove(AUTHORIZATION);
        let ends = head.method == Method::DELETE;
        let body = match head.method {
            Method::POST => match read_body(body).await {
                Ok(body) => body,
                Err(status) => return text_reply(status, "the body of the request is too long or too slow"),
            },
            _ => Bytes::new(),
        };
        if head.method == Method::POST
            && let Err(fault) = message_check::check_body(&body)
        {
            return invalid_message(&fault);
        }
        if ends && !self.knows_session(&head).await {
            return text_reply(StatusCode::NOT_FOUND, "there is no such session");
        }
        let mut answer = self.service.handle(Request::from_parts(head, Full::new(body))).await;
        // A deleted session has ended already, and some clients take "202 Accepted" for a failure.
        if ends && answer.status() == StatusCode::ACCEPTED {
            *answer.status_mut() = StatusCode::NO_CONTENT;
        }
        answer
    }
}

impl HttpServerState {
    /// Returns whether the session named in a request head exists. A head without a session is rejected later.
    async fn knows_session(&self, head: &Parts) -> bool {
        let Some(session) = head.headers.get(SESSION_HEADER) else { return true };
        let Ok(session) = session.to_str() else { return false };
        self.sessions.has_session(&session.into()).await.unwrap_or(true)
    }
}

/// Reads the body of a request, with limits.
async fn read_body(body: Incoming) -> Result<Bytes, StatusCode> {
    let collected = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect()).await;
    match collected {
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
    }
}

/// Returns "429 Too Many Requests".
fn too_many_connections() -> HttpReply {
    let mut answer = text_reply(StatusCode::TOO_MANY_REQUESTS, "there are too many connections; come again");
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

fn invalid_message(fault: &message_check::MessageFault) -> HttpReply {
    let mut answer = Response::new(Full::new(Bytes::from(fault.to_error_response().to_string())).boxed());
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn refusal_reply(refusal: RequestRefusal) -> HttpReply {
    let mut answer = text_reply(refusal.status(), refusal.message());
    let header = match refusal {
        RequestRefusal::Token => Some((WWW_AUTHENTICATE, "Bearer")),
        RequestRefusal::Method => Some((ALLOW, "GET, POST, DELETE")),
        RequestRefusal::Host
        | RequestRefusal::Origin
        | RequestRefusal::Path
        | RequestRefusal::ContentType => None,
    };
    if let Some((name, value)) = header {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Returns a short text. The rest of the request is not read, so the connection is closed.
fn text_reply(status: StatusCode, words: &'static str) -> HttpReply {
    let mut answer = Response::new(Full::new(Bytes::from_static(words.as_bytes())).boxed());
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::super::test_host::EmptyHost;
    use super::*;

    const PING: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;

    /// Starts a server that admits everyone, until the guard is dropped.
    fn served() -> (SocketAddr, tokio_util::sync::DropGuard) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let endpoint = HttpEndpoint { listener, access: AccessRequirement::Anyone, host_names: Vec::new() };
        let serving = serve_http(Arc::new(EmptyHost(0)), endpoint, stop.clone());
        crate::background_task::spawn(async move { serving.await.unwrap() });
        (address, stop.drop_guard())
    }

    /// Sends a request; returns the status and the body of the response.
    async fn send_request(address: SocketAddr, method: &str, session: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{session}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        format!("{} {body}", head.split(' ').nth(1).unwrap())
    }

    #[tokio::test]
    async fn invalid_messages_get_json_rpc_errors() {
        let (address, _serving) = served();
        for (body, code) in [("{", "-32700"), ("[]", "-32600"), (r#"{"jsonrpc": "2.0", "id": []}"#, "-32600")]
        {
            let said = send_request(address, "POST", "", body).await;
            assert!(said.starts_with("400 ") && said.contains(code), "{said}");
        }
        let said = send_request(address, "DELETE", "mcp-session-id: none\r\n", "").await;
        assert_eq!(said, "404 there is no such session");
    }

    #[tokio::test]
    async fn silent_connections_do_not_block_new_ones() {
        let (address, _serving) = served();
        let mut silent = Vec::new();
        for _ in 0..300 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let said = send_request(address, "POST", "", PING).await;
        assert!(!said.starts_with("429"), "{said}");
    }
}
