//! Lifecycle of one server: starts it, lists its tools, reacts to changes, and restarts it with backoff.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tool::{BoxFuture, Cx};

use crate::elicitation::{Elicitation, ElicitationAnswer, Elicitor};
use crate::link::{ClientProfile, RmcpLink, open_pipes};
use crate::peer::{PeerError, ServerDescription, ServerPeer};
use crate::server_config::{LandChangesFn, McpServerConfig, ServerTransport};
use crate::server_program::{ServerProgram, StderrTail};
use crate::server_tools::ToolOffer;
use crate::tool_definition::DefinitionPins;
use crate::tool_listing::list_all_tools;

/// Maximum number of failed starts, and the first and the longest pause between starts.
const TRIES: usize = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A server that lived this long restarts without an increased pause.
const LIVED: Duration = Duration::from_secs(60);
/// Time without a change notification before tools are listed again.
const SETTLES: Duration = Duration::from_millis(200);
/// Interval for checking whether a question is open.
const TICK: Duration = Duration::from_millis(500);
/// Maximum number of open questions of one server.
const MOST_QUESTIONS: usize = 4;
/// Time for a program to exit after it closed its output.
const FAREWELL: Duration = Duration::from_millis(500);
/// Minimum interval between tool listings.
const LISTED_AGAIN: Duration = Duration::from_secs(2);

/// Dependencies that all servers share.
#[derive(Clone, Default)]
pub struct McpClientDeps {
    /// Answers the servers' questions to the user; questions are declined if `None`.
    pub elicit: Option<Arc<dyn Elicitor>>,
    /// Workspace directories that servers are told about, as URIs.
    pub roots: Vec<String>,
    /// Remembers the tool definitions in use.
    pub pins: Option<Arc<dyn DefinitionPins>>,
    /// Observes the state of servers.
    pub watch: Option<Arc<dyn ServerObserver>>,
    /// All configured servers, some of which may not be started here.
    pub configured: Vec<String>,
    /// Maximum bytes of tool definitions for the model; [`BUDGET`](crate::BUDGET) if `None`.
    pub budget: Option<usize>,
}

/// Observes the state of servers.
pub trait ServerObserver: Send + Sync {
    /// Reports a state change. Must not block.
    fn saw(&self, server: &str, event: &ServerEvent);
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
    means: McpClientDeps,
    state: watch::Sender<ServerState>,
    /// Its tools as last listed. They stay available while it restarts.
    offer: Mutex<Arc<ToolOffer>>,
    /// Lands the changes that its program made inside its confinement.
    landing: Mutex<Option<LandChangesFn>>,
    /// Gaps in its confinement.
    gaps: Mutex<Vec<&'static str>>,
    /// Number of its open questions.
    asking: Arc<AtomicUsize>,
    stop: CancellationToken,
}

/// State of a server.
#[derive(Clone)]
pub(crate) enum ServerState {
    Starting,
    Ready(Arc<dyn ServerPeer>),
    Failed { why: String, retries: bool },
    Over,
}

impl McpConnection {
    pub(crate) fn new(server: McpServerConfig, means: McpClientDeps) -> Arc<Self> {
        let asking = Arc::new(AtomicUsize::new(0));
        let elicit = means.elicit.clone().map(|inner| {
            Arc::new(CountingElicitor { inner, asking: Arc::clone(&asking) }) as Arc<dyn Elicitor>
        });
        let means = McpClientDeps { elicit, ..means };
        Arc::new(Self {
            server: Arc::new(server),
            pins: means.pins.clone(),
            means,
            state: watch::Sender::new(ServerState::Starting),
            offer: Mutex::default(),
            landing: Mutex::default(),
            gaps: Mutex::default(),
            asking,
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
        let landing = self.landing.lock().clone();
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
        self.server.believed && self.gaps().is_empty()
    }

    fn offers(&self, offer: ToolOffer) {
        *self.offer.lock() = Arc::new(offer);
    }

    /// Waits until the server is ready, or returns the reason why it is not.
    pub(crate) async fn wait_until_ready(&self) -> Result<Arc<dyn ServerPeer>, String> {
        let mut states = self.state.subscribe();
        let settled = states.wait_for(|state| match state {
            // A closed peer is about to be restarted.
            ServerState::Ready(peer) => !peer.is_over(),
            ServerState::Over => true,
            ServerState::Failed { retries, .. } => !retries,
            ServerState::Starting => false,
        });
        let limit = self.server.startup_timeout;
        // The starting task reports a timeout first.
        match timeout(limit + SETTLES, settled).await {
            Ok(Ok(state)) => match &*state {
                ServerState::Ready(peer) => Ok(Arc::clone(peer)),
                ServerState::Failed { why, .. } => Err(why.clone()),
                ServerState::Starting | ServerState::Over => Err("is over".to_owned()),
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
            let step = left.min(TICK);
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                () = sleep(step) => {
                    if self.asking.load(Ordering::Relaxed) == 0 {
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

    fn tell(&self, event: &ServerEvent) {
        if let Some(watch) = &self.means.watch {
            watch.saw(&self.server.name, event);
        }
    }

    /// Starts the server, and restarts it after it ended, until it is closed.
    pub(crate) async fn keep_running(self: Arc<Self>) {
        let stop = self.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = Arc::clone(&self).kept() => {}
        }
        if let ServerTransport::Program(launch) = &self.server.transport {
            launch.settled().await;
        }
        self.state.send_replace(ServerState::Over);
        self.offers(ToolOffer::default());
    }

    async fn kept(self: Arc<Self>) {
        let mut failures = 0_u32;
        // ends: after too many failures, or with the task
        loop {
            self.tell(&ServerEvent::Starting);
            let began = Instant::now();
            let outcome = Arc::clone(&self).lived(began).await;
            let was_ready = matches!(self.state(), ServerState::Ready(_));
            failures = if was_ready && began.elapsed() > LIVED { 0 } else { failures + 1 };
            let pause =
                (FIRST_PAUSE * 2_u32.saturating_pow(failures.saturating_sub(1).min(16))).min(LONGEST_PAUSE);
            let retries =
                outcome.passing && (was_ready || usize::try_from(failures).unwrap_or(TRIES) < TRIES);
            let why = outcome.why;
            self.state.send_replace(ServerState::Failed { why: why.clone(), retries });
            self.tell(&ServerEvent::Failed { why, again_in: retries.then_some(pause) });
            if !retries {
                self.offers(ToolOffer::default());
                return std::future::pending().await;
            }
            sleep(pause).await;
        }
    }

    /// Runs one life of the server, and returns when it has ended.
    async fn lived(self: Arc<Self>, began: Instant) -> ServerEnd {
        let mut started = match timeout(self.server.startup_timeout, Arc::clone(&self).started()).await {
            Ok(Ok(started)) => started,
            Ok(Err(end)) => return end,
            Err(_) => {
                let why = format!("has not started within {} s", self.server.startup_timeout.as_secs());
                return ServerEnd { why, passing: true };
            }
        };
        let offer = self.offered_tools();
        self.tell(&ServerEvent::Ready {
            about: started.peer.about().clone(),
            tools: offer.tools.len(),
            left_out: offer.left_out.clone(),
            gaps: self.gaps(),
            took: began.elapsed(),
        });
        self.state.send_replace(ServerState::Ready(Arc::clone(&started.peer)));
        let peer = Arc::clone(&started.peer);
        tokio::select! {
            end = started.ended() => end,
            end = self.heard(&*peer) => end,
        }
    }

    /// Lists the tools again whenever the server reports a change. Returns if listing fails.
    async fn heard(self: &Arc<Self>, peer: &dyn ServerPeer) -> ServerEnd {
        // ends: with the task
        loop {
            peer.changed().await;
            // Debounces servers that change their tools all the time.
            sleep(SETTLES).await;
            match timeout(self.server.startup_timeout, list_all_tools(peer)).await {
                Ok(Ok(listed)) => {
                    let offer = ToolOffer::from_listing(self, listed);
                    if offer.definitions != self.offered_tools().definitions {
                        self.tell(&ServerEvent::ToolsChanged { tools: offer.tools.len() });
                        self.offers(offer);
                    }
                }
                Ok(Err(trouble)) => return ServerEnd::from_error(trouble, None).await,
                Err(_) => {
                    return ServerEnd { why: "does not list its tools any more".to_owned(), passing: true };
                }
            }
            sleep(LISTED_AGAIN).await;
        }
    }

    async fn started(self: Arc<Self>) -> Result<StartedServer, ServerEnd> {
        let client = ClientProfile {
            server: self.server.name.clone(),
            roots: self.means.roots.clone(),
            elicit: self.means.elicit.clone(),
        };
        let (peer, program): (Arc<dyn ServerPeer>, _) = match &self.server.transport {
            ServerTransport::Http(http) => match RmcpLink::connect_http(client, http).await {
                Ok(link) => (Arc::new(link), None),
                Err(trouble) => return Err(ServerEnd::from_error(trouble, None).await),
            },
            ServerTransport::Program(launch) => {
                let (ends, theirs) =
                    open_pipes().map_err(|error| ServerEnd { why: error.to_string(), passing: true })?;
                let running = launch.launch(theirs).await;
                let running =
                    running.map_err(|fault| ServerEnd { why: fault.why, passing: fault.passing })?;
                *self.landing.lock() = running.landing();
                *self.gaps.lock() = running.gaps();
                let mut program = ServerProgram::new(running, ends.errors);
                let link = tokio::select! {
                    link = RmcpLink::connect_program(client, ends.output, ends.input) => link,
                    how = program.running.ended() => {
                        let why = program.words.append_to(&format!("has ended: {how}")).await;
                        return Err(ServerEnd { why, passing: true });
                    }
                };
                match link {
                    Ok(link) => (Arc::new(link), Some(program)),
                    Err(trouble) => {
                        let gone = matches!(trouble, PeerError::Gone(_));
                        let end = if gone { program.farewell().await } else { None };
                        return Err(match end {
                            Some(end) => end,
                            None => ServerEnd::from_error(trouble, Some(&program.words)).await,
                        });
                    }
                }
            }
        };
        match list_all_tools(&*peer).await {
            Ok(listed) => self.offers(ToolOffer::from_listing(&self, listed)),
            Err(trouble) => {
                return Err(
                    ServerEnd::from_error(trouble, program.as_ref().map(|program| &program.words)).await
                );
            }
        }
        Ok(StartedServer { peer, program })
    }
}

/// The reason why a life ended.
struct ServerEnd {
    why: String,
    /// A restart may help.
    passing: bool,
}

impl ServerEnd {
    async fn from_error(trouble: PeerError, words: Option<&StderrTail>) -> Self {
        let why = format!("cannot be used: {trouble}");
        let passing = !matches!(trouble, PeerError::Unauthorized(_) | PeerError::Nonsense(_));
        match words {
            Some(words) => Self { why: words.append_to(&why).await, passing },
            None => Self { why, passing },
        }
    }
}

impl ServerProgram {
    /// Returns the exit status if the program has just ended. A program closes its output before it exits, and its
    /// exit status says more.
    async fn farewell(&mut self) -> Option<ServerEnd> {
        let how = timeout(FAREWELL, self.running.ended()).await.ok()?;
        let why = self.words.append_to(&format!("has ended: {how}")).await;
        Some(ServerEnd { why, passing: true })
    }
}

/// A started server.
struct StartedServer {
    peer: Arc<dyn ServerPeer>,
    program: Option<ServerProgram>,
}

impl StartedServer {
    /// Waits for its end.
    async fn ended(&mut self) -> ServerEnd {
        let Some(program) = &mut self.program else {
            let why = self.peer.ended().await;
            return ServerEnd {
                why: why.as_deref().map_or("has closed the connection".to_owned(), cut),
                passing: true,
            };
        };
        tokio::select! {
            how = program.running.ended() => {
                let why = program.words.append_to(&format!("has ended: {how}")).await;
                ServerEnd { why, passing: true }
            }
            why = self.peer.ended() => {
                // A program that has closed its output is about to exit, and ends with this value.
                let ours = why.is_some();
                let why = why.as_deref().map_or("has stopped answering".to_owned(), cut);
                match program.farewell().await {
                    Some(end) if !ours => end,
                    Some(_) | None => ServerEnd { why: program.words.append_to(&why).await, passing: true },
                }
            }
        }
    }
}

/// Describes a connection that we cut.
fn cut(why: &str) -> String {
    format!("was left: {why}")
}

/// Counts the open questions of a server.
struct CountingElicitor {
    inner: Arc<dyn Elicitor>,
    asking: Arc<AtomicUsize>,
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
            let waiting = self.asking.fetch_add(1, Ordering::Relaxed);
            let _thinking = OpenQuestionGuard(&self.asking);
            // Declines if too many questions are open.
            if waiting >= MOST_QUESTIONS {
                return ElicitationAnswer::Declined;
            }
            self.inner.elicit(elicitation).await
        })
    }
}
