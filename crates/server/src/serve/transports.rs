//! The transports of the server: standard input/output, a Unix socket, and a loopback WebSocket.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::mcp::serve::AccessRequirement;
use rpc::{ConnectionLimits, LineTransport, ProbedTransport, WebSocketTransport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use serde_json::json;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::session_server::SessionServer;
use crate::access_token;
use crate::{listen_address, peer_check};
use config::OperationFault;
use config::UserDirs;
use config::private_dirs;
use session::compose;

/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 1024;
/// Maximum time of a WebSocket handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Serves the parent process until it closes the pipe.
pub(super) async fn serve_stdio(server: &Arc<SessionServer>) -> Result<(), OperationFault> {
    let host = Arc::clone(server) as Arc<dyn rpc::RpcHost>;
    let frames = LineTransport(tokio::io::stdin(), tokio::io::stdout());
    let probe = closed_probe(rustix::io::dup(rustix::stdio::stdout()).map_err(io::Error::from)?);
    rpc::serve_connection(host, ProbedTransport::new(frames, probe), ConnectionLimits::default()).await;
    Ok(())
}

/// Serves clients of the Unix socket at `path`. Never returns on its own.
pub(super) async fn serve_socket(server: &Arc<SessionServer>, path: &Path) -> Result<(), OperationFault> {
    let socket = ServerSocket::bind(path)?;
    terminal::print_stderr(&format!("serving at {}", path.display()));
    let here = compose::absolute(Path::new(""))?;
    if let Some(why) = peer_check::socket_path_warning(&compose::absolute(path)?, &here) {
        terminal::print_warning(&why);
    }
    let mut connections = JoinSet::new();
    // ends: with the server
    loop {
        tokio::select! {
            accepted = socket.listener.accept() => match accepted {
                Ok((stream, _)) if let Err(why) = peer_check::admit_peer(&stream) => report_rejection(&stream, why),
                Ok(_) if connections.len() >= MAX_CONNECTIONS => tracing::warn!("more programs came than are served at a time"),
                Ok((stream, _)) => {
                    let host = Arc::clone(server) as Arc<dyn rpc::RpcHost>;
                    let probe = rustix::io::dup(&stream).map(closed_probe);
                    let (read, write) = stream.into_split();
                    match probe {
                        Ok(probe) => {
                            let frames = ProbedTransport::new(LineTransport(read, write), probe);
                            connections.spawn(rpc::serve_connection(host, frames, ConnectionLimits::default()));
                        }
                        Err(error) => tracing::warn!(%error, "a connection could not be kept"),
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

/// Reports a rejected connection to the client and to the server's user. Does not block on either.
fn report_rejection(stream: &UnixStream, why: peer_check::PeerRejection) {
    if why == peer_check::PeerRejection::Gone {
        return;
    }
    let message = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": REJECTED_ERROR_CODE, "message": format!("rejected: {why}") } });
    let _full = stream.try_write(format!("{message}\n").as_bytes());
    terminal::print_warning(&format!("a connection to the socket was rejected: {why}"));
}

/// The error code for a rejected connection.
const REJECTED_ERROR_CODE: i32 = -32_001;

/// Returns a check that is true when the other end of `fd` has closed completely. A half-closed connection
/// still counts as open.
fn closed_probe(fd: OwnedFd) -> impl Fn() -> bool {
    const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    move || {
        let mut polled = [PollFd::new(&fd, PollFlags::empty())];
        let looked = poll(&mut polled, Some(&NO_WAIT));
        looked.is_ok() && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }
}

/// A socket that only its owner can reach. Dropping it removes the file.
struct ServerSocket {
    listener: UnixListener,
    path: PathBuf,
    /// The device and inode of the socket file.
    device_and_inode: Option<(u64, u64)>,
}

impl ServerSocket {
    fn bind(path: &Path) -> Result<Self, OperationFault> {
        let wrong =
            |error: io::Error| listen_address::bind_fault(&format!("at `{}`", path.display()), &error);
        if private_dirs::is_own_socket(path) {
            // The previous server may have died, or may still run.
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(OperationFault::busy(format!(
                    "another server has the socket `{}`",
                    path.display()
                )));
            }
            rustix::fs::unlink(path).map_err(|errno| wrong(errno.into()))?;
        } else if device_and_inode(path).is_some() {
            let wrong = format!("there is something else at `{}` than a socket of yours", path.display());
            return Err(OperationFault::usage(wrong).with_hint("take another path; the socket is made there"));
        }
        // The umask sets the final mode at creation, so other users cannot connect even for a moment.
        let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let listener = UnixListener::bind(path);
        rustix::process::umask(before);
        Ok(Self {
            listener: listener.map_err(wrong)?,
            path: path.to_owned(),
            device_and_inode: device_and_inode(path),
        })
    }
}

fn device_and_inode(path: &Path) -> Option<(u64, u64)> {
    rustix::fs::lstat(path).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

impl Drop for ServerSocket {
    fn drop(&mut self) {
        // Another server's socket may be there by now.
        if private_dirs::is_own_socket(&self.path) && device_and_inode(&self.path) == self.device_and_inode {
            let _gone = rustix::fs::unlink(&self.path);
        }
    }
}

/// Serves WebSocket clients that present the token at `address`. Never returns on its own.
pub(super) async fn serve_websocket(
    server: &Arc<SessionServer>,
    address: SocketAddr,
    variable: Option<&str>,
) -> Result<(), OperationFault> {
    listen_address::require_loopback(address).map_err(|fault| fault.with_hint("take 127.0.0.1"))?;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| listen_address::bind_fault(&format!("at `{address}`"), &error))?;
    let (entry, location) = access_token::load_entry(variable, &UserDirs::from_env()?)?;
    terminal::print_stderr(&format!("serving at ws://{}", listener.local_addr()?));
    terminal::print_stderr(&format!("the token is {}", terminal::escape_invisible(&location.description)));
    let entry = Arc::new(entry);
    let mut connections = JoinSet::new();
    // ends: with the server
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(_) if connections.len() >= MAX_CONNECTIONS => tracing::warn!("more programs came than are served at a time"),
                Ok((stream, _)) => {
                    let (host, entry) = (Arc::clone(server) as Arc<dyn rpc::RpcHost>, Arc::clone(&entry));
                    connections.spawn(async move {
                        let accepting = WebSocketTransport::accept(stream, |headers| admits(&entry, headers));
                        match tokio::time::timeout(HANDSHAKE_TIMEOUT, accepting).await {
                            Ok(Ok(socket)) => rpc::serve_connection(host, socket, ConnectionLimits::default()).await,
                            Ok(Err(error)) => tracing::warn!(%error, "a connection was rejected"),
                            Err(_) => tracing::warn!("a handshake took too long"),
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

/// Returns true if the headers contain the token. Requests of web pages have an `Origin` header and are
/// rejected.
fn admits(entry: &AccessRequirement, headers: &rpc::HandshakeHeaders<'_>) -> bool {
    let bearer = headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
    !headers.contains("origin") && entry.admits(bearer.unwrap_or_default().trim().as_bytes())
}
