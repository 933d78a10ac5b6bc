//! Running calls of MCP clients: forwards their output, and asks the client and all approval terminals.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use runtime::{
    ApprovalQuestion, Approver, BoxFuture, CallEvent, CallId, CallObserver, ReviewDecision, ToolNotice,
};

use super::approval_form::ApprovalForm;
use super::client_bridge::ClientBridge;
use super::form_timing::{AnswerReading, FormRound};
use super::pending_questions::{PendingQuestion, PendingQuestions};

/// Time limit of a question. An unanswered question is refused, so that the next can be asked.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(10 * 60);

const NOT_SHOWN: &str =
    "the client declined it unseen; `toolgate approve` in a terminal lets the user answer, then try again";
const NO_ANSWER: &str = "the client gave no answer, and no `toolgate approve` runs any more";
const CLIENT_LEFT: &str = "the client has left";
const TIMEOUT: &str = "no answer came within ten minutes";

/// The running calls by id, and the questions for terminals.
pub(super) struct RunningCalls {
    calls: Mutex<HashMap<CallId, Arc<ClientBridge>>>,
    next_id: AtomicU64,
    pending_questions: Arc<PendingQuestions>,
}

impl RunningCalls {
    pub(super) fn new(pending_questions: Arc<PendingQuestions>) -> Self {
        Self { calls: Mutex::default(), next_id: AtomicU64::new(1), pending_questions }
    }

    /// Registers a call under a new id.
    pub(super) fn register(self: &Arc<Self>, bridge: &Arc<ClientBridge>) -> RegisteredCall {
        let id = CallId::from(format!("mcp-{}", self.next_id.fetch_add(1, Ordering::Relaxed)));
        let mut calls = self.calls.lock();
        calls.insert(id.clone(), Arc::clone(bridge));
        RegisteredCall { router: Arc::clone(self), id }
    }

    /// Closes all questions: a yes would act for a client that is gone.
    pub(super) fn withdraw_questions(&self) {
        self.pending_questions.withdraw();
    }

    /// Returns true if the client or a terminal can be asked about the call.
    pub(super) fn can_ask(&self, bridge: &ClientBridge) -> bool {
        bridge.supports_forms() || self.pending_questions.is_watched()
    }

    fn bridge_for_call(&self, call: &CallId) -> Option<Arc<ClientBridge>> {
        self.calls.lock().get(call).cloned()
    }

    async fn ask_client_and_terminals(&self, call: &CallId, question: &ApprovalQuestion) -> ReviewDecision {
        let bridge = self.bridge_for_call(call).filter(|line| line.supports_forms());
        let mut posted = self.pending_questions.post(PendingQuestion {
            question: Arc::new(question.clone()),
            form_keeper: bridge.as_ref().and_then(|bridge| bridge.form_keeper()),
        });
        let form = posted.form();
        let client = async {
            let unanswered = match bridge {
                Some(bridge) => match ask_client(&bridge, question).await {
                    Ok(decision) => return decision,
                    Err(unanswered) => {
                        form.note_closed();
                        unanswered
                    }
                },
                None => NO_ANSWER,
            };
            // A person at a terminal may still answer, also at one that is just finding this server.
            self.pending_questions.until_discovered().await;
            self.pending_questions.until_unwatched().await;
            refuse_unanswered(unanswered)
        };
        tokio::select! {
            // Biased: the terminal has already acknowledged its answer, so a later answer of the client must
            // not win.
            biased;
            decision = posted.wait_for_decision() => decision,
            decision = client => decision,
            () = self.pending_questions.until_withdrawn() => refuse_unanswered(CLIENT_LEFT),
            () = tokio::time::sleep(QUESTION_TIMEOUT) => refuse_unanswered(TIMEOUT),
        }
    }
}

/// Asks the person at the client. Returns the reason if no person answered.
async fn ask_client(
    bridge: &ClientBridge,
    question: &ApprovalQuestion,
) -> Result<ReviewDecision, &'static str> {
    let form = ApprovalForm::for_question(question);
    let mut round = FormRound::First;
    // ends: the answer of the second round counts
    loop {
        let asked = Instant::now();
        let Some(said) = bridge.ask(form.request(bridge.client_name(), round)).await else {
            return Err(NO_ANSWER);
        };
        let (answer, decision) = form.read(question, &said);
        match answer.reading(asked.elapsed(), round) {
            AnswerReading::Counts => return Ok(decision),
            AnswerReading::AskAgain => round = FormRound::Second,
            AnswerReading::NotShown => return Err(NOT_SHOWN),
        }
    }
}

fn refuse_unanswered(why: &str) -> ReviewDecision {
    ReviewDecision::Unanswered { why: why.to_owned() }
}

impl Approver for RunningCalls {
    fn ask<'a>(&'a self, call: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(self.ask_client_and_terminals(call, question))
    }
}

impl CallObserver for RunningCalls {
    fn on_event(&self, call: &CallId, event: &CallEvent) {
        let text = match event {
            CallEvent::Asked { why } => format!("waits for approval: {}\n", why.join("; ")),
            CallEvent::Notice(ToolNotice::Output { text, .. }) => text.clone(),
            CallEvent::Notice(
                ToolNotice::Progress { text, .. }
                | ToolNotice::Warning { text }
                | ToolNotice::WeakerSandbox { text, .. },
            ) => format!("{text}\n"),
            CallEvent::Notice(ToolNotice::AccessRefused { denial }) => {
                format!("refused by the sandbox: {denial}\n")
            }
            CallEvent::Notice(ToolNotice::FileChanged { kind, path }) => format!("{kind} {path}\n"),
            CallEvent::Notice(ToolNotice::PlanUpdated { .. })
            | CallEvent::Queued { .. }
            | CallEvent::Started
            | CallEvent::Judged { .. }
            | CallEvent::Attempted { .. }
            | CallEvent::Decided { .. }
            | CallEvent::Finished { .. } => return,
        };
        if let Some(bridge) = self.bridge_for_call(call) {
            bridge.push_progress(&text);
        }
    }
}

/// The registration of a running call, removed on drop.
pub(super) struct RegisteredCall {
    router: Arc<RunningCalls>,
    pub(super) id: CallId,
}

impl Drop for RegisteredCall {
    fn drop(&mut self) {
        self.router.calls.lock().remove(&self.id);
    }
}
