//! Compatibility with the real `openai` and `anthropic` packages: they accept our JSON, and we read their streams.

mod samples;
mod talk;

use std::path::Path;

use insta::assert_snapshot;
use samples::{calls, outputs, specs};
use serde_json::{Value, json};
use tool::{ToolCall, ToolOutput, ToolSpec};
use toolgate_wire::{ApiCompat, Dialect, ModelStreamEvent, ParsedCall, ResponseEnd};

#[test]
fn real_clients_take_what_we_write_and_we_read_what_they_stream() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python_clients.py");
    let told = testkit::python::run_script(&script, &ours().to_string());
    let read: Vec<String> = told.lines().map(|line| read(&serde_json::from_str(line).unwrap())).collect();
    assert_snapshot!(read.join("\n"), @r#"
    responses objects:
      call_1 read "{}"
      call_2 patch "x"
    chat objects:
      call_1 read "{}"
      call_2 patch "x"
    anthropic objects:
      toolu_1 read "{\"a\":1}"
    responses stream:
      call_1 read "{\"path\": \"\\u00e9\"}"
      call_2 patch "*** Begin\n"
      call_3 local_shell "{\"command\":[\"ls\"],\"timeout_ms\":5}"
    chat stream:
      call_0 read "{\"path\": \"a\"}"
      call_1 list "{}"
    anthropic stream:
      toolu_1 read "{\"path\": \"a\"}"
      toolu_2 list "{}"
    anthropic final message:
      toolu_1 read "{\"path\":\"a\"}"
      toolu_2 list "{}"
    responses request:
      call_1 read "{\"path\": \"\\u00e9\"}"
      call_2 patch "*** Begin\n"
      call_3 local_shell "{\"command\":[\"ls\"],\"timeout_ms\":5}"
    chat request:
      call_0 read "{\"path\": \"a\"}"
      call_1 list "{}"
    anthropic request:
      toolu_1 read "{\"path\": \"a\"}"
      toolu_2 list "{}"
    "#);
}

fn ours() -> Value {
    let (specs, calls, outputs) = (specs(), calls(), outputs());
    let specs: Vec<&ToolSpec> = specs.iter().collect();
    let pairs: Vec<(&ToolCall, &ToolOutput)> =
        calls.iter().flat_map(|call| outputs.iter().map(move |output| (call, output))).collect();
    let of = |dialect: Dialect| {
        let (tools, answers) =
            (dialect.tools(&specs, &ApiCompat::default()), dialect.answers(pairs.iter().copied()));
        (
            dialect.to_string(),
            json!({ "tools": tools, "answers": answers, "request": talk::sample_request(dialect) }),
        )
    };
    Value::Object(Dialect::ALL.into_iter().map(of).collect())
}

fn read(told: &Value) -> String {
    let field = |name: &str| told[name].as_str().expect("the script writes it");
    let dialect: Dialect = field("dialect").parse().expect("the script writes our names");
    let mut reader = dialect.call_reader();
    let events = told["events"].as_array().into_iter().flatten();
    let mut readings: Vec<ParsedCall> = events.flat_map(|event| reader.push(event)).collect();
    readings.extend(reader.finish());
    // Single items are not a response, so they cannot be decoded as a stream.
    if field("from") != "objects" {
        assert_eq!(listen(dialect, told), readings, "{dialect} {}", field("from"));
    }
    let lines = readings.iter().map(|reading| match reading {
        ParsedCall::Call(call) => format!("\n  {} {} {:?}", call.id, call.name, call.payload.arguments()),
        ParsedCall::Fault(fault) => format!("\n  fault: {fault}"),
    });
    format!("{dialect} {}:{}", field("from"), lines.collect::<String>())
}

/// Decodes the calls of a response that must end without a fault.
fn listen(dialect: Dialect, told: &Value) -> Vec<ParsedCall> {
    let mut decoder = dialect.stream_decoder();
    let events = told["events"].as_array().into_iter().flatten();
    let mut decoded: Vec<ModelStreamEvent> = events.flat_map(|event| decoder.push(event)).collect();
    decoded.extend(decoder.finish());
    assert_eq!(decoded.pop(), Some(ModelStreamEvent::End(ResponseEnd::Done)), "{dialect}");
    let calls = decoded.into_iter().filter_map(|heard| match heard {
        ModelStreamEvent::Call(call) => Some(ParsedCall::Call(call)),
        ModelStreamEvent::Fault(fault) => Some(ParsedCall::Fault(fault)),
        ModelStreamEvent::Text(_)
        | ModelStreamEvent::Thought(_)
        | ModelStreamEvent::Hosted { .. }
        | ModelStreamEvent::Usage(_)
        | ModelStreamEvent::End(_) => None,
    });
    calls.collect()
}
