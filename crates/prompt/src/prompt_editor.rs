//! The editor of the prompt: cursor, words, deleted text, history and completion. Keys in, text out; no terminal.

use rustyline::line_buffer::{ChangeListener, DeleteListener, Direction, LineBuffer};
use rustyline::{At, Movement, Word};

use crate::key_decoder::LineEditKey;
use crate::prompt_completion::{Completion, PromptCompleter};
use crate::prompt_history::PromptHistory;

/// Maximum size of a prompt. `LineBuffer` takes no more than its capacity.
const MAX_PROMPT_BYTES: usize = 1 << 20;

/// The effect of a key beyond the text.
#[derive(Debug, PartialEq, Eq)]
pub enum EditorEvent {
    /// The text or the cursor may have changed.
    Edited,
    /// The user has entered this text.
    Submitted(String),
    /// Escape on an empty line.
    Escaped,
    /// Ctrl-D on an empty line.
    InputEnded,
}

/// The edited text.
pub struct PromptEditor {
    buffer: LineBuffer,
    deleted: DeletedText,
    history: PromptHistory,
    /// The position in the history, counted from the newest, and the text before the history was entered.
    recalled: Option<(usize, String)>,
    search: Option<HistorySearch>,
    completer: PromptCompleter,
    /// The candidates that the last Tab found, or the state of the search in the history.
    candidates: Vec<String>,
}

/// A search in the history: each typed letter narrows it, Ctrl-R goes on to an older prompt.
struct HistorySearch {
    sought: String,
    /// Position of the shown prompt, counted from the newest.
    found: Option<usize>,
    /// The text before the search.
    typed: String,
}

/// Receives deleted text, for Ctrl-Y.
#[derive(Default)]
struct DeletedText {
    text: String,
    is_kept: bool,
}

impl DeleteListener for DeletedText {
    fn delete(&mut self, _: usize, text: &str, direction: Direction) {
        if self.is_kept {
            match direction {
                Direction::Forward => self.text.push_str(text),
                Direction::Backward => self.text.insert_str(0, text),
            }
        }
    }
}

impl ChangeListener for DeletedText {
    fn insert_char(&mut self, _: usize, _: char) {}
    fn insert_str(&mut self, _: usize, _: &str) {}
    fn replace(&mut self, _: usize, _: &str, _: &str) {}
}

impl PromptEditor {
    /// An editor without text.
    pub fn new(history: PromptHistory, completer: PromptCompleter) -> Self {
        let (buffer, deleted) = (LineBuffer::with_capacity(MAX_PROMPT_BYTES), DeletedText::default());
        Self { buffer, deleted, history, recalled: None, search: None, completer, candidates: Vec::new() }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        self.buffer.as_str()
    }

    /// Returns the position of the cursor in bytes.
    pub fn cursor(&self) -> usize {
        self.buffer.pos()
    }

    /// Returns the candidates to show below the text.
    pub fn candidates(&self) -> &[String] {
        &self.candidates
    }

    /// Handles a key.
    pub fn handle(&mut self, key: LineEditKey) -> EditorEvent {
        self.candidates.clear();
        let Some(key) = self.handle_in_search(key) else { return EditorEvent::Edited };
        match key {
            LineEditKey::Enter if self.text().ends_with('\\') && self.buffer.is_cursor_at_end() => {
                self.buffer.backspace(1, &mut self.deleted);
                self.insert("\n");
            }
            LineEditKey::Enter => return EditorEvent::Submitted(self.submit()),
            LineEditKey::Escape if self.buffer.is_empty() => return EditorEvent::Escaped,
            LineEditKey::Escape => self.set_text(""),
            LineEditKey::EndOfInput if self.buffer.is_empty() => return EditorEvent::InputEnded,
            LineEditKey::Text(text) => self.insert(&text),
            LineEditKey::LineBreak => self.insert("\n"),
            LineEditKey::Tab => self.complete(),
            LineEditKey::Up => self.up(),
            LineEditKey::Down => self.down(),
            LineEditKey::SearchHistory => self.begin_search(),
            LineEditKey::LeaveSearch => {}
            LineEditKey::Left => drop(self.buffer.move_backward(1)),
            LineEditKey::Right => drop(self.buffer.move_forward(1)),
            LineEditKey::WordLeft => drop(self.buffer.move_to_prev_word(Word::Emacs, 1)),
            LineEditKey::WordRight => drop(self.buffer.move_to_next_word(At::AfterEnd, Word::Emacs, 1)),
            LineEditKey::Home => drop(self.buffer.move_home()),
            LineEditKey::End => drop(self.buffer.move_end()),
            LineEditKey::Backspace => drop(self.buffer.backspace(1, &mut self.deleted)),
            LineEditKey::Delete | LineEditKey::EndOfInput => drop(self.buffer.delete(1, &mut self.deleted)),
            LineEditKey::DeleteWordBefore => self.kill(&Movement::BackwardWord(1, Word::Big)),
            LineEditKey::DeleteWordAfter => self.kill(&Movement::ForwardWord(1, At::AfterEnd, Word::Emacs)),
            LineEditKey::DeleteToStart => self.kill(&Movement::BeginningOfLine),
            LineEditKey::DeleteToEnd => self.kill(&Movement::EndOfLine),
            LineEditKey::Yank => {
                let text = self.deleted.text.clone();
                self.insert(&text);
            }
        }
        // An emptied line is a new one: Up begins again at the newest prompt.
        if self.buffer.is_empty() {
            self.recalled = None;
        }
        EditorEvent::Edited
    }

    /// Leaves the search in earlier prompts, or else clears the text.
    pub fn cancel(&mut self) {
        self.candidates.clear();
        if self.handle_in_search(LineEditKey::LeaveSearch).is_some() {
            self.set_text("");
            self.recalled = None;
        }
    }

    fn insert(&mut self, text: &str) {
        if self.buffer.len() + text.len() <= MAX_PROMPT_BYTES {
            let at = self.buffer.pos();
            self.buffer.insert_str(at, text, &mut self.deleted);
            self.buffer.set_pos(at + text.len());
        }
    }

    fn set_text(&mut self, text: &str) {
        self.buffer.update(text, text.len(), &mut self.deleted);
    }

    fn kill(&mut self, movement: &Movement) {
        self.deleted = DeletedText { text: std::mem::take(&mut self.deleted.text), is_kept: true };
        let before = std::mem::take(&mut self.deleted.text);
        self.buffer.kill(movement, &mut self.deleted);
        self.deleted.is_kept = false;
        if self.deleted.text.is_empty() {
            self.deleted.text = before;
        }
    }

    fn submit(&mut self) -> String {
        let text = self.text().to_owned();
        self.set_text("");
        self.recalled = None;
        self.history.add(&text);
        text
    }

    /// Moves up a line, or to the previous prompt of the history.
    fn up(&mut self) {
        match self.text()[..self.cursor()].rfind('\n') {
            Some(line_break) => self.move_to_column(line_start(self.text(), line_break)),
            None => self.recall(|position| position.map_or(Some(0), |at| at.checked_add(1))),
        }
    }

    /// Moves down a line, or to the next prompt of the history.
    fn down(&mut self) {
        match self.text()[self.cursor()..].find('\n') {
            Some(to_break) => self.move_to_column(self.cursor() + to_break + 1),
            None if self.recalled.is_some() => self.recall(|position| position?.checked_sub(1)),
            None => {}
        }
    }

    /// Moves the cursor to its column in the line that starts at `start`.
    fn move_to_column(&mut self, start: usize) {
        let text = self.text();
        let column = text[line_start(text, self.cursor())..self.cursor()].chars().count();
        let line = text[start..].split('\n').next().unwrap_or_default();
        let offset = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
        self.buffer.set_pos(start + offset);
    }

    /// Shows another prompt of the history, or after the newest the text typed before.
    fn recall(&mut self, step: impl Fn(Option<usize>) -> Option<usize>) {
        let (position, typed) = match self.recalled.take() {
            Some((position, typed)) => (Some(position), typed),
            None => (None, self.text().to_owned()),
        };
        match step(position) {
            None => self.set_text(&typed),
            Some(at) => match self.history.newest(at).map(str::to_owned) {
                Some(text) => {
                    self.set_text(&text);
                    self.recalled = Some((at, typed));
                }
                // Before the oldest: nothing changes.
                None => self.recalled = position.map(|position| (position, typed)),
            },
        }
    }

    /// Begins a search for earlier prompts that contain the typed text.
    fn begin_search(&mut self) {
        let typed = self.text().to_owned();
        self.recalled = None;
        self.search = Some(HistorySearch { sought: typed.clone(), found: None, typed });
        self.search_from(0);
    }

    /// Handles a key of a search. Returns a key that is not part of a search, after ending it.
    fn handle_in_search(&mut self, key: LineEditKey) -> Option<LineEditKey> {
        let Some(search) = &mut self.search else { return Some(key) };
        match key {
            LineEditKey::Text(text) => {
                search.sought.push_str(&text);
                let from = search.found.unwrap_or(0);
                self.search_from(from);
            }
            LineEditKey::Backspace => {
                search.sought.pop();
                self.search_from(0);
            }
            LineEditKey::SearchHistory => {
                let from = search.found.map_or(0, |found| found + 1);
                self.search_from(from);
            }
            LineEditKey::Escape | LineEditKey::LeaveSearch => {
                let typed = std::mem::take(&mut search.typed);
                self.search = None;
                self.set_text(&typed);
            }
            other => {
                let HistorySearch { found, typed, .. } = self.search.take()?;
                self.recalled = found.map(|found| (found, typed));
                return Some(other);
            }
        }
        None
    }

    /// Shows the newest prompt from position `from` on that contains the sought text; without one, nothing changes.
    fn search_from(&mut self, from: usize) {
        let Some(search) = &mut self.search else { return };
        let found = match search.sought.as_str() {
            "" => None,
            sought => self.history.find(sought, from).map(|(at, text)| (at, text.to_owned())),
        };
        let state = match (&found, search.sought.as_str()) {
            (Some(_), sought) => format!("search: {sought}"),
            (None, "") => "search: type a part of an earlier prompt".to_owned(),
            (None, sought) => format!("search: {sought} (no older prompt has it)"),
        };
        self.candidates = vec![format!("{state} · Ctrl-R older · Enter sends · Esc goes back")];
        if let Some((at, text)) = found {
            search.found = Some(at);
            self.set_text(&text);
        }
    }

    fn complete(&mut self) {
        let Completion { start, insert, candidates } = self.completer.complete(self.text(), self.cursor());
        let cursor = self.cursor();
        self.buffer.replace(start..cursor, &insert, &mut self.deleted);
        self.buffer.set_pos(start + insert.len());
        self.candidates = candidates;
    }
}

/// Returns the start of the line that contains the byte `at`.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |line_break| line_break + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_decoder::KeyDecoder;

    fn editor(earlier: &[&str]) -> PromptEditor {
        let completer = PromptCompleter::new(&[("undo", "")], std::env::temp_dir());
        PromptEditor::new(PromptHistory::in_memory(earlier), completer)
    }

    /// Types keys as a terminal sends them; `|` marks the cursor in the result.
    fn typed(editor: &mut PromptEditor, bytes: &str) -> String {
        let mut keyboard = KeyDecoder::default();
        keyboard.push(bytes.as_bytes());
        for key in keyboard.decode(true) {
            editor.handle(key);
        }
        let (before, after) = editor.text().split_at(editor.cursor());
        format!("{before}|{after}")
    }

    #[test]
    fn keys_edit_the_text() {
        let rows = [
            ("hello wrld\x1b[D\x1b[D\x1b[Do", "hello wo|rld"),
            ("abc\x01x\x05y", "xabcy|"),
            ("one two\x1bbx\x1bfy", "one xtwoy|"),
            ("one two-three\x17", "one |"),
            ("one two\x15", "|"),
            ("one two\x1bb\x0b", "one |"),
            ("one two\x17\x01\x19", "two|one "),
            ("ab\x1b[D\x1b[3~", "a|"),
            ("ab\x1b[D\x04", "a|"),
            ("漢字é\x7f\x1b[Dx", "漢x|字"),
            ("one\x1b\rtwo", "one\ntwo|"),
            ("one\\\rtwo", "one\ntwo|"),
            ("one\x1b\rlonger\x1b[A!", "one!|\nlonger"),
            ("longer\x1b\rone\x1b[H\x1b[A\x1b[C\x1b[B!", "longer\no!|ne"),
            ("text\x1b", "|"),
            ("\x1b[200~a\rb\x1b[201~", "a\nb|"),
        ];
        for (keys, expected) in rows {
            assert_eq!(typed(&mut editor(&[]), keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn the_history_is_walked_and_searched() {
        let earlier = ["fix the test", "run make", "fix the docs"];
        let rows = [
            ("\x1b[A", "fix the docs|"),
            ("\x1b[A\x1b[A\x1b[A\x1b[A", "fix the test|"),
            ("draft\x1b[A\x1b[A\x1b[B\x1b[B", "draft|"),
            ("\x1b[A\x1b[A\x15\x1b[A", "fix the docs|"),
            ("\x1b[B", "|"),
            // Text before Ctrl-R is sought, and so is text typed after it.
            ("make\x12", "run make|"),
            ("\x12mak", "run make|"),
            ("fix\x12\x12", "fix the test|"),
            ("fix\x12\x12\x12", "fix the test|"),
            ("\x12fix the t", "fix the test|"),
            ("\x12fix the tx\x7f", "fix the test|"),
            // Escape goes back; any other key takes what was found.
            ("draft\x12\x1b", "draft|"),
            ("draft\x12\x07x\x07", "draftx|"),
            ("\x12make\x01x", "x|run make"),
            ("\x12make\x1b[A", "fix the test|"),
        ];
        for (keys, expected) in rows {
            assert_eq!(typed(&mut editor(&earlier), keys), expected, "{keys:?}");
        }
        let mut editor = editor(&earlier);
        assert_eq!(editor.handle(LineEditKey::Text("new".to_owned())), EditorEvent::Edited);
        assert_eq!(editor.handle(LineEditKey::Enter), EditorEvent::Submitted("new".to_owned()));
        assert_eq!(typed(&mut editor, "\x1b[A"), "new|");
    }

    #[test]
    fn an_empty_line_has_keys_of_its_own() {
        assert_eq!(editor(&[]).handle(LineEditKey::Escape), EditorEvent::Escaped);
        assert_eq!(editor(&[]).handle(LineEditKey::EndOfInput), EditorEvent::InputEnded);
        assert_eq!(editor(&[]).handle(LineEditKey::Enter), EditorEvent::Submitted(String::new()));
    }

    #[test]
    fn cancelling_leaves_a_search_or_clears_the_text() {
        let mut editor = editor(&["run make"]);
        assert_eq!(typed(&mut editor, "draft\x12make"), "draft|");
        editor.cancel();
        assert_eq!((editor.text(), editor.candidates().len()), ("draft", 0));
        editor.cancel();
        assert_eq!(editor.text(), "");
        assert_eq!(typed(&mut editor, "\x1b[A"), "run make|");
    }

    #[test]
    fn any_keys_keep_the_cursor_in_the_text() {
        proptest::proptest!(|(bytes: Vec<u8>)| {
            let mut editor = editor(&["an earlier\nprompt"]);
            let mut keyboard = KeyDecoder::default();
            keyboard.push(&bytes);
            for key in keyboard.decode(true) {
                editor.handle(key);
                proptest::prop_assert!(editor.text().is_char_boundary(editor.cursor()));
            }
        });
    }
}
