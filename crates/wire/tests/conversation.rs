//! Tests conversation properties: one answer per call, one end per response, bounded sizes, one line per API error.

mod hostile;

use std::collections::BTreeSet;

use hostile::hostile_json;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use proptest::sample::select;
use proptest::{prop_assert, prop_assert_eq};
use serde_json::{Value, json};
use tool::{CallId, OutputImage, ToolOutput};
use toolgate_wire::{
    AssistantTurn, Dialect, ModelRequest, ModelStreamEvent, ReasoningMode, ResponseEnd, SerializedItem,
};

/// One turn: the model's output, the tool outputs in order of arrival, and an optional user message.
#[derive(Debug, Clone)]
struct GeneratedTurn {
    said: AssistantTurn,
    outputs: Vec<(CallId, ToolOutput)>,
    steering: Option<String>,
}

fn ids() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "c.1", "c:1", "d", "é"])
}

fn call() -> impl Strategy<Value = Value> {
    let payload = prop_oneof![
        "\\PC{0,9}".prop_map(|text| json!({ "arguments": text })),
        Just(json!({"arguments": "{\"a\":1}"})),
        "\\PC{0,9}".prop_map(|text| json!({ "input": text })),
        Just(json!({"command": ["ls"]})),
        Just(json!({"server": "s", "tool": "t", "arguments": "{}"})),
    ];
    let name = select(vec!["read", "functions.read", "", "é"]);
    (ids(), name, payload).prop_map(|(id, name, payload)| json!({"id": id, "name": name, "payload": payload}))
}

fn piece() -> impl Strategy<Value = Value> {
    let what = prop_oneof![
        "\\PC{0,9}".prop_map(|text| json!({ "text": text })),
        call().prop_map(|call| json!({ "call": call })),
        call().prop_map(|call| json!({ "unread": call, "why": "why" })),
        Just(json!({"lost": "no id"})),
        Just(json!({})),
    ];
    let thought = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"});
    let raw = prop_oneof![
        hostile_json(),
        Just(thought),
        Just(json!({"type": "message", "id": "m", "role": "assistant", "content": []}))
    ];
    (what, option::of(raw)).prop_map(|(mut what, raw)| {
        let bare = what == json!({});
        if let Some(raw) = raw.or(bare.then(|| json!({}))) {
            what["raw"] = raw;
        }
        what
    })
}

fn any_turn() -> impl Strategy<Value = AssistantTurn> {
    let saved = (select(Dialect::ALL.to_vec()), vec(piece(), 0..6)).prop_map(|(dialect, pieces)| {
        let saved = json!({"dialect": dialect.as_str(), "pieces": pieces});
        AssistantTurn::from_saved_json(&saved).unwrap_or_else(|fault| panic!("{fault}: {saved}"))
    });
    let heard = (select(Dialect::ALL.to_vec()), vec(hostile_json(), 0..8)).prop_map(|(dialect, stream)| {
        let mut decoder = dialect.stream_decoder();
        stream.iter().for_each(|json| drop(decoder.push(json)));
        decoder.finish();
        decoder.into_turn()
    });
    prop_oneof![saved, heard]
}

fn turn() -> impl Strategy<Value = GeneratedTurn> {
    let picture = OutputImage { mime: "image/png", bytes: vec![1] };
    let output =
        select(vec![ToolOutput::text("ok"), ToolOutput::failure(""), ToolOutput::image("see", picture)]);
    let outputs = vec((ids().prop_map(CallId::from), output), 0..6);
    (any_turn(), outputs, option::of("\\PC{0,5}")).prop_map(|(said, outputs, steering)| GeneratedTurn {
        said,
        outputs,
        steering,
    })
}

/// Returns the items of the request that follows the turns.
fn history(dialect: Dialect, turns: &[GeneratedTurn]) -> Vec<Value> {
    let mut items = vec![dialect.user_message("go", &[])];
    for turn in turns {
        items.extend(dialect.assistant_turn(&turn.said));
        items.extend(dialect.turn_replies(&turn.said, turn.outputs.iter().map(|(id, output)| (id, output))));
        items.extend(turn.steering.as_deref().map(|text| dialect.user_message(text, &[])));
    }
    let entries: Vec<SerializedItem> = items.iter().map(|item| dialect.serialize_item(item)).collect();
    let request = ModelRequest {
        model: "m",
        instructions: "",
        items: &entries,
        tools: "[]",
        max_output_tokens: None,
        cache_key: None,
        reasoning: ReasoningMode::Keep,
    };
    let body: Value = serde_json::from_str(&dialect.request_body(&request)).expect("a request is JSON");
    let list = if dialect == Dialect::Responses { &body["input"] } else { &body["messages"] };
    list.as_array().expect("it has a list").clone()
}

/// The role of a history item in the pairing of calls and answers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HistoryStep {
    Call(String),
    Answer(String),
    /// An item before which every call must have its answer.
    Bar,
}

fn steps(dialect: Dialect, item: &Value) -> Vec<HistoryStep> {
    match dialect {
        Dialect::Responses => step(item, "call_id").into_iter().collect(),
        Dialect::Chat if item["role"] == "tool" => vec![HistoryStep::Answer(text(item, "tool_call_id"))],
        Dialect::Chat => {
            let calls = item["tool_calls"].as_array().into_iter().flatten();
            [HistoryStep::Bar]
                .into_iter()
                .chain(calls.map(|call| HistoryStep::Call(text(call, "id"))))
                .collect()
        }
        Dialect::Anthropic => {
            let bar = (item["role"] == "assistant").then_some(HistoryStep::Bar);
            let blocks = item["content"].as_array().expect("content is blocks").iter();
            bar.into_iter().chain(blocks.filter_map(|block| step(block, "tool_use_id"))).collect()
        }
    }
}

/// Classifies an item of Responses or a block of Anthropic.
fn step(item: &Value, answers: &str) -> Option<HistoryStep> {
    match item["type"].as_str() {
        Some("function_call" | "custom_tool_call" | "local_shell_call") => {
            Some(HistoryStep::Call(text(item, "call_id")))
        }
        Some("tool_use") => Some(HistoryStep::Call(text(item, "id"))),
        Some("function_call_output" | "custom_tool_call_output" | "tool_result") => {
            Some(HistoryStep::Answer(text(item, answers)))
        }
        Some("message") if item["role"] == "user" => Some(HistoryStep::Bar),
        Some(_) | None => None,
    }
}

fn text(item: &Value, field: &str) -> String {
    item[field].as_str().unwrap_or_else(|| panic!("no `{field}` in {item}")).to_owned()
}

/// Returns the first violation of the pairing, if any.
fn unpaired(dialect: Dialect, items: &[Value]) -> Option<String> {
    let mut open = BTreeSet::new();
    for step in items.iter().flat_map(|item| steps(dialect, item)).chain([HistoryStep::Bar]) {
        let fine = match &step {
            HistoryStep::Call(id) => open.insert(id.clone()),
            HistoryStep::Answer(id) => open.remove(id),
            HistoryStep::Bar => open.is_empty(),
        };
        if !fine {
            return Some(format!("{step:?} while {open:?} are open"));
        }
    }
    let users = |pair: &[Value]| pair.iter().all(|message| message["role"] == "user");
    let apart = dialect != Dialect::Anthropic || !items.windows(2).any(users);
    (!apart).then(|| "two user messages in a row".to_owned())
}

fn id(event: &ModelStreamEvent) -> Option<CallId> {
    match event {
        ModelStreamEvent::Call(call) => Some(call.id.clone()),
        ModelStreamEvent::Fault(fault) => fault.id().cloned(),
        ModelStreamEvent::Text(_)
        | ModelStreamEvent::Thought(_)
        | ModelStreamEvent::Hosted { .. }
        | ModelStreamEvent::Usage(_)
        | ModelStreamEvent::End(_) => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_has_exactly_one_answer(turns in vec(turn(), 0..4)) {
        for dialect in Dialect::ALL {
            let history = history(dialect, &turns);
            prop_assert_eq!(unpaired(dialect, &history), None, "{}: {:#?}", dialect, history);
        }
    }

    #[test]
    fn any_json_is_heard_to_one_end(stream in vec(hostile_json(), 0..12), kept in 0..12usize) {
        for dialect in Dialect::ALL {
            let mut listener = dialect.stream_decoder();
            let mut heard: Vec<ModelStreamEvent> = stream.iter().take(kept).flat_map(|json| listener.push(json)).collect();
            heard.extend(listener.finish());
            heard.extend(stream.iter().flat_map(|json| listener.push(json)));
            let ends = heard.iter().filter(|heard| matches!(heard, ModelStreamEvent::End(_))).count();
            prop_assert_eq!(ends, 1, "{}", dialect);
            prop_assert!(matches!(heard.last(), Some(ModelStreamEvent::End(_))), "{}", dialect);
            let ids: Vec<CallId> = heard.iter().filter_map(id).collect();
            let unique: BTreeSet<&CallId> = ids.iter().collect();
            prop_assert_eq!(unique.len(), ids.len(), "{}", dialect);
            let said = listener.into_turn();
            prop_assert_eq!(said.calls().count() + said.unread_calls().count(), ids.len(), "{}", dialect);
            prop_assert_eq!(AssistantTurn::from_saved_json(&said.to_saved_json()), Ok(said), "{}", dialect);
        }
    }

    #[test]
    fn any_refusal_is_one_bounded_line(status in 0..700u16, body in "(\\PC|\\x1b|\n|sk-[a-z]{3}){0,90}", json in hostile_json()) {
        for dialect in Dialect::ALL {
            for body in [body.repeat(20), json.to_string(), json!({"error": {"message": body.repeat(20)}}).to_string()] {
                let error = dialect.http_error(status, Some(&body), &body);
                prop_assert!(error.message.chars().count() < 1000, "{}", error);
                prop_assert!(!error.message.chars().any(char::is_control), "{:?}", error.message);
            }
        }
    }
}

#[test]
fn a_response_without_end_is_ended() {
    let piece = "x".repeat(1 << 20);
    let events = [
        (
            Dialect::Responses,
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": piece}),
        ),
        (Dialect::Chat, json!({"choices": [{"index": 0, "delta": {"content": piece}}]})),
        (
            Dialect::Anthropic,
            json!({"type": "content_block_start", "content_block": {"type": "text", "text": piece}}),
        ),
    ];
    for (dialect, event) in events {
        let mut decoder = dialect.stream_decoder();
        let ended = (0..70).find_map(|_| {
            decoder.push(&event).pop().filter(|heard| matches!(heard, ModelStreamEvent::End(_)))
        });
        let Some(ModelStreamEvent::End(ResponseEnd::Failed(error))) = ended else {
            panic!("{dialect}: {ended:?}")
        };
        assert_eq!(
            error.to_string(),
            "the model's response is longer than 67108864 bytes; ask for less, or limit its output"
        );
    }
}

#[test]
fn a_response_of_too_many_calls_is_ended_and_runs_none_twice() {
    let mut decoder = Dialect::Responses.stream_decoder();
    let call = |at: usize| json!({"type": "response.output_item.done", "item": {"type": "function_call", "call_id": format!("c{at}"), "name": "t", "arguments": "{}"}});
    let events: Vec<ModelStreamEvent> =
        (0..5000).chain(0..5000).flat_map(|at| decoder.push(&call(at))).collect();
    let ids: Vec<CallId> = events.iter().filter_map(id).collect();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len());
    assert!(matches!(events.last(), Some(ModelStreamEvent::End(ResponseEnd::Failed(_)))));
    assert_eq!(decoder.into_turn().calls().count(), ids.len());
}
