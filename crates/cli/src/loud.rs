//! Says on stderr that commands are confined less than the policy says, before the first of them runs: the same at every door.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use toolgate::{CallId, Event, Notice, Observer};

use crate::screen;

/// What was said already: a program says it once, however many sessions it has.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Whoever reads stderr.
pub(crate) struct Loud;

impl Observer for Loud {
    fn saw(&self, _: &CallId, event: &Event) {
        // What is refused has an answer, for whoever asked.
        if let Event::Notice(Notice::Weaker { text, refused: false }) = event {
            say(text);
        }
    }

    fn streams(&self) -> bool {
        false
    }
}

/// Says it, unless it was said.
pub(crate) fn say(text: &str) {
    let is_new = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned());
    if is_new {
        screen::warning(text);
    }
}
