//! Questions of the model to the user, answered by the next typed line.

use std::sync::Arc;

use agent::{UserPrompter, UserQuestion};
use parking_lot::Mutex;
use runtime::BoxFuture;
use tokio::sync::oneshot;

use super::SessionView;
use terminal::{FAINT, NAME, to_one_line};

/// Holds the question that waits for the next typed line.
pub(super) struct UserQuestions {
    view: Arc<dyn SessionView>,
    answer_sender: Mutex<Option<oneshot::Sender<String>>>,
}

impl UserQuestions {
    /// Creates the holder. `view` makes room on the screen before a question.
    pub(super) fn new(view: &Arc<dyn SessionView>) -> Self {
        Self { view: Arc::clone(view), answer_sender: Mutex::default() }
    }

    /// Passes a line to the waiting question. Returns the line if there is none.
    pub(super) fn offer_line(&self, line: String) -> Option<String> {
        let open = self.answer_sender.lock().take();
        match open {
            Some(open) => open.send(line).err(),
            None => Some(line),
        }
    }

    /// Withdraws the question without an answer.
    pub(super) fn withdraw(&self) {
        self.answer_sender.lock().take();
    }
}

impl UserPrompter for UserQuestions {
    fn ask<'a>(&'a self, question: &'a UserQuestion) -> BoxFuture<'a, Option<String>> {
        let (answer_sender, answered) = oneshot::channel();
        *self.answer_sender.lock() = Some(answer_sender);
        self.view.release_screen();
        terminal::print_stderr(&format_question(question));
        self.view.show_prompt();
        self.view.set_waiting_for_user(true);
        Box::pin(async move {
            let answer = answered.await.ok().and_then(|line| parse_answer(question, &line));
            self.view.set_waiting_for_user(false);
            answer
        })
    }
}

fn format_question(question: &UserQuestion) -> String {
    let mut lines = vec![format!("{NAME}?{NAME:#} {}", to_one_line(&question.question))];
    for (number, (label, about)) in (1..).zip(&question.options) {
        lines.push(format!("  {number}. {} {FAINT}{}{FAINT:#}", to_one_line(label), to_one_line(about)));
    }
    let how = if question.options.is_empty() {
        "type your answer"
    } else {
        "type a number, or an answer of your own"
    };
    lines.push(format!("  {FAINT}{how}; nothing if you do not want to say{FAINT:#}"));
    lines.join("\n")
}

/// Parses the answer: the number of an option, or free text. An empty line is no answer.
fn parse_answer(question: &UserQuestion, line: &str) -> Option<String> {
    let line = line.trim();
    let chosen = line.parse::<usize>().ok().and_then(|number| question.options.get(number.checked_sub(1)?));
    match chosen {
        Some((label, _)) => Some(label.clone()),
        None => Some(line.to_owned()).filter(|line| !line.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_chooses_and_everything_else_is_an_answer() {
        let options = vec![("yes".to_owned(), String::new()), ("no".to_owned(), "not now".to_owned())];
        let inquiry = UserQuestion { question: "Really?".to_owned(), options };
        let rows = [
            ("2\n", Some("no")),
            ("3\n", Some("3")),
            ("0", Some("0")),
            ("maybe\n", Some("maybe")),
            ("\n", None),
        ];
        for (line, expected) in rows {
            assert_eq!(parse_answer(&inquiry, line).as_deref(), expected, "{line:?}");
        }
    }
}
