//! The file's style is learned from the hunks. Each case once kept the patch's style, in the edit benchmark.

use super::update;

/// Most lines are at column 0 and match. The others prove that four spaces are a tab.
#[test]
fn tabs_are_known_from_few_lines() {
    let file = "\
/**
 * One.
 * Two.
 * Three.
 * Four.
 * Five.
 */
int f(
\tint a,
\tint b);
";
    let body = "\
@@
  * Three.
  * Four.
- * Five.
+ * Six.
  */
 int f(
     int a,
-    int b);
+    int c);
";
    insta::assert_snapshot!(update(file, body), @"
    M f
      at line 6, overlooking indentation
    |/**
    | * One.
    | * Two.
    | * Three.
    | * Four.
    | * Six.
    | */
    |int f(
    |→int a,
    |→int c);
    ");
}

/// The first hunk shows the file's quotes. The second has none in its old lines.
#[test]
fn quotes_are_learned_from_another_hunk() {
    let file = "\
use a;
#[cfg(feature = \"x\")]
use b;

fn f() {
    one();
    two();
}
";
    let body = "\
@@
 use a;
 #[cfg(feature = “x”)]
-use b;
+use c;
@@
 fn f() {
     one();
+    log(“hi”);
     two();
 }
";
    insta::assert_snapshot!(update(file, body), @r#"
    M f
      at line 3, overlooking quotes, dashes or blanks
    |use a;
    |#[cfg(feature = "x")]
    |use c;
    |
    |fn f() {
    |    one();
    |    log("hi");
    |    two();
    |}
    "#);
}

/// The first hunk shows the width of a tab. The second has only old lines at column 0.
#[test]
fn tabs_are_learned_from_another_hunk() {
    let file = "\
fn f() {
    one();
    two();
}

fn g() {}
fn h() {}
";
    let body = "\
@@
 fn f() {
 \tone();
-\ttwo();
+\tthree();
 }
@@
 fn g() {}
+fn k() {
+\tfour();
+}
 fn h() {}
";
    insta::assert_snapshot!(update(file, body), @"
    M f
      at line 3, overlooking indentation
    |fn f() {
    |    one();
    |    three();
    |}
    |
    |fn g() {}
    |fn k() {
    |    four();
    |}
    |fn h() {}
    ");
}

/// An added line has the text of a line that is removed elsewhere in the hunk.
#[test]
fn blanks_at_the_end_of_what_goes_do_not_come_back() {
    let file = "\
impl E for B {\x20\x20
    #[cfg(backtrace)]\x20\x20
    fn old() {}

    fn source() {
        self.source()
    }
}
";
    let body = "\
@@
 impl E for B {
-    #[cfg(backtrace)]
-    fn old() {}
-
     fn source() {
           self.source()
     }
+
+    #[cfg(backtrace)]
+    fn provide() {}
 }
";
    insta::assert_snapshot!(update(file, body), @"
    M f
      at line 2, overlooking indentation
    |impl E for B {··
    |    fn source() {
    |        self.source()
    |    }
    |
    |    #[cfg(backtrace)]
    |    fn provide() {}
    |}
    ");
}

/// The second hunk proves that four spaces are a tab. The old lines of the first are indented only by the space before
/// the star of a comment.
#[test]
fn tabs_are_learned_from_another_hunk_beside_a_comment() {
    let file = "\
#define H

/**
 * One.
 */
int f(
\tint a,
\tint b);
";
    let body = "\
@@
 #define H
 
+enum e {
+    X,
+};
+
 /**
  * One.
@@
     int a,
-    int b);
+    int c);
";
    insta::assert_snapshot!(update(file, body), @"
    M f
      at line 8, overlooking indentation
    |#define H
    |
    |enum e {
    |→X,
    |};
    |
    |/**
    | * One.
    | */
    |int f(
    |→int a,
    |→int c);
    ");
}
