//! Tests file names in a patch: padded, quoted (refused) or missing; and that wrappers around a patch change nothing.

use super::{apply, envelope};

#[test]
fn a_name_may_have_blanks_and_be_padded() {
    insta::assert_snapshot!(apply([("my file", "one\n")], &envelope("*** Update File:   my file  \n-one\n+1\n")), @"
    M my file
    |1
    ");
}

#[test]
fn a_name_may_be_quoted() {
    insta::assert_snapshot!(apply([("f", "one\n")], &envelope("*** Update File: `f`\n-one\n+1\n")), @"not a patch: line 2: the path `f` is in quotes; write it without quotes");
    insta::assert_snapshot!(apply([("f", "one\n")], &envelope("*** Update File: \"f\"\n-one\n+1\n")), @r#"not a patch: line 2: the path "f" is in quotes; write it without quotes"#);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    insta::assert_snapshot!(apply([("f", "one\n")], &envelope("*** Update File: F\n-one\n+1\n")), @"`F` does not exist; check the path, or add it as a new file");
}

#[test]
fn the_patch_may_be_wrapped() {
    let patch = envelope("*** Update File: f\n-one\n+1\n");
    let told = apply([("f", "one\n")], &patch);
    for wrapped in [
        format!("```diff\n{patch}```\n"),
        format!("<<'EOF'\n{patch}EOF\n"),
        format!("apply_patch <<'EOF'\n{patch}EOF\n"),
        format!("\n\n{patch}\n\n"),
        patch.replace('\n', "\r\n"),
        serde_json::json!({ "input": patch }).to_string(),
    ] {
        assert_eq!(apply([("f", "one\n")], &wrapped), told, "{wrapped}");
    }
    insta::assert_snapshot!(told, @"
    M f
    |1
    ");
}
