//! Tests of `toolgate acp`: the real binary over pipes, real tools and sandbox, and the official Python SDK.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

mod editor;

use std::fs;
use std::path::Path;

use editor::{AcpFixture, call_item, message_item, patch_item};
use serde_json::{Value, json};
use testkit::python;

const REJECT: &str = "denied";
const ALLOW: &str = "approved";

fn selected(option: &str) -> Value {
    json!({"outcome": "selected", "optionId": option})
}

#[test]
fn a_prompt_streams_what_is_said_and_done_and_ends() {
    let steps = json!([{"id": "1", "description": "look", "status": "in_progress"}]);
    let desk = AcpFixture::with_turns(&[
        json!([{"type": "message", "text": "Looking."}, {"type": "function_call", "name": "update_plan", "arguments": {"steps": steps}}]),
        call_item("read_file", &json!({"path": "a.txt", "start_line": 2})),
        message_item("It says two."),
    ]);
    desk.workspace.write_file("a.txt", "one\ntwo\n");
    let mut editor = desk.start_editor(&[]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "what does a.txt say?");
    assert_eq!(editor.wait_for_response(id)["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(editor.message_text(), "Looking.It says two.");
    let entries = json!([{"content": "look", "priority": "medium", "status": "in_progress"}]);
    assert_eq!(editor.updates_of_kind("plan")[0]["entries"], entries);
    let begun = editor.updates_of_kind("tool_call");
    assert_eq!(begun.len(), 1, "a plan is no call for people: {begun:?}");
    assert_eq!(
        (&begun[0]["title"], &begun[0]["kind"], &begun[0]["status"]),
        (&json!("Read a.txt"), &json!("read"), &json!("pending"))
    );
    assert_eq!(begun[0]["locations"], json!([{"path": desk.file_path("a.txt"), "line": 2}]));
    let states: Vec<&Value> =
        editor.updates_of_kind("tool_call_update").into_iter().map(|update| &update["status"]).collect();
    assert_eq!(states, ["in_progress", "completed"]);
    let ended = editor.updates_of_kind("tool_call_update")[1];
    assert_eq!(ended["content"][0]["content"]["text"], "```\n2| two\n[lines 2-2 of 2]\n```", "{ended}");
    assert!(editor.updates_of_kind("usage_update").len() >= 3);
    assert_eq!(editor.disconnect(), Some(0));
}

#[test]
fn a_patch_is_a_diff_of_whole_files() {
    let desk = AcpFixture::with_turns(&[
        patch_item(
            "*** Update File: a.txt\n@@\n-two\n+three\n*** Add File: new/b.txt\n+new\n*** Delete File: old.txt\n",
        ),
        message_item("done"),
    ]);
    desk.workspace.write_file("a.txt", "one\ntwo\n").write_file("old.txt", "old\n");
    let mut editor = desk.start_editor(&[]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "go");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    let call = editor.updates_of_kind("tool_call")[0];
    assert_eq!((&call["kind"], &call["title"]), (&json!("edit"), &json!("Edit a.txt, new/b.txt, old.txt")));
    let diffs = json!([
        {"type": "diff", "path": desk.file_path("a.txt"), "oldText": "one\ntwo\n", "newText": "one\nthree\n"},
        {"type": "diff", "path": desk.file_path("new/b.txt"), "oldText": null, "newText": "new\n"},
        {"type": "diff", "path": desk.file_path("old.txt"), "oldText": "old\n", "newText": ""},
    ]);
    let updates = editor.updates_of_kind("tool_call_update");
    assert_eq!(updates.first().unwrap()["content"], diffs, "before it is applied");
    let last = updates.last().unwrap();
    assert_eq!((&last["status"], &last["content"]), (&json!("completed"), &diffs));
    assert_eq!(fs::read_to_string(desk.file_path("a.txt")).unwrap(), "one\nthree\n");
}

#[test]
fn a_patch_shows_nothing_of_a_file_that_may_not_be_read() {
    let desk = AcpFixture::with_turns(&[
        patch_item("*** Update File: .env\n@@\n-KEY=hidden\n+KEY=other\n"),
        message_item("done"),
    ]);
    desk.workspace.write_file(".env", "PASSWORD=do-not-tell\nKEY=hidden\n");
    let mut editor = desk.start_editor(&[]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "go");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    let updates = Value::Array(editor.updates.clone()).to_string();
    assert!(!updates.contains("do-not-tell") && updates.contains("failed"), "{updates}");
}

#[test]
fn a_shell_that_is_not_offered_can_be_called() {
    let item = json!({"type": "local_shell_call", "action": {"command": ["echo", "by another name"]}});
    let desk = AcpFixture::with_turns(&[
        json!([item]),
        call_item("shell", &json!({"command": ["echo", "x"]})),
        message_item("done"),
    ]);
    let mut editor = desk.start_editor(&[]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "go");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    let done = editor
        .updates_of_kind("tool_call_update")
        .into_iter()
        .filter(|update| update["status"] == "completed")
        .count();
    assert_eq!(done, 2);
}

#[test]
fn a_patch_through_a_shell_is_a_diff_too() {
    let script = "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\nEOF\n";
    let desk =
        AcpFixture::with_turns(&[call_item("exec_command", &json!({"cmd": script})), message_item("done")]);
    desk.workspace.write_file("a.txt", "one\n");
    let mut editor = desk.start_editor(&[]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "go");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    let update = editor.updates_of_kind("tool_call_update")[0];
    assert_eq!((&update["kind"], &update["content"][0]["oldText"]), (&json!("delete"), &json!("one\n")));
    assert!(!desk.file_path("a.txt").exists());
}

#[test]
fn a_command_is_seen_while_it_runs() {
    let script = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second";
    let desk = AcpFixture::with_turns(&[
        call_item("exec_command", &json!({"cmd": script, "yield_time_ms": 30000})),
        message_item("done"),
    ]);
    let mut editor = desk.start_editor(&[]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "go");
    let text =
        |update: &Value| update["content"][0]["content"]["text"].as_str().unwrap_or_default().to_owned();
    editor.wait_for_update(|update| text(update) == "```\nfirst\n```");
    desk.workspace.write_file("go", "");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    let updates = editor.updates_of_kind("tool_call_update");
    let last = updates.last().unwrap();
    assert_eq!(last["status"], "completed");
    assert!(text(last).contains("first\nsecond"), "{last}");
}

#[test]
fn editor_answers_approve_or_reject_a_call() {
    let desk = AcpFixture::with_turns(&[
        patch_item("*** Update File: a.txt\n@@\n-one\n+two\n"),
        call_item("exec_command", &json!({"cmd": "touch made"})),
        message_item("done"),
    ]);
    desk.workspace.write_file("a.txt", "one\n");
    let mut editor = desk.start_editor(&["--approval", "untrusted"]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "go");
    let asked = editor.answer_question(&selected(REJECT));
    assert_eq!(asked["sessionId"], session.as_str());
    assert_eq!(asked["toolCall"]["toolCallId"], editor.updates_of_kind("tool_call")[0]["toolCallId"]);
    let diff =
        json!({"type": "diff", "path": desk.file_path("a.txt"), "oldText": "one\n", "newText": "two\n"});
    let content = asked["toolCall"]["content"].as_array().unwrap();
    assert!(content.contains(&diff), "{content:?}");
    let kinds: Vec<&Value> =
        asked["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert!(kinds.contains(&&json!("allow_once")) && kinds.contains(&&json!("allow_always")), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&&json!("reject_once")));
    let asked = editor.answer_question(&selected(ALLOW));
    let content = asked["toolCall"]["content"].to_string();
    assert!(content.contains("```sh\\ntouch made\\n```"), "{content}");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    let ends: Vec<&Value> =
        editor.updates_of_kind("tool_call_update").into_iter().map(|update| &update["status"]).collect();
    let ends: Vec<&&Value> =
        ends.iter().filter(|status| **status == "failed" || **status == "completed").collect();
    assert_eq!(ends, [&"failed", &"completed"]);
    assert_eq!(fs::read_to_string(desk.file_path("a.txt")).unwrap(), "one\n");
    assert!(desk.file_path("made").exists());
}

#[test]
fn unoffered_answer_is_a_rejection() {
    let touch = |name: &str| call_item("exec_command", &json!({"cmd": format!("touch {name}")}));
    let desk = AcpFixture::with_turns(&[touch("a"), touch("b"), message_item("done")]);
    let mut editor = desk.start_editor(&["--approval", "untrusted"]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "go");
    editor.answer_question(&selected("everything"));
    let question = editor.next_message();
    let fault =
        json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "what?"}});
    editor.write_line(&fault.to_string());
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    assert!(!desk.file_path("a").exists() && !desk.file_path("b").exists());
}

#[test]
fn a_turn_is_cancelled_while_a_command_runs_and_while_a_question_is_open() {
    let long = call_item("exec_command", &json!({"cmd": "echo up; sleep 600", "yield_time_ms": 30000}));
    let desk = AcpFixture::with_turns(&[
        long,
        call_item("exec_command", &json!({"cmd": "touch made"})),
        message_item("done"),
    ]);
    let mut editor = desk.start_editor(&[]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "go");
    editor.wait_for_update(|update| update.to_string().contains("up\\n"));
    let queued = editor.send_prompt(&session, "and then this");
    editor.notify("session/cancel", &json!({"sessionId": session}));
    let mut ends = [editor.next_message(), editor.next_message()];
    ends.sort_by_key(|end| end["id"].as_u64());
    assert_eq!(ends.each_ref().map(|end| end["id"].as_u64().unwrap()), [id, queued]);
    assert!(ends.iter().all(|end| end["result"]["stopReason"] == "cancelled"), "{ends:?}");
    assert_eq!(editor.updates_of_kind("tool_call_update").last().unwrap()["status"], "failed");

    editor.request("session/set_mode", &json!({"sessionId": session, "modeId": "ask"}));
    let id = editor.send_prompt(&session, "again");
    let asked = editor.answer_question(&json!({"outcome": "cancelled"}));
    assert!(asked.to_string().contains("Ask first"), "{asked}");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "cancelled");
    assert!(!desk.file_path("made").exists());
}

#[test]
fn modes_only_tighten_and_hold_from_the_next_call_on() {
    let desk = AcpFixture::with_turns(&[
        call_item("exec_command", &json!({"cmd": "touch made"})),
        message_item("done"),
    ]);
    let mut editor = desk.start_editor(&[]);
    let answer = editor.request("session/new", &json!({"cwd": desk.workspace.path(), "mcpServers": []}));
    let modes = &answer["result"]["modes"];
    assert_eq!(modes["currentModeId"], "configured");
    let session = answer["result"]["sessionId"].as_str().unwrap();
    let wrong = editor.request("session/set_mode", &json!({"sessionId": session, "modeId": "yolo"}));
    assert_eq!(
        wrong["error"]["message"],
        "the params do not fit at `modeId`: there are `configured`, `ask`, `read-only`"
    );
    editor.request("session/set_mode", &json!({"sessionId": session, "modeId": "read-only"}));
    let id = editor.send_prompt(session, "go");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.updates_of_kind("tool_call_update").last().unwrap()["status"], "failed");
    assert!(!desk.file_path("made").exists());
}

#[test]
fn a_session_is_loaded_with_all_that_was_said() {
    let said = json!([
        {"type": "message", "text": "Looking."},
        {"type": "function_call", "name": "read_file", "arguments": {"path": "a.txt"}},
    ]);
    let desk = AcpFixture::with_turns(&[said, message_item("One.")]);
    desk.workspace.write_file("a.txt", "one\n");
    let mut editor = desk.start_editor(&[]);
    let session = desk.new_session(&mut editor);
    let id = editor.send_prompt(&session, "what does it say?");
    editor.wait_for_response(id);
    assert_eq!(editor.disconnect(), Some(0));

    desk.set_script(&[message_item("Still one.")]);
    let mut editor = desk.start_editor(&[]);
    let listed = editor.request("session/list", &json!({"cwd": desk.workspace.path()}));
    let listed = &listed["result"]["sessions"][0];
    assert_eq!((&listed["sessionId"], &listed["title"]), (&json!(session), &json!("what does it say?")));
    let workplace = json!({"sessionId": session, "cwd": desk.workspace.path(), "mcpServers": []});
    let loaded = editor.request("session/load", &workplace);
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "configured", "{loaded}");
    let told: Vec<(&str, &str)> = editor
        .updates
        .iter()
        .map(|update| {
            let text = update["content"]["text"].as_str().or(update["title"].as_str());
            (update["sessionUpdate"].as_str().unwrap(), text.or(update["status"].as_str()).unwrap())
        })
        .collect();
    let expected = [
        ("user_message_chunk", "what does it say?"),
        ("agent_message_chunk", "Looking."),
        ("tool_call", "Read a.txt"),
        ("tool_call_update", "completed"),
        ("agent_message_chunk", "One."),
    ];
    assert_eq!(told, expected);
    editor.updates.clear();
    let id = editor.send_prompt(&session, "really?");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.message_text(), "Still one.");
    let gone = editor
        .request("session/load", &json!({"sessionId": "20200101-000000-0000", "cwd": "/", "mcpServers": []}));
    assert_eq!(gone["error"]["code"], -32002, "{gone}");
}

#[test]
fn servers_of_the_editor_are_servers_of_the_session() {
    let desk = AcpFixture::with_turns(&[
        call_item("mcp__My-tools__read_file", &json!({"path": "a.txt"})),
        message_item("done"),
    ]);
    desk.workspace.write_file("a.txt", "from the server\n");
    let mut editor = desk.start_editor(&[]);
    // A confined server can reach it there, wherever the checkout lies.
    let toolgate = testkit::WorldExecutableCopy::new(env!("CARGO_BIN_EXE_toolgate"));
    let server = json!({"name": "My tools", "command": toolgate.path(), "args": ["mcp"], "env": []});
    let answer =
        editor.request("session/new", &json!({"cwd": desk.workspace.path(), "mcpServers": [server]}));
    let session = answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let id = editor.send_prompt(session, "go");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    let last = editor.updates_of_kind("tool_call_update").last().unwrap().to_string();
    assert!(last.contains("from the server") && last.contains("completed"), "{last}");
}

#[test]
fn an_editor_that_leaves_ends_what_runs_and_the_journal_says_so() {
    let asking = call_item("exec_command", &json!({"cmd": "touch made"}));
    let running = call_item("exec_command", &json!({"cmd": "echo up; sleep 600", "yield_time_ms": 30000}));
    for (turn, more) in [(asking, &["--approval", "untrusted"][..]), (running, &[])] {
        let desk = AcpFixture::with_turns(&[turn]);
        let mut editor = desk.start_editor(more);
        let session = desk.new_session(&mut editor);
        editor.send_prompt(&session, "go");
        if more.is_empty() {
            editor.wait_for_update(|update| update.to_string().contains("up\\n"));
        } else {
            editor.next_message();
        }
        assert_eq!(editor.disconnect(), Some(0));
        let journal = desk.home.path().join(format!(".local/state/toolgate/sessions/{session}.jsonl"));
        let journal = fs::read_to_string(journal).unwrap();
        assert!(journal.contains(r#""kind":"interrupted""#), "{journal}");
        assert!(journal.lines().last().unwrap().contains("the editor left"), "{journal}");
        assert!(!desk.file_path("made").exists());
    }
}

#[test]
fn malformed_requests_get_errors_and_the_session_survives() {
    let desk = AcpFixture::with_turns(&[message_item("hello")]);
    let mut editor = desk.start_editor(&[]);
    let session = desk.new_session(&mut editor);
    for (line, code) in [
        ("{", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":"x","method":"session/promt","params":null}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"sessionId":1}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"sessionId":"no","prompt":[]}}"#,
            -32002,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"here","mcpServers":[]}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"/nowhere","mcpServers":[]}}"#,
            -32603,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"x"}]}}"#,
            -32602,
        ),
    ] {
        editor.write_line(line);
        let answer = editor.next_message();
        assert_eq!(answer["error"]["code"], code, "{line} {answer}");
    }
    let empty = editor.request("session/prompt", &json!({"sessionId": session, "prompt": []}));
    assert_eq!(empty["error"]["message"], "the params do not fit at `prompt`: there is nothing in it");
    editor.notify("session/cancel", &json!({"sessionId": "no"}));
    editor.notify("_zed/unknown", &json!({}));
    editor.write_line(r#"{"jsonrpc":"2.0","id":999,"result":{}}"#);
    let id = editor.send_prompt(&session, "hello?");
    assert_eq!(editor.wait_for_response(id)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.message_text(), "hello");
}

#[test]
fn initialize_is_required_and_negotiates_the_version() {
    let desk = AcpFixture::with_turns(&[]);
    let ran = |lines: &str| {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_toolgate"))
            .args(desk.start_args(&[]))
            .env("HOME", desk.home.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        serde_json::from_slice::<Value>(&out.stdout).unwrap()
    };
    let early =
        ran(r#"{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#);
    assert_eq!(early["error"]["message"], "say who you are first, with `initialize`");
    let newer = ran(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":7}}"#);
    assert_eq!(newer["result"]["protocolVersion"], 1);
    assert_eq!(newer["result"]["agentCapabilities"]["loadSession"], true);
}

#[test]
fn the_official_sdk_drives_it() {
    let desk = AcpFixture::with_turns(&[
        json!([
            {"type": "message", "text": "Patching."},
            {"type": "custom_tool_call", "name": "apply_patch",
             "input": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n"},
        ]),
        call_item("exec_command", &json!({"cmd": "touch made"})),
        message_item("Done."),
        call_item("exec_command", &json!({"cmd": "touch other"})),
    ]);
    desk.workspace.write_file("a.txt", "one\n");
    let script = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp/sdk.py"));
    let given = json!({
        "command": env!("CARGO_BIN_EXE_toolgate"), "args": desk.start_args(&["--approval", "untrusted"]),
        "cwd": desk.workspace.path(), "home": desk.home.path(),
    });
    let out = python::run_script(script, &given.to_string());
    insta::assert_snapshot!(desk.workspace.normalize(&out), @"
    initialize 1 toolgate True
    modes ['configured', 'ask', 'read-only']
    prompt end_turn
    AgentMessageChunk Patching.
    ToolCallStart edit pending Edit a.txt
    ToolCallProgress None ['diff']
    ToolCallProgress in_progress []
    ToolCallProgress completed ['diff']
    ToolCallStart execute pending Run touch made
    ToolCallProgress failed ['content']
    AgentMessageChunk Done.
    questions [['content', 'diff'], ['content', 'content']]
    cancel cancelled
    load ['UserMessageChunk', 'AgentMessageChunk', 'ToolCallStart', 'ToolCallProgress', 'ToolCallStart', 'ToolCallProgress', 'AgentMessageChunk', 'UserMessageChunk', 'ToolCallStart', 'ToolCallProgress']
    ");
    assert_eq!(fs::read_to_string(desk.file_path("a.txt")).unwrap(), "two\n");
    assert!(!desk.file_path("made").exists());
}
