//! Connection to a server through `rmcp`, in either protocol era. No type of `rmcp` leaves this module.

mod from_rmcp;
mod handshake;
mod notifications;
mod stdio_transport;

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientRequest,
    InputRequiredResult, InputResponses, ListToolsRequest, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequest, ReadResourceRequestParams, RequestId, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer as RmcpPeer, PeerRequestOptions,
    RoleClient, RunningServiceCancellationToken, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};
use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::{Map, Value};
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};
use tool::{BoxFuture, ErrorHints};

use crate::auth::{AuthorizedHttpClient, ServerAuth};
use crate::elicitation::Elicitor;
use crate::json_limits::{MAX_MESSAGE_BYTES, UNREAD_MESSAGE_CODE};
use crate::peer::{CallAnswer, CallProgress, ListPage, ListedTool, PeerError, ServerDescription, ServerPeer};
use crate::server_config::HttpTransport;
use handshake::ReusableTransport;
pub(crate) use notifications::ServerMessageHandler;
use stdio_transport::StdioLink;

/// Maximum rounds in which a server may request input before it answers.
const MAX_INPUT_ROUNDS: usize = 10;
/// Timeout of a control request, after which the older era is tried.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of attempts to open a stream, and the longest pause between them.
const MAX_STREAM_ATTEMPTS: usize = 10;
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Creates the pipes of a program: our ends, and its standard input, output and error.
pub(crate) fn open_pipes() -> io::Result<(ServerPipes, [OwnedFd; 3])> {
    let (stdin, to_stdin) = pipe_with(PipeFlags::CLOEXEC)?;
    let (from_stdout, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (from_stderr, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    let ends = ServerPipes {
        input: pipe::Sender::from_owned_fd(to_stdin)?,
        output: pipe::Receiver::from_owned_fd(from_stdout)?,
        errors: pipe::Receiver::from_owned_fd(from_stderr)?,
    };
    Ok((ends, [stdin, stdout, stderr]))
}

/// Our ends of a program's standard input, output and error.
pub(crate) struct ServerPipes {
    pub(crate) input: pipe::Sender,
    pub(crate) output: pipe::Receiver,
    pub(crate) errors: pipe::Receiver,
}

/// Our profile for a server, and the handler of its questions.
#[derive(Clone, Default)]
pub(crate) struct ClientProfile {
    pub(crate) server: String,
    pub(crate) roots: Vec<String>,
    pub(crate) elicitor: Option<Arc<dyn Elicitor>>,
    pub(crate) hints: ErrorHints,
}

/// A connected server.
pub(crate) struct RmcpLink {
    peer: RmcpPeer<RoleClient>,
    handler: Arc<ServerMessageHandler>,
    about: ServerDescription,
    tools_changed: Arc<Notify>,
    closed: watch::Receiver<bool>,
    stop: Option<RunningServiceCancellationToken>,
    errors: LinkErrors,
}

/// Translates transport errors, with the hints of this transport.
struct LinkErrors {
    auth: ServerAuth,
    stdio_link: Arc<StdioLink>,
}

impl LinkErrors {
    fn service_error(&self, error: ServiceError) -> PeerError {
        match error {
            ServiceError::McpError(data) => response_error(data),
            ServiceError::TransportClosed => self.gone_error("it is gone"),
            ServiceError::TransportSend(error) => self.transport_error(&error),
            other => PeerError::ProtocolViolation(other.to_string()),
        }
    }

    fn initialize_error(&self, error: ClientInitializeError) -> PeerError {
        match error {
            ClientInitializeError::JsonRpcError(data) => response_error(data),
            ClientInitializeError::UncorrelatedErrorResponse { .. } => PeerError::LateDiscovery,
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => self.initialize_error(*fallback),
            ClientInitializeError::ConnectionClosed(_) => {
                self.gone_error("it ended before it had said anything about itself")
            }
            ClientInitializeError::TransportError { error, .. } => self.transport_error(&error),
            other => PeerError::ProtocolViolation(other.to_string()),
        }
    }

    /// Returns the reason if we cut the line; `otherwise` if not.
    fn gone_error(&self, otherwise: &str) -> PeerError {
        match self.stdio_link.cut_reason() {
            Some(why) => PeerError::ProtocolViolation(why),
            None => PeerError::Gone(otherwise.to_owned()),
        }
    }

    fn transport_error(&self, error: &DynamicTransportError) -> PeerError {
        match (self.auth.explain(&*error.error), self.stdio_link.cut_reason()) {
            (Some(why), _) => PeerError::Unauthorized(why),
            (None, Some(why)) => PeerError::ProtocolViolation(why),
            (None, None) => PeerError::Gone(from_rmcp::error_chain(error)),
        }
    }
}

fn response_error(data: ErrorData) -> PeerError {
    match data.code.0 {
        UNREAD_MESSAGE_CODE => PeerError::ProtocolViolation(data.message.into_owned()),
        code => PeerError::Refused { code, message: data.message.into_owned() },
    }
}

impl Drop for RmcpLink {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
    }
}

fn lifecycle_mode() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

impl RmcpLink {
    /// Connects to a program through its standard input and output.
    pub(crate) async fn connect_program(
        client: ClientProfile,
        output: pipe::Receiver,
        input: pipe::Sender,
    ) -> Result<Self, PeerError> {
        let stdio_link = Arc::<StdioLink>::default();
        let (output, input) = stdio_link.wrap(output, input);
        let errors = LinkErrors { auth: ServerAuth::default(), stdio_link };
        let transport = AsyncRwTransport::new(output, input).with_max_line_length(MAX_MESSAGE_BYTES);
        let handshakes = ReusableTransport::new(transport);
        let handler = Arc::new(ServerMessageHandler::new(client));
        let mut mode = lifecycle_mode();
        // ends: after one more attempt at most
        loop {
            let lent = handshakes.lend().ok_or_else(|| errors.gone_error("it is gone"))?;
            match Arc::clone(&handler).serve_with_lifecycle(lent, mode.clone()).await {
                Ok(running) => return Self::from_running(handler, running, errors).await,
                // The program said too late that it speaks only the newer protocol.
                Err(ClientInitializeError::JsonRpcError(_))
                    if handshakes.speaks_newer_protocol()
                        && matches!(mode, ClientLifecycleMode::Auto { .. }) =>
                {
                    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
                    mode = ClientLifecycleMode::Discover { preferred_versions };
                }
                Err(error) => return Err(errors.initialize_error(error)),
            }
        }
    }

    /// Connects to a server behind a URL.
    pub(crate) async fn connect_http(client: ClientProfile, http: &HttpTransport) -> Result<Self, PeerError> {
        let auth = ServerAuth::for_server(&client.server, http, client.hints.clone());
        let token_provider = auth.token_provider(http).map_err(PeerError::Gone)?;
        let handler = Arc::new(ServerMessageHandler::new(client));
        let http_client = AuthorizedHttpClient::new(&http.url, token_provider).map_err(PeerError::Gone)?;
        let config = transport_config(http)?;
        let serve = |mode| {
            let transport = StreamableHttpClientTransport::with_client(http_client.clone(), config.clone());
            Arc::clone(&handler).serve_with_lifecycle(transport, mode)
        };
        let mut running = serve(lifecycle_mode()).await;
        // Some servers of the older era give a result to any request.
        if let Err(ClientInitializeError::ExpectedInitResult(_)) = running {
            running = serve(ClientLifecycleMode::Initialize).await;
        }
        let errors = LinkErrors { auth, stdio_link: Arc::default() };
        Self::from_running(handler, running.map_err(|error| errors.initialize_error(error))?, errors).await
    }

    /// Returns the authorization challenge of a server to an unauthenticated request, if there is one.
    pub(crate) async fn auth_challenge(http: &HttpTransport) -> Option<String> {
        let client = ClientProfile::default();
        let http_client = AuthorizedHttpClient::new(&http.url, None).ok()?;
        let transport = StreamableHttpClientTransport::with_client(http_client, transport_config(http).ok()?);
        let running =
            ServerMessageHandler::new(client).serve_with_lifecycle(transport, lifecycle_mode()).await;
        running.err()?.auth_challenge().map(str::to_owned)
    }

    async fn from_running(
        handler: Arc<ServerMessageHandler>,
        running: rmcp::service::RunningService<RoleClient, Arc<ServerMessageHandler>>,
        errors: LinkErrors,
    ) -> Result<Self, PeerError> {
        let peer = running.peer().clone();
        let info = peer
            .peer_info()
            .ok_or_else(|| PeerError::ProtocolViolation("it says nothing about itself".to_owned()))?;
        let about = from_rmcp::server_description(&info);
        let stop = running.cancellation_token();
        let (over_sender, closed) = watch::channel(false);
        crate::background_task::spawn(async move {
            let _why = running.waiting().await;
            over_sender.send_replace(true);
        });
        let tools_changed = handler.tools_changed();
        let tells = info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        if tells && info.protocol_version >= ProtocolVersion::V_2026_07_28 {
            watch_tool_changes(peer.clone(), Arc::clone(&tools_changed));
        }
        Ok(Self { peer, handler, about, tools_changed, closed, stop: Some(stop), errors })
    }

    /// Sends one request. If the caller stops waiting, the server gets a cancellation.
    async fn request(
        &self,
        request: ClientRequest,
        progress: Option<&(dyn Fn(CallProgress) + Send + Sync)>,
    ) -> Result<ServerResult, PeerError> {
        let handle = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let handle = handle.map_err(|error| self.errors.service_error(error))?;
        let mut abandoned = CancelOnDrop { peer: &self.peer, request: Some(handle.id.clone()) };
        let mut steps = self.handler.follow_progress(handle.progress_token.clone());
        let answer = handle.await_response();
        let mut answer = std::pin::pin!(answer);
        // ends: with the answer
        let answer = loop {
            tokio::select! {
                biased;
                Some(step) = steps.recv() => {
                    if let Some(progress) = progress {
                        progress(step);
                    }
                }
                answer = &mut answer => break answer,
            }
        };
        abandoned.request = None;
        answer.map_err(|error| self.errors.service_error(error))
    }

    /// Answers the input requests of a server.
    async fn answer_inputs(
        &self,
        wants: InputRequiredResult,
    ) -> Result<(Option<InputResponses>, Option<String>), PeerError> {
        let requests = wants.input_requests.unwrap_or_default();
        if requests.is_empty() && wants.request_state.is_none() {
            return Err(PeerError::ProtocolViolation(
                "it wants to know nothing, and does not answer".to_owned(),
            ));
        }
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            responses.insert(key, self.handler.answer_input_request(request).await?);
        }
        let responses = (!responses.is_empty()).then_some(responses);
        Ok((responses, wants.request_state))
    }

    async fn call_with_input_rounds(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        progress: &(dyn Fn(CallProgress) + Send + Sync),
    ) -> Result<CallAnswer, PeerError> {
        let _call = self.handler.begin_call();
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..MAX_INPUT_ROUNDS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            match self.request(request, Some(progress)).await? {
                ServerResult::CallToolResult(result) => return Ok(from_rmcp::call_answer(result)),
                ServerResult::CustomResult(result) => return from_rmcp::untyped_answer(&result.0),
                ServerResult::InputRequiredResult(wants) => {
                    (params.input_responses, params.request_state) = self.answer_inputs(wants).await?;
                }
                _ => {
                    return Err(PeerError::ProtocolViolation(
                        "it answers a call with something else".to_owned(),
                    ));
                }
            }
        }
        Err(PeerError::ProtocolViolation(format!(
            "it has asked {MAX_INPUT_ROUNDS} times, and does not answer"
        )))
    }
}

/// Sends a cancellation to the server when the caller stops waiting.
struct CancelOnDrop<'a> {
    peer: &'a RmcpPeer<RoleClient>,
    request: Option<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.request.take() else { return };
        let params =
            CancelledNotificationParam::new(Some(id), Some("the caller no longer waits for it".to_owned()));
        let (peer, notification) = (self.peer.clone(), CancelledNotification::new(params));
        if tokio::runtime::Handle::try_current().is_ok() {
            crate::background_task::spawn(async move {
                let _gone = peer.send_notification(notification.into()).await;
            });
        }
    }
}

/// Returns the transport configuration of an HTTP server.
fn transport_config(http: &HttpTransport) -> Result<StreamableHttpClientTransportConfig, PeerError> {
    let mut headers = HashMap::new();
    for (name, value) in &http.headers {
        let unnamed = |_| PeerError::Gone(format!("`{name}` is not a header name"));
        let unsent = |_| PeerError::Gone(format!("the header `{name}` has a value that cannot be sent"));
        let value = value.parse::<http::HeaderValue>().map_err(unsent)?;
        headers.insert(name.parse::<http::HeaderName>().map_err(unnamed)?, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(http.url.as_str())
        .custom_headers(headers)
        .control_request_timeout(CONTROL_TIMEOUT)
        .max_sse_event_size(MAX_MESSAGE_BYTES);
    let mut again = ExponentialBackoff::default();
    (again.max_times, again.max_delay) = (Some(MAX_STREAM_ATTEMPTS), Some(MAX_PAUSE));
    config.retry_config = Arc::new(again);
    if let Some(bearer) = &http.bearer {
        config = config.auth_header(bearer.clone());
    }
    Ok(config)
}

/// Subscribes to tool changes, as servers of the newer era report them.
fn watch_tool_changes(peer: RmcpPeer<RoleClient>, tools_changed: Arc<Notify>) {
    crate::background_task::spawn(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let Ok(mut subscription) = peer.listen(filter).await else { return };
        // ends: with the subscription
        while let Ok(Some(_)) = subscription.next().await {
            tools_changed.notify_one();
        }
    });
}

fn page_params(cursor: Option<String>) -> Option<PaginatedRequestParams> {
    cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)))
}

impl ServerPeer for RmcpLink {
    fn about(&self) -> &ServerDescription {
        &self.about
    }

    fn list_tools(&self, cursor: Option<String>) -> BoxFuture<'_, Result<ListPage<ListedTool>, PeerError>> {
        Box::pin(async move {
            match self.peer.list_tools(page_params(cursor.clone())).await {
                Ok(found) => {
                    let items = found.tools.into_iter().map(from_rmcp::listed_tool).collect();
                    Ok(ListPage { items, parse_faults: Vec::new(), next_cursor: found.next_cursor })
                }
                // One invalid tool must not invalidate the others.
                Err(ServiceError::UnexpectedResponse) => {
                    let request =
                        ListToolsRequest { params: page_params(cursor), ..ListToolsRequest::default() };
                    match self.request(ClientRequest::ListToolsRequest(request), None).await? {
                        ServerResult::CustomResult(result) => from_rmcp::tool_page(&result.0),
                        _ => Err(PeerError::ProtocolViolation("it does not list its tools".to_owned())),
                    }
                }
                Err(error) => Err(self.errors.service_error(error)),
            }
        })
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        progress: &'a (dyn Fn(CallProgress) + Send + Sync),
    ) -> BoxFuture<'a, Result<CallAnswer, PeerError>> {
        Box::pin(self.call_with_input_rounds(tool, arguments, progress))
    }

    fn list_resources(
        &self,
        templates: bool,
        cursor: Option<String>,
    ) -> BoxFuture<'_, Result<ListPage<Value>, PeerError>> {
        Box::pin(async move {
            if templates {
                let found = self
                    .peer
                    .list_resource_templates(page_params(cursor))
                    .await
                    .map_err(|error| self.errors.service_error(error))?;
                return Ok(ListPage {
                    parse_faults: Vec::new(),
                    items: from_rmcp::to_values(found.resource_templates),
                    next_cursor: found.next_cursor,
                });
            }
            let found = self
                .peer
                .list_resources(page_params(cursor))
                .await
                .map_err(|error| self.errors.service_error(error))?;
            Ok(ListPage {
                items: from_rmcp::to_values(found.resources),
                parse_faults: Vec::new(),
                next_cursor: found.next_cursor,
            })
        })
    }

    fn read_resource<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Value, PeerError>> {
        Box::pin(async move {
            let mut params = ReadResourceRequestParams::new(uri);
            for _ in 0..MAX_INPUT_ROUNDS {
                let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params.clone()));
                match self.request(request, None).await? {
                    ServerResult::ReadResourceResult(result) => {
                        return Ok(from_rmcp::resource_contents(result));
                    }
                    ServerResult::InputRequiredResult(wants) => {
                        (params.input_responses, params.request_state) = self.answer_inputs(wants).await?;
                    }
                    _ => break,
                }
            }
            Err(PeerError::ProtocolViolation("it does not say what is in it".to_owned()))
        })
    }

    fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    fn wait_for_close(&self) -> BoxFuture<'_, Option<String>> {
        let mut over = self.closed.clone();
        Box::pin(async move {
            // The watched task is gone only if there is no runtime any more.
            let _gone = over.wait_for(|over| *over).await;
            self.errors.stdio_link.cut_reason()
        })
    }

    fn wait_for_tool_change(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.tools_changed.notified())
    }
}
