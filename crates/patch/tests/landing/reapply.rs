//! Tests that an applied patch is reported as such and changes nothing, and that no other is taken for applied.

use super::{apply, envelope, replace, tell, unified, update};
use toolgate_patch::MemoryTree;

#[test]
fn a_hunk_that_was_applied_is_done() {
    insta::assert_snapshot!(update("one\n2\nthree\n", " one\n-two\n+2\n three\n"), @"  f is as the patch wants it already");
}

#[test]
fn a_hunk_that_adds_was_applied() {
    insta::assert_snapshot!(update("one\nnew\ntwo\n", " one\n+new\n two\n"), @"  f is as the patch wants it already");
}

#[test]
fn a_hunk_that_removes_was_applied() {
    insta::assert_snapshot!(update("first line\nlast line\n", " first line\n-gone\n last line\n"), @"  f is as the patch wants it already");
}

#[test]
fn too_little_is_left_to_tell_that_it_was_removed() {
    insta::assert_snapshot!(update("first line\nlast line\n", " first line\n-gone\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-2. Lines with `-` are what the patch expects, with `+` what is there; its new lines stand at line 1: perhaps it is applied already
         1  first line
           -gone
         2 +last line
    ");
    insta::assert_snapshot!(update("first line\nlast line\n", "-gone\n"), @"`f` is unchanged: the hunk at line 3 of the patch does not match: none of its lines is in the file; read the file again");
}

#[test]
fn a_hunk_that_was_applied_and_one_that_was_not() {
    insta::assert_snapshot!(update("one\n2\nthree\nfour\n", "@@\n one\n-two\n+2\n@@\n three\n-four\n+4\n"), @"
    M f
      what it makes at line 1 stood there already
    |one
    |2
    |three
    |4
    ");
}

#[test]
fn what_stands_at_the_end_already_is_not_added_again() {
    insta::assert_snapshot!(update("one\ntwo\n", "+two\n"), @"  f is as the patch wants it already");
}

#[test]
fn what_stands_below_its_header_already_is_not_added_again() {
    insta::assert_snapshot!(update("def f():\n    x = 1\n    pass\n", "@@ def f():\n+    x = 1\n"), @"  f is as the patch wants it already");
}

#[test]
fn done_in_one_place_and_possible_in_another_is_not_sure() {
    let file = "fn a() {\n    log(2);\n    end();\n}\n\nfn b() {\n    log(1);\n    end();\n}\n";
    insta::assert_snapshot!(update(file, "-    log(1);\n+    log(2);\n     end();\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 2-3, below `fn a() {` (line 1)
    lines 7-8, below `fn b() {` (line 6)
    ");
}

#[test]
fn a_header_decides_whether_a_hunk_is_applied() {
    let file = "fn a() {\n    log(2);\n    end();\n}\n\nfn b() {\n    log(1);\n    end();\n}\n";
    insta::assert_snapshot!(update(file, "@@ fn a() {\n-    log(1);\n+    log(2);\n     end();\n"), @"  f is as the patch wants it already");
    insta::assert_snapshot!(update(file, "@@ fn b() {\n-    log(1);\n+    log(2);\n     end();\n"), @"
    M f
    |fn a() {
    |    log(2);
    |    end();
    |}
    |
    |fn b() {
    |    log(2);
    |    end();
    |}
    ");
}

#[test]
fn a_hunk_that_adds_its_removed_line_again_is_recognised() {
    insta::assert_snapshot!(update("x\nlet a = 1;\nlet b = a;\n", " x\n-let a = 1;\n+let a = 1;\n+let b = a;\n"), @"  f is as the patch wants it already");
}

#[test]
fn a_file_that_was_written_is_done() {
    insta::assert_snapshot!(apply([("f", "one\n")], &envelope("*** Add File: f\n+one\n")), @"  f is as the patch wants it already");
}

#[test]
fn a_file_that_was_deleted_alone_cannot_be_told_from_one_that_never_was() {
    insta::assert_snapshot!(apply([("g", "")], &envelope("*** Delete File: f\n")), @"`f` does not exist, so it cannot be deleted");
}

#[test]
fn a_file_that_was_deleted_with_the_rest_is_done() {
    let patch = envelope("*** Delete File: f\n*** Add File: g\n+one\n");
    insta::assert_snapshot!(apply([("g", "one\n")], &patch), @"  g is as the patch wants it already");
    insta::assert_snapshot!(apply([("g", "two\n")], &patch), @"`f` does not exist, so it cannot be deleted");
}

#[test]
fn a_file_that_was_moved_is_done() {
    let patch = envelope("*** Update File: f\n*** Move to: g\n one\n-two\n+2\n");
    insta::assert_snapshot!(apply([("g", "one\n2\n")], &patch), @"  g is as the patch wants it already");
    insta::assert_snapshot!(apply([("g", "one\ntwo\n")], &patch), @"`f` does not exist; check the path, or add it as a new file");
}

#[test]
fn a_move_without_hunks_is_not_recognised_as_applied() {
    let patch = envelope("*** Update File: f\n*** Move to: g\n");
    insta::assert_snapshot!(apply([("g", "one\n2\n")], &patch), @"`f` does not exist; check the path, or add it as a new file");
}

#[test]
fn a_diff_that_was_applied_is_done() {
    insta::assert_snapshot!(unified("one\n2\nthree\n", "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"), @"  f is as the patch wants it already");
    let new = "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+one\n";
    insta::assert_snapshot!(apply([("f", "one\n")], new), @"  f is as the patch wants it already");
    insta::assert_snapshot!(apply([("f", "two\n")], new), @"`f` exists, and is not what the diff says it makes new; read it, and write a diff of what is there");
}

#[test]
fn a_mode_that_is_set_is_done() {
    let patch = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n";
    let mut tree = MemoryTree::from_files([("f", "x\n")]);
    insta::assert_snapshot!(tell(&tree, patch), @"
    M f
    (can be run)
    |x
    ");
    tree.files.get_mut("f").unwrap().1 = true;
    insta::assert_snapshot!(tell(&tree, patch), @"  f is as the patch wants it already");
}

#[test]
fn a_text_that_was_replaced_is_done() {
    insta::assert_snapshot!(replace("one\nnew text\nthree\n", "old text", "new text"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again; its new lines stand at line 2: perhaps it is applied already");
    insta::assert_snapshot!(replace("one\ntwo\n", "one", "one\ntwo"), @"  f is as the patch wants it already");
    let call = r#"{"file_path": "f", "original_content": "a", "updated_content": "b", "replace_all": true}"#;
    insta::assert_snapshot!(apply([("f", "b b b\n")], call), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
}

#[test]
fn whole_files_that_are_there_are_done() {
    let call = r#"{"files": [{"path": "f", "content": "one\n"}, {"path": "g", "content": "two\n"}]}"#;
    insta::assert_snapshot!(apply([("f", "one\n"), ("g", "two\n")], call), @"
    f is as the patch wants it already
    g is as the patch wants it already
    ");
    insta::assert_snapshot!(apply([("f", "one\n"), ("g", "three\n")], call), @"
    M g
      all of it was replaced
      f is as the patch wants it already
    |two
    ");
}

/// The new lines stand in another example. The lines to remove stand in their own one, where one line has changed.
#[test]
fn what_only_goes_is_not_done_while_it_is_there() {
    let file = "\
/// ```
/// # if cfg!(miri) { return }
/// use engine::Regex;
/// let re = Regex::new();
/// ```
fn a() {}

/// ```
/// # if cfg!(miri) { return }
/// # if cfg!(small) { return }
/// use engine::{Regex, Span};
/// let re = Regex::new();
/// ```
fn b() {}
";
    let body = "\
@@
 /// ```
 /// # if cfg!(miri) { return }
-/// # if cfg!(small) { return }
 /// use engine::Regex;
 /// let re = Regex::new();
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 8-12. Lines with `-` are what the patch expects, with `+` what is there; its new lines stand at line 1: perhaps it is applied already
         8  /// ```
         9  /// # if cfg!(miri) { return }
        10  /// # if cfg!(small) { return }
           -/// use engine::Regex;
        11 +/// use engine::{Regex, Span};
        12  /// let re = Regex::new();
    ");
}

/// The second hunk is written against the result of the first. Its new lines already stand further down.
#[test]
fn what_another_hunk_makes_is_still_to_be_changed() {
    let file = "[features]\nx = []\n\n[target]\nold = 1\n\n[release]\ndebug = 1\n\n[lto]\nfat = 1\n";
    let body = "\
@@
-[features]
-x = []
+[release]
+debug = 1
\x20
@@
 [release]
 debug = 1
\x20
-[target]
-old = 1
+[lto]
+fat = 1
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: hunk 2 of 2 (line 9 of the patch) almost fits at line 7, but its new lines stand there, and its old lines are what another hunk makes; write it as the file has it
         5 old = 1
         6·
         7 [release]
         8 debug = 1
         9·
        10 [lto]
        11 fat = 1
    ");
}

#[test]
fn a_change_of_blanks_alone_is_not_taken_for_done() {
    let file = "| code | text |\n|---|---|\n| a | one |\n| b | two |\n";
    let body =
        "@@\n | code | text | \n-|---|---|\n-| a | one |\n+|---|---|\n+| a    | one  |\n | b | two |\n";
    insta::assert_snapshot!(update(file, body), @"
    M f
      at line 2, overlooking blanks at the ends of lines
    || code | text |
    ||---|---|
    || a    | one  |
    || b | two |
    ");
}

#[test]
fn a_line_that_is_still_to_go_is_not_done_because_its_new_one_stands_above() {
    let file = "# a\n\n## Thanks\n\nThanks to:\n\n- us\n";
    let told = update(file, "@@\n \n-Thanks to:\n+## Thanks\n \n");
    assert!(told.starts_with("M f") && told.contains("|## Thanks\n|\n|## Thanks\n|\n|- us"), "{told}");
}

#[test]
fn a_change_of_blanks_is_done_or_not_by_the_blanks() {
    let file = "def f():\n    a(‘x’)\n    if b:\n\t  c\n    d(‘y’)\n";
    let body = "@@\n     a('x')\n     if b:\n-\t  c\n+        c\n     d('y')\n";
    let told = update(file, body);
    assert!(told.starts_with("M f") && told.contains("|    if b:\n|        c\n"), "{told}");
    let file = "- one ‘1’\n- two ‘2’ \n- three ‘3’\n";
    let told = update(file, "@@\n - one '1'\n-- two '2' \n+- two '2'\n - three '3'\n");
    assert!(told.starts_with("M f"), "{told}");
    // Applied before.
    let told = update(file.replace(" \n", "\n"), "@@\n - one '1'\n-- two '2' \n+- two '2'\n - three '3'\n");
    assert!(!told.contains("|-"), "{told}");
}

#[test]
fn lines_that_only_go_are_not_gone_because_those_beside_them_stay() {
    let file = "  });\n</script>\n\n<form>\n  <input id=‘msg’ />\n</form>\n";
    let told = update(file, "@@\n   });\n </script>\n \n-<form>\n-  <input id='msg' />\n-</form>\n");
    assert!(told.starts_with("M f"), "{told}");
}
