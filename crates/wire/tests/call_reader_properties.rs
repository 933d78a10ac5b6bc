//! Properties of the call readers, for arbitrary JSON and for arbitrary splits of calls into deltas.

mod hostile;

use std::collections::BTreeSet;

use hostile::hostile_json;
use proptest::prelude::{ProptestConfig, Strategy, proptest};
use proptest::{collection::vec, prop_assert, prop_assert_eq};
use serde_json::{Value, json};
use tool::ToolCall;
use toolgate_wire::{CallReader, Dialect, ParsedCall};

/// A call's arguments, and the pieces that they are split into.
#[derive(Debug, Clone)]
struct SplitCall {
    arguments: String,
    pieces: Vec<String>,
}

fn cut() -> impl Strategy<Value = SplitCall> {
    (vec(("\\PC{0,6}", "\\PC{0,20}"), 0..4), vec(0.0..1.0f64, 0..6)).prop_map(|(fields, cuts)| {
        let map: serde_json::Map<String, Value> =
            fields.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        let arguments = Value::Object(map).to_string();
        let pieces = split(&arguments, &cuts);
        SplitCall { arguments, pieces }
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place in a short text"
)]
fn split(text: &str, cuts: &[f64]) -> Vec<String> {
    let places =
        cuts.iter().map(|cut| (text.len() as f64 * cut) as usize).filter(|at| text.is_char_boundary(*at));
    let places: BTreeSet<usize> = places.chain([0, text.len()]).collect();
    let places: Vec<usize> = places.into_iter().collect();
    places.windows(2).map(|pair| text[pair[0]..pair[1]].to_owned()).collect()
}

/// Interleaves the pieces of all calls as `(call, piece)`, keeping each call's pieces in sequence.
fn interleave(calls: &[SplitCall], order: &[usize]) -> Vec<(usize, String)> {
    let mut rest: Vec<Vec<String>> =
        calls.iter().map(|call| call.pieces.iter().rev().cloned().collect()).collect();
    let mut sent = Vec::new();
    let mut turns = order.iter().cycle();
    // ends: every round takes a piece, and there are finitely many
    while rest.iter().any(|pieces| !pieces.is_empty()) {
        let open: Vec<usize> = (0..rest.len()).filter(|at| !rest[*at].is_empty()).collect();
        let at = open[turns.next().copied().unwrap_or(0) % open.len()];
        sent.push((at, rest[at].pop().expect("only open ones are chosen")));
    }
    sent
}

fn stream(dialect: Dialect, calls: &[SplitCall], order: &[usize]) -> Vec<Value> {
    let starts = (0..calls.len()).map(|at| start(dialect, at));
    let deltas = interleave(calls, order).into_iter().map(|(at, piece)| delta(dialect, at, &piece));
    let stops = (0..calls.len()).flat_map(|at| stop(dialect, at));
    starts.chain(deltas).chain(stops).chain([end(dialect)]).collect()
}

fn start(dialect: Dialect, at: usize) -> Value {
    let (id, name) = (format!("c{at}"), format!("tool_{at}"));
    match dialect {
        Dialect::Responses => {
            let item = json!({"type": "function_call", "id": format!("fc{at}"), "call_id": id, "name": name, "arguments": ""});
            json!({"type": "response.output_item.added", "output_index": at, "item": item})
        }
        Dialect::Chat => {
            let call = json!({"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
        }
        Dialect::Anthropic => {
            let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            json!({"type": "content_block_start", "index": at, "content_block": block})
        }
    }
}

fn delta(dialect: Dialect, at: usize, piece: &str) -> Value {
    match dialect {
        Dialect::Responses => {
            json!({"type": "response.function_call_arguments.delta", "output_index": at, "item_id": format!("fc{at}"), "delta": piece})
        }
        Dialect::Chat => {
            let call = json!({"index": at, "function": {"arguments": piece}});
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
        }
        Dialect::Anthropic => {
            json!({"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": piece}})
        }
    }
}

fn stop(dialect: Dialect, at: usize) -> Option<Value> {
    match dialect {
        Dialect::Responses | Dialect::Chat => None,
        Dialect::Anthropic => Some(json!({"type": "content_block_stop", "index": at})),
    }
}

fn end(dialect: Dialect) -> Value {
    match dialect {
        Dialect::Responses => json!({"type": "response.completed", "response": {"output": []}}),
        Dialect::Chat => json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        Dialect::Anthropic => json!({"type": "message_stop"}),
    }
}

fn read(mut reader: CallReader, stream: &[Value]) -> Vec<ParsedCall> {
    let mut readings: Vec<ParsedCall> = stream.iter().flat_map(|json| reader.push(json)).collect();
    readings.extend(reader.finish());
    readings
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_give_back_their_calls(calls in vec(cut(), 1..5), order in vec(0..8usize, 1..12)) {
        for dialect in Dialect::ALL {
            let expected: Vec<ParsedCall> = calls.iter().enumerate().map(|(at, call)| {
                ParsedCall::Call(ToolCall::function(format!("c{at}"), format!("tool_{at}"), call.arguments.clone()))
            }).collect();
            prop_assert_eq!(read(dialect.call_reader(), &stream(dialect, &calls, &order)), expected, "{}", dialect);
        }
    }

    #[test]
    fn a_stream_that_breaks_off_loses_no_call_and_doubles_none(calls in vec(cut(), 1..5), order in vec(0..8usize, 1..12), kept in 0..40usize) {
        for dialect in Dialect::ALL {
            let mut stream = stream(dialect, &calls, &order);
            stream.truncate(kept.max(calls.len()));
            let ids: Vec<String> = read(dialect.call_reader(), &stream).iter().filter_map(id).collect();
            let unique: BTreeSet<&String> = ids.iter().collect();
            prop_assert_eq!((unique.len(), ids.len()), (calls.len(), calls.len()), "{}", dialect);
        }
    }

    #[test]
    fn any_json_is_read_and_no_id_comes_twice(stream in vec(hostile_json(), 0..12)) {
        for dialect in Dialect::ALL {
            let readings = read(dialect.call_reader(), &stream);
            let ids: Vec<String> = readings.iter().filter_map(id).collect();
            let unique: BTreeSet<&String> = ids.iter().collect();
            prop_assert_eq!(unique.len(), ids.len(), "{}", dialect);
            for reading in &readings {
                if let ParsedCall::Fault(fault) = reading {
                    prop_assert!(fault.answer(dialect).is_some() == fault.id().is_some());
                }
            }
        }
    }
}

fn id(reading: &ParsedCall) -> Option<String> {
    match reading {
        ParsedCall::Call(call) => Some(call.id.to_string()),
        ParsedCall::Fault(fault) => fault.id().map(ToString::to_string),
    }
}

#[test]
fn too_much_text_is_a_fault_and_is_not_kept() {
    let piece = "x".repeat(1 << 20);
    for dialect in Dialect::ALL {
        let mut pieces = vec![start(dialect, 0)];
        pieces.extend((0..9).map(|_| delta(dialect, 0, &piece)));
        pieces.extend(stop(dialect, 0));
        pieces.push(end(dialect));
        let readings = read(dialect.call_reader(), &pieces);
        let [ParsedCall::Fault(fault)] = readings.as_slice() else {
            panic!("{dialect}: {} readings", readings.len())
        };
        assert!(
            fault.to_string().ends_with("is longer than 8388608 bytes; send it in smaller calls"),
            "{fault}"
        );
    }
}

#[test]
fn too_many_open_calls_are_faults() {
    for dialect in Dialect::ALL {
        let mut reader = dialect.call_reader();
        let early: Vec<ParsedCall> = (0..1030).flat_map(|at| reader.push(&start(dialect, at))).collect();
        assert_eq!(early.len(), 6, "{dialect}");
        assert!(
            early.iter().all(|reading| matches!(reading, ParsedCall::Fault(fault) if fault.id().is_some()))
        );
        assert_eq!(reader.finish().len(), 1024, "{dialect}");
    }
}
