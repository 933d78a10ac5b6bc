//! Whole files: written, deleted, moved, copied, made executable; and several files at once, all or none.

use super::{apply, envelope, tell};
use toolgate_patch::MemoryTree;

#[test]
fn a_file_is_added() {
    insta::assert_snapshot!(apply([("f", "")], &envelope("*** Add File: dir/g\n+one\n+\n+two\n")), @"
    A dir/g
    |one
    |
    |two
    ");
    insta::assert_snapshot!(apply([("f", "")], &envelope("*** Add File: g\n")), @"A g");
}

#[test]
fn a_file_that_is_there_is_written_over() {
    insta::assert_snapshot!(apply([("f", "old\n")], &envelope("*** Add File: f\n+new\n")), @"
    M f
      all of it was replaced
    |new
    ");
}

#[test]
fn a_diff_does_not_write_over_what_it_calls_new() {
    let diff = "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+new\n";
    insta::assert_snapshot!(apply([("f", "old\n")], diff), @"`f` exists, and is not what the diff says it makes new; read it, and write a diff of what is there");
    insta::assert_snapshot!(apply([("f", "")], diff), @"`f` exists, and is not what the diff says it makes new; read it, and write a diff of what is there");
    insta::assert_snapshot!(apply([("f", "new\n")], diff), @"  f is as the patch wants it already");
    insta::assert_snapshot!(apply([("f", "new\r\n")], diff), @"  f is as the patch wants it already");
}

#[test]
fn what_only_passed_through_a_name_comes_from_where_it_was() {
    let patch = envelope("*** Add File: t\n+x\n*** Update File: t\n*** Move to: g\n");
    insta::assert_snapshot!(apply([("f", "one\n")], &patch), @"
    A g
    |x
    ");
    let patch =
        envelope("*** Update File: f\n*** Move to: t\n*** Update File: t\n*** Move to: g\n-one\n+1\n");
    insta::assert_snapshot!(apply([("f", "one\n")], &patch), @"
    R f -> g
    |1
    ");
}

#[test]
fn a_file_that_is_written_over_can_still_be_run() {
    let tree = MemoryTree { files: [("f".to_owned(), (b"old\n".to_vec().into(), true))].into() };
    insta::assert_snapshot!(tell(&tree, &envelope("*** Add File: f\n+new\n")), @"
    M f
      all of it was replaced
    (can be run)
    |new
    ");
    insta::assert_snapshot!(tell(&tree, &envelope("*** Update File: f\n*** Move to: g\n-old\n+new\n")), @"
    R f -> g
    (can be run)
    |new
    ");
}

#[test]
fn a_file_is_deleted() {
    insta::assert_snapshot!(apply([("f", "old\n")], &envelope("*** Delete File: f\n")), @"D f");
    insta::assert_snapshot!(apply([("f", "old\n")], &envelope("*** Delete File: g\n")), @"`g` does not exist, so it cannot be deleted");
}

#[test]
fn a_diff_that_deletes_must_know_all_of_it() {
    let diff =
        "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n";
    insta::assert_snapshot!(apply([("f", "one\ntwo\n")], diff), @"D f");
    insta::assert_snapshot!(apply([("f", "one\ntwo\nthree\n")], diff), @"`f` has lines that the patch does not delete; update it, or delete it as a whole");
    insta::assert_snapshot!(apply([("f", "one\nthree\n")], diff), @"
    `f` is unchanged: the hunk at line 5 of the patch does not match; the closest place is lines 1-2. Lines with `-` are what the patch expects, with `+` what is there
         1  one
           -two
         2 +three
    ");
}

#[test]
fn a_file_is_moved_with_and_without_a_change() {
    insta::assert_snapshot!(apply([("f", "one\ntwo\n")], &envelope("*** Update File: f\n*** Move to: d/g\n-two\n+2\n")), @"
    R f -> d/g
    |one
    |2
    ");
    insta::assert_snapshot!(apply([("f", "one\n")], &envelope("*** Update File: f\n*** Move to: g\n")), @"
    R f -> g
    |one
    ");
}

#[test]
fn a_move_writes_over_what_is_there() {
    let patch = envelope("*** Update File: f\n*** Move to: g\n-one\n+1\n");
    insta::assert_snapshot!(apply([("f", "one\n"), ("g", "other\n")], &patch), @"
    R f -> g
      all of it was replaced
    |1
    ");
}

#[test]
fn a_move_to_itself_is_an_update() {
    insta::assert_snapshot!(apply([("f", "one\n")], &envelope("*** Update File: f\n*** Move to: f\n-one\n+1\n")), @"
    M f
    |1
    ");
}

#[test]
fn two_files_change_places() {
    // A second application, which would swap them back, cannot be told from a first.
    let patch = envelope(
        "*** Update File: f\n*** Move to: t\n*** Update File: g\n*** Move to: f\n*** Update File: t\n*** Move to: g\n",
    );
    insta::assert_snapshot!(apply([("f", "one\n"), ("g", "two\n")], &patch), @"
    R g -> f
      all of it was replaced
    R f -> g
      all of it was replaced
    = f
    |two
    = g
    |one
    WRONG: applied twice, it changes more
    ");
}

#[test]
fn a_diff_moves_and_copies() {
    let diff = "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n";
    insta::assert_snapshot!(apply([("f", "one\n")], diff), @"
    R f -> g
    |one
    ");
    let diff = "diff --git a/f b/g\nsimilarity index 50%\ncopy from f\ncopy to g\n--- a/f\n+++ b/g\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    insta::assert_snapshot!(apply([("f", "one\ntwo\n")], diff), @"
    A g
    |one
    |2
    ");
}

#[test]
fn a_copy_is_of_what_the_patch_found() {
    let diff = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\ndiff --git a/f b/g\ncopy from f\ncopy to g\n";
    insta::assert_snapshot!(apply([("f", "one\n")], diff), @"
    M f
    A g
    = f
    |1
    = g
    |one
    ");
}

#[test]
fn a_mode_changes_alone_or_with_lines() {
    let diff = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n";
    insta::assert_snapshot!(apply([("f", "one\n")], diff), @"
    M f
    (can be run)
    |one
    ");
    let diff =
        "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\n";
    insta::assert_snapshot!(apply([("f", "one\n")], diff), @"
    M f
    (can be run)
    |1
    ");
    let diff = "diff --git a/g b/g\nnew file mode 100755\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+one\n";
    insta::assert_snapshot!(apply([("f", "")], diff), @"
    A g
    (can be run)
    |one
    ");
}

#[test]
fn whole_files_in_json() {
    let call = r#"{"files": [{"path": "f", "content": "1"}, {"path": "d/g", "content": "one\ntwo\n"}]}"#;
    insta::assert_snapshot!(apply([("f", "0\n")], call), @"
    M f
      all of it was replaced
    A d/g
    = f
    |1⌿
    = d/g
    |one
    |two
    ");
}

#[test]
fn one_file_that_cannot_stops_all() {
    let patch = envelope(
        "*** Add File: new\n+x\n*** Update File: f\n-two\n+2\n*** Delete File: gone\n*** Update File: missing\n-x\n+y\n",
    );
    insta::assert_snapshot!(apply([("f", "one\n")], &patch), @"
    `f` is unchanged: the hunk at line 5 of the patch does not match: none of its lines is in the file; read the file again
    `missing` does not exist; check the path, or add it as a new file
    `gone` does not exist, so it cannot be deleted
    ");
}

#[test]
fn several_files_are_told_in_the_patchs_order() {
    let patch = envelope("*** Update File: b\n-two\n+2\n*** Delete File: c\n*** Add File: a\n+one\n");
    insta::assert_snapshot!(apply([("b", "two\n"), ("c", "three\n"), ("d", "four\n")], &patch), @"
    M b
    D c
    A a
    = b
    |2
    = a
    |one
    ");
}

#[test]
fn a_part_of_a_patch_is_not_lost_to_another() {
    let files = || [("f", "one\n")];
    let update = "*** Update File: f\n-one\n+1\n";
    insta::assert_snapshot!(apply(files(), &envelope(&format!("{update}*** Delete File: f\n"))), @"`f` is deleted after another part of the patch has changed it; do one of them");
    insta::assert_snapshot!(apply(files(), &envelope(&format!("{update}*** Add File: f\n+two\n"))), @"`f` is written as a whole after another part of the patch has changed it; say once what is to be in it");
    let both = r#"{"files":[{"path":"q","content":"1\n"},{"path":"q","content":"2\n"}]}"#;
    insta::assert_snapshot!(apply(files(), both), @"`q` is written as a whole after another part of the patch has changed it; say once what is to be in it");
    let same = r#"{"files":[{"path":"q","content":"1\n"},{"path":"q","content":"1\n"}]}"#;
    insta::assert_snapshot!(apply(files(), same), @"
    A q
    |1
    ");
    insta::assert_snapshot!(apply(files(), &envelope("*** Delete File: f\n*** Add File: f\n+two\n")), @"
    M f
      all of it was replaced
    |two
    ");
}

#[test]
fn added_and_deleted_again_is_nothing() {
    let patch = envelope("*** Add File: g\n+x\n*** Delete File: g\n");
    insta::assert_snapshot!(apply([("f", "one\n")], &patch), @"  g is as the patch wants it already");
}

#[test]
fn renames_of_a_diff_happen_at_once() {
    let rename = |from: &str, to: &str| {
        format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
    };
    let swap = rename("a", "b") + &rename("b", "a");
    insta::assert_snapshot!(apply([("a", "one\n"), ("b", "two\n")], &swap), @"
    R b -> a
      all of it was replaced
    R a -> b
      all of it was replaced
    = a
    |two
    = b
    |one
    WRONG: applied twice, it changes more
    ");
    let chain = rename("a", "b") + &rename("b", "c");
    insta::assert_snapshot!(apply([("a", "one\n"), ("b", "two\n")], &chain), @"
    R a -> b
      all of it was replaced
    R b -> c
    = b
    |one
    = c
    |two
    ");
}

#[test]
fn a_whole_file_does_not_lose_what_it_leaves_out() {
    let write = |line: &str| format!(r#"{{"files":[{{"path":"f","content":"new\n{line}\n"}}]}}"#);
    let file = [("f", "old\nmore\n# ... existing rows stay ...\n")];
    insta::assert_snapshot!(apply(file, &write("// ... rest of the file unchanged ...")), @"`f` would lose the lines that `// ... rest of the file unchanged ...` stands for, since all of it is replaced; write them out, or send only what changes");
    insta::assert_snapshot!(apply(file, &write("# ... existing rows stay ...")), @"
    M f
      all of it was replaced
    |new
    |# ... existing rows stay ...
    ");
    insta::assert_snapshot!(apply(file, &write("print('... unchanged')")), @"
    M f
      all of it was replaced
    |new
    |print('... unchanged')
    ");
    insta::assert_snapshot!(apply([("g", "")], &write("// ... rest of the file unchanged ...")), @"
    A f
    |new
    |// ... rest of the file unchanged ...
    ");
}

#[test]
fn what_a_patch_says_of_a_file_is_not_lost_to_one_that_comes_in_its_place() {
    let update = |name: &str, old: &str, new: &str| format!("*** Update File: {name}\n-{old}\n+{new}\n");
    let moves = |from: &str, to: &str| format!("*** Update File: {from}\n*** Move to: {to}\n");
    let put = "is where another file is put after another part of the patch has changed it";
    let rows = [
        (moves("a", "b") + &update("b", "bb", "BB"), "is changed after another file was put in its place"),
        (moves("a", "b") + &update("b", "aa", "AA"), "is changed after another file was put in its place"),
        (moves("a", "c") + &moves("b", "c"), put),
        (update("b", "bb", "BB") + &moves("a", "b"), put),
        ("*** Add File: c\n+new\n".to_owned() + &moves("a", "c"), put),
        (moves("a", "c") + "*** Delete File: c\n", "is deleted after another part of the patch"),
        (moves("a", "b") + "*** Delete File: b\n", "is deleted after another part of the patch"),
        (moves("a", "c") + "*** Add File: c\n+new\n", "is written as a whole after another part"),
        ("diff --git a/a b/c\nrename from a\nrename to c\ndiff --git a/b b/c\nrename from b\nrename to c\n".to_owned(), put),
    ];
    for (body, expected) in rows {
        let patch = if body.starts_with("diff") { body.clone() } else { envelope(&body) };
        let told = apply([("a", "aa\n"), ("b", "bb\n")], &patch);
        assert!(told.contains(expected), "{body}{told}");
    }
}

#[test]
fn files_change_places_in_a_round() {
    let moves = |from: &str, to: &str| format!("*** Update File: {from}\n*** Move to: {to}\n");
    let patch = envelope(&(moves("a", "b") + &moves("b", "c") + &moves("c", "a")));
    let told = apply([("a", "aa\n"), ("b", "bb\n"), ("c", "cc\n")], &patch);
    assert!(told.contains("= a\n|cc\n= b\n|aa\n= c\n|bb"), "{told}");
    let patch = envelope(&(moves("a", "c") + "*** Update File: c\n-aa\n+AA\n"));
    let told = apply([("a", "aa\n")], &patch);
    assert!(told.contains("R a -> c\n|AA"), "{told}");
    let patch = envelope(&("*** Delete File: b\n".to_owned() + &moves("a", "b")));
    let told = apply([("a", "aa\n"), ("b", "bb\n")], &patch);
    assert!(told.contains("R a -> b\n  all of it was replaced\n|aa"), "{told}");
}

#[test]
fn a_diff_of_git_puts_no_file_in_the_place_of_another() {
    let verb = |verb: &str, from: &str, to: &str| {
        format!("diff --git a/{from} b/{to}\n{verb} from {from}\n{verb} to {to}\n")
    };
    let refused =
        "`b` is there already, and the diff puts another file in its place; move or delete it first";
    let delete = "diff --git a/b b/b\ndeleted file mode 100644\nindex 0ddf2ba..0000000\n";
    let rows = [
        (verb("rename", "a", "b"), Some(refused)),
        (verb("copy", "a", "b"), Some(refused)),
        (verb("rename", "a", "b") + &verb("rename", "b", "c"), None),
        (verb("rename", "b", "c") + &verb("copy", "a", "b"), None),
        (delete.to_owned() + &verb("rename", "a", "b"), None),
        (verb("copy", "b", "c") + &verb("rename", "a", "b"), Some(refused)),
        (verb("copy", "a", "same"), None),
    ];
    for (diff, expected) in rows {
        let told = apply([("a", "aa\n"), ("b", "bb\n"), ("same", "aa\n")], &diff);
        assert_eq!(told.lines().find(|line| line.starts_with('`')), expected, "{diff}{told}");
    }
}

#[test]
fn a_file_that_a_diff_calls_empty_is_not_deleted_with_what_is_in_it() {
    let delete =
        |blob: &str| format!("diff --git a/f b/f\ndeleted file mode 100644\nindex {blob}..0000000\n");
    insta::assert_snapshot!(apply([("f", "one\n")], &delete("e69de29")), @"`f` is not empty, as the diff that deletes it says; delete it with all of its lines");
    insta::assert_snapshot!(apply([("f", "")], &delete("e69de29")), @"D f");
    insta::assert_snapshot!(apply([("f", "one\n")], &delete("5626abf")), @"D f");
}
