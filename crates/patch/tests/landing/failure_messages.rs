//! Error messages for a model whose patch does not land: the error, its place, the file's lines there, the remedy.

use super::{apply, envelope, replace, update};

const FILE: &str = "\
use std::fs;

/// Reads the settings.
pub fn read(path: &Path) -> io::Result<Settings> {
    let text = fs::read_to_string(path)?;
    let settings = toml::from_str(&text)?;
    Ok(settings)
}

/// Writes the settings.
pub fn write(path: &Path, settings: &Settings) -> io::Result<()> {
    let text = toml::to_string(settings)?;
    fs::write(path, text)
}
";

#[test]
fn a_stale_line_is_shown_beside_what_is_there() {
    let body = "@@ pub fn read\n     let text = fs::read_to_string(path)?;\n-    let settings: Settings = serde_json::from_str(&text)?;\n+    let settings = parse(&text)?;\n     Ok(settings)\n }\n";
    insta::assert_snapshot!(update(FILE, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 5-8. Lines with `-` are what the patch expects, with `+` what is there
         5      let text = fs::read_to_string(path)?;
           -    let settings: Settings = serde_json::from_str(&text)?;
         6 +    let settings = toml::from_str(&text)?;
         7      Ok(settings)
         8  }
    ");
}

#[test]
fn a_line_that_was_forgotten_is_shown() {
    let body = " pub fn write(path: &Path, settings: &Settings) -> io::Result<()> {\n-    fs::write(path, text)\n+    fs::write(path, text)?;\n+    Ok(())\n }\n";
    insta::assert_snapshot!(update(FILE, body), @"
    M f
      at line 13, overlooking lines nearby that differ
    |use std::fs;
    |
    |/// Reads the settings.
    |pub fn read(path: &Path) -> io::Result<Settings> {
    |    let text = fs::read_to_string(path)?;
    |    let settings = toml::from_str(&text)?;
    |    Ok(settings)
    |}
    |
    |/// Writes the settings.
    |pub fn write(path: &Path, settings: &Settings) -> io::Result<()> {
    |    let text = toml::to_string(settings)?;
    |    fs::write(path, text)?;
    |    Ok(())
    |}
    ");
    let body = " pub fn write(path: &Path, settings: &Settings) -> io::Result<()> {\n+    check(settings)?;\n     fs::write(path, text)\n }\n";
    insta::assert_snapshot!(update(FILE, body), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 11, but line 12 (`let text = toml::to_string(settings)?;`) stands where something is to be added, and the patch does not know it; write it as the file has it
         9·
        10 /// Writes the settings.
        11 pub fn write(path: &Path, settings: &Settings) -> io::Result<()> {
        12     let text = toml::to_string(settings)?;
        13     fs::write(path, text)
        14 }
    ");
}

#[test]
fn a_text_that_is_not_there_is_shown_beside_what_is() {
    let old = "    let text = toml::to_string_pretty(settings)?;\n    fs::write(path, text)\n";
    insta::assert_snapshot!(replace(FILE, old, "    later()\n"), @"
    `f` is unchanged: the text to replace does not match; the closest place is lines 12-13. Lines with `-` are what the patch expects, with `+` what is there
           -    let text = toml::to_string_pretty(settings)?;
        12 +    let text = toml::to_string(settings)?;
        13      fs::write(path, text)
    ");
}

#[test]
fn candidates_are_named_by_what_they_stand_below() {
    insta::assert_snapshot!(update("fn a() {\n    if x {\n        go();\n    }\n}\n\nfn b() {\n    if y {\n        go();\n    }\n}\n", "-        go();\n+        stop();\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 3-3, below `if x {` (line 2)
    lines 9-9, below `if y {` (line 8)
    ");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let patch = envelope(
        "*** Update File: f\n@@\n-use std::io;\n+use std::env;\n@@\n-    Ok(config)\n+    Ok(c)\n }\n*** Update File: g\n-x\n+y\n*** Delete File: h\n",
    );
    insta::assert_snapshot!(apply([("f", FILE)], &patch), @"
    `f` is unchanged: hunk 1 of 2 (line 3 of the patch) does not match: none of its lines is in the file; read the file again
    `f` is unchanged: hunk 2 of 2 (line 6 of the patch) does not match: too few of its lines are in the file, or in too many places; give more of what stands there
    `g` does not exist; check the path, or add it as a new file
    `h` does not exist, so it cannot be deleted
    ");
}

#[test]
fn long_lines_and_long_places_are_cut() {
    let long = "x".repeat(1000);
    let told = update(format!("{long}a\nend of it\n"), &format!("-{long}b\n+c\n end of it\n"));
    insta::assert_snapshot!(told.replace(&"x".repeat(300), "<300 x>"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-2. Lines with `-` are what the patch expects, with `+` what is there
           -<300 x>
         1 +<300 x>
         2  end of it
    ");
    let file: String = (0..200).map(|nth| format!("line {nth}\n")).collect();
    let body: String =
        (0..100).map(|nth| format!("-line {nth}{}\n", if nth % 10 == 5 { "!" } else { "" })).collect();
    let told = update(file, &body);
    insta::assert_snapshot!(told.lines().count(), @"81");
    insta::assert_snapshot!(told.lines().take(9).collect::<Vec<_>>().join("\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-40. Lines with `-` are what the patch expects, with `+` what is there
         1  line 0
         2  line 1
         3  line 2
         4  line 3
         5  line 4
           -line 5!
         6 +line 5
         7  line 6
    ");
}

#[test]
fn a_patch_of_nothing_is_refused() {
    insta::assert_snapshot!(apply([("f", "")], "*** Begin Patch\n*** End Patch\n"), @"not a patch: line 1: the patch names no file; write `*** Add File: path`, `*** Update File: path` or `*** Delete File: path`");
    insta::assert_snapshot!(apply([("f", "")], "please change f\n"), @"not a patch: line 1: this is not a patch in a known format; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
    insta::assert_snapshot!(apply([("f", "")], ""), @"not a patch: line 1: the patch is empty; begin with `*** Begin Patch`, or write a unified diff with `---` and `+++` lines");
}

#[test]
fn half_a_patch_is_refused() {
    insta::assert_snapshot!(apply([("f", "one\n")], "*** Begin Patch\n*** Update File: f\n-one\n+1\n"), @"not a patch: line 4: the patch is cut off: nothing was done; send all of it, up to `*** End Patch`");
    insta::assert_snapshot!(apply([("f", "one\n")], "{\"file_path\": \"f\", \"original_content\": \"one"), @"not a patch: line 1: the patch is cut off: nothing was done; send all of it, with quotes and newlines in strings escaped");
}
