//! Reads the tool calls of many responses: streams, whole responses and single items.

use serde_json::Value;

use super::accumulator::{AccumulatedContent, ResponseAccumulator};
use super::response_boundary::ResponseTracker;
use super::{DialectDecoder, ModelStreamEvent, ParsedCall};
use crate::Dialect;

/// Reads the calls of model responses, which arrive as stream events, as a whole, or as single items.
///
/// Within one response an id is reported once, although streams repeat themselves. Some servers reuse ids in the next
/// response. The next response begins after the end of a stream, with a whole message, or after
/// [`finish`](Self::finish). A single item is always reported, because only its sender could repeat it.
#[derive(Debug)]
pub struct CallReader {
    dialect_decoder: Box<dyn DialectDecoder>,
    accumulator: ResponseAccumulator,
    response_tracker: ResponseTracker,
}

impl Dialect {
    /// Returns a reader for the calls of any number of consecutive responses.
    pub fn call_reader(self) -> CallReader {
        CallReader {
            dialect_decoder: self.dialect_decoder(),
            accumulator: ResponseAccumulator::new(self, AccumulatedContent::CallsOnly),
            response_tracker: ResponseTracker::default(),
        }
    }
}

impl CallReader {
    /// Reads the next piece of JSON: a stream event, a whole response, a message, or a single item.
    ///
    /// Any other JSON gives no result.
    pub fn push(&mut self, json: &Value) -> Vec<ParsedCall> {
        let fragment = self.dialect_decoder.classify(json);
        let has_open_call = self.dialect_decoder.has_open_call();
        if self.response_tracker.starts_new_response(fragment, has_open_call) {
            self.end_response();
        }
        self.dialect_decoder.decode(json, &mut self.accumulator);
        self.take_calls()
    }

    /// Ends the stream: each partial call becomes a call if it is complete, else a fault.
    pub fn finish(&mut self) -> Vec<ParsedCall> {
        self.end_response();
        self.take_calls()
    }

    fn end_response(&mut self) {
        self.dialect_decoder.finish(&mut self.accumulator);
        self.accumulator.forget_calls();
    }

    fn take_calls(&mut self) -> Vec<ParsedCall> {
        let events = self.accumulator.take_events().into_iter();
        let calls = events.filter_map(|event| match event {
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
}
