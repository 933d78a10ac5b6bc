//! Tests misbehaving HTTP servers: answers have size limits, and a closed stream is not reopened at once.
#![expect(clippy::disallowed_methods, reason = "tests start real programs")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolgate_mcp::{HttpTransport, McpClientDeps, McpServerConfig, McpServers, ServerTransport};

use crate::ENOUGH;
use crate::call::read;
use crate::hostile_server::call_echo;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile/web.py");

/// The server process in a mode. Dropping it kills the process.
struct HostileWebServer(Child);

impl Drop for HostileWebServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = (self.0.kill(), self.0.wait());
    }
}

fn served(mode: &str) -> (HostileWebServer, Arc<McpServers>) {
    let mut child = Command::new("python3")
        .args([SCRIPT, mode])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let mut server = McpServerConfig::new("h", ServerTransport::Http(HttpTransport::new(url)));
    (server.startup_timeout, server.tool_timeout) = (ENOUGH, ENOUGH * 4);
    (HostileWebServer(child), McpServers::start(vec![server], &McpClientDeps::default()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_over_http_has_bounds() {
    let rows = [
        ("honest", "hi"),
        ("bomb", "more than 16 MiB"),
        ("many", "more than 250000 values"),
        ("events-bomb", "more than 16 MiB"),
        ("events-many", "more than 250000 values"),
        ("refusal", "HTTP 400"),
    ];
    for (mode, words) in rows {
        let (_web, servers) = served(mode);
        let began = Instant::now();
        let said = read(&call_echo(&servers).await);
        assert!(said.contains(words), "{mode}: {said}");
        assert!(began.elapsed() < ENOUGH, "{mode} took {:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_closed_is_not_opened_in_a_hurry() {
    let (_web, servers) = served("hurries");
    servers.wait_until_settled(None).await;
    // The absence of reconnects has no event to wait for.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let opened: u32 = read(&call_echo(&servers).await).parse().unwrap();
    assert!((1..=4).contains(&opened), "{opened}");
}
