//! Truncates entries that do not fit a line, deterministically and with a visible mark.

use serde_json::Value;

use crate::chain::{LINE_OVERHEAD_BYTES, MAX_LINE_BYTES};
use crate::entry::JournalEntry;
use crate::visitor::{EntryVisitor, visit_entry};

const MAX_ENTRY_BYTES: usize = MAX_LINE_BYTES - LINE_OVERHEAD_BYTES;
/// Maximum text lengths, tried in order until the entry fits.
const TEXT_CAPS: [usize; 4] = [4 << 20, 256 << 10, 16 << 10, 1 << 10];
/// Limits that apply with the last cap: JSON bytes of a raw model item, and elements of a list.
const MAX_ITEM_BYTES: usize = 8 << 10;
const MAX_LIST_ELEMENTS: usize = 1_000;

/// Serialises the entry as JSON that fits a line.
pub(crate) fn to_bounded_json(mut entry: JournalEntry) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(&entry)?;
    for cap in TEXT_CAPS {
        if bytes.len() <= MAX_ENTRY_BYTES {
            break;
        }
        let list_truncation =
            if cap == TEXT_CAPS[TEXT_CAPS.len() - 1] { ListTruncation::Cut } else { ListTruncation::Keep };
        visit_entry(&mut entry, &mut EntryTruncator { cap, list_truncation });
        bytes = serde_json::to_vec(&entry)?;
    }
    debug_assert!(bytes.len() <= MAX_ENTRY_BYTES, "{} bytes with the last cap", bytes.len());
    Ok(bytes)
}

/// Truncates the texts of an entry.
struct EntryTruncator {
    cap: usize,
    list_truncation: ListTruncation,
}

/// States whether lists and raw items are truncated too.
enum ListTruncation {
    Keep,
    Cut,
}

impl EntryVisitor for EntryTruncator {
    fn visit_text(&mut self, text: &mut String) {
        if text.len() > self.cap {
            *text = truncate_middle(text, self.cap);
        }
    }

    fn visit_value(&mut self, value: &mut Value) {
        self.truncate_inner_texts(value);
        let length = serde_json::to_vec(value).map_or(0, |json| json.len());
        if matches!(self.list_truncation, ListTruncation::Cut) && length > MAX_ITEM_BYTES {
            *value = Value::String(format!("[left out: an item of {length} bytes]"));
        }
    }

    fn visit_list<T>(&mut self, list: &mut Vec<T>) {
        if matches!(self.list_truncation, ListTruncation::Cut) {
            list.truncate(MAX_LIST_ELEMENTS);
        }
    }
}

impl EntryTruncator {
    // ends: the redactor has limited the depth of values
    fn truncate_inner_texts(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.visit_text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.truncate_inner_texts(value)),
            Value::Object(members) => members.values_mut().for_each(|value| self.truncate_inner_texts(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns the start and the end of a text, with the number of omitted bytes in between.
fn truncate_middle(text: &str, cap: usize) -> String {
    let head = text.floor_char_boundary(cap / 2);
    let tail = text.ceil_char_boundary(text.len() - cap / 2);
    format!("{}\n[left out: {} bytes]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::entry::{ImageDigest, JournalPlanStep};

    #[test]
    fn long_texts_keep_their_ends() {
        let text = format!("begin{}end", "é".repeat(9 << 20));
        let bytes = to_bounded_json(JournalEntry::Diff { text: text.clone() }).unwrap();
        let JournalEntry::Diff { text: cut } = serde_json::from_slice(&bytes).unwrap() else { panic!() };
        let (head, rest) = cut.split_once("\n[left out: ").unwrap();
        let (missing, tail) = rest.split_once(" bytes]\n").unwrap();
        assert!(head.starts_with("beginéé") && tail.ends_with("ééend"));
        assert!(head.len() + tail.len() <= TEXT_CAPS[0]);
        assert_eq!(head.len() + missing.parse::<usize>().unwrap() + tail.len(), text.len());
    }

    #[test]
    fn any_entry_is_truncated_to_fit() {
        let picture = ImageDigest { mime: "\u{1}".repeat(1_500), sha256: "\u{1}".repeat(1_500), bytes: 0 };
        let step = JournalPlanStep { step: "\u{1}".repeat(1_500), status: "\u{1}".repeat(1_500) };
        let numbers = json!({"a": vec![-1.234_567_890_123_45e-300; 800_000]});
        for entry in [
            JournalEntry::Prompt { text: "\u{1}".repeat(3 << 20), images: vec![picture; 1_200] },
            JournalEntry::Plan { steps: vec![step; 1_200] },
            JournalEntry::Said { wire: "chat".to_owned(), items: vec![numbers] },
            JournalEntry::Said { wire: "chat".to_owned(), items: vec![json!("x".repeat(9_000)); 2_000] },
        ] {
            let bytes = to_bounded_json(entry).unwrap();
            assert!(bytes.len() <= MAX_ENTRY_BYTES && !bytes.is_empty());
        }
    }

    #[test]
    fn entry_that_fits_is_unchanged() {
        let entry = JournalEntry::Notice { text: "x".repeat(MAX_ENTRY_BYTES - 100) };
        assert_eq!(
            serde_json::from_slice::<JournalEntry>(&to_bounded_json(entry.clone()).unwrap()).unwrap(),
            entry
        );
    }
}
