//! Published servers of both protocol eras: starts them, lists their tools and calls one.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make real files, and may unwrap")]

#[path = "support/call.rs"]
mod call;
#[path = "support/program.rs"]
mod program;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{node, python};
use toolgate_mcp::{McpClientDeps, McpServers, ServerHealth};

use call::{call, read};
use program::program;

/// Generous, because starting Node is slow on a machine that also builds.
const LIMIT: Duration = Duration::from_secs(60);

fn of_node(package: &str, arguments: &[&str]) -> Vec<OsString> {
    let script = node::package_script(&format!("@modelcontextprotocol/{package}/dist/index.js"));
    let program = [node::node_binary().into_os_string(), script.into_os_string()];
    program.into_iter().chain(arguments.iter().map(Into::into)).collect()
}

fn of_python(module: &str, arguments: &[&str]) -> Vec<OsString> {
    let program = [python::interpreter().into_os_string(), "-m".into(), module.into()];
    program.into_iter().chain(arguments.iter().map(Into::into)).collect()
}

/// Starts a server, checks that it speaks `era`, calls its tool, and returns the text for the model.
async fn called(command: Vec<OsString>, era: &str, tool: &str, arguments: &Value) -> String {
    let servers = McpServers::start(vec![program("real", command, LIMIT)], &McpClientDeps::default());
    servers.wait_until_settled(None).await;
    match servers.health().remove(0).1 {
        ServerHealth::Ready { about, left_out, .. } => {
            assert_eq!((about.protocol.as_str(), left_out), (era, Vec::new()));
        }
        other => panic!("{other:?}"),
    }
    read(&call(&servers, &toolgate_mcp::alias("real", tool), arguments).await)
}

#[tokio::test]
async fn calls_the_everything_server() {
    let command = of_node("server-everything", &["stdio"]);
    let said = called(command.clone(), "2025-11-25", "get-sum", &json!({"a": 2, "b": 3})).await;
    assert!(said.contains('5'), "{said}");
    let said = called(command, "2025-11-25", "get-tiny-image", &json!({})).await;
    assert!(said.contains("<image/png of"), "{said}");
}

#[tokio::test]
async fn calls_the_filesystem_server() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("note.txt"), "hello from a file").unwrap();
    let path = directory.path().canonicalize().unwrap();
    let arguments = json!({"path": path.join("note.txt")});
    let command = of_node("server-filesystem", &[&path.to_string_lossy()]);
    let said = called(command, "2025-11-25", "read_text_file", &arguments).await;
    assert!(said.contains("hello from a file"), "{said}");
}

#[tokio::test]
async fn calls_the_time_server() {
    let command = of_python("mcp_server_time", &["--local-timezone", "UTC"]);
    let said = called(command, "2026-07-28", "get_current_time", &json!({"timezone": "UTC"})).await;
    assert!(said.contains("UTC"), "{said}");
}

#[tokio::test]
async fn calls_the_git_server() {
    let directory = tempfile::tempdir().unwrap();
    let repository = |path: &Path| {
        let git = Command::new("git").args(["init", "-q", "-b", "trunk"]).arg(path).status().unwrap();
        assert!(git.success());
        path.to_string_lossy().into_owned()
    };
    let path = repository(directory.path());
    let command = of_python("mcp_server_git", &["--repository", &path]);
    let said = called(command, "2026-07-28", "git_status", &json!({"repo_path": path})).await;
    assert!(said.contains("trunk"), "{said}");
}
