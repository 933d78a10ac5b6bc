//! Serves as the agent of an editor over the Agent Client Protocol (`toolgate acp`).

mod call_view;
mod editor_approver;
mod editor_session;
mod editor_updates;
mod history;
mod live_output;
mod mcp_servers;
mod open_session;
mod patch_preview;
mod prompt_blocks;
mod protocol;
mod server;
mod session_mode;
mod update_sender;

use std::sync::Arc;

use rpc::{ConnectionLimits, LineTransport};

use crate::state_warning;
use crate::stop_signals::{self, ServerExit};
use agent::TurnLimits;
use config::OperationFault;
use config::UserDirs;
use config::flags::WorkspaceArgs;
use server::AcpServer;
use session::choose_model::ModelLocation;

/// The settings of the server.
#[derive(Debug)]
pub struct AcpSettings {
    /// The location of the model.
    pub model: ModelLocation,
    /// The limits of the model's work.
    pub limits: TurnLimits,
    /// The defaults of sessions.
    pub flags: WorkspaceArgs,
}

/// Serves one editor on stdin and stdout, until the input ends or a signal arrives.
pub async fn run(settings: AcpSettings) -> Result<ServerExit, OperationFault> {
    let signalled = stop_signals::wait_for_signal()?;
    let dirs = UserDirs::from_env()?;
    state_warning::warn_if_unwritable(&dirs);
    let server = Arc::new(AcpServer::new(settings, dirs));
    let host = Arc::clone(&server) as Arc<dyn rpc::RpcHost>;
    let serving = rpc::serve_connection(
        host,
        LineTransport(tokio::io::stdin(), tokio::io::stdout()),
        ConnectionLimits::default(),
    );
    let ended = tokio::select! {
        () = serving => Ok(ServerExit::InputEnded),
        exit = signalled => Ok(exit),
    };
    server.close().await;
    ended
}
