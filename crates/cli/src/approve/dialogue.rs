//! Keys → an answer. Nothing here knows a terminal.

use toolgate::{Proposal, Question, ReviewDecision};

use super::describe::{Choice, choices};
use super::render::{self, Size};
use crate::screen::visible;

/// The longest note, in bytes.
const MAX_NOTE: usize = 2000;

const CONTROL_C: u8 = 3;
const ESCAPE: u8 = 0x1b;

/// What comes of some input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing is to be seen.
    Nothing,
    /// This is to be written.
    Show(String),
    /// This is to be written over the line that the cursor is on.
    Again(String),
    /// That was the answer, and these are the words for it.
    Decided(ReviewDecision, &'static str),
}

/// A conversation about one question.
pub(super) struct Dialogue {
    choices: Vec<Choice>,
    proposal: Option<Proposal>,
    size: Size,
    stage: Stage,
}

enum Stage {
    Choosing,
    /// The rule is shown.
    Confirming(Proposal),
    /// The bytes of a note.
    Noting(Vec<u8>),
}

impl Dialogue {
    pub(super) fn about(question: &Question, size: Size) -> Self {
        let (choices, proposal) = (choices(question), question.proposal.clone());
        Self { choices, proposal, size, stage: Stage::Choosing }
    }

    /// What stands before the cursor.
    pub(super) fn prompt(&self) -> String {
        match &self.stage {
            Stage::Choosing => {
                let keys = self.choices.iter().filter_map(|choice| choice.key());
                let keys: Vec<String> = keys.map(|(key, _)| key.to_string()).collect();
                format!("Answer ({}): ", keys.join(" "))
            }
            Stage::Confirming(_) => "Save this rule and go on? (y yes, n back): ".to_owned(),
            Stage::Noting(note) => {
                let note = String::from_utf8_lossy(note);
                // What was typed last, on one line: the cursor cannot go back over a line that the terminal wrapped.
                let room = self.size.width.saturating_sub(40) / 2;
                let skipped = note.chars().count().saturating_sub(room.max(8));
                let tail: String = note.chars().skip(skipped).collect();
                let more = if skipped > 0 { "…" } else { "" };
                format!("Note (Enter sends, Esc goes back): {more}{}", visible(&tail))
            }
        }
    }

    /// Takes what was read at once. A key is a single byte: what comes as several is an arrow, a paste or a whole word, and
    /// answers nothing.
    pub(super) fn hear(&mut self, input: &[u8]) -> Heard {
        if input.contains(&CONTROL_C) {
            return Heard::Decided(ReviewDecision::Abort, "stopped");
        }
        match std::mem::replace(&mut self.stage, Stage::Choosing) {
            Stage::Choosing => self.choose(input),
            Stage::Confirming(proposal) => match input {
                [b'y' | b'Y'] => {
                    Heard::Decided(ReviewDecision::ApprovedWithRule(proposal.rule), "yes, and from now on")
                }
                [b'n' | b'N' | ESCAPE] => Heard::Show(format!("\n{}", self.prompt())),
                _ => {
                    self.stage = Stage::Confirming(proposal);
                    Heard::Nothing
                }
            },
            Stage::Noting(note) => self.note(note, input),
        }
    }

    fn choose(&mut self, input: &[u8]) -> Heard {
        let &[byte] = input else { return Heard::Nothing };
        let key = char::from(byte.to_ascii_lowercase());
        let is_meant = |choice: &&Choice| choice.key().is_some_and(|(meant, _)| meant == key);
        let Some(choice) = self.choices.iter().find(is_meant) else { return Heard::Nothing };
        match choice {
            Choice::Once => Heard::Decided(ReviewDecision::Approved, "yes, once"),
            Choice::Session => Heard::Nothing,
            Choice::Always => match self.proposal.clone() {
                Some(proposal) => {
                    let shown = render::rule(&proposal, self.size);
                    self.stage = Stage::Confirming(proposal);
                    Heard::Show(format!("\n{shown}{}", self.prompt()))
                }
                None => Heard::Nothing,
            },
            Choice::No => Heard::Decided(ReviewDecision::Denied { note: None }, "no"),
            Choice::Note => {
                self.stage = Stage::Noting(Vec::new());
                Heard::Show(format!("\n{}", self.prompt()))
            }
            Choice::Stop => Heard::Decided(ReviewDecision::Abort, "stopped"),
        }
    }

    fn note(&mut self, mut note: Vec<u8>, input: &[u8]) -> Heard {
        const CLEAR: u8 = 0x15;
        if input == [ESCAPE] {
            return Heard::Show(format!("\n{}", self.prompt()));
        }
        // An arrow, and what else is no letter.
        let typed = if input.starts_with(&[ESCAPE]) { &[] } else { input };
        for &byte in typed {
            match byte {
                b'\r' | b'\n' => {
                    let note = String::from_utf8_lossy(&note).trim().to_owned();
                    let note = Some(note).filter(|note| !note.is_empty());
                    return Heard::Decided(ReviewDecision::Denied { note }, "\nno");
                }
                0x7f | 0x08 => {
                    let mut text = String::from_utf8_lossy(&note).into_owned();
                    text.pop();
                    note = text.into_bytes();
                }
                CLEAR => note.clear(),
                b' '.. if note.len() < MAX_NOTE => note.push(byte),
                _ => {}
            }
        }
        self.stage = Stage::Noting(note);
        Heard::Again(self.prompt())
    }
}
