//! Mistakes of models that an independent benchmark found to land wrong: each is refused, or repaired with proof.

use super::{replace, unified, update};

#[test]
fn quotes_of_a_remark_say_nothing_about_code() {
    let file = "// the user’s name\nconst a = 'one'\nconst b = 'two'\n";
    let body =
        " // the user's name\n const a = 'one'\n-const b = 'two'\n+const b = 'three'\n+const c = \"it's\"\n";
    insta::assert_snapshot!(update(file, body), @r#"
    M f
      at line 3, overlooking quotes, dashes or blanks
    |// the user’s name
    |const a = 'one'
    |const b = 'three'
    |const c = "it's"
    "#);
}

#[test]
fn a_quote_that_is_meant_stays() {
    let file = "{\n  \"name\": \"merge\",\n  \"version\": \"2.1.0\"\n}\n";
    let body = "   “name”: “merge”,\n-  “version”: “2.1.0”\n+  \"version\": \"3.0.0\",\n+  \"description\": \"lodash’s merge\"\n";
    insta::assert_snapshot!(update(file, body), @r#"
    M f
      at line 3, overlooking quotes, dashes or blanks
    |{
    |  "name": "merge",
    |  "version": "3.0.0",
    |  "description": "lodash’s merge"
    |}
    "#);
}

#[test]
fn an_extra_blank_after_every_sign_is_stripped() {
    let file = "import platform\nimport re\nfrom colorsys import x\n";
    insta::assert_snapshot!(update(file, "- import platform\n import re\n+ import sys\n from colorsys import x\n"), @"
    M f
      at line 1, overlooking indentation
    |import re
    |import sys
    |from colorsys import x
    ");
}

#[test]
fn an_unclear_indentation_shift_is_refused() {
    let file = "  var token\n  var offset\n\n  // Z\n  token = 1\n";
    insta::assert_snapshot!(replace(file, " var token\n var offset\n", " var token\n if (x) {\n  return 0\n }\n var offset\n"), @"
    `f` is unchanged: the text to replace almost fits at line 1, but the indentation of `return 0` is unclear; write it as the file has it
         1   var token
         2   var offset
         3·
         4   // Z
    ");
}

#[test]
fn blanks_before_signs_are_refused() {
    insta::assert_snapshot!(update("a = {\n  now\n}\n", " a = {\n  -now\n  +now,\n }\n"), @"`f` is unchanged: the hunk at line 3 of the patch has blanks before the sign of `-now`; begin the line with it");
}

#[test]
fn an_empty_line_beside_another_needs_context_on_both_sides() {
    insta::assert_snapshot!(update("def f():\n    return 1\n\nclass C:\n", " def f():\n     return 1\n+\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch only adds, at line 1, what stands there: perhaps it is applied already; if more is meant, give the lines before and after it
         1 def f():
         2     return 1
         3·
         4 class C:
    ");
    insta::assert_snapshot!(replace("a: 1\n\njobs:\n", "jobs:", "\njobs:"), @"
    `f` is unchanged: the text to replace only adds, at line 3, what stands there: perhaps it is applied already; if more is meant, give the lines before and after it
         1 a: 1
         2·
         3 jobs:
    ");
    insta::assert_snapshot!(update("def f():\n    return 1\n\nclass C:\n", "     return 1\n+\n \n class C:\n"), @"
    M f
    |def f():
    |    return 1
    |
    |
    |class C:
    ");
}

#[test]
fn the_same_lines_are_not_added_twice() {
    let hunk = "@@\n #define A 5\n+#define C 7\n \n";
    insta::assert_snapshot!(update("#define A 5\n\n#ifndef M\n", &hunk.repeat(2)), @"`f` is unchanged: hunk 2 of 2 (line 7 of the patch) changes line 2 too, which another hunk changes; make them one");
}

#[test]
fn what_is_added_without_a_place_is_not_put_anywhere() {
    let file = "struct s {\n    bool strict;\n};\nint last;\n";
    insta::assert_snapshot!(update(file, "@@\n+    int timestamp;\n"), @"`f` is unchanged: the hunk at line 3 of the patch only adds lines, and gives none that stand around them; give some");
    insta::assert_snapshot!(update(file, "@@\n+int more;\n"), @"
    M f
    |struct s {
    |    bool strict;
    |};
    |int last;
    |int more;
    ");
    insta::assert_snapshot!(update("class A:\n    def x(self):\n        pass\n", "@@ def x(self):\n+    def z(self):\n+        pass\n"), @"`f` is unchanged: the hunk at line 3 of the patch only adds lines, and gives none that stand around them; give some");
}

#[test]
fn a_line_that_was_done_is_not_done_beside_itself() {
    let file = "f()\n{\n  register int a;\n  int a;\n  run(\"\");\n";
    insta::assert_snapshot!(update(file, " f()\n {\n-  register int a;\n+  int a;\n   run(\"\");\n"), @r#"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-5. Lines with `-` are what the patch expects, with `+` what is there
         1  f()
         2  {
         3    register int a;
         4 +  int a;
         5    run("");
    "#);
}

#[test]
fn a_bracket_among_what_changes_must_be_there() {
    let file = "function next(err) {\n  if (err === 'route') {\n    return done();\n  }\n\n  var layer = stack[i++];\n";
    let body = " function next(err) {\n+  // leave the route\n   if (err === 'route') {\n     return done();\n   }\n   }\n+  log(err)\n \n   var layer = stack[i++];\n";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-6. Lines with `-` are what the patch expects, with `+` what is there
         1  function next(err) {
         2    if (err === 'route') {
         3      return done();
         4    }
           -  }
         5··
         6    var layer = stack[i++];
    ");
}

#[test]
fn a_number_and_a_header_speak_against_a_place_elsewhere() {
    let file = "int a(void) {\n  return 1;\n}\t\n\n#undef SWITCH\n#undef DONE_A\n\nint b(void) {\n  return 2;\n}\n\n#undef SWITCH\n#undef DONE_B\n";
    insta::assert_snapshot!(unified(file, "@@ -3,3 +3,4 @@ int a(void) {\n }\n \n+#undef NEXT\n #undef SWITCH\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits at line 10 alone, which is not below its header `int a(void) {` (line 1); write the lines as they stand below that, or give the header of the place that is meant
         8 int b(void) {
         9   return 2;
        10 }
        11·
        12 #undef SWITCH
        13 #undef DONE_B
    ");
}

#[test]
fn another_function_is_not_taken_for_one_that_is_gone() {
    let file = "def test_b():\n    data = \"\"\"\n--foo\n    \"\"\".replace(\n        \"n\", \"rn\"\n    )\n    decoder.receive_data(data)\n    events = [decoder.next_event()]\n";
    let body = "@@ -22,6 +22,4 @@ def test_decoder_simple() -> None:\n asdasd\n -----------970433819209038061519$--\n-    \"\"\".replace(\n-        \"n\", \"rn\"\n-    )\n+    \"\"\".replace(\"n\", \"rn\")\n     decoder.receive_data(data)\n     events = [decoder.next_event()]\n";
    insta::assert_snapshot!(unified(file, body), @r#"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 2-8. Lines with `-` are what the patch expects, with `+` what is there
           -asdasd
           ------------970433819209038061519$--
         2 +    data = """
         3 +--foo
         4      """.replace(
         5          "n", "rn"
         6      )
         7      decoder.receive_data(data)
         8      events = [decoder.next_event()]
    "#);
}

#[test]
fn an_empty_line_that_the_new_text_ends_with_comes() {
    let file = "\tif (a) {\n\t\t// Finalize.\n\t\tb(scope)\n\t}\n\trevoke(scope)\n";
    insta::assert_snapshot!(replace(file, "\tif (a) {\n// Finalize.\n\t\tb(scope)\n\t}", "\tif (a) {\n// Finalize.\n\t\tc(scope)\n\t}\n"), @"
    M f
      at line 3, overlooking indentation
    |→if (a) {
    |→→// Finalize.
    |→→c(scope)
    |→}
    |
    |→revoke(scope)
    ");
}

#[test]
fn one_more_of_the_same_is_not_done_already() {
    insta::assert_snapshot!(update("<p>\n</div>\n</div>\n<footer>\n", " </div>\n+</div>\n <footer>\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch only adds, at line 2, what stands there: perhaps it is applied already; if more is meant, give the lines before and after it
         1 <p>
         2 </div>
         3 </div>
         4 <footer>
    ");
    insta::assert_snapshot!(update("fn f() {\n    x();\n}\n", "@@\n+}\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch only adds, at line 3, what stands there: perhaps it is applied already; if more is meant, give the lines before and after it
         1 fn f() {
         2     x();
         3 }
    ");
    insta::assert_snapshot!(unified("0,0\n0,0\n0,0\n0,0\n", "@@ -2,3 +2,4 @@\n 0,0\n 0,0\n 0,0\n+0,0\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch only adds, at line 1, what stands there: perhaps it is applied already; if more is meant, give the lines before and after it
         1 0,0
         2 0,0
         3 0,0
         4 0,0
    ");
}

#[test]
fn a_number_may_be_of_any_size() {
    let body = format!("@@ -{0},2 +{0},2 @@\n one\n-two\n+2\n", usize::MAX);
    insta::assert_snapshot!(unified("one\ntwo\n", &body), @"
    M f
    |one
    |2
    ");
    insta::assert_snapshot!(unified("one\n2\n", &body), @"  f is as the patch wants it already");
}

/// If other lines of the patch have tabs, the spaces that one line begins with are meant literally.
#[test]
fn blanks_in_a_file_that_is_indented_with_tabs_are_meant_if_the_patch_knows_tabs() {
    let lines: String = (0..60).map(|n| format!("\tline{n}();\n")).collect();
    let file = format!("int\nf(int a,\n    int b)\n{{\n{lines}}}\n");
    let meant = "@@\n int\n f(int a,\n-    int b)\n+    int b, int c)\n {\n";
    assert!(update(&file, meant).starts_with("M f\n"));
    let meant = "@@\n }\n+\n+int\n+g(int a,\n+    int b)\n+{\n+\treturn a;\n+}\n";
    assert!(update(&file, meant).starts_with("M f\n"));
    let misled = "@@\n }\n+\n+int\n+g(void)\n+{\n+    return 1;\n+}\n";
    assert!(update(&file, misled).contains("the file is indented with tabs"));
}

/// The patch format asks for three lines on each side of a change. Only at the end of a file there are none after it.
#[test]
fn three_lines_before_a_change_and_none_after_it_are_the_last_of_the_file() {
    let block = "  every: month\n  at: four\n  zone: Berlin\n";
    let file = format!("- cargo:\n{block}- git:\n{block}");
    let told = update(&file, "@@\n   every: month\n   at: four\n   zone: Berlin\n+- actions:\n");
    assert!(told.trim_end().ends_with("|- actions:"), "{told}");
    assert!(update(&file, "@@\n   zone: Berlin\n+- actions:\n").contains("fits in 2 places"));
}
