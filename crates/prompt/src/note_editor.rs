//! The editor of a note to the model, below an approval question: one line, with the keys of the prompt.

use std::path::PathBuf;

use crate::{KeyDecoder, LineEditKey, PromptCompleter, PromptEditor, PromptHistory};
use unicode_width::UnicodeWidthStr;

use terminal::escape_invisible;

/// The longest note, in bytes.
const MAX_NOTE_BYTES: usize = 2000;
/// The narrowest part of a note that is shown, in columns.
const MIN_SHOWN_COLUMNS: usize = 8;
const LABEL: &str = "Note (Enter sends, Esc goes back): ";
const CONTROL_C: u8 = 3;
const ESCAPE: u8 = 0x1b;

/// The effect of some input.
#[derive(Debug, PartialEq, Eq)]
pub enum NoteOutcome {
    /// The line may have changed.
    Edited,
    /// The user has entered the note, which may be empty.
    Sent(Option<String>),
    /// The user goes back to the question.
    Left,
    /// The user stops everything.
    Stopped,
}

/// The line to show.
#[derive(Debug, PartialEq, Eq)]
pub struct NoteLine {
    /// The label, and the part of the note that is shown.
    pub text: String,
    /// Columns between the cursor and the end of the text.
    pub cursor_back: usize,
}

/// A note that is being typed.
pub struct NoteEditor {
    keyboard: KeyDecoder,
    editor: PromptEditor,
}

impl Default for NoteEditor {
    /// Returns an editor without text, history and completion.
    fn default() -> Self {
        let completer = PromptCompleter::new(&[], PathBuf::new());
        Self {
            keyboard: KeyDecoder::default(),
            editor: PromptEditor::new(PromptHistory::default(), completer),
        }
    }
}

impl NoteEditor {
    /// Handles the bytes of one read.
    pub fn handle_input(&mut self, input: &[u8]) -> NoteOutcome {
        if input.contains(&CONTROL_C) {
            return NoteOutcome::Stopped;
        }
        self.keyboard.push(input);
        for key in self.keyboard.decode(input.ends_with(&[ESCAPE])) {
            match key {
                LineEditKey::Enter => {
                    let note = self.editor.text().trim().to_owned();
                    return NoteOutcome::Sent(Some(note).filter(|note| !note.is_empty()));
                }
                LineEditKey::Escape => return NoteOutcome::Left,
                LineEditKey::Text(text) if self.editor.text().len() + text.len() <= MAX_NOTE_BYTES => {
                    self.editor.handle(LineEditKey::Text(text.replace(['\n', '\t'], " ")));
                }
                // Of no use in a single line without history.
                LineEditKey::Text(_)
                | LineEditKey::LineBreak
                | LineEditKey::Tab
                | LineEditKey::Up
                | LineEditKey::Down
                | LineEditKey::SearchHistory
                | LineEditKey::LeaveSearch => {}
                key @ (LineEditKey::Backspace
                | LineEditKey::Delete
                | LineEditKey::DeleteWordBefore
                | LineEditKey::DeleteWordAfter
                | LineEditKey::DeleteToStart
                | LineEditKey::DeleteToEnd
                | LineEditKey::Yank
                | LineEditKey::Left
                | LineEditKey::Right
                | LineEditKey::WordLeft
                | LineEditKey::WordRight
                | LineEditKey::Home
                | LineEditKey::End
                | LineEditKey::EndOfInput) => {
                    self.editor.handle(key);
                }
            }
        }
        NoteOutcome::Edited
    }

    /// Returns the line for a screen of `width` columns, with the part of the note around the cursor. The cursor
    /// cannot move back over a line that the terminal wrapped.
    pub fn line(&self, width: usize) -> NoteLine {
        let room = width.saturating_sub(LABEL.width() + 2).max(MIN_SHOWN_COLUMNS);
        let (before, after) = self.editor.text().split_at(self.editor.cursor());
        let shown_before = fitting_letters(before.chars().rev(), room);
        let used: usize = shown_before.iter().map(|shown| shown.width()).sum();
        let after = fitting_letters(after.chars(), room - used).concat();
        let cut = if shown_before.len() < before.chars().count() { "…" } else { "" };
        let before: String = shown_before.into_iter().rev().collect();
        NoteLine { text: format!("{LABEL}{cut}{before}{after}"), cursor_back: after.width() }
    }
}

/// Returns the first letters that fit into `room` columns, as they are shown.
fn fitting_letters(letters: impl Iterator<Item = char>, room: usize) -> Vec<String> {
    let mut used = 0;
    letters
        .map(|letter| escape_invisible(letter.encode_utf8(&mut [0; 4])).into_owned())
        .take_while(|shown| {
            used += shown.width();
            used <= room
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types `pieces`, each in a read of its own, and returns the last outcome that is more than an edit.
    fn typed(pieces: &[&str]) -> NoteOutcome {
        let mut editor = NoteEditor::default();
        let outcomes = pieces.iter().map(|piece| editor.handle_input(piece.as_bytes()));
        outcomes.filter(|outcome| *outcome != NoteOutcome::Edited).last().unwrap_or(NoteOutcome::Edited)
    }

    #[test]
    fn keys_edit_the_note_and_are_never_sent() {
        let sent = |note: &str| NoteOutcome::Sent(Some(note.to_owned()));
        let rows: &[(&[&str], NoteOutcome)] = &[
            (&["u", "se ", "git", "x", "\x7f", "\r"], sent("use git")),
            (&["weg damit", "\x15", "nö", "\r"], sent("nö")),
            (&["ab\x1b[D\x1b[DX\x1b[5~\x1b[1;9P\r"], sent("Xab")),
            (&["ue git", "\x1bOD", "\x1b[H", "\x1b[C", "s", "\t", "\r"], sent("use git")),
            (&["\x1b[200~one\rtwo\x1b[201~\r"], sent("one two")),
            (&["\x1b[A", "\r"], NoteOutcome::Sent(None)),
            (&["text", "\x1b"], NoteOutcome::Left),
            (&["y", "\x03"], NoteOutcome::Stopped),
            (&["text", "\x04"], NoteOutcome::Edited),
        ];
        for (pieces, outcome) in rows {
            assert_eq!(typed(pieces), *outcome, "{pieces:?}");
        }
        assert_eq!(typed(&[&"x".repeat(MAX_NOTE_BYTES), "y", "\r"]), sent(&"x".repeat(MAX_NOTE_BYTES)));
    }

    #[test]
    fn the_line_shows_the_part_around_the_cursor() {
        let line = |keys: &str, width: usize| {
            let mut editor = NoteEditor::default();
            editor.handle_input(keys.as_bytes());
            let NoteLine { text, cursor_back } = editor.line(width);
            assert!(text.width() < width, "{text}");
            (text.strip_prefix(LABEL).unwrap().to_owned(), cursor_back)
        };
        assert_eq!(line("abc\x1b[D\x1b[D", 60), ("abc".to_owned(), 2));
        assert_eq!(line("漢字\x1b[D", 60), ("漢字".to_owned(), 2));
        assert_eq!(line("one two three four", 49), ("…o three four".to_owned(), 0));
        assert_eq!(line("one two three four\x01", 49), ("one two thre".to_owned(), 12));
    }
}
