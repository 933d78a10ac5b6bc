//! An HTTP model server for tests that plays a script, in the dialect that the path names.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{Stream, StreamExt, iter};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use wire::Dialect;

use crate::ScriptedBackend;
use crate::scripted_backend::{ScriptedResponse, sleep_unless_zero};

/// Maximum size of a request.
const MAX_REQUEST_BYTES: usize = 64 << 20;

/// Pause before a stream breaks, so that earlier data arrives.
const BREAK_DELAY: Duration = Duration::from_millis(50);

type ResponseFrames = Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send + Sync>>;
type ScriptServerResponse = Response<BoxBody<Bytes, io::Error>>;

/// Serves a script on loopback.
pub struct ScriptedModelServer {
    listener: TcpListener,
    script: Arc<ScriptedBackend>,
}

impl ScriptedModelServer {
    /// Listens on a loopback port; port 0 takes any free one.
    pub async fn bind(port: u16, script: ScriptedBackend) -> io::Result<Self> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)).await?;
        Ok(Self { listener, script: Arc::new(script) })
    }

    /// Returns the address of the server.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is dropped. Calls `on_request` with the path and the body of every request.
    pub async fn serve(
        self,
        on_request: impl Fn(&str, &str) + Clone + Send + Sync + 'static,
    ) -> io::Result<()> {
        let mut connections = JoinSet::new();
        // ends: with the program
        loop {
            let stream = tokio::select! {
                accepted = self.listener.accept() => accepted?.0,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            };
            let (script, on_request) = (Arc::clone(&self.script), on_request.clone());
            connections.spawn(serve_connection(stream, script, on_request));
        }
    }
}

async fn serve_connection(
    stream: TcpStream,
    script: Arc<ScriptedBackend>,
    on_request: impl Fn(&str, &str) + Send + Sync,
) {
    let _late = stream.set_nodelay(true);
    let service =
        service_fn(|request| async { Ok::<_, Infallible>(respond(request, &script, &on_request).await) });
    if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ended");
    }
}

async fn respond(
    request: Request<Incoming>,
    script: &ScriptedBackend,
    on_request: &impl Fn(&str, &str),
) -> ScriptServerResponse {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let body = match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
        Ok(body) => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        Err(_) => return json_response(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long"),
    };
    on_request(&path, &body);
    let Some(dialect) = Dialect::ALL.into_iter().find(|dialect| path.ends_with(dialect.endpoint_path()))
    else {
        let models = head.method == Method::GET && path.ends_with("/models");
        return match models {
            true => json_response(StatusCode::OK, r#"{"object":"list","data":[]}"#),
            false => {
                json_response(StatusCode::NOT_FOUND, "there are responses, chat/completions and messages")
            }
        };
    };
    match script.respond_to(dialect, &body) {
        ScriptedResponse::Refused { status, retry_after, body } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut answer = json_response(status, &body);
            if let Some(after) = retry_after.and_then(|after| after.parse().ok()) {
                answer.headers_mut().insert(http::header::RETRY_AFTER, after);
            }
            answer
        }
        ScriptedResponse::Streamed { delay, pace, events, breaks, whole } => {
            sleep_unless_zero(delay).await;
            match whole.filter(|_| !breaks) {
                Some(whole) => json_response(StatusCode::OK, &whole.to_string()),
                None => event_stream_response(dialect, pace, &events, breaks),
            }
        }
    }
}

fn json_response(status: StatusCode, text: &str) -> ScriptServerResponse {
    let body = Full::new(Bytes::from(text.to_owned())).map_err(|never| match never {}).boxed();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    answer
}

/// Returns the events as an SSE stream. If `breaks` is set, the connection breaks after them.
fn event_stream_response(
    dialect: Dialect,
    pace: Duration,
    events: &[Value],
    breaks: bool,
) -> ScriptServerResponse {
    let name = |event: &Value| match (dialect, event["type"].as_str()) {
        (Dialect::Chat, _) | (_, None) => String::new(),
        (Dialect::Responses | Dialect::Anthropic, Some(kind)) => format!("event: {kind}\n"),
    };
    let mut texts: Vec<String> =
        events.iter().map(|event| format!("{}data: {event}\n\n", name(event))).collect();
    if dialect == Dialect::Chat && !breaks {
        texts.push("data: [DONE]\n\n".to_owned());
    }
    if pace.is_zero() {
        texts = vec![texts.concat()];
    }
    let end = breaks.then(|| Err(io::Error::other("the script says so")));
    let frames = iter(texts.into_iter().map(|text| Ok(Frame::data(Bytes::from(text)))).chain(end));
    let frames = frames.then(move |frame: io::Result<Frame<Bytes>>| async move {
        // Earlier data must be sent before the connection breaks.
        sleep_unless_zero(if frame.is_err() { BREAK_DELAY } else { pace }).await;
        frame
    });
    let frames: ResponseFrames = Box::pin(frames);
    let mut answer = Response::new(BodyExt::boxed(StreamBody::new(frames)));
    let kind = http::HeaderValue::from_static("text/event-stream");
    answer.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    answer
}
