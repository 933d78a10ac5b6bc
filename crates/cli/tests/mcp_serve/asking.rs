//! Tests of approval questions to an MCP client, in each protocol era, and of the refusal without one.

use serde_json::{Value, json};

use crate::process::{McpServerProcess, McpFixture, meta, text};

const DANGEROUS: &str = "rm -rf x; echo done it";

fn call() -> Value {
    json!({ "name": "shell_command", "arguments": { "command": DANGEROUS } })
}

fn said(answer: &str) -> Value {
    json!({ "action": "accept", "content": { "answer": answer } })
}

#[test]
fn a_client_that_shows_forms_is_asked_while_the_call_waits() {
    for (answer, runs, says) in [
        (said("yes, once"), true, "done it"),
        (said("no"), false, "denied by the user"),
        (
            json!({ "action": "accept", "content": { "answer": "no", "note": "use git clean" } }),
            false,
            "use git clean",
        ),
        (json!({ "action": "decline" }), false, "denied by the user"),
        (json!({ "action": "cancel" }), false, "without an answer"),
        (said("maybe"), false, "not answered in a way that makes sense, so it was refused"),
    ] {
        let world = McpFixture::new();
        let mut server = world.greeted(&[], &json!({ "elicitation": {} }));
        let id = server.request("tools/call", &call());
        let asked = server.hear();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let message = asked["params"]["message"].as_str().unwrap();
        assert!(message.contains("may shell_command do this?") && message.contains(DANGEROUS), "{message}");
        server.answer(&asked, &answer.clone());
        let result = server.hear();
        assert_eq!((&result["id"], result["result"]["isError"] == false), (&json!(id), runs), "{answer}");
        assert!(text(&result["result"]).contains(says), "{answer}: {result}");
    }
}

#[test]
fn nobody_says_yes_to_what_a_form_does_not_show() {
    let world = McpFixture::new();
    let mut server = world.greeted(&["--sandbox", "workspace-write"], &json!({ "elicitation": {} }));
    let padding = "echo an ordinary step of the build\n".repeat(240);
    let command = format!("rm -rf build\n{padding}touch payload\n");
    server.request("tools/call", &json!({ "name": "shell_command", "arguments": { "command": command } }));
    let asked = server.hear();
    let params = &asked["params"];
    assert!(
        params["message"].as_str().unwrap().contains("`toolgate approve` in another terminal"),
        "{asked}"
    );
    let answers = &params["requestedSchema"]["properties"]["answer"]["enum"];
    assert_eq!(*answers, json!(["no", "no, and stop what else is asked"]));
    server.answer(&asked, &said("yes, once"));
    let result = server.hear()["result"].clone();
    assert!(text(&result).contains("too long for the client's form"), "{result}");
    assert!(!world.work.path().join("payload").exists());
}

#[test]
fn what_is_allowed_for_the_session_is_asked_once() {
    let world = McpFixture::new();
    let mut server = world.greeted(&[], &json!({ "elicitation": { "form": {} } }));
    server.request("tools/call", &call());
    let asked = server.hear();
    server.answer(&asked, &said("yes, and exactly this again until the server ends"));
    assert!(text(&server.hear()["result"]).contains("done it"));
    assert!(text(&server.ask("tools/call", &call())["result"]).contains("done it"));
}

#[test]
fn a_question_that_is_given_up_holds_up_nobody() {
    let world = McpFixture::new();
    let mut server = world.greeted(&[], &json!({ "elicitation": {} }));
    let id = server.request("tools/call", &call());
    let asked = server.hear();
    assert_eq!(asked["method"], "elicitation/create");
    server.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
    );
    let next = server.request("tools/call", &json!({ "name": "list_dir", "arguments": { "path": "." } }));
    // The client is told that the question is cancelled.
    let said = [server.hear(), server.hear()];
    let answer = said.iter().find(|said| said["id"] == next).expect("the next call is answered");
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let told = said.iter().find(|said| said["method"] == "notifications/cancelled");
    assert_eq!(told.expect("the client is told")["params"]["requestId"], asked["id"]);
}

/// Makes the call in the stateless era, and returns the result.
fn made(server: &mut McpServerProcess, capabilities: &Value, more: &[(&str, Value)]) -> Value {
    let mut params = call();
    params["_meta"] = meta(capabilities);
    for (name, value) in more {
        params[*name] = value.clone();
    }
    server.ask("tools/call", &params)
}

#[test]
fn in_the_stateless_era_the_client_comes_again() {
    let forms = json!({ "elicitation": {} });
    for (answer, runs) in [("yes, once", true), ("no", false)] {
        let world = McpFixture::new();
        let mut server = world.serve(&[]);
        let asked = made(&mut server, &forms, &[])["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (name, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(request["method"], "elicitation/create");
        let state = ("requestState", asked["requestState"].clone());
        // A request without an answer gets the question again, under a new state.
        let again = made(&mut server, &forms, std::slice::from_ref(&state))["result"].clone();
        assert_eq!(again["resultType"], "input_required", "{again}");
        let used = made(&mut server, &forms, &[state]);
        assert_eq!(used["error"]["code"], -32602, "{used}");
        let answers = ("inputResponses", json!({ name: said(answer) }));
        let done = made(&mut server, &forms, &[("requestState", again["requestState"].clone()), answers]);
        assert_eq!(done["result"]["isError"], !runs, "{done}");
        assert_eq!(done["result"]["resultType"], "complete");
        assert_eq!(text(&done["result"]).contains("done it"), runs, "{done}");
    }
}

#[test]
fn nobody_says_yes_before_they_were_asked_or_to_another_call() {
    let world = McpFixture::new();
    let mut server = world.serve(&[]);
    let forms = json!({ "elicitation": {} });
    for name in ["approval", "approval-1", "approval-"] {
        let eager = made(&mut server, &forms, &[("inputResponses", json!({ name: said("yes, once") }))]);
        assert_eq!(eager["result"]["resultType"], "input_required", "{eager}");
        // Only one question is open at a time, so this one is answered first.
        let request = eager["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let state = ("requestState", eager["result"]["requestState"].clone());
        let other = json!({ "command": "rm -rf y" });
        let answers = ("inputResponses", json!({ request.as_str(): said("yes, once") }));
        let forged = made(&mut server, &forms, &[state.clone(), answers, ("arguments", other)]);
        assert_eq!(forged["error"]["code"], -32602, "{forged}");
        let no = ("inputResponses", json!({ request.as_str(): said("no") }));
        assert_eq!(made(&mut server, &forms, &[state, no])["result"]["isError"], true);
    }
}

#[test]
fn who_cannot_be_asked_is_refused_in_a_sentence() {
    let world = McpFixture::new();
    let refused = "nobody can be asked here, so it was refused";
    let mut server = world.greeted(&[], &json!({}));
    let result = server.ask("tools/call", &call())["result"].clone();
    assert!(text(&result).contains(refused) && result["isError"] == true, "{result}");
    let mut server = world.serve(&[]);
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } }), json!({ "sampling": {} })] {
        let result = made(&mut server, &capabilities, &[])["result"].clone();
        assert!(text(&result).contains(refused) && result["isError"] == true, "{result}");
    }
}
