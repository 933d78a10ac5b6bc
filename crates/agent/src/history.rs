//! Conversation history: serialises items for the next request, trims old answers, and replaces items with a summary.

use std::ops::Range;

use tool::{CallId, OutputImage, OutputItem, ToolCall, ToolOutput};
use wire::{AssistantTurn, Dialect, SerializedItem};

/// Bytes that remain of an old answer after trimming.
const TRIMMED_ANSWER_BYTES: usize = 200;

/// One item of a conversation.
#[derive(Debug, Clone)]
pub(crate) enum HistoryItem {
    /// A message to the model.
    User { text: String, images: Vec<OutputImage> },
    /// Replaces dropped pieces; includes the user's last request.
    Summary { summary: String, asked: Option<String> },
    /// A model response with the answers to its calls.
    Round { said: AssistantTurn, answers: Vec<(CallId, ToolOutput)> },
}

/// A conversation in one dialect, serialised piece by piece.
#[derive(Debug)]
pub(crate) struct ConversationHistory {
    dialect: Dialect,
    items: Vec<HistoryItem>,
    entries: Vec<SerializedItem>,
}

impl ConversationHistory {
    pub(crate) fn new(dialect: Dialect, items: Vec<HistoryItem>) -> Self {
        let mut history = Self { dialect, items: Vec::new(), entries: Vec::new() };
        items.into_iter().for_each(|piece| history.push(piece));
        history
    }

    pub(crate) fn push(&mut self, piece: HistoryItem) {
        let dialect = self.dialect;
        let items = match &piece {
            HistoryItem::User { text, images } => vec![dialect.user_message(text, images)],
            HistoryItem::Summary { summary, asked } => {
                let asked = asked.as_ref().map(|text| format!("\n\nWhat the user asked for last:\n{text}"));
                let asked = asked.unwrap_or_default();
                let text = format!(
                    "What happened so far, in short, in place of the conversation itself:\n{summary}{asked}"
                );
                vec![dialect.user_message(&text, &[])]
            }
            HistoryItem::Round { said, answers } => {
                let answers = answers.iter().map(|(id, output)| (id, output));
                [dialect.assistant_turn(said), dialect.turn_replies(said, answers)].concat()
            }
        };
        self.entries.extend(items.iter().map(|item| dialect.serialize_item(item)));
        self.items.push(piece);
    }

    pub(crate) fn entries(&self) -> &[SerializedItem] {
        &self.entries
    }

    pub(crate) fn into_items(self) -> Vec<HistoryItem> {
        self.items
    }

    /// Returns the number of bytes that it adds to a request.
    pub(crate) fn byte_len(&self) -> usize {
        self.entries.iter().map(SerializedItem::size).sum()
    }

    /// Returns the number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Answers the unanswered `calls` with `text`.
    pub(crate) fn answer_calls(&mut self, calls: &[ToolCall], text: &str) {
        if calls.is_empty() {
            return;
        }
        for piece in &mut self.items {
            let HistoryItem::Round { said, answers } = piece else { continue };
            for call in said.calls().filter(|call| calls.contains(call)) {
                if !answers.iter().any(|(id, _)| *id == call.id) {
                    answers.push((call.id.clone(), ToolOutput::failure(text)));
                }
            }
        }
        *self = Self::new(self.dialect, std::mem::take(&mut self.items));
    }

    /// Trims the answers in all but the last `kept` pieces. Returns `false` if nothing was trimmed.
    pub(crate) fn trim_answers(&mut self, kept: usize) -> bool {
        let old = ..self.items.len().saturating_sub(kept);
        let mut trimmed = false;
        for piece in &mut self.items[old] {
            if let HistoryItem::Round { answers, .. } = piece {
                answers.iter_mut().for_each(|(_, output)| trimmed |= trim_output(output));
            }
        }
        if trimmed {
            *self = Self::new(self.dialect, std::mem::take(&mut self.items));
        }
        trimmed
    }

    /// Replaces all but the last `kept` pieces with `summary` and the user's last request. Returns the number of
    /// dropped pieces.
    pub(crate) fn replace_with_summary(&mut self, summary: &str, kept: usize) -> usize {
        let old = ..self.items.len().saturating_sub(kept);
        let gone: Vec<HistoryItem> = self.items.drain(old).collect();
        let asked = gone.iter().rev().find_map(|piece| match piece {
            HistoryItem::User { text, .. } => Some(text.clone()),
            HistoryItem::Summary { asked, .. } => asked.clone(),
            HistoryItem::Round { .. } => None,
        });
        let first = HistoryItem::Summary { summary: summary.to_owned(), asked };
        let rest = std::mem::take(&mut self.items);
        *self = Self::new(self.dialect, std::iter::once(first).chain(rest).collect());
        gone.len()
    }
}

/// Truncates an answer to its beginning. Returns `false` if it is short already.
fn trim_output(output: &mut ToolOutput) -> bool {
    let mut shortened = false;
    for item in &mut output.items {
        match item {
            OutputItem::Text(text) if text.len() > 2 * TRIMMED_ANSWER_BYTES => {
                let cut: Range<usize> = text.floor_char_boundary(TRIMMED_ANSWER_BYTES)..text.len();
                let bytes = cut.len();
                text.replace_range(cut, &format!("\n[{bytes} bytes of this old answer were left out]"));
                shortened = true;
            }
            OutputItem::Text(_) => {}
            OutputItem::Image(image) => {
                *item = OutputItem::Text(format!("[a picture, {}, was left out]", image.mime));
                shortened = true;
            }
        }
    }
    shortened
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> HistoryItem {
        let said = AssistantTurn::from_calls(Dialect::Chat, [ToolCall::function("c", "t", "{}")]);
        HistoryItem::Round { said, answers: vec![("c".into(), ToolOutput::text(text))] }
    }

    fn user(text: &str) -> HistoryItem {
        HistoryItem::User { text: text.to_owned(), images: Vec::new() }
    }

    #[test]
    fn old_answers_are_trimmed_and_new_ones_are_not() {
        let long = "x".repeat(5000);
        let mut history =
            ConversationHistory::new(Dialect::Chat, vec![user("go"), round(&long), round(&long)]);
        let before = history.byte_len();
        assert!(history.trim_answers(1));
        assert!(history.byte_len() < before - 4000 && history.byte_len() > 5000);
        assert!(!history.trim_answers(1));
    }

    #[test]
    fn a_summary_keeps_what_was_asked_last() {
        let mut history = ConversationHistory::new(
            Dialect::Chat,
            vec![user("one"), round("a"), user("two"), round("b"), round("c")],
        );
        assert_eq!(history.replace_with_summary("short", 1), 4);
        assert_eq!(history.len(), 2);
        let HistoryItem::Summary { summary, asked } = &history.items[0] else { panic!() };
        assert_eq!((summary.as_str(), asked.as_deref()), ("short", Some("two")));
        // The user's own words are kept, and summaries do not nest.
        history.push(round("d"));
        history.replace_with_summary("shorter", 1);
        let HistoryItem::Summary { summary, asked } = &history.items[0] else { panic!() };
        assert_eq!((summary.as_str(), asked.as_deref()), ("shorter", Some("two")));
    }
}
