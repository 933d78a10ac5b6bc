//! Ends of files and hunks that only add lines: the insertion point, and the last newline.

use super::{replace, unified, update};

#[test]
fn lines_that_only_come_go_below_their_header() {
    insta::assert_snapshot!(update("def f():\n    pass\n\ndef g():\n    pass\n", "@@ def g():\n+    x = 1\n"), @"
    M f
    |def f():
    |    pass
    |
    |def g():
    |    x = 1
    |    pass
    ");
}

#[test]
fn lines_that_only_come_go_below_the_innermost_header() {
    let file = "class A:\n    def f():\n        pass\n\nclass B:\n    def f():\n        pass\n";
    insta::assert_snapshot!(update(file, "@@ class B:\n@@ def f():\n+        x = 1\n"), @"
    M f
    |class A:
    |    def f():
    |        pass
    |
    |class B:
    |    def f():
    |        x = 1
    |        pass
    ");
}

#[test]
fn a_header_that_is_there_twice_says_nothing() {
    insta::assert_snapshot!(update("def f():\n    a\n\ndef f():\n    b\n", "@@ def f():\n+    x = 1\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 1-1
    lines 4-4, below `def f():` (line 1)
    ");
}

#[test]
fn a_header_that_is_nowhere_says_nothing() {
    insta::assert_snapshot!(update("def f():\n    a\n", "@@ def h():\n+    x = 1\n"), @"`f` is unchanged: the hunk at line 3 of the patch only adds lines, and its header `def h():` is not in the file; give lines that stand around them");
}

#[test]
fn lines_that_only_come_go_to_the_end_if_nothing_says_where() {
    insta::assert_snapshot!(update("one\ntwo\n", "@@\n+three\n"), @"
    M f
    |one
    |two
    |three
    ");
    insta::assert_snapshot!(update("one\ntwo\n", "+three\n+four\n*** End of File\n"), @"
    M f
    |one
    |two
    |three
    |four
    ");
    insta::assert_snapshot!(update("one\ntwo", "+three\n"), @"
    M f
    |one
    |two
    |three⌿
    ");
    insta::assert_snapshot!(update("", "+three\n"), @"
    M f
    |three
    ");
}

#[test]
fn a_number_says_where_at_the_ends_only() {
    insta::assert_snapshot!(unified("one\ntwo\nthree\n", "@@ -0,0 +1 @@\n+zero\n"), @"
    M f
    |zero
    |one
    |two
    |three
    ");
    insta::assert_snapshot!(unified("one\ntwo\nthree\n", "@@ -2,0 +3 @@\n+two and a half\n"), @"`f` is unchanged: the hunk at line 3 of the patch only adds lines, and gives none that stand around them; give some");
    insta::assert_snapshot!(unified("one\ntwo\nthree\n", "@@ -3,0 +4 @@\n+four\n"), @"
    M f
    |one
    |two
    |three
    |four
    ");
}

#[test]
fn lines_come_before_the_first_and_after_the_last() {
    insta::assert_snapshot!(update("one\ntwo\n", "+zero\n one\n"), @"
    M f
    |zero
    |one
    |two
    ");
    insta::assert_snapshot!(update("one\ntwo\n", " two\n+three\n"), @"
    M f
    |one
    |two
    |three
    ");
}

#[test]
fn a_file_without_a_last_newline_stays_so() {
    insta::assert_snapshot!(update("one\ntwo", "-one\n+1\n"), @"
    M f
    |1
    |two⌿
    ");
    insta::assert_snapshot!(update("one\ntwo", " one\n-two\n+2\n"), @"
    M f
    |one
    |2⌿
    ");
    insta::assert_snapshot!(update("one\ntwo", " two\n+three\n"), @"
    M f
    |one
    |two
    |three⌿
    ");
    insta::assert_snapshot!(update("one\ntwo", " one\n-two\n"), @"
    M f
    |one⌿
    ");
}

#[test]
fn a_patch_may_say_that_there_is_none() {
    insta::assert_snapshot!(unified("one\ntwo\n", "@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n"), @"
    M f
    |one
    |2⌿
    ");
    insta::assert_snapshot!(unified("one\ntwo", "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n"), @"
    M f
    |one
    |2
    ");
    insta::assert_snapshot!(
        unified("one\ntwo", "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n"),
        @"
    M f
    |one
    |two
    "
    );
    insta::assert_snapshot!(
        unified("one\ntwo\n", "@@ -1,2 +1,2 @@\n one\n-two\n+two\n\\ No newline at end of file\n"),
        @"
    M f
    |one
    |two⌿
    "
    );
}

#[test]
fn what_a_patch_says_of_the_end_holds_at_the_end_only() {
    insta::assert_snapshot!(unified("one\ntwo\nthree\n", "@@ -1 +1 @@\n-one\n+1\n\\ No newline at end of file\n"), @"
    M f
    |1
    |two
    |three
    ");
}

#[test]
fn a_file_may_lose_all_its_lines() {
    insta::assert_snapshot!(update("one\ntwo\n", "-one\n-two\n"), @"M f");
    insta::assert_snapshot!(update("one", "-one\n+two\n"), @"
    M f
    |two
    ");
}

#[test]
fn empty_lines_at_the_end_are_lines() {
    insta::assert_snapshot!(update("one\n\n\n", " one\n \n-\n"), @"
    M f
    |one
    |
    ");
    insta::assert_snapshot!(update("one\n", " one\n+\n+\n"), @"
    M f
    |one
    |
    |
    ");
}

#[test]
fn a_text_at_the_end_may_be_replaced_with_or_without_its_newline() {
    insta::assert_snapshot!(replace("one\ntwo", "two", "2"), @"
    M f
    |one
    |2⌿
    ");
    insta::assert_snapshot!(replace("one\ntwo", "two\n", "2\n"), @"
    M f
    |one
    |2⌿
    ");
    insta::assert_snapshot!(replace("one\ntwo\n", "two\n", "2"), @"
    M f
    |one
    |2⌿
    ");
}
