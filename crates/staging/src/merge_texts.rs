//! Merges two changes of a text, if they are clearly apart.

use std::ops::Range;

use similar::{DiffOp, capture_diff_slices};

/// The unchanged lines between two changes that are merged. Closer changes may belong together.
const MIN_LINES_APART: usize = 2;

/// A change: the lines of the base that it replaces, and their replacement.
struct MergedLines<'a> {
    old: Range<usize>,
    new: &'a [&'a str],
}

/// Applies the changes of both texts to `base`. Returns `None` if any two changes, also of one text, touch the same
/// lines, or lines that are close to one another.
pub(crate) fn merge_texts(base: &str, one: &str, other: &str) -> Option<String> {
    let [base, one, other] = [base, one, other].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let mut changes = changes_between(&base, &one);
    changes.extend(changes_between(&base, &other));
    changes.sort_by_key(|change| (change.old.start, change.old.end));
    let are_apart = |pair: &[MergedLines<'_>]| pair[0].old.end + MIN_LINES_APART <= pair[1].old.start;
    if !changes.windows(2).all(are_apart) {
        return None;
    }
    let (mut merged, mut at) = (String::new(), 0);
    for change in &changes {
        merged.extend(base[at..change.old.start].iter().copied());
        merged.extend(change.new.iter().copied());
        at = change.old.end;
    }
    merged.extend(base[at..].iter().copied());
    Some(merged)
}

fn changes_between<'a>(base: &[&str], text: &'a [&'a str]) -> Vec<MergedLines<'a>> {
    let operations = capture_diff_slices(similar::Algorithm::Myers, base, text);
    let change = |operation: DiffOp| match operation {
        DiffOp::Equal { .. } => None,
        changed => Some(MergedLines { old: changed.old_range(), new: &text[changed.new_range()] }),
    };
    operations.into_iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::merge_texts;

    #[test]
    fn changes_are_merged_only_if_they_are_apart() {
        let numbers = "1\n2\n3\n4\n5\n6\n";
        for (base, one, other, merged) in [
            (numbers, "one\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nsix\n", Some("one\n2\n3\n4\n5\nsix\n")),
            (numbers, "one\n2\n3\n4\n5\n6\n", "1\ntwo\n3\n4\n5\n6\n", None),
            (numbers, "one\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\n6\n7\n", Some("one\n2\n3\n4\n5\n6\n7\n")),
            (numbers, numbers, "1\n2\n", Some("1\n2\n")),
            ("a\na\na\nd\n", "a\na\nd\n", "a\nx\na\nd\n", None),
        ] {
            assert_eq!(merge_texts(base, one, other).as_deref(), merged, "{one:?} {other:?}");
        }
    }
}
