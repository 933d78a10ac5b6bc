//! Story tests: a model's items in, Toolgate's answers out, through the real binary. `just story FILE` runs one.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read real files, and may unwrap")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{CommandRun, TestHome};

#[test]
fn every_story_ends_as_committed() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let workspace = std::fs::canonicalize(here.join("workspace")).unwrap();
    let mut told = 0;
    for wire in ["responses", "chat", "anthropic"] {
        for story in std::fs::read_dir(here.join("stories").join(wire)).unwrap() {
            let story = story.unwrap().path();
            if story.extension().is_none_or(|kind| kind != "jsonl") {
                continue;
            }
            let items = std::fs::read_to_string(&story).unwrap();
            let mut args = vec!["pipe", "--wire", wire];
            let copy = tempfile::tempdir().unwrap();
            let is = |stem: &str| story.file_stem().is_some_and(|name| name == stem);
            if is("commands") || is("asking") {
                args.extend(["--sandbox", "danger-full-access"]);
            }
            // A story that changes files gets its own copy.
            let mut workspace = workspace.clone();
            if is("patches") {
                args.extend(["--sandbox", "workspace-write"]);
                workspace = copied(&workspace, copy.path());
            }
            let ran = if is("asking") {
                args.push("--ask");
                talk(&TestHome::new(), &workspace, &args, &items)
            } else {
                TestHome::new().run(&workspace, &args, &items)
            };
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", story.display());
            let answers = timeless(&ran.out.replace(workspace.to_str().unwrap(), "$DIR"));
            let answers = masked(&masked(&answers, "Wall time: ", ' ', "TIME"), "Ended: ", '\\', "PROCESSES");
            testkit::assert_committed(story.with_extension("answers"), &answers);
            told += 1;
        }
    }
    assert!(told >= 5);
}

/// Copies the files of `workspace` to `to`, and returns its canonical path.
fn copied(workspace: &Path, to: &Path) -> PathBuf {
    for name in ["README.md", "src/lib.rs", "src/main.rs"] {
        std::fs::create_dir_all(to.join(name).parent().unwrap()).unwrap();
        std::fs::copy(workspace.join(name), to.join(name)).unwrap();
    }
    std::fs::canonicalize(to).unwrap()
}

/// Runs `toolgate` and feeds it line by line: a decision after its question, a call after the answers to the previous
/// ones.
fn talk(home: &TestHome, cwd: &Path, args: &[&str], items: &str) -> CommandRun {
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(args)
        .current_dir(cwd)
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut out) = (child.stdin.take().unwrap(), String::new());
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut calls = 0;
    for item in items.lines() {
        let value: Value = serde_json::from_str(item).unwrap();
        let question = format!("\"call_id\":{},", value["call_id"]);
        let asked = |line: &str| line.contains("toolgate.question") && line.contains(&question);
        let answered = |out: &str| out.matches("function_call_output").count();
        let ready = |out: &str| match value["type"].as_str() {
            Some("toolgate.decision") => value["call_id"] == "unknown" || out.lines().any(asked),
            _ => answered(out) == calls,
        };
        // ends: with the expected output, or its end
        while !ready(&out) && output.read_line(&mut out).unwrap() > 0 {}
        calls += usize::from(value["type"] == "function_call");
        writeln!(input, "{item}").unwrap();
    }
    drop(input);
    output.read_to_string(&mut out).unwrap();
    CommandRun { code: child.wait().unwrap().code(), out, err: String::new() }
}

/// Replaces the text between `before` and `until` with `mask`: it differs in each run.
fn masked(text: &str, before: &str, until: char, mask: &str) -> String {
    let mut parts = text.split(before);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + before + mask + &part[part.find(until).unwrap_or(part.len())..])
}

/// Masks modification times, which differ in each checkout.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("20") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let is_time = after.len() >= 16
            && after.bytes().zip(*b"dddd-dd-dd dd:dd").take(16).all(|(byte, wanted)| match wanted {
                b'd' => byte.is_ascii_digit(),
                other => byte == other,
            });
        out.push_str(if is_time { "YYYY-MM-DD hh:mm" } else { "20" });
        rest = &after[if is_time { 16 } else { 2 }..];
    }
    out + rest
}
