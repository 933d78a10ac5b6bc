//! What is written down while listening: for whoever listens now, and for the history.

use std::mem;

use serde_json::Value;

use super::{End, Heard};
use crate::read::Reading;
use crate::said::{Piece, Said, What};
use crate::{Dialect, ModelError, Usage};

/// So much of one response is kept, text and items together.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// So many pieces. A reader of calls remembers as many ids, so that no call comes twice.
const MAX_PIECES: usize = 4096;

/// What a JSON value takes beside its text, roughly.
const NODE_BYTES: usize = 32;

#[derive(Debug)]
pub(super) struct Notes {
    dialect: Dialect,
    said: Said,
    heard: Vec<Heard>,
    /// What the reader of calls found, until it is known where in the response it belongs.
    readings: Vec<Reading>,
    usage: Option<Usage>,
    kept: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Open,
    Ending(End),
    Over,
}

impl Notes {
    pub(super) fn new(dialect: Dialect) -> Self {
        let (heard, readings) = (Vec::new(), Vec::new());
        Self { dialect, said: Said::new(dialect), heard, readings, usage: None, kept: 0, state: State::Open }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    pub(super) fn is_ending(&self) -> bool {
        matches!(self.state, State::Ending(_))
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(super) fn readings(&mut self, readings: Vec<Reading>) {
        self.readings.extend(readings);
    }

    /// Passes on a piece of text.
    pub(super) fn text(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.heard.push(Heard::Text(piece.to_owned()));
        }
    }

    /// Passes on a piece of a thought.
    pub(super) fn thought(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.heard.push(Heard::Thought(piece.to_owned()));
        }
    }

    /// Keeps a text that is complete.
    pub(super) fn keep_text(&mut self, text: String, raw: Option<&Value>) {
        self.keep(What::Text(text), raw);
    }

    /// Keeps an item that only its own API understands.
    pub(super) fn keep_item(&mut self, item: &Value) {
        self.keep(What::Item, Some(item));
    }

    /// Keeps and passes on what the provider did itself.
    pub(super) fn hosted(&mut self, kind: &str, item: &Value) {
        self.keep_item(item);
        self.heard.push(Heard::Hosted { kind: kind.to_owned(), item: item.clone() });
    }

    /// Puts the call with this id here, with its item, if the reader has found one.
    pub(super) fn call(&mut self, id: Option<&str>, raw: Option<&Value>) {
        let found = self.readings.iter().position(|reading| match reading {
            Reading::Call(call) => Some(call.id.as_str()) == id,
            Reading::Fault(fault) => fault.id().map(|id| id.as_str()) == id,
        });
        if let Some(at) = found {
            let reading = self.readings.remove(at);
            self.reading(reading, raw);
        }
    }

    /// Puts all other calls here; `raw_of` knows what to keep beside each.
    pub(super) fn calls(&mut self, raw_of: impl Fn(&str) -> Option<Value>) {
        for reading in mem::take(&mut self.readings) {
            let raw = match &reading {
                Reading::Call(call) => raw_of(call.id.as_str()),
                Reading::Fault(_) => None,
            };
            self.reading(reading, raw.as_ref());
        }
    }

    fn reading(&mut self, reading: Reading, raw: Option<&Value>) {
        // A call that is not kept must not be run either.
        if self.is_full() {
            return;
        }
        match reading {
            Reading::Call(call) => {
                self.weigh(call.payload.arguments().len());
                self.keep(What::Call(call.clone()), raw);
                self.heard.push(Heard::Call(call));
            }
            Reading::Fault(fault) => {
                self.keep(What::of_fault(&fault), None);
                self.heard.push(Heard::Fault(fault));
            }
        }
    }

    pub(super) fn usage(&mut self, usage: &Value) {
        if usage.is_object() {
            self.usage.get_or_insert_default().take(self.dialect, usage);
        }
    }

    /// Notes how the response ended; the first to say so counts.
    pub(super) fn end(&mut self, end: End) {
        match self.state {
            State::Open => self.state = State::Ending(end),
            State::Ending(_) | State::Over => {}
        }
    }

    /// Counts what is kept, here or in an ear. Too much of it is the end.
    pub(super) fn weigh(&mut self, bytes: usize) {
        self.kept = self.kept.saturating_add(bytes).saturating_add(NODE_BYTES);
        if self.kept > MAX_KEPT_BYTES {
            self.end(End::Failed(ModelError::endless(MAX_KEPT_BYTES)));
        }
    }

    fn keep(&mut self, what: What, raw: Option<&Value>) {
        self.weigh(raw.map_or(0, weight));
        if !self.is_full() {
            self.said.push(Piece { what, raw: raw.cloned() });
        }
    }

    /// Whether there is no room for another piece, which is the end.
    fn is_full(&mut self) -> bool {
        let full = self.said.pieces().len() >= MAX_PIECES;
        if full {
            self.end(End::Failed(ModelError::scattered(MAX_PIECES)));
        }
        full
    }

    /// What is to be passed on now.
    pub(super) fn take(&mut self) -> Vec<Heard> {
        self.calls(|_| None);
        let mut heard = mem::take(&mut self.heard);
        match mem::replace(&mut self.state, State::Over) {
            State::Ending(end) => {
                heard.extend(self.usage.take().map(Heard::Usage));
                heard.push(Heard::End(end));
            }
            State::Open => self.state = State::Open,
            State::Over => {}
        }
        heard
    }

    pub(super) fn into_said(self) -> Said {
        self.said
    }
}

/// Roughly what a value takes. JSON that was parsed is at most 128 levels deep.
fn weight(value: &Value) -> usize {
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(map) => map.iter().map(|(name, value)| name.len() + weight(value)).sum(),
    };
    inner + NODE_BYTES
}
