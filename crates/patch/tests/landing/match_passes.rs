//! The match passes from exact to tolerant: differences that each ignores, bytes that it keeps, and its limits.

use super::update;

#[test]
fn exact_lines_land_and_nothing_is_said_of_them() {
    insta::assert_snapshot!(update("one\ntwo\nthree\n", " one\n-two\n+2\n three\n"), @"
    M f
    |one
    |2
    |three
    ");
}

#[test]
fn a_line_alone_is_enough_if_it_is_the_only_one() {
    insta::assert_snapshot!(update("one\ntwo\nthree\n", "-two\n+2\n"), @"
    M f
    |one
    |2
    |three
    ");
}

#[test]
fn exact_beats_tolerant() {
    insta::assert_snapshot!(update("  x = 1\nx = 1\n", "-x = 1\n+x = 2\n"), @"
    M f
    |  x = 1
    |x = 2
    ");
}

#[test]
fn blanks_at_the_ends_of_lines_are_overlooked_and_kept() {
    insta::assert_snapshot!(update("one  \ntwo\nthree\t\n", " one\n-two\n+2\n three\n"), @"
    M f
      at line 2, overlooking blanks at the ends of lines
    |one··
    |2
    |three→
    ");
}

#[test]
fn blanks_at_the_ends_of_the_patchs_lines_are_overlooked_too() {
    insta::assert_snapshot!(update("one\ntwo\nthree\n", " one   \n-two \n+2\n three\n"), @"
    M f
      at line 2, overlooking blanks at the ends of lines
    |one
    |2
    |three
    ");
}

#[test]
fn an_empty_line_of_blanks_is_an_empty_line() {
    insta::assert_snapshot!(update("one\n    \ntwo\n", " one\n \n-two\n+2\n"), @"
    M f
      at line 3, overlooking blanks at the ends of lines
    |one
    |····
    |2
    ");
}

#[test]
fn printed_quotes_in_the_patch_are_the_files_own() {
    let file = "say(\"hi\", 'a')\nrange(1 - 2)\nlast()\n";
    let body = " say(“hi”, ‘a’)\n-range(1 – 2)\n+range(1 – 3, “x”)\n last()\n";
    insta::assert_snapshot!(update(file, body), @r#"
    M f
      at line 2, overlooking quotes, dashes or blanks
    |say("hi", 'a')
    |range(1 - 3, "x")
    |last()
    "#);
}

#[test]
fn plain_quotes_in_the_patch_find_the_files_printed_ones() {
    let file = "# It’s “quoted” — here\nkeep me\nlast\n";
    let body = " # It's \"quoted\" - here\n-keep me\n+changed\n last\n";
    insta::assert_snapshot!(update(file, body), @"
    M f
      at line 2, overlooking quotes, dashes or blanks
    |# It’s “quoted” — here
    |changed
    |last
    ");
}

#[test]
fn a_hard_blank_is_a_blank() {
    insta::assert_snapshot!(update("a\u{a0}= 1\nb = 2\n", " a = 1\n-b = 2\n+b = 3\n"), @"
    M f
      at line 2, overlooking quotes, dashes or blanks
    |a = 1
    |b = 3
    ");
    insta::assert_snapshot!(update("a = 1\nb = 2\n", " a\u{a0}= 1\n-b\u{2009}= 2\n+b = 3\n"), @"
    M f
      at line 2, overlooking quotes, dashes or blanks
    |a = 1
    |b = 3
    ");
}

#[test]
fn a_line_that_goes_may_be_printed_otherwise_too() {
    insta::assert_snapshot!(update("x\nprint(\"old\")\ny\n", " x\n-print(“old”)\n+print(“new”)\n y\n"), @r#"
    M f
      at line 2, overlooking quotes, dashes or blanks
    |x
    |print("new")
    |y
    "#);
}

#[test]
fn printed_quotes_that_the_patch_means_stay() {
    insta::assert_snapshot!(update("x\ny\n", " x\n+say “hi”\n y\n"), @"
    M f
    |x
    |say “hi”
    |y
    ");
}

#[test]
fn an_empty_line_that_the_patch_forgot_is_overlooked() {
    let file = "fn a() {}\n\nfn b() {}\nfn c() {}\n";
    insta::assert_snapshot!(update(file, " fn a() {}\n fn b() {}\n-fn c() {}\n+fn d() {}\n"), @"
    M f
      at line 4, overlooking empty lines
    |fn a() {}
    |
    |fn b() {}
    |fn d() {}
    ");
}

#[test]
fn an_empty_line_that_the_patch_made_up_is_overlooked() {
    let file = "fn a() {}\nfn b() {}\nfn c() {}\n";
    insta::assert_snapshot!(update(file, " fn a() {}\n \n fn b() {}\n-fn c() {}\n+fn d() {}\n"), @"
    M f
      at line 3, overlooking empty lines
    |fn a() {}
    |fn b() {}
    |fn d() {}
    ");
}

#[test]
fn an_addition_beside_a_forgotten_empty_line_is_refused() {
    insta::assert_snapshot!(update("fn a() {}\n\nfn b() {}\n", " fn a() {}\n+fn x() {}\n fn b() {}\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 1, but there is an empty line after line 1, and the patch does not say on which side of it to add; write it as the file has it
         1 fn a() {}
         2·
         3 fn b() {}
    ");
}

#[test]
fn an_empty_line_of_its_own_says_on_which_side() {
    let file = "fn a() {}\n\nfn b() {}\n";
    insta::assert_snapshot!(update(file, " fn a() {}\n+\n+fn x() {}\n fn b() {}\n"), @"
    M f
      at line 2, overlooking empty lines
    |fn a() {}
    |
    |fn x() {}
    |
    |fn b() {}
    ");
    insta::assert_snapshot!(update(file, " fn a() {}\n+fn x() {}\n+\n fn b() {}\n"), @"
    M f
      at line 3, overlooking empty lines
    |fn a() {}
    |
    |fn x() {}
    |
    |fn b() {}
    ");
}

#[test]
fn empty_lines_that_are_to_go_must_be_as_many() {
    let file = "one();\n\n\ntwo();\nthree();\n";
    insta::assert_snapshot!(update(file, " one();\n-\n two();\n three();\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 1, but its lines can be taken for those there in more than one way; write it as the file has it
         1 one();
         2·
         3·
         4 two();
         5 three();
    ");
}

const NEAR: &str = "fn total(items: &[Item]) -> u64 {
    let mut sum = 0;
    for item in items {
        sum += item.price * item.count;
    }
    sum
}
";

#[test]
fn a_context_line_that_has_changed_is_overlooked() {
    let body = " fn total(items: &[Item]) -> u32 {\n     let mut sum = 0;\n     for item in items {\n-        sum += item.price * item.count;\n+        sum += item.cost();\n     }\n";
    insta::assert_snapshot!(update(NEAR, body), @"
    M f
      at line 4, overlooking lines nearby that differ
    |fn total(items: &[Item]) -> u64 {
    |    let mut sum = 0;
    |    for item in items {
    |        sum += item.cost();
    |    }
    |    sum
    |}
    ");
}

#[test]
fn a_context_line_that_is_gone_is_overlooked() {
    let body = " fn total(items: &[Item]) -> u64 {\n     let mut sum = 0;\n     // every item\n     for item in items {\n-        sum += item.price * item.count;\n+        sum += item.cost();\n     }\n";
    insta::assert_snapshot!(update(NEAR, body), @"
    M f
      at line 4, overlooking lines nearby that differ
    |fn total(items: &[Item]) -> u64 {
    |    let mut sum = 0;
    |    for item in items {
    |        sum += item.cost();
    |    }
    |    sum
    |}
    ");
}

#[test]
fn a_context_line_that_came_in_is_overlooked_and_kept() {
    let body = " fn total(items: &[Item]) -> u64 {\n     for item in items {\n-        sum += item.price * item.count;\n+        sum += item.cost();\n     }\n     sum\n";
    insta::assert_snapshot!(update(NEAR, body), @"
    M f
      at line 4, overlooking lines nearby that differ
    |fn total(items: &[Item]) -> u64 {
    |    let mut sum = 0;
    |    for item in items {
    |        sum += item.cost();
    |    }
    |    sum
    |}
    ");
}

#[test]
fn what_goes_is_never_taken_for_what_it_resembles() {
    let body = " fn total(items: &[Item]) -> u64 {\n     let mut sum = 0;\n     for item in items {\n-        sum += item.price * item.number;\n+        sum += item.cost();\n     }\n     sum\n";
    insta::assert_snapshot!(update(NEAR, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-6. Lines with `-` are what the patch expects, with `+` what is there
         1  fn total(items: &[Item]) -> u64 {
         2      let mut sum = 0;
         3      for item in items {
           -        sum += item.price * item.number;
         4 +        sum += item.price * item.count;
         5      }
         6      sum
    ");
}

#[test]
fn nothing_is_added_where_a_stranger_stands() {
    let body = " fn total(items: &[Item]) -> u64 {\n+    check(items);\n     for item in items {\n         sum += item.price * item.count;\n     }\n     sum\n";
    insta::assert_snapshot!(update(NEAR, body), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 1, but line 2 (`let mut sum = 0;`) stands where something is to be added, and the patch does not know it; write it as the file has it
         1 fn total(items: &[Item]) -> u64 {
         2     let mut sum = 0;
         3     for item in items {
         4         sum += item.price * item.count;
         5     }
         6     sum
         7 }
    ");
}

#[test]
fn dots_for_what_was_left_out_are_overlooked() {
    let body = " fn total(items: &[Item]) -> u64 {\n ...\n-    sum\n+    sum + 1\n }\n";
    insta::assert_snapshot!(update(NEAR, body), @"
    M f
      at line 6, overlooking lines nearby that differ
    |fn total(items: &[Item]) -> u64 {
    |    let mut sum = 0;
    |    for item in items {
    |        sum += item.price * item.count;
    |    }
    |    sum + 1
    |}
    ");
}

#[test]
fn lines_that_say_nothing_are_no_place() {
    insta::assert_snapshot!(update("a {\n}\n\nb {\n}\n", " }\n \n+x\n }\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 2-5. Lines with `-` are what the patch expects, with `+` what is there
         2  }
         3··
         4 +b {
         5  }
    ");
}

#[test]
fn a_hunk_without_any_line_in_the_file_is_refused() {
    insta::assert_snapshot!(update("one\ntwo\n", " alpha\n-beta\n+gamma\n"), @"`f` is unchanged: the hunk at line 3 of the patch does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(update("", " alpha\n-beta\n+gamma\n"), @"`f` is unchanged: the hunk at line 3 of the patch does not match: none of its lines is in the file; read the file again");
}

#[test]
fn a_hunk_that_is_longer_than_the_file_is_not_there() {
    insta::assert_snapshot!(update("one\n", " one\n-two\n+2\n three\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-1. Lines with `-` are what the patch expects, with `+` what is there
         1  one
           -two
           -three
    ");
}

#[test]
fn an_addition_among_several_empty_lines_is_refused_unless_it_brings_as_many() {
    let file = "one()\n\n\ntwo()\n";
    let told = |body: &str| update(file, body).lines().take(2).collect::<Vec<_>>().join("\n");
    let refused = told(" one()\n+more()\n+\n two()\n");
    assert!(refused.contains("does not say on which side of it to add"), "{refused}");
    // As many empty lines are added as exist.
    assert!(told(" one()\n+more()\n+\n+\n two()\n").contains("overlooking empty lines"));
    assert!(update(file, " one()\n+more()\n+\n+\n two()\n").contains("|one()\n|\n|\n|more()\n|\n|\n|two()"));
    assert!(update(file, " one()\n+\n+\n+more()\n two()\n").contains("|one()\n|\n|\n|more()\n|\n|\n|two()"));
}
