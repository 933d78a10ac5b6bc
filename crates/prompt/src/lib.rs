//! The prompt of `toolgate run`: decodes keys, edits text, completes words and keeps earlier prompts. No terminal.

mod key_decoder;
mod note_editor;
mod prompt_completion;
mod prompt_editor;
mod prompt_history;

pub use key_decoder::{KeyDecoder, LineEditKey};
pub use note_editor::{NoteEditor, NoteLine, NoteOutcome};
pub use prompt_completion::{CommandNames, PromptCompleter};
pub use prompt_editor::{EditorEvent, PromptEditor};
pub use prompt_history::PromptHistory;
