//! Shortens the texts of entries, so that a reader of a huge or hostile journal uses bounded memory.

use serde_json::Value;

use crate::entry::JournalEntry;
use crate::visitor::{EntryVisitor, visit_entry};

/// Bytes kept of one text at most.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// Bytes kept of all texts of a session.
const MAX_TOTAL_BYTES: usize = 32 << 20;
/// The share of the remaining budget that one text may use: late texts of a long session are shown too, only shorter.
const BUDGET_SHARE: usize = 1024;
/// Bytes kept of any text, also without a budget: names are no longer, except in a hostile journal.
const MIN_TEXT_BYTES: usize = 200;
/// Elements kept of a list.
const MAX_LIST_ELEMENTS: usize = 1000;

/// The texts that a reader keeps of a journal.
#[derive(Debug)]
pub struct TextBudget {
    /// Bytes that are left; `None` for all texts.
    remaining_bytes: Option<usize>,
    /// False if raw model items are dropped. A budget that is used up still keeps their beginnings.
    keeps_raw_items: bool,
    /// Bytes omitted from the current entry.
    omitted_bytes: usize,
}

impl TextBudget {
    /// Keeps all texts, for a program that continues the session.
    #[must_use]
    pub fn unlimited() -> Self {
        Self { remaining_bytes: None, keeps_raw_items: true, omitted_bytes: 0 }
    }

    /// Keeps the beginnings of texts, for a program that shows them.
    #[must_use]
    pub fn for_display() -> Self {
        Self { remaining_bytes: Some(MAX_TOTAL_BYTES), keeps_raw_items: true, omitted_bytes: 0 }
    }

    /// Keeps names only, for a program that counts.
    #[must_use]
    pub fn names_only() -> Self {
        Self { remaining_bytes: Some(0), keeps_raw_items: false, omitted_bytes: 0 }
    }

    /// Shortens the texts of `entry` and returns the number of omitted bytes.
    pub(crate) fn shorten(&mut self, entry: &mut JournalEntry) -> usize {
        self.omitted_bytes = 0;
        match &mut *entry {
            JournalEntry::Said { items, .. } if !self.keeps_raw_items => *items = Vec::new(),
            _ if self.remaining_bytes.is_some() => visit_entry(entry, self),
            _ => {}
        }
        self.omitted_bytes
    }

    fn cut(&mut self, text: &mut String, limit: usize) {
        let kept = text.floor_char_boundary(limit);
        if kept < text.len() {
            self.omitted_bytes += text.len() - kept;
            text.truncate(kept);
            // `truncate` keeps the memory.
            text.shrink_to_fit();
        }
    }
}

impl EntryVisitor for TextBudget {
    fn visit_text(&mut self, text: &mut String) {
        let remaining = self.remaining_bytes.unwrap_or(usize::MAX);
        self.cut(text, (remaining / BUDGET_SHARE).clamp(MIN_TEXT_BYTES, MAX_TEXT_BYTES));
        self.remaining_bytes = Some(remaining.saturating_sub(text.len()));
    }

    /// Cuts an id to the same length everywhere, so that entries still refer to each other.
    fn visit_id(&mut self, id: &mut String) {
        self.cut(id, MIN_TEXT_BYTES);
    }

    // ends: a parsed value has limited depth
    fn visit_value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let (length, omitted_bytes) = (text.len(), self.omitted_bytes);
                self.visit_text(text);
                if text.len() < length {
                    // Most of a raw item is not shown, so what is cut is said in the text itself.
                    self.omitted_bytes = omitted_bytes;
                    *text += &format!("[left out: {} bytes]", length - text.len());
                }
            }
            Value::Array(values) => {
                self.visit_list(values);
                values.iter_mut().for_each(|value| self.visit_value(value));
            }
            Value::Object(members) => {
                let mut kept = 0;
                members.retain(|key, _| {
                    kept += 1;
                    kept <= MAX_LIST_ELEMENTS && key.len() <= MIN_TEXT_BYTES
                });
                members.values_mut().for_each(|value| self.visit_value(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn visit_list<T>(&mut self, list: &mut Vec<T>) {
        list.truncate(MAX_LIST_ELEMENTS);
        list.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shortened(budget: &mut TextBudget, text: &str) -> (usize, usize) {
        let mut entry = JournalEntry::Diff { text: text.to_owned() };
        let omitted = budget.shorten(&mut entry);
        let JournalEntry::Diff { text } = entry else { panic!("it is a diff") };
        (text.len(), omitted)
    }

    #[test]
    fn texts_are_cut_at_char_boundaries_within_a_budget() {
        let text = "é".repeat(MAX_TEXT_BYTES);
        assert_eq!(shortened(&mut TextBudget::unlimited(), &text), (2 * MAX_TEXT_BYTES, 0));
        assert_eq!(shortened(&mut TextBudget::for_display(), &text), (MAX_TEXT_BYTES, MAX_TEXT_BYTES));
        assert_eq!(shortened(&mut TextBudget::names_only(), &text), (200, 2 * MAX_TEXT_BYTES - 200));
        assert_eq!(shortened(&mut TextBudget::names_only(), &format!("x{text}")).0, 199);
        let mut budget = TextBudget::for_display();
        let huge = "x".repeat(1 << 20);
        let last = (0..100_000).map(|_| shortened(&mut budget, &huge).0).last();
        assert_eq!(last, Some(MIN_TEXT_BYTES));
        let members = (0..5000).map(|n| (format!("{n}"), json!(n))).chain([("x".repeat(300), json!(1))]);
        let mut entry = JournalEntry::Unknown(Value::Object(members.collect()));
        budget.shorten(&mut entry);
        assert!(
            matches!(&entry, JournalEntry::Unknown(Value::Object(members)) if members.len() <= MAX_LIST_ELEMENTS)
        );
        let mut said = JournalEntry::Said { wire: String::new(), items: vec![json!({"text": "x"})] };
        budget.remaining_bytes = Some(0);
        budget.shorten(&mut said);
        assert_eq!(said, JournalEntry::Said { wire: String::new(), items: vec![json!({"text": "x"})] });
        TextBudget::names_only().shorten(&mut said);
        assert_eq!(said, JournalEntry::Said { wire: String::new(), items: Vec::new() });
    }
}
