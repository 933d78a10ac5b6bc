//! Accumulates the results of a dialect's decoder: events for the caller, and the turn for the history.

use std::mem;

use serde_json::Value;

use super::dedup::CallDeduplicator;
use super::{ModelStreamEvent, ParsedCall, ResponseEnd};
use crate::assistant_turn::{AssistantTurn, TurnContent, TurnPiece};
use crate::{Dialect, ModelError, TokenUsage};

/// Maximum bytes that are kept of one response, text and items together.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Maximum number of pieces. The deduplicator remembers as many ids, so no call is reported twice.
const MAX_PIECES: usize = 4096;

/// Approximate memory of a JSON value beside its text.
const NODE_BYTES: usize = 32;

/// The parts of the input that are accumulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccumulatedContent {
    /// One response as a turn, with its text, its end, and limits on both.
    WholeTurn,
    /// The calls of any number of responses.
    CallsOnly,
}

/// The accumulated turn, and the events that are not returned yet.
#[derive(Debug)]
pub(super) struct ResponseAccumulator {
    content: AccumulatedContent,
    turn: AssistantTurn,
    events: Vec<ModelStreamEvent>,
    deduplicator: CallDeduplicator,
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
    pub(super) fn new(dialect: Dialect, content: AccumulatedContent) -> Self {
        Self {
            content,
            turn: AssistantTurn::new(dialect),
            events: Vec::new(),
            deduplicator: CallDeduplicator::default(),
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

    /// Emits a text delta.
    pub(super) fn emit_text(&mut self, piece: &str) {
        if self.is_whole_turn() && !piece.is_empty() {
            self.events.push(ModelStreamEvent::Text(piece.to_owned()));
        }
    }

    /// Emits a reasoning delta.
    pub(super) fn emit_thought(&mut self, piece: &str) {
        if self.is_whole_turn() && !piece.is_empty() {
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
        if self.is_whole_turn() {
            self.keep_item(item);
            self.events.push(ModelStreamEvent::Hosted { kind: kind.to_owned(), item: item.clone() });
        }
    }

    /// Keeps and emits a call, unless it repeats one of the same response. `raw` holds fields to send back with it.
    pub(super) fn add_call(&mut self, call: ParsedCall, raw: Option<&Value>) {
        let Some(call) = self.deduplicator.admit(call) else { return };
        // A call that is not kept must not run either.
        if self.is_full() {
            return;
        }
        match call {
            ParsedCall::Call(call) => {
                if self.charge_bytes(call.payload.arguments().len()) {
                    self.keep_piece(TurnContent::Call(call.clone()), raw);
                }
                self.events.push(ModelStreamEvent::Call(call));
            }
            ParsedCall::Fault(fault) => {
                self.keep_piece(TurnContent::from_fault(&fault), None);
                self.events.push(ModelStreamEvent::Fault(fault));
            }
        }
    }

    /// Keeps and emits a call outside a response. Only its sender can repeat it, so among many responses each one
    /// counts.
    pub(super) fn add_single_call(&mut self, call: ParsedCall) {
        if !self.is_whole_turn() {
            self.deduplicator.forget(&call);
        }
        self.add_call(call, None);
    }

    /// Lets the next response use the same ids.
    pub(super) fn forget_calls(&mut self) {
        self.deduplicator.clear();
    }

    /// Updates the token usage, if `usage` is an object.
    pub(super) fn update_usage(&mut self, usage: &Value) {
        if usage.is_object() {
            self.usage.get_or_insert_default().update(self.turn.dialect(), usage);
        }
    }

    /// Sets the end of the response; the first call wins.
    pub(super) fn set_end(&mut self, end: ResponseEnd) {
        match self.state {
            AccumulatorState::Open if self.is_whole_turn() => self.state = AccumulatorState::Ending(end),
            AccumulatorState::Open | AccumulatorState::Ending(_) | AccumulatorState::Over => {}
        }
    }

    /// Ends the response with the error that `json` reports.
    pub(super) fn fail(&mut self, json: &Value) {
        self.set_end(ResponseEnd::Failed(self.turn.dialect().stream_error(json)));
    }

    /// Counts bytes to keep here or in a decoder. Exceeding the limit ends the response. Returns whether text is kept
    /// at all.
    pub(super) fn charge_bytes(&mut self, bytes: usize) -> bool {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes).saturating_add(NODE_BYTES);
        if self.kept_bytes > MAX_KEPT_BYTES {
            self.set_end(ResponseEnd::Failed(ModelError::response_too_long(MAX_KEPT_BYTES)));
        }
        self.is_whole_turn()
    }

    /// Counts the bytes of a JSON value like [`charge_bytes`](Self::charge_bytes).
    pub(super) fn charge_json(&mut self, json: &Value) -> bool {
        self.charge_bytes(approximate_bytes(json))
    }

    fn is_whole_turn(&self) -> bool {
        self.content == AccumulatedContent::WholeTurn
    }

    fn keep_piece(&mut self, content: TurnContent, raw: Option<&Value>) {
        if self.charge_bytes(raw.map_or(0, approximate_bytes)) && !self.is_full() {
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
