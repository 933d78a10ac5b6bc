//! `@@` headers: single, nested, wrong and misspelt.

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
      at line 2, overlooking its `@@` header
    |one
    |2
    |three
    ");
}

/// Applies the hunks in `body` to `file`. Returns the first line of the report.
fn in_short(file: &str, body: &str) -> String {
    update(file, body).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_header_over_what_resembles_is_not_overlooked() {
    let classes = "class Cart:\n    def total(self):\n        tax = rate\n        return tax\n\nclass Order:\n    def total(self):\n        tax = rate * 2\n        return tax\n";
    let functions = "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 2\n    return x\n";
    let rows = [
        ("dev:\n  debug: true\nprod:\n  debug: false\n", "@@ prod:\n-  debug: true\n+  debug: maybe\n", 2, 3),
        ("dev:\n  debug: true\nprod:\n  debug: false\n", "@@ dev:\n-  debug: false\n+  debug: maybe\n", 4, 1),
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
        // Git names the last function above, although it has ended.
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
      at line 6, overlooking its `@@` header
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
fn lines_that_stand_once_and_say_enough_land_although_the_header_is_over_what_resembles() {
    let file = "def f():\n    alpha()\n    beta(1)\n    gamma()\n\ndef g():\n    alpha()\n    beta(2)\n    gamma()\n    delta()\n";
    let body = "@@ def f():\n     alpha()\n-    beta(2)\n+    beta(3)\n     gamma()\n     delta()\n";
    insta::assert_snapshot!(update(file, body).lines().take(2).collect::<Vec<_>>().join("\n"), @"
    M f
      at line 8, overlooking its `@@` header
    ");
}

#[test]
fn a_place_that_is_unique_lands_below_a_definition_that_has_ended() {
    let python = "def a():\n    p('x')\n\nx = 1\ny = \"2\"\n";
    let c = "int f(void)\n{\n  a();\n}\n\nstatic int n = 1;\n\nint g(void)\n{\n  b();\n}\n";
    let markdown = "# A\n\ntext\n\n```sh\nrun\n```\n\nmore\n";
    let rows = [
        (python, "@@ def a():\n-x = 1\n+x = 2\n"),
        (python, "@@ def a():\n x = 1\n-y = \"2\"\n+y = 3\n"),
        // Trailing whitespace, typographic quotes, and both hunks of one definition.
        (python, "@@ def a():\n x = 1  \n-y = \"2\" \n+y = 3\n"),
        (python, "@@ def a():\n x = 1\n-y = “2”\n+y = 3\n"),
        (python, "@@ def a():\n-    p('x')\n+    q('x')\n@@ def a():\n-x = 1\n+x = 2\n"),
        (c, "@@ int f(void)\n-static int n = 1;\n+static int n = 2;\n"),
        (c, "@@ int f(void)\n static int n = 1;\n \n int g(void)\n {\n-  b();\n+  c();\n"),
        (markdown, "@@ # A\n-more\n+less\n"),
    ];
    for (file, body) in rows {
        assert_eq!(in_short(file, body), "M f", "{body}");
        assert!(!update(file, body).contains("header"), "{body}");
    }
}

#[test]
fn a_header_that_is_elsewhere_is_overlooked_and_told() {
    let file = "def a():\n    one()\n\ndef b():\n    two()\n    three()\n\ndef c():\n    four()\n";
    let rows = [
        ("@@ def a():\n     two()\n-    three()\n+    3\n", "at line 6, overlooking its `@@` header"),
        ("@@ def c():\n     two()\n-    three()\n+    3\n", "at line 6, overlooking its `@@` header"),
        ("@@ def c():\n     two()  \n-    three()\n+    3\n", "at line 6, overlooking its `@@` header"),
        ("@@ def c():\n     two()  \n-    three()\n+    3\n", "overlooking blanks at the ends of lines"),
    ];
    for (body, told) in rows {
        assert!(update(file, body).contains(told), "{body}{}", update(file, body));
    }
    let rows = [
        ("dev:\n  debug: true\nprod:\n  log: x\n", "@@ prod:\n   debug: true\n+  more: true\n"),
        ("@x\ndef a():\n    p\n\n@y\ndef b():\n    q\n", "@@ @x\n-    q\n+    r\n"),
    ];
    for (file, body) in rows {
        let done = update(file, body);
        assert!(done.starts_with("M f\n") && done.contains("overlooking its `@@` header"), "{done}");
    }
}

const TWICE: &str = "\
def f():
    start()
    one()
    two()
    three()
    four()
    five()
    six()
    between()
    one()
    two()
    three()
    four()
    five()
    six()
    end()

def g():
    if ready:
        one()
        two()
";

#[test]
fn of_several_places_the_nearest_below_the_header_wins() {
    let body =
        "@@ def f():\n     one()\n     two()\n     three()\n-    four()\n+    4\n     five()\n     six()\n";
    let told = |body: &str| update(TWICE, body).lines().take(2).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(told(body), @"
    M f
      at line 6, overlooking that it also fits further below its `@@` header
    ");
    // Two lines of context.
    insta::assert_snapshot!(told("@@ def f():\n     two()\n     three()\n-    four()\n+    4\n     five()\n     six()\n"), @"
    M f
      at line 6, overlooking that it also fits further below its `@@` header
    ");
    // Context on one side alone: the other end of the hunk would have to be an end of the file.
    insta::assert_snapshot!(told("@@ def f():\n     one()\n     two()\n     three()\n-    four()\n+    4\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 3-6, below `def f():` (line 1)
    ");
    // Too little evidence.
    insta::assert_snapshot!(told("@@ def f():\n     three()\n-    four()\n+    4\n     five()\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 5-7, below `def f():` (line 1)
    ");
    let wide = TWICE
        .replace("    between()\n", "    between()\n    zero()\n")
        .replace("    start()\n", "    start()\n    zero()\n");
    let body = "@@ def f():\n     zero()\n     one()\n     two()\n-    three()\n+    3\n     four()\n     five()\n     six()\n";
    insta::assert_snapshot!(update(&wide, body).lines().take(9).collect::<Vec<_>>().join("\n"), @"
    M f
      at line 6, overlooking that it also fits further below its `@@` header
    |def f():
    |    start()
    |    zero()
    |    one()
    |    two()
    |    3
    |    four()
    ");
}

#[test]
fn the_nearest_place_below_a_header_is_within_the_first_definition_there() {
    let test = |name: &str| {
        format!(
            "    def {name}(self):\n        a = 1\n        b = 2\n        c = 3\n        d = 4\n        e = 5\n        f = 6\n        g = 7\n\n"
        )
    };
    let file = format!("class T:\n{}{}", test("one"), test("two"));
    let hunk = "         a = 1\n         b = 2\n         c = 3\n-        d = 4\n+        d = 0\n         e = 5\n         f = 6\n         g = 7\n";
    for (header, line) in [("class T:", 7), ("def one(self):", 6), ("def two(self):", 15)] {
        let done = update(&file, &format!("@@ {header}\n{hunk}"));
        assert!(done.lines().nth(line).is_some_and(|line| line == "|        d = 0"), "{done}");
    }
}

#[test]
fn a_header_decides_for_the_only_place_below_it() {
    let block = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\ng = 7\n";
    let file = format!("{block}\ndef f():\n    x\n\ndef g():\n    y\n\n{block}");
    let hunk = " a = 1\n b = 2\n c = 3\n-d = 4\n+d = 0\n e = 5\n f = 6\n g = 7\n";
    let done = update(&file, &format!("@@ def f():\n{hunk}"));
    assert!(done.contains("at line 18, overlooking its `@@` header"), "{done}");
}

#[test]
fn brackets_below_a_definition_that_has_ended_are_not_told_apart() {
    let file = "def load\n  x\nend\n\ntask :a do\n  y\nend\n\n";
    let told = in_short(file, "@@ def load\n end\n \n+task :b\n");
    assert!(told.contains("fits in 2 places"), "{told}");
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

/// Two tests, each with a line that stands in both. The file has nothing else.
const TESTS: &str = "\
describe 'a' do
  it 'one' do
    call
  end

  it 'two' do
    call
  end
end
";

#[test]
fn one_line_of_context_is_told_apart_by_the_section_of_the_header() {
    // The end of `one`, which its header opens. No other place matches up to the next `it`.
    insta::assert_snapshot!(update(TESTS, "@@ it 'one' do\n     call\n+    more\n   end\n"), @"
    M f
    |describe 'a' do
    |  it 'one' do
    |    call
    |    more
    |  end
    |
    |  it 'two' do
    |    call
    |  end
    |end
    ");
    // Both are in the block of this header, and one line of context is too little evidence.
    let told = in_short(TESTS, "@@ describe 'a' do\n     call\n+    more\n   end\n");
    assert!(told.contains("fits in 2 places"), "{told}");
    // Words that begin the next section may stand at any depth.
    let file = "def f():\n    x\n\nwork()\ndone()\n\nclass A:\n    def g():\n        y\n\nwork()\ndone()\n";
    let told = update(file, "@@ def f():\n work()\n+more()\n done()\n");
    assert!(told.contains("|    x\n|\n|work()\n|more()\n"), "{told}");
}

#[test]
fn empty_lines_alone_are_not_told_apart_by_a_block() {
    let file = "x:\n  p\n\n\n  q\nx: 2\n\n\nz\n";
    let told = in_short(file, "@@ x:\n \n+  r\n \n");
    assert!(told.starts_with("M f"), "{told}");
    let prose = "We say\nwhat we mean.\n\n\n- one\n- two\n\n\n- three\n";
    let told = in_short(prose, "@@ what we mean.\n \n+- more\n \n");
    assert!(told.contains("fits in 2 places"), "{told}");
}

#[test]
fn a_first_hunk_without_context_before_it_is_at_the_top() {
    let file = "import {\n  a\n} from 'a'\nimport {\n  b\n} from 'b'\n";
    let told = update(file, "@@\n+import c from 'c'\n import {\n");
    assert!(told.contains("|import c from 'c'\n|import {\n|  a"), "{told}");
    // Neither a second hunk, nor one with a header.
    let told = update(file, "@@\n   a\n-} from 'a'\n+} from 'c'\n@@\n+import d from 'd'\n import {\n");
    assert!(told.contains("|import d from 'd'\n|import {\n|  b"), "{told}");
    let told = in_short(file, "@@ } from 'b'\n+import c from 'c'\n import {\n");
    assert!(told.contains("fits in 2 places"), "{told}");
}

#[test]
fn hunks_below_a_header_that_has_ended_are_told_apart_by_their_order() {
    let rule = |name: &str| format!("{name}:\n\tcd d; \\\n\tmake && \\\n\t\tctest\n\n");
    let file = format!("test: a\n\tx\n\n{}{}", rule("tar"), rule("zip"));
    let hunk = " \tcd d; \\\n-\tmake && \\\n+\tmake -j2 && \\\n \t\tctest\n";
    let told = update(&file, &format!("@@ test: a\n{hunk}@@\n{hunk}"));
    assert_eq!(told.matches("make -j2").count(), 2, "{told}");
}
