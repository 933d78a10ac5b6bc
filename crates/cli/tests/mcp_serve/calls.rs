//! Tests of listing and calling tools in both eras: answers, data, images, progress, cancellation and roots.

use serde_json::{Value, json};

use crate::server_process::{McpFixture, result_text, stateless_meta, wait_until_runs};

#[test]
fn the_older_era_lists_and_calls() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&[], &json!({}));
    let list = server.ask("tools/list", &json!({}))["result"].clone();
    let names: Vec<&str> =
        list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(
        names.is_sorted() && names.contains(&"read_file") && names.contains(&"exec_command"),
        "{names:?}"
    );
    assert_eq!(list.get("ttlMs"), None);
    assert_eq!(list.get("resultType"), None);
    let read = server.call("read_file", &json!({ "path": "a.txt" }));
    assert_eq!((result_text(&read), &read["isError"]), ("1| one\n2| two", &json!(false)));
    let (code, err) = server.disconnect();
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn without_a_required_server_no_call_is_made() {
    let world = McpFixture::new();
    let settings = world.home.path().join(".config/toolgate");
    std::fs::create_dir_all(&settings).unwrap();
    let required = "[mcp_servers.docs]\ncommand = \"no-such-program\"\nrequired = true\n";
    std::fs::write(settings.join("config.toml"), required).unwrap();
    let mut server = world.serve_initialized(&[], &json!({}));
    let read = server.call("read_file", &json!({ "path": "a.txt" }));
    assert!(read["isError"] == true && result_text(&read).contains("`docs` is required"), "{read}");
}

#[test]
fn the_stateless_era_needs_no_greeting() {
    let world = McpFixture::new();
    let mut server = world.serve(&[]);
    let none = stateless_meta(&json!({}));
    let found = server.ask("server/discover", &json!({ "_meta": none }))["result"].clone();
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    let list = server.ask("tools/list", &json!({ "_meta": none }))["result"].clone();
    assert_eq!((&list["resultType"], &list["cacheScope"]), (&json!("complete"), &json!("private")));
    assert!(list["ttlMs"].is_u64() && list["tools"].as_array().unwrap().len() > 5);
    let params = json!({ "_meta": none, "name": "read_file", "arguments": { "path": "a.txt" } });
    assert_eq!(result_text(&server.ask("tools/call", &params)["result"]), "1| one\n2| two");
    let bare = server.ask("tools/list", &json!({}));
    assert_eq!(bare["error"]["code"], -32602, "{bare}");
    assert_eq!(server.disconnect().0, Some(0));
}

#[test]
fn hints_say_what_a_tool_may_do() {
    let world = McpFixture::new();
    let list =
        world.serve_initialized(&[], &json!({})).ask("tools/list", &json!({}))["result"]["tools"].clone();
    let hint = |name: &str, hint: &str| {
        let tool = list.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        tool["annotations"][hint].as_bool().unwrap()
    };
    for (name, reads, destroys, open) in [
        ("read_file", true, false, false),
        ("grep_files", true, false, false),
        ("apply_patch", false, true, false),
        ("exec_command", false, true, true),
        ("kill_session", false, true, false),
    ] {
        let hints = ["readOnlyHint", "destructiveHint", "openWorldHint"].map(|one| hint(name, one));
        assert_eq!(hints, [reads, destroys, open], "{name}");
    }
    assert!(list.as_array().unwrap().iter().all(|tool| tool["title"].is_string()));
}

#[test]
fn a_model_reads_the_text_and_programs_find_the_data_beside_it() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&["--sandbox", "workspace-write"], &json!({}));
    let list = server.ask("tools/list", &json!({}))["result"]["tools"].clone();
    assert!(list.as_array().unwrap().iter().all(|tool| tool["outputSchema"].is_null()), "{list}");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** End Patch\n";
    for (tool, arguments, says, fact) in [
        ("grep_files", json!({ "pattern": "two" }), "two", ("matches", json!(1))),
        ("grep_files", json!({ "pattern": "nowhere" }), "", ("files", json!(0))),
        ("exec_command", json!({ "cmd": "echo hello; exit 3" }), "hello", ("exit_code", json!(3))),
        (
            "exec_command",
            json!({ "cmd": "exec sleep 7", "yield_time_ms": 10 }),
            "session",
            ("session_id", json!(null)),
        ),
        ("shell", json!({ "command": ["echo", "hello"] }), "hello", ("exit_code", json!(0))),
        ("shell_command", json!({ "command": "kill -9 $$" }), "", ("signal", json!(null))),
        ("apply_patch", json!({ "input": patch }), "a.txt", ("changes", json!(null))),
    ] {
        let result = server.call(tool, &arguments.clone());
        // A client that gets structured content shows the model one line of JSON instead of the text.
        assert!(result["structuredContent"].is_null(), "{tool}: {result}");
        assert!(result_text(&result).contains(says), "{tool}: {result}");
        let data = &result["_meta"]["toolgate/data"];
        assert!(!data[fact.0].is_null(), "{tool} {arguments}: {result}");
        // Some values differ in each run.
        assert!(fact.1.is_null() || data[fact.0] == fact.1, "{tool} {arguments}: {result}");
    }
    let listed = server.call("list_dir", &json!({ "path": "." }));
    assert!(listed["_meta"].is_null(), "{listed}");
}

#[test]
fn failures_are_errors_and_images_are_images() {
    let world = McpFixture::new();
    let png =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
    let mut server = world.serve_initialized(&["--sandbox", "workspace-write"], &json!({}));
    let made = server.call("shell_command", &json!({ "command": format!("echo {png} | base64 -d > p.png") }));
    assert_eq!(made["isError"], false, "{made}");
    let seen = server.call("view_image", &json!({ "path": "p.png" }));
    let picture = &seen["content"][1];
    assert_eq!((&picture["type"], &picture["mimeType"]), (&json!("image"), &json!("image/png")), "{seen}");
    for (tool, arguments, says) in [
        ("read_file", json!({ "path": "none.txt" }), "none.txt"),
        ("read_file", json!({ "path": 1 }), "path"),
        ("raed_file", json!({}), "read_file"),
        ("read_file", json!({ "path": "/etc/shadow" }), "/etc/shadow"),
    ] {
        let failed = server.call(tool, &arguments);
        assert_eq!(failed["isError"], true, "{failed}");
        assert!(result_text(&failed).contains(says), "{failed}");
    }
}

#[test]
fn a_command_tells_how_far_it_is_and_can_be_given_up() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&[], &json!({}));
    let marker = format!("31{}", std::process::id());
    let script = format!("echo begun; sleep {marker}");
    let call = json!({
        "name": "exec_command",
        "arguments": { "cmd": script, "yield_time_ms": 30000 },
        "_meta": { "progressToken": "how far" },
    });
    let id = server.request("tools/call", &call);
    let said = server.next_message();
    assert_eq!(said["method"], "notifications/progress", "{said}");
    let expected = json!({ "progressToken": "how far", "progress": 1.0, "message": "begun\n" });
    assert_eq!(said["params"], expected);
    wait_until_runs(&marker, true);
    let params = json!({ "requestId": id, "reason": "no longer wanted" });
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    // The next answer belongs to the next request: the cancelled call is not answered.
    let read = server.call("read_file", &json!({ "path": "a.txt" }));
    assert_eq!(result_text(&read), "1| one\n2| two");
    wait_until_runs(&marker, false);
}

#[test]
fn disconnect_leaves_no_process() {
    let world = McpFixture::new();
    let mut server = world.serve(&[]);
    let marker = format!("32{}", std::process::id());
    let arguments = json!({ "cmd": format!("echo begun; sleep {marker}"), "yield_time_ms": 30000 });
    let mut about = stateless_meta(&json!({}));
    about["progressToken"] = json!(1);
    server.request("tools/call", &json!({ "_meta": about, "name": "exec_command", "arguments": arguments }));
    assert_eq!(server.next_message()["params"]["message"], "begun\n");
    let (code, err) = server.disconnect();
    assert_eq!((code, err.as_str()), (Some(0), ""));
    wait_until_runs(&marker, false);
}

#[test]
fn a_client_chooses_where_to_work_below_what_it_may() {
    let world = McpFixture::new();
    world.work.write_file("sub/b.txt", "below\n");
    let elsewhere = McpFixture::new();
    elsewhere.work.write_file("c.txt", "elsewhere\n");
    let uri = |path: &std::path::Path| json!({ "uri": format!("file://{}", path.display()) });
    let allowed = elsewhere.work.path().display().to_string();
    for (args, root, file, found) in [
        (&[][..], world.work.path().join("sub"), "b.txt", true),
        (&[], elsewhere.work.path(), "c.txt", false),
        (&["--root", &allowed], elsewhere.work.path(), "c.txt", true),
        (&[], "/".into(), "etc/hostname", false),
    ] {
        let mut server = world.serve_initialized(args, &json!({ "roots": {} }));
        let call = json!({ "name": "read_file", "arguments": { "path": file } });
        let id = server.request("tools/call", &call);
        let asked = server.next_message();
        assert_eq!(asked["method"], "roots/list", "{asked}");
        server.answer(&asked, &json!({ "roots": [uri(&root)] }));
        let said: Value = server.next_message();
        assert_eq!((&said["id"], said["result"]["isError"] == false), (&json!(id), found), "{root:?} {said}");
        // The roots are requested only once.
        server.call("read_file", &json!({ "path": "a.txt" }));
        let (_, err) = server.disconnect();
        assert_eq!(err.contains("may not choose"), !found, "{err}");
    }
}

#[test]
fn the_instructions_say_what_commands_may_do() {
    for (flags, says) in [
        (
            &["--sandbox", "read-only", "--network", "off"][..],
            "change them only after an approval; network: none.",
        ),
        (
            &["--sandbox", "workspace-write"],
            "commands may change files in the workspace; network: their own loopback.",
        ),
        (&["--sandbox", "workspace-write", "--network", "on"], "network: every host."),
    ] {
        let world = McpFixture::new();
        let mut server = world.serve(flags);
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let hello = server.ask("initialize", &params);
        let instructions = hello["result"]["instructions"].as_str().unwrap();
        assert!(instructions.ends_with(says), "{instructions}");
    }
}

#[test]
fn the_last_line_of_a_failed_command_is_the_reason() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&["--sandbox", "workspace-write"], &json!({}));
    let failed = server.call("exec_command", &json!({ "cmd": "echo first; touch /etc/of-toolgate" }));
    assert_eq!(failed["isError"], true, "{failed}");
    let text = result_text(&failed);
    let last = text.lines().last().unwrap();
    assert!(last.contains("efused by the sandbox") && last.contains("`/etc/of-toolgate`"), "{text}");
    assert_eq!(text.matches("efused by the sandbox").count(), 1, "{text}");
}
