//! Tests of approval questions to an MCP client, in each protocol era, and of the refusal without one.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server_process::{McpFixture, McpServerProcess, result_text, stateless_meta};

const DANGEROUS: &str = "rm -rf x; echo done it";

fn call() -> Value {
    json!({ "name": "shell_command", "arguments": { "command": DANGEROUS } })
}

fn form_answer(answer: &str) -> Value {
    json!({ "action": "accept", "content": { "answer": answer } })
}

#[test]
fn a_client_that_shows_forms_is_asked_while_the_call_waits() {
    for (answer, runs, says) in [
        (form_answer("yes"), true, "done it"),
        (form_answer("no"), false, "denied by the user"),
        // No person reads a question in a few milliseconds.
        (json!({ "action": "decline" }), false, "no person answered: the client declined it unseen"),
        (json!({ "action": "cancel" }), false, "no person answered: the client declined it unseen"),
        (form_answer("maybe"), false, "the client's answer is none of the choices"),
    ] {
        let world = McpFixture::new();
        let mut server = world.serve_initialized(&[], &json!({ "elicitation": {} }));
        let id = server.request("tools/call", &call());
        let asked = server.next_message();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let message = asked["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("Toolgate asks: may shell_command run this?"), "{message}");
        assert_eq!(message.lines().nth(2), Some(format!("  │ {DANGEROUS}").as_str()), "{message}");
        let fields = asked["params"]["requestedSchema"]["properties"].as_object().unwrap();
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["answer"], "one field, so one key answers");
        let result = server.answer_form(&asked, &answer);
        assert_eq!((&result["id"], result["result"]["isError"] == false), (&json!(id), runs), "{answer}");
        assert!(result_text(&result["result"]).contains(says), "{answer}: {result}");
    }
}

#[test]
fn truncated_form_cannot_be_approved() {
    let world = McpFixture::new();
    let mut server =
        world.serve_initialized(&["--sandbox", "workspace-write"], &json!({ "elicitation": {} }));
    let padding = "echo an ordinary step of the build\n".repeat(240);
    let command = format!("rm -rf build\n{padding}touch payload\n");
    server.request("tools/call", &json!({ "name": "shell_command", "arguments": { "command": command } }));
    let asked = server.next_message();
    let params = &asked["params"];
    assert!(
        params["message"].as_str().unwrap().contains("`toolgate approve` in another terminal"),
        "{asked}"
    );
    let answers = &params["requestedSchema"]["properties"]["answer"]["enum"];
    assert_eq!(*answers, json!(["no", "no, and the model should wait"]));
    server.answer(&asked, &form_answer("yes"));
    let result = server.next_message()["result"].clone();
    assert!(result_text(&result).contains("too long for the client's form"), "{result}");
    assert!(!world.work.path().join("payload").exists());
}

#[test]
fn session_approval_is_asked_once() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&[], &json!({ "elicitation": { "form": {} } }));
    server.request("tools/call", &call());
    let asked = server.next_message();
    let yes = form_answer("yes for exactly this until the server ends");
    assert!(result_text(&server.answer_form(&asked, &yes)["result"]).contains("done it"));
    assert!(result_text(&server.ask("tools/call", &call())["result"]).contains("done it"));
}

#[test]
fn cancelled_question_does_not_block_other_calls() {
    let world = McpFixture::new();
    let mut server = world.serve_initialized(&[], &json!({ "elicitation": {} }));
    let id = server.request("tools/call", &call());
    let asked = server.next_message();
    assert_eq!(asked["method"], "elicitation/create");
    server.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
    );
    let next = server.request("tools/call", &json!({ "name": "list_dir", "arguments": { "path": "." } }));
    // The client is told that the question is cancelled.
    let said = [server.next_message(), server.next_message()];
    let answer = said.iter().find(|said| said["id"] == next).expect("the next call is answered");
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let told = said.iter().find(|said| said["method"] == "notifications/cancelled");
    assert_eq!(told.expect("the client is told")["params"]["requestId"], asked["id"]);
}

/// Makes the call in the stateless era, and returns the result.
fn call_stateless(server: &mut McpServerProcess, capabilities: &Value, more: &[(&str, Value)]) -> Value {
    let mut params = call();
    params["_meta"] = stateless_meta(capabilities);
    for (name, value) in more {
        params[*name] = value.clone();
    }
    server.ask("tools/call", &params)
}

#[test]
fn stateless_client_retries_with_the_answer() {
    let forms = json!({ "elicitation": {} });
    for (answer, runs) in [("yes", true), ("no", false)] {
        let world = McpFixture::new();
        let mut server = world.serve(&[]);
        let began = Instant::now();
        let asked = call_stateless(&mut server, &forms, &[])["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (name, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(request["method"], "elicitation/create");
        let state = ("requestState", asked["requestState"].clone());
        // A request without an answer gets the question again, under a new state.
        let again = call_stateless(&mut server, &forms, std::slice::from_ref(&state))["result"].clone();
        assert_eq!(again["resultType"], "input_required", "{again}");
        let used = call_stateless(&mut server, &forms, &[state]);
        assert_eq!(used["error"]["code"], -32602, "{used}");
        let answers = |name: &str| ("inputResponses", json!({ name: form_answer(answer) }));
        let state = |asked: &Value| ("requestState", asked["requestState"].clone());
        let mut done = call_stateless(&mut server, &forms, &[state(&again), answers(name)]);
        let is_asked_again = done["result"]["resultType"] == "input_required";
        // The machine may be slower than a person.
        assert!(!is_asked_again || runs, "a no is not asked again: {done}");
        assert!(is_asked_again || !runs || began.elapsed() > Duration::from_millis(300), "{done}");
        if is_asked_again {
            let asked = done["result"].clone();
            let name = asked["inputRequests"].as_object().unwrap().keys().next().unwrap();
            done = call_stateless(&mut server, &forms, &[state(&asked), answers(name)]);
        }
        assert_eq!(done["result"]["isError"], !runs, "{done}");
        assert_eq!(done["result"]["resultType"], "complete");
        assert_eq!(result_text(&done["result"]).contains("done it"), runs, "{done}");
    }
}

#[test]
fn stateless_answer_is_bound_to_its_question() {
    let world = McpFixture::new();
    let mut server = world.serve(&[]);
    let forms = json!({ "elicitation": {} });
    for name in ["approval", "approval-1", "approval-"] {
        let eager =
            call_stateless(&mut server, &forms, &[("inputResponses", json!({ name: form_answer("yes") }))]);
        assert_eq!(eager["result"]["resultType"], "input_required", "{eager}");
        // Only one question is open at a time, so this one is answered first.
        let request = eager["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let state = ("requestState", eager["result"]["requestState"].clone());
        let other = json!({ "command": "rm -rf y" });
        let answers = ("inputResponses", json!({ request.as_str(): form_answer("yes") }));
        let forged = call_stateless(&mut server, &forms, &[state.clone(), answers, ("arguments", other)]);
        assert_eq!(forged["error"]["code"], -32602, "{forged}");
        let no = ("inputResponses", json!({ request.as_str(): form_answer("no") }));
        assert_eq!(call_stateless(&mut server, &forms, &[state, no])["result"]["isError"], true);
    }
}

#[test]
fn client_without_forms_gets_an_explained_refusal() {
    let world = McpFixture::new();
    let refused = "no approver is available, so it was refused";
    let mut server = world.serve_initialized(&[], &json!({}));
    let result = server.ask("tools/call", &call())["result"].clone();
    assert!(result_text(&result).contains(refused) && result["isError"] == true, "{result}");
    let mut server = world.serve(&[]);
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } }), json!({ "sampling": {} })] {
        let result = call_stateless(&mut server, &capabilities, &[])["result"].clone();
        assert!(result_text(&result).contains(refused) && result["isError"] == true, "{result}");
    }
}
