//! Tests patches that do not apply or are invalid: the message for the model, and that nothing is written.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::json;
use tool::ToolErrorKind;

use super::PatchWorkspace;

const PYTHON: &str = "def greet(name):\n    name = name.strip()\n    print(\"Hi \" + name)\n\n\ndef leave(name):\n    print(\"Bye \" + name)\n\n\ndef stay(name):\n    print(\"Bye \" + name)\n";

/// Applies a patch that must change nothing, and returns the message for the model.
fn refused(bench: &PatchWorkspace, lines: &str) -> String {
    let before = bench.everything();
    let answer = bench.envelope(lines);
    assert!(!answer.success, "{}", answer.joined_text());
    assert_eq!(bench.everything(), before);
    assert!(bench.changes().is_empty() && bench.asked().is_empty());
    bench.normalized_text(&answer)
}

fn bench() -> PatchWorkspace {
    let bench = PatchWorkspace::new();
    bench.w.write_file("greet.py", PYTHON).write_file("a.txt", "one\ntwo\n");
    bench
}

#[test]
fn the_closest_place_is_shown() {
    let bench = bench();
    let patch = "*** Update File: greet.py\n def greet(name):\n-    name = name.lower()\n-    print(\"Hello \" + name)\n+    print(f\"Hello {name}\")\n";
    assert_snapshot!(refused(&bench, patch), @r#"
    The patch was not applied, and nothing was changed.
    `greet.py` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-3. Lines with `-` are what the patch expects, with `+` what is there
         1  def greet(name):
           -    name = name.lower()
           -    print("Hello " + name)
         2 +    name = name.strip()
         3 +    print("Hi " + name)
    "#);
}

#[test]
fn two_places_are_both_named() {
    let bench = bench();
    let patch = "*** Update File: greet.py\n-    print(\"Bye \" + name)\n+    print(\"See you\")\n";
    assert_snapshot!(refused(&bench, patch), @"
    The patch was not applied, and nothing was changed.
    `greet.py` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 7-7, below `def leave(name):` (line 6)
    lines 11-11, below `def stay(name):` (line 10)
    ");
}

#[test]
fn all_that_is_in_the_way_is_told_at_once() {
    let bench = bench();
    let patch = "*** Update File: a.txt\n-one\n+1\n*** Update File: none.txt\n-x\n+y\n*** Delete File: nothing.txt\n*** Update File: greet.py\n-no such line\n+x\n";
    assert_snapshot!(refused(&bench, patch), @"
    The patch was not applied, and nothing was changed.
    `none.txt` does not exist; check the path, or add it as a new file
    `greet.py` is unchanged: the hunk at line 10 of the patch does not match: none of its lines is in the file; read the file again
    `nothing.txt` does not exist, so it cannot be deleted
    ");
}

#[test]
fn text_that_is_not_a_patch_is_a_bad_argument() {
    let bench = bench();
    for (sent, what) in
        [("", "empty"), ("hello", "not a patch"), ("*** Begin Patch\n*** Update File: a.txt\n-o", "cut off")]
    {
        let answer = bench.patch(sent);
        assert_eq!(answer.facts.error, Some(ToolErrorKind::BadArguments), "{}", answer.joined_text());
        assert!(answer.joined_text().contains(what), "{what}: {}", answer.joined_text());
    }
    let answer = bench.call("apply_patch", &json!({}));
    assert_eq!(answer.facts.error, Some(ToolErrorKind::BadArguments), "{}", answer.joined_text());
    assert_snapshot!(bench.normalized_text(&bench.call("apply_patch", &json!({"input": 1}))), @"the arguments do not fit at `input`: `input` is not a string; write it as a string");
    assert_snapshot!(bench.normalized_text(&bench.patch("*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n")), @"the arguments do not fit at `input`: line 4: the patch is cut off: nothing was done; send all of it, up to `*** End Patch`");
}

#[test]
fn binary_file_is_not_edited() {
    let bench = bench();
    bench.w.write_file("x.bin", b"one\n\0\xff\xfe\x00two\n");
    assert_snapshot!(refused(&bench, "*** Update File: x.bin\n-one\n+1\n"), @"
    The patch was not applied, and nothing was changed.
    `x.bin` is a binary file, so no text in it can be changed; replace it as a whole with another tool
    ");
    // It can be deleted and moved.
    assert!(bench.envelope("*** Update File: x.bin\n*** Move to: y.bin\n").success);
    assert!(bench.envelope("*** Delete File: y.bin\n").success);
}

#[test]
fn non_regular_file_is_named() {
    let bench = bench();
    bench.w.write_file("d/f", "");
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.path("fifo"), rustix::fs::Mode::RWXU).unwrap();
    for (patch, what) in [
        ("*** Update File: d\n-one\n+1\n", "`d` is a directory, not a regular file; name a regular file"),
        ("*** Update File: fifo\n-one\n+1\n", "`fifo` is a FIFO, not a regular file; name a regular file"),
        ("*** Add File: a.txt/b\n+1\n", "`a.txt/b` goes through something that is not a directory"),
    ] {
        let told = refused(&bench, patch);
        assert!(told.ends_with(what), "{told}");
    }
}

#[test]
fn hard_linked_file_is_left_alone() {
    let bench = bench();
    std::fs::hard_link(bench.path("a.txt"), bench.path("b.txt")).unwrap();
    assert_snapshot!(refused(&bench, "*** Update File: a.txt\n-one\n+1\n"), @"
    The patch was not applied, and nothing was changed.
    `a.txt` has 2 names (hard links), and the others would keep the old content; write the whole file with a command (`cat > FILE`), which changes it under all of its names, or ask the user which they want
    ");
}

#[test]
fn read_only_file_is_left_alone() {
    let bench = bench();
    let mode =
        |mode| std::fs::set_permissions(bench.path("a.txt"), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o444);
    assert_snapshot!(refused(&bench, "*** Add File: n.txt\n+n\n*** Update File: a.txt\n-one\n+1\n"), @"
    The patch was not applied, and nothing was changed.
    `a.txt` is read-only for everybody (mode 0444), so it is not meant to be changed; `chmod u+w` it first if it is
    ");
    assert!(!bench.path("n.txt").exists());
    mode(0o644);
    assert!(bench.envelope("*** Update File: a.txt\n-one\n+1\n").success);
}
