//! State machine of an approval prompt: turns key presses into an answer, without terminal I/O.

use runtime::rules::NewRule;
use runtime::{ApprovalQuestion, ReviewDecision};
use serde::{Deserialize, Serialize};

use super::describe::{ApprovalChoice, PromptScope, approval_choices};
use super::render::{self, ScreenSize};
use terminal::escape_invisible;

/// The longest note, in bytes.
const MAX_NOTE_BYTES: usize = 2000;

const CONTROL_C: u8 = 3;
const ESCAPE: u8 = 0x1b;

/// The effect of some input.
#[derive(Debug, PartialEq, Eq)]
pub enum DialogueOutcome {
    /// Nothing changes on the screen.
    Nothing,
    /// Text to write.
    Show(String),
    /// Text to write over the current line.
    RedrawLine(String),
    /// The answer, and the words that confirm it.
    Decided(ApprovalAnswer, &'static str),
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    /// Approval of this call only.
    Once,
    /// Approval of identical calls until the session ends.
    Session,
    /// The user has seen the rule.
    Always,
    /// Refusal of the call.
    No {
        /// Note to the model.
        note: Option<String>,
    },
    /// Refusal that stops all running work.
    Stop,
}

impl ApprovalAnswer {
    /// Returns the decision; `rule` is the rule that was shown.
    pub fn into_decision(self, rule: Option<&NewRule>) -> ReviewDecision {
        match (self, rule) {
            (Self::Always, Some(rule)) => ReviewDecision::ApprovedWithRule(rule.clone()),
            (Self::Once | Self::Always, _) => ReviewDecision::Approved,
            (Self::Session, _) => ReviewDecision::ApprovedForSession,
            (Self::No { note }, _) => ReviewDecision::Denied { note },
            (Self::Stop, _) => ReviewDecision::Abort,
        }
    }
}

/// The dialogue about one question.
pub struct ApprovalDialogue {
    choices: Vec<ApprovalChoice>,
    scope: PromptScope,
    /// The text of the rule that could be saved, as shown to the user.
    rule: Option<String>,
    width: usize,
    stage: DialogueStage,
}

enum DialogueStage {
    Choosing,
    /// The rule is shown and awaits confirmation.
    ConfirmingRule,
    /// The user types a note; holds its bytes.
    TypingNote(Vec<u8>),
}

impl ApprovalDialogue {
    /// Builds a dialogue about a question of this process.
    pub fn for_question(question: &ApprovalQuestion, size: ScreenSize, scope: PromptScope) -> Self {
        let rule = question.proposal.as_ref().map(|proposal| render::render_rule(proposal, size));
        Self::new(approval_choices(question), scope, rule, size.width)
    }

    /// Builds a dialogue about a question that was asked by another process.
    pub fn new(choices: Vec<ApprovalChoice>, scope: PromptScope, rule: Option<String>, width: usize) -> Self {
        Self { choices, scope, rule, width, stage: DialogueStage::Choosing }
    }

    /// Returns the text before the cursor.
    pub fn prompt(&self) -> String {
        match &self.stage {
            DialogueStage::Choosing => {
                let keys = self.choices.iter().filter_map(|choice| choice.terminal_key(self.scope));
                let keys: Vec<String> = keys.map(|(key, _)| key.to_string()).collect();
                format!("Answer ({}): ", keys.join(" "))
            }
            DialogueStage::ConfirmingRule => "Save this rule and go on? (y yes, n back): ".to_owned(),
            DialogueStage::TypingNote(note) => {
                let note = String::from_utf8_lossy(note);
                // Shows only the end of the note, on one line: the cursor cannot move back over a line that the
                // terminal wrapped.
                let room = self.width.saturating_sub(40) / 2;
                let skipped = note.chars().count().saturating_sub(room.max(8));
                let tail: String = note.chars().skip(skipped).collect();
                let more = if skipped > 0 { "…" } else { "" };
                format!("Note (Enter sends, Esc goes back): {more}{}", escape_invisible(&tail))
            }
        }
    }

    /// Handles the bytes of one read. A key is a single byte; several bytes are an arrow key, a paste or a word, and
    /// answer nothing.
    pub fn handle_input(&mut self, input: &[u8]) -> DialogueOutcome {
        if input.contains(&CONTROL_C) {
            return DialogueOutcome::Decided(ApprovalAnswer::Stop, "stopped");
        }
        match std::mem::replace(&mut self.stage, DialogueStage::Choosing) {
            DialogueStage::Choosing => self.choose(input),
            DialogueStage::ConfirmingRule => match input {
                [b'y' | b'Y'] => DialogueOutcome::Decided(ApprovalAnswer::Always, "yes, and from now on"),
                [b'n' | b'N' | ESCAPE] => DialogueOutcome::Show(format!("\n{}", self.prompt())),
                _ => {
                    self.stage = DialogueStage::ConfirmingRule;
                    DialogueOutcome::Nothing
                }
            },
            DialogueStage::TypingNote(note) => self.edit_note(note, input),
        }
    }

    fn choose(&mut self, input: &[u8]) -> DialogueOutcome {
        let &[byte] = input else { return DialogueOutcome::Nothing };
        let key = char::from(byte.to_ascii_lowercase());
        let is_meant =
            |choice: &&ApprovalChoice| choice.terminal_key(self.scope).is_some_and(|(meant, _)| meant == key);
        let Some(choice) = self.choices.iter().find(is_meant) else { return DialogueOutcome::Nothing };
        match choice {
            ApprovalChoice::Once => DialogueOutcome::Decided(ApprovalAnswer::Once, "yes, once"),
            ApprovalChoice::Session => {
                DialogueOutcome::Decided(ApprovalAnswer::Session, "yes, for this session")
            }
            ApprovalChoice::Always => match self.rule.clone() {
                Some(shown) => {
                    self.stage = DialogueStage::ConfirmingRule;
                    DialogueOutcome::Show(format!("\n{shown}{}", self.prompt()))
                }
                None => DialogueOutcome::Nothing,
            },
            ApprovalChoice::No => DialogueOutcome::Decided(ApprovalAnswer::No { note: None }, "no"),
            ApprovalChoice::Note => {
                self.stage = DialogueStage::TypingNote(Vec::new());
                DialogueOutcome::Show(format!("\n{}", self.prompt()))
            }
            ApprovalChoice::Stop => DialogueOutcome::Decided(ApprovalAnswer::Stop, "stopped"),
        }
    }

    fn edit_note(&mut self, mut note: Vec<u8>, input: &[u8]) -> DialogueOutcome {
        const CLEAR: u8 = 0x15;
        if input == [ESCAPE] {
            return DialogueOutcome::Show(format!("\n{}", self.prompt()));
        }
        // An escape sequence, such as an arrow key, adds no text.
        let typed = if input.starts_with(&[ESCAPE]) { &[] } else { input };
        for &byte in typed {
            match byte {
                b'\r' | b'\n' => {
                    let note = String::from_utf8_lossy(&note).trim().to_owned();
                    let note = Some(note).filter(|note| !note.is_empty());
                    return DialogueOutcome::Decided(ApprovalAnswer::No { note }, "\nno");
                }
                0x7f | 0x08 => {
                    let mut text = String::from_utf8_lossy(&note).into_owned();
                    text.pop();
                    note = text.into_bytes();
                }
                CLEAR => note.clear(),
                b' '.. if note.len() < MAX_NOTE_BYTES => note.push(byte),
                _ => {}
            }
        }
        self.stage = DialogueStage::TypingNote(note);
        DialogueOutcome::RedrawLine(self.prompt())
    }
}
