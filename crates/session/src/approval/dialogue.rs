//! State machine of an approval prompt: turns key presses into an answer, without terminal I/O.

use runtime::rules::NewRule;
use runtime::{ApprovalQuestion, ReviewDecision};
use serde::{Deserialize, Serialize};

use super::describe::{ApprovalChoice, PromptScope, approval_choices};
use super::render::{self, ScreenSize};

const CONTROL_C: u8 = 3;
const ESCAPE: u8 = 0x1b;

/// The effect of some input.
#[derive(Debug, PartialEq, Eq)]
pub enum DialogueOutcome {
    /// Nothing changes on the screen.
    Nothing,
    /// Text to write.
    Show(String),
    /// The user wants to type a note to the model. The caller reads it and answers
    /// [`No`](ApprovalAnswer::No), or shows the [`prompt`](ApprovalDialogue::prompt) again.
    NoteWanted,
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
    stage: DialogueStage,
}

enum DialogueStage {
    Choosing,
    /// The rule is shown and awaits confirmation.
    ConfirmingRule,
}

impl ApprovalDialogue {
    /// Builds a dialogue about a question of this process.
    pub fn for_question(question: &ApprovalQuestion, size: ScreenSize, scope: PromptScope) -> Self {
        let rule = question.proposal.as_ref().map(|proposal| render::render_rule(proposal, size));
        Self::new(approval_choices(question), scope, rule)
    }

    /// Builds a dialogue about a question that was asked by another process.
    pub fn new(choices: Vec<ApprovalChoice>, scope: PromptScope, rule: Option<String>) -> Self {
        Self { choices, scope, rule, stage: DialogueStage::Choosing }
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
        }
    }

    fn choose(&mut self, input: &[u8]) -> DialogueOutcome {
        if input == [ESCAPE] {
            return DialogueOutcome::Decided(ApprovalAnswer::Stop, "stopped");
        }
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
            ApprovalChoice::Note => DialogueOutcome::NoteWanted,
            ApprovalChoice::Stop => DialogueOutcome::Decided(ApprovalAnswer::Stop, "stopped"),
        }
    }
}
