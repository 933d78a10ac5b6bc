//! Hunks with another indentation than the file's: added lines get the file's indentation, or the hunk is refused.

use super::{replace, update};

const SPACES: &str = "\
class A:
    def f(self):
        if x:
            one()
            two()
        return 1
";
const TABS: &str = "class A:\n\tdef f(self):\n\t\tif x:\n\t\t\tone()\n\t\t\ttwo()\n\t\treturn 1\n";

#[test]
fn a_hunk_without_its_indentation_gets_it() {
    insta::assert_snapshot!(update(SPACES, " if x:\n-    one()\n+    if y:\n+        three()\n     two()\n"), @"
    M f
      at line 4, overlooking indentation
    |class A:
    |    def f(self):
    |        if x:
    |            if y:
    |                three()
    |            two()
    |        return 1
    ");
}

#[test]
fn a_hunk_that_is_too_deep_comes_out() {
    let body = "             def f(self):\n                 if x:\n-                    one()\n+                    three()\n+                    four()\n                     two()\n";
    insta::assert_snapshot!(update(SPACES, body), @"
    M f
      at line 4, overlooking indentation
    |class A:
    |    def f(self):
    |        if x:
    |            three()
    |            four()
    |            two()
    |        return 1
    ");
}

#[test]
fn two_spaces_become_the_files_four() {
    let body = "   def f(self):\n     if x:\n-      one()\n+      three()\n       two()\n     return 1\n";
    insta::assert_snapshot!(update(SPACES, body), @"
    M f
      at line 4, overlooking indentation
    |class A:
    |    def f(self):
    |        if x:
    |            three()
    |            two()
    |        return 1
    ");
}

#[test]
fn a_depth_without_evidence_is_refused() {
    let body =
        "   def f(self):\n     if x:\n-      one()\n+      for z in y:\n+        three()\n       two()\n";
    insta::assert_snapshot!(update(SPACES, body), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 2, but the indentation of `three()` is unclear; write it as the file has it
         1 class A:
         2     def f(self):
         3         if x:
         4             one()
         5             two()
         6         return 1
    ");
}

#[test]
fn tabs_become_the_files_spaces() {
    let body = " \tdef f(self):\n \t\tif x:\n-\t\t\tone()\n+\t\t\tthree()\n+\t\t\tfor z in y:\n+\t\t\t\tfour()\n \t\t\ttwo()\n";
    insta::assert_snapshot!(update(SPACES, body), @"
    M f
      at line 4, overlooking indentation
    |class A:
    |    def f(self):
    |        if x:
    |            three()
    |            for z in y:
    |                four()
    |            two()
    |        return 1
    ");
}

#[test]
fn spaces_become_the_files_tabs() {
    let body = "     def f(self):\n         if x:\n-            one()\n+            three()\n+            for z in y:\n+                four()\n             two()\n";
    insta::assert_snapshot!(update(TABS, body), @"
    M f
      at line 4, overlooking indentation
    |class A:
    |→def f(self):
    |→→if x:
    |→→→three()
    |→→→for z in y:
    |→→→→four()
    |→→→two()
    |→→return 1
    ");
}

#[test]
fn eight_spaces_become_one_tab() {
    let body = "         def f(self):\n                 if x:\n-                        one()\n+                        three()\n                         two()\n";
    insta::assert_snapshot!(update(TABS, body), @"
    M f
      at line 4, overlooking indentation
    |class A:
    |→def f(self):
    |→→if x:
    |→→→three()
    |→→→two()
    |→→return 1
    ");
}

#[test]
fn one_line_that_was_mistyped_is_overlooked() {
    let body =
        "     def f(self):\n          if x:\n-            one()\n+            three()\n             two()\n";
    insta::assert_snapshot!(update(SPACES, body), @"
    M f
      at line 4, overlooking indentation
    |class A:
    |    def f(self):
    |        if x:
    |            three()
    |            two()
    |        return 1
    ");
}

#[test]
fn an_inconsistently_indented_hunk_is_refused() {
    let body = "   def f(self):\n      if x:\n-          one()\n+          three()\n+      four()\n       two()\n   return 1\n";
    insta::assert_snapshot!(update(SPACES, body), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 2, but the patch is indented in another way than the file, and not the same all over; write it as the file has it
         1 class A:
         2     def f(self):
         3         if x:
         4             one()
         5             two()
         6         return 1
    ");
}

#[test]
fn a_line_that_takes_the_place_of_another_is_indented_as_it_is() {
    insta::assert_snapshot!(update(SPACES, "-one()\n+three()\n"), @"
    M f
      at line 4, overlooking indentation
    |class A:
    |    def f(self):
    |        if x:
    |            three()
    |            two()
    |        return 1
    ");
}

#[test]
fn a_tab_is_not_written_into_a_file_of_blanks() {
    insta::assert_snapshot!(update(SPACES, " class A:\n+\tx = 1\n     def f(self):\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 1, but the file is indented with blanks, and `x = 1` with a tab; indent it as the file is; write it as the file has it
         1 class A:
         2     def f(self):
         3         if x:
         4             one()
    ");
}

#[test]
fn blanks_are_not_written_into_a_file_of_tabs() {
    insta::assert_snapshot!(update(TABS, " class A:\n+    x = 1\n \tdef f(self):\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 1, but the file is indented with tabs, and `x = 1` with blanks; indent it as the file is; write it as the file has it
         1 class A:
         2 →def f(self):
         3 →→if x:
         4 →→→one()
    ");
}

#[test]
fn a_make_rule_keeps_its_tab() {
    insta::assert_snapshot!(update("all: a\n\tcc a\n\nclean:\n\trm a\n", " clean:\n-\trm a\n+\trm -f a\n+\trm -f b\n"), @"
    M f
    |all: a
    |→cc a
    |
    |clean:
    |→rm -f a
    |→rm -f b
    ");
}

#[test]
fn empty_lines_that_come_get_no_blanks() {
    insta::assert_snapshot!(update(SPACES, " if x:\n     one()\n+\n+    three()\n     two()\n"), @"
    M f
      at line 5, overlooking indentation
    |class A:
    |    def f(self):
    |        if x:
    |            one()
    |
    |            three()
    |            two()
    |        return 1
    ");
}

#[test]
fn a_text_to_replace_is_indented_too() {
    insta::assert_snapshot!(replace(SPACES, "if x:\n    one()\n", "if x:\n    three()\n    four()\n"), @"
    M f
      at line 4, overlooking indentation
    |class A:
    |    def f(self):
    |        if x:
    |            three()
    |            four()
    |            two()
    |        return 1
    ");
}

#[test]
fn indentation_may_be_what_the_change_is_about() {
    let body = " class A:\n     def f(self):\n-        if x:\n-            one()\n-            two()\n+        one()\n+        two()\n         return 1\n";
    insta::assert_snapshot!(update(SPACES, body), @"
    M f
    |class A:
    |    def f(self):
    |        one()
    |        two()
    |        return 1
    ");
    let file = "a:\n  b\n  c\n";
    insta::assert_snapshot!(update(file, " a:\n-  b\n+    b\n   c\n"), @"
    M f
    |a:
    |    b
    |  c
    ");
}

#[test]
fn a_line_that_takes_the_place_of_an_empty_one_is_as_deep_as_the_rest() {
    let file = "m {\n    a\n\n    // s\n    s {\n\n        c\n    }\n}\n";
    let body = " a\n \n-// s\n-s {\n-\n-    c\n-}\n+// c\n+// d\n+c\n";
    let told = update(file, body);
    assert!(told.contains("|    // c\n|    // d\n|    c\n|}"), "{told}");
}

#[test]
fn tabs_are_written_into_a_file_of_blanks_if_blanks_come_too() {
    let body =
        " class A:\n     def f(self):\n-        if x:\n+        if y:\n+\t    zero()\n             one()\n";
    let told = update(SPACES, body);
    assert!(told.starts_with("M f") && told.contains("→    zero()"), "{told}");
    // Not if the old lines match inexactly.
    let shifted = " class A:\n def f(self):\n-    if x:\n+    if y:\n+\tzero()\n         one()\n";
    assert!(!update(SPACES, shifted).contains('→'));
}
