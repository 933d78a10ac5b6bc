//! Unified diffs that are rejected, with their error messages.

use crate::tell;
use insta::assert_snapshot;

fn hunks(text: &str) -> String {
    tell(&format!("--- a/f\n+++ b/f\n{text}"))
}

fn git(text: &str) -> String {
    tell(&format!("diff --git a/f b/f\n{text}"))
}

#[test]
fn half_a_diff_is_not_applied() {
    assert_snapshot!(hunks("@@ -1,3 +1,3 @@\n a\n-b\n+le"), @"line 6: the patch is cut off: nothing was done; the last hunk has fewer lines than it says and its last line does not end; send all of it");
    assert_snapshot!(tell("```diff\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"), @"line 6: the patch is cut off: nothing was done; send all of it, up to the ``` that closes it");
    assert_snapshot!(git("--- a/f\n"), @"line 2: `---` stands without its `+++`; write `+++ b/path` after `--- a/path`");
    assert_snapshot!(hunks("@@ -1,3 +1,3 @@\n"), @"line 3: no lines follow the `@@`; write the lines that change after it");
    assert_snapshot!(git(""), @"line 1: nothing changes in this file; write a hunk that begins with `@@`, or leave it out");
    assert_snapshot!(git("index 123..456 100644\n"), @"line 1: nothing changes in this file; write a hunk that begins with `@@`, or leave it out");
}

#[test]
fn binary_files_links_submodules_and_merges_are_rejected() {
    assert_snapshot!(git("index 123..456 100644\nBinary files a/f and b/f differ\n"), @"line 3: a binary file cannot be patched; write the file another way, for example with a command");
    assert_snapshot!(git("index 123..456 100644\nGIT binary patch\nliteral 3\n"), @"line 3: a binary file cannot be patched; write the file another way, for example with a command");
    assert_snapshot!(tell("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\nBinary files x and y differ\n"), @"line 6: a binary file cannot be patched; write the file another way, for example with a command");
    assert_snapshot!(git("new file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"), @"line 2: a symbolic link cannot be patched; make the link with a command");
    assert_snapshot!(git("index 123..456 120000\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n"), @"line 2: a symbolic link cannot be patched; make the link with a command");
    assert_snapshot!(git("index 123..456 160000\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n"), @"line 2: a submodule cannot be patched; move it to another commit with git");
    assert_snapshot!(git("new file mode 40000\n"), @"line 2: `40000` is not a file mode; write 100644, or 100755 for a program");
    assert_snapshot!(tell("diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n  x\n"), @"line 1: a diff against several files cannot be applied; compare with one file: write a diff with `@@` and two names");
    assert_snapshot!(hunks("@@@ -1 -1 +1 @@@\n  x\n"), @"line 3: a diff against several files cannot be applied; compare with one file: write a diff with `@@`");
}

#[test]
fn unclear_file_names_are_rejected() {
    assert_snapshot!(tell("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"), @"line 1: `a/f` and `b/g` are two files; write the same path after `--- a/` and `+++ b/`, or add `rename from` and `rename to` lines");
    assert_snapshot!(git("--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"), @"line 1: `f` and `g` are two files; write the same path after `--- a/` and `+++ b/`, or add `rename from` and `rename to` lines");
    assert_snapshot!(git("--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+b\n"), @"line 1: `f` and `b/g` are two files; write the same path after `--- a/` and `+++ b/`, or add `rename from` and `rename to` lines");
    assert_snapshot!(tell("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n"), @"line 1: the file is neither there before nor after; name it in `---` or in `+++`");
    assert_snapshot!(git("rename from f\n@@ -1 +1 @@\n-a\n+b\n"), @"line 1: half of the names of a rename or copy is missing; write the same path after `--- a/` and `+++ b/`, or add `rename from` and `rename to` lines");
    assert_snapshot!(tell("diff --git a/x y b/z\nold mode 100644\nnew mode 100755\n"), @"line 1: the diff does not say which file this is; write the same path after `--- a/` and `+++ b/`, or add `rename from` and `rename to` lines");
    assert_snapshot!(tell("--- \"a/\\777\"\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"), @r#"line 1: the name "a/\777" is quoted wrongly; write it as git does"#);
    assert_snapshot!(tell("--- \"a/\\377\"\n+++ \"b/\\377\"\n@@ -1 +1 @@\n-a\n+b\n"), @"line 1: the name of the file is not UTF-8; rename the file with a command first");
    assert_snapshot!(tell("--- \"a/x\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"), @r#"line 1: the name "a/x is quoted wrongly; write it as git does"#);
    assert_snapshot!(tell("--- a/\n+++ b/\n@@ -1 +1 @@\n-a\n+b\n"), @"line 1: `a/` and `b/` are two files; write the same path after `--- a/` and `+++ b/`, or add `rename from` and `rename to` lines");
    assert_snapshot!(tell("--- /dev/null\n+++ \"b/a\\000\"\n@@ -0,0 +1 @@\n+b\n"), @"line 1: the path holds a NUL character; no file can have that name: leave it out");
}

#[test]
fn new_and_deleted_files_are_whole() {
    assert_snapshot!(tell("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n@@ -0,0 +2 @@\n+b\n"), @"line 5: a new file has a second hunk; write all of its lines in one hunk");
    assert_snapshot!(tell("--- /dev/null\n+++ b/f\n@@ -1 +1,2 @@\n a\n+b\n"), @"line 3: a new file has lines that stay or go; begin every line of a new file with `+`");
    assert_snapshot!(tell("--- a/f\n+++ /dev/null\n@@ -1,2 +1 @@\n a\n-b\n"), @"line 3: a file that is deleted has lines that stay or come; begin every line of a deleted file with `-`");
    assert_snapshot!(git("new file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"), @"line 1: the file is neither there before nor after; name it in `---` or in `+++`");
}

#[test]
fn lines_of_a_diff_say_what_they_are() {
    assert_snapshot!(hunks("@@ -1,2 +1,2 @@\n a\nb\n+c\n"), @"
    1: update f
      3: at 1 [ a] [?b] [+c]
    ");
    assert_snapshot!(hunks("@@ -1 +1 @@\n-a\n+b\nThat is all.\n"), @"line 6: `That is all.` is not part of a diff; begin the lines of a hunk with ` `, `+` or `-`, a hunk with `@@`, a file with `--- a/path`");
    assert_snapshot!(hunks("@@x\n-a\n"), @"line 3: `@@x` is not an `@@` line; write `@@ -1,2 +1,2 @@`, or `@@` alone");
    assert_snapshot!(hunks("@@ -1 +1 @@\n\\ No newline at end of file\n-a\n"), @"line 4: there is no line before this that could lack its newline; write it after the line that it is about");
    assert_snapshot!(hunks("@@ -1,2 +1,2 @@\n a\nFrom here\n+c\n"), @"
    1: update f
      3: at 1 [ a] [?From here] [+c]
    ");
    assert_snapshot!(tell("--- a/f\n+++ b/f\n-a\n+b\n--- a/g\n+++ b/g\n@@\n-a\n+b\n"), @"line 1: a file is named and no hunk follows; write `@@` and the lines that change directly after `+++`");
    assert_snapshot!(tell("words\n@@ -1 +1 @@\n-a\n"), @"line 2: a hunk stands before any file's name; write `--- a/path` and `+++ b/path` before it");
}
