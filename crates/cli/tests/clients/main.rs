//! `toolgate mcp` as real clients meet it: the official SDKs for Python and TypeScript, and the inspector.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;
use tempfile::TempDir;
use testkit::{Workspace, node, python};

const TOOLGATE: &str = env!("CARGO_BIN_EXE_toolgate");

/// A place with one file, and a home.
fn desk() -> (Workspace, TempDir) {
    let w = Workspace::new();
    w.file("a.txt", "one\ntwo\n");
    (w, tempfile::tempdir().unwrap())
}

fn here(name: &str) -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients")).join(name)
}

/// What a program of Node's prints; it must end well.
fn of_node(arguments: &[&Path], more: &[&str], home: &Path) -> String {
    let ran = Command::new(node::node()).args(arguments).args(more).env("HOME", home).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    out.into_owned()
}

#[test]
fn the_python_client_in_every_way_that_it_speaks() {
    let (w, home) = desk();
    let env = json!({"HOME": home.path(), "PATH": "/usr/local/bin:/usr/bin:/bin"});
    let given = json!({"command": TOOLGATE, "cwd": w.path(), "env": env});
    assert_snapshot!(python::run(&here("python.py"), &given.to_string()), @r#"
    {"mode": "auto", "has_tools": true, "read": "1| one\n2| two", "exit_code": 0, "steps": true, "asked": true}
    {"mode": "legacy", "has_tools": true, "read": "1| one\n2| two", "exit_code": 0, "steps": true, "asked": true}
    {"mode": "2026-07-28", "has_tools": true, "read": "1| one\n2| two", "exit_code": 0, "steps": true, "asked": true}
    "#);
}

#[test]
fn the_typescript_client_of_both_majors() {
    let (w, home) = desk();
    let (packages, script) = (node::installed(), here("typescript.mjs"));
    let arguments = [&*script, &packages, Path::new(TOOLGATE), &w.path(), home.path()];
    assert_snapshot!(of_node(&arguments, &[], home.path()), @r#"
    {"name":"v1","has_tools":true,"read":"1| one\n2| two","failed":true,"exit_code":3}
    {"name":"v2","has_tools":true,"read":"1| one\n2| two","failed":true,"exit_code":3}
    "#);
}

#[test]
fn the_inspector() {
    let (w, home) = desk();
    let launcher = node::script("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let cwd = w.path();
    for era in ["legacy", "modern"] {
        let call = ["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=a.txt"];
        let server = [TOOLGATE, "mcp", "--cwd", cwd.to_str().unwrap()];
        let words = [&["--cli", "--protocol-era", era][..], &server, &call].concat();
        let told = of_node(&[&launcher], &words, home.path());
        assert!(told.contains("1| one"), "{era}: {told}");
    }
}
