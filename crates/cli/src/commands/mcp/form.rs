//! A question as a form that any client can show, and what comes back.

use ::mcp::serve::Request;
use serde_json::{Value, json};
use toolgate::{Question, ReviewDecision};

use crate::approve::{Choice, Said, choices, plain};

/// How wide the text of a question is.
const WIDTH: usize = 100;
/// How much of it a form shows.
const MOST: usize = 8000;

/// What a person chooses. A list of plain words is all that clients of every revision can show.
fn words(choice: Choice) -> Option<&'static str> {
    match choice {
        Choice::Once => Some("yes, once"),
        Choice::Session => Some("yes, and exactly this again until the server ends"),
        Choice::Always => Some("yes, always: save the rule"),
        Choice::No => Some("no"),
        // There is a field for it.
        Choice::Note => None,
        Choice::Stop => Some("no, and stop what else is asked"),
    }
}

/// The form for `question`.
pub(super) fn form(question: &Question) -> Request {
    let mut message = plain(question, WIDTH).trim().to_owned();
    if message.len() > MOST {
        let cut = message.floor_char_boundary(MOST);
        message.truncate(cut);
        message.push_str("\n… there is more of it: `toolgate approve` in a terminal shows all.");
    }
    if let Some(proposal) = &question.proposal {
        message.push_str(&format!("\n\nThe rule that could be saved:\n{}", proposal.rule));
    }
    let answers: Vec<&str> = choices(question).into_iter().filter_map(words).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "answer": { "type": "string", "title": "May it?", "enum": answers },
            "note": { "type": "string", "title": "What the model should know", "maxLength": 2000 },
        },
        "required": ["answer"],
    });
    Request::Form { message, schema }
}

/// What a client says about it. Whatever is not a clear yes is a no.
pub(super) fn decision(question: &Question, said: &Value) -> ReviewDecision {
    let note = said["content"]["note"].as_str().map(str::trim).filter(|note| !note.is_empty());
    let no = |why: &str| Said::No { note: Some(note.map_or_else(|| why.to_owned(), str::to_owned)) };
    let answer = said["content"]["answer"].as_str().unwrap_or_default();
    let meant = choices(question).into_iter().find(|choice| words(*choice) == Some(answer));
    let said = match (said["action"].as_str(), meant) {
        (Some("accept"), Some(Choice::Once)) => Said::Once,
        (Some("accept"), Some(Choice::Session)) => Said::Session,
        (Some("accept"), Some(Choice::Always)) => Said::Always,
        (Some("accept"), Some(Choice::No | Choice::Note)) | (Some("decline"), _) => {
            Said::No { note: note.map(str::to_owned) }
        }
        (Some("accept"), Some(Choice::Stop)) => Said::Stop,
        (Some("cancel"), _) => no("the question was put away without an answer"),
        _ => no("the client gave no answer that makes sense"),
    };
    said.decision(question.proposal.as_ref().map(|proposal| &proposal.rule))
}

#[cfg(test)]
mod tests {
    use toolgate::ApprovalPolicy;

    use super::*;
    use crate::approve::tests::{asked, script};

    #[test]
    fn only_a_clear_yes_is_one() {
        let plain = asked(ApprovalPolicy::OnRequest, &script("rm -rf x"));
        let ruled = asked(ApprovalPolicy::Untrusted, &script("cargo test"));
        let said = |question: &Question, said: Value| decision(question, &said).as_str();
        let accept = |answer: &str| json!({ "action": "accept", "content": { "answer": answer } });
        for (answer, expected) in [
            ("yes, once", "approved"),
            ("yes, and exactly this again until the server ends", "approved_for_session"),
            ("no", "denied"),
            ("no, and stop what else is asked", "abort"),
            ("yes", "denied"),
            ("", "denied"),
            ("yes, always: save the rule", "denied"),
        ] {
            assert_eq!(said(&plain, accept(answer)), expected, "{answer}");
        }
        assert_eq!(said(&ruled, accept("yes, always: save the rule")), "approved_with_rule");
        for odd in [
            json!(null),
            json!({}),
            json!({ "action": "accept" }),
            json!({ "action": "decline", "content": { "answer": "yes, once" } }),
            json!({ "action": "cancel", "content": { "answer": "yes, once" } }),
            json!({ "content": { "answer": "yes, once" } }),
            json!({ "action": "accept", "content": { "answer": ["yes, once"] } }),
        ] {
            assert_eq!(said(&ruled, odd.clone()), "denied", "{odd}");
        }
    }

    #[test]
    fn a_form_shows_what_a_terminal_shows() {
        let question = asked(ApprovalPolicy::Untrusted, &script("cargo test"));
        let Request::Form { message, schema } = form(&question) else { panic!("no form") };
        assert!(message.starts_with("Toolgate asks: may shell_command do this?"), "{message}");
        assert!(message.contains("pattern = [\"cargo\", \"test\"]"), "{message}");
        assert!(!message.contains('\u{1b}'));
        assert_eq!(schema["properties"]["answer"]["enum"].as_array().unwrap().len(), 5);
    }
}
