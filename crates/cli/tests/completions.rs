//! Tests of shell completions: the scripts, and a real bash that completes sessions, tools, servers and rule files.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod support;

use std::path::Path;
use std::process::Command;

use support::TestHome;
use testkit::TestWorkspace;

/// Presses Tab in bash after these words, and returns the candidates.
fn complete(home: &TestHome, workspace: &TestWorkspace, words: &[&str]) -> Vec<String> {
    let script = "source <(toolgate completions bash)\n\
        COMP_WORDS=(toolgate \"$@\"); COMP_CWORD=$#; COMP_TYPE=9\n\
        _clap_complete_toolgate toolgate \"${!#}\"\n\
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut path = Path::new(env!("CARGO_BIN_EXE_toolgate")).parent().unwrap().as_os_str().to_owned();
    path.push(":/usr/bin:/bin");
    let ran = Command::new("bash")
        .args(["--norc", "-c", script, "bash"])
        .args(words)
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", path)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "{words:?}");
    let text = String::from_utf8(ran.stdout).unwrap();
    text.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_shell_gets_a_script() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = home.run(&workspace.path(), &["completions", name], "");
        assert!(ran.out.contains("TOOLGATE_COMPLETE"), "{name}: {}", ran.err);
    }
}

#[test]
fn bash_completes_sessions_tools_servers_and_rules() {
    let (home, workspace) = (TestHome::new(), TestWorkspace::new());
    let run = |args: &[&str]| {
        let ran = home.run(&workspace.path(), args, "");
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        ran.out
    };
    workspace.write_file("script.jsonl", r#"{"items": [{"type": "message", "text": "hello"}]}"#);
    run(&["run", "--script", "script.jsonl", "greet me"]);
    run(&["mcp", "add", "mine", "--", "true"]);
    let rules = home.path().join(".config/toolgate/rules.toml");
    std::fs::write(&rules, "").unwrap();
    let session: serde_json::Value =
        serde_json::from_str(run(&["log", "--json"]).lines().next().unwrap()).unwrap();
    let id = session["id"].as_str().unwrap();

    let complete = |words: &[&str]| complete(&home, &workspace, words);
    assert_eq!(complete(&["run", "--resume", &id[..12]]), [id]);
    assert_eq!(complete(&["log", "la"]), ["last"]);
    assert_eq!(complete(&["call", "grep"]), ["grep_files"]);
    assert_eq!(complete(&["mcp", "remove", "m"]), ["mine"]);
    assert_eq!(
        complete(&["policy", "check", rules.to_str().unwrap()]).first().unwrap(),
        rules.to_str().unwrap()
    );
    assert_eq!(complete(&["mcp", "setup", "c"]), ["codex", "claude", "cursor"]);
    // An invalid configuration has no candidates, and prints nothing.
    std::fs::write(home.path().join(".config/toolgate/config.toml"), "sandbox = 7").unwrap();
    assert!(complete(&["call", "grep"]).is_empty());
}
