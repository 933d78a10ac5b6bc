//! Writes a call: its outcome on one line, and below it the arguments, the decisions and the answer.

use journal::{RecordedCall, RecordedCallForm, TimelineCall, TimelineEvent};
use runtime::{ToolCall, ToolErrorKind, ToolPayload};
use session::call_title::summarize_arguments;

use super::arguments::write_arguments;
use super::html::HtmlWriter;
use crate::format_amount;
use crate::session_text;

/// The outcome of a call, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallOutcome {
    Done,
    Failed,
    /// It did not run.
    Refused,
}

/// Writes a call that can be unfolded.
pub(super) fn write_call(html: &mut HtmlWriter, event: &TimelineEvent, call: &TimelineCall) {
    let (outcome, words) = outcome(call);
    html.tag(match outcome {
        CallOutcome::Done => "<details class=\"call\">",
        CallOutcome::Failed => "<details class=\"call bad\">",
        CallOutcome::Refused => "<details class=\"call refused\">",
    });
    html.tag("<summary><span class=\"when\">");
    html.text(&format_amount::format_duration(event.time.after_ms));
    html.tag("</span><span class=\"tool\">");
    html.text(&call.call.tool);
    html.tag("</span><code>");
    html.text(&summarize_arguments(&tool_call(&call.call)));
    html.tag("</code><span class=\"how\">");
    for mark in words.into_iter().chain(approver(call)).chain(sandbox_refusal(call)) {
        html.tag("<span class=\"mark\">");
        html.text(&mark);
        html.tag("</span> ");
    }
    html.text(&call.run_time(event.time).map(format_amount::format_duration).unwrap_or_default());
    // A browser that jumps to an anchor inside a closed `<details>` opens it.
    html.tag("</span></summary>\n<div class=\"inside\" id=\"l");
    html.number(event.seq);
    html.tag("\">\n");
    write_arguments(html, &call.call, event.omitted_bytes);
    write_course(html, call);
    if let Some(answer) = &call.answer {
        html.quote(&answer.answer.text, answer.omitted_bytes);
        session_text::answer_extras(&answer.answer).iter().for_each(|line| html.line(line));
    }
    html.tag("</div></details>\n");
}

/// Writes the decisions and attempts, and the refusals of the sandbox.
fn write_course(html: &mut HtmlWriter, call: &TimelineCall) {
    html.tag("<ul>\n");
    for sentence in session_text::call_sentences(call) {
        html.tag("<li>");
        html.text(&sentence);
        html.tag("</li>\n");
    }
    for refusal in call.answer.iter().flat_map(|answer| &answer.answer.refused) {
        html.tag("<li class=\"warning\">refused by the sandbox: ");
        html.text(refusal);
        html.tag("</li>\n");
    }
    html.tag("</ul>\n");
}

/// Returns the outcome, and words for one that is not success.
fn outcome(call: &TimelineCall) -> (CallOutcome, Option<String>) {
    let Some(answer) = &call.answer else {
        return (CallOutcome::Failed, Some("no answer: its effects are unknown".to_owned()));
    };
    let Some(fault) = answer.answer.error_kind() else { return (CallOutcome::Done, None) };
    let is = |kind: ToolErrorKind| fault == kind.as_str();
    if is(ToolErrorKind::Forbidden) {
        (CallOutcome::Refused, Some("forbidden".to_owned()))
    } else if is(ToolErrorKind::Denied) || is(ToolErrorKind::Stopped) {
        let decision = call.questions.last().and_then(|question| question.decision.as_ref());
        let refused = decision.map_or_else(
            || "refused".to_owned(),
            |decision| match decision.decision.as_str() {
                "unanswered" => format!("refused: {}", decision.describe()),
                _ => format!("refused by {}", decision.by),
            },
        );
        (CallOutcome::Refused, Some(refused))
    } else if answer.answer.error.is_none() {
        (CallOutcome::Failed, Some("failed".to_owned()))
    } else {
        (CallOutcome::Failed, Some(fault.replace('_', " ")))
    }
}

/// Names the person or program that approved the call.
fn approver(call: &TimelineCall) -> Option<String> {
    let ran = !call.attempts.is_empty() && outcome(call).0 != CallOutcome::Refused;
    let decision = call.questions.last()?.decision.as_ref().filter(|_| ran)?;
    Some(format!("asked: {}", decision.describe()))
}

fn sandbox_refusal(call: &TimelineCall) -> Option<String> {
    let is_refused = call.answer.as_ref().is_some_and(|answer| !answer.answer.refused.is_empty());
    is_refused.then(|| "refused by the sandbox".to_owned())
}

/// Converts a recorded call for its summary.
fn tool_call(call: &RecordedCall) -> ToolCall {
    match call.form {
        RecordedCallForm::Custom | RecordedCallForm::ClientText => ToolCall {
            id: call.id.as_str().into(),
            name: call.tool.clone(),
            payload: ToolPayload::Custom { input: call.arguments.clone() },
        },
        RecordedCallForm::Function
        | RecordedCallForm::LocalShell
        | RecordedCallForm::Mcp
        | RecordedCallForm::Client => {
            ToolCall::function(call.id.as_str(), &call.tool, call.arguments.as_str())
        }
    }
}
