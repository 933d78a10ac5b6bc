//! Lifecycle of one server: starts it, lists its tools, reacts to changes, and restarts it with backoff.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tool::{BoxFuture, Cx};

use crate::definition::Pins;
use crate::elicit::{Elicit, Elicitation, Elicited};
use crate::link::{Client, Link, pipes};
use crate::listing::listed;
use crate::peer::{About, Peer, Trouble};
use crate::program::{LastWords, Program};
use crate::server::{Landing, Server, Transport};
use crate::tools::Offer;

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
pub struct Means {
    /// Answers the servers' questions to the user; questions are declined if `None`.
    pub elicit: Option<Arc<dyn Elicit>>,
    /// Workspace directories that servers are told about, as URIs.
    pub roots: Vec<String>,
    /// Remembers the tool definitions in use.
    pub pins: Option<Arc<dyn Pins>>,
    /// Observes the state of servers.
    pub watch: Option<Arc<dyn WatchServers>>,
    /// All configured servers, some of which may not be started here.
    pub configured: Vec<String>,
    /// Maximum bytes of tool definitions for the model; [`BUDGET`](crate::BUDGET) if `None`.
    pub budget: Option<usize>,
}

/// Observes the state of servers.
pub trait WatchServers: Send + Sync {
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
        about: About,
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
pub(crate) struct Connection {
    pub(crate) server: Arc<Server>,
    pub(crate) pins: Option<Arc<dyn Pins>>,
    means: Means,
    state: watch::Sender<State>,
    /// Its tools as last listed. They stay available while it restarts.
    offer: Mutex<Arc<Offer>>,
    /// Lands the changes that its program made inside its confinement.
    landing: Mutex<Option<Landing>>,
    /// Gaps in its confinement.
    gaps: Mutex<Vec<&'static str>>,
    /// Number of its open questions.
    asking: Arc<AtomicUsize>,
    stop: CancellationToken,
}

/// State of a server.
#[derive(Clone)]
pub(crate) enum State {
    Starting,
    Ready(Arc<dyn Peer>),
    Failed { why: String, retries: bool },
    Over,
}

impl Connection {
    pub(crate) fn new(server: Server, means: Means) -> Arc<Self> {
        let asking = Arc::new(AtomicUsize::new(0));
        let elicit = means
            .elicit
            .clone()
            .map(|inner| Arc::new(Counted { inner, asking: Arc::clone(&asking) }) as Arc<dyn Elicit>);
        let means = Means { elicit, ..means };
        Arc::new(Self {
            server: Arc::new(server),
            pins: means.pins.clone(),
            means,
            state: watch::Sender::new(State::Starting),
            offer: Mutex::default(),
            landing: Mutex::default(),
            gaps: Mutex::default(),
            asking,
            stop: CancellationToken::new(),
        })
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Returns its tools.
    pub(crate) fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lands the changes that a call made inside the server's confinement, and reports those that stay behind.
    pub(crate) async fn land(&self, cx: &Cx) -> Vec<String> {
        let landing = self.landing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Most calls leave nothing to land, and another thread would cost more than the rest of the call.
        let Some(land) = landing.and_then(|landing| landing()) else { return Vec::new() };
        cx.blocking(move |_| Ok(land())).await.unwrap_or_default()
    }

    /// Returns the gaps in its confinement.
    pub(crate) fn gaps(&self) -> Vec<&'static str> {
        self.gaps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether its tool annotations can replace a question to the user.
    pub(crate) fn is_believed(&self) -> bool {
        self.server.believed && self.gaps().is_empty()
    }

    fn offers(&self, offer: Offer) {
        *self.offer.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(offer);
    }

    /// Waits until the server is ready, or returns the reason why it is not.
    pub(crate) async fn live(&self) -> Result<Arc<dyn Peer>, String> {
        let mut states = self.state.subscribe();
        let settled = states.wait_for(|state| match state {
            // A closed peer is about to be restarted.
            State::Ready(peer) => !peer.is_over(),
            State::Over => true,
            State::Failed { retries, .. } => !retries,
            State::Starting => false,
        });
        let limit = self.server.startup_timeout;
        // The starting task reports a timeout first.
        match timeout(limit + SETTLES, settled).await {
            Ok(Ok(state)) => match &*state {
                State::Ready(peer) => Ok(Arc::clone(peer)),
                State::Failed { why, .. } => Err(why.clone()),
                State::Starting | State::Over => Err("is over".to_owned()),
            },
            Ok(Err(_)) => Err("is over".to_owned()),
            Err(_) => Err(match self.state() {
                State::Failed { why, .. } => why,
                _ => format!("has not started within {} s", limit.as_secs()),
            }),
        }
    }

    /// Waits for `work` up to `limit`, not counting the time in which a user answers its questions.
    pub(crate) async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
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
    pub(crate) async fn keep(self: Arc<Self>) {
        let stop = self.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = Arc::clone(&self).kept() => {}
        }
        if let Transport::Program(launch) = &self.server.transport {
            launch.settled().await;
        }
        self.state.send_replace(State::Over);
        self.offers(Offer::default());
    }

    async fn kept(self: Arc<Self>) {
        let mut failures = 0_u32;
        // ends: after too many failures, or with the task
        loop {
            self.tell(&ServerEvent::Starting);
            let began = Instant::now();
            let outcome = Arc::clone(&self).lived(began).await;
            let was_ready = matches!(self.state(), State::Ready(_));
            failures = if was_ready && began.elapsed() > LIVED { 0 } else { failures + 1 };
            let pause =
                (FIRST_PAUSE * 2_u32.saturating_pow(failures.saturating_sub(1).min(16))).min(LONGEST_PAUSE);
            let retries =
                outcome.passing && (was_ready || usize::try_from(failures).unwrap_or(TRIES) < TRIES);
            let why = outcome.why;
            self.state.send_replace(State::Failed { why: why.clone(), retries });
            self.tell(&ServerEvent::Failed { why, again_in: retries.then_some(pause) });
            if !retries {
                self.offers(Offer::default());
                return std::future::pending().await;
            }
            sleep(pause).await;
        }
    }

    /// Runs one life of the server, and returns when it has ended.
    async fn lived(self: Arc<Self>, began: Instant) -> End {
        let mut started = match timeout(self.server.startup_timeout, Arc::clone(&self).started()).await {
            Ok(Ok(started)) => started,
            Ok(Err(end)) => return end,
            Err(_) => {
                let why = format!("has not started within {} s", self.server.startup_timeout.as_secs());
                return End { why, passing: true };
            }
        };
        let offer = self.offer();
        self.tell(&ServerEvent::Ready {
            about: started.peer.about().clone(),
            tools: offer.tools.len(),
            left_out: offer.left_out.clone(),
            gaps: self.gaps(),
            took: began.elapsed(),
        });
        self.state.send_replace(State::Ready(Arc::clone(&started.peer)));
        let peer = Arc::clone(&started.peer);
        tokio::select! {
            end = started.ended() => end,
            end = self.heard(&*peer) => end,
        }
    }

    /// Lists the tools again whenever the server reports a change. Returns if listing fails.
    async fn heard(self: &Arc<Self>, peer: &dyn Peer) -> End {
        // ends: with the task
        loop {
            peer.changed().await;
            // Debounces servers that change their tools all the time.
            sleep(SETTLES).await;
            match timeout(self.server.startup_timeout, listed(peer)).await {
                Ok(Ok(listed)) => {
                    let offer = Offer::of(self, listed);
                    if offer.definitions != self.offer().definitions {
                        self.tell(&ServerEvent::ToolsChanged { tools: offer.tools.len() });
                        self.offers(offer);
                    }
                }
                Ok(Err(trouble)) => return End::of(trouble, None).await,
                Err(_) => return End { why: "does not list its tools any more".to_owned(), passing: true },
            }
            sleep(LISTED_AGAIN).await;
        }
    }

    async fn started(self: Arc<Self>) -> Result<Started, End> {
        let client = Client {
            server: self.server.name.clone(),
            roots: self.means.roots.clone(),
            elicit: self.means.elicit.clone(),
        };
        let (peer, program): (Arc<dyn Peer>, _) = match &self.server.transport {
            Transport::Http(http) => match Link::to_http(client, http).await {
                Ok(link) => (Arc::new(link), None),
                Err(trouble) => return Err(End::of(trouble, None).await),
            },
            Transport::Program(launch) => {
                let (ends, theirs) =
                    pipes().map_err(|error| End { why: error.to_string(), passing: true })?;
                let running = launch.launch(theirs).await;
                let running = running.map_err(|fault| End { why: fault.why, passing: fault.passing })?;
                *self.landing.lock().unwrap_or_else(PoisonError::into_inner) = running.landing();
                *self.gaps.lock().unwrap_or_else(PoisonError::into_inner) = running.gaps();
                let mut program = Program::new(running, ends.errors);
                let link = tokio::select! {
                    link = Link::to_program(client, ends.output, ends.input) => link,
                    how = program.running.ended() => {
                        let why = program.words.after(&format!("has ended: {how}")).await;
                        return Err(End { why, passing: true });
                    }
                };
                match link {
                    Ok(link) => (Arc::new(link), Some(program)),
                    Err(trouble) => {
                        let gone = matches!(trouble, Trouble::Gone(_));
                        let end = if gone { program.farewell().await } else { None };
                        return Err(match end {
                            Some(end) => end,
                            None => End::of(trouble, Some(&program.words)).await,
                        });
                    }
                }
            }
        };
        match listed(&*peer).await {
            Ok(listed) => self.offers(Offer::of(&self, listed)),
            Err(trouble) => {
                return Err(End::of(trouble, program.as_ref().map(|program| &program.words)).await);
            }
        }
        Ok(Started { peer, program })
    }
}

/// The reason why a life ended.
struct End {
    why: String,
    /// A restart may help.
    passing: bool,
}

impl End {
    async fn of(trouble: Trouble, words: Option<&LastWords>) -> Self {
        let why = format!("cannot be used: {trouble}");
        let passing = !matches!(trouble, Trouble::Unauthorized(_) | Trouble::Nonsense(_));
        match words {
            Some(words) => Self { why: words.after(&why).await, passing },
            None => Self { why, passing },
        }
    }
}

impl Program {
    /// Returns the exit status if the program has just ended. A program closes its output before it exits, and its
    /// exit status says more.
    async fn farewell(&mut self) -> Option<End> {
        let how = timeout(FAREWELL, self.running.ended()).await.ok()?;
        let why = self.words.after(&format!("has ended: {how}")).await;
        Some(End { why, passing: true })
    }
}

/// A started server.
struct Started {
    peer: Arc<dyn Peer>,
    program: Option<Program>,
}

impl Started {
    /// Waits for its end.
    async fn ended(&mut self) -> End {
        let Some(program) = &mut self.program else {
            let why = self.peer.ended().await;
            return End {
                why: why.as_deref().map_or("has closed the connection".to_owned(), cut),
                passing: true,
            };
        };
        tokio::select! {
            how = program.running.ended() => {
                let why = program.words.after(&format!("has ended: {how}")).await;
                End { why, passing: true }
            }
            why = self.peer.ended() => {
                // A program that has closed its output is about to exit, and ends with this value.
                let ours = why.is_some();
                let why = why.as_deref().map_or("has stopped answering".to_owned(), cut);
                match program.farewell().await {
                    Some(end) if !ours => end,
                    Some(_) | None => End { why: program.words.after(&why).await, passing: true },
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
struct Counted {
    inner: Arc<dyn Elicit>,
    asking: Arc<AtomicUsize>,
}

struct Thinking<'a>(&'a AtomicUsize);

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Elicit for Counted {
    fn elicit<'a>(&'a self, elicitation: &'a Elicitation) -> BoxFuture<'a, Elicited> {
        Box::pin(async move {
            let waiting = self.asking.fetch_add(1, Ordering::Relaxed);
            let _thinking = Thinking(&self.asking);
            // Declines if too many questions are open.
            if waiting >= MOST_QUESTIONS {
                return Elicited::Declined;
            }
            self.inner.elicit(elicitation).await
        })
    }
}
