//! Truncates an output to its head and tail, with a marker line for the omitted size and the file with the rest.

use exec::capture::KeptOutput;
use tool::{OmittedSize, take_head, take_tail, truncation_marker};

use crate::text_format;

/// The text of an output, as far as memory holds it.
pub(super) enum CapturedText {
    Whole(String),
    HeadAndTail { head: String, omitted: u64, tail: String },
}

impl CapturedText {
    /// Returns head and tail with a marker line in between. `rest` is the marker's note on where the full output is.
    pub(super) fn truncate(&self, budget: usize, rest: &str) -> (String, OmittedSize) {
        let (first, last, omitted) = match self {
            Self::Whole(text) => (text, text, 0),
            Self::HeadAndTail { head, omitted, tail } => (head, tail, *omitted),
        };
        // No number is longer than the one that counts everything.
        let widest = self.format_marker(omitted_size([first, last], omitted), rest);
        let room = budget.saturating_sub(widest.len() + 1);
        let head = take_head(first, (room / 2).max(room.saturating_sub(last.len())));
        let (unseen, last) = match self {
            Self::Whole(text) => ("", &text[head.len()..]),
            Self::HeadAndTail { head: first, tail, .. } => (&first[head.len()..], &**tail),
        };
        let tail = take_tail(last, room - head.len());
        let cut = omitted_size([unseen, &last[..last.len() - tail.len()]], omitted);
        let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        (format!("{head}{newline}{}{tail}", self.format_marker(cut, rest)), cut)
    }

    fn format_marker(&self, OmittedSize { bytes, lines }: OmittedSize, rest: &str) -> String {
        let lines = match self {
            Self::Whole(_) => Some(lines),
            Self::HeadAndTail { .. } => None,
        };
        truncation_marker(bytes, lines, rest)
    }
}

fn omitted_size(texts: [&str; 2], omitted: u64) -> OmittedSize {
    let omitted = usize::try_from(omitted).unwrap_or(usize::MAX);
    let lines = |text: &str| text.matches('\n').count();
    let [one, two] = texts;
    OmittedSize { bytes: omitted.saturating_add(one.len() + two.len()), lines: lines(one) + lines(two) }
}

/// Describes the file with the full output, as the end of a sentence.
pub(super) fn describe_kept_file(kept: &KeptOutput) -> String {
    match kept {
        KeptOutput::Whole(path) => format!("the whole output is in `{}`", text_format::format_path(path)),
        KeptOutput::Part { path, bytes, why } => {
            let size =
                if *bytes < 1 << 20 { format!("{bytes} bytes") } else { format!("{} MiB", bytes >> 20) };
            format!("the first {size} of it are in `{}` ({why})", text_format::format_path(path))
        }
        KeptOutput::NotKept(why) => format!("the rest was not kept: {why}"),
    }
}

#[cfg(test)]
mod tests;
