//! Regressions of the edit benchmark that once landed wrong. Each must land right or be refused.

use super::update;

/// A stale line at the edge of a hunk that only removes.
#[test]
fn a_stale_line_that_is_to_go_is_not_done_already() {
    let file = "\
alpha();
beta();
gamma(1);
";
    let body = "\
@@
 alpha();
 beta();
-gamma(2);
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-3. Lines with `-` are what the patch expects, with `+` what is there; its new lines stand at line 1: perhaps it is applied already
         1  alpha();
         2  beta();
           -gamma(2);
         3 +gamma(1);
    ");
}

/// A removed line that differs from the file only in its quotes.
#[test]
fn a_line_that_is_to_go_is_found_in_spite_of_its_quotes() {
    let file = "\
alpha();
beta();
cfg(\"x\");
";
    let body = "\
@@
 alpha();
 beta();
-cfg(“x”);
";
    insta::assert_snapshot!(update(file, body), @r#"
    M f
      at line 3, overlooking quotes, dashes or blanks
    |alpha();
    |beta();
    "#);
}

/// A stale line in the second of two hunks. That hunk must not be skipped silently.
#[test]
fn one_stale_hunk_of_two_stops_both() {
    let file = "\
fn a() {
    one();
}

alpha();
beta();
gamma(1);
";
    let body = "\
@@
 fn a() {
-    one();
+    two();
 }
@@
 alpha();
 beta();
-gamma(2);
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: hunk 2 of 2 (line 8 of the patch) does not match; the closest place is lines 5-7. Lines with `-` are what the patch expects, with `+` what is there; its new lines stand at line 5: perhaps it is applied already
         5  alpha();
         6  beta();
           -gamma(2);
         7 +gamma(1);
    ");
}

/// The new lines stand in another block. The right place lacks one line of context.
#[test]
fn what_stands_in_another_block_is_not_done_already() {
    let file = "\
impl A
where
    S: Service,
    I: Read,
    B: Body,
    E: Exec,
{
    x();
}

impl B
where
    S: Service,
    I: Read + 'static,
    E: Exec,
{
    y();
}
";
    let body = "\
@@
     S: Service,
-    I: Read + 'static,
+    I: Read,
     B: Body,
     E: Exec,
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 3-6, below `where` (line 2)
    lines 13-16, below `where` (line 12)
    ");
}

/// The context also stands within the removed lines.
#[test]
fn context_that_also_stands_in_what_goes_is_not_done_already() {
    let file = "\
fn g() {
    match c {
        X => open(),
        _ => span(),
    extra();
    }
}

fn h() {
    match c {
        X => close(),
        _ => span(),
    }
}
";
    let body = "\
@@
         _ => span(),
     }
 }
-
-fn h() {
-    match c {
-        X => close(),
-        _ => span(),
-    }
-}
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch seems to be applied already, at line 12: its old lines are only almost those at line 4; if it belongs there, write them as the file has them
         2     match c {
         3         X => open(),
         4         _ => span(),
         5     extra();
         6     }
         7 }
         8·
         9 fn h() {
        10     match c {
        11         X => close(),
        12         _ => span(),
        13     }
        14 }
    ");
}

/// A neighbour resembles the hunk in two lines. The right place matches exactly in one.
#[test]
fn resemblance_does_not_beat_what_is_exact() {
    let file = "\
impl From<&'_ String> for S {
    fn from(name: &'_ String) -> Self {
        let mut s = S::new();
        s.push_str(name);
        s
    }
}

    fn from(name: &'static str) -> Self {
        let mut s = S::new();
        s.push_str(name);
        s
    }
}
";
    let body = "\
@@
\x20
 impl From<&'static str> for S {
     fn from(name: &'static str) -> Self {
-        let mut s = S::new();
+        let mut s = Self::new();
         s.push_str(name);
         s
     }
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-6. Lines with `-` are what the patch expects, with `+` what is there
           -
           -impl From<&'static str> for S {
           -    fn from(name: &'static str) -> Self {
         1 +impl From<&'_ String> for S {
         2 +    fn from(name: &'_ String) -> Self {
         3          let mut s = S::new();
         4          s.push_str(name);
         5          s
         6      }
    ");
}

/// One context line was edited. Another place has it but lacks a `}`.
#[test]
fn a_line_that_was_edited_does_not_send_the_hunk_elsewhere() {
    let file = "    #[t]
    fn a() {
        let e = [
            1,
        ];
        for &e in &expected {
            assert_eq!(rng.next_u64(), e);
        }
    }

    #[t]
    fn b() {
        let e = [
            2,
        ];
        for &e in &request {
            assert_eq!(rng.next_u64(), e);
        }
    }
}
";
    let body = "\
@@
         ];
         for &e in &expected {
             assert_eq!(rng.next_u64(), e);
+            assert_eq!(other.next_u64(), e);
         }
     }
 }
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 5-10, below `fn a() {` (line 2)
    lines 15-20, below `fn b() {` (line 12)
    ");
}

/// The neighbour of the removed blank line is not in the file.
#[test]
fn a_blank_line_goes_with_its_neighbour_only() {
    let file = "\
int x;

GIT_END_DECL

#state

";
    let body = "\
@@
 GIT_END_DECL
\x20
 #endif
-
";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 3-4. Lines with `-` are what the patch expects, with `+` what is there
         3  GIT_END_DECL
         4··
           -#endif
           -
    ");
}

/// Within the right region, some lines are similar and others equal.
#[test]
fn lines_lie_on_what_is_exact() {
    let file = "\
fn t() {
    let bytes = ByteBuf::from(vec![237, 160, 188, 10]);
    let v: ByteBuf = from_str(\"x83c-n\").unwrap();
    assert_eq!(v, bytes);

    let bytes = ByteBuf::from(vec![237, 160, 188, 32]);
    let v: ByteBuf = from_str(\"x83c-o\").unwrap();
    assert_eq!(v, bytes);

    let bytes = ByteBuf::from(vec![237, 176, 129]);
    assert_eq!(v, bytes);

    let res = bad();
}
";
    let body = "\
@@
     let v: ByteBuf = from_str(\"x83c-o\").unwrap();
     assert_eq!(v, bytes);
\x20
+    // lone trailing surrogate
     let bytes = ByteBuf::from(vec![237, 176, 129]);
     let v: ByteBuf = from_str(\"x83c-p\").unwrap();
     assert_eq!(v, bytes);
\x20
-    let res = bad();
+    let res = good();
 }
";
    insta::assert_snapshot!(update(file, body), @r#"
    M f
      at line 10, overlooking lines nearby that differ
    |fn t() {
    |    let bytes = ByteBuf::from(vec![237, 160, 188, 10]);
    |    let v: ByteBuf = from_str("x83c-n").unwrap();
    |    assert_eq!(v, bytes);
    |
    |    let bytes = ByteBuf::from(vec![237, 160, 188, 32]);
    |    let v: ByteBuf = from_str("x83c-o").unwrap();
    |    assert_eq!(v, bytes);
    |
    |    // lone trailing surrogate
    |    let bytes = ByteBuf::from(vec![237, 176, 129]);
    |    assert_eq!(v, bytes);
    |
    |    let res = good();
    |}
    "#);
}

/// Thirty blocks that only brackets tell apart.
#[test]
fn a_rival_far_down_is_seen() {
    // FIXME: `}` is in the file; there are too many places to look at, and the words do not say so.
    let block = |nth: usize| {
        let call = match nth {
            1 => "self.as_os_str().to_owned()".to_owned(),
            29 => "self.as_os_str().hash(state)".to_owned(),
            nth => format!("x{nth}()"),
        };
        format!("impl A{nth} {{\n    fn f() {{\n        {call}\n    }}\n}}\n")
    };
    let file = (0..30).map(block).collect::<Vec<_>>().join("\n");
    let body = "\
@@
         self.as_os_str(...
     }
 }
+
+mod tests {}
";
    insta::assert_snapshot!(update(file, body), @"`f` is unchanged: the hunk at line 3 of the patch does not match: too few of its lines are in the file, or in too many places; give more of what stands there");
}
