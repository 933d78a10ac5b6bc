//! A conversation that goes on, told anew from its journal.

use agent::recorded_call;
use journal::{Entry, Record, Step};
use rpc::{Code, RpcFault};
use toolgate::ToolOutput;
use toolgate::wire::Said;

use super::live::Live;
use super::protocol::{Block, Update};
use super::updates::{Updates, entry};

/// All that was said and done.
pub(super) fn updates(live: &Live) -> Result<Vec<Update>, RpcFault> {
    let read = journal::read(live.journal()).map_err(|fault| Code::Internal.fault(fault.to_string()))?;
    Ok(told(&read.records, live.updates()))
}

fn told(records: &[Record], updates: &Updates) -> Vec<Update> {
    let mut told = Vec::new();
    // A response is written down when it is whole, and its calls before: what it said comes before them all the same.
    let mut is_said = false;
    for (index, record) in records.iter().enumerate() {
        match &record.entry {
            Entry::Prompt { text, .. } => {
                told.push(Update::User { content: Block::text(text.as_str()) });
                is_said = false;
            }
            Entry::Said { items, .. } => {
                if !is_said {
                    told.extend(said(items));
                }
                is_said = false;
            }
            call @ Entry::Call { .. } => {
                if !is_said {
                    told.extend(next_said(&records[index..]).into_iter().flatten());
                    is_said = true;
                }
                let view = recorded_call(call).and_then(|call| updates.began(&call));
                told.extend(view.map(Update::Begun));
            }
            Entry::Answered { call, success, text, .. } => {
                let output = if *success { ToolOutput::text(text) } else { ToolOutput::failure(text) };
                told.extend(updates.ended(&call.as_str().into(), &output).map(Update::Changed));
            }
            Entry::Plan { steps } => {
                let entries = steps.iter().map(|Step { step, status }| entry(step, status)).collect();
                told.push(Update::Plan { entries });
            }
            Entry::Session { .. }
            | Entry::Intent { .. }
            | Entry::Verdict { .. }
            | Entry::Asked { .. }
            | Entry::Decided { .. }
            | Entry::Attempt { .. }
            | Entry::Kept { .. }
            | Entry::Diff { .. }
            | Entry::Usage { .. }
            | Entry::Compacted { .. }
            | Entry::Turn { .. }
            | Entry::Added { .. }
            | Entry::Agent { .. }
            | Entry::Interrupted { .. }
            | Entry::Notice { .. }
            | Entry::End { .. }
            | Entry::Unknown(_) => {}
        }
    }
    told
}

/// What the response said whose calls come first, if it was ever whole.
fn next_said(records: &[Record]) -> Option<Vec<Update>> {
    records.iter().find_map(|record| match &record.entry {
        Entry::Said { items, .. } => Some(Some(said(items))),
        Entry::Prompt { .. } => Some(None),
        _ => None,
    })?
}

fn said(items: &[serde_json::Value]) -> Vec<Update> {
    let texts = items.iter().filter_map(|item| Said::load(item).ok()).map(|said| said.text());
    texts.filter(|text| !text.is_empty()).map(|text| Update::Text { content: Block::text(text) }).collect()
}
