//! One client at our standard input and output.

use std::io;
use std::sync::Arc;

use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use rmcp::transport::io::stdio_pipes;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::handler::Handler;
use super::host::Host;

/// Why a client was not served to its end.
#[derive(Debug, thiserror::Error)]
pub enum ServeFault {
    /// The machine does not let us.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It does not begin as the protocol says.
    #[error("the client does not speak the protocol: {0}")]
    Client(String),
}

/// Serves the client at standard input and output until it leaves, or until `stop`.
pub async fn serve_stdio(host: Arc<dyn Host>, stop: CancellationToken) -> Result<(), ServeFault> {
    let handler = Handler::new(&Shared::new(host)?);
    match serve_server_with_ct(handler, stdio_pipes(), stop).await {
        Ok(running) => {
            running.waiting().await.map_err(io::Error::other)?;
            Ok(())
        }
        // It left before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(other) => Err(ServeFault::Client(other.to_string())),
    }
}
