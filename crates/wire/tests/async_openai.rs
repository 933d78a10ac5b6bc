//! Compatibility with async-openai: its types accept our JSON, and our readers accept its JSON.

mod samples;
mod talk;

use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls, ChatCompletionRequestMessage,
    ChatCompletionTools, CreateChatCompletionRequest, CreateChatCompletionStreamResponse, FunctionCall,
};
use async_openai::types::responses::{
    CreateResponse, CustomToolCall, FunctionToolCall, InputItem, Item, LocalShellExecAction,
    LocalShellToolCall, OutputItem, OutputStatus, ResponseStreamEvent, Tool,
};
use samples::{calls, outputs, specs};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tool::{LocalShellCall, ToolCall, ToolPayload};
use toolgate_wire::{ApiCompat, Dialect, FreeformDeclaration, IntegerSpelling, ParsedCall};

/// Asserts that `json` survives a round trip through `T`, which would lose an unknown field.
fn survives<T: DeserializeOwned + Serialize>(json: &Value) {
    let read: T = serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(&serde_json::to_value(read).expect("it was JSON"), json);
}

#[test]
fn tools_are_taken() {
    let specs = specs();
    let specs: Vec<_> = specs.iter().collect();
    let plain = ApiCompat { integers: IntegerSpelling::AsNumber, freeform: FreeformDeclaration::Function };
    for style in [ApiCompat::default(), plain] {
        Dialect::Responses.tools(&specs, &style).as_array().unwrap().iter().for_each(survives::<Tool>);
        Dialect::Chat
            .tools(&specs, &style)
            .as_array()
            .unwrap()
            .iter()
            .for_each(survives::<ChatCompletionTools>);
    }
}

#[test]
fn answers_are_taken() {
    for call in calls() {
        for output in outputs() {
            Dialect::Responses.answer(&call, &output).iter().for_each(survives::<Item>);
            Dialect::Chat.answer(&call, &output).iter().for_each(survives::<ChatCompletionRequestMessage>);
        }
    }
}

/// Returns the value without `null`s: some of the types add them, others drop ours.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(without_nulls).collect(),
        Value::Object(map) => {
            let fields = map.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn passes<T: DeserializeOwned + Serialize>(json: &Value) {
    let read: T = serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error}: {json}"));
    let written = serde_json::to_value(read).expect("it was JSON");
    assert_eq!(without_nulls(written), without_nulls(json.clone()));
}

#[test]
fn requests_are_taken() {
    let body = talk::sample_request(Dialect::Responses);
    body["input"].as_array().unwrap().iter().for_each(passes::<InputItem>);
    passes::<CreateResponse>(&body);
    passes::<CreateChatCompletionRequest>(&talk::sample_request(Dialect::Chat));
}

fn read(dialect: Dialect, json: &impl Serialize) -> Vec<ParsedCall> {
    dialect.call_reader().push(&serde_json::to_value(json).expect("the types are JSON"))
}

#[test]
fn items_are_read() {
    let function: FunctionToolCall =
        serde_json::from_value(json!({"name": "read", "arguments": "{}", "call_id": "call_1", "id": "fc_1"}))
            .unwrap();
    let custom: CustomToolCall =
        serde_json::from_value(json!({"name": "patch", "input": "x", "call_id": "call_2", "id": "ctc_1"}))
            .unwrap();
    let action = LocalShellExecAction {
        command: vec!["ls".into()],
        timeout_ms: Some(5),
        working_directory: Some("/w".into()),
        ..Default::default()
    };
    let (call_id, id) = ("call_3".to_owned(), "lsh_1".to_owned());
    let shell = LocalShellToolCall { action, call_id, id, status: OutputStatus::Completed };

    let call = ToolCall::function("call_1", "read", "{}");
    assert_eq!(read(Dialect::Responses, &OutputItem::FunctionCall(function)), [ParsedCall::Call(call)]);
    let payload = ToolPayload::Custom { input: "x".to_owned() };
    let call = ToolCall { id: "call_2".into(), name: "patch".to_owned(), payload };
    assert_eq!(read(Dialect::Responses, &OutputItem::CustomToolCall(custom)), [ParsedCall::Call(call)]);
    let shell_call = LocalShellCall {
        command: vec!["ls".to_owned()],
        workdir: Some("/w".to_owned()),
        timeout_ms: Some(5),
        ..LocalShellCall::default()
    };
    let payload = ToolPayload::LocalShell(shell_call);
    let call = ToolCall { id: "call_3".into(), name: "local_shell".to_owned(), payload };
    assert_eq!(read(Dialect::Responses, &OutputItem::LocalShellCall(shell)), [ParsedCall::Call(call)]);
}

#[test]
fn stream_events_are_read() {
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"});
    let event =
        json!({"type": "response.output_item.done", "output_index": 0, "sequence_number": 3, "item": item});
    let event: ResponseStreamEvent = serde_json::from_value(event).unwrap();
    assert_eq!(
        read(Dialect::Responses, &event),
        [ParsedCall::Call(ToolCall::function("call_1", "read", "{}"))]
    );
}

#[test]
fn chat_calls_and_chunks_are_read() {
    let function = FunctionCall { name: "read".to_owned(), arguments: "{}".to_owned() };
    let call = ChatCompletionMessageToolCalls::Function(ChatCompletionMessageToolCall {
        id: "call_1".to_owned(),
        function,
    });
    let expected = [ParsedCall::Call(ToolCall::function("call_1", "read", "{}"))];
    assert_eq!(read(Dialect::Chat, &call), expected);

    let piece = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let choice = json!({"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": "tool_calls"});
    let chunk = json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
    let chunk: CreateChatCompletionStreamResponse = serde_json::from_value(chunk).unwrap();
    assert_eq!(read(Dialect::Chat, &chunk), expected);
}
