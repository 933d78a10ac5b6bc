//! What users were given to show to servers, kept in files that nobody else reads.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};

use super::file::Directory;

/// The directory below the one for state.
const DIRECTORY: &str = "mcp-tokens";
/// How long somebody else may refresh a token before we give up, and how often we look.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(25);
/// Clocks differ: a token that lasts no longer than this is taken for one that does not last.
const SKEW: u64 = 60;

/// Where tokens are kept: one file for each server and its URL.
#[derive(Debug)]
pub struct Tokens {
    directory: PathBuf,
}

/// Why tokens cannot be kept or found.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` cannot be used: {source}")]
pub struct TokensFault {
    /// Where.
    pub path: String,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Whose tokens: those of one server at one URL. A server of the same name elsewhere has none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) server: String,
    pub(crate) url: String,
}

impl Key {
    fn name(&self) -> String {
        let hash = Sha256::new().chain_update(&self.server).chain_update([0]).chain_update(&self.url);
        let digits: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
        let plain: String = self.server.chars().filter(is_plain).take(32).collect();
        format!("{plain}-{digits}.json")
    }
}

/// What a user was given for a server: by whom, for what, to whom.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) server: String,
    pub(super) url: String,
    /// Who gave it.
    pub(super) issuer: Option<String>,
    /// What it is for.
    pub(super) resource: String,
    /// Who we are to them.
    pub(super) client: Known,
    /// What was given; nothing if it is not taken any more.
    pub(super) token: Option<Token>,
    /// What the server said when it was asked by nobody: it tells where to look for who lets users in.
    #[serde(default)]
    pub(super) challenge: Option<String>,
    /// Rights that the server has missed since.
    #[serde(default)]
    pub(super) wanted: Vec<String>,
}

/// Who we are to whoever gave it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) redirect: String,
}

/// What is shown to a server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    /// Seconds since 1970 when it came, and how many it lasts.
    pub(super) received: u64,
    pub(super) lasts: Option<u64>,
    pub(super) scopes: Vec<String>,
}

impl Token {
    /// Whether it can still be shown, as far as anybody knows. If the clock went back, the server knows better.
    pub(super) fn is_fresh(&self) -> bool {
        let age = now().saturating_sub(self.received);
        self.lasts.is_none_or(|lasts| age.saturating_add(SKEW) < lasts)
    }
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The right to change what is kept for a server. It ends when this is dropped, or with the process.
pub(super) struct Held {
    _file: OwnedFd,
}

impl Tokens {
    /// Those in a directory of their own below `state`.
    pub fn below(state: &Path) -> Self {
        Self { directory: state.join(DIRECTORY) }
    }

    pub(super) fn load(&self, key: &Key) -> Result<Option<Entry>, TokensFault> {
        let Some(bytes) = self.with(key, |files, name| files.read(name))? else { return Ok(None) };
        let Ok(entry) = serde_json::from_slice::<Entry>(&bytes) else {
            tracing::warn!(server = ?key.server, "what is kept for the server cannot be read; it has to be logged in to anew");
            return Ok(None);
        };
        Ok(Some(entry).filter(|entry| entry.server == key.server && entry.url == key.url))
    }

    pub(super) fn save(&self, entry: &Entry) -> Result<(), TokensFault> {
        let key = Key { server: entry.server.clone(), url: entry.url.clone() };
        self.with(&key, |files, name| {
            let bytes = serde_json::to_vec_pretty(entry).map_err(io::Error::other)?;
            files.write(name, &bytes)
        })
    }

    /// Changes what is kept for a server, if something is.
    pub(super) fn change(&self, key: &Key, change: impl FnOnce(&mut Entry)) -> Result<(), TokensFault> {
        let Some(mut entry) = self.load(key)? else { return Ok(()) };
        change(&mut entry);
        self.save(&entry)
    }

    pub(super) fn forget(&self, key: &Key) -> Result<(), TokensFault> {
        self.with(key, |files, name| files.remove(name))
    }

    /// Waits for the right to change what is kept for a server, in this process and all others.
    pub(super) async fn hold(&self, key: &Key) -> Result<Held, TokensFault> {
        let until = Instant::now() + PATIENCE;
        // ends: when it is ours, or patience does
        loop {
            let lock = self.with(key, |files, name| files.try_lock(format!("{name}.lock")))?;
            if let Some(file) = lock {
                return Ok(Held { _file: file });
            }
            if Instant::now() > until {
                return Err(self.fault(key, io::Error::other("another process does not let go of it")));
            }
            sleep(LOOK).await;
        }
    }

    fn with<T>(
        &self,
        key: &Key,
        work: impl FnOnce(&Directory, &str) -> io::Result<T>,
    ) -> Result<T, TokensFault> {
        let done = Directory::at(&self.directory).and_then(|files| work(&files, &key.name()));
        done.map_err(|source| self.fault(key, source))
    }

    fn fault(&self, key: &Key, source: io::Error) -> TokensFault {
        TokensFault { path: self.directory.join(key.name()).display().to_string(), source }
    }
}
