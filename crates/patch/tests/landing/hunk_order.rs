//! Several hunks of one file: in order, out of order, overlapping, and built on each other.

use super::{apply, envelope, update};

const LETTERS: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";

#[test]
fn hunks_in_order_land() {
    insta::assert_snapshot!(update(LETTERS, "@@\n-b\n+B\n@@\n-e\n+E\n@@\n-h\n+H\n"), @"
    M f
    |a
    |B
    |c
    |d
    |E
    |f
    |g
    |H
    ");
}

#[test]
fn exact_hunks_may_be_out_of_order() {
    insta::assert_snapshot!(update(LETTERS, "@@\n-g\n+G\n@@\n-b\n+B\n"), @"
    M f
    |a
    |B
    |c
    |d
    |e
    |f
    |G
    |h
    ");
}

#[test]
fn tolerant_hunks_may_not() {
    let file = "say(\"alpha\");\nbeta();\n\nsay(\"gamma\");\ndelta();\n";
    let body = "@@\n say(“gamma”);\n-delta();\n+d();\n@@\n say(“alpha”);\n-beta();\n+b();\n";
    insta::assert_snapshot!(update(file, body), @r#"
    `f` is unchanged: hunk 2 of 2 (line 7 of the patch) almost fits at line 1, which is before the hunk before it; give the hunks in the file's order, or write it as the file has it
         1 say("alpha");
         2 beta();
         3·
         4 say("gamma");
    "#);
}

#[test]
fn context_may_be_shared() {
    insta::assert_snapshot!(update(LETTERS, "@@\n a\n-b\n+B\n c\n@@\n c\n-d\n+D\n e\n"), @"
    M f
    |a
    |B
    |c
    |D
    |e
    |f
    |g
    |h
    ");
}

#[test]
fn context_may_be_what_another_hunk_takes_away() {
    insta::assert_snapshot!(update(LETTERS, "@@\n a\n-b\n+B\n c\n@@\n b\n c\n-d\n+D\n"), @"
    M f
    |a
    |B
    |c
    |D
    |e
    |f
    |g
    |h
    ");
}

#[test]
fn a_hunk_may_be_written_as_the_one_before_leaves_the_file() {
    insta::assert_snapshot!(update(LETTERS, "@@\n a\n-b\n+B\n c\n@@\n B\n c\n-d\n+D\n"), @"
    M f
    |a
    |B
    |c
    |D
    |e
    |f
    |g
    |h
    ");
}

#[test]
fn a_hunk_may_not_change_what_the_one_before_adds() {
    insta::assert_snapshot!(update(LETTERS, "@@\n a\n+new\n b\n@@\n a\n-new\n+newer\n b\n"), @"
    `f` is unchanged: hunk 2 of 2 (line 7 of the patch) does not match; the closest place is lines 1-2. Lines with `-` are what the patch expects, with `+` what is there
         1  a
           -new
         2  b
    ");
}

#[test]
fn a_hunk_may_add_after_what_the_one_before_adds() {
    insta::assert_snapshot!(update(LETTERS, "@@\n a\n+one\n b\n@@\n one\n+two\n b\n"), @"
    M f
    |a
    |one
    |two
    |b
    |c
    |d
    |e
    |f
    |g
    |h
    ");
}

#[test]
fn two_hunks_that_change_one_line_are_refused() {
    insta::assert_snapshot!(update(LETTERS, "@@\n a\n-b\n+B\n@@\n-b\n+bb\n c\n"), @"`f` is unchanged: hunk 2 of 2 (line 7 of the patch) changes line 2 too, which another hunk changes; make them one");
}

#[test]
fn the_same_hunk_twice_is_refused() {
    insta::assert_snapshot!(update(LETTERS, "@@\n a\n-b\n+B\n@@\n a\n-b\n+B\n"), @"`f` is unchanged: hunk 2 of 2 (line 7 of the patch) changes line 2 too, which another hunk changes; make them one");
}

#[test]
fn two_hunks_that_add_in_one_place_keep_their_order() {
    insta::assert_snapshot!(update(LETTERS, "@@\n a\n+1\n b\n@@\n a\n+2\n b\n"), @"
    M f
    |a
    |1
    |2
    |b
    |c
    |d
    |e
    |f
    |g
    |h
    ");
}

#[test]
fn one_hunk_that_does_not_fit_stops_all_and_every_one_is_named() {
    insta::assert_snapshot!(update(LETTERS, "@@\n-b\n+B\n@@\n e\n-x\n+X\n@@\n h\n-y\n+Y\n"), @"
    `f` is unchanged: hunk 2 of 3 (line 6 of the patch) does not match; the closest place is lines 5-6. Lines with `-` are what the patch expects, with `+` what is there
         5  e
           -x
         6 +f
    `f` is unchanged: hunk 3 of 3 (line 10 of the patch) does not match; the closest place is lines 8-8. Lines with `-` are what the patch expects, with `+` what is there
         8  h
           -y
    ");
}

#[test]
fn a_file_may_be_named_twice() {
    let patch = envelope("*** Update File: f\n-b\n+B\n*** Update File: f\n-g\n+G\n");
    insta::assert_snapshot!(apply([("f", LETTERS)], &patch), @"
    M f
    |a
    |B
    |c
    |d
    |e
    |f
    |G
    |h
    ");
}

#[test]
fn the_second_time_a_file_is_what_the_first_left() {
    let patch = envelope("*** Update File: f\n-b\n+B\n*** Update File: f\n-B\n+BB\n");
    insta::assert_snapshot!(apply([("f", LETTERS)], &patch), @"
    M f
    |a
    |BB
    |c
    |d
    |e
    |f
    |g
    |h
    ");
    let patch = envelope("*** Update File: f\n*** Move to: g\n-b\n+B\n*** Update File: g\n-B\n+BB\n");
    insta::assert_snapshot!(apply([("f", "a\nb\n")], &patch), @"
    R f -> g
    |a
    |BB
    ");
    let patch = envelope("*** Add File: f\n+one\n*** Update File: f\n-one\n+two\n");
    insta::assert_snapshot!(apply([("g", "")], &patch), @"
    A f
    |two
    ");
    let patch = envelope("*** Delete File: f\n*** Add File: f\n+one\n");
    insta::assert_snapshot!(apply([("f", "old\n")], &patch), @"
    M f
      all of it was replaced
    |one
    ");
}

#[test]
fn what_was_deleted_cannot_be_updated() {
    let patch = envelope("*** Delete File: f\n*** Update File: f\n-b\n+B\n");
    insta::assert_snapshot!(apply([("f", LETTERS)], &patch), @"`f` does not exist; check the path, or add it as a new file");
}
