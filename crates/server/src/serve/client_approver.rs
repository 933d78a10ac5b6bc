//! Asks the clients that follow a session: for approvals, and for answers to the model's questions.

use std::sync::Arc;

use agent::{UserPrompter, UserQuestion};
use rpc::protocol as p;
use rpc::{method, protocol::ClientCapabilities};
use runtime::{ApprovalQuestion, Approver, BoxFuture, CallId, ReviewDecision};
use serde_json::{Value, json};

use super::subscribers::Subscribers;
use crate::pipe::{parse_decision, question_json};

/// The approver of one session.
pub(super) struct ClientApprover {
    pub(super) session: String,
    pub(super) subscribers: Arc<Subscribers>,
}

impl Approver for ClientApprover {
    fn ask<'a>(&'a self, call: &'a CallId, asked: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(async move {
            let Value::Object(described) = question_json(call, asked) else {
                return unanswered("it cannot be described");
            };
            let params = p::ApprovalRequestParams {
                session_id: self.session.clone(),
                agents: asked.agent_path.clone(),
                question: described,
            };
            let can: fn(&ClientCapabilities) -> bool = |capabilities| capabilities.approvals;
            let Some(p::ApprovalRequestResult { decision: word, note }) =
                self.subscribers.ask_all::<method::ApprovalRequest>(params, can).await
            else {
                return unanswered(
                    "no client that follows the session answers approvals (`capabilities.approvals` of `initialize`)",
                );
            };
            let rule = asked.proposal.as_ref().map(|proposal| &proposal.rule);
            let said = json!({ "decision": word, "note": note });
            parse_decision(&said, rule)
                .unwrap_or_else(|why| unanswered(&format!("the client's answer was none: {why}")))
        })
    }
}

fn unanswered(why: &str) -> ReviewDecision {
    ReviewDecision::Unanswered { why: why.to_owned() }
}

impl UserPrompter for ClientApprover {
    fn ask<'a>(&'a self, question: &'a UserQuestion) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let options = question
                .options
                .iter()
                .map(|(label, about)| p::UserAskOption { label: label.clone(), description: about.clone() })
                .collect();
            let params = p::UserAskParams {
                session_id: self.session.clone(),
                question: question.question.clone(),
                options,
            };
            let can: fn(&ClientCapabilities) -> bool = |capabilities| capabilities.questions;
            self.subscribers.ask_all::<method::UserAsk>(params, can).await?.answer
        })
    }
}
