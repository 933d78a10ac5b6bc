//! Runs the MCP conformance suite against our client and our server, with all requirements of each revision.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

#[path = "../examples/conformance_client.rs"]
mod client;
#[path = "../examples/conformance_server/fixtures/mod.rs"]
mod fixtures;

use std::env;
use std::net::TcpListener;
use std::process::{Command, ExitCode, Stdio};

use testkit::node;

const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// The suite starts this same program as the client.
fn main() -> ExitCode {
    if env::var_os("MCP_CONFORMANCE_SCENARIO").is_none() {
        testkit::run_trials(&[
            ("what_2026_07_28_requires_of_a_client", || of_a_client("2026-07-28", 32)),
            ("what_2025_11_25_requires_of_a_client", || of_a_client("2025-11-25", 18)),
            ("what_2026_07_28_requires_of_a_server", || of_a_server("2026-07-28", 37)),
            ("what_2025_11_25_requires_of_a_server", || of_a_server("2025-11-25", 30)),
        ]);
    }
    match client::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            client::tell(&format!("{error}"));
            ExitCode::FAILURE
        }
    }
}

fn of_a_client(revision: &str, scenarios: usize) {
    let command = env::current_exe().unwrap();
    requires(&["client", "--requirements", revision, "--command", command.to_str().unwrap()], scenarios);
}

fn of_a_server(revision: &str, scenarios: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.spawn(fixtures::serve(listener));
    requires(&["server", "--requirements", revision, "--url", &url], scenarios);
    runtime.shutdown_background();
}

/// Runs the suite, which must pass in at least `scenarios` scenarios.
fn requires(arguments: &[&str], scenarios: usize) {
    let results = tempfile::tempdir().unwrap();
    let suite = Command::new(node::node_binary())
        .arg(node::package_script(SUITE))
        .args(arguments)
        .arg("--output-dir")
        .arg(results.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&suite.stdout);
    assert!(suite.status.success(), "{said}\n{}", String::from_utf8_lossy(&suite.stderr));
    let passed: Vec<&str> = said.lines().filter(|line| line.starts_with("✓ ")).collect();
    // A scenario without any check counts as passed too.
    let seen = passed.iter().filter(|line| !line.contains(": 0 passed")).count();
    assert!(seen >= scenarios, "{seen} of {scenarios} scenarios saw something:\n{said}");
}
