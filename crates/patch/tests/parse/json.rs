//! Patches as JSON: accepted shapes and error messages.

use crate::tell;
use insta::assert_snapshot;

#[test]
fn a_patch_text_is_read_from_a_json_field() {
    assert_snapshot!(tell(r#"{"input": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}"#), @"2: delete a");
    assert_snapshot!(tell(r#" {"patch": "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n-x\n+y"}"#), @"
    1: update f
      3: at 1 [-x] [+y]
    ");
    assert_snapshot!(tell(r#"{"input": "```\n*** Begin Patch\n*** Delete File: a\n*** End Patch\n```"}"#), @"3: delete a");
    assert_snapshot!(tell(r#"{"input": "*** Begin Patch\n*** Delete File: a\n"}"#), @"line 2: the patch is cut off: nothing was done; send all of it, up to `*** End Patch`");
    assert_snapshot!(tell(r#"{"input": "{\"input\": \"x\"}"}"#), @"the patch in the JSON is JSON again; write the patch itself in it, as an envelope or a unified diff");
    assert_snapshot!(tell(r#"{"input": 1}"#), @"`input` is not a string; write it as a string");
    assert_snapshot!(tell(r#"{"input": "x", "patch": "y"}"#), @"`input` and `patch` name the same thing; give one of them");
    assert_snapshot!(tell(r#"{"input": "x", "cwd": "y"}"#), @"unknown field `cwd`; leave it out; the fields are input, patch");
}

#[test]
fn texts_to_replace_are_read_under_all_field_names() {
    assert_snapshot!(tell(r#"{"file_path": "a", "original_content": "x\n", "updated_content": "y\n"}"#), @r#"1: replace a "x\n" by "y\n""#);
    assert_snapshot!(tell(r#"{"path": "a", "old_string": "x", "new_string": "y", "replace_all": true}"#), @r#"1: replace a "x" by "y" everywhere"#);
    assert_snapshot!(tell(r#"{"path": "a", "old_str": "", "new_str": "y", "replace_all": null}"#), @r#"1: replace a "" by "y""#);
    assert_snapshot!(tell(r#"[{"path": "a", "search": "x", "replace": ""}, {"path": "b", "search": "x", "replace": "y"}]"#), @r#"
    1: replace a "x" by ""
    1: replace b "x" by "y"
    "#);
    assert_snapshot!(tell(r#"{"edits": [{"path": "a", "search": "x", "replace": "y", "replace_all": false}]}"#), @r#"1: replace a "x" by "y""#);
    assert_snapshot!(tell(r#"{"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"path": "b", "old_string": "x", "new_string": "y"}]}"#), @r#"
    1: replace a "x" by "y"
    1: replace b "x" by "y"
    "#);
}

#[test]
fn whole_files_are_read() {
    assert_snapshot!(tell(r#"{"files": [{"path": "a", "content": "x\r\n"}, {"file_path": "b", "content": ""}]}"#), @r#"
    1: write a "x\r\n"
    1: write b ""
    "#);
    assert_snapshot!(tell(r#"{"path": "a", "content": "x"}"#), @r#"1: write a "x""#);
    assert_snapshot!(tell("```json\n[{\"path\": \"a\", \"content\": \"x\"}]\n```"), @r#"2: write a "x""#);
}

#[test]
fn invalid_json_edits_name_the_field() {
    assert_snapshot!(tell(r#"{"files": [{"path": "a", "content": "x", "mode": 1, "owner": 2}]}"#), @"unknown fields `mode`, `owner` in `files[0]`; leave it out; the fields are path, content");
    assert_snapshot!(tell(r#"{"path": "a", "old_string": "x", "new_string": "y", "expected": 1}"#), @"unknown field `expected`; leave it out; the fields are file_path, original_content, updated_content, replace_all");
    assert_snapshot!(tell(r#"{"edits": [{"path": "a", "search": "x", "replace": "y"}], "dry": true}"#), @"unknown field `dry`; leave it out; the fields are edits");
    assert_snapshot!(tell(r#"{"path": "a", "old_string": "x"}"#), @r#"`updated_content` is missing; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell(r#"{"edits": [{"old_string": "x", "new_string": "y"}]}"#), @r#"`file_path` is missing in `edits[0]`; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell(r#"{"path": "a", "file_path": "b", "old_string": "x", "new_string": "y"}"#), @"`file_path` and `path` name the same thing; give one of them");
    assert_snapshot!(tell(r#"{"edits": [{"path": "a", "old_string": "x", "new_string": 5}]}"#), @"`new_string` in `edits[0]` is not a string; write it as a string");
    assert_snapshot!(tell(r#"{"path": "a", "old_string": "x", "new_string": "y", "replace_all": "yes"}"#), @"`replace_all` is neither true nor false; write true or false");
    assert_snapshot!(tell(r#"{"path": "a\u0000", "content": "x"}"#), @"the path holds a NUL character; no file can have that name: leave it out");
    assert_snapshot!(tell(r#"{"path": "", "content": "x"}"#), @"no file is named; name it by its path from the working directory");
    assert_snapshot!(tell(r#"{"edits": {}}"#), @r#"`edits` is not a list; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell(r#"{"edits": ["x"]}"#), @r#"`edits[0]` is not an object; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell(r#"{"files": []}"#), @r#"the list is empty: the patch names no file; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell("[]"), @r#"the list is empty: the patch names no file; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell("{}"), @r#"`file_path` is missing; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell(r#"{"files": [{"path": "a"}]}"#), @r#"`content` is missing in `files[0]`; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell(r#"{"files": [{"content": "x"}]}"#), @r#"`path` is missing in `files[0]`; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell(r#"{"files": [{"path": "a", "search": "x", "replace": "y"}]}"#), @"`files[0]` is of another kind than what stands before it; list texts to replace in `edits` and whole files in `files`");
    assert_snapshot!(tell(r#"[{"path": "a", "content": "x"}, {"path": "a", "search": "x", "replace": "y"}]"#), @"`[1]` is of another kind than what stands before it; list texts to replace in `edits` and whole files in `files`");
    assert_snapshot!(tell("{\"files\":\n[{\"path\": \"a\", \"cont"), @"line 2: the patch is cut off: nothing was done; send all of it, with quotes and newlines in strings escaped");
    assert_snapshot!(tell("{\"files\":\n[{'path': 1}]}"), @"line 2: this is not JSON at column 3; send all of it, with quotes and newlines in strings escaped");
    assert_snapshot!(tell(&format!("[{}", "{\"a\":".repeat(1000))), @"line 1: this is not JSON at column 632; send all of it, with quotes and newlines in strings escaped");
}

#[test]
fn a_field_that_is_null_counts_as_left_out() {
    assert_snapshot!(tell(r#"{"path": "n", "content": "x", "file_path": null}"#), @r#"1: write n "x""#);
    assert_snapshot!(tell(r#"{"files": [{"path": "n", "content": "x", "mode": null}], "patch": null, "edits": null}"#), @r#"1: write n "x""#);
    assert_snapshot!(tell(r#"{"input": "*** Begin Patch\n*** Delete File: a\n*** End Patch", "patch": null, "workdir": null}"#), @"2: delete a");
    assert_snapshot!(tell(r#"{"path": "a", "old_string": "x", "new_string": null}"#), @r#"`updated_content` is missing; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
    assert_snapshot!(tell(r#"{"input": null}"#), @r#"`file_path` is missing; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
}

#[test]
fn without_old_content_the_file_is_new() {
    assert_snapshot!(tell(r#"{"file_path": "n", "original_content": null, "updated_content": "x"}"#), @r#"1: replace n "" by "x""#);
    assert_snapshot!(tell(r#"{"file_path": "n", "updated_content": "x"}"#), @r#"1: replace n "" by "x""#);
    assert_snapshot!(tell(r#"{"edits": [{"path": "n", "new_string": "x"}]}"#), @r#"1: replace n "" by "x""#);
    assert_snapshot!(tell(r#"{"file_path": "n"}"#), @r#"`updated_content` is missing; write {"input": patch}, {"file_path", "original_content", "updated_content"}, a list of these as {"edits": […]}, or {"files": [{"path", "content"}]}"#);
}
