//! The protocol's own conformance suite, against our client: all that each revision requires.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

#[path = "../examples/conformance_client.rs"]
mod client;

use std::env;
use std::process::{Command, ExitCode, Stdio};

use testkit::node;

const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// The suite starts this very program as the client.
fn main() -> ExitCode {
    if env::var_os("MCP_CONFORMANCE_SCENARIO").is_none() {
        testkit::run_trials(&[
            ("what_2026_07_28_requires", || requires("2026-07-28", 32)),
            ("what_2025_11_25_requires", || requires("2025-11-25", 18)),
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

fn requires(revision: &str, scenarios: usize) {
    let results = tempfile::tempdir().unwrap();
    let suite = Command::new(node::node())
        .arg(node::script(SUITE))
        .args(["client", "--requirements", revision, "--command"])
        .arg(env::current_exe().unwrap())
        .arg("--output-dir")
        .arg(results.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&suite.stdout);
    assert!(suite.status.success(), "{said}\n{}", String::from_utf8_lossy(&suite.stderr));
    let passed: Vec<&str> = said.lines().filter(|line| line.starts_with("✓ ")).collect();
    // One in which nothing was seen passes, too.
    let seen = passed.iter().filter(|line| !line.contains(": 0 passed")).count();
    assert!(seen >= scenarios, "{seen} of {scenarios} scenarios saw something:\n{said}");
}
