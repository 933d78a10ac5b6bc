//! `@@` headers: one, several within one another, wrong ones, misspelt ones.

use super::update;

const FILE: &str = "\
class A:
    def f(self):
        work()
        done()

    def g(self):
        work()
        done()

class B:
    def f(self):
        work()
        done()
";
const HUNK: &str = "-        work()\n+        rest()\n         done()\n";

fn under(headers: &str) -> String {
    update(FILE, &format!("{headers}{HUNK}"))
}

#[test]
fn a_header_leaves_one_place() {
    insta::assert_snapshot!(under("@@ def g(self):\n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        rest()
    |        done()
    |
    |class B:
    |    def f(self):
    |        work()
    |        done()
    ");
}

#[test]
fn a_header_may_be_the_beginning_or_a_part_of_a_line() {
    insta::assert_snapshot!(under("@@ def g\n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        rest()
    |        done()
    |
    |class B:
    |    def f(self):
    |        work()
    |        done()
    ");
    insta::assert_snapshot!(under("@@ class B:\n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        work()
    |        done()
    |
    |class B:
    |    def f(self):
    |        rest()
    |        done()
    ");
}

#[test]
fn a_header_may_be_closed_as_git_does() {
    insta::assert_snapshot!(under("@@ def g(self): @@\n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        rest()
    |        done()
    |
    |class B:
    |    def f(self):
    |        work()
    |        done()
    ");
    insta::assert_snapshot!(under("@@ -6,2 +6,2 @@ def g(self):\n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        rest()
    |        done()
    |
    |class B:
    |    def f(self):
    |        work()
    |        done()
    ");
}

#[test]
fn a_header_that_stands_twice_leaves_two() {
    insta::assert_snapshot!(under("@@ def f(self):\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 3-4, below `def f(self):` (line 2)
    lines 12-13, below `def f(self):` (line 11)
    ");
}

#[test]
fn headers_stand_within_one_another() {
    insta::assert_snapshot!(under("@@ class B:\n@@ def f(self):\n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        work()
    |        done()
    |
    |class B:
    |    def f(self):
    |        rest()
    |        done()
    ");
    insta::assert_snapshot!(under("@@ class A:\n@@     def f(self):\n"), @"
    M f
    |class A:
    |    def f(self):
    |        rest()
    |        done()
    |
    |    def g(self):
    |        work()
    |        done()
    |
    |class B:
    |    def f(self):
    |        work()
    |        done()
    ");
}

#[test]
fn headers_may_stand_in_one_line_of_blanks() {
    insta::assert_snapshot!(under("@@ class A:\n@@\n@@ def g(self):\n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        rest()
    |        done()
    |
    |class B:
    |    def f(self):
    |        work()
    |        done()
    ");
}

#[test]
fn a_header_that_is_nowhere_does_not_decide() {
    insta::assert_snapshot!(under("@@ def h(self):\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 3 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 3-4, below `def f(self):` (line 2)
    lines 7-8, below `def g(self):` (line 6)
    lines 12-13, below `def f(self):` (line 11)
    ");
}

#[test]
fn a_header_that_is_nowhere_does_not_hinder() {
    insta::assert_snapshot!(update("one\ntwo\nthree\n", "@@ def h(self):\n-two\n+2\n"), @"
    M f
      at line 2, overlooking its `@@` or `*** End of File`
    |one
    |2
    |three
    ");
}

/// What the hunks in `body` make of `file`: the first line of what is told of it.
fn in_short(file: &str, body: &str) -> String {
    update(file, body).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_header_that_is_there_is_not_overlooked() {
    let classes = "class Cart:\n    def total(self):\n        tax = rate\n        return tax\n\nclass Order:\n    def total(self):\n        tax = rate * 2\n        return tax\n";
    let functions = "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 2\n    return x\n";
    let rows = [
        ("dev:\n  debug: true\nprod:\n  debug: false\n", "@@ prod:\n-  debug: true\n+  debug: maybe\n", 2, 3),
        ("dev:\n  debug: true\nprod:\n  debug: false\n", "@@ dev:\n-  debug: false\n+  debug: maybe\n", 4, 1),
        ("dev:\n  debug: true\nprod:\n  log: x\n", "@@ prod:\n   debug: true\n+  more: true\n", 2, 3),
        ("[a]\nport = 1\n[b]\nport = 2\n", "@@ [b]\n-port = 1\n+port = 3\n", 2, 3),
        ("[a]\nport = 1\n[b]\nport = 2\n", "@@ [a]\n-port = 2\n+port = 3\n", 4, 1),
        (
            classes,
            "@@ class Order:\n@@     def total(self):\n-        tax = rate\n+        tax = 3\n         return tax\n",
            3,
            7,
        ),
        (classes, "@@ class Order:\n     def total(self):\n-        tax = rate\n+        tax = 3\n", 2, 6),
        (classes, "@@ class Order:\n@@ def other(self):\n-        tax = rate\n+        tax = 3\n", 3, 6),
        (functions, "@@ def a():\n-    x = 2\n+    x = 3\n", 6, 1),
        (functions, "@@ -6 +6 @@ def b():\n-    x = 1\n+    x = 3\n", 2, 5),
        (functions, "@@ -2 +2 @@ def b():\n-    x = 1\n+    x = 3\n", 2, 5),
        ("@x\ndef a():\n    p\n\n@y\ndef b():\n    q\n", "@@ @x\n-    q\n+    r\n", 7, 1),
    ];
    for (file, body, at, header) in rows {
        let told = in_short(file, body);
        let expected = format!("fits at line {at} alone, which is not below its header");
        assert!(told.contains(&expected) && told.contains(&format!("(line {header})")), "{body}{told}");
    }
}

#[test]
fn a_header_heads_what_is_below_it_in_a_flat_file_too() {
    let rows = [
        ("[a]\nport = 1\n[b]\nport = 1\n", "@@ [b]\n-port = 1\n+port = 3\n"),
        ("# A\n\ntext\n\n# B\n\ntext\n", "@@ # B\n-text\n+more\n"),
        ("import a\nimport b\nx = 1\n", "@@ import a\n-x = 1\n+x = 2\n"),
        ("int f(void)\n{\n  a();\nerr:\n  b();\n}\n", "@@ int f(void)\n-  b();\n+  c();\n"),
        ("@x\ndef a():\n    p\n", "@@ @x\n-    p\n+    q\n"),
        // git names the last function above, although it has ended.
        ("def a():\n    p\n\nx = 1\ny = 1\n", "@@ -5 +5 @@ def a():\n-y = 1\n+y = 2\n"),
        ("def a():\n    p\n\nx = 1\ny = 1\n", "@@ -9 +9 @@ def a():\n-y = 1\n+y = 2\n"),
        // The header stands within the hunk.
        ("x = 1\ndef a():\n    p\n", "@@ def a():\n x = 1\n def a():\n-    p\n+    q\n"),
    ];
    for (file, body) in rows {
        assert_eq!(in_short(file, body), "M f", "{body}");
    }
}

#[test]
fn three_lines_around_it_that_stand_once_say_more_than_a_header() {
    let file = "def f():\n    one()\n\ndef g():\n    alpha()\n    beta()\n    gamma()\n    delta()\n";
    insta::assert_snapshot!(update(file, "@@ def f():\n     alpha()\n-    beta()\n+    b()\n     gamma()\n     delta()\n"), @"
    M f
    |def f():
    |    one()
    |
    |def g():
    |    alpha()
    |    b()
    |    gamma()
    |    delta()
    ");
}

#[test]
fn a_header_over_what_resembles_beats_what_stands_once_as_it_is() {
    let file = "def f():\n    alpha()\n    beta(1)\n    gamma()\n\ndef g():\n    alpha()\n    beta(2)\n    gamma()\n    delta()\n";
    let body = "@@ def f():\n     alpha()\n-    beta(2)\n+    beta(3)\n     gamma()\n     delta()\n";
    insta::assert_snapshot!(in_short(file, body), @"`f` is unchanged: the hunk at line 3 of the patch fits at line 7 alone, which is not below its header `def f():` (line 1); write the lines as they stand below that, or give the header of the place that is meant");
}

#[test]
fn a_misspelt_header_does_not_decide() {
    insta::assert_snapshot!(under("@@ def gg(self):\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 3 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 3-4, below `def f(self):` (line 2)
    lines 7-8, below `def g(self):` (line 6)
    lines 12-13, below `def f(self):` (line 11)
    ");
}

#[test]
fn a_header_may_be_printed_or_spaced_otherwise() {
    insta::assert_snapshot!(under("@@ def  g(self):  \n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        rest()
    |        done()
    |
    |class B:
    |    def f(self):
    |        work()
    |        done()
    ");
    let file = "it(\"works\", () => {\n  a();\n});\nit(\"fails\", () => {\n  a();\n});\n";
    insta::assert_snapshot!(update(file, "@@ it(“fails”, () => {\n-  a();\n+  b();\n"), @r#"
    M f
    |it("works", () => {
    |  a();
    |});
    |it("fails", () => {
    |  b();
    |});
    "#);
}

#[test]
fn a_header_may_be_the_hunks_first_line() {
    insta::assert_snapshot!(update(FILE, "@@ def g(self):\n     def g(self):\n-        work()\n+        rest()\n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        rest()
    |        done()
    |
    |class B:
    |    def f(self):
    |        work()
    |        done()
    ");
}

#[test]
fn each_hunk_has_its_own_header() {
    let body = format!("@@ class A:\n@@ def f(self):\n{HUNK}@@ class B:\n@@ def f(self):\n{HUNK}");
    insta::assert_snapshot!(update(FILE, &body), @"
    M f
    |class A:
    |    def f(self):
    |        rest()
    |        done()
    |
    |    def g(self):
    |        work()
    |        done()
    |
    |class B:
    |    def f(self):
    |        rest()
    |        done()
    ");
}

#[test]
fn a_header_of_a_number_only_is_a_number() {
    insta::assert_snapshot!(under("@@ -7,2 +7,2 @@\n"), @"
    M f
    |class A:
    |    def f(self):
    |        work()
    |        done()
    |
    |    def g(self):
    |        rest()
    |        done()
    |
    |class B:
    |    def f(self):
    |        work()
    |        done()
    ");
}
