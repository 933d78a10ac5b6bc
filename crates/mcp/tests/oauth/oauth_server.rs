//! A server with OAuth, a browser that logs in, and a caller of its tool.
#![expect(clippy::disallowed_methods, reason = "tests start real programs")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tool::BoxFuture;
use toolgate_mcp::{
    BrowserOpener, HttpTransport, McpClientDeps, McpServerConfig, McpServers, OAuthConfig, ServerHealth,
    ServerTransport, TokenStore,
};

use crate::call::{call, read};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oauth/server.py");

/// A server that requires authorization, in one of its modes.
pub(crate) struct OAuthTestServer {
    child: Child,
    pub(crate) base: String,
    pub(crate) state: tempfile::TempDir,
}

impl Drop for OAuthTestServer {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl OAuthTestServer {
    pub(crate) fn new(mode: &str) -> Self {
        let mut command = Command::new("python3");
        command.args([SCRIPT, mode]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let base = format!("http://127.0.0.1:{}", port.trim());
        Self { child, base, state: tempfile::tempdir().unwrap() }
    }

    /// Returns the configuration of the server, with a secret header.
    pub(crate) fn config(&self) -> McpServerConfig {
        let auth = OAuthConfig::new(Arc::new(TokenStore::in_state_dir(self.state.path())));
        let headers = vec![("x-api-key".to_owned(), "hush".to_owned())];
        let http =
            HttpTransport { headers, auth: Some(auth), ..HttpTransport::new(format!("{}/mcp", self.base)) };
        let mut server = McpServerConfig::new("o", ServerTransport::Http(http));
        (server.startup_timeout, server.tool_timeout) = (Duration::from_secs(20), Duration::from_secs(20));
        server
    }

    pub(crate) fn token_dir(&self) -> std::path::PathBuf {
        self.state.path().join("mcp-tokens")
    }

    /// Returns the requests it received at a path.
    pub(crate) async fn requests_to(&self, path: &str) -> Vec<Value> {
        let log = reqwest::get(format!("{}/log", self.base)).await.unwrap().bytes().await.unwrap();
        let log: Vec<Value> = serde_json::from_slice(&log).unwrap();
        log.into_iter().filter(|one| one["path"] == path).collect()
    }

    /// Returns the number of token refreshes.
    pub(crate) async fn refresh_count(&self) -> usize {
        let asked = self.requests_to("/token").await;
        asked.iter().filter(|one| one["form"]["grant_type"] == "refresh_token").count()
    }
}

/// A browser in which the user is logged in already.
#[derive(Default)]
pub(crate) struct LoggedInBrowser {
    pub(crate) opened: AtomicUsize,
    pub(crate) last: Mutex<String>,
}

impl BrowserOpener for LoggedInBrowser {
    fn open<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        address.clone_into(&mut self.last.lock());
        Box::pin(async move {
            // The content of the page does not matter.
            let _page = reqwest::get(address).await;
            Ok(())
        })
    }
}

/// Calls its tool; returns the text for the model, or the reason why the server failed.
pub(crate) async fn call_echo(server: McpServerConfig) -> String {
    let servers = McpServers::start(vec![server], &McpClientDeps::default());
    servers.wait_until_settled(None).await;
    match servers.health().remove(0).1 {
        ServerHealth::Failed(why) => why,
        _ => read(&call(&servers, "mcp__o__echo", &json!({})).await),
    }
}

/// Returns the only token file in a directory.
pub(crate) fn token_file(directory: &Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}
