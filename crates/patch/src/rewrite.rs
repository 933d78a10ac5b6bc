//! Applies placed hunks to a text. Lines that no hunk names stay byte for byte.

use crate::decoded_text::DecodedText;
use crate::matching::LineEdits;

/// The line ends of new lines.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineEndPolicy {
    /// `true` if the patch says that the last line has no newline, `None` if it says nothing.
    pub(crate) without_newline: Option<bool>,
    /// New lines end like the file's first line, not like their neighbours. The envelope format means it that way.
    pub(crate) like_first_line: bool,
}

/// Returns the new text. If the patch is silent about the last newline and any line stays, it stays as it was.
pub(crate) fn rewrite_text(
    text: &DecodedText<'_>,
    all_edits: &[&LineEdits],
    policy: LineEndPolicy,
) -> String {
    let LineEndPolicy { without_newline, like_first_line } = policy;
    let mut drops = vec![false; text.len()];
    let mut adds: Vec<(usize, &str)> = Vec::new();
    for line_edits in all_edits {
        adds.extend(line_edits.adds.iter().map(|(at, line)| (*at, line.as_str())));
        for at in &line_edits.drops {
            drops[*at] = true;
        }
    }
    adds.sort_by_key(|(at, _)| *at);
    let mut out = RewriteOutput {
        text,
        output: String::with_capacity(text.as_str().len() + 256),
        last_line_is_new: false,
        like_first_line,
    };
    let mut stops: Vec<usize> = adds.iter().map(|(at, _)| *at).collect();
    stops.extend(drops.iter().enumerate().filter(|(_, dropped)| **dropped).map(|(at, _)| at));
    stops.sort_unstable();
    stops.dedup();
    let mut adds = adds.into_iter().peekable();
    let mut from = 0;
    for stop in stops {
        out.keep(from, stop);
        // ends: each round takes a line
        while let Some((_, line)) = adds.next_if(|(before, _)| *before <= stop) {
            out.add(stop, line);
        }
        from = stop + usize::from(drops.get(stop).is_some_and(|dropped| *dropped));
    }
    out.keep(from, text.len());
    let stays = drops.iter().any(|dropped| !dropped);
    let was_bare = text.len() > 0 && text.line_end(text.len() - 1).is_empty();
    let touches_end = out.last_line_is_new || drops.last().is_some_and(|dropped| *dropped);
    if touches_end && without_newline.unwrap_or(was_bare && stays) {
        let end = out.output.trim_end_matches('\n').trim_end_matches('\r').len();
        out.output.truncate(end);
    }
    out.output
}

struct RewriteOutput<'a> {
    text: &'a DecodedText<'a>,
    output: String,
    /// True if the last line is new.
    last_line_is_new: bool,
    like_first_line: bool,
}

impl RewriteOutput<'_> {
    /// Copies a range of lines that stay.
    fn keep(&mut self, from: usize, until: usize) {
        if from < until {
            self.end_line();
            self.output.push_str(self.text.lines_with_ends(from, until));
            self.last_line_is_new = false;
        }
    }

    /// Adds a new line before the line at `at`. It ends like its neighbours, or like the file's first line.
    fn add(&mut self, at: usize, line: &str) {
        self.end_line();
        self.output.push_str(line);
        let near = if self.like_first_line { [None, None] } else { [at.checked_sub(1), Some(at)] };
        let endings = near.into_iter().flatten().map(|at| self.text.line_end(at));
        let ending = endings.into_iter().find(|ending| !ending.is_empty());
        self.output.push_str(ending.unwrap_or(self.text.first_line_end()));
        self.last_line_is_new = true;
    }

    /// Ends the old file's last line, if it had no newline and is no longer the last.
    fn end_line(&mut self) {
        if !self.output.is_empty() && !self.output.ends_with(['\n', '\r']) {
            self.output.push_str(self.text.first_line_end());
        }
    }
}
