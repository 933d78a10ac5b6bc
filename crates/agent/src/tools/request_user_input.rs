//! `request_user_input`: asks the user questions with optional choices. A free-form answer is always possible.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool::{BoxFuture, Cx, ToolError, ToolHandler, ToolOutput};

/// Limits on questions at once and options of one question; more would not help the user.
const MAX_QUESTIONS: usize = 4;
const MAX_OPTIONS: usize = 8;

/// Asks the user free-form questions.
pub trait UserPrompter: Send + Sync {
    /// Asks; `None` if the user did not answer. Dropping the future withdraws the question.
    fn ask<'a>(&'a self, inquiry: &'a UserQuestion) -> BoxFuture<'a, Option<String>>;
}

/// A question from the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// The question text.
    pub question: String,
    /// Suggested answers, each with its meaning.
    pub options: Vec<(String, String)>,
}

/// The `request_user_input` tool.
pub struct RequestUserInput(pub Option<Arc<dyn UserPrompter>>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// One to four questions.
    questions: Vec<QuestionArg>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuestionArg {
    /// Key of the answer, e.g. `database`.
    id: String,
    question: String,
    /// Title above the question, one or two words.
    header: Option<String>,
    /// Suggestions; any answer is possible.
    #[serde(default)]
    options: Vec<QuestionOptionArg>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuestionOptionArg {
    /// A few words.
    label: String,
    /// Its consequence.
    description: Option<String>,
}

impl ToolHandler for RequestUserInput {
    type Args = Args;
    const NAME: &'static str = "request_user_input";
    const ABOUT: &'static str = "Asks the user for a decision that you cannot go on without, and waits.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[("questions[].header", "id")];
    // If `id` is given too, `header` is meant as a title.
    const HIDDEN_ARGS: &'static [&'static str] = &["questions[].header"];

    async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        check_questions(&args.questions)?;
        let Some(prompter) = &self.0 else {
            return Ok(ToolOutput::failure(
                "no user is present to answer; decide yourself, and say what you decided and why",
            ));
        };
        let (mut answers, mut waited) = (BTreeMap::new(), Duration::ZERO);
        for QuestionArg { id, question, header, options } in &args.questions {
            let options = options
                .iter()
                .map(|choice| (choice.label.clone(), choice.description.clone().unwrap_or_default()))
                .collect();
            let header = header.iter().filter(|header| !header.trim().is_empty());
            let question = header.fold(question.clone(), |question, header| format!("{header}: {question}"));
            let user_question = UserQuestion { question, options };
            let since = Instant::now();
            let answer = prompter.ask(&user_question).await;
            waited += since.elapsed();
            let Some(answer) = answer else {
                let unanswered =
                    "the user did not answer; go on without, or stop and say what you need to know";
                return Ok(with_wait_time(ToolOutput::failure(unanswered), waited));
            };
            answers.insert(id.clone(), json!({ "answers": [answer] }));
        }
        Ok(with_wait_time(ToolOutput::text(json!({ "answers": answers }).to_string()), waited))
    }
}

/// Adds the time spent waiting for the user to an output.
fn with_wait_time(mut output: ToolOutput, waited: Duration) -> ToolOutput {
    output.facts.waited = waited;
    output
}

fn check_questions(questions: &[QuestionArg]) -> Result<(), ToolError> {
    if questions.is_empty() || questions.len() > MAX_QUESTIONS {
        return Err(ToolError::bad_argument("questions", format!("there must be 1 to {MAX_QUESTIONS}")));
    }
    for (at, question) in questions.iter().enumerate() {
        if question.question.trim().is_empty() {
            return Err(ToolError::bad_argument(format!("questions[{at}].question"), "it is empty"));
        }
        if question.options.len() > MAX_OPTIONS {
            let why = format!("{MAX_OPTIONS} are the most");
            return Err(ToolError::bad_argument(format!("questions[{at}].options"), why));
        }
        if questions[..at].iter().any(|other| other.id == question.id) {
            return Err(ToolError::bad_argument(format!("questions[{at}].id"), "another question has it"));
        }
    }
    Ok(())
}
