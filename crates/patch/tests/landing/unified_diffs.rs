//! Unified diffs as models write them: wrong numbers and counts, missing spaces before context, and git's additions.

use super::{apply, unified};

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

#[test]
fn a_hunk_with_right_numbers_lands() {
    insta::assert_snapshot!(unified(FILE, "@@ -3,3 +3,3 @@\n three\n-four\n+4\n five\n"), @"
    M f
    |one
    |two
    |three
    |4
    |five
    |six
    |seven
    ");
}

#[test]
fn wrong_numbers_and_counts_are_tolerated() {
    insta::assert_snapshot!(unified(FILE, "@@ -30,9 +31,2 @@\n three\n-four\n+4\n five\n"), @"
    M f
    |one
    |two
    |three
    |4
    |five
    |six
    |seven
    ");
    insta::assert_snapshot!(unified(FILE, "@@ -1 +1 @@\n three\n-four\n+4\n five\n"), @"
    M f
    |one
    |two
    |three
    |4
    |five
    |six
    |seven
    ");
}

#[test]
fn hunks_without_numbers_land_by_their_lines() {
    insta::assert_snapshot!(unified(FILE, "@@ ... @@\n three\n-four\n+4\n five\n"), @"
    M f
    |one
    |two
    |three
    |4
    |five
    |six
    |seven
    ");
    insta::assert_snapshot!(unified(FILE, "@@\n three\n-four\n+4\n five\n"), @"
    M f
    |one
    |two
    |three
    |4
    |five
    |six
    |seven
    ");
}

#[test]
fn numbers_that_drift_between_hunks_are_tolerated() {
    insta::assert_snapshot!(unified(FILE, "@@ -1,2 +1,4 @@\n one\n+1.3\n+1.6\n two\n@@ -5,3 +5,3 @@\n five\n-six\n+6\n seven\n"), @"
    M f
    |one
    |1.3
    |1.6
    |two
    |three
    |four
    |five
    |6
    |seven
    ");
}

#[test]
fn an_empty_context_line_may_lack_its_space() {
    insta::assert_snapshot!(unified("one\n\ntwo\n", "@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n"), @"
    M f
    |one
    |
    |2
    ");
}

#[test]
fn a_header_after_the_numbers_decides() {
    let file = "fn a() {\n    x();\n    y();\n}\n\nfn b() {\n    x();\n    y();\n}\n";
    insta::assert_snapshot!(unified(file, "@@ -70,2 +70,2 @@ fn b() {\n     x();\n-    y();\n+    z();\n"), @"
    M f
    |fn a() {
    |    x();
    |    y();
    |}
    |
    |fn b() {
    |    x();
    |    z();
    |}
    ");
}

#[test]
fn file_names_may_lack_prefixes_or_have_dates() {
    let diff = "--- f\n+++ f\n@@ -1 +1 @@\n-one\n+1\n";
    insta::assert_snapshot!(apply([("f", "one\n")], diff), @"
    M f
    |1
    ");
    let diff = "--- a/f\t2024-01-01 00:00:00\n+++ b/f\t2024-01-01 00:00:01\n@@ -1 +1 @@\n-one\n+1\n";
    insta::assert_snapshot!(apply([("f", "one\n")], diff), @"
    M f
    |1
    ");
}

#[test]
fn a_quoted_file_name_is_decoded() {
    let diff = "diff --git \"a/\\303\\274 x\" \"b/\\303\\274 x\"\n--- \"a/\\303\\274 x\"\n+++ \"b/\\303\\274 x\"\n@@ -1 +1 @@\n-one\n+1\n";
    insta::assert_snapshot!(apply([("ü x", "one\n")], diff), @"
    M ü x
    |1
    ");
}

#[test]
fn removed_lines_may_look_like_diff_headers() {
    insta::assert_snapshot!(unified("-- a comment\n++ b\nend\n", "@@ -1,3 +1,3 @@\n--- a comment\n+-- another\n ++ b\n end\n"), @"
    M f
    |-- another
    |++ b
    |end
    ");
}

#[test]
fn one_diff_changes_several_files() {
    let diff = "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\ndiff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-two\n+2\n";
    insta::assert_snapshot!(apply([("f", "one\n"), ("g", "two\n")], diff), @"
    M f
    M g
    = f
    |1
    = g
    |2
    ");
}

#[test]
fn mail_text_around_a_diff_is_skipped() {
    let mail = "From 0123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n---\n f | 2 +-\n 1 file changed\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\n-- \n2.43.0\n";
    insta::assert_snapshot!(apply([("f", "one\n")], mail), @"
    M f
    |1
    ");
}

#[test]
fn a_binary_diff_is_refused() {
    let diff = "diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n";
    insta::assert_snapshot!(apply([("f", "one\n")], diff), @"not a patch: line 3: a binary file cannot be patched; write the file another way, for example with a command");
}

#[test]
fn numbers_decide_only_where_lines_do_not() {
    let file = "x\ny\nz\nx\ny\n";
    insta::assert_snapshot!(unified(file, "@@ -1,2 +1,2 @@\n x\n-y\n+1\n"), @"
    M f
    |x
    |1
    |z
    |x
    |y
    ");
    insta::assert_snapshot!(unified(file, "@@ -4,2 +4,2 @@\n x\n-y\n+1\n"), @"
    M f
    |x
    |y
    |z
    |x
    |1
    ");
    insta::assert_snapshot!(unified(file, "@@ -3,2 +3,2 @@\n x\n-y\n+1\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 1-2
    lines 4-5
    ");
    insta::assert_snapshot!(unified(file, "@@ -1,3 +1,3 @@\n x\n-y\n+1\n z\n"), @"
    M f
    |x
    |1
    |z
    |x
    |y
    ");
}

#[test]
fn an_insertion_without_context_needs_consistent_numbers() {
    let file = "a\nb\nc\nd\n";
    insta::assert_snapshot!(unified(file, "@@ -1 +1 @@\n-a\n+A\n@@ -3,0 +4 @@\n+x\n"), @"
    M f
    |A
    |b
    |c
    |x
    |d
    ");
    // A model's line numbers are inconsistent.
    insta::assert_snapshot!(unified(file, "@@ -1 +1,2 @@\n-a\n+A\n+B\n@@ -3,0 +4 @@\n+x\n"), @"`f` is unchanged: hunk 2 of 2 (line 7 of the patch) only adds lines, and gives none that stand around them; give some");
    insta::assert_snapshot!(unified(file, "@@ -3,0 +4 @@\n+x\n"), @"`f` is unchanged: the hunk at line 3 of the patch only adds lines, and gives none that stand around them; give some");
    let known = "diff --git a/f b/f\nindex d68dd40..0000001 100644\n--- a/f\n+++ b/f\n@@ -3,0 +4 @@\n+x\n";
    insta::assert_snapshot!(apply([("f", file)], known), @"
    M f
    |a
    |b
    |c
    |x
    |d
    ");
}

#[test]
fn a_number_that_is_off_by_one_is_no_other_place() {
    let file = "a(E)\nb\nmap =\n    new M\nput(A)\nput(A)\nput(C)\nput(D)\nput(A)\n";
    let told =
        unified(file, "@@ -3,6 +3,6 @@\n     new M\n put(A)\n-put(A)\n+set(A)\n put(C)\n put(D)\n put(A)\n");
    assert!(told.starts_with("M f") && told.contains("|set(A)\n|put(C)"), "{told}");
}
