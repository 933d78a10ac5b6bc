//! Serves sessions to programs over JSON-RPC (`toolgate serve`).

mod client_approver;
mod client_processes;
mod client_tools;
mod delta_sender;
mod event_stream;
mod file_requests;
mod hosted_session;
mod idempotent_calls;
mod open_session;
mod session_server;
mod subscribers;
mod transports;
mod turn_runner;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::metrics::{MetricsEndpoint, PageSource};
use crate::state_warning;
use crate::stop_signals::{self, ServerExit};
use config::OperationFault;
use config::UserDirs;
use config::flags::WorkspaceArgs;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use session::compose::working_directory;
use session::confinement_check;
use session_server::SessionServer;

/// Time in which connections write the last answers. The clients are on this machine.
const LAST_ANSWERS_TIME: Duration = Duration::from_millis(100);

/// The settings of the server.
#[derive(Debug)]
pub struct ServeSettings {
    /// The Unix socket to listen at.
    pub socket: Option<PathBuf>,
    /// The address to listen at for WebSockets. Without this and a socket, the server uses stdin and stdout.
    pub websocket: Option<SocketAddr>,
    /// The environment variable that holds the token of WebSocket clients.
    pub token_env: Option<String>,
    /// The address at which metrics are served over HTTP.
    pub metrics: Option<SocketAddr>,
    /// Names of this machine under which other machines may scrape the metrics.
    pub allow_remote: Vec<String>,
    /// The defaults of sessions.
    pub flags: WorkspaceArgs,
}

/// Serves until the input ends or a signal arrives.
pub async fn run(settings: ServeSettings) -> Result<ServerExit, OperationFault> {
    let signalled = stop_signals::wait_for_signal()?;
    let ServeSettings { socket, websocket, token_env, metrics, allow_remote, flags } = settings;
    let endpoint = metrics.map(|address| MetricsEndpoint::bind(address, &allow_remote)).transpose()?;
    let dirs = UserDirs::from_env()?;
    // A wrong configuration would refuse each session.
    let config = config::load(&working_directory(&flags)?, &dirs, &flags)?;
    state_warning::warn_if_unwritable(&dirs);
    let can_confine = confinement_check::can_confine(&config).await;
    raise_open_files_limit();
    let server = Arc::new(SessionServer::new(flags, dirs, can_confine));
    let scrapes = serve_metrics(&server, endpoint);
    let serving = async {
        match (&socket, websocket) {
            (Some(path), _) => transports::serve_socket(&server, path).await,
            (None, Some(address)) => {
                transports::serve_websocket(&server, address, token_env.as_deref()).await
            }
            (None, None) => transports::serve_stdio(&server).await,
        }
    };
    tokio::pin!(serving);
    let exit = tokio::select! {
        served = &mut serving => {
            server.close(ServerExit::InputEnded.cancel_cause()).await;
            return served.map(|()| ServerExit::InputEnded);
        }
        exit = signalled => exit,
        () = scrapes => ServerExit::InputEnded,
    };
    // Connections go on until the sessions are closed, so that clients read the answers of calls that were running.
    let closing = async {
        server.close(exit.cancel_cause()).await;
        tokio::time::sleep(LAST_ANSWERS_TIME).await;
    };
    tokio::pin!(closing);
    tokio::select! {
        () = &mut closing => {}
        _ = &mut serving => closing.await,
    }
    Ok(exit)
}

/// Raises the limit of open files to what the system allows: a session needs some twenty. Commands keep the limit
/// that this process got, since they are not started from it.
fn raise_open_files_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _as_before = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Serves the metrics of `server`, if there is an endpoint for them. Never returns.
async fn serve_metrics(server: &Arc<SessionServer>, endpoint: Option<MetricsEndpoint>) {
    let Some(endpoint) = endpoint else { return std::future::pending().await };
    endpoint.serve(Arc::clone(server) as Arc<dyn PageSource>).await;
}

impl PageSource for SessionServer {
    fn metrics(&self) -> String {
        self.metrics.render(self.live_counts())
    }

    fn unready_reason(&self) -> Option<&'static str> {
        let unconfined = (!self.can_confine).then_some("no command can be confined");
        state_warning::unready_reason(&self.dirs).or(unconfined)
    }
}
