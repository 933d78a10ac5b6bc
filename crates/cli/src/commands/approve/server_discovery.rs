//! Discovers running servers by their sockets, connects to them and receives their messages.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use config::private_dirs;
use server::approval_protocol::{FromTerminal, MAX_LINE_BYTES, ToTerminal};
use session::approval::ScreenSize;

/// Interval between two scans for new sockets.
const SCAN_INTERVAL: Duration = Duration::from_millis(500);
/// Minimum age of a socket without a listener before it is removed.
const MIN_STALE_AGE: Duration = Duration::from_secs(5);

/// A message of a server, or `None` when the connection is closed.
pub(super) struct ServerMessage {
    pub(super) server: ServerConnection,
    pub(super) message: Option<ToTerminal>,
}

impl ServerMessage {
    /// Returns true if the client shows no form of the question `id` of `server`.
    pub(super) fn closes_form(&self, server: &ServerConnection, id: u64) -> bool {
        self.server == *server
            && matches!(self.message, Some(ToTerminal::FormClosed { id: closed }) if closed == id)
    }

    /// Returns true if the question `id` of `server` needs no answer any more.
    pub(super) fn settles(&self, server: &ServerConnection, id: u64) -> bool {
        self.server == *server
            && match &self.message {
                None => true,
                Some(ToTerminal::Settled { id: settled }) => *settled == id,
                Some(
                    ToTerminal::Hello { .. } | ToTerminal::Question { .. } | ToTerminal::FormClosed { .. },
                ) => false,
            }
    }
}

/// The connection to a running server.
#[derive(Clone)]
pub(super) struct ServerConnection(Arc<Mutex<OwnedWriteHalf>>);

impl PartialEq for ServerConnection {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl ServerConnection {
    /// Sends a message. A closed connection is noticed by the reading side.
    pub(super) async fn send(&self, message: &FromTerminal) {
        let Ok(mut line) = serde_json::to_vec(message) else { return };
        line.push(b'\n');
        let _gone = self.0.lock().await.write_all(&line).await;
    }
}

/// Finds and watches all servers.
pub(super) struct ServerDiscovery {
    directories: Vec<PathBuf>,
    size: ScreenSize,
    messages: mpsc::Sender<ServerMessage>,
}

impl ServerDiscovery {
    pub(super) fn new(
        directories: Vec<PathBuf>,
        size: ScreenSize,
        messages: mpsc::Sender<ServerMessage>,
    ) -> Self {
        Self { directories, size, messages }
    }

    /// Receives the messages of all present and future servers. Never returns.
    pub(super) async fn watch(self) -> Infallible {
        let mut known: HashSet<PathBuf> = HashSet::new();
        // Dropping the set aborts its tasks.
        let mut readers: JoinSet<PathBuf> = JoinSet::new();
        // ends: with the program
        loop {
            for path in self.directories.iter().flat_map(|directory| find_sockets(directory)) {
                if known.contains(&path) {
                    continue;
                }
                match connect_to_own(&path).await {
                    Ok(stream) => {
                        known.insert(path.clone());
                        let (sender, size) = (self.messages.clone(), self.size);
                        readers.spawn(async move {
                            let _gone = forward_messages(stream, size, sender).await;
                            path
                        });
                    }
                    // The server that left the socket behind was killed.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && is_old(&path) => {
                        let _gone = rustix::fs::unlink(&path);
                    }
                    Err(_) => {}
                }
            }
            tokio::select! {
                Some(Ok(path)) = readers.join_next(), if !readers.is_empty() => {
                    known.remove(&path);
                    tokio::time::sleep(SCAN_INTERVAL).await;
                }
                () = tokio::time::sleep(SCAN_INTERVAL) => {}
            }
        }
    }
}

/// Returns our sockets in `directory`. Returns none if other users can access the directory.
fn find_sockets(directory: &Path) -> Vec<PathBuf> {
    if !private_files::is_private_dir(directory).unwrap_or_default() {
        return Vec::new();
    }
    #[expect(clippy::disallowed_methods, reason = "our own directory, where nothing of a model's is")]
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "sock") && private_dirs::is_own_socket(path))
        .collect()
}

/// Connects to a server of the same user.
async fn connect_to_own(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path).await?;
    if stream.peer_cred()?.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    Ok(stream)
}

/// Returns true for a socket older than `MIN_STALE_AGE`. A new socket may not have its listener yet.
fn is_old(path: &Path) -> bool {
    let made = std::fs::symlink_metadata(path).and_then(|about| about.modified());
    made.is_ok_and(|made| made.elapsed().is_ok_and(|since| since > MIN_STALE_AGE))
        && private_dirs::is_own_socket(path)
}

/// Forwards the messages of one server until the connection closes.
async fn forward_messages(
    stream: UnixStream,
    size: ScreenSize,
    messages: mpsc::Sender<ServerMessage>,
) -> io::Result<()> {
    let (read, write) = stream.into_split();
    let server = ServerConnection(Arc::new(Mutex::new(write)));
    server.send(&FromTerminal::Hello { width: size.width, height: size.height }).await;
    let mut read = BufReader::new(read);
    // ends: with the server
    while let Some(message) = read_message(&mut read).await? {
        let _over = messages.send(ServerMessage { server: server.clone(), message: Some(message) }).await;
    }
    let _over = messages.send(ServerMessage { server, message: None }).await;
    Ok(())
}

async fn read_message(read: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<ToTerminal>> {
    let mut line = Vec::new();
    read.take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await?;
    Ok(serde_json::from_slice(&line).ok())
}
