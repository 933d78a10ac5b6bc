//! Tests every form in which a model sends a patch, and the report after it was applied.

use insta::assert_snapshot;
use serde_json::json;

use super::{PatchWorkspace, envelope};

const CHANGE: &str = "*** Update File: a.txt\n one\n-two\n+2\n";

fn bench() -> PatchWorkspace {
    let bench = PatchWorkspace::new();
    bench.w.write_file("a.txt", "one\ntwo\nthree\n");
    bench
}

#[test]
fn freeform_patch_is_applied() {
    let bench = bench();
    assert_snapshot!(bench.normalized_text(&bench.envelope(CHANGE)), @"
    Applied:
    M a.txt
    ");
    assert_eq!(bench.text("a.txt"), "one\n2\nthree\n");
}

#[test]
fn as_a_function_by_any_of_its_names() {
    for name in ["apply_patch", "applypatch", "edit_file"] {
        for arguments in [json!({"input": envelope(CHANGE)}), json!({"patch": envelope(CHANGE)})] {
            let bench = bench();
            let answer = bench.call(name, &arguments);
            assert!(answer.success, "{name} {}", answer.joined_text());
            assert_eq!(bench.text("a.txt"), "one\n2\nthree\n");
        }
    }
}

#[test]
fn search_and_replace_is_applied() {
    let bench = bench();
    let edit = json!({"file_path": "a.txt", "original_content": "two\n", "updated_content": "2\n"});
    assert!(bench.call("apply_patch", &edit).success);
    assert_eq!(bench.text("a.txt"), "one\n2\nthree\n");
    let all = json!({"file_path": "a.txt", "old_string": "e", "new_string": "E", "replace_all": true});
    assert!(bench.call("apply_patch", &all).success);
    assert_eq!(bench.text("a.txt"), "onE\n2\nthrEE\n");
    let twice = json!({"file_path": "a.txt", "old_string": "E", "new_string": "e"});
    let answer = bench.call("apply_patch", &twice);
    assert!(!answer.success, "{}", answer.joined_text());
    assert_eq!(bench.text("a.txt"), "onE\n2\nthrEE\n");
}

#[test]
fn whole_files_are_written() {
    let bench = bench();
    let files =
        json!({"files": [{"path": "a.txt", "content": "new\n"}, {"path": "b/c.txt", "content": "c"}]});
    assert_snapshot!(bench.normalized_text(&bench.call("apply_patch", &files)), @"
    Applied:
    M a.txt
      all of it was replaced
    A b/c.txt
    ");
    assert_eq!((bench.text("a.txt"), bench.text("b/c.txt")), ("new\n".into(), "c".into()));
}

#[test]
fn a_field_that_is_null_counts_as_left_out() {
    let bench = bench();
    let write = json!({"path": "b.txt", "content": "b\n", "file_path": null, "patch": null});
    assert!(bench.call("write_file", &write).success);
    let text = json!({"input": envelope(CHANGE), "patch": null, "files": null, "workdir": null});
    assert!(bench.call("apply_patch", &text).success);
    assert_eq!((bench.text("a.txt"), bench.text("b.txt")), ("one\n2\nthree\n".into(), "b\n".into()));
    let missing = bench.call("write_file", &json!({"path": "b.txt", "content": null}));
    assert_snapshot!(missing.joined_text(), @"the arguments do not fit at `content`: `content` is missing: give `path`, and `content` for all of the file");
}

#[test]
fn without_old_content_a_new_file_is_written_and_none_is_lost() {
    let bench = bench();
    for new in [
        json!({"file_path": "n.txt", "original_content": null, "updated_content": "new\n"}),
        json!({"file_path": "m.txt", "updated_content": "new\n"}),
    ] {
        let answer = bench.call("apply_patch", &new);
        assert!(answer.success, "{}", answer.joined_text());
    }
    assert_eq!((bench.text("n.txt"), bench.text("m.txt")), ("new\n".into(), "new\n".into()));
    let answer = bench.call("apply_patch", &json!({"file_path": "a.txt", "updated_content": "new\n"}));
    assert_snapshot!(bench.normalized_text(&answer), @"
    The patch was not applied, and nothing was changed.
    `a.txt` exists, and the text to replace is empty; give the text that is to be replaced
    ");
    assert_eq!(bench.text("a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn unified_diff_is_applied() {
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    for sent in [diff.to_owned(), format!("```diff\n{diff}```\n")] {
        let bench = bench();
        let answer = bench.patch(&sent);
        assert!(answer.success, "{}", answer.joined_text());
        assert_eq!(bench.text("a.txt"), "one\n2\nthree\n");
    }
}

#[test]
fn report_names_all_four_change_kinds() {
    let bench = bench();
    bench.w.write_file("gone.txt", "x\n").write_file("old.txt", "y\n").write_file("done.txt", "first\nz\n");
    let answer = bench.envelope(
        "*** Update File: a.txt\n-two\n+2\n*** Add File: new/n.txt\n+n\n*** Delete File: gone.txt\n\
         *** Update File: old.txt\n*** Move to: moved.txt\n-y\n+Y\n*** Update File: done.txt\n first\n-y\n+z\n",
    );
    assert_snapshot!(bench.normalized_text(&answer), @"
    Applied:
    M a.txt
    A new/n.txt
    D gone.txt
    R old.txt -> moved.txt
      done.txt is as the patch wants it already
    ");
    assert_snapshot!(answer.structured.unwrap(), @r#"{"changes":[{"from":null,"kind":"M","path":"a.txt"},{"from":null,"kind":"A","path":"new/n.txt"},{"from":null,"kind":"D","path":"gone.txt"},{"from":"old.txt","kind":"R","path":"moved.txt"}]}"#);
    assert!(!bench.path("gone.txt").exists() && !bench.path("old.txt").exists());
    assert_eq!(bench.text("moved.txt"), "Y\n");
}

#[test]
fn observer_sees_each_file() {
    let bench = bench();
    bench.w.write_file("gone.txt", "x\n").write_file("old.txt", "y\n");
    bench.envelope(
        "*** Update File: a.txt\n-two\n+2\n*** Add File: n.txt\n+n\n*** Delete File: gone.txt\n\
         *** Update File: old.txt\n*** Move to: moved.txt\n-y\n+Y\n",
    );
    assert_eq!(bench.changes(), ["M a.txt", "A n.txt", "D gone.txt", "R moved.txt"]);
}

#[test]
fn observer_sees_files_in_patch_order() {
    const FILES: usize = 300;
    let bench = bench();
    let add = |at: usize| format!("*** Add File: d/f{at}.txt\n+{at}\n");
    assert!(bench.envelope(&(0..FILES).map(add).collect::<String>()).success);
    let delete = |at: usize| format!("*** Delete File: d/f{at}.txt\n");
    assert!(bench.envelope(&(0..FILES).rev().map(delete).collect::<String>()).success);
    let told = |kind: char| move |at: usize| format!("{kind} d/f{at}.txt");
    let wanted: Vec<String> = (0..FILES).map(told('A')).chain((0..FILES).rev().map(told('D'))).collect();
    assert_eq!(bench.changes(), wanted);
}

#[test]
fn fuzzy_match_is_reported() {
    let bench = bench();
    bench.w.write_file("p.py", "def f():\n    x = 1\n    y = 2\n");
    let answer = bench.envelope("*** Update File: p.py\n def f():\n   x = 1\n-  y = 2\n+  y = 3\n");
    assert_snapshot!(bench.normalized_text(&answer), @"
    Applied:
    M p.py
      at line 3, overlooking indentation
    Look whether what was overlooked is as you meant it.
    ");
    assert_eq!(bench.text("p.py"), "def f():\n    x = 1\n    y = 3\n");
}

#[test]
fn a_patch_that_is_applied_already_changes_nothing() {
    let bench = bench();
    bench.envelope(CHANGE);
    let before = bench.everything();
    let again = bench.envelope(CHANGE);
    assert!(again.success);
    assert_snapshot!(bench.normalized_text(&again), @"
    Nothing was changed:
      a.txt is as the patch wants it already
    ");
    assert_eq!(bench.everything(), before);
}

#[test]
fn every_file_keeps_its_mode_and_its_line_endings() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench();
    bench.w.write_file("run.sh", "#!/bin/sh\r\necho two\r\n");
    std::fs::set_permissions(bench.path("run.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
    assert!(bench.envelope("*** Update File: run.sh\n-echo two\n+echo 2\n+echo 3\n").success);
    assert_eq!(bench.text("run.sh"), "#!/bin/sh\r\necho 2\r\necho 3\r\n");
    assert_eq!(std::fs::metadata(bench.path("run.sh")).unwrap().permissions().mode() & 0o7777, 0o750);
}
