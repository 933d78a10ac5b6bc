//! Tests the format of a plan's diff; the module `git_round_trip` tests that git accepts it.

use super::{envelope, marked};
use toolgate_patch::{MemoryTree, PatchPlan, parse};

fn diff_of_patch(files: &[(&str, &[u8])], patch: &str) -> String {
    let tree = MemoryTree::from_files(files.iter().map(|(name, bytes)| (*name, bytes.to_vec())));
    marked(&PatchPlan::build(&parse(patch).unwrap(), &tree).unwrap().diff()).replace('\u{feff}', "<BOM>")
}

fn update(file: &[u8], body: &str) -> String {
    diff_of_patch(&[("f", file)], &envelope(&format!("*** Update File: f\n{body}")))
}

#[test]
fn what_is_moved_over_a_file_goes_and_changes_it() {
    let patch = envelope("*** Update File: f\n*** Move to: g\n");
    insta::assert_snapshot!(diff_of_patch(&[("f", b"one\n"), ("g", b"two\n")], &patch), @"
    diff --git a/f b/f
    deleted file mode 100644
    --- a/f
    +++ /dev/null
    @@ -1 +0,0 @@
    -one
    diff --git a/g b/g
    --- a/g
    +++ b/g
    @@ -1 +1 @@
    -two
    +one
    ");
}

#[test]
fn a_copy_of_a_file_that_changes_is_a_copy() {
    let patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\ndiff --git a/f b/g\ncopy from f\ncopy to g\n";
    insta::assert_snapshot!(diff_of_patch(&[("f", b"one\n")], patch), @"
    diff --git a/f b/f
    --- a/f
    +++ b/f
    @@ -1 +1 @@
    -one
    +1
    diff --git a/f b/g
    copy from f
    copy to g
    ");
}

#[test]
fn bytes_are_as_the_file_has_them() {
    insta::assert_snapshot!(update("\u{feff}one\r\ntwo".as_bytes(), "-one\n+1\n two\n"), @r"
    diff --git a/f b/f
    --- a/f
    +++ b/f
    @@ -1,2 +1,2 @@
    -<BOM>one␍
    +<BOM>1␍
     two
    \ No newline at end of file
    ");
    insta::assert_snapshot!(update(b"one\rtwo\r", "-one\n+1\n two\n"), @r"
    diff --git a/f b/f
    --- a/f
    +++ b/f
    @@ -1 +1 @@
    -one␍two␍
    \ No newline at end of file
    +1␍two␍
    \ No newline at end of file
    ");
}

#[test]
fn what_a_diff_cannot_hold_is_shown_beside_it() {
    let utf16: Vec<u8> = "\u{feff}a\nü\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    insta::assert_snapshot!(update(&utf16, " a\n-ü\n+b\n"), @"
    diff --git a/f b/f
    dissimilarity index 100%
    Binary files a/f and b/f differ
    # as text (UTF-16LE):
    # @@ -1,2 +1,2 @@
    #  a
    # -ü
    # +b
    ");
    insta::assert_snapshot!(update(b"caf\xe9 cr\xe8me\nd\xe9j\xe0 vu\n", "*** Move to: g\n-déjà vu\n+forêt\n"), @"
    diff --git a/f b/g
    rename from f
    rename to g
    Binary files a/f and b/g differ
    # as text (windows-1252):
    # @@ -1,2 +1,2 @@
    #  café crème
    # -déjà vu
    # +forêt
    ");
    insta::assert_snapshot!(diff_of_patch(&[("f", b"a\0")], &envelope("*** Add File: f\n+b\n")), @"
    diff --git a/f b/f
    dissimilarity index 100%
    Binary files a/f and b/f differ
    ");
    insta::assert_snapshot!(diff_of_patch(&[("f", b"a\0")], &envelope("*** Update File: f\n*** Move to: g\n")), @"
    diff --git a/f b/g
    rename from f
    rename to g
    ");
}

#[test]
fn empty_files_and_unusual_names_are_written_as_git_does() {
    let patch = envelope("*** Add File: a b\n*** Delete File: ü\n*** Update File: ./f\n-one\n");
    insta::assert_snapshot!(diff_of_patch(&[("ü", b""), ("./f", b"one\n")], &patch), @"
    diff --git a/a b b/a b
    new file mode 100644
    diff --git a/ü b/ü
    deleted file mode 100644
    diff --git a/f b/f
    --- a/f
    +++ b/f
    @@ -1 +0,0 @@
    -one
    ");
    insta::assert_snapshot!(diff_of_patch(&[("a \"b\"\\", b"x")], &envelope("*** Update File: a \"b\"\\\n*** Move to: a b\n-x\n+y\n")), @r#"
    diff --git "a/a \"b\"\\" b/a b
    rename from "a \"b\"\\"
    rename to a b
    --- "a/a \"b\"\\"→
    +++ b/a b→
    @@ -1 +1 @@
    -x
    \ No newline at end of file
    +y
    "#);
}
