//! The servers that run, found by their sockets.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use super::wire::{FromTerminal, MAX_LINE, ToTerminal};
use crate::approve::Size;

/// How often new ones are looked for.
const EVERY: Duration = Duration::from_millis(500);

/// What a server said; `None` if it is gone.
pub(super) struct Heard {
    pub(super) server: Server,
    pub(super) told: Option<ToTerminal>,
}

impl Heard {
    /// Whether the question `id` of `server` need not be answered any more.
    pub(super) fn settles(&self, server: &Server, id: u64) -> bool {
        self.server == *server
            && match &self.told {
                None => true,
                Some(ToTerminal::Settled { id: settled }) => *settled == id,
                Some(ToTerminal::Hello { .. } | ToTerminal::Question { .. }) => false,
            }
    }
}

/// A server that runs.
#[derive(Clone)]
pub(super) struct Server(Arc<Mutex<OwnedWriteHalf>>);

impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Server {
    /// Tells it something; if it is gone, that is heard elsewhere.
    pub(super) async fn tell(&self, told: &FromTerminal) {
        let Ok(mut line) = serde_json::to_vec(told) else { return };
        line.push(b'\n');
        let _gone = self.0.lock().await.write_all(&line).await;
    }
}

/// All of them.
pub(super) struct Servers {
    directory: PathBuf,
    size: Size,
    heard: mpsc::Sender<Heard>,
}

impl Servers {
    pub(super) fn new(directory: PathBuf, size: Size, heard: mpsc::Sender<Heard>) -> Self {
        Self { directory, size, heard }
    }

    /// Hears every server that is there, and every one that comes; never ends.
    pub(super) async fn watch(self) {
        let mut known: HashSet<OsString> = HashSet::new();
        // Dropped with all that is in it.
        let mut heard: JoinSet<OsString> = JoinSet::new();
        // ends: with the program
        loop {
            for name in self.sockets().unwrap_or_default() {
                if known.contains(&name) {
                    continue;
                }
                let path = self.directory.join(&name);
                match UnixStream::connect(&path).await {
                    Ok(stream) => {
                        known.insert(name.clone());
                        let (sender, size) = (self.heard.clone(), self.size);
                        heard.spawn(async move {
                            let _gone = hear(stream, size, sender).await;
                            name
                        });
                    }
                    // Whoever left it there was killed.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                        let _gone = rustix::fs::unlink(&path);
                    }
                    Err(_) => {}
                }
            }
            tokio::select! {
                Some(Ok(name)) = heard.join_next(), if !heard.is_empty() => {
                    known.remove(&name);
                    tokio::time::sleep(EVERY).await;
                }
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    fn sockets(&self) -> io::Result<Vec<OsString>> {
        #[expect(clippy::disallowed_methods, reason = "our own directory, where nothing of a model's is")]
        let names = std::fs::read_dir(&self.directory)?.filter_map(|entry| Some(entry.ok()?.file_name()));
        let is_socket = |name: &OsString| name.to_str().is_some_and(|name| name.ends_with(".sock"));
        Ok(names.filter(is_socket).collect())
    }
}

/// Hears one server until it is gone.
async fn hear(stream: UnixStream, size: Size, heard: mpsc::Sender<Heard>) -> io::Result<()> {
    let (read, write) = stream.into_split();
    let server = Server(Arc::new(Mutex::new(write)));
    server.tell(&FromTerminal::Hello { width: size.width, height: size.height }).await;
    let mut read = BufReader::new(read);
    // ends: with the server
    while let Some(told) = next(&mut read).await? {
        let _over = heard.send(Heard { server: server.clone(), told: Some(told) }).await;
    }
    let _over = heard.send(Heard { server, told: None }).await;
    Ok(())
}

async fn next(read: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<ToTerminal>> {
    let mut line = Vec::new();
    read.take(MAX_LINE).read_until(b'\n', &mut line).await?;
    Ok(serde_json::from_slice(&line).ok())
}
