//! Somebody to ask, who answers as a test says.

use std::sync::{Arc, Mutex, PoisonError};

use engine::Approver;
use policy::{Question, ReviewDecision};
use tool::{BoxFuture, CallId};

type Answer = Box<dyn Fn(&Question) -> ReviewDecision + Send + Sync>;

/// Answers every question with a function, and remembers what it was asked.
pub struct Scripted {
    answer: Answer,
    asked: Mutex<Vec<Question>>,
}

impl Scripted {
    /// Answers with `answer`.
    pub fn new(answer: impl Fn(&Question) -> ReviewDecision + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), asked: Mutex::default() })
    }

    /// Says yes to whatever needs nothing beyond the sandbox, and no to the rest.
    pub fn confined() -> Arc<Self> {
        Self::new(|question| match question.grants.is_empty() {
            true => ReviewDecision::Approved,
            false => ReviewDecision::Denied { note: None },
        })
    }

    /// Takes what it was asked so far.
    pub fn asked(&self) -> Vec<Question> {
        std::mem::take(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Approver for Scripted {
    fn ask<'a>(&'a self, _: &'a CallId, question: &'a Question) -> BoxFuture<'a, ReviewDecision> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question.clone());
        let decision = (self.answer)(question);
        Box::pin(std::future::ready(decision))
    }
}
