//! Envelopes that are rejected, with their error messages.

use crate::{tell, update};
use insta::assert_snapshot;

fn files(lines: &str) -> String {
    tell(&format!("*** Begin Patch\n{lines}*** End Patch\n"))
}

#[test]
fn half_a_patch_is_not_applied() {
    assert_snapshot!(tell("*** Begin Patch\n*** Add File: a\n+x\n"), @"line 3: the patch is cut off: nothing was done; send all of it, up to `*** End Patch`");
    assert_snapshot!(tell("*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patc"), @"line 5: the patch is cut off: nothing was done; send all of it, up to `*** End Patch`");
    assert_snapshot!(tell("*** Begin Patch"), @"line 1: the patch is cut off: nothing was done; send all of it, up to `*** End Patch`");
    assert_snapshot!(tell("```\n*** Begin Patch\n*** Add File: a\n+x\n```"), @"line 4: the patch is cut off: nothing was done; send all of it, up to `*** End Patch`");
    assert_snapshot!(tell("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n"), @"line 4: the patch is cut off: nothing was done; send all of it, up to the EOF that closes it");
}

#[test]
fn nothing_stands_before_or_after() {
    assert_snapshot!(tell("Here it is:\n*** Begin Patch\n*** Delete File: a\n*** End Patch"), @"line 1: the patch begins with `Here it is:`; put `*** Begin Patch` on the first line and say nothing before it");
    assert_snapshot!(tell("cd x && apply_patch <<EOF\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF"), @"line 1: the patch begins with `cd x && apply_patch <<EOF`; put `*** Begin Patch` on the first line and say nothing before it");
    assert_snapshot!(tell("*** Begin Patch\n*** Delete File: a\n*** End Patch\n\nDone."), @"line 5: `Done.` follows `*** End Patch`; write one patch, and nothing after it");
    assert_snapshot!(tell("*** Add File: a\n+x\n*** End Patch"), @"line 1: the patch begins with `*** Add File: a`; put `*** Begin Patch` on the first line and say nothing before it");
    assert_snapshot!(files("*** Delete File: a\n*** Begin Patch\n"), @"line 3: a second `*** Begin Patch`; write one patch for all files, with one `*** Begin Patch`");
}

#[test]
fn a_patch_names_files() {
    assert_snapshot!(files(""), @"line 1: the patch names no file; write `*** Add File: path`, `*** Update File: path` or `*** Delete File: path`");
    assert_snapshot!(files("+x\n"), @"line 2: `+x` stands before any file's name; name the file first, with `*** Add File: path` or `*** Update File: path`");
    assert_snapshot!(files("*** Update File: a\n"), @"line 2: `*** Update File: a` changes nothing; write the lines that change after it, or `*** Move to: path`");
    assert_snapshot!(files("*** Update File: a\n\n*** Update File: b\n-x\n"), @"line 2: `*** Update File: a` changes nothing; write the lines that change after it, or `*** Move to: path`");
    assert_snapshot!(files("*** Add File:\n+x\n"), @"line 2: no file is named; name it by its path from the working directory");
    assert_snapshot!(files("*** Add File: a\0b\n+x\n"), @"line 2: the path holds a NUL character; no file can have that name: leave it out");
    assert_snapshot!(files("*** Add File: src/\n+x\n"), @"line 2: `src/` is a directory's name; name the file itself");
    assert_snapshot!(files("*** Add File: a/..\n+x\n"), @"line 2: `a/..` is a directory's name; name the file itself");
    assert_snapshot!(files("*** Add File: ~/x\n+x\n"), @"line 2: `~` in `~/x` stands for nothing here; write the path in full");
    assert_snapshot!(files("*** Add File: file:///x\n+x\n"), @"line 2: `file:///x` is not a path; write a path from the working directory");
    assert_snapshot!(files("*** Add File: `x`\n+x\n"), @"line 2: the path `x` is in quotes; write it without quotes");
    assert_snapshot!(files("*** Update File: a\n*** Move to: \"b\"\n"), @r#"line 3: the path "b" is in quotes; write it without quotes"#);
}

#[test]
fn a_new_file_has_a_plus_on_every_line() {
    assert_snapshot!(files("*** Add File: a\nx\n"), @"line 3: `x` lacks its `+`; begin every line of a new file with `+`, also the blank ones");
    assert_snapshot!(files("*** Add File: a\n+x\n\n+y\n"), @"line 4: a blank line of a new file lacks its `+`; begin every line of a new file with `+`, also the blank ones");
    assert_snapshot!(files("*** Add File: a\n+x\n*** End of File\n+y\n"), @"line 5: `+y` follows the end of the file; begin every line of a new file with `+`, also the blank ones");
    assert_snapshot!(files("*** Add File: a\n x\n"), @"line 3: ` x` lacks its `+`; begin every line of a new file with `+`, also the blank ones");
}

#[test]
fn a_deleted_file_has_no_lines() {
    assert_snapshot!(files("*** Delete File: a\n-x\n"), @"line 3: `-x` follows a file that is to be deleted; `*** Delete File: path` stands alone");
}

#[test]
fn unknown_or_misplaced_markers_are_rejected() {
    assert_snapshot!(files("*** Rename File: a\n"), @"line 2: `*** Rename File: a` means nothing; the lines that begin with `***` are `*** Begin Patch`, `*** Add File: path`, `*** Delete File: path`, `*** Update File: path`, `*** Move to: path`, `*** End of File` and `*** End Patch`");
    assert_snapshot!(update("-x\n*** Foo\n"), @"line 4: `*** Foo` means nothing; the lines that begin with `***` are `*** Begin Patch`, `*** Add File: path`, `*** Delete File: path`, `*** Update File: path`, `*** Move to: path`, `*** End of File` and `*** End Patch`");
    assert_snapshot!(update("-x\n*** Move to: b\n"), @"line 4: `*** Move to:` stands in the wrong place; write it once, directly after the `*** Update File: path` that it belongs to");
    assert_snapshot!(files("*** Delete File: a\n*** Move to: b\n"), @"line 3: `*** Move to:` stands in the wrong place; write it once, directly after the `*** Update File: path` that it belongs to");
    assert_snapshot!(update("*** Move to: b\n*** Move to: c\n"), @"line 4: `*** Move to:` stands in the wrong place; write it once, directly after the `*** Update File: path` that it belongs to");
}

#[test]
fn lines_of_an_update_say_what_they_are() {
    assert_snapshot!(update("@@\nfn x() {\n-a\n"), @"
    2: update f
      3: [?fn x() {] [-a]
    ");
    assert_snapshot!(update("@@\n-a\n\tindented\n"), @"
    2: update f
      3: [-a] [?	indented]
    ");
    assert_snapshot!(update("@@\nfn x() {\n}\n"), @"line 3: `fn x() {` begins with none of ` `, `+`, `-`, `@@` and `***`; begin a line that stays with a space, one that goes with `-`, one that comes with `+`");
    assert_snapshot!(update("@@count = 1\n-a\n"), @"line 3: `@@count = 1` is not an `@@` line; write `@@` alone or `@@ ` and a line that stands before; a line that stays begins with a space");
    assert_snapshot!(update("@@ fn x\n"), @"line 3: no lines follow the `@@`; write the lines that change after it, or leave it out");
    assert_snapshot!(update("-a\n@@\n\n"), @"line 4: no lines follow the `@@`; write the lines that change after it, or leave it out");
    assert_snapshot!(update("*** End of File\n"), @"line 3: `*** End of File` follows no lines of a file; write it after the last lines of an update that ends where the file ends");
    assert_snapshot!(update("@@ x\n*** End of File\n"), @"line 4: `*** End of File` follows no lines of a file; write it after the last lines of an update that ends where the file ends");
    assert_snapshot!(update("-a\n*** End of File\n-b\n"), @"line 5: `-b` follows `*** End of File`; begin another place with `@@`, or another file");
    assert_snapshot!(update("\\ No newline at end of file\n-a\n"), @"line 3: there is no line before this that could lack its newline; write it after the line that it is about");
    assert_snapshot!(update("-a\n\\ No newline at end of file\n-b\n"), @r"line 5: a line follows the one that the patch calls the last of the file; write `\ No newline at end of file` after the last line only");
    let long = "é".repeat(100);
    assert_snapshot!(update(&format!("{long}\n")), @"line 3: `éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé…` begins with none of ` `, `+`, `-`, `@@` and `***`; begin a line that stays with a space, one that goes with `-`, one that comes with `+`");
}
