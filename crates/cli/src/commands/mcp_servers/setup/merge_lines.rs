//! Merges the changes that two texts make to the lines of a third.

use std::ops::Range;

use similar::{DiffOp, TextDiff};

/// One change: the lines of the base that it replaces, and the new lines.
struct LineChange {
    base: Range<usize>,
    text: String,
}

/// Returns `base` with the changes of both texts; `None` if they change the same lines.
pub(super) fn merge_lines(base: &str, one: &str, other: &str) -> Option<String> {
    let mut changes: Vec<LineChange> = line_changes(base, one);
    changes.extend(line_changes(base, other));
    // An insertion at the end of a replaced range follows it.
    changes.sort_by_key(|change| (change.base.start, change.base.end));
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let (mut merged, mut at) = (String::new(), 0);
    let mut previous: Option<Range<usize>> = None;
    for LineChange { base: range, text } in changes {
        let is_repeated = previous.as_ref().is_some_and(|previous| previous.start == range.start);
        if range.start < at || is_repeated {
            return None;
        }
        merged.extend(lines[at..range.start].iter().copied());
        merged.push_str(&text);
        at = range.end;
        previous = Some(range);
    }
    merged.extend(lines[at..].iter().copied());
    Some(merged)
}

fn line_changes(base: &str, changed: &str) -> Vec<LineChange> {
    let diff = TextDiff::from_lines(base, changed);
    let new: Vec<&str> = changed.split_inclusive('\n').collect();
    let ops = diff.ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    ops.map(|op| LineChange { base: op.old_range(), text: new[op.new_range()].concat() }).collect()
}

#[cfg(test)]
mod tests {
    use super::merge_lines;

    #[test]
    fn changes_of_other_lines_are_kept() {
        for (base, one, other, merged) in [
            ("a\nours\n", "a\n", "a\nours\n[tui]\n", Some("a\n[tui]\n")),
            ("a\nours\nb\n", "a\nb\n", "a\nours\nB\n", Some("a\nB\n")),
            ("ours\na\nours\n", "a\n", "ours\nx\na\nours\n", Some("x\na\n")),
            ("a\nours\n", "a\n", "a\nOURS\n", None),
            ("a\nours\n", "", "a\nours\nb\n", Some("b\n")),
        ] {
            assert_eq!(merge_lines(base, one, other).as_deref(), merged, "{base:?} {one:?} {other:?}");
        }
    }
}
