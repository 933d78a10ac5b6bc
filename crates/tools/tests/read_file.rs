//! Tests `read_file` through the router, as a model calls it.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::{TestWorkspace, ToolTestSession};
use tool::{ToolErrorKind, ToolOutput};
use toolgate_tools::ImageSettings;

fn output(workspace: &TestWorkspace, arguments: &Value) -> ToolOutput {
    let tools =
        toolgate_tools::builtin_tools(ImageSettings::default(), &Arc::default(), &Arc::default()).unwrap();
    ToolTestSession::new(workspace, tools).call("read_file", arguments)
}

fn read(workspace: &TestWorkspace, arguments: &Value) -> String {
    workspace.normalize(&output(workspace, arguments).joined_text())
}

fn numbered(lines: usize) -> String {
    (1..=lines).map(|n| format!("line {n}\n")).collect()
}

#[test]
fn line_ranges_are_read() {
    let w = TestWorkspace::new();
    w.write_file("a.txt", numbered(12));
    assert_snapshot!(read(&w, &json!({"path": "a.txt", "end_line": 3})), @"
    1| line 1
    2| line 2
    3| line 3
    [lines 1-3 of 12]
    ");
    assert_snapshot!(read(&w, &json!({"path": "a.txt", "start_line": 9})), @"
     9| line 9
    10| line 10
    11| line 11
    12| line 12
    [lines 9-12 of 12]
    ");
    assert_snapshot!(read(&w, &json!({"path": "a.txt", "start_line": -2})), @"
    11| line 11
    12| line 12
    [lines 11-12 of 12]
    ");
    assert_snapshot!(read(&w, &json!({"path": "a.txt", "start_line": 5, "end_line": 6})), @"
    5| line 5
    6| line 6
    [lines 5-6 of 12]
    ");
    assert_snapshot!(read(&w, &json!({"path": "./a.txt", "start_line": -100, "max_lines": 1})), @"
    1| line 1
    [lines 1-1 of 12; continue with start_line=2]
    ");
    let absolute = w.path().join("a.txt");
    assert_eq!(read(&w, &json!({"path": absolute, "start_line": 12})), "12| line 12\n[lines 12-12 of 12]");
}

#[test]
fn argument_aliases_are_accepted() {
    let w = TestWorkspace::new();
    w.write_file("a.txt", numbered(12));
    let theirs = read(&w, &json!({"file_path": "a.txt", "offset": 2, "limit": 2}));
    assert_eq!(theirs, read(&w, &json!({"path": "a.txt", "start_line": 2, "max_lines": 2})));
    assert_snapshot!(theirs, @"
    2| line 2
    3| line 3
    [lines 2-3 of 12; continue with start_line=4]
    ");
}

#[test]
fn unusual_encodings_and_binaries_are_reported() {
    let w = TestWorkspace::new();
    w.write_file("empty", "")
        .write_file("crlf", "a\r\nb\r\n")
        .write_file("mixed", "a\r\nb\n")
        .write_file("open", "a\nb")
        .write_file("bom", "\u{feff}a\n")
        .write_file("latin", b"caf\xe9\nd\xe9j\xe0 vu\n")
        .write_file(
            "utf16",
            "\u{feff}héllo\nwörld\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
        )
        .write_file("late-nul", format!("{}a\0b\n", "x\n".repeat(8192)))
        .write_file("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0")
        .write_file("archive.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03")
        .write_file("zeros", [0; 100]);
    assert_snapshot!(read(&w, &json!({"path": "empty"})), @"[the file is empty]");
    assert_snapshot!(read(&w, &json!({"path": "crlf"})), @"
    1| a
    2| b
    [lines end in CRLF]
    ");
    assert_snapshot!(read(&w, &json!({"path": "mixed"})), @"
    1| a
    2| b
    [some lines end in CRLF]
    ");
    assert_snapshot!(read(&w, &json!({"path": "open"})), @"
    1| a
    2| b
    [no newline at the end]
    ");
    assert_snapshot!(read(&w, &json!({"path": "bom"})), @"
    1| a
    [begins with a byte order mark]
    ");
    assert_snapshot!(read(&w, &json!({"path": "latin"})), @"
    1| café
    2| déjà vu
    [decoded from windows-1252]
    ");
    assert_snapshot!(read(&w, &json!({"path": "utf16"})), @"
    1| héllo
    2| wörld
    [decoded from UTF-16LE]
    ");
    assert_snapshot!(read(&w, &json!({"path": "utf16", "start_line": -1})), @"
    2| wörld
    [lines 2-2 of 2; decoded from UTF-16LE]
    ");
    assert_snapshot!(read(&w, &json!({"path": "late-nul", "start_line": 8193})), @"
    8193| a␀b
    [lines 8193-8193 of 8,193]
    ");
    assert_snapshot!(read(&w, &json!({"path": "program"})), @"`$DIR/program` is a binary file (of no known kind, 16 bytes), so its text is not shown; it begins with 7f 45 4c 46 02 01 01 00 00 00 00 00 00 00 00 00");
    assert_snapshot!(read(&w, &json!({"path": "archive.gz"})), @"`$DIR/archive.gz` is a binary file (application/gzip, 10 bytes), so its text is not shown; it begins with 1f 8b 08 00 00 00 00 00 00 03");
    assert_snapshot!(read(&w, &json!({"path": "zeros"})), @"`$DIR/zeros` is a binary file (of no known kind, 100 bytes), so its text is not shown; it begins with 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
}

#[test]
fn long_lines_and_long_files_are_cut_visibly() {
    let w = TestWorkspace::new();
    w.write_file("line", format!("{}\nshort\n", "é".repeat(5000))).write_file("file", numbered(20_000));
    let line = read(&w, &json!({"path": "line"}));
    assert!(line.contains("é … [8,000 bytes more]\n2| short"), "{line}");
    let file = read(&w, &json!({"path": "file"}));
    assert!(file.ends_with("line 2000\n[lines 1-2000 of 20,000; continue with start_line=2001]"), "{file}");
    let wide = (1..=2000).map(|n| format!("{n} {}\n", "x".repeat(100))).collect::<String>();
    w.write_file("wide", wide);
    let budget = read(&w, &json!({"path": "wide"}));
    assert!(budget.len() <= 40_000, "{}", budget.len());
    let last = budget.lines().last().unwrap();
    let next: u64 = last.split("start_line=").nth(1).unwrap().trim_end_matches(']').parse().unwrap();
    let rest = read(&w, &json!({"path": "wide", "start_line": next}));
    assert!(rest.trim_start().starts_with(&format!("{next}| {next} xxx")), "{rest}");
}

#[test]
fn wrong_lines_are_named() {
    let w = TestWorkspace::new();
    w.write_file("a.txt", numbered(12));
    for (arguments, expected) in [
        (
            json!({"path": "a.txt", "start_line": 13}),
            "the arguments do not fit at `start_line`: line 13 is past the end: `$DIR/a.txt` has 12 lines",
        ),
        (
            json!({"path": "a.txt", "start_line": 0}),
            "the arguments do not fit at `start_line`: lines are counted from 1",
        ),
        (
            json!({"path": "a.txt", "start_line": 5, "end_line": 4}),
            "the arguments do not fit at `end_line`: it is before the start line, 5",
        ),
        (
            json!({"path": "a.txt", "end_line": 0}),
            "the arguments do not fit at `end_line`: expected an integer of at least 1, found 0",
        ),
        (
            json!({"path": ""}),
            "the arguments do not fit at `path`: the path is empty; give a file or directory, e.g. `src/main.rs` or `.`",
        ),
        (
            json!({"path": "a\u{0}b"}),
            "the arguments do not fit at `path`: the path contains a NUL character, which no file name can",
        ),
        (
            json!({"path": "~/x"}),
            "the arguments do not fit at `path`: `~` is not expanded here; write the whole path",
        ),
    ] {
        assert_eq!(read(&w, &arguments), expected);
        assert_eq!(output(&w, &arguments).facts.error, Some(ToolErrorKind::BadArguments));
    }
}

#[test]
fn non_regular_file_is_reported_and_never_hangs() {
    let w = TestWorkspace::new();
    w.write_file("src/main.rs", "fn main() {}\n").write_file("dir/x", "");
    rustix::fs::mkfifoat(rustix::fs::CWD, w.path().join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(w.path().join("socket")).unwrap();
    w.symlink("loop", "loop").symlink("dangling", "nowhere");
    assert_snapshot!(read(&w, &json!({"path": "src/mian.rs"})), @"`$DIR/src/mian.rs` does not exist; did you mean `main.rs`?");
    assert_snapshot!(read(&w, &json!({"path": "scr/main.rs"})), @"`$DIR/scr/main.rs` does not exist; the deepest directory above it that does is `$DIR`; did you mean `src`?");
    assert_snapshot!(read(&w, &json!({"path": "dir"})), @"`$DIR/dir` is a directory; use list_dir to see what is in it");
    assert_snapshot!(read(&w, &json!({"path": "pipe"})), @"`$DIR/pipe` is a FIFO, not a file; give the path of a regular file");
    assert_snapshot!(read(&w, &json!({"path": "socket"})), @"`$DIR/socket` is a socket, not a file; give the path of a regular file");
    assert_snapshot!(read(&w, &json!({"path": "loop"})), @"the symbolic links of `$DIR/loop` form a loop or lead through a magic link such as `/proc/self/root`, which is not followed; give the path of the thing itself");
    assert_snapshot!(read(&w, &json!({"path": "dangling"})), @"`$DIR/dangling` is a symbolic link to `nowhere`, which does not exist; the link is broken");
    assert_snapshot!(read(&w, &json!({"path": "src/main.rs/x"})), @"`$DIR/src/main.rs` is a file, not a directory; give the path of a directory");
}

#[test]
fn nothing_outside_is_read() {
    let w = TestWorkspace::new();
    let secret = w.outside_dir().join("secret.txt");
    w.write_file("inside.txt", "inside\n")
        .write_file(".env", "KEY=SECRET\n")
        .write_file("sub/.env", "KEY=SECRET\n");
    w.symlink("absolute", &secret)
        .symlink("relative", "../outside/secret.txt")
        .symlink("parent", "../outside");
    w.symlink("inner", w.path().join("inside.txt")).symlink("innocent", ".env");
    for (path, kind) in [
        (secret.to_str().unwrap(), ToolErrorKind::Forbidden),
        ("../outside/secret.txt", ToolErrorKind::Forbidden),
        ("a/../../outside/secret.txt", ToolErrorKind::Forbidden),
        ("/etc/passwd", ToolErrorKind::Forbidden),
        ("/proc/self/environ", ToolErrorKind::Forbidden),
        ("absolute", ToolErrorKind::Blocked),
        ("relative", ToolErrorKind::Blocked),
        ("parent/secret.txt", ToolErrorKind::Blocked),
        (".env", ToolErrorKind::Forbidden),
        ("sub/.env", ToolErrorKind::Forbidden),
        ("innocent", ToolErrorKind::Blocked),
    ] {
        let output = output(&w, &json!({ "path": path }));
        assert_eq!(output.facts.error, Some(kind), "{path}");
        assert!(!output.joined_text().contains("SECRET"), "{path}");
    }
    assert_eq!(read(&w, &json!({"path": "inner"})), "1| inside");
}

#[test]
fn indentation_mode_returns_the_enclosing_block() {
    let w = TestWorkspace::new();
    w.write_file(
        "a.rs",
        "use a;\n\n/// Doc.\nfn one() {\n    if x {\n        y();\n    }\n}\n\nfn two() {}\n",
    );
    let block = |more: Value| {
        read(&w, &json!({"path": "a.rs", "mode": "indentation", "start_line": 6, "indentation": more}))
    };
    assert_snapshot!(block(json!({})), @"
    3| /// Doc.
    4| fn one() {
    5|     if x {
    6|         y();
    7|     }
    8| }
    [lines 3-8 of 10]
    ");
    assert_snapshot!(block(json!({"max_levels": 1})), @"
    5|     if x {
    6|         y();
    7|     }
    [lines 5-7 of 10]
    ");
    assert_snapshot!(block(json!({"anchor_line": 10})), @"
    10| fn two() {}
    [lines 10-10 of 10]
    ");
    assert_snapshot!(block(json!({"anchor_line": 99})), @"the arguments do not fit at `indentation.anchor_line`: line 99 is past the end: `$DIR/a.rs` has 10 lines");
}

#[test]
fn a_block_far_down_a_long_file_is_found() {
    let w = TestWorkspace::new();
    let mut text = "    filler that makes the file long enough to matter\n".repeat(1500);
    text += "fn far() {\n    here();\n}\n";
    w.write_file("a.rs", text);
    let block = |limit: u32| {
        let arguments =
            json!({"path": "a.rs", "mode": "indentation", "start_line": 1502, "max_lines": limit});
        read(&w, &arguments)
    };
    assert_snapshot!(block(100), @"
    1501| fn far() {
    1502|     here();
    1503| }
    [lines 1501-1503 of 1,503]
    ");
    assert_snapshot!(block(2), @"
    1501| fn far() {
    1502|     here();
    [lines 1501-1502 of 1,503; the block is longer: raise max_lines, or read on by line]
    ");
}

#[test]
fn a_long_line_that_is_cut_inside_a_character_is_still_utf_8() {
    let w = TestWorkspace::new();
    w.write_file("a", format!("{}\n", "漢".repeat(2000)));
    let text = read(&w, &json!({"path": "a"}));
    assert!(text.starts_with("1| 漢漢") && text.ends_with("漢 … [4,000 bytes more]"), "{text}");
}

#[test]
fn pictures_are_described_to_a_model_that_does_not_see() {
    let w = TestWorkspace::new();
    let mut png = Vec::new();
    image::DynamicImage::new_rgb8(3, 2)
        .write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png)
        .unwrap();
    w.write_file("p.png", &png);
    let tools = toolgate_tools::builtin_tools(
        ImageSettings { model_accepts_images: false, ..ImageSettings::default() },
        &Arc::default(),
        &Arc::default(),
    )
    .unwrap();
    let told = ToolTestSession::new(&w, tools).call("read_file", &json!({"path": "p.png"}));
    assert_eq!(told.items.len(), 1);
    assert!(told.joined_text().contains("is a binary file (image/png"), "{}", told.joined_text());
}

#[test]
fn pictures_are_shown() {
    let w = TestWorkspace::new();
    let mut png = Vec::new();
    image::DynamicImage::new_rgb8(3, 2)
        .write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png)
        .unwrap();
    w.write_file("p.png", &png);
    let shown = output(&w, &json!({"path": "p.png"}));
    assert_snapshot!(w.normalize(&shown.joined_text()), @"`$DIR/p.png`: image/png, 3x2 pixels");
    assert!(
        matches!(&shown.items[1], tool::OutputItem::Image(image) if image.mime == "image/png" && image.bytes == png)
    );
}

#[test]
fn files_of_proc_are_read_though_they_have_no_size() {
    // A root of its own: /proc is outside every workspace.
    use policy::{DenyRead, Gate, Intent, ReadRoot, ReadScope, Verdict};
    let gate =
        Gate::read_only(ReadScope::new(vec![ReadRoot::new("/proc")], DenyRead::new([""; 0], None).unwrap()));
    let Verdict::Allow(permit) = gate.decide("read_file", &Intent::read("/proc/version")) else {
        panic!("allowed")
    };
    let found = exec::fs::ConfinedFs::new(&permit).lookup(std::path::Path::new("/proc/version")).unwrap();
    assert_eq!(found.size(), 0);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut found.open().unwrap(), &mut text).unwrap();
    assert!(text.starts_with("Linux"), "{text}");
}
