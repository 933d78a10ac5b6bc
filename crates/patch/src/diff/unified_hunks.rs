//! Formats the hunks between two texts. Lines end only with `\n`, as in git.

use std::fmt::Write;
use std::ops::Range;
use std::time::Duration;

use similar::{Algorithm, DiffOp, TextDiff};

/// The time limit of the diff. After it, the rest is compared coarsely.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);
/// The number of context lines around a change.
const CONTEXT_LINES: usize = 3;

/// Formats the hunks that turn `old_text` into `new_text`.
pub(super) fn format_hunks(old_text: &str, new_text: &str) -> String {
    let lines = |text| -> Vec<&str> { str::split_inclusive(text, '\n').collect() };
    let (old_lines, new_lines) = (lines(old_text), lines(new_text));
    let changes = TextDiff::configure()
        .algorithm(Algorithm::Histogram)
        .timeout(DIFF_TIMEOUT)
        .diff_slices(&old_lines, &new_lines);
    let mut out = String::new();
    for group in changes.grouped_ops(CONTEXT_LINES) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        let _ = writeln!(out, "@@ -{} +{} @@", format_range(&old), format_range(&new));
        for op in &group {
            write_diff_op(&mut out, op, &old_lines, &new_lines);
        }
    }
    out
}

fn write_diff_op(out: &mut String, op: &DiffOp, old_lines: &[&str], new_lines: &[&str]) {
    let (old, new) = (&old_lines[op.old_range()], &new_lines[op.new_range()]);
    let parts = match op {
        DiffOp::Equal { .. } => vec![(' ', old)],
        DiffOp::Delete { .. } => vec![('-', old)],
        DiffOp::Insert { .. } => vec![('+', new)],
        DiffOp::Replace { .. } => vec![('-', old), ('+', new)],
    };
    for (sign, lines) in parts {
        for line in lines {
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let _ = write!(out, "{sign}{line}{end}");
        }
    }
}

/// Formats the first line and the number of lines. An empty range gives the line before it.
fn format_range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        len => format!("{},{len}", lines.start + 1),
    }
}
