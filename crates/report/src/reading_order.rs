//! Orders the events of a session for readers: the words of a model before the calls that they announce.
//!
//! A response is recorded when it is complete. Its calls start, and are recorded, while the rest still arrives.

use journal::{JournalEntry, TimelineEvent, TimelineEventKind};
use runtime::wire::{TranscriptItem, transcript_items};

/// One thing to show.
#[derive(Debug)]
pub(crate) enum ReadingItem<'a> {
    /// An event that is not a response of the model.
    Event(&'a TimelineEvent),
    /// The beginning of a response: its event, and that of its token usage.
    Response { said: &'a TimelineEvent, usage: Option<&'a TimelineEvent> },
    /// A part of a response, and the milliseconds at which it was there at the latest.
    Words { item: TranscriptItem, after_ms: u64 },
}

/// Returns the events in the order in which they happened.
pub(crate) fn in_reading_order(events: &[TimelineEvent]) -> Vec<ReadingItem<'_>> {
    let mut ordered = Vec::with_capacity(events.len());
    // The events since the last response. Some are calls of the next one.
    let mut pending: Vec<&TimelineEvent> = Vec::new();
    let mut events = events.iter().peekable();
    // ends: with the events
    while let Some(event) = events.next() {
        let TimelineEventKind::Entry(JournalEntry::Said { items, .. }) = &event.kind else {
            if event.is_prompt() {
                ordered.extend(pending.drain(..).map(ReadingItem::Event));
            }
            pending.push(event);
            continue;
        };
        let usage = events.next_if(|next| is_usage(next));
        add_response(&mut ordered, &mut pending, event, usage, transcript_items(items));
    }
    ordered.extend(pending.into_iter().map(ReadingItem::Event));
    ordered
}

fn is_usage(event: &TimelineEvent) -> bool {
    matches!(event.kind, TimelineEventKind::Entry(JournalEntry::Usage(_)))
}

/// Adds a response and those of the pending events that belong to it.
fn add_response<'a>(
    ordered: &mut Vec<ReadingItem<'a>>,
    pending: &mut Vec<&'a TimelineEvent>,
    said: &'a TimelineEvent,
    usage: Option<&'a TimelineEvent>,
    items: Vec<TranscriptItem>,
) {
    let is_own = |event: &TimelineEvent| {
        event.as_call().is_some_and(|call| items.iter().any(|item| is_call(item, &call.call.id)))
    };
    let first_own = pending.iter().position(|event| is_own(event)).unwrap_or(pending.len());
    let mut own = pending.split_off(first_own).into_iter().peekable();
    ordered.extend(pending.drain(..).map(ReadingItem::Event));
    ordered.push(ReadingItem::Response { said, usage });
    for item in items {
        let TranscriptItem::Call(id) = &item else {
            let next = own.peek().map_or(said.time.after_ms, |event| event.time.after_ms);
            ordered.push(ReadingItem::Words { item, after_ms: said.time.after_ms.min(next) });
            continue;
        };
        // A call that the client made, or that came too late, is not here.
        if own.clone().any(|event| event.as_call().is_some_and(|call| call.call.id == *id)) {
            let mut is_reached = false;
            // ends: at the event after the call and its consequences
            while let Some(event) = own.next_if(|event| !is_reached || event.as_call().is_none()) {
                is_reached |= event.as_call().is_some_and(|call| call.call.id == *id);
                ordered.push(ReadingItem::Event(event));
            }
        }
    }
    ordered.extend(own.map(ReadingItem::Event));
}

fn is_call(item: &TranscriptItem, id: &str) -> bool {
    matches!(item, TranscriptItem::Call(other) if other == id)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::sample_session::{build_timeline, call_entry};

    fn said(pieces: &[Value]) -> JournalEntry {
        JournalEntry::Said { wire: "responses".to_owned(), items: vec![json!({ "pieces": pieces })] }
    }

    fn text(text: &str) -> Value {
        json!({ "text": text })
    }

    fn call(id: &str) -> Value {
        json!({ "call": { "id": id } })
    }

    fn plan() -> JournalEntry {
        JournalEntry::Plan { steps: Vec::new() }
    }

    fn prompt() -> JournalEntry {
        JournalEntry::Prompt { text: String::new(), images: Vec::new() }
    }

    fn order(entries: Vec<JournalEntry>) -> String {
        let timeline = build_timeline((0..).step_by(10).zip(entries).collect());
        let show = |item: &ReadingItem<'_>| match item {
            ReadingItem::Event(event) => match &event.kind {
                TimelineEventKind::Call(call) => call.call.id.clone(),
                TimelineEventKind::Entry(JournalEntry::Prompt { .. }) => "prompt".to_owned(),
                TimelineEventKind::Entry(_) => "other".to_owned(),
            },
            ReadingItem::Response { usage, .. } => if usage.is_some() { "[usage]" } else { "[]" }.to_owned(),
            ReadingItem::Words { item, after_ms } => match item {
                TranscriptItem::Text(text) => format!("'{text}'@{after_ms}"),
                item => format!("{item:?}"),
            },
        };
        in_reading_order(&timeline.events).iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_stand_before_the_calls_that_they_announce() {
        let [a, b, c] = ["a", "b", "c"].map(|id| call_entry(id, "shell", "{}"));
        let usage = || JournalEntry::Usage(journal::RequestUsage::default());
        for (entries, expected) in [
            (
                vec![prompt(), a.clone(), b.clone(), said(&[text("x"), call("a"), call("b")]), usage()],
                "prompt [usage] 'x'@10 a b",
            ),
            // Words between calls stay there, and so does a plan that a call changed.
            (
                vec![
                    a.clone(),
                    plan(),
                    b.clone(),
                    said(&[text("x"), call("a"), text("y"), call("b"), text("z")]),
                ],
                "[] 'x'@0 a other 'y'@20 b 'z'@30",
            ),
            // What came from the response before stays before.
            (
                vec![a.clone(), said(&[call("a")]), plan(), b.clone(), said(&[text("x"), call("b")])],
                "[] a other [] 'x'@30 b",
            ),
            // Calls that are recorded after their response, and calls that no response names.
            (
                vec![said(&[text("x"), call("a")]), a.clone(), c, said(&[text("y")]), b],
                "[] 'x'@0 a c [] 'y'@30 b",
            ),
            (vec![a, prompt(), said(&[text("x"), call("a")])], "a prompt [] 'x'@20"),
        ] {
            assert_eq!(order(entries), expected);
        }
    }
}
