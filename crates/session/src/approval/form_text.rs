//! Renders an approval question for a form of another program, which may show only its first lines.
//!
//! Claude Code shows three lines: who asks, the reason, and the beginning of the command. The rest follows the command.

use runtime::{ApprovalQuestion, Effect, ExecEffect};

use super::describe::{confinement_summary, question_reasons};
use super::render::{
    PLAIN, TITLE, has_invisible_chars, mark_unknown_words, render_change, render_circumstances,
    render_effect, render_examples, render_grants, render_justification, render_parts, render_warnings,
};
use super::text_box::{SummaryLine, TextBox};
use terminal::NAME;

/// Characters of a command that certainly stands on one line of a client's window.
const MAX_HEAD_COMMAND: usize = 72;

/// The text of a form.
#[derive(Debug)]
pub struct FormText {
    /// The text, without colours and keys.
    pub text: String,
    /// The part of the question that its first lines show.
    pub head: FormHead,
}

/// The part of a question that the first three lines of its form show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormHead {
    /// All that the call would do.
    WholeCall,
    /// Only its beginning.
    Beginning,
}

/// Renders `question` in full for a form.
pub fn render_form(question: &ApprovalQuestion, width: usize) -> FormText {
    let mut text_box = TextBox::new(width);
    let verb = if commands(question).next().is_some() { "run" } else { "do" };
    text_box.push_line(&format!("Toolgate asks: may {} {verb} this?", question.tool), TITLE);
    let reason = text_box.push_summary(&reason_in_short(question), PLAIN);
    let mut call = TextBox::new(width);
    render_call(&mut call, question);
    text_box.append(&call);
    for exec in commands(question) {
        text_box.push_field("in", &[describe_place(exec)], PLAIN);
    }
    render_circumstances(&mut text_box, question);
    text_box.push_blank();
    if reason == SummaryLine::Shortened {
        render_grants(&mut text_box, question);
        text_box.push_field("why", &question_reasons(question), PLAIN);
    }
    text_box.push_field("confined", &[confinement_summary(question)], PLAIN);
    render_justification(&mut text_box, question);
    text_box.push_blank();
    render_parts(&mut text_box, question);
    if let Some(proposal) = &question.proposal {
        text_box.push_blank();
        text_box.push_line("The rule that could be saved:", PLAIN);
        text_box.push_quote(&proposal.rule.to_string(), |_| PLAIN);
        render_examples(&mut text_box, proposal);
    }
    text_box.push_blank();
    render_warnings(&mut text_box, question, usize::MAX);
    let head = if is_in_head(question, &call) { FormHead::WholeCall } else { FormHead::Beginning };
    FormText { text: anstream::adapter::strip_str(&text_box.to_text()).to_string(), head }
}

/// Says what a yes gives and why it is asked, in one sentence.
fn reason_in_short(question: &ApprovalQuestion) -> String {
    let grants: Vec<String> = question.grants.iter().map(ToString::to_string).collect();
    let grants =
        if grants.is_empty() { String::new() } else { format!("a yes lets it {}; ", grants.join("; ")) };
    format!("  {grants}why: {}", question_reasons(question).join("; "))
}

/// Shows the effects: a command begins on the first line.
fn render_call(text_box: &mut TextBox, question: &ApprovalQuestion) {
    let is_shown_first = |effect: &&Effect| as_command(effect).is_some();
    for exec in commands(question) {
        let script = exec.line().script();
        let command = script.map_or_else(
            || exec.line().to_string(),
            |script| mark_unknown_words(script, question.analysis.as_ref()),
        );
        text_box.push_quote(command.trim_end_matches('\n'), |_| NAME);
    }
    for effect in question.intent.effects.iter().filter(|effect| !is_shown_first(effect)) {
        render_effect(text_box, effect, question.analysis.as_ref());
    }
    render_change(text_box, question);
}

fn describe_place(exec: &ExecEffect) -> String {
    let shell = exec.line().script().map(|_| format!(", by `{}`", exec.line().argv()[..2].join(" ")));
    let terminal = if exec.terminal { ", at a terminal of its own" } else { "" };
    format!("`{}`{}{terminal}", exec.cwd().display(), shell.unwrap_or_default())
}

/// Returns the commands that are shown as such: one that only applies a patch is shown as its patch.
fn commands(question: &ApprovalQuestion) -> impl Iterator<Item = &ExecEffect> {
    question.intent.effects.iter().filter_map(as_command)
}

fn as_command(effect: &Effect) -> Option<&ExecEffect> {
    match effect {
        Effect::Exec(exec) => exec.analysis().patch.is_none().then_some(exec),
        Effect::Read(_)
        | Effect::Write(_)
        | Effect::Network(_)
        | Effect::SendInput(_)
        | Effect::Foreign(_)
        | Effect::Remember(_) => None,
    }
}

/// Returns true if the third line of the form shows the whole call.
fn is_in_head(question: &ApprovalQuestion, call: &TextBox) -> bool {
    let is_short = |exec: &ExecEffect| {
        let script = exec.line().script().map_or_else(|| exec.line().to_string(), str::to_owned);
        script.trim_end().chars().count() <= MAX_HEAD_COMMAND
    };
    call.height() == 1 && commands(question).all(is_short) && !has_invisible_chars(question)
}
