//! Search and replace: one, all or no occurrences, ambiguous and tolerant matches, and the field names.

use super::{apply, replace};

fn all(file: &str, old: &str, new: &str) -> String {
    let call = serde_json::json!({
        "file_path": "f", "original_content": old, "updated_content": new, "replace_all": true
    });
    apply([("f", file)], &call.to_string())
}

#[test]
fn a_text_that_is_there_once_is_replaced() {
    insta::assert_snapshot!(replace("let a = 1;\nlet b = 2;\n", "a = 1", "a = 10"), @"
    M f
    |let a = 10;
    |let b = 2;
    ");
    insta::assert_snapshot!(replace("one\ntwo\nthree\n", "one\ntwo\n", "1\n"), @"
    M f
    |1
    |three
    ");
    insta::assert_snapshot!(replace("one\ntwo\nthree\n", "two\n", ""), @"
    M f
    |one
    |three
    ");
}

#[test]
fn a_text_that_is_there_twice_is_not() {
    insta::assert_snapshot!(replace("a\nb\na\n", "a", "c"), @"
    `f` is unchanged: the text to replace fits in 2 places; give more of the text around it, or set `replace_all`
    lines 1-1
    lines 3-3
    ");
    insta::assert_snapshot!(replace("a a\n", "a", "c"), @"
    `f` is unchanged: the text to replace fits in 2 places; give more of the text around it, or set `replace_all`
    lines 1-1
    lines 1-1
    ");
}

#[test]
fn replace_all_replaces_every_occurrence() {
    insta::assert_snapshot!(all("a b a\na\n", "a", "c"), @"
    M f
    |c b c
    |c
    ");
    insta::assert_snapshot!(all("aaa\n", "aa", "b"), @"
    M f
    |ba
    ");
    insta::assert_snapshot!(all("one\r\ntwo\r\none\r\ntwo\r\n", "one\ntwo\n", "x\n"), @"
    M f
    |x␍
    |x␍
    ");
}

#[test]
fn a_replacement_may_contain_the_old_text() {
    insta::assert_snapshot!(all("foo\nfoo\n", "foo", "foobar"), @"
    M f
    |foobar
    |foobar
    ");
}

#[test]
fn a_missing_text_is_refused() {
    insta::assert_snapshot!(replace("one\ntwo\n", "three\n", "3\n"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(all("one\ntwo\n", "three", "3"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
    insta::assert_snapshot!(replace("one\ntwo\n", "one\n2\n", "1\n2\n"), @"
    `f` is unchanged: the text to replace does not match; the closest place is lines 1-2. Lines with `-` are what the patch expects, with `+` what is there
         1  one
           -2
         2 +two
    ");
}

#[test]
fn texts_match_as_tolerantly_as_hunks() {
    insta::assert_snapshot!(replace("  one();\n  two();\n", "one();\ntwo();\n", "one();\nthree();\n"), @"
    M f
      at line 2, overlooking indentation
    |  one();
    |  three();
    ");
    insta::assert_snapshot!(replace("say(\"a\");\nend();\n", "say(“a”);\nend();\n", "say(“b”);\nend();\n"), @r#"
    M f
      at line 1, overlooking quotes, dashes or blanks
    |say("b");
    |end();
    "#);
    insta::assert_snapshot!(replace("one();  \ntwo();\n", "one();\ntwo();\n", "one();\n2();\n"), @"
    M f
      at line 2, overlooking blanks at the ends of lines
    |one();··
    |2();
    ");
}

#[test]
fn part_of_a_line_is_not_overlooked() {
    insta::assert_snapshot!(replace("say(\"a\", 1);\n", "“a”", "“b”"), @"`f` is unchanged: the text to replace does not match: none of its lines is in the file; read the file again");
}

#[test]
fn empty_lines_among_what_changes_are_not_guessed() {
    insta::assert_snapshot!(replace("one();\n\n\ntwo();\n", "one();\n\ntwo();\n", "let first = 1;\n\nlet second = 2;\n"), @"
    `f` is unchanged: the text to replace almost fits at line 1, but the empty lines among what changes are not those of the file; write it as the file has it
         1 one();
         2·
         3·
         4 two();
    ");
}

#[test]
fn nothing_becomes_a_new_file() {
    let call = r#"{"file_path": "g", "original_content": "", "updated_content": "one\n"}"#;
    insta::assert_snapshot!(apply([("f", "")], call), @"
    A g
    |one
    ");
    insta::assert_snapshot!(replace("", "", "one\n"), @"
    M f
      all of it was replaced
    |one
    ");
    insta::assert_snapshot!(replace("one\n", "", "two\n"), @"`f` exists, and the text to replace is empty; give the text that is to be replaced");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let call = r#"{"file_path": "g", "original_content": "a", "updated_content": "b"}"#;
    insta::assert_snapshot!(apply([("f", "")], call), @"`g` does not exist; check the path, or add it as a new file");
}

#[test]
fn a_text_may_begin_and_end_within_lines() {
    insta::assert_snapshot!(replace("if (a) {\n  b();\n}\n", "a) {\n  b", "x) {\n  y"), @"
    M f
    |if (x) {
    |  y();
    |}
    ");
}

#[test]
fn what_becomes_the_same_changes_nothing() {
    insta::assert_snapshot!(replace("one\n", "one", "one"), @"  f is as the patch wants it already");
}

#[test]
fn several_edits_of_one_file_come_one_after_another() {
    let call = r#"{"file_path": "f", "edits": [
        {"original_content": "a", "updated_content": "b"},
        {"original_content": "b\nc", "updated_content": "d"}
    ]}"#;
    insta::assert_snapshot!(apply([("f", "a\nc\n")], call), @"
    M f
    |d
    ");
}

#[test]
fn a_text_that_overlaps_itself_is_there_twice() {
    for (file, old) in [("banana\n", "ana"), ("x\nx\nx\n", "x\nx\n"), ("äää\n", "ää")] {
        let told = replace(file, old, "y");
        assert!(told.contains("the text to replace fits in 2 places"), "{told}");
    }
    // Every occurrence, from the first on.
    assert!(all("a\n\n\nb\n", "\n\n", "\n").starts_with("M f\n|a\n|\n|b"));
}

#[test]
fn lines_are_replaced_everywhere_however_they_end() {
    insta::assert_snapshot!(all("a\r\nb\nq\na\nb\n", "a\nb", "Z"), @"
    M f
    |Z
    |q
    |Z
    ");
    insta::assert_snapshot!(all("a\r\nb\r\nq\na\nb\n", "a\nb\n", "a\nZ\n"), @"
    M f
    |a␍
    |Z␍
    |q
    |a
    |Z
    ");
    insta::assert_snapshot!(all("a\r\nb\nq\n", "\nq", "\np"), @"
    M f
    |a␍
    |b
    |p
    ");
}
