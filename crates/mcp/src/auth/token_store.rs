//! Store of OAuth tokens, in private files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use private_files::PrivateDir;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};

/// The directory below the state directory.
const TOKEN_DIRECTORY: &str = "mcp-tokens";
/// Bytes read of a token file at most.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Time limit for another process's lock, and the polling interval.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(25);
/// Tolerance for clock skew: a token counts as expired this many seconds early.
const CLOCK_SKEW_SECS: u64 = 60;

/// Stores tokens in one file for each pair of server and URL.
#[derive(Debug)]
pub struct TokenStore {
    directory: PathBuf,
}

/// The reason why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` cannot be used: {source}")]
pub struct TokenStoreFault {
    /// Path of the file.
    pub path: String,
    /// The cause.
    #[source]
    pub source: io::Error,
}

/// Key of a stored login: one server at one URL. A server of the same name at another URL has a different key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenKey {
    pub(crate) server: String,
    pub(crate) url: String,
}

impl TokenKey {
    fn file_name(&self) -> String {
        let hash = Sha256::new().chain_update(&self.server).chain_update([0]).chain_update(&self.url);
        let digits: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
        let plain: String = self.server.chars().filter(is_plain).take(32).collect();
        format!("{plain}-{digits}.json")
    }
}

/// A stored login: the token with its issuer, resource and client.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredLogin {
    pub(super) server: String,
    pub(super) url: String,
    /// The authorization server.
    pub(super) issuer: Option<String>,
    /// The resource that the token is for.
    pub(super) resource: String,
    /// Our client identity there.
    pub(super) client: StoredClient,
    /// The token; `None` if it was rejected.
    pub(super) token: Option<OAuthToken>,
    /// The server's challenge to an unauthenticated request, which names the authorization server.
    #[serde(default)]
    pub(super) challenge: Option<String>,
    /// Scopes that the server has found missing since.
    #[serde(default)]
    pub(super) wanted: Vec<String>,
}

/// Our client identity at the issuer.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) redirect: String,
}

/// An OAuth token.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct OAuthToken {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    /// Unix time of receipt, and lifetime in seconds.
    pub(super) received: u64,
    pub(super) lasts: Option<u64>,
    pub(super) scopes: Vec<String>,
}

impl OAuthToken {
    /// Returns whether the token has not expired by our clock. If the clock went back, the server decides.
    pub(super) fn is_fresh(&self) -> bool {
        let age = unix_now().saturating_sub(self.received);
        self.lasts.is_none_or(|lasts| age.saturating_add(CLOCK_SKEW_SECS) < lasts)
    }
}

pub(super) fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// An exclusive lock on the login of a server. It ends when this value is dropped, or with the process.
pub(super) struct TokenLock {
    _file: File,
}

impl TokenStore {
    /// Creates a store in its own directory below `state`.
    pub fn in_state_dir(state: &Path) -> Self {
        Self { directory: state.join(TOKEN_DIRECTORY) }
    }

    pub(super) fn load(&self, key: &TokenKey) -> Result<Option<StoredLogin>, TokenStoreFault> {
        let Some(bytes) = self.with_files(key, |files, name| files.read(name, MAX_FILE_BYTES))? else {
            return Ok(None);
        };
        let Ok(entry) = serde_json::from_slice::<StoredLogin>(&bytes) else {
            tracing::warn!(server = ?key.server, "what is kept for the server cannot be read; it has to be logged in to anew");
            return Ok(None);
        };
        Ok(Some(entry).filter(|entry| entry.server == key.server && entry.url == key.url))
    }

    pub(super) fn save(&self, entry: &StoredLogin) -> Result<(), TokenStoreFault> {
        let key = TokenKey { server: entry.server.clone(), url: entry.url.clone() };
        self.with_files(&key, |files, name| {
            let bytes = serde_json::to_vec_pretty(entry).map_err(io::Error::other)?;
            files.replace(name, &bytes)
        })
    }

    /// Updates the stored login of a server, if there is one.
    pub(super) fn update(
        &self,
        key: &TokenKey,
        change: impl FnOnce(&mut StoredLogin),
    ) -> Result<(), TokenStoreFault> {
        let Some(mut entry) = self.load(key)? else { return Ok(()) };
        change(&mut entry);
        self.save(&entry)
    }

    pub(super) fn remove(&self, key: &TokenKey) -> Result<(), TokenStoreFault> {
        self.with_files(key, |files, name| files.remove(name))
    }

    /// Waits for the lock on the login of a server, across processes.
    pub(super) async fn lock(&self, key: &TokenKey) -> Result<TokenLock, TokenStoreFault> {
        let until = Instant::now() + LOCK_TIMEOUT;
        // ends: when the lock is ours, or at the time limit
        loop {
            let lock = self.with_files(key, |files, name| files.lock_file(&format!("{name}.lock")))?;
            if let Some(file) = lock {
                return Ok(TokenLock { _file: file });
            }
            if Instant::now() > until {
                return Err(self.fault(key, io::Error::other("another process does not let go of it")));
            }
            sleep(LOCK_POLL_INTERVAL).await;
        }
    }

    fn with_files<T>(
        &self,
        key: &TokenKey,
        work: impl FnOnce(&PrivateDir, &str) -> io::Result<T>,
    ) -> Result<T, TokenStoreFault> {
        let done =
            PrivateDir::open_or_create(&self.directory).and_then(|files| work(&files, &key.file_name()));
        done.map_err(|source| self.fault(key, source))
    }

    fn fault(&self, key: &TokenKey, source: io::Error) -> TokenStoreFault {
        TokenStoreFault { path: self.directory.join(key.file_name()).display().to_string(), source }
    }
}
