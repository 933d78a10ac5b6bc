//! An approver for tests: answers with a closure, and records the questions.

use std::sync::Arc;

use engine::Approver;
use parking_lot::Mutex;
use policy::{ApprovalQuestion, ReviewDecision};
use tool::{BoxFuture, CallId};

/// The function that decides a question.
type ApproverScript = Box<dyn Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync>;

/// Answers every question with a function, and records the questions.
pub struct TestApprover {
    answer: ApproverScript,
    questions: Mutex<Vec<ApprovalQuestion>>,
}

impl TestApprover {
    /// Creates an approver that answers with `answer`.
    pub fn new(answer: impl Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), questions: Mutex::default() })
    }

    /// Creates an approver that approves calls without extra grants, and denies all others.
    pub fn approving_confined() -> Arc<Self> {
        Self::new(|question| match question.grants.is_empty() {
            true => ReviewDecision::Approved,
            false => ReviewDecision::Denied { note: None },
        })
    }

    /// Takes the questions recorded so far.
    pub fn take_questions(&self) -> Vec<ApprovalQuestion> {
        std::mem::take(&mut self.questions.lock())
    }
}

impl Approver for TestApprover {
    fn ask<'a>(&'a self, _: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        self.questions.lock().push(question.clone());
        let decision = (self.answer)(question);
        Box::pin(std::future::ready(decision))
    }
}
