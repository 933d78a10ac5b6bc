//! Envelopes that are accepted, with the mistakes that are tolerated.

use crate::{tell, update};
use insta::assert_snapshot;

const WHOLE: &str = "*** Begin Patch
*** Add File: new.txt
+one
+
+two
*** Delete File: old.txt
*** Update File: src/a b.rs
*** Move to: src/c.rs
@@ impl A
@@   fn f()
 keep
-drop
+add
@@
-x
+y
*** End of File
*** Add File: empty
*** End Patch
";

#[test]
fn everything_that_an_envelope_can_say() {
    assert_snapshot!(tell(WHOLE), @r#"
    2: write new.txt "one\n\ntwo\n"
    6: delete old.txt
    7: update src/a b.rs moved to src/c.rs
      9: <impl A> <  fn f()> [ keep] [-drop] [+add]
      14: at end [-x] [+y]
    18: write empty ""
    "#);
}

#[test]
fn a_file_may_be_named_twice_and_the_plan_decides() {
    assert_snapshot!(tell("*** Begin Patch\n*** Delete File: a\n*** Add File: a\n+x\n*** End Patch"), @r#"
    2: delete a
    3: write a "x\n"
    "#);
}

#[test]
fn an_update_needs_no_header() {
    assert_snapshot!(update(" a\n-b\n+c\n"), @"
    2: update f
      3: [ a] [-b] [+c]
    ");
}

#[test]
fn a_rename_needs_no_lines() {
    assert_snapshot!(update("*** Move to: g\n"), @"2: update f moved to g");
    assert_snapshot!(update("\n*** Move to: g\n\n@@\n-a\n"), @"
    2: update f moved to g
      6: [-a]
    ");
}

#[test]
fn headers_stack_and_come_as_git_writes_them() {
    assert_snapshot!(update("@@ class A\n\n@@ def f\n@@\n-a\n"), @"
    2: update f
      3: <class A> <def f> [-a]
    ");
    assert_snapshot!(update("@@ -10,2 +11,3 @@ fn x()\n-a\n"), @"
    2: update f
      3: <fn x()> at 10 [-a]
    ");
    assert_snapshot!(update("@@ -4,0 +5 @@\n+a\n@@ -0,0 +1,2 @@\n+b\n@@-7 +7@@\n+c\n@@ -0 +1 @@\n+d\n"), @"
    2: update f
      3: at 5 [+a]
      5: at 1 [+b]
      7: at 7 [+c]
      9: [+d]
    ");
    assert_snapshot!(update("@@ fn x @@\n-a\n@@ ... @@\n-b\n@@ @@\n-c\n@@ -X,Y +X,Y @@ fn y\n-d\n@@ ...\n-e\n"), @"
    2: update f
      3: <fn x> [-a]
      5: [-b]
      7: [-c]
      9: <fn y> [-d]
      11: [-e]
    ");
    assert_snapshot!(update("@@ -1,2 @@ half\n-a\n@@ - item\n-b\n@@ -99999999999999999999 +1 @@\n-c\n"), @"
    2: update f
      3: <half> at 1 [-a]
      5: <- item> [-b]
      7: [-c]
    ");
    assert_snapshot!(update("@@ class A\n@@ -3,1 +3,1 @@ def f   \n-a\n"), @"
    2: update f
      3: <class A> <def f> at 3 [-a]
    ");
}

#[test]
fn a_name_that_git_may_have_cut_is_no_header() {
    let long = "x".repeat(79);
    assert_snapshot!(update(&format!("@@ -1 +1 @@ {long}\n-a\n")), @"
    2: update f
      3: at 1 [-a]
    ");
}

#[test]
fn empty_lines_are_context_inside_and_nothing_at_the_end() {
    assert_snapshot!(update("@@\n a\n\n\n-b\n"), @"
    2: update f
      3: [ a] [ ] [ ] [-b]
    ");
    assert_snapshot!(update("@@\n\n-b\n"), @"
    2: update f
      3: [ ] [-b]
    ");
    assert_snapshot!(update("\n-b\n"), @"
    2: update f
      4: [-b]
    ");
    assert_snapshot!(update("@@\n-b\n\n\n"), @"
    2: update f
      3: [-b]
    ");
    assert_snapshot!(update("@@\n-b\n \n"), @"
    2: update f
      3: [-b] [ ]
    ");
    assert_snapshot!(update("@@\n-b\n \n\n"), @"
    2: update f
      3: [-b] [ ]
    ");
    assert_snapshot!(update("@@\n-b\n\n@@\n-c\n\n*** End of File\n\n  \n@@\n-d\n"), @"
    2: update f
      3: [-b]
      6: at end [-c]
      12: [-d]
    ");
    assert_snapshot!(tell("*** Begin Patch\n\n*** Add File: a\n+x\n\n*** Delete File: b\n\n*** End Patch\n\n"), @r#"
    3: write a "x\n"
    6: delete b
    "#);
}

#[test]
fn a_last_line_may_lack_its_newline() {
    assert_snapshot!(update("@@\n-a\n\\ No newline at end of file\n+b\n"), @"
    2: update f
      3: old bare [-a] [+b]
    ");
    assert_snapshot!(update("@@\n-a\n+b\n\\ No newline at end of file\n"), @"
    2: update f
      3: new bare [-a] [+b]
    ");
    assert_snapshot!(update("@@\n-a\n b\n\\ No newline at end of file\n"), @"
    2: update f
      3: old bare new bare [-a] [ b]
    ");
    assert_snapshot!(tell("*** Begin Patch\n*** Add File: a\n+x\n\\ No newline at end of file\n*** End Patch"), @r#"2: write a "x""#);
}

#[test]
fn markers_may_be_padded_and_spelled_freely() {
    let text = " *** Begin Patch  \n  *** add file:a\n+x\n\t*** DELETE File:  b \n***Update  File :c\n***move TO:d\n-x\n*** end of FILE \n *** End Patch ";
    assert_snapshot!(tell(text), @r#"
    2: write a "x\n"
    4: delete b
    5: update c moved to d
      7: at end [-x]
    "#);
    assert_snapshot!(tell("*** Begin Patch\n*** Add File: a\n+x\n*** End of File\n*** End Patch"), @r#"2: write a "x\n""#);
}

#[test]
fn all_of_it_may_be_indented() {
    let text =
        "    *** Begin Patch\n    *** Update File: a\n\n    @@\n     b\n    -c\n\n     d\n    *** End Patch";
    assert_snapshot!(tell(text), @"
    2: update a
      4: [ b] [-c] [ ] [ d]
    ");
}

#[test]
fn carriage_returns_before_newlines_are_not_content() {
    assert_snapshot!(tell("*** Begin Patch\r\n*** Update File: a\r\n@@ x\r\n b\r\n\r\n-c\r\n+d\r\n*** End Patch\r\n"), @"
    2: update a
      3: <x> [ b] [ ] [-c] [+d]
    ");
    assert_snapshot!(tell("*** Begin Patch\n*** Update File: a\n b\r\n-c\n+d\r\r\n*** End Patch"), @"2: update a\n  3: [ b] [-c] [+d\r]");
}

#[test]
fn content_may_look_like_markers() {
    let text = "*** Begin Patch\n*** Add File: a\n+*** Begin Patch\n+*** End Patch\n+@@\n*** Update File: b\n *** End Patch\n *** Update File: c\n-*** End Patch\n+*** Begin Patch\n*** End Patch\n";
    assert_snapshot!(tell(text), @r#"
    2: write a "*** Begin Patch\n*** End Patch\n@@\n"
    6: update b
      7: [ *** End Patch] [ *** Update File: c] [-*** End Patch] [+*** Begin Patch]
    "#);
}

#[test]
fn wrappers_are_taken_off() {
    let inner = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
    let wrapped = [
        ("", ""),
        ("\u{feff}\n \n", "\n\n"),
        ("```\n", "```\n"),
        ("```diff title=\"a b\"\n", "```"),
        ("~~~~\n", "~~~~\n\n"),
        ("````patch\n\n", "\n`````\n"),
        ("```\n", ""),
        ("<<EOF\n", "EOF"),
        ("<<'EOF'\n", "EOF\n"),
        ("<< \"PATCH_1\"\n", "PATCH_1\n"),
        ("<<-\\EOF\n", "  EOF\n"),
        ("<<EOF\n", ")EOF\n"),
        ("<<EOF\n", ""),
        ("apply_patch <<'EOF'\n", "EOF\n"),
        ("applypatch<<X\n", "X\n"),
        ("cat <<EOF | apply_patch\n", "EOF\n"),
        ("cat <<'EOF'|apply_patch\n", "EOF\n"),
        ("```bash\napply_patch <<'EOF'\n", "EOF\n```\n"),
        ("apply_patch <<'EOF'\n```\n", "```\nEOF\n"),
    ];
    for (before, after) in wrapped {
        let got = tell(&format!("{before}{inner}{after}"));
        let line = 2 + before.matches('\n').count();
        assert_eq!(got, format!("{line}: delete a\n"), "{before:?} {after:?}");
    }
}

#[test]
fn the_grammar_names_every_marker() {
    let grammar = include_str!("../../grammar/envelope.lark");
    let markers = [
        "Begin Patch", "End Patch", "Add File: ", "Delete File: ", "Update File: ", "Move to: ",
        "End of File",
    ];
    for marker in markers {
        assert!(grammar.contains(&format!("\"*** {marker}\"")), "{marker}");
    }
    assert!(grammar.contains("\"@@\""));
}

#[test]
fn a_hundred_thousand_hunks_are_read() {
    let hunks: String = (0..100_000).map(|n| format!("@@ f{n}\n-{n}\n+{n}{n}\n")).collect();
    let patch =
        toolgate_patch::parse(&format!("*** Begin Patch\n*** Update File: a\n{hunks}*** End Patch\n"))
            .unwrap();
    assert_eq!(patch.edits.len(), 1);
}
