//! Lifecycle of one server: starts it, lists its tools, reacts to changes, and restarts it with backoff.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tool::{BoxFuture, Cx, ErrorHints};

use crate::elicitation::{Elicitation, ElicitationAnswer, Elicitor};
use crate::link::{ClientProfile, RmcpLink, open_pipes};
use crate::peer::{PeerError, ServerDescription, ServerPeer};
use crate::server_config::{LandChangesFn, McpServerConfig, ServerTransport};
use crate::server_program::{ServerProgram, StderrTail};
use crate::server_tools::ToolOffer;
use crate::tool_definition::DefinitionPins;
use crate::tool_listing::list_all_tools;

/// Maximum number of failed starts, and the first and the longest pause between starts.
const MAX_FAILED_STARTS: usize = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// A server that lived this long restarts without an increased pause.
const LONG_LIVED: Duration = Duration::from_secs(60);
/// Time without a change notification before tools are listed again.
const CHANGE_DEBOUNCE: Duration = Duration::from_millis(200);
/// Interval for checking whether a question is open.
const QUESTION_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of open questions of one server.
const MAX_OPEN_QUESTIONS: usize = 4;
/// Time for a program to exit after it closed its output.
const EXIT_GRACE: Duration = Duration::from_millis(500);
/// Minimum interval between tool listings.
const MIN_LISTING_INTERVAL: Duration = Duration::from_secs(2);

/// Dependencies that all servers share.
#[derive(Clone, Default)]
pub struct McpClientDeps {
    /// Answers the servers' questions to the user; questions are declined if `None`.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// Workspace directories that servers are told about, as URIs.
    pub roots: Vec<String>,
    /// Remembers the tool definitions in use.
    pub pins: Option<Arc<dyn DefinitionPins>>,
    /// Observes the state of servers.
    pub observer: Option<Arc<dyn ServerObserver>>,
    /// All configured servers, some of which may not be started here.
    pub configured: Vec<String>,
    /// Maximum bytes of tool definitions for the model; [`BUDGET`](crate::BUDGET) if `None`.
    pub budget: Option<usize>,
    /// Hints for errors of servers.
    pub hints: ErrorHints,
}

/// Observes the state of servers.
pub trait ServerObserver: Send + Sync {
    /// Reports a state change. Must not block.
    fn on_server_event(&self, server: &str, event: &ServerEvent);
}

/// A state change of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEvent {
    /// It is being started.
    Starting,
    /// It is ready.
    Ready {
        /// Its self-description.
        about: ServerDescription,
        /// Number of tools in use.
        tools: usize,
        /// Tools not in use, each with the reason.
        left_out: Vec<String>,
        /// Gaps in its confinement, each in a few words.
        gaps: Vec<&'static str>,
        /// Startup time.
        took: Duration,
    },
    /// Its tools have changed.
    ToolsChanged {
        /// Number of tools now.
        tools: usize,
    },
    /// It cannot be used.
    Failed {
        /// One sentence.
        why: String,
        /// Time until the next start, if there is one.
        again_in: Option<Duration>,
    },
}

/// A server and its state.
pub(crate) struct McpConnection {
    pub(crate) server: Arc<McpServerConfig>,
    pub(crate) pins: Option<Arc<dyn DefinitionPins>>,
    deps: McpClientDeps,
    state: watch::Sender<ServerState>,
    /// Its tools as last listed. They stay available while it restarts.
    offer: Mutex<Arc<ToolOffer>>,
    /// Lands the changes that its program made inside its confinement.
    land_changes_fn: Mutex<Option<LandChangesFn>>,
    /// Gaps in its confinement.
    gaps: Mutex<Vec<&'static str>>,
    /// Number of its open questions.
    open_questions: Arc<AtomicUsize>,
    stop: CancellationToken,
}

/// State of a server.
#[derive(Clone)]
pub(crate) enum ServerState {
    Starting,
    Ready(Arc<dyn ServerPeer>),
    Failed { why: String, retries: bool },
    Closed,
}

impl McpConnection {
    pub(crate) fn new(server: McpServerConfig, deps: McpClientDeps) -> Arc<Self> {
        let open_questions = Arc::new(AtomicUsize::new(0));
        let elicitor = deps.elicitor.clone().map(|inner| {
            Arc::new(CountingElicitor { inner, open_questions: Arc::clone(&open_questions) })
                as Arc<dyn Elicitor>
        });
        let deps = McpClientDeps { elicitor, ..deps };
        Arc::new(Self {
            server: Arc::new(server),
            pins: deps.pins.clone(),
            deps,
            state: watch::Sender::new(ServerState::Starting),
            offer: Mutex::default(),
            land_changes_fn: Mutex::default(),
            gaps: Mutex::default(),
            open_questions,
            stop: CancellationToken::new(),
        })
    }

    pub(crate) fn state(&self) -> ServerState {
        self.state.borrow().clone()
    }

    /// Returns its tools.
    pub(crate) fn offered_tools(&self) -> Arc<ToolOffer> {
        Arc::clone(&self.offer.lock())
    }

    /// Lands the changes that a call made inside the server's confinement, and reports those that stay behind.
    pub(crate) async fn land_changes(&self, cx: &Cx) -> Vec<String> {
        let landing = self.land_changes_fn.lock().clone();
        // Most calls leave nothing to land, and another thread would cost more than the rest of the call.
        let Some(land) = landing.and_then(|landing| landing()) else { return Vec::new() };
        cx.run_blocking(move |_| Ok(land())).await.unwrap_or_default()
    }

    /// Returns the gaps in its confinement.
    pub(crate) fn gaps(&self) -> Vec<&'static str> {
        self.gaps.lock().clone()
    }

    /// Returns whether its tool annotations can replace a question to the user.
    pub(crate) fn trusts_annotations(&self) -> bool {
        self.server.annotations_trusted && self.gaps().is_empty()
    }

    fn set_offer(&self, offer: ToolOffer) {
        *self.offer.lock() = Arc::new(offer);
    }

    /// Waits until the server is ready, or returns the reason why it is not.
    pub(crate) async fn wait_until_ready(&self) -> Result<Arc<dyn ServerPeer>, String> {
        let mut states = self.state.subscribe();
        let settled = states.wait_for(|state| match state {
            // A closed peer is about to be restarted.
            ServerState::Ready(peer) => !peer.is_closed(),
            ServerState::Closed => true,
            ServerState::Failed { retries, .. } => !retries,
            ServerState::Starting => false,
        });
        let limit = self.server.startup_timeout;
        // The starting task reports a timeout first.
        match timeout(limit + CHANGE_DEBOUNCE, settled).await {
            Ok(Ok(state)) => match &*state {
                ServerState::Ready(peer) => Ok(Arc::clone(peer)),
                ServerState::Failed { why, .. } => Err(why.clone()),
                ServerState::Starting | ServerState::Closed => Err("is over".to_owned()),
            },
            Ok(Err(_)) => Err("is over".to_owned()),
            Err(_) => Err(match self.state() {
                ServerState::Failed { why, .. } => why,
                _ => format!("has not started within {} s", limit.as_secs()),
            }),
        }
    }

    /// Waits for `work` up to `limit`, not counting the time in which a user answers its questions.
    pub(crate) async fn with_timeout<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let mut left = limit;
        // ends: when the time is up; open questions only pause the countdown
        while !left.is_zero() {
            let step = left.min(QUESTION_CHECK_INTERVAL);
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                () = sleep(step) => {
                    if self.open_questions.load(Ordering::Relaxed) == 0 {
                        left -= step;
                    }
                }
            }
        }
        None
    }

    pub(crate) fn close(&self) {
        self.stop.cancel();
    }

    fn notify(&self, event: &ServerEvent) {
        if let Some(observer) = &self.deps.observer {
            observer.on_server_event(&self.server.name, event);
        }
    }

    /// Starts the server, and restarts it after it ended, until it is closed.
    pub(crate) async fn keep_running(self: Arc<Self>) {
        let stop = self.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = Arc::clone(&self).run_with_restarts() => {}
        }
        if let ServerTransport::Program(launch) = &self.server.transport {
            launch.wait_until_settled().await;
        }
        self.state.send_replace(ServerState::Closed);
        self.set_offer(ToolOffer::default());
    }

    async fn run_with_restarts(self: Arc<Self>) {
        let mut failures = 0_u32;
        // ends: after too many failures, or with the task
        loop {
            self.notify(&ServerEvent::Starting);
            let began = Instant::now();
            let outcome = Arc::clone(&self).run_once(began).await;
            let was_ready = matches!(self.state(), ServerState::Ready(_));
            failures = if was_ready && began.elapsed() > LONG_LIVED { 0 } else { failures + 1 };
            let pause =
                (FIRST_PAUSE * 2_u32.saturating_pow(failures.saturating_sub(1).min(16))).min(MAX_PAUSE);
            let retries = outcome.retryable
                && (was_ready || usize::try_from(failures).unwrap_or(MAX_FAILED_STARTS) < MAX_FAILED_STARTS);
            let why = outcome.why;
            self.state.send_replace(ServerState::Failed { why: why.clone(), retries });
            self.notify(&ServerEvent::Failed { why, again_in: retries.then_some(pause) });
            if !retries {
                self.set_offer(ToolOffer::default());
                return std::future::pending().await;
            }
            sleep(pause).await;
        }
    }

    /// Runs one life of the server, and returns when it has ended.
    async fn run_once(self: Arc<Self>, began: Instant) -> ServerEnd {
        let mut started = match timeout(self.server.startup_timeout, Arc::clone(&self).start()).await {
            Ok(Ok(started)) => started,
            Ok(Err(end)) => return end,
            Err(_) => {
                let why = format!("has not started within {} s", self.server.startup_timeout.as_secs());
                return ServerEnd { why, retryable: true };
            }
        };
        let offer = self.offered_tools();
        self.notify(&ServerEvent::Ready {
            about: started.peer.about().clone(),
            tools: offer.tools.len(),
            left_out: offer.left_out.clone(),
            gaps: self.gaps(),
            took: began.elapsed(),
        });
        self.state.send_replace(ServerState::Ready(Arc::clone(&started.peer)));
        let peer = Arc::clone(&started.peer);
        tokio::select! {
            end = started.wait_for_end() => end,
            end = self.relist_on_change(&*peer) => end,
        }
    }

    /// Lists the tools again whenever the server reports a change. Returns if listing fails.
    async fn relist_on_change(self: &Arc<Self>, peer: &dyn ServerPeer) -> ServerEnd {
        // ends: with the task
        loop {
            peer.wait_for_tool_change().await;
            // Debounces servers that change their tools all the time.
            sleep(CHANGE_DEBOUNCE).await;
            match timeout(self.server.startup_timeout, list_all_tools(peer)).await {
                Ok(Ok(listed)) => {
                    let offer = ToolOffer::from_listing(self, listed);
                    if offer.definitions != self.offered_tools().definitions {
                        self.notify(&ServerEvent::ToolsChanged { tools: offer.tools.len() });
                        self.set_offer(offer);
                    }
                }
                Ok(Err(error)) => return ServerEnd::from_error(error, None).await,
                Err(_) => {
                    return ServerEnd { why: "does not list its tools any more".to_owned(), retryable: true };
                }
            }
            sleep(MIN_LISTING_INTERVAL).await;
        }
    }

    async fn start(self: Arc<Self>) -> Result<StartedServer, ServerEnd> {
        let client = ClientProfile {
            server: self.server.name.clone(),
            roots: self.deps.roots.clone(),
            elicitor: self.deps.elicitor.clone(),
            hints: self.deps.hints.clone(),
        };
        let (peer, program): (Arc<dyn ServerPeer>, _) = match &self.server.transport {
            ServerTransport::Http(http) => match RmcpLink::connect_http(client, http).await {
                Ok(link) => (Arc::new(link), None),
                Err(error) => return Err(ServerEnd::from_error(error, None).await),
            },
            ServerTransport::Program(launch) => {
                let (ends, theirs) =
                    open_pipes().map_err(|error| ServerEnd { why: error.to_string(), retryable: true })?;
                let running = launch.launch(theirs).await;
                let running =
                    running.map_err(|fault| ServerEnd { why: fault.why, retryable: fault.retryable })?;
                *self.land_changes_fn.lock() = running.land_changes_fn();
                *self.gaps.lock() = running.gaps();
                let mut program = ServerProgram::new(running, ends.errors);
                let link = tokio::select! {
                    link = RmcpLink::connect_program(client, ends.output, ends.input) => link,
                    how = program.launched.wait_for_exit() => {
                        let why = program.stderr_tail.append_to(&format!("has ended: {how}")).await;
                        return Err(ServerEnd { why, retryable: true });
                    }
                };
                match link {
                    Ok(link) => (Arc::new(link), Some(program)),
                    Err(error) => {
                        let gone = matches!(error, PeerError::Gone(_));
                        let end = if gone { program.exit_within_grace().await } else { None };
                        return Err(match end {
                            Some(end) => end,
                            None => ServerEnd::from_error(error, Some(&program.stderr_tail)).await,
                        });
                    }
                }
            }
        };
        match list_all_tools(&*peer).await {
            Ok(listed) => self.set_offer(ToolOffer::from_listing(&self, listed)),
            Err(error) => {
                return Err(ServerEnd::from_error(
                    error,
                    program.as_ref().map(|program| &program.stderr_tail),
                )
                .await);
            }
        }
        Ok(StartedServer { peer, program })
    }
}

/// The reason why a life ended.
struct ServerEnd {
    why: String,
    /// A restart may help.
    retryable: bool,
}

impl ServerEnd {
    async fn from_error(error: PeerError, stderr_tail: Option<&StderrTail>) -> Self {
        let why = format!("cannot be used: {error}");
        let passing = !matches!(error, PeerError::Unauthorized(_) | PeerError::ProtocolViolation(_));
        match stderr_tail {
            Some(words) => Self { why: words.append_to(&why).await, retryable: passing },
            None => Self { why, retryable: passing },
        }
    }
}

impl ServerProgram {
    /// Returns the exit status if the program has just ended. A program closes its output before it exits, and its
    /// exit status says more.
    async fn exit_within_grace(&mut self) -> Option<ServerEnd> {
        let how = timeout(EXIT_GRACE, self.launched.wait_for_exit()).await.ok()?;
        let why = self.stderr_tail.append_to(&format!("has ended: {how}")).await;
        Some(ServerEnd { why, retryable: true })
    }
}

/// A started server.
struct StartedServer {
    peer: Arc<dyn ServerPeer>,
    program: Option<ServerProgram>,
}

impl StartedServer {
    /// Waits for its end.
    async fn wait_for_end(&mut self) -> ServerEnd {
        let Some(program) = &mut self.program else {
            let why = self.peer.wait_for_close().await;
            return ServerEnd {
                why: why.as_deref().map_or("has closed the connection".to_owned(), describe_cut),
                retryable: true,
            };
        };
        tokio::select! {
            how = program.launched.wait_for_exit() => {
                let why = program.stderr_tail.append_to(&format!("has ended: {how}")).await;
                ServerEnd { why, retryable: true }
            }
            why = self.peer.wait_for_close() => {
                // A program that has closed its output is about to exit, and ends with this value.
                let ours = why.is_some();
                let why = why.as_deref().map_or("has stopped answering".to_owned(), describe_cut);
                match program.exit_within_grace().await {
                    Some(end) if !ours => end,
                    Some(_) | None => ServerEnd { why: program.stderr_tail.append_to(&why).await, retryable: true },
                }
            }
        }
    }
}

/// Describes a connection that we cut.
fn describe_cut(why: &str) -> String {
    format!("was left: {why}")
}

/// Counts the open questions of a server.
struct CountingElicitor {
    inner: Arc<dyn Elicitor>,
    open_questions: Arc<AtomicUsize>,
}

struct OpenQuestionGuard<'a>(&'a AtomicUsize);

impl Drop for OpenQuestionGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Elicitor for CountingElicitor {
    fn elicit<'a>(&'a self, elicitation: &'a Elicitation) -> BoxFuture<'a, ElicitationAnswer> {
        Box::pin(async move {
            let waiting = self.open_questions.fetch_add(1, Ordering::Relaxed);
            let _thinking = OpenQuestionGuard(&self.open_questions);
            // Declines if too many questions are open.
            if waiting >= MAX_OPEN_QUESTIONS {
                return ElicitationAnswer::Declined;
            }
            self.inner.elicit(elicitation).await
        })
    }
}
