//! Many clients over HTTP, each request looked at before it is read, each read within bounds.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, AUTHORIZATION, CONNECTION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::guard::{Entry, Guard, Refusal};
use super::handler::Handler;
use super::host::Host;

/// Where the server is.
pub const PATH: &str = "/mcp";

/// The largest body of a request.
const LARGEST_BODY: usize = 4 << 20;
/// How deep objects and lists may lie in one another.
const DEEPEST: usize = 64;
/// The largest head of a request.
const LARGEST_HEAD: usize = 64 << 10;
/// How long the head of a request may take to come.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long its body may.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Connections at a time; whoever comes when there are more is told to come again.
const CONNECTIONS: usize = 256;

/// Where clients come in.
pub struct Door {
    /// Bound already: whoever binds it decides who can reach it.
    pub listener: std::net::TcpListener,
    /// What they must bring.
    pub entry: Entry,
    /// Names and addresses by which it is known beyond this machine, as clients write them.
    pub names: Vec<String>,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Handler, LocalSessionManager>;

/// Serves everybody who is let in, until `stop`.
pub async fn serve_http(host: Arc<dyn Host>, door: Door, stop: CancellationToken) -> io::Result<()> {
    let Door { listener, entry, names } = door;
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let inside = Arc::new(Inside::new(host, Guard::new(entry, listener.local_addr()?, &names), &stop)?);
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    // Dropped with all that is in it.
    let mut connections = JoinSet::new();
    // ends: when it is told to stop
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
        match Arc::clone(&room).try_acquire_owned() {
            Ok(place) => {
                let inside = Arc::clone(&inside);
                connections.spawn(async move {
                    let _held_until_it_ends = place;
                    inside.attend(stream, from).await;
                });
            }
            Err(_) => full(stream).await,
        }
    }
}

/// Says that there is no room, if that can be said at once.
async fn full(mut stream: TcpStream) {
    const TOLD: &[u8] =
        b"HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";
    let _gone = tokio::time::timeout(Duration::from_millis(100), stream.write_all(TOLD)).await;
}

/// What is behind the door.
struct Inside {
    guard: Guard,
    service: Service,
}

impl Inside {
    fn new(host: Arc<dyn Host>, guard: Guard, stop: &CancellationToken) -> io::Result<Self> {
        let shared = Shared::new(host)?;
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(guard.hosts())
            .with_max_request_body_bytes(LARGEST_BODY)
            .with_cancellation_token(stop.child_token());
        let handlers = move || Ok(Handler::new(&shared));
        Ok(Self { guard, service: StreamableHttpService::new(handlers, Arc::default(), config) })
    }

    async fn attend(&self, stream: TcpStream, from: SocketAddr) {
        let answering = service_fn(|request| async { Ok::<_, Infallible>(self.answer(request).await) });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(LARGEST_HEAD)
            .serve_connection(TokioIo::new(stream), answering);
        if let Err(error) = connection.await {
            tracing::debug!(%from, %error, "a connection ended");
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (mut head, body) = request.into_parts();
        if let Err(refusal) = self.guard.admit(&head) {
            tracing::warn!(?refusal, "somebody was not let in");
            return refused(refusal);
        }
        // Nobody behind the door needs it, and what is not there is not logged.
        head.headers.remove(AUTHORIZATION);
        let ends = head.method == Method::DELETE;
        let body = match head.method {
            Method::POST => match read(body).await {
                Ok(body) => body,
                Err(status) => {
                    return short(status, "the body of the request is too long, too slow or too deep");
                }
            },
            _ => Bytes::new(),
        };
        let mut answer = self.service.handle(Request::from_parts(head, Full::new(body))).await;
        // A session that is ended is ended now; clients take "accepted" for a failure.
        if ends && answer.status() == StatusCode::ACCEPTED {
            *answer.status_mut() = StatusCode::NO_CONTENT;
        }
        answer
    }
}

/// The body of a request, within bounds.
async fn read(body: Incoming) -> Result<Bytes, StatusCode> {
    let collected = tokio::time::timeout(BODY_TIME, Limited::new(body, LARGEST_BODY).collect()).await;
    let bytes = match collected {
        Err(_) => return Err(StatusCode::REQUEST_TIMEOUT),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(StatusCode::PAYLOAD_TOO_LARGE),
        Ok(Err(_)) => return Err(StatusCode::BAD_REQUEST),
        Ok(Ok(collected)) => collected.to_bytes(),
    };
    if depth(&bytes) > DEEPEST { Err(StatusCode::BAD_REQUEST) } else { Ok(bytes) }
}

/// How deep objects and lists lie in one another.
fn depth(json: &[u8]) -> usize {
    let (mut deep, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for &byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => deep += 1,
            b'}' | b']' if !quoted => deep = deep.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(deep);
    }
    deepest
}

fn refused(refusal: Refusal) -> Answer {
    let mut answer = short(refusal.status(), refusal.sentence());
    let header = match refusal {
        Refusal::Token => Some((WWW_AUTHENTICATE, "Bearer")),
        Refusal::Method => Some((ALLOW, "GET, POST, DELETE")),
        Refusal::Host | Refusal::Origin | Refusal::Path | Refusal::Kind => None,
    };
    if let Some((name, value)) = header {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// A few words. The rest of the request is not read, so the connection ends.
fn short(status: StatusCode, words: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(words.as_bytes())).boxed());
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_texts() {
        for (json, expected) in [
            ("", 0),
            ("1", 0),
            ("{}", 1),
            (r#"{"a": [1, {"b": []}]}"#, 4),
            (r#"{"a": "[[[[", "b": "\"[[[["}"#, 1),
            ("]]]][", 1),
        ] {
            assert_eq!(depth(json.as_bytes()), expected, "{json}");
        }
    }
}
