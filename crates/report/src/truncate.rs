//! Truncates texts of a journal for display; each cut states the omitted bytes.

/// Bytes kept of one text at most.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// Bytes kept of all texts of a session.
const MAX_TOTAL_BYTES: usize = 32 << 20;
/// The share of the remaining budget that one text may use: late texts of a long session are shown too, only shorter.
const BUDGET_SHARE: usize = 1024;
/// Bytes kept of a name.
const MAX_NAME_BYTES: usize = 200;
/// Items kept of a list.
const MAX_LIST_ITEMS: usize = 10;

/// The beginning of a text, and the number of omitted bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextExcerpt {
    /// Kept beginning of the text.
    pub text: String,
    /// Number of bytes cut off the end.
    pub omitted_bytes: usize,
}

/// Truncates texts within a budget for the whole session.
#[derive(Debug)]
pub struct TextTruncator {
    remaining_bytes: usize,
}

impl TextTruncator {
    /// Creates a truncator for commands that show texts.
    pub fn for_reading() -> Self {
        Self { remaining_bytes: MAX_TOTAL_BYTES }
    }

    /// Creates a truncator for commands that only count: it keeps no text except names.
    pub fn for_counting() -> Self {
        Self { remaining_bytes: 0 }
    }

    /// Returns the beginning of a text.
    pub fn truncate(&mut self, text: &str) -> TextExcerpt {
        let kept = &text[..text.floor_char_boundary(MAX_TEXT_BYTES.min(self.remaining_bytes / BUDGET_SHARE))];
        self.remaining_bytes -= kept.len();
        TextExcerpt { text: kept.to_owned(), omitted_bytes: text.len() - kept.len() }
    }

    /// Returns the beginnings of the first texts; a last item counts the others.
    pub(crate) fn truncate_list(&mut self, texts: &[String]) -> Vec<TextExcerpt> {
        let mut list: Vec<TextExcerpt> =
            texts.iter().take(MAX_LIST_ITEMS).map(|text| self.truncate(text)).collect();
        if texts.len() > MAX_LIST_ITEMS {
            list.push(TextExcerpt {
                text: format!("… and {} more", texts.len() - MAX_LIST_ITEMS),
                omitted_bytes: 0,
            });
        }
        list
    }
}

/// Truncates a name, which is long only in a hostile journal.
pub(crate) fn truncate_name(text: &str) -> String {
    let kept = &text[..text.floor_char_boundary(MAX_NAME_BYTES)];
    if kept.len() == text.len() { kept.to_owned() } else { format!("{kept}…") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_truncated_at_char_boundaries_within_a_budget() {
        let cut = TextTruncator::for_reading().truncate(&"é".repeat(MAX_TEXT_BYTES));
        assert_eq!((cut.text.len(), cut.omitted_bytes), (MAX_TEXT_BYTES, MAX_TEXT_BYTES));
        let mut shears = TextTruncator { remaining_bytes: 4 * BUDGET_SHARE };
        assert_eq!(shears.truncate("aéé"), TextExcerpt { text: "aé".to_owned(), omitted_bytes: 2 });
        assert_eq!(shears.truncate("four"), TextExcerpt { text: "fou".to_owned(), omitted_bytes: 1 });
        assert_eq!(
            TextTruncator::for_counting().truncate("b"),
            TextExcerpt { text: String::new(), omitted_bytes: 1 }
        );
        let mut shears = TextTruncator::for_reading();
        let huge = "x".repeat(1 << 20);
        let last = (0..10_000).map(|_| shears.truncate(&huge).text.len()).last();
        assert!(last.is_some_and(|last| (1..100).contains(&last)), "{last:?}");
        assert_eq!(truncate_name(&"x".repeat(500)), format!("{}…", "x".repeat(200)));
        let list = TextTruncator::for_reading().truncate_list(&vec!["x".to_owned(); 60]);
        assert_eq!((list.len(), list[10].text.as_str()), (11, "… and 50 more"));
    }
}
