//! Tests of `toolgate mcp` with real clients: the official SDKs for Python and TypeScript, the inspector, Codex and Claude Code.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod agents;

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;
use tempfile::TempDir;
use testkit::{TestWorkspace, node, python};

const TOOLGATE: &str = env!("CARGO_BIN_EXE_toolgate");

/// Returns a workspace with one file, and a home.
fn desk() -> (TestWorkspace, TempDir) {
    let w = TestWorkspace::new();
    w.write_file("a.txt", "one\ntwo\n");
    (w, tempfile::tempdir().unwrap())
}

fn here(name: &str) -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients")).join(name)
}

/// Returns the output of a Node program, which must succeed.
fn of_node(arguments: &[&Path], more: &[&str], home: &Path) -> String {
    let ran =
        Command::new(node::node_binary()).args(arguments).args(more).env("HOME", home).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    out.into_owned()
}

#[test]
fn python_sdk_works_in_every_mode() {
    let (w, home) = desk();
    let env = json!({"HOME": home.path(), "PATH": "/usr/local/bin:/usr/bin:/bin"});
    let given = json!({"command": TOOLGATE, "cwd": w.path(), "env": env});
    assert_snapshot!(python::run_script(&here("python.py"), &given.to_string()), @r#"
    {"mode": "auto", "has_tools": true, "read": "1| one\n2| two", "exit_code": 0, "steps": true, "asked": true}
    {"mode": "legacy", "has_tools": true, "read": "1| one\n2| two", "exit_code": 0, "steps": true, "asked": true}
    {"mode": "2026-07-28", "has_tools": true, "read": "1| one\n2| two", "exit_code": 0, "steps": true, "asked": true}
    "#);
}

#[test]
fn typescript_sdk_works_in_both_major_versions() {
    let (w, home) = desk();
    let (packages, script) = (node::node_modules_dir(), here("typescript.mjs"));
    let arguments = [&*script, &packages, Path::new(TOOLGATE), &w.path(), home.path()];
    assert_snapshot!(of_node(&arguments, &[], home.path()), @r#"
    {"name":"v1","has_tools":true,"read":"1| one\n2| two","failed":true,"exit_code":3}
    {"name":"v2","has_tools":true,"read":"1| one\n2| two","failed":true,"exit_code":3}
    "#);
}

#[test]
fn inspector_calls_a_tool_in_both_eras() {
    let (w, home) = desk();
    let launcher = node::package_script("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let cwd = w.path();
    for era in ["legacy", "modern"] {
        let call = ["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=a.txt"];
        let server = [TOOLGATE, "mcp", "--cwd", cwd.to_str().unwrap()];
        let words = [&["--cli", "--protocol-era", era][..], &server, &call].concat();
        let told = of_node(&[&launcher], &words, home.path());
        assert!(told.contains("1| one"), "{era}: {told}");
    }
}
