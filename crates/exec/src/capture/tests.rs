//! Tests of [`Capture`]: memory and file together lose nothing and repeat nothing.
#![expect(clippy::disallowed_methods, reason = "tests look at real files")]

use std::path::Path;

use proptest::prelude::*;

use super::*;

const SMALL: CaptureLimits = CaptureLimits { merged: 8, per_stream: 3 };

fn capture(base: &Path, limits: CaptureLimits) -> Capture {
    let mut spill = Spill::new(base.to_owned(), Path::new("/work"));
    // The disk that tests run on may be small.
    spill.limits.min_free_bytes = 0;
    Capture { limits, ..Capture::new(Some(Arc::new(spill)), "call".to_owned()) }
}

fn files(base: &Path) -> usize {
    let workspaces = std::fs::read_dir(base).unwrap();
    workspaces.map(|workspace| std::fs::read_dir(workspace.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn what_fits_makes_no_file_until_it_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut capture = capture(dir.path(), SMALL);
    capture.push(CapturedStream::Stdout, b"12345678");
    capture.push(CapturedStream::Stderr, b"12345678");
    let mut captured = capture.take();
    assert_eq!((captured.omitted, captured.bytes(), files(dir.path())), (0, 16, 0));
    let KeptOutput::Whole(path) = captured.keep_all() else { panic!("it is not whole") };
    assert_eq!(std::fs::read(&path).unwrap(), b"1234567812345678");
    assert_eq!((captured.keep_all(), files(dir.path())), (KeptOutput::Whole(path), 1));
}

#[test]
fn what_does_not_fit_is_in_a_file_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut capture = capture(dir.path(), SMALL);
    capture.push(CapturedStream::Terminal, b"0123456789abcdef");
    assert_eq!(files(dir.path()), 0);
    capture.push(CapturedStream::Terminal, b"g");
    assert_eq!(files(dir.path()), 1);
    let mut captured = capture.take();
    assert_eq!((&*captured.head, captured.omitted, &*captured.tail), (&b"01234567"[..], 1, &b"9abcdefg"[..]));
    assert_eq!((captured.stdout.bytes, captured.stderr.bytes), (0, 0));
    let KeptOutput::Whole(path) = captured.keep_all() else { panic!("it is not whole") };
    assert_eq!(std::fs::read(path).unwrap(), b"0123456789abcdefg");
}

#[test]
fn what_is_not_kept_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let mut spill = Spill::new(dir.path().to_owned(), Path::new("/work"));
    (spill.limits.max_file_bytes, spill.limits.min_free_bytes) = (20, 0);
    let mut part = Capture { limits: SMALL, ..Capture::new(Some(Arc::new(spill)), String::new()) };
    let mut unkept = Capture { limits: SMALL, ..Capture::new(None, String::new()) };
    for capture in [&mut part, &mut unkept] {
        capture.push(CapturedStream::Stdout, &[b'x'; 1000]);
    }
    let KeptOutput::Part { path, bytes, why } = part.take().keep_all() else { panic!("it is not a part") };
    assert_eq!((bytes, &*why), (20, "no more is kept of one output"));
    assert_eq!(std::fs::read(path).unwrap(), [b'x'; 20]);
    let nowhere = |why: &str| KeptOutput::NotKept(why.to_owned());
    assert_eq!(unkept.take().keep_all(), nowhere("there is no directory for outputs"));
    assert_eq!(part.take().keep_all(), nowhere("there is no output"));
    assert_eq!(files(dir.path()), 1);
}

#[test]
fn unfinished_line_is_detected() {
    let dir = tempfile::tempdir().unwrap();
    let mut capture = capture(dir.path(), SMALL);
    assert!(capture.ends_with_newline());
    for (bytes, expected) in
        [("a", false), ("b\n", true), ("", true), ("123456789\n", true), ("x", false), ("1234567\n", true)]
    {
        capture.push(CapturedStream::Stdout, bytes.as_bytes());
        assert_eq!(capture.ends_with_newline(), expected, "{bytes:?}");
    }
    capture.push(CapturedStream::Stdout, b"x");
    capture.take();
    assert!(capture.ends_with_newline());
}

#[test]
fn memory_grows_with_the_output_up_to_the_limits() {
    assert!(size_of::<Capture>() < 512, "{}", size_of::<Capture>());
    let mut capture = Capture::new(None, String::new());
    let held = |capture: &Capture| {
        [&capture.merged, &capture.stdout, &capture.stderr]
            .map(|ends| ends.head.capacity() + ends.tail.capacity())
            .iter()
            .sum::<usize>()
    };
    assert_eq!(held(&capture), 0);
    capture.push(CapturedStream::Stdout, &[b'x'; 10]);
    assert_eq!(held(&capture), 20);
    for _ in 0..1000 {
        capture.push(CapturedStream::Stdout, &[b'x'; 3001]);
    }
    assert_eq!(held(&capture), 2 * (LIMITS.merged + LIMITS.per_stream));
    capture.take();
    assert_eq!(held(&capture), 0);
}

/// An operation on a capture.
#[derive(Debug, Clone)]
enum CaptureOp {
    Push(CapturedStream, Vec<u8>),
    Take,
}

fn steps() -> impl Strategy<Value = Vec<CaptureOp>> {
    let stream = prop_oneof![
        Just(CapturedStream::Stdout),
        Just(CapturedStream::Stderr),
        Just(CapturedStream::Terminal)
    ];
    let bytes =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..6), prop::collection::vec(any::<u8>(), 0..60)];
    let push = (stream, bytes).prop_map(|(stream, bytes)| CaptureOp::Push(stream, bytes));
    prop::collection::vec(prop_oneof![8 => push, 1 => Just(CaptureOp::Take)], 0..40)
}

/// Law: head and tail are the two ends of the output, as long as the limit allows, and the count between them is
/// right.
fn is_ends_of(all: &[u8], head: &[u8], omitted: u64, tail: &[u8], limit: usize) -> bool {
    let expected = (all.len().min(limit), all.len().saturating_sub(limit).min(limit));
    (head.len(), tail.len()) == expected
        && all.starts_with(head)
        && all.ends_with(tail)
        && omitted == (all.len() - head.len() - tail.len()) as u64
}

proptest! {
    /// Law: in any order of pushes and takes, nothing is lost and nothing is miscounted.
    #[test]
    fn nothing_is_lost(steps in steps(), merged in 1usize..20, per_stream in 1usize..10) {
        let dir = tempfile::tempdir().unwrap();
        let mut capture = capture(dir.path(), CaptureLimits { merged, per_stream });
        let mut totals = [0u64; 3];
        let mut since: Vec<(CapturedStream, Vec<u8>)> = Vec::new();
        let mut kept = 0;
        for step in steps.into_iter().chain([CaptureOp::Take]) {
            let of = |stream: Option<CapturedStream>| -> Vec<u8> {
                let pushes = since.iter().filter(|(from, _)| stream.is_none_or(|stream| stream == *from));
                pushes.flat_map(|(_, bytes)| bytes.clone()).collect()
            };
            let CaptureOp::Push(stream, bytes) = step else {
                let all = of(None);
                // A file exists only for output that did not fit, or that was requested.
                prop_assert_eq!(files(dir.path()), kept + usize::from(all.len() > 2 * merged));
                let mut captured = capture.take();
                let Captured { head, tail, omitted, .. } = &captured;
                prop_assert!(is_ends_of(&all, head, *omitted, tail, merged));
                for (stream, part) in [(CapturedStream::Stdout, &captured.stdout), (CapturedStream::Stderr, &captured.stderr)] {
                    prop_assert!(is_ends_of(&of(Some(stream)), &part.head, part.omitted, &part.tail, per_stream));
                    prop_assert_eq!(part.bytes, of(Some(stream)).len() as u64);
                }
                prop_assert_eq!(captured.bytes(), all.len() as u64);
                kept += usize::from(!all.is_empty());
                match captured.keep_all() {
                    KeptOutput::Whole(path) => prop_assert_eq!(std::fs::read(path).unwrap(), all),
                    other => prop_assert!(all.is_empty(), "{:?}", other),
                }
                since.clear();
                continue;
            };
            capture.push(stream, &bytes);
            totals[stream as usize] += bytes.len() as u64;
            since.push((stream, bytes));
            prop_assert_eq!(capture.pending(), since.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>());
            prop_assert_eq!(capture.total(stream), totals[stream as usize]);
        }
    }
}
