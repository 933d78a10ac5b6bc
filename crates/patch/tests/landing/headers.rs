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

#[test]
fn a_header_elsewhere_does_not_hinder_what_stands_once() {
    insta::assert_snapshot!(update("def f():\n    one()\n\ndef g():\n    two()\n", "@@ def f():\n-    two()\n+    2\n"), @"
    M f
    |def f():
    |    one()
    |
    |def g():
    |    2
    ");
}

#[test]
fn what_stands_once_as_it_is_beats_a_header_over_what_resembles() {
    let file = "def f():\n    alpha()\n    beta(1)\n    gamma()\n\ndef g():\n    alpha()\n    beta(2)\n    gamma()\n    delta()\n";
    let body = "@@ def f():\n     alpha()\n-    beta(2)\n+    beta(3)\n     gamma()\n     delta()\n";
    insta::assert_snapshot!(update(file, body), @"
    M f
    |def f():
    |    alpha()
    |    beta(1)
    |    gamma()
    |
    |def g():
    |    alpha()
    |    beta(3)
    |    gamma()
    |    delta()
    ");
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
