//! Accumulates one response while it is decoded: events for the caller, and the turn for the history.

use std::mem;

use serde_json::Value;

use super::{ModelStreamEvent, ResponseEnd};
use crate::assistant_turn::{AssistantTurn, TurnContent, TurnPiece};
use crate::call_reader::ParsedCall;
use crate::{Dialect, ModelError, TokenUsage};

/// Maximum bytes that are kept of one response, text and items together.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Maximum number of pieces. The call reader remembers as many ids, so no call is reported twice.
const MAX_PIECES: usize = 4096;

/// Approximate memory of a JSON value beside its text.
const NODE_BYTES: usize = 32;

/// The accumulated turn, and the events that are not returned yet.
#[derive(Debug)]
pub(super) struct ResponseAccumulator {
    dialect: Dialect,
    turn: AssistantTurn,
    events: Vec<ModelStreamEvent>,
    /// Results of the call reader whose place in the response is not known yet.
    unplaced_calls: Vec<ParsedCall>,
    usage: Option<TokenUsage>,
    kept_bytes: usize,
    state: AccumulatorState,
}

/// The progress of a response towards its end.
#[derive(Debug)]
enum AccumulatorState {
    Open,
    Ending(ResponseEnd),
    Over,
}

impl ResponseAccumulator {
    pub(super) fn new(dialect: Dialect) -> Self {
        let (events, unplaced_calls) = (Vec::new(), Vec::new());
        Self {
            dialect,
            turn: AssistantTurn::new(dialect),
            events,
            unplaced_calls,
            usage: None,
            kept_bytes: 0,
            state: AccumulatorState::Open,
        }
    }

    /// Returns whether the end was returned to the caller.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, AccumulatorState::Over)
    }

    /// Returns whether the end is set but not returned yet.
    pub(super) fn is_ending(&self) -> bool {
        matches!(self.state, AccumulatorState::Ending(_))
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Adds results of the call reader.
    pub(super) fn add_parsed_calls(&mut self, parsed_calls: Vec<ParsedCall>) {
        self.unplaced_calls.extend(parsed_calls);
    }

    /// Emits a text delta.
    pub(super) fn emit_text(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.events.push(ModelStreamEvent::Text(piece.to_owned()));
        }
    }

    /// Emits a reasoning delta.
    pub(super) fn emit_thought(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.events.push(ModelStreamEvent::Thought(piece.to_owned()));
        }
    }

    /// Keeps a complete text.
    pub(super) fn keep_text(&mut self, text: String, raw: Option<&Value>) {
        self.keep_piece(TurnContent::Text(text), raw);
    }

    /// Keeps an item that only its own API understands.
    pub(super) fn keep_item(&mut self, item: &Value) {
        self.keep_piece(TurnContent::Item, Some(item));
    }

    /// Keeps and emits an action that the provider performed itself.
    pub(super) fn keep_hosted(&mut self, kind: &str, item: &Value) {
        self.keep_item(item);
        self.events.push(ModelStreamEvent::Hosted { kind: kind.to_owned(), item: item.clone() });
    }

    /// Keeps and emits the call with this id at this place, if the reader has found it.
    pub(super) fn place_call(&mut self, id: Option<&str>, raw: Option<&Value>) {
        let found = self.unplaced_calls.iter().position(|reading| match reading {
            ParsedCall::Call(call) => Some(call.id.as_str()) == id,
            ParsedCall::Fault(fault) => fault.id().map(|id| id.as_str()) == id,
        });
        if let Some(at) = found {
            let reading = self.unplaced_calls.remove(at);
            self.place_parsed_call(reading, raw);
        }
    }

    /// Keeps and emits all remaining calls; `raw_of` returns the raw fields to keep with a call.
    pub(super) fn place_remaining_calls(&mut self, raw_of: impl Fn(&str) -> Option<Value>) {
        for reading in mem::take(&mut self.unplaced_calls) {
            let raw = match &reading {
                ParsedCall::Call(call) => raw_of(call.id.as_str()),
                ParsedCall::Fault(_) => None,
            };
            self.place_parsed_call(reading, raw.as_ref());
        }
    }

    fn place_parsed_call(&mut self, reading: ParsedCall, raw: Option<&Value>) {
        // A call that is not kept must not run either.
        if self.is_full() {
            return;
        }
        match reading {
            ParsedCall::Call(call) => {
                self.charge_bytes(call.payload.arguments().len());
                self.keep_piece(TurnContent::Call(call.clone()), raw);
                self.events.push(ModelStreamEvent::Call(call));
            }
            ParsedCall::Fault(fault) => {
                self.keep_piece(TurnContent::from_fault(&fault), None);
                self.events.push(ModelStreamEvent::Fault(fault));
            }
        }
    }

    /// Updates the token usage, if `usage` is an object.
    pub(super) fn update_usage(&mut self, usage: &Value) {
        if usage.is_object() {
            self.usage.get_or_insert_default().update(self.dialect, usage);
        }
    }

    /// Sets the end of the response; the first call wins.
    pub(super) fn set_end(&mut self, end: ResponseEnd) {
        match self.state {
            AccumulatorState::Open => self.state = AccumulatorState::Ending(end),
            AccumulatorState::Ending(_) | AccumulatorState::Over => {}
        }
    }

    /// Counts bytes that are kept here or in an ear. Exceeding the limit ends the response.
    pub(super) fn charge_bytes(&mut self, bytes: usize) {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes).saturating_add(NODE_BYTES);
        if self.kept_bytes > MAX_KEPT_BYTES {
            self.set_end(ResponseEnd::Failed(ModelError::response_too_long(MAX_KEPT_BYTES)));
        }
    }

    fn keep_piece(&mut self, content: TurnContent, raw: Option<&Value>) {
        self.charge_bytes(raw.map_or(0, approximate_bytes));
        if !self.is_full() {
            self.turn.push(TurnPiece { content, raw: raw.cloned() });
        }
    }

    /// Returns whether no further piece fits, and ends the response in that case.
    fn is_full(&mut self) -> bool {
        let full = self.turn.pieces().len() >= MAX_PIECES;
        if full {
            self.set_end(ResponseEnd::Failed(ModelError::too_many_pieces(MAX_PIECES)));
        }
        full
    }

    /// Takes the events to return to the caller now.
    pub(super) fn take_events(&mut self) -> Vec<ModelStreamEvent> {
        self.place_remaining_calls(|_| None);
        let mut events = mem::take(&mut self.events);
        match mem::replace(&mut self.state, AccumulatorState::Over) {
            AccumulatorState::Ending(end) => {
                events.extend(self.usage.take().map(ModelStreamEvent::Usage));
                events.push(ModelStreamEvent::End(end));
            }
            AccumulatorState::Open => self.state = AccumulatorState::Open,
            AccumulatorState::Over => {}
        }
        events
    }

    /// Returns the accumulated turn.
    pub(super) fn into_turn(self) -> AssistantTurn {
        self.turn
    }
}

/// Returns the approximate memory of a value. Parsed JSON is at most 128 levels deep.
fn approximate_bytes(value: &Value) -> usize {
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(approximate_bytes).sum(),
        Value::Object(map) => map.iter().map(|(name, value)| name.len() + approximate_bytes(value)).sum(),
    };
    inner + NODE_BYTES
}
