//! Tests `grep_files` through the router, as a model calls it.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::{TestWorkspace, ToolTestSession};
use toolgate_tools::ImageSettings;

fn grep(workspace: &TestWorkspace, arguments: &Value) -> String {
    let tools =
        toolgate_tools::builtin_tools(ImageSettings::default(), &Arc::default(), &Arc::default()).unwrap();
    workspace.normalize(&ToolTestSession::new(workspace, tools).call("grep_files", arguments).joined_text())
}

fn tree() -> TestWorkspace {
    let w = TestWorkspace::new();
    w.write_file("a.rs", "fn one() {}\nlet x = 1;\nfn two() {}\n").write_file("sub/b.rs", "fn three() {}\n");
    w.write_file("c.txt", "nothing\nFN loud\n")
        .write_file("target/d.rs", "fn ignored() {}\n")
        .write_file(".gitignore", "target\n");
    w.write_file(".env", "fn secret() {}\n")
        .write_file("bin", b"fn binary\0\n")
        .write_file(".hidden.rs", "fn hidden() {}\n");
    w.write_file(".git/x.rs", "fn git() {}\n").symlink("out", "../outside").symlink("link.rs", "a.rs");
    w
}

#[test]
fn output_modes_matches_files_and_counts() {
    let w = tree();
    assert_snapshot!(grep(&w, &json!({"pattern": "fn \\w+"})), @"
    .hidden.rs
        1: fn hidden() {}
    a.rs
        1: fn one() {}
        3: fn two() {}
    sub/b.rs
        1: fn three() {}
    [4 matches in 3 files; 1 entry hidden by deny-read]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "fn \\w+", "output_mode": "files"})), @"
    .hidden.rs
    a.rs
    sub/b.rs
    [3 files with matches; 1 entry hidden by deny-read]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "fn \\w+", "output_mode": "counts"})), @"
    .hidden.rs: 1
    a.rs: 2
    sub/b.rs: 1
    [4 matches in 3 files; 1 entry hidden by deny-read]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "let", "context": 1})), @"
    a.rs
        1- fn one() {}
        2: let x = 1;
        3- fn two() {}
    [1 match in 1 file; 1 entry hidden by deny-read]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "fn", "case_sensitive": false, "file_pattern": "*.txt"})), @"
    c.txt
        2: FN loud
    [1 match in 1 file; 1 entry hidden by deny-read]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "fn", "path": "sub"})), @"
    sub/b.rs
        1: fn three() {}
    [1 match in 1 file]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "fn", "path": "a.rs"})), @"
    a.rs
        1: fn one() {}
        3: fn two() {}
    [2 matches in 1 file]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "ignored", "include_ignored": true})), @"
    target/d.rs
        1: fn ignored() {}
    [1 match in 1 file; 1 entry hidden by deny-read]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "absent"})), @"[no matches; 1 entry hidden by deny-read]");
    assert_snapshot!(grep(&w, &json!({"pattern": "SECRET|secret"})), @"[no matches; 1 entry hidden by deny-read]");
}

#[test]
fn the_first_results_are_the_same_whatever_the_threads_do() {
    let w = TestWorkspace::new();
    for n in 0..60 {
        w.write_file(format!("{n:02}.txt"), "hit\nhit\n");
    }
    let first = grep(&w, &json!({"pattern": "hit", "max_results": 3}));
    assert_snapshot!(first, @"
    00.txt
        1: hit
        2: hit
    01.txt
        1: hit
    [120 matches in 60 files, the first 3 shown; narrow the search to see the others]
    ");
    for _ in 0..20 {
        assert_eq!(grep(&w, &json!({"pattern": "hit", "max_results": 3})), first);
    }
    assert_snapshot!(grep(&w, &json!({"pattern": "hit", "max_results": 2, "output_mode": "files"})), @"
    00.txt
    01.txt
    [60 files with matches, the first 2 shown; narrow the search to see the others]
    ");
}

#[test]
fn context_stays_with_its_match_and_names_forge_no_lines() {
    let w = TestWorkspace::new();
    w.write_file("a", "1\nhit\n3\n4\n5\nhit\n7\n").write_file("b\n    1: forged", "hit\n");
    assert_snapshot!(grep(&w, &json!({"pattern": "hit", "context": 1, "max_results": 1})), @"
    a
        1- 1
        2: hit
        3- 3
    [3 matches in 2 files, the first 1 shown; narrow the search to see the others]
    ");
    w.write_file("c", "1\nhit\nhit\n4\n5\n");
    assert_snapshot!(grep(&w, &json!({"pattern": "hit", "context": 2, "max_results": 1, "path": "c"})), @"
    c
        1- 1
        2: hit
        3- hit
        4- 4
    [2 matches in 1 file, the first 1 shown; narrow the search to see the others]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "hit", "context": 1})), @r"
    a
        1- 1
        2: hit
        3- 3
       --
        5- 5
        6: hit
        7- 7
    b\n    1: forged
        1: hit
    c
        1- 1
        2: hit
        3: hit
        4- 4
    [5 matches in 3 files]
    ");
}

#[test]
fn the_ends_of_a_line_are_found_whatever_ends_it() {
    let w = TestWorkspace::new();
    w.write_file("lf", "fn a() {\n\n}\n")
        .write_file("crlf", "fn a() {\r\n\r\n}\r\n")
        .write_file("open", "fn a() {\n\n}");
    for (pattern, matches) in [(r"\{$", 3), ("^$", 3), (r"^\}$", 3), ("^fn", 3), (r"\}", 3), (r"a\(\) .$", 3)]
    {
        let counts = grep(&w, &json!({ "pattern": pattern, "output_mode": "counts" }));
        assert!(counts.ends_with(&format!("[{matches} matches in 3 files]")), "{pattern}: {counts}");
    }
}

#[test]
fn newest_first_when_asked() {
    let w = TestWorkspace::new();
    for (name, age) in [("old", 300), ("new", 1), ("mid", 60)] {
        w.write_file(name, "hit\n");
        let file = std::fs::File::options().write(true).open(w.path().join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }
    let files = grep(&w, &json!({"pattern": "hit", "sort": "modified", "output_mode": "files"}));
    assert_snapshot!(files, @"
    new
    mid
    old
    [3 files with matches]
    ");
}

#[test]
fn odd_files_do_not_spoil_the_search() {
    let w = TestWorkspace::new();
    w.write_file(
        "utf16",
        "\u{feff}wörld hit\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
    );
    w.write_file("latin", b"caf\xe9 hit\n")
        .write_file("crlf", "hit\r\n")
        .write_file("long", format!("{}hit{}", "x".repeat(9000), "y".repeat(9000)));
    rustix::fs::mkfifoat(rustix::fs::CWD, w.path().join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    assert_snapshot!(grep(&w, &json!({"pattern": "hit"})), @"
    crlf
        1: hit
    latin
        1: caf� hit
    long
        1: … xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxhityyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy … [8,703 bytes more]
    utf16
        1: wörld hit
    [4 matches in 4 files]
    ");
    assert_snapshot!(grep(&w, &json!({"pattern": "hit$", "path": "crlf"})), @"
    crlf
        1: hit
    [1 match in 1 file]
    ");
}

#[test]
fn regex_error_names_its_position() {
    let w = tree();
    for (pattern, expected) in [
        (
            "fn (",
            "the arguments do not fit at `pattern`: the regular expression is wrong at character 4 (`(`): unclosed group",
        ),
        (
            "é[a-",
            "the arguments do not fit at `pattern`: the regular expression is wrong at character 2 (`[a-`): unclosed character class",
        ),
        (
            "a{2",
            "the arguments do not fit at `pattern`: the regular expression is wrong at character 2 (`{2`): unclosed counted repetition",
        ),
        (
            "\\p{Nope}",
            "the arguments do not fit at `pattern`: the regular expression is wrong at character 1: Unicode property not found",
        ),
    ] {
        assert_eq!(grep(&w, &json!({ "pattern": pattern })), expected);
    }
    assert_snapshot!(grep(&w, &json!({"pattern": "(((a{100}){100}){100}){100}"})), @"the arguments do not fit at `pattern`: the regular expression cannot be used: compiled regex exceeds size limit of 16777216");
    assert_snapshot!(grep(&w, &json!({"pattern": "a\\nb"})), @r#"the arguments do not fit at `pattern`: the regular expression cannot be used: the literal "\n" is not allowed in a regex"#);
    assert_snapshot!(grep(&w, &json!({"pattern": "x", "file_pattern": "["})), @"the arguments do not fit at `file_pattern`: it is not a glob: unclosed character class; missing ']'");
    assert_snapshot!(grep(&w, &json!({"pattern": "x", "path": "nope"})), @"`$DIR/nope` does not exist; list its directory to see what is there");
}
