//! Whatever happened → one answer that fits.

use std::time::Duration;

use tool::{CallId, Facts, Item, ToolError, ToolOutput};

use crate::truncate::fit;

/// Keeps what is too long for the model, so that it can be read later.
pub trait Keep: Send + Sync {
    /// Keeps `text` and says where, e.g. a path that `read_file` takes; `None` if it could not be kept.
    fn keep(&self, call: &CallId, text: &str) -> Option<String>;
}

/// Turns the outcome of a call into its answer: a fault becomes its sentence, a text too long loses its middle.
pub(crate) fn answer(
    outcome: Result<ToolOutput, ToolError>,
    elapsed: Duration,
    shorten: impl FnOnce(ToolOutput) -> ToolOutput,
) -> ToolOutput {
    let mut output = match outcome {
        Ok(output) => output,
        Err(error) => {
            let facts = Facts { error: Some(error.kind()), ..Facts::default() };
            ToolOutput { facts, ..ToolOutput::failure(error.to_string()) }
        }
    };
    output.facts.duration.get_or_insert(elapsed);
    shorten(output)
}

/// Shortens the texts of `output` to `tokens` in all. Pictures cost nothing here: their tool has seen to their size.
pub(crate) fn shorten(
    mut output: ToolOutput,
    tokens: usize,
    call: &CallId,
    keep: Option<&dyn Keep>,
) -> ToolOutput {
    let mut left = tokens;
    for item in &mut output.items {
        let Item::Text(text) = item else { continue };
        let needed = text.len().div_ceil(crate::BYTES_PER_TOKEN);
        if needed > left {
            let rest = match keep.and_then(|keep| keep.keep(call, text)) {
                Some(place) => format!("all of it is in `{place}`"),
                None => "the rest was not kept: ask for less at a time".to_owned(),
            };
            let (short, cut) = fit(text, left, &rest);
            *text = short;
            output.facts.cut = cut.or(output.facts.cut);
        }
        left = left.saturating_sub(needed);
    }
    output
}
