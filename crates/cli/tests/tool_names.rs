//! Tests of tool names and forms: every name reaches its tool in every command, and rules count for all its names.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod script_server;
mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use script_server::ScriptServerProcess;
use serde_json::{Value, json};
use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

/// A call by each name, and a text in its answer.
fn names() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("shell", json!({"command": ["echo", "words"]}), "words"),
        ("shell", json!({"command": "echo a | tr a b", "with_escalated_permissions": false}), "b\n"),
        ("container.exec", json!({"command": ["echo", "words"], "timeout": 60000}), "words"),
        ("local_shell", json!({"command": ["echo", "words"]}), "words"),
        ("local_shell", json!({"command": "echo script", "request_permission_elevation": false}), "script"),
        ("shell_command", json!({"command": "echo script", "prefix_rule": ["echo"]}), "script"),
        ("shell_command", json!({"command": ["echo", "a  b"]}), "a  b"),
        (
            "shell",
            json!({"command": ["echo", "both"], "timeout": 60000, "timeout_ms": 60000, "with_escalated_permissions": false, "request_permission_elevation": false}),
            "both",
        ),
        ("exec_command", json!({"cmd": "echo script", "timeout": 60000, "prefix_rule": ["echo"]}), "script"),
        ("write_file", json!({"path": "new/b.txt", "content": "written\n"}), "A new/b.txt"),
        ("search", json!({"query": "writ+en"}), "new/b.txt"),
        ("search", json!({"pattern": "writ+en", "path": "new"}), "new/b.txt"),
        ("update_plan", json!({"plan": [{"step": "look"}]}), "Plan updated"),
        ("plan", json!({"plan": [{"step": "look"}]}), "Plan updated"),
        ("unified_exec", json!({"cmd": "echo script"}), "script"),
        ("local_shell_call", json!({"command": ["echo", "words"]}), "words"),
    ]
}

/// A `local_shell_call`, and a text in its answer.
fn actions() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"type": "exec", "command": ["echo", "words"], "env": {}}), "words"),
        (json!({"command": ["sh", "-c", "echo A=$A"], "env": {"A": "1"}}), "A=1"),
        (json!({"command": "pwd", "working_directory": "sub", "timeout_ms": 60000}), "/sub"),
        (json!({"command": ["true"], "user": "no-such-user"}), "leave `user` out"),
        (json!({"command": ["true"], "env": {"OPENAI_API_KEY": "x"}}), "`env.OPENAI_API_KEY`"),
        (json!({"command": ["true"], "colour": "red"}), "`colour`"),
        (json!({"command": ["true"], "with_escalated_permissions": false}), "Exit code: 0"),
    ]
}

fn workspace() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.write_file("sub/a.txt", "one\n");
    workspace
}

fn lines(ran: &CommandRun) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn check(said: &[String], expected: &[&str]) {
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
}

#[test]
fn a_model_calls_tools_by_every_name_in_every_dialect() {
    for wire in ["responses", "chat", "anthropic"] {
        let (home, workspace) = (TestHome::new(), workspace());
        let call = |(name, arguments, _): &(&str, Value, &str)| json!({"type": "function_call", "name": name, "arguments": arguments});
        let item = |(action, _): &(Value, &str)| json!({"type": "local_shell_call", "action": action});
        let items: Vec<Value> = names().iter().map(call).chain(actions().iter().map(item)).collect();
        let served = ScriptServerProcess::start(home.path(), &[json!({ "items": items })]);
        let args = ["run", "--base-url", &served.url, "--model", "m", "--wire", wire];
        let more = ["--sandbox", "workspace-write", "--json", "go"];
        let ran = home.run(&workspace.path(), &[&args[..], &more].concat(), "");
        let answered: Vec<Value> =
            lines(&ran).into_iter().filter(|event| event["type"] == "answer").collect();
        let said: Vec<String> =
            answered.iter().map(|event| event["text"].as_str().unwrap().to_owned()).collect();
        let expected: Vec<&str> =
            names().iter().map(|row| row.2).chain(actions().iter().map(|row| row.1)).collect();
        check(&said, &expected);
        // The model is offered only one of the shells.
        let told = served.requests()[0]["tools"].to_string();
        let offers = |name: &str| told.contains(&format!("\"name\":\"{name}\""));
        assert!(offers("exec_command") && offers("apply_patch"), "{told}");
        assert!(
            ["shell", "shell_command", "local_shell", "write_file", "search"]
                .iter()
                .all(|name| !offers(name))
        );
        // A hidden tool is not described either.
        assert!(
            !told.contains("prefix_rule")
                && !told.contains("with_escalated")
                && !told.contains("timeout_ms\":{\"description\":\"Milli")
        );
        // A replay offers the same tools.
        let again = home.run(&workspace.path(), &["replay", "last", "--json"], "");
        let differ = lines(&again).into_iter().filter(|line| line["outcome"] == "different");
        let shells = differ.filter(|line| line["tool"].as_str().unwrap().contains("shell"));
        assert_eq!(shells.collect::<Vec<_>>(), Vec::<Value>::new(), "{wire}");
    }
}

#[test]
fn calls_from_outside_reach_tools_by_every_name() {
    let (home, workspace) = (TestHome::new(), workspace());
    let call = |(name, arguments, _): &(&str, Value, &str)| {
        home.run(
            &workspace.path(),
            &["call", name, "--sandbox", "workspace-write", "--json", &arguments.to_string()],
            "",
        )
        .out
    };
    let expected: Vec<&str> = names().iter().map(|row| row.2).collect();
    check(&names().iter().map(call).collect::<Vec<_>>(), &expected);
    let (home, workspace) = (TestHome::new(), self::workspace());
    let item = |(name, arguments, _): &(&str, Value, &str)| json!({"type": "function_call", "call_id": "1", "name": name, "arguments": arguments.to_string()});
    let shell =
        |(action, _): &(Value, &str)| json!({"type": "local_shell_call", "call_id": "1", "action": action});
    let items = names().iter().map(item).chain(actions().iter().map(shell)).collect::<Vec<_>>();
    let items: String = items
        .into_iter()
        .zip(0..)
        .map(|(mut item, at)| {
            item["call_id"] = json!(at.to_string());
            format!("{item}\n")
        })
        .collect();
    let ran = home.run(&workspace.path(), &["pipe", "--sandbox", "workspace-write"], &items);
    let said: Vec<String> =
        lines(&ran).iter().map(|line| line["output"].as_str().unwrap().to_owned()).collect();
    let expected: Vec<&str> =
        names().iter().map(|row| row.2).chain(actions().iter().map(|row| row.1)).collect();
    check(&said, &expected);
}

#[test]
fn an_mcp_client_is_offered_one_shell_and_may_call_the_others() {
    let (home, workspace) = (TestHome::new(), workspace());
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["mcp", "--sandbox", "workspace-write"])
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut write, mut read) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut ask = |id: usize, method: &str, params: &Value| -> Value {
        writeln!(write, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .unwrap();
        // ends: with the answer, or with the server
        loop {
            let mut line = String::new();
            assert!(read.read_line(&mut line).unwrap() > 0, "the server has left");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    };
    let client = json!({"name": "t", "version": "1"});
    ask(1, "initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}));
    let listed = ask(2, "tools/list", &json!({}));
    let names_of: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names_of.contains(&"exec_command"), "{names_of:?}");
    assert!(!names_of.contains(&"shell") && !names_of.contains(&"shell_command"), "{names_of:?}");
    for (at, (name, arguments, expected)) in names().into_iter().enumerate() {
        let answer = ask(at + 3, "tools/call", &json!({"name": name, "arguments": arguments}));
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(expected), "{name}: {answer}");
    }
    drop(write);
    child.wait().unwrap();
}

#[test]
fn removed_tools_are_gone_and_one_shell_remains() {
    let (home, workspace) = (TestHome::new(), workspace());
    let config = home.path().join(".config/toolgate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[tools]\nwithout = [\"exec_command\"]\n").unwrap();
    let run = |args: &[&str]| home.run(&workspace.path(), args, "");
    let listed = run(&["tools"]).out;
    assert!(listed.contains("shell_command ") && !listed.contains("exec_command  "), "{listed}");
    let gone = run(&["call", "exec_command", "--json", r#"{"cmd":"true"}"#]);
    assert_eq!(gone.code, Some(2));
    assert!(gone.err.contains("did you mean `shell_command`?"), "{}", gone.err);
    assert_eq!(run(&["call", "shell", "--json", r#"{"command":["true"]}"#]).code, Some(0));
}

#[test]
fn a_configuration_may_name_tools_of_every_command() {
    let (home, workspace) = (TestHome::new(), workspace());
    let config = home.path().join(".config/toolgate");
    fs::create_dir_all(&config).unwrap();
    let read = |text: &str| {
        fs::write(config.join("config.toml"), text).unwrap();
        home.run(&workspace.path(), &["call", "read_file", "--json", r#"{"path":"sub/a.txt"}"#], "")
    };
    for name in [
        "remember", "spawn_agent", "read_mcp_resource", "tool_search", "mcp_call_tool", "local_shell_call",
        "mcp_*",
    ] {
        let ran = read(&format!("[tools]\nwithout = [\"{name}\"]\n"));
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        let hook = format!("[[hook]]\nname = \"h\"\ncommand = [\"true\"]\ntools = [\"{name}\"]\n");
        let ran = read(&hook);
        assert_eq!(ran.code, Some(0), "hook for {name}: {}", ran.err);
    }
    assert_eq!(read("[tools]\nwithout = [\"rember\"]\n").code, Some(2));
    fs::write(config.join("config.toml"), "").unwrap();
    for (name, expected) in [("get_memory", "`toolgate run`"), ("spawn_agent", "`toolgate run --agents`")] {
        let ran = home.run(&workspace.path(), &["call", name, "--json", "{}"], "");
        assert!(ran.err.contains("there is no tool") && ran.err.contains(expected), "{}", ran.err);
    }
}

#[test]
fn a_model_is_not_offered_a_local_shell_that_was_taken_away() {
    let (home, workspace) = (TestHome::new(), workspace());
    let config = home.path().join(".config/toolgate");
    fs::create_dir_all(&config).unwrap();
    for name in ["local_shell", "local_shell_call"] {
        fs::write(config.join("config.toml"), format!("[tools]\nwithout = [\"{name}\"]\n")).unwrap();
        let (shells, _) = forms(&home, &workspace, "codex-mini-latest");
        assert_eq!(shells, ["shell"], "{name}");
        let ran = home.run(&workspace.path(), &["call", "shell", "--json", r#"{"command":["true"]}"#], "");
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
}

/// Returns the forms in which `tools --model` shows a shell and `apply_patch`.
fn forms(home: &TestHome, workspace: &TestWorkspace, model: &str) -> (Vec<String>, String) {
    let ran = home.run(&workspace.path(), &["tools", "--model", model, "--json"], "");
    let tools: Vec<Value> = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    let name = |tool: &Value| tool["name"].as_str().unwrap_or("local_shell").to_owned();
    let shells = ["exec_command", "shell", "shell_command", "local_shell"];
    let patch = tools.iter().find(|tool| name(tool) == "apply_patch").unwrap()["type"].as_str().unwrap();
    let offered = tools.iter().map(name).filter(|name| shells.contains(&name.as_str()));
    (offered.collect(), patch.to_owned())
}

#[test]
fn tools_have_the_form_that_a_family_of_models_takes() {
    let (home, workspace) = (TestHome::new(), workspace());
    for (model, shell, patch) in [
        ("gpt-5", "exec_command", "custom"),
        ("gpt-5.1-codex", "exec_command", "custom"),
        ("codex-mini-latest", "local_shell", "function"),
        ("gpt-4.1", "exec_command", "function"),
        ("o3", "exec_command", "function"),
        ("my-llama", "exec_command", "function"),
    ] {
        assert_eq!(forms(&home, &workspace, model), (vec![shell.to_owned()], patch.to_owned()), "{model}");
    }
    let config = home.path().join(".config/toolgate");
    fs::create_dir_all(&config).unwrap();
    let text = "[tools]\nshell_type = \"shell_command\"\napply_patch_tool_type = \"function\"\n\n\
        [models.my]\nshell_type = \"default\"\n\n[models.my-own]\nuse_experimental_streamable_shell_tool = true\n\
        apply_patch_tool_type = \"freeform\"\n";
    fs::write(config.join("config.toml"), text).unwrap();
    for (model, shell, patch) in [
        ("gpt-5", "shell_command", "function"),
        ("my-llama", "shell", "function"),
        ("my-own-7b", "exec_command", "custom"),
    ] {
        assert_eq!(forms(&home, &workspace, model), (vec![shell.to_owned()], patch.to_owned()), "{model}");
    }
    // A project cannot choose the form.
    workspace.write_file("toolgate.toml", "[tools]\nshell_type = \"local\"\n");
    let ran = home.run(&workspace.path(), &["tools"], "");
    assert!(ran.err.contains("`tools.shell_type` belongs in your own file"), "{}", ran.err);
}

#[test]
fn another_server_gets_functions_only_whatever_its_model_is_called() {
    let (home, workspace) = (TestHome::new(), workspace());
    for model in ["gpt-5", "codex-mini-latest"] {
        let served = ScriptServerProcess::start(home.path(), &[]);
        let args = ["run", "--base-url", &served.url, "--model", model, "--json", "hi"];
        home.run(&workspace.path(), &args, "");
        let requests = served.requests();
        let tools = requests.last().unwrap()["tools"].as_array().unwrap().clone();
        assert!(tools.iter().all(|tool| tool["type"] == "function"), "{tools:?}");
        let closed = |tool: &&Value| tool["parameters"]["additionalProperties"] == json!(false);
        assert_eq!(tools.iter().filter(closed).count(), tools.len());
        // Every request pays for the tool descriptions.
        let bytes = Value::Array(tools).to_string().len();
        assert!(bytes < 9_000, "{bytes}");
    }
}

#[test]
fn a_timeout_has_a_kind_in_every_shell() {
    let (home, workspace) = (TestHome::new(), workspace());
    for (tool, arguments) in [
        ("shell", json!({"command": ["sleep", "60"], "timeout_ms": 100})),
        ("shell_command", json!({"command": "sleep 60", "timeout": 100})),
        ("exec_command", json!({"cmd": "sleep 60", "timeout": 100})),
    ] {
        let args = ["call", tool, "--output", "json", "--json", &arguments.to_string()];
        let ran = home.run(&workspace.path(), &args, "");
        let answer: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((&answer["error"], &answer["exit_code"]), (&json!("timed_out"), &json!(124)), "{tool}");
    }
}

#[test]
fn codex_forms_of_plans_and_questions_are_taken() {
    let (home, workspace) = (TestHome::new(), workspace());
    let ask = json!({"questions": [{"id": "q", "header": "H", "question": "Which?", "options": [{"label": "a", "description": "b"}]}]});
    let items = json!([
        {"type": "function_call", "name": "request_user_input", "arguments": ask},
        {"type": "custom_tool_call", "name": "update_plan", "input": "- [x] look\n- [>] mend\n3. test"},
    ]);
    let script = home.path().join("s.jsonl");
    fs::write(&script, format!("{}\n", json!({ "items": items }))).unwrap();
    let ran = home.run(&workspace.path(), &["run", "--script", script.to_str().unwrap(), "--json", "go"], "");
    let events = lines(&ran);
    let said: Vec<String> = events
        .iter()
        .filter(|event| event["type"] == "answer")
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect();
    check(&said, &["no user is present to answer", "Plan updated"]);
}

#[test]
fn the_last_chunk_of_a_chat_stream_may_have_no_delta() {
    let (home, workspace) = (TestHome::new(), workspace());
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["pipe", "--wire", "chat"])
        .current_dir(workspace.path())
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut write = child.stdin.take().unwrap();
    let function = json!({"name": "read_file", "arguments": "{\"path\":\"sub/a.txt\"}"});
    let call = json!([{"index": 0, "id": "call_123", "function": function}]);
    writeln!(write, "{}", json!({"choices": [{"delta": {"tool_calls": call}}]})).unwrap();
    writeln!(write, "{}", json!({"choices": [{"finish_reason": "tool_calls"}]})).unwrap();
    // The answer arrives while the input stays open.
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["content"], "1| one");
    drop(write);
    child.wait().unwrap();
}

/// Forbids the tool `name`, and returns the calls that still succeed.
fn allowed_beside(name: &str) -> Vec<&'static str> {
    let (home, workspace) = (TestHome::new(), workspace());
    let config = home.path().join(".config/toolgate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("rules.toml"), format!("[[rule]]\ntool = \"{name}\"\ndecision = \"forbid\"\n"))
        .unwrap();
    let calls = [
        ("exec_command", r#"{"cmd":"true"}"#),
        ("shell", r#"{"command":["true"]}"#),
        ("local_shell", r#"{"command":"true"}"#),
        ("container.exec", r#"{"command":["true"]}"#),
        ("shell_command", r#"{"command":"true"}"#),
        ("write_file", r#"{"path":"new.txt","content":"new\n"}"#),
        ("search", r#"{"pattern":"one"}"#),
    ];
    let runs = |(tool, arguments): &(&str, &str)| {
        let args = ["call", "--sandbox", "workspace-write", tool, "--json", arguments];
        home.run(&workspace.path(), &args, "").code == Some(0)
    };
    calls.iter().filter(|call| runs(call)).map(|(tool, _)| *tool).collect()
}

#[test]
fn what_is_forbidden_of_one_shell_is_forbidden_of_all() {
    for name in ["exec_command", "local_shell", "container.exec"] {
        assert_eq!(allowed_beside(name), ["write_file", "search"], "{name}");
    }
}

#[test]
fn a_rule_that_names_an_alias_counts_for_the_tool() {
    let shells = ["exec_command", "shell", "local_shell", "container.exec", "shell_command"];
    assert_eq!(allowed_beside("write_file"), [&shells[..], &["search"]].concat());
    assert_eq!(allowed_beside("search"), [&shells[..], &["write_file"]].concat());
}

#[test]
fn what_is_wrong_with_write_file_is_said_in_its_own_words() {
    let (home, workspace) = (TestHome::new(), workspace());
    let call = |arguments: Value| {
        let arguments = arguments.to_string();
        let args = ["call", "--sandbox", "workspace-write", "write_file", "--json", &arguments];
        let ran = home.run(&workspace.path(), &args, "");
        format!("{}{}", ran.out, ran.err)
    };
    for (arguments, missing) in [(json!({"path": "v.txt"}), "content"), (json!({}), "path")] {
        let said = call(arguments);
        assert!(said.contains(&format!("`{missing}` is missing")) && !said.contains("patch"), "{said}");
    }
    call(json!({"path": "n.txt", "content": "1\n"}));
    let said = call(json!({"path": "n.txt", "content": "1\n"}));
    assert!(said.contains("n.txt has this content already"), "{said}");
    workspace.write_file("toolgate.toml", "[tools]\nwithout = [\"write_file\"]\n");
    let said = call(json!({"path": "n.txt", "content": "1\n"}));
    assert!(said.contains("there is no tool `write_file`; did you mean `apply_patch`?"), "{said}");
}
