//! Tokens and other secrets never appear in logs, even at trace level.

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use toolgate_mcp::login;
use tracing_subscriber::fmt::MakeWriter;

use crate::oauth_server::{LoggedInBrowser, OAuthTestServer, call_echo};

/// A log in memory.
#[derive(Clone, Default)]
struct MemoryLog(Arc<Mutex<Vec<u8>>>);

impl Write for MemoryLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for MemoryLog {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_secret_is_logged() {
    let log = MemoryLog::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone());
    let _heard = tracing::subscriber::set_default(subscriber.finish());
    let place = OAuthTestServer::new("short");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    assert_eq!(call_echo(place.config()).await, "hi");
    assert_eq!(place.refresh_count().await, 1);
    let log = String::from_utf8_lossy(&log.0.lock()).into_owned();
    assert!(!log.is_empty());
    for secret in ["code-0", "access-0", "access-1", "refresh-0", "refresh-1", "hush", "identity-0"] {
        let line = log.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{secret}: {}", line.unwrap_or_default());
    }
}
