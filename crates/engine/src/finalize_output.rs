//! Turns the outcome of a call into its final output: errors become text, and long text is truncated.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use tool::{
    BYTES_PER_TOKEN, CallId, ErrorHints, OmittedSize, OutputFacts, OutputItem, ToolError, ToolOutput,
    truncate_middle,
};

use crate::stopwatch::CallStopwatch;

/// Stores output that is too long for the model, so that it can be read later.
pub trait OverflowStore: Send + Sync {
    /// Stores `text` and returns its location, e.g. a path that `read_file` accepts. Returns `None` if storing failed.
    fn store(&self, call: &CallId, text: &str) -> Option<String>;
}

/// Turns the outcome of a call into its output: an error becomes a message, and the times are added.
pub(crate) fn finalize_output(
    outcome: Result<ToolOutput, ToolError>,
    stopwatch: &CallStopwatch,
    hints: &ErrorHints,
) -> ToolOutput {
    let mut output = match outcome {
        Ok(output) => output,
        Err(error) => error_output(&error, hints),
    };
    output.facts.waited += stopwatch.total_wait();
    let worked = stopwatch.arrived.elapsed().saturating_sub(output.facts.waited);
    output.facts.duration.get_or_insert(worked);
    output
}

/// Returns the failed output that reports `error`, with its hint.
pub(crate) fn error_output(error: &ToolError, hints: &ErrorHints) -> ToolOutput {
    let denials = error.denial().cloned().into_iter().collect();
    let facts = OutputFacts { error: Some(error.kind()), denials, ..OutputFacts::default() };
    ToolOutput { facts, ..ToolOutput::failure(escape_control_chars(&hints.explain(error))) }
}

/// Escapes control characters, so that an error message stays one line whatever file and tool names it contains.
fn escape_control_chars(sentence: &str) -> String {
    let mut line = String::with_capacity(sentence.len());
    for letter in sentence.chars() {
        if letter.is_control() { line.extend(letter.escape_default()) } else { line.push(letter) }
    }
    line
}

/// Truncates the texts of `output` to `tokens` in total. Items after the budget is used up are removed.
///
/// Images do not count: the tool has already limited their size.
pub(crate) fn truncate_output(
    output: &mut ToolOutput,
    tokens: usize,
    call: &CallId,
    store: Option<&dyn OverflowStore>,
) {
    let needed: usize = output.items.iter().filter_map(OutputItem::as_text).map(count_tokens).sum();
    if needed <= tokens {
        return;
    }
    let rest = match store.and_then(|keep| store_overflow(keep, call, &output.joined_text())) {
        Some(location) => {
            output.facts.output_file = Some(PathBuf::from(&location));
            format!("the whole answer is in `{location}`")
        }
        None => "the rest was not kept: ask for less at a time".to_owned(),
    };
    let mut left = tokens;
    let mut omitted = OmittedSize { bytes: 0, lines: 0 };
    output.items.retain_mut(|item| {
        let OutputItem::Text(text) = item else { return true };
        let needed = count_tokens(text);
        let (short, lost) = match left {
            0 => (String::new(), Some(OmittedSize { bytes: text.len(), lines: text.lines().count() })),
            left => truncate_middle(text, left, &rest),
        };
        if let Some(lost) = lost {
            omitted = OmittedSize { bytes: omitted.bytes + lost.bytes, lines: omitted.lines + lost.lines };
        }
        left = left.saturating_sub(needed);
        *text = short;
        !text.is_empty()
    });
    output.facts.omitted = Some(omitted);
}

fn count_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// Calls the store. A store that panics counts as a failed one.
fn store_overflow(store: &dyn OverflowStore, call: &CallId, text: &str) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| store.store(call, text))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_texts_share_one_budget() {
        let long = "x".repeat(1000);
        let items = [long.as_str(), "after", "and more"].map(|text| OutputItem::Text(text.to_owned()));
        let mut short = ToolOutput { items: items.to_vec(), ..ToolOutput::text("") };
        truncate_output(&mut short, 100, &CallId::from("1"), None);
        assert_eq!(short.items.len(), 1);
        assert!(short.joined_text().len() <= 400);
        assert_eq!(short.facts.omitted.map(|cut| cut.bytes), Some(800 + 5 + 8));
    }

    #[test]
    fn a_sentence_is_one_line() {
        assert_eq!(escape_control_chars("no `a\nb\u{1b}[31m`"), "no `a\\nb\\u{1b}[31m`");
    }
}
