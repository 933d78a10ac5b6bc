//! Repairs of mistakes in how a patch is written: applied if the file proves them, and refused otherwise.

use super::{replace, unified, update};

const PY: &str = "def a():\n    one()\n    two()\n\nx = 1\n";
const TS: &str = "const a: Map<string> = x && y\nconst b = 2\nlet c = \"3\"\n";

#[test]
fn lines_that_stay_may_lack_their_blank() {
    insta::assert_snapshot!(unified("import a\nimport b\n\nx = 1\n", "@@ -1,4 +1,5 @@\nimport a\nimport b\n+import c\n\nx = 1\n"), @"
    M f
      at line 3, overlooking blanks that are missing before lines that stay
    |import a
    |import b
    |import c
    |
    |x = 1
    ");
    insta::assert_snapshot!(update(PY, "@@\ndef a():\n    one()\n-    two()\n+    three()\n"), @"
    M f
      at line 3, overlooking blanks that are missing before lines that stay
    |def a():
    |    one()
    |    three()
    |
    |x = 1
    ");
    insta::assert_snapshot!(update("f() {\n\tone();\n\ttwo();\n}\n", "@@\n\tone();\n+\tmore();\n\ttwo();\n}\n"), @"
    M f
      at line 3, overlooking blanks that are missing before lines that stay
    |f() {
    |→one();
    |→more();
    |→two();
    |}
    ");
}

#[test]
fn some_of_them_may_lack_it() {
    insta::assert_snapshot!(update(PY, "@@\ndef a():\n     one()\n-    two()\n+    three()\n\n x = 1\n"), @"
    M f
      at line 3, overlooking blanks that are missing before lines that stay
    |def a():
    |    one()
    |    three()
    |
    |x = 1
    ");
}

#[test]
fn what_comes_is_not_shifted_by_a_blank_that_only_what_stays_lacks() {
    insta::assert_snapshot!(update(PY, "@@ def a():\n    one()\n    two()\n+\n+\n+def b():\n+    three()\n"), @"
    M f
      at line 4, overlooking blanks that are missing before lines that stay
    |def a():
    |    one()
    |    two()
    |
    |
    |def b():
    |    three()
    |
    |x = 1
    ");
}

#[test]
fn what_is_indented_by_one_less_as_a_whole_is_still_indented() {
    insta::assert_snapshot!(update("/**\n * one\n * two\n */\n", "@@\n * one\n+* more\n * two\n"), @"
    M f
      at line 3, overlooking indentation
    |/**
    | * one
    | * more
    | * two
    | */
    ");
}

#[test]
fn a_line_without_a_sign_must_be_there() {
    insta::assert_snapshot!(update(PY, "@@\ndef a():\n    one()\nmore()\n-    two()\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-3. Lines with `-` are what the patch expects, with `+` what is there; `def a():` has no sign: begin a line that stays with a space
         1  def a():
           -   one()
           -more()
         2 +    one()
         3      two()
    ");
    insta::assert_snapshot!(update(PY, "@@\n-    two()\n+    three()\nThis should fix it.\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 3-4. Lines with `-` are what the patch expects, with `+` what is there; `This should fix it.` has no sign: begin a line that stays with a space
         3      two()
           -This should fix it.
         4 +
    ");
    insta::assert_snapshot!(update("a\n- b\n+ c\nd\n", "@@\na\n- b\n+ c\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-2. Lines with `-` are what the patch expects, with `+` what is there; `a` has no sign: begin a line that stays with a space
         1  a
           - b
         2 +- b
    ");
    insta::assert_snapshot!(update("a\n+ c\nd\n", "@@\na\n+ c\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-1. Lines with `-` are what the patch expects, with `+` what is there; `a` has no sign: begin a line that stays with a space
         1  a
    ");
    insta::assert_snapshot!(update("a\nlimit = 1\nb\n", "@@\n a\nlimit = 1\n+limit = 2\n b\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-3. Lines with `-` are what the patch expects, with `+` what is there; `limit = 1` has no sign: begin a line that stays with a space
         1  a
         2  limit = 1
         3  b
    ");
}

#[test]
fn numbers_before_lines_are_taken_off() {
    insta::assert_snapshot!(replace(PY, "     2\t    one()\n     3\t    two()", "     2\t    one()\n     3\t    three()"), @"
    M f
      at line 2, overlooking line numbers
    |def a():
    |    one()
    |    three()
    |
    |x = 1
    ");
    insta::assert_snapshot!(replace(PY, "2: \x20   one()\n3: \x20   two()", "    one()\n    three()"), @"
    M f
      at line 2, overlooking line numbers
    |def a():
    |    one()
    |    three()
    |
    |x = 1
    ");
    insta::assert_snapshot!(update(PY, "@@\n    2 |     one()\n-   3 |     two()\n+   3 |     three()\n    4 |\n"), @"
    M f
      at line 3, overlooking line numbers
    |def a():
    |    one()
    |    three()
    |
    |x = 1
    ");
    insta::assert_snapshot!(update(PY, "@@\n      2→    one()\n-     3→    two()\n+    three()\n"), @"
    M f
      at line 3, overlooking line numbers
    |def a():
    |    one()
    |    three()
    |
    |x = 1
    ");
}

#[test]
fn numbers_that_may_be_the_files_own_are_refused() {
    let twins = "[\n  a,\n  b,\n  z,\n]\n1\n2\n3\n4\n5\n6\n[\n  a,\n  b,\n  c,\n]\n";
    insta::assert_snapshot!(replace(PY, "     2\t    one()\n     7\t    two()", "     2\t    three()"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(replace("web\n", "8080: web", "8080: www"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(replace("1: a\n2: b\n", "4: 1: a\n5: 2: b", "1: a\n2: c"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(replace("a\nb\n", "1: a\n2: b", "1: a\n99: c"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(replace(twins, "     3\t  b,\n     4\t  c,", "     3\t  b,\n     4\t  d,"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
}

#[test]
fn escapes_are_taken_off_once() {
    insta::assert_snapshot!(replace(PY, "    one()\\n    two()", "    one()\\n    three()"), @"
    M f
      at line 2, overlooking escapes
    |def a():
    |    one()
    |    three()
    |
    |x = 1
    ");
    insta::assert_snapshot!(replace(TS, "const b = 2\\nlet c = \\\"3\\\"", "const b = \\\"2\\\"\\nlet c = \\\"4\\\""), @r#"
    M f
      at line 2, overlooking escapes
    |const a: Map<string> = x && y
    |const b = "2"
    |let c = "4"
    "#);
    insta::assert_snapshot!(update(TS, "@@\n const b = 2\n-let c = \\\"3\\\"\n+let c = \\\"4\\n\\\"\n"), @r#"
    M f
      at line 3, overlooking escapes
    |const a: Map<string> = x && y
    |const b = 2
    |let c = "4\n"
    "#);
}

#[test]
fn escapes_that_may_be_the_codes_own_are_refused() {
    insta::assert_snapshot!(replace(PY, "    one()\\n    two()", "    one()\\n    print('a\\nb')"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(replace(PY, "    one()\\n    two()", "    one() + \\\\n    two()"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(replace(PY, "    one()\\n    two()", "    one()\\n    split(/\\n/)"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(update(TS, "@@\n const b = 2\n-let c = \\\"3\\\"\n+let c = \\\"4\\\\n\\\"\n"), @r#"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 1, but what it escapes can be read in two ways; write it as the file has it
         1 const a: Map<string> = x && y
         2 const b = 2
         3 let c = "3"
    "#);
}

#[test]
fn entities_are_what_they_stand_for() {
    let body = "@@\n const a: Map&lt;string&gt; = x &amp;&amp; y\n-const b = 2\n+const b: Set&lt;string&gt; = z\n let c = &quot;3&quot;\n";
    insta::assert_snapshot!(update(TS, body), @r#"
    M f
      at line 2, overlooking entities
    |const a: Map<string> = x && y
    |const b: Set<string> = z
    |let c = "3"
    "#);
    insta::assert_snapshot!(replace(TS, "Map&lt;string&gt;", "Set&lt;string&gt;"), @r#"
    M f
      at line 1, overlooking entities
    |const a: Set<string> = x && y
    |const b = 2
    |let c = "3"
    "#);
    insta::assert_snapshot!(replace(TS, "Map&lt;string&gt; = x", "Set<string> = x"), @r#"
    M f
      at line 1, overlooking entities
    |const a: Set<string> = x && y
    |const b = 2
    |let c = "3"
    "#);
}

#[test]
fn entities_that_are_meant_stay() {
    insta::assert_snapshot!(replace("<p>a &lt; b</p>\n", "a &lt; b", "a &gt; b"), @"
    M f
    |<p>a &gt; b</p>
    ");
    insta::assert_snapshot!(update("<ul>\n  <li>a &lt; b</li>\n</ul>\n", "@@\n <ul>\n-<li>a &lt; b</li>\n+<li>a &gt; b</li>\n </ul>\n"), @"
    M f
      at line 2, overlooking indentation
    |<ul>
    |  <li>a &gt; b</li>
    |</ul>
    ");
}

#[test]
fn entities_that_may_be_meant_are_refused() {
    insta::assert_snapshot!(replace(TS, "Map&lt;string&gt; = x", "Set<string> = \"&lt;\""), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    let body = "@@\n const a: Map&lt;string&gt; = x &amp;&amp; y\n-const b = 2\n+const b: Set<string> = \"&lt;\"\n let c = \"3\"\n";
    insta::assert_snapshot!(update(TS, body), @r#"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 1, but the patch has `const a: Map&lt;string&gt; = x &amp;&amp; y` where the file has `const a: Map<string> = x && y`; write it as the file has it
         1 const a: Map<string> = x && y
         2 const b = 2
         3 let c = "3"
    "#);
}
