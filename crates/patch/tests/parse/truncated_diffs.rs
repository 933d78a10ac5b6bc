//! Truncated diffs are rejected, and diffs with wrong counts are not.

use crate::tell;
use insta::assert_snapshot;

fn hunks(text: &str) -> String {
    tell(&format!("--- a/f\n+++ b/f\n{text}"))
}

#[test]
fn a_diff_that_ends_within_a_change_is_cut_off() {
    assert_snapshot!(hunks("@@ -1,9 +1,3 @@\n-a\n-b\n-c\n"), @"line 6: the patch is cut off: nothing was done; the last hunk has fewer lines than its `@@` says; send all of it, or count again");
    assert_snapshot!(hunks("@@ -1,9 +1,9 @@\n a\n-b\n+c\n"), @"line 6: the patch is cut off: nothing was done; the last hunk has fewer lines than its `@@` says; send all of it, or count again");
    assert_snapshot!(hunks("@@ -1,3 +1,3 @@\n a\n-b\n"), @"line 5: the patch is cut off: nothing was done; the last hunk has fewer lines than its `@@` says; send all of it, or count again");
}

#[test]
fn a_diff_that_ends_before_its_first_change_is_cut_off() {
    assert_snapshot!(hunks("@@ -5,5 +5,6 @@ def f():\n a\n b\n"), @"line 5: the patch is cut off: nothing was done; the last hunk has fewer lines than its `@@` says; send all of it, or count again");
    assert_snapshot!(hunks("@@ -1 +1 @@\n-a\n+b\n@@ -5,5 +5,6 @@\n a\n"), @"line 7: the patch is cut off: nothing was done; the last hunk has fewer lines than its `@@` says; send all of it, or count again");
}

#[test]
fn a_hunk_that_alone_is_short_is_cut_off() {
    assert_snapshot!(hunks("@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9,7 +9,8 @@\n x\n+y\n z\n"), @"line 10: the patch is cut off: nothing was done; the last hunk has fewer lines than its `@@` says; send all of it, or count again");
    assert_snapshot!(tell("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n--- a/g\n+++ b/g\n@@ -9,7 +9,8 @@\n x\n+y\n z\n"), @"line 12: the patch is cut off: nothing was done; the last hunk has fewer lines than its `@@` says; send all of it, or count again");
}

/// One side has exactly the announced lines, and most of the other is missing.
#[test]
fn a_diff_that_ends_within_what_comes_is_cut_off() {
    assert_snapshot!(hunks("@@ -1,3 +1,9 @@\n a\n b\n c\n+d\n"), @"line 7: the patch is cut off: nothing was done; the last hunk has fewer lines than its `@@` says; send all of it, or count again");
    assert_snapshot!(hunks("@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9,3 +9 @@\n x\n-y\n"), @"line 9: the patch is cut off: nothing was done; the last hunk has fewer lines than its `@@` says; send all of it, or count again");
}

#[test]
fn counts_may_be_wrong_in_a_whole_diff() {
    assert_snapshot!(hunks("@@ -1,9 +1,9 @@\n a\n-b\n+c\n d\n"), @"
    1: update f
      3: at 1 [ a] [-b] [+c] [ d]
    ");
    assert_snapshot!(hunks("@@ -1,8 +1,8 @@\n a\n-b\n+c\n@@ -9,7 +9,8 @@\n x\n+y\n z\n"), @"
    1: update f
      3: at 1 [ a] [-b] [+c]
      7: at 9 [ x] [+y] [ z]
    ");
    assert_snapshot!(hunks("@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9,8 +9,9 @@\n x\n+y\n z\n z\n z\n"), @"
    1: update f
      3: at 1 [ a] [-b] [+c]
      7: at 9 [ x] [+y] [ z] [ z] [ z]
    ");
    assert_snapshot!(hunks("@@ -1,3 +1,6 @@\n a\n b\n c\n+d\n"), @"
    1: update f
      3: at 1 [ a] [ b] [ c] [+d]
    ");
}

#[test]
fn an_empty_line_at_the_end_is_easily_lost() {
    assert_snapshot!(hunks("@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9,2 +9,3 @@\n x\n+y\n"), @"
    1: update f
      3: at 1 [ a] [-b] [+c]
      7: at 9 [ x] [+y]
    ");
}
