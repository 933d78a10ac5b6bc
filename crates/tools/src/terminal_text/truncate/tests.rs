//! Tests the text of a truncated output, and its note on the file with the rest.

use std::path::Path;
use std::sync::Arc;

use exec::capture::{Capture, Captured, CapturedStream};
use exec::spill::Spill;
use insta::assert_snapshot;
use proptest::prelude::*;
use testkit::TestWorkspace;

use super::*;
use crate::terminal_text::{RenderedOutput, render_piped, render_within};

/// More than memory holds.
const LONG: usize = 3 << 20;

fn captured(bytes: &[u8]) -> Captured {
    let mut capture = Capture::new(None, String::new());
    capture.push(CapturedStream::Stdout, bytes);
    capture.take()
}

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

#[test]
fn what_fits_is_shown_whole() {
    for (bytes, lines) in [("", 0), ("a", 1), ("a\nb\n", 2), ("50%\r100%\n", 1)] {
        let text = render_piped(bytes.as_bytes());
        let tokens = bytes.len().div_ceil(4) as u64;
        let expected = RenderedOutput { text: text.clone(), omitted: None, output_file: None, tokens, lines };
        assert_eq!(render_within(&mut captured(bytes.as_bytes()), false, text.len()), expected, "{bytes:?}");
    }
}

#[test]
fn a_cut_output_says_where_the_whole_is() {
    let whole = KeptOutput::Whole("/state/outputs/w/1-call-0.txt".into());
    let (text, cut) = CapturedText::Whole(numbered(200)).truncate(160, &describe_kept_file(&whole));
    assert_snapshot!(text, @r"
    line 1
    line 2
    line 3
    [… 195 lines, 1653 bytes (about 414 tokens) cut here; the whole output is in `/state/outputs/w/1-call-0.txt` …]
    line 199
    line 200
    ");
    assert_eq!(cut, OmittedSize { bytes: 1653, lines: 195 });
}

#[test]
fn an_output_that_memory_dropped_counts_bytes_alone() {
    let ends = |omitted| CapturedText::HeadAndTail {
        head: numbered(20),
        omitted,
        tail: "of a line\nthe end\n".to_owned(),
    };
    let path = "/state/outputs/w/1-call-0.txt".into();
    let part = KeptOutput::Part { path, bytes: 128 << 20, why: "no more is kept of one output".to_owned() };
    let (text, cut) = ends(1 << 30).truncate(240, &describe_kept_file(&part));
    assert_snapshot!(text, @r"
    line 1
    line 2
    line 3
    line 4
    line 5
    line 6
    line 7
    line 8
    line 9
    [… 1073741912 bytes (about 268435478 tokens) cut here; the first 128 MiB of it are in `/state/outputs/w/1-call-0.txt` (no more is kept of one output) …]
    of a line
    the end
    ");
    assert_eq!(cut, OmittedSize { bytes: (1 << 30) + 88, lines: 11 });
    let nowhere = KeptOutput::NotKept("the disk is nearly full".to_owned());
    assert_snapshot!(ends(1 << 30).truncate(160, &describe_kept_file(&nowhere)).0, @r"
    line 1
    line 2
    line 3
    line 4
    [… 1073741947 bytes (about 268435487 tokens) cut here; the rest was not kept: the disk is nearly full …]
    of a line
    the end
    ");
    let path = "/state/outputs/w/1-call-0.txt".into();
    let little = KeptOutput::Part { path, bytes: 70_000, why: "the disk is full".to_owned() };
    assert_snapshot!(describe_kept_file(&little), @"the first 70000 bytes of it are in `/state/outputs/w/1-call-0.txt` (the disk is full)");
}

#[test]
fn only_what_is_cut_is_kept() {
    let workspace = TestWorkspace::new();
    let spill = Arc::new(Spill::new(workspace.path().join("outputs"), Path::new("/work")));
    let mut capture = Capture::new(Some(Arc::clone(&spill)), "call".to_owned());
    capture.push(CapturedStream::Stdout, b"short\n");
    assert_eq!(render_within(&mut capture.take(), false, 1000).omitted, None);
    assert!(!spill.directory().exists());
    capture.push(CapturedStream::Stdout, numbered(1000).as_bytes());
    let shown = render_within(&mut capture.take(), false, 1000);
    assert!(shown.text.contains(&*spill.directory().to_string_lossy()), "{}", shown.text);
    assert!(shown.text.len() <= 1000 && shown.text.ends_with("line 1000\n"));
    assert_eq!((shown.lines, shown.tokens), (1000, numbered(1000).len().div_ceil(4) as u64));
}

#[test]
fn characters_that_memory_cut_are_left_out() {
    // Three bytes do not divide the memory limit.
    let text = "€".repeat(LONG / 3);
    let shown = render_within(&mut captured(text.as_bytes()), false, 4 << 20);
    assert!(!shown.text.contains("\\x"));
    let shown_euros = shown.text.matches('€').count() * 3;
    assert_eq!(shown.omitted, Some(OmittedSize { bytes: text.len() - shown_euros, lines: 0 }));
}

#[test]
fn no_room_still_says_what_is_missing() {
    let shown = render_within(&mut captured(b"some output\n"), false, 0);
    assert_snapshot!(shown.text, @"[… 1 lines, 12 bytes (about 3 tokens) cut here; the rest was not kept: there is no directory for outputs …]");
}

#[test]
fn escapes_count_against_the_budget() {
    let bytes: Vec<u8> = (0..=u8::MAX).map(|n| n.wrapping_mul(7)).cycle().take(LONG).collect();
    for terminal in [false, true] {
        assert!(render_within(&mut captured(&bytes), terminal, 40_000).text.len() <= 40_000);
        assert!(render_within(&mut captured(&bytes[..100_000]), terminal, 40_000).text.len() <= 40_000);
    }
}

proptest! {
    /// Laws: within the budget, a prefix and a suffix of the known text, and every byte is shown or counted.
    #[test]
    fn head_and_tail(
        first in "([a-zé\n]{0,40}){0,30}",
        last in "([a-zé\n]{0,40}){0,30}",
        omitted in prop_oneof![Just(0), 1u64..u64::MAX / 2],
        budget in 0usize..1500,
    ) {
        let all = format!("{first}{last}");
        let (known, budget) = match omitted {
            // A fitting text is not cut.
            0 => (CapturedText::Whole(all.clone()), budget.min(all.len().saturating_sub(1))),
            omitted => (CapturedText::HeadAndTail { head: first, omitted, tail: last }, budget),
        };
        let (text, cut) = known.truncate(budget, "gone");
        let (head, rest) = text.split_once("[… ").unwrap();
        let (marker, tail) = rest.split_once(" …]\n").unwrap();
        prop_assert!(text.len() <= budget.max("[…  …]\n".len() + marker.len()));
        prop_assert!(all.ends_with(tail));
        let head = if all.starts_with(head) { head } else { head.strip_suffix('\n').unwrap() };
        prop_assert!(all.starts_with(head));
        let shown = head.len() + tail.len();
        let counted = cut.bytes as u64 - omitted + shown as u64;
        // The newline after the head may be its own, or may have been added.
        prop_assert!((0..=1).contains(&(counted - all.len() as u64)));
    }
}
