//! Tests of plain HTTP to model servers: private addresses by an explicit flag, public ones never.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod script_server;
mod support;

use std::fs;

use script_server::ScriptServerProcess;
use serde_json::json;
use support::{CommandRun, TestHome};

fn run(home: &TestHome, url: &str, more: &[&str]) -> CommandRun {
    let fixed = ["run", "--model", "m", "--json", "--base-url", url, "hello"];
    home.run(home.path(), &[&fixed, more].concat(), "")
}

#[test]
fn plain_http_to_other_machines_needs_the_flag_and_a_private_address() {
    let home = TestHome::new();
    let told = |url: &str, more: &[&str]| {
        let ran = run(&home, url, more);
        assert_eq!(ran.code, Some(2), "{url}: {}{}", ran.out, ran.err);
        ran.err
    };
    insta::assert_snapshot!(told("http://ollama:11434/v1", &[]), @"
    error: the base URL `http://ollama:11434/v1` would show your key and your files to everybody on the way: use https
    hint: a model server in your own network needs --insecure-http, or `insecure_http = true` in your configuration
    ");
    for url in [
        "http://93.184.216.34/v1", "http://[2606:4700::1111]/v1", "http://168.63.129.16/v1",
        "http://0.0.0.0/v1",
    ] {
        let told = told(url, &["--insecure-http"]);
        assert!(told.contains("use https") && told.contains("private addresses only"), "{url}: {told}");
    }
    // A project may not allow it.
    fs::write(home.path().join("toolgate.toml"), "insecure_http = true\n").unwrap();
    let project = told("http://ollama:11434/v1", &[]);
    assert!(project.contains("insecure_http"), "{project}");
}

#[test]
fn a_name_is_looked_up_and_its_private_address_is_asked() {
    let home = TestHome::new();
    let turn = json!({"items": [{"type": "message", "text": "hi"}]});
    let served = ScriptServerProcess::start(home.path(), &[turn.clone(), turn]);
    let url = served.url.replace("127.0.0.1", "localhost");
    assert_ne!(url, served.url);
    let ran = run(&home, &url, &["--insecure-http"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let config = home.path().join(".config/toolgate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "insecure_http = true\n").unwrap();
    let ran = run(&home, &url, &[]);
    assert_eq!((ran.code, served.requests().len()), (Some(0), 2), "{}{}", ran.out, ran.err);
}
