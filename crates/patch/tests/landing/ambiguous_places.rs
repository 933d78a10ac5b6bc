//! Several possible places: never a guess, but context, other hunks, line numbers or the end of the file may decide.

use super::{replace, unified, update};

const TWICE: &str = "\
fn a() {
    open();
    work();
    close();
}

fn b() {
    open();
    work();
    close();
}
";

#[test]
fn two_places_are_named_and_nothing_is_done() {
    insta::assert_snapshot!(update(TWICE, "     open();\n-    work();\n+    rest();\n     close();\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 2-4, below `fn a() {` (line 1)
    lines 8-10, below `fn b() {` (line 7)
    ");
}

#[test]
fn a_line_that_only_one_has_decides() {
    insta::assert_snapshot!(update(TWICE, " fn b() {\n     open();\n-    work();\n+    rest();\n"), @"
    M f
    |fn a() {
    |    open();
    |    work();
    |    close();
    |}
    |
    |fn b() {
    |    open();
    |    rest();
    |    close();
    |}
    ");
}

#[test]
fn many_places_are_not_all_named() {
    let file = "x\ny\n".repeat(12);
    insta::assert_snapshot!(update(file, " x\n-y\n+z\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 12 places (the first 8 of 12); add lines around it that only one of them has, or an `@@` header that stands above it
    lines 1-2
    lines 3-4
    lines 5-6
    lines 7-8
    lines 9-10
    lines 11-12
    lines 13-14
    lines 15-16
    ");
}

#[test]
fn tolerant_places_must_be_the_only_ones_too() {
    insta::assert_snapshot!(update("  a();\n  b();\n\n    a();\n    b();\n", " a();\n-b();\n+c();\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 1-2
    lines 4-5
    ");
}

#[test]
fn the_neighbour_above_leaves_one() {
    let body = "@@\n-fn b() {\n+fn c() {\n     open();\n@@\n-    work();\n+    rest();\n";
    insta::assert_snapshot!(update(TWICE, body), @"
    M f
    |fn a() {
    |    open();
    |    work();
    |    close();
    |}
    |
    |fn c() {
    |    open();
    |    rest();
    |    close();
    |}
    ");
}

#[test]
fn the_neighbour_below_leaves_one() {
    let body = "@@\n-    work();\n+    rest();\n@@\n-fn b() {\n+fn c() {\n";
    insta::assert_snapshot!(update(TWICE, body), @"
    M f
    |fn a() {
    |    open();
    |    rest();
    |    close();
    |}
    |
    |fn c() {
    |    open();
    |    work();
    |    close();
    |}
    ");
}

#[test]
fn two_hunks_for_two_places_are_each_their_own() {
    let body =
        "@@\n     open();\n-    work();\n+    first();\n@@\n     open();\n-    work();\n+    second();\n";
    insta::assert_snapshot!(update(TWICE, body), @"
    M f
    |fn a() {
    |    open();
    |    first();
    |    close();
    |}
    |
    |fn b() {
    |    open();
    |    second();
    |    close();
    |}
    ");
}

#[test]
fn two_hunks_for_three_places_are_not() {
    let file = "open\nwork\n\nopen\nwork\n\nopen\nwork\n";
    insta::assert_snapshot!(update(file, "@@\n open\n-work\n+1\n@@\n open\n-work\n+2\n"), @"
    `f` is unchanged: hunk 1 of 2 (line 3 of the patch) fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 1-2
    lines 4-5, below `work` (line 2)
    `f` is unchanged: hunk 2 of 2 (line 7 of the patch) fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 4-5, below `work` (line 2)
    lines 7-8, below `work` (line 5)
    ");
}

#[test]
fn the_end_of_the_file_leaves_one() {
    insta::assert_snapshot!(update("x\ny\n\nx\ny\n", " x\n-y\n+z\n*** End of File\n"), @"
    M f
    |x
    |y
    |
    |x
    |z
    ");
}

#[test]
fn an_end_of_the_file_that_is_wrong_is_not_overlooked() {
    insta::assert_snapshot!(update("x\ny\n\nlast\n", " x\n-y\n+z\n*** End of File\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits at line 1, which is not the end of the file; leave `*** End of File` out, or give the lines that are the last
         1 x
         2 y
         3·
         4 last
    ");
}

#[test]
fn lines_that_only_come_are_put_where_all_that_says_where_agrees() {
    let functions = "def a():\n    x\n\ndef b():\n    y\n";
    let rows = [
        (
            functions,
            "@@ def a():\n+    z\n*** End of File\n",
            "below `def a():` and at the end of the file, which is not the same",
        ),
        (
            functions,
            "@@ def b():\n+    z\n*** End of File\n",
            "M f\n|def a():\n|    x\n|\n|def b():\n|    y\n|    z",
        ),
        ("int f(void)\n{\n\tx();\n}\n", "@@ int f(void)\n+\ty();\n", "|int f(void)\n|{\n|→y();\n|→x();"),
        ("@dec\ndef f():\n    x\n", "@@ @dec\n+    y\n", "its header `@dec` goes on in the next lines"),
        (
            "def f(a,\n      b):\n    x\n",
            "@@ def f(a,\n+    y\n",
            "its header `def f(a,` goes on in the next lines",
        ),
        ("a\nb\nc\n", "@@ -30,0 +31 @@\n+new\n", "only adds lines, and gives none that stand around them"),
        ("a\nb\nc\n", "@@ -3,0 +4 @@\n+new\n", "M f\n|a\n|b\n|c\n|new"),
    ];
    for (file, body, expected) in rows {
        let told = update(file, body);
        assert!(told.contains(expected), "{body}{told}");
    }
}

#[test]
fn a_right_number_leaves_one() {
    insta::assert_snapshot!(unified(TWICE, "@@ -8,3 +8,3 @@\n     open();\n-    work();\n+    rest();\n     close();\n"), @"
    M f
    |fn a() {
    |    open();
    |    work();
    |    close();
    |}
    |
    |fn b() {
    |    open();
    |    rest();
    |    close();
    |}
    ");
}

#[test]
fn a_wrong_number_leaves_two() {
    insta::assert_snapshot!(unified(TWICE, "@@ -6,3 +6,3 @@\n     open();\n-    work();\n+    rest();\n     close();\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 2-4, below `fn a() {` (line 1)
    lines 8-10, below `fn b() {` (line 7)
    ");
}

#[test]
fn a_text_that_is_there_twice_is_refused() {
    insta::assert_snapshot!(replace(TWICE, "work();", "rest();"), @"
    `f` is unchanged: the text to replace fits in 2 places; give more of the text around it, or set `replace_all`
    lines 3-3, below `fn a() {` (line 1)
    lines 9-9, below `fn b() {` (line 7)
    ");
}

#[test]
fn a_place_and_its_twin_that_something_came_into() {
    let file =
        "fn a() {\n\topen();\n\twork();\n\tclose();\n}\n\nfn b() {\n\topen();\n\n\twork();\n\tclose();\n}\n";
    insta::assert_snapshot!(update(file, "     open();\n-    work();\n+    rest();\n     close();\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 2-4, below `fn a() {` (line 1)
    lines 8-10, below `fn b() {` (line 7)
    ");
}
