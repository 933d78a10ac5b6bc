//! Regressions of the edit benchmark that were once refused without need. Each can land.

use super::{replace, unified, update};

/// The new text is part of the old text, which occurs once.
#[test]
fn a_removal_at_the_edge_of_a_text_lands() {
    let file = "\
#![cfg(x)]
#![allow(y)]

use serde_json::json;

fn f() {}
";
    let old = "\
#![cfg(x)]
#![allow(y)]

use serde_json::json;
";
    let new = "\
#![allow(y)]

use serde_json::json;
";
    insta::assert_snapshot!(replace(file, old, new), @"
    M f
    |#![allow(y)]
    |
    |use serde_json::json;
    |
    |fn f() {}
    ");
}

/// The old lines stand once, and the new lines stand in another function.
#[test]
fn the_same_lines_elsewhere_do_not_make_it_doubtful() {
    // FIXME: still refused: it may have been applied in `fn b`.
    let file = "\
fn a() {
    one();
    let e = stdout();
    two();
}

fn b() {
    one();
    let e = stderr();
    two();
}
";
    let body = "\
@@
     one();
-    let e = stdout();
+    let e = stderr();
     two();
 }
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 8-11, below `fn b() {` (line 7)
    lines 2-5, below `fn a() {` (line 1)
    ");
}

/// Two places that differ only in trailing whitespace, and a right line number.
#[test]
fn a_right_number_speaks_for_a_tolerant_place_too() {
    let file = "\
fn a() {
    sig {
        out: Default,
    },
    block: Block,
}

fn b() {
    sig {
        out: Default,
    },
    block: Block,
}
";
    let body = "\
@@ -9,5 +9,5 @@
     sig {\x20\x20
         out: Default,
     },
-    block: Block,
+    block: Other,
 }
";
    insta::assert_snapshot!(unified(file, body), @"
    M f
      at line 12, overlooking blanks at the ends of lines
    |fn a() {
    |    sig {
    |        out: Default,
    |    },
    |    block: Block,
    |}
    |
    |fn b() {
    |    sig {
    |        out: Default,
    |    },
    |    block: Other,
    |}
    ");
}

/// One line in the patch and one in the file, between lines that match exactly.
#[test]
fn a_reworded_line_between_exact_ones_is_that_line() {
    let file = "    a::first_thing,
    a::needless_late_init,
    a::handle,
    a::similar_names,
    a::single_match_else,
";
    let body = "\
@@
     a::first_thing,
     a::needless_late_init,
+    a::question_mark,
     a::shadow_unrelated,
     a::similar_names,
     a::single_match_else,
";
    insta::assert_snapshot!(update(file, body), @"
    M f
      at line 3, overlooking lines nearby that differ
    |    a::first_thing,
    |    a::needless_late_init,
    |    a::question_mark,
    |    a::handle,
    |    a::similar_names,
    |    a::single_match_else,
    ");
}

/// Spaces for tabs, and added lines with the one extra space of a comment.
#[test]
fn a_rest_of_one_blank_can_be_told() {
    let file = "\
void f() {
\t\tif (x)
\t\t\tcontinue;

\t\tif (y) {
";
    let body = "\
@@
         if (x)
             continue;
\x20
+        /*
+         * Note.
+         */
         if (y) {
";
    insta::assert_snapshot!(update(file, body), @"
    M f
      at line 5, overlooking indentation
    |void f() {
    |→→if (x)
    |→→→continue;
    |
    |→→/*
    |→→ * Note.
    |→→ */
    |→→if (y) {
    ");
}

/// The only neighbour of the added lines is a blank line that is not in the file.
#[test]
fn an_extra_blank_context_line_before_an_addition_is_tolerated() {
    let file = "\
#![allow(x)]

pub mod eq;
pub mod parse;
";
    let body = "\
@@
\x20
 pub mod eq;
 pub mod parse;
\x20
+pub mod visit;
";
    insta::assert_snapshot!(update(file, body), @"
    M f
      at line 5, overlooking empty lines
    |#![allow(x)]
    |
    |pub mod eq;
    |pub mod parse;
    |pub mod visit;
    ");
}

/// Both blocks begin with `#`.
#[test]
fn a_header_ends_where_the_next_attribute_begins() {
    let file = "\
#![allow(
    a::one,
    a::two,
)]

#![deny(
    a::one,
    a::two,
)]
";
    let body = "\
@@ #![allow(
     a::one,
+    a::new,
     a::two,
";
    insta::assert_snapshot!(update(file, body), @"
    M f
    |#![allow(
    |    a::one,
    |    a::new,
    |    a::two,
    |)]
    |
    |#![deny(
    |    a::one,
    |    a::two,
    |)]
    ");
}
