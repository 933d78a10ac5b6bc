//! Unified diffs that are accepted, with the mistakes that are tolerated.

use crate::tell;
use insta::assert_snapshot;

/// Git's output for a commit with one change of each kind.
const GIT: &str = r#"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
From: n <a@b>
Date: Mon, 16 Nov 2026 11:50:26 +0000
Subject: [PATCH] second thing

--- not a header

---
 big => big2 | 4 ++--
 1 file changed, 2 insertions(+), 2 deletions(-)

diff --git a/big b/big2
similarity index 86%
rename from big
rename to big2
index 0ff3bbb..704546c 100644
--- a/big
+++ b/big2
@@ -4,3 +4,3 @@ fn seven()
 6
-7
+77
 8
@@ -14,3 +14,3 @@
 16
-17
+177
 18
diff --git a/new file b/new file
new file mode 100755
index 0000000..c1b0730
--- /dev/null
+++ b/new file	
@@ -0,0 +1 @@
+x
\ No newline at end of file
diff --git a/empty b/newempty
similarity index 100%
rename from empty
rename to newempty
diff --git a/was b/copied
similarity index 100%
copy from was
copy to copied
diff --git a/none b/none
new file mode 100644
index 0000000..e69de29
diff --git a/gone b/gone
deleted file mode 100644
index 92dfa21..0000000
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-one
-two
diff --git a/gone too b/gone too
deleted file mode 100644
index e69de29..0000000
diff --git a/nonl b/nonl
index 1a9d148..7adf2e5 100644
--- a/nonl
+++ b/nonl
@@ -1 +1 @@
-nonl
\ No newline at end of file
+nonl2
\ No newline at end of file
diff --git a/q.sql b/q.sql
index 7f54e1f..e868d76 100644
--- a/q.sql
+++ b/q.sql
@@ -1,2 +1,2 @@
--- sql
+++ sql
 x
@@ -9 +9 @@
--- sql
+++ sql
@@ -20,1 +20,0 @@
--- 
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/sp ace.txt b/sp ace.txt
old mode 100755
new mode 100644
index b478595..718f4d2
--- a/sp ace.txt	
+++ b/sp ace.txt	
@@ -1 +1 @@
-s
+t
diff --git "a/\303\274 \"\t.txt" "b/\303\274 \"\t.txt"
index 4ae8ef0..110ed9b 100644
--- "a/\303\274 \"\t.txt"
+++ "b/\303\274 \"\t.txt"
@@ -1 +1 @@
-u
+v
-- 
2.47.3

"#;

#[test]
fn all_that_git_writes() {
    assert_snapshot!(tell(GIT), @r#"
    12: update big moved to big2
      19: <fn seven()> at 4 [ 6] [-7] [+77] [ 8]
      24: at 14 [ 16] [-17] [+177] [ 18]
    29: create new file +x "x"
    37: update empty moved to newempty
    41: update was copied to copied
    45: create none -x ""
    48: delete gone
      53: at 1 [-one] [-two]
    56: delete gone too
    59: update nonl
      63: at 1 old bare new bare [-nonl] [+nonl2]
    68: update q.sql
      72: at 1 [--- sql] [+++ sql] [ x]
      76: at 9 [--- sql] [+++ sql]
      79: at 20 [--- ]
    81: update run.sh +x
    84: update sp ace.txt -x
      90: at 1 [-s] [+t]
    93: update ü "	.txt
      97: at 1 [-u] [+v]
    "#);
}

#[test]
fn mails_in_a_row_and_git_show_are_read() {
    let mail = "From 0123456789 Mon Sep 17 00:00:00 2001\nSubject: x\n\nwords\n---\n f | 2 +-\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n-- \n2.43.0\n\n";
    assert_snapshot!(tell(&mail.repeat(2)), @"
    8: update f
      11: at 1 [-a] [+b]
    24: update f
      27: at 1 [-a] [+b]
    ");
    let shown = "commit 0123\nAuthor: n\n\n    words\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\ndiff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n";
    assert_snapshot!(tell(shown), @"
    6: update f
      9: at 1 [-a] [+b]
    13: update g
      16: at 1 [-a] [+b]
    ");
    let wrong_count =
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n-a\n+b\n--\n2.39.3 (Apple Git-146)\n";
    assert_snapshot!(tell(wrong_count), @"
    1: update f
      4: at 1 [-a] [+b]
    ");
}

#[test]
fn commits_of_a_log_are_read() {
    let commit = "commit 0123456 (HEAD)\nAuthor: n\n\n    words\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\n";
    assert_snapshot!(tell(&commit.repeat(2)), @"
    6: update f
      9: at 1 [-a] [+b]
    18: update f
      21: at 1 [-a] [+b]
    ");
}

fn named(old: &str, new: &str) -> String {
    tell(&format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n"))
}

#[test]
fn plain_diffs_name_files_with_and_without_prefixes() {
    let same = [
        ("a/d/f", "b/d/f"),
        ("d/f", "d/f"),
        ("i/d/f", "w/d/f"),
        ("c/d/f", "i/d/f"),
        ("o/d/f", "w/d/f"),
        ("b/d/f", "a/d/f"),
        ("a/d/f", "d/f"),
        ("d/f", "b/d/f"),
        ("d/f.orig", "d/f"),
        ("a/d/f~", "b/d/f"),
        ("d/f\t2024-01-01 10:00:00.000000000 +0100", "d/f\t2024-01-02 10:00:00.000000000 +0100"),
        ("\"a/d/f\"", "b/d/f"),
    ];
    for (old, new) in same {
        assert_eq!(named(old, new), "1: update d/f\n  3: at 1 [-a] [+b]\n", "{old} {new}");
    }
    assert_eq!(named("a/f", "a/f"), "1: update a/f\n  3: at 1 [-a] [+b]\n", "a directory that is called a");
    let svn = "Index: f\n=====\ndiff -u f f\n--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\nOnly in x: y\nIndex: g\n=====\n--- g\n+++ g\n@@ -1 +1 @@\n-a\n+b\n";
    assert_snapshot!(tell(svn), @"
    4: update f
      6: at 1 [-a] [+b]
    12: update g
      14: at 1 [-a] [+b]
    ");
}

#[test]
fn files_come_and_go_without_git() {
    assert_snapshot!(tell("--- /dev/null\n+++ b/d/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"), @r#"1: create d/f "a\nb\n""#);
    assert_snapshot!(tell("--- a/d/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"), @"
    1: delete d/f
      3: at 1 [-a] [-b]
    ");
    assert_snapshot!(tell("--- /dev/null\n+++ b/f\n@@ -0,1 +1,2 @@\n+a\n\n"), @r#"1: create f "a\n""#);
    let epoch = "1970-01-01 00:00:00.000000000 +0000";
    assert_snapshot!(tell(&format!("--- f\t{epoch}\n+++ f\t2024\n@@ -0,0 +1 @@\n+a\n")), @r#"1: create f "a\n""#);
    assert_snapshot!(tell(&format!("--- f\t2024\n+++ f\t{epoch}\n@@ -1 +0,0 @@\n-a\n")), @"
    1: delete f
      3: at 1 [-a]
    ");
    assert_snapshot!(tell("--- f\n+++ f\n@@ -0,0 +1 @@\n+a\n"), @"
    1: update f
      3: at 1 [+a]
    ");
    assert_snapshot!(tell("diff --git a/w/f b/w/f\nnew file mode 100644\n--- /dev/null\n+++ b/w/f\n@@ -0,0 +1 @@\n+a\n"), @r#"1: create w/f -x "a\n""#);
    assert_snapshot!(tell("diff --git b/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"), @r#"1: create b/f -x "a\n""#);
}

#[test]
fn what_diff_compares_is_one_file() {
    let dated = |old: &str, new: &str| {
        let (old, new) =
            (format!("{old}\t2026-11-16 14:00:00.5 +0000"), format!("{new}\t2026-11-16 14:01:00.5 +0000"));
        named(&old, &new)
    };
    for (old, new, expected) in [
        ("old/sub/f", "new/sub/f", "1: update sub/f"),
        ("project-1.0/f", "project-1.1/f", "1: update f"),
        ("../old/f", "f", "1: update f"),
        ("f", "/tmp/new/f", "1: update f"),
        ("f", "f.new", "1: update f"),
        ("f", "f.bak", "1: update f"),
        ("d/f", "d/g", "1: `d/f` and `d/g` are two files"),
    ] {
        let told = dated(old, new).replace("line ", "");
        assert!(told.starts_with(expected), "{told}");
        // A model that writes these names may mean that a file is moved.
        let plain = named(old, new);
        assert!(plain.contains("are two files"), "{plain}");
    }
}

#[test]
fn what_svn_writes() {
    let properties = "\nProperty changes on: f\n___\nAdded: svn:executable\n## -0,0 +1 ##\n+*\n\\ No newline at end of property\n";
    let rule = "=".repeat(67);
    let file = |name: &str, old: &str, new: &str, rest: &str| {
        format!("Index: {name}\n{rule}\n--- {name}\t({old})\n+++ {name}\t({new})\n{rest}")
    };
    let all = [
        file("run.sh", "revision 1", "working copy", properties),
        file("f", "revision 1", "working copy", &format!("@@ -1 +1 @@\n-a\n+b\n{properties}")),
        file("new", "nonexistent", "working copy", "@@ -0,0 +1 @@\n+n\n"),
        file("older", "revision 0", "revision 0", "@@ -0,0 +1 @@\n+n\n"),
        file("gone", "revision 1", "nonexistent", "@@ -1 +0,0 @@\n-x\n"),
        file("last", "revision 1", "working copy", properties),
    ];
    assert_snapshot!(tell(&all.concat()), @r#"
    14: update f
      16: at 1 [-a] [+b]
    28: create new "n\n"
    34: create older "n\n"
    40: delete gone
      42: at 1 [-x]
    "#);
}

#[test]
fn what_hg_exports() {
    let commit = "# HG changeset patch\n# User me\n# Node ID 01234567\nsecond\n\n--- a/x\n+++ b/x\n\n";
    let f = "diff -r 000000000000 -r 0123456789ab f\n--- a/f\tThu Jan 01 00:00:00 1970 +0000\n+++ b/f\tTue Nov 14 22:13:20 2023 +0000\n@@ -1,1 +1,1 @@\n-a\n+b\n";
    assert_snapshot!(tell(&format!("{commit}{f}{commit}{}", f.replace("/f", "/g"))), @"
    10: update f
      12: at 1 [-a] [+b]
    24: update g
      26: at 1 [-a] [+b]
    ");
}

fn hunks(text: &str) -> String {
    tell(&format!("--- a/f\n+++ b/f\n{text}"))
}

#[test]
fn wrong_and_missing_numbers_are_forgiven() {
    assert_snapshot!(hunks("@@ -1,50 +1,60 @@ fn x\n a\n-b\n+c\n d\n"), @"
    1: update f
      3: <fn x> at 1 [ a] [-b] [+c] [ d]
    ");
    assert_snapshot!(hunks("@@ -1,1 +1,1 @@\n a\n-b\n+c\n d\n@@ -9 +9 @@\n-x\n"), @"
    1: update f
      3: at 1 [ a] [-b] [+c] [ d]
      8: at 9 [-x]
    ");
    assert_snapshot!(hunks("@@\n a\n-b\n@@ ... @@\n-c\n@@ fn x @@\n-d\n@@ -0,0 +0,0 @@\n-e\n"), @"
    1: update f
      3: [ a] [-b]
      6: [-c]
      8: <fn x> [-d]
      10: at 1 [-e]
    ");
    assert_snapshot!(hunks("@@ -1,2 +1,2 @@\n a\n\n-b\n+c\n\n@@ -5 +5 @@\n-d\n"), @"
    1: update f
      3: at 1 [ a] [ ] [-b] [+c]
      9: at 5 [-d]
    ");
    assert_snapshot!(tell("diff --git a/f b/f\n\n@@ -1,1 +1,1 @@\n a\n\n+c\n"), @"
    1: update f
      3: at 1 [ a] [ ] [+c]
    ");
}

#[test]
fn empty_lines_are_context_if_the_numbers_say_so() {
    assert_snapshot!(hunks("@@ -1,3 +1,2 @@\n a\n-b\n\n"), @"
    1: update f
      3: at 1 [ a] [-b] [ ]
    ");
    assert_snapshot!(hunks("@@ -1,2 +1,1 @@\n a\n-b\n\n\n"), @"
    1: update f
      3: at 1 [ a] [-b]
    ");
    assert_snapshot!(hunks("@@\n a\n-b\n\n"), @"
    1: update f
      3: [ a] [-b]
    ");
}

#[test]
fn what_looks_like_a_header_is_told_by_numbers_and_by_what_follows() {
    let next = "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n";
    // A removed line `-- a/g` is recognised if the numbers count it and nothing else fits.
    assert_snapshot!(hunks("@@ -1,2 +1,2 @@\n a\n--- old\n+++ new\n@@ -7 +7 @@\n-x\n+y\n"), @"
    1: update f
      3: at 1 [ a] [--- old] [+++ new]
      7: at 7 [-x] [+y]
    ");
    assert_snapshot!(hunks("@@ -1,9 +1,9 @@\n a\n--- old\n+++ new\n b\n"), @"
    1: update f
      3: at 1 [ a] [--- old] [+++ new] [ b]
    ");
    // A count that is one too high does not swallow the next file.
    assert_snapshot!(hunks(&format!("@@ -1,2 +1,2 @@\n a\n{next}")), @"
    1: update f
      3: at 1 [ a]
    5: update g
      7: at 1 [-x] [+y]
    ");
    assert_snapshot!(hunks(&format!("@@ -1,9 +1,9 @@\n a\n-b\n{next}")), @"
    1: update f
      3: at 1 [ a] [-b]
    6: update g
      8: at 1 [-x] [+y]
    ");
    assert_snapshot!(hunks(&format!("@@ -1,2 +1,1 @@\n a\n-b\n{next}")), @"
    1: update f
      3: at 1 [ a] [-b]
    6: update g
      8: at 1 [-x] [+y]
    ");
}

#[test]
fn names_that_were_left_out_are_taken_from_git() {
    assert_snapshot!(tell("diff --git a/f b/f\n@@ -1 +1 @@\n-a\n+b\n"), @"
    1: update f
      2: at 1 [-a] [+b]
    ");
    assert_snapshot!(tell("diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n"), @"1: update a b +x");
    assert_snapshot!(tell("diff --git a/ü b/ü\nold mode 100644\nnew mode 100755\n"), @"1: update ü +x");
}

#[test]
fn carriage_returns_are_the_files_only_if_the_headers_have_none() {
    let new = "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\r\n+b\r\n";
    assert_snapshot!(tell(new), @r#"1: create f "a\r\nb\r\n""#);
    assert_snapshot!(tell(&new.replace("\r\n", "\n").replace('\n', "\r\n")), @r#"1: create f "a\nb\n""#);
    assert_snapshot!(hunks("@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"), @"
    1: update f
      3: at 1 [ a] [-b] [+c]
    ");
}

#[test]
fn fences_and_commands_are_taken_off() {
    let diff = "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n-a\n+b\n";
    assert_snapshot!(tell(&format!("```diff\n{diff}```")), @"
    2: update f
      4: at 1 [-a] [+b]
    ");
    assert_snapshot!(tell(&format!("git apply <<'EOF'\n{diff}EOF")), @"
    2: update f
      4: at 1 [-a] [+b]
    ");
    assert_snapshot!(tell(&format!("cat <<EOF | patch -p1\n{diff}EOF\n")), @"
    2: update f
      4: at 1 [-a] [+b]
    ");
}
