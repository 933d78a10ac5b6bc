//! Tests external changes to a file between the model's read and its patch.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::PatchWorkspace;

fn bench() -> PatchWorkspace {
    let bench = PatchWorkspace::new();
    bench.w.write_file("a.txt", "one\ntwo\nthree\n");
    bench
}

fn read(bench: &PatchWorkspace) {
    assert!(bench.call("read_file", &json!({"path": "a.txt"})).success);
}

/// Replaces the file from outside, as an editor does.
fn change(bench: &PatchWorkspace, text: &str) {
    fs::write(bench.path("aside"), text).unwrap();
    fs::rename(bench.path("aside"), bench.path("a.txt")).unwrap();
}

#[test]
fn externally_changed_file_is_reported() {
    let bench = bench();
    read(&bench);
    change(&bench, "zero\none\ntwo\nthree\n");
    let answer = bench.envelope("*** Update File: a.txt\n one\n-two\n+2\n");
    assert!(answer.success);
    assert_snapshot!(bench.normalized_text(&answer), @"
    Applied:
    M a.txt
    `a.txt` had changed since you read it; what you did not name is as it was
    ");
    // Reported once: the current version is the model's own.
    let answer = bench.envelope("*** Update File: a.txt\n-2\n+two\n");
    assert_snapshot!(bench.normalized_text(&answer), @"
    Applied:
    M a.txt
    ");
}

#[test]
fn a_write_in_place_is_a_change_too() {
    let bench = bench();
    read(&bench);
    fs::write(bench.path("a.txt"), "one\ntwo\nthree\nfour\n").unwrap();
    let answer = bench.envelope("*** Update File: a.txt\n-two\n+2\n");
    assert!(answer.joined_text().contains("had changed since you read it"), "{}", answer.joined_text());
}

#[test]
fn our_own_edits_are_no_surprise() {
    let bench = bench();
    read(&bench);
    for patch in [
        "*** Update File: a.txt\n-two\n+2\n",
        "*** Update File: a.txt\n-three\n+3\n",
        "*** Update File: a.txt\n*** Move to: b.txt\n-one\n+1\n",
        "*** Update File: b.txt\n-1\n+uno\n",
    ] {
        let answer = bench.envelope(patch);
        assert!(answer.success && !answer.joined_text().contains("had changed"), "{}", answer.joined_text());
    }
}

#[test]
fn a_file_that_was_never_read_is_no_surprise_either() {
    let bench = bench();
    change(&bench, "one\ntwo\n");
    let answer = bench.envelope("*** Update File: a.txt\n-two\n+2\n");
    assert_snapshot!(bench.normalized_text(&answer), @"
    Applied:
    M a.txt
    ");
}

#[test]
fn a_patch_that_fails_says_that_the_file_had_changed() {
    let bench = bench();
    read(&bench);
    change(&bench, "1\n2\n3\n");
    let answer = bench.envelope("*** Update File: a.txt\n one\n-two\n+deux\n");
    assert!(!answer.success);
    assert_snapshot!(bench.normalized_text(&answer), @"
    The patch was not applied, and nothing was changed.
    `a.txt` is unchanged: the hunk at line 3 of the patch does not match: none of its lines is in the file; read the file again
    `a.txt` has changed since you read it; read it again
    ");
}
