//! Tests format detection and names, patches in a code fence or indented as a whole, and the maximum length.

use crate::{tell, tell_as};
use insta::assert_snapshot;
use toolgate_patch::{PatchSyntaxError, PatchTextFormat, parse};

const ENVELOPE: &str = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
const UNIFIED: &str = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n";
const REPLACE: &str = r#"{"path": "f", "search": "x", "replace": "y"}"#;
const FILES: &str = r#"{"files": [{"path": "f", "content": "x"}]}"#;

#[test]
fn each_shape_is_known() {
    let texts = [ENVELOPE, UNIFIED, REPLACE, FILES];
    for (text, format) in texts.into_iter().zip(PatchTextFormat::ALL) {
        assert_eq!(tell(text), tell_as(format, text), "{format}");
        assert_eq!(
            tell(&format!("```\n{text}\n```\n")).lines().count(),
            tell(text).lines().count(),
            "{format}"
        );
        for other in PatchTextFormat::ALL.into_iter().filter(|other| *other != format) {
            assert!(
                tell_as(other, text).starts_with("line 1: "),
                "{format} as {other}: {}",
                tell_as(other, text)
            );
        }
    }
}

#[test]
fn another_format_than_asked_for_is_refused() {
    assert_snapshot!(tell_as(PatchTextFormat::Replace, ENVELOPE), @"line 1: the patch is to be `replace` and looks like `envelope`; write it as it is asked for, or ask for the other format");
    assert_snapshot!(tell_as(PatchTextFormat::Files, REPLACE), @"line 1: the patch is to be `files` and looks like `replace`; write it as it is asked for, or ask for the other format");
    assert_snapshot!(tell_as(PatchTextFormat::Envelope, FILES), @"line 1: the patch is to be `envelope` and looks like `files`; write it as it is asked for, or ask for the other format");
    assert_snapshot!(tell_as(PatchTextFormat::Envelope, UNIFIED), @"line 1: the patch begins with `--- a/f`; put `*** Begin Patch` on the first line and say nothing before it");
    assert_snapshot!(tell_as(PatchTextFormat::Unified, ENVELOPE), @"line 1: the diff names no file; name the file with `--- a/path` and `+++ b/path`");
    assert_snapshot!(tell_as(PatchTextFormat::Envelope, r#"{"input": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}"#), @"2: delete a");
}

#[test]
fn no_patch_at_all_is_said() {
    assert_snapshot!(tell(""), @"line 1: the patch is empty; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
    assert_snapshot!(tell("\n\n  "), @"line 3: the patch is empty; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
    assert_snapshot!(tell("please change x to y"), @"line 1: this is not a patch in a known format; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
    assert_snapshot!(tell("*** Begin Patch\r*** Delete File: a\r*** End Patch\r"), @"line 1: the lines end with carriage returns alone; end lines with a newline");
    assert_snapshot!(tell("@@ -1 +1 @@\n-a\n+b\n"), @"line 1: a hunk stands before any file's name; write `--- a/path` and `+++ b/path` before it");
    assert_snapshot!(tell("```\n```\n"), @"line 2: the patch is empty; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
}

#[test]
fn formats_have_names() {
    for format in PatchTextFormat::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    assert_snapshot!("diff".parse::<PatchTextFormat>().unwrap_err(), @"`diff` is not a format; use envelope, unified, replace or files");
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let long = format!("*** Begin Patch\n*** Add File: a\n+{}\n*** End Patch\n", "x".repeat(64 << 20));
    let PatchSyntaxError { line, what, hint } = parse(&long).unwrap_err();
    assert_eq!(line, 1);
    assert_snapshot!(format!("{what}; {hint}"), @"the patch has 67108912 bytes, and 67108864 can be read; send it in several parts");
}

#[test]
fn the_only_fence_among_words_holds_the_patch() {
    assert_snapshot!(tell(&format!("Here is the patch:\n\n```patch\n{ENVELOPE}```\n\nThis should fix it.\n")), @"5: delete a");
    assert_snapshot!(tell(&format!("Here it is:\n~~~~diff\n{UNIFIED}~~~~\nThis should fix it.")), @"
    3: update f
      5: at 1 [-x] [+y]
    ");
    assert_snapshot!(tell(&format!("Words.\n  ```\n{UNIFIED}  ```\n")), @"
    3: update f
      5: at 1 [-x] [+y]
    ");
    assert_snapshot!(tell("Words.\n```\n--- a/f\n+++ b/f\n@@\n ```\n-x\n+y\n ```\n```\n"), @"
    3: update f
      5: [ ```] [-x] [+y] [ ```]
    ");
}

#[test]
fn two_fences_or_half_a_fence_are_refused() {
    assert_snapshot!(tell(&format!("This:\n```\n{ENVELOPE}```\nor that:\n```\n{ENVELOPE}```\n")), @"line 1: the patch begins with `This:`; put `*** Begin Patch` on the first line and say nothing before it");
    assert_snapshot!(tell(&format!("This:\n```\n{ENVELOPE}\nThis should fix it.\n")), @"line 1: the patch begins with `This:`; put `*** Begin Patch` on the first line and say nothing before it");
    assert_snapshot!(tell(&format!("This:\n```\nlet x = 1;\n```\n{ENVELOPE}\n")), @"line 1: the patch begins with `This:`; put `*** Begin Patch` on the first line and say nothing before it");
    assert_snapshot!(tell("This:\n```\n*** Begin Patch\n*** Add File: a\n+x\n```\n"), @"line 5: the patch is cut off: nothing was done; send all of it, up to `*** End Patch`");
    assert_snapshot!(tell("This:\n```\nlet x = 1;\n```\n"), @"line 1: this is not a patch in a known format; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
}

#[test]
fn a_patch_that_is_indented_as_a_whole_is_read() {
    let pad = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    assert_eq!(tell(&pad(UNIFIED)), tell(UNIFIED));
    assert_eq!(tell(&pad(ENVELOPE)), tell(ENVELOPE));
    assert_snapshot!(tell("  --- a/f\n  +++ b/f\n  @@\n   a\n\n  -x\n  +y\n   b\n"), @"
    1: update f
      3: [ a] [ ] [-x] [+y] [ b]
    ");
    assert_snapshot!(tell("  --- a/f\n  +++ b/f\n  @@\n -x\n  +y\n"), @"line 1: this is not a patch in a known format; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
}

#[test]
fn json_may_stand_in_the_only_fence_among_words() {
    let json = r#"{"file_path": "a", "original_content": "x = 1", "updated_content": "x = 2"}"#;
    assert_snapshot!(tell(&format!("This does it:\n\n```json\n{json}\n```\n\nIt updates the file.\n")), @r#"4: replace a "x = 1" by "x = 2""#);
    assert_snapshot!(tell(&format!("This does it:\n```\n[{json}]\n```")), @r#"3: replace a "x = 1" by "x = 2""#);
    assert_snapshot!(tell(&format!("This does it:\n```json\n{json}\n```\nand this:\n```json\n{json}\n```\n")), @"line 1: this is not a patch in a known format; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
    assert_snapshot!(tell(&format!("This does it:\n```json\n{json}\n")), @"line 1: this is not a patch in a known format; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
    assert_snapshot!(tell("This does it:\n```json\n{\"file_path\": \"a\",\n```\n"), @"line 4: the patch is cut off: nothing was done; send all of it, with quotes and newlines in strings escaped");
    assert_snapshot!(tell(&format!("```json\n{json}\n```\nIt updates the file.\n")), @r#"2: replace a "x = 1" by "x = 2""#);
    assert_snapshot!(tell("```diff\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n```\nIt updates the file.\n"), @"
    2: update f
      4: at 1 [-a] [+b]
    ");
}
