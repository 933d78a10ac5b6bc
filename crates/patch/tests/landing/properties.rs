//! Properties over random edits: unique hunks land, patches are idempotent, other lines stay, and nothing panics.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use toolgate_patch::{DiskTree, MemoryTree, PatchPlan, parse};

use super::{committed, envelope};

/// The number of context lines around a change.
const CONTEXT: usize = 3;

/// Lines that files are made of. They are few, so that places resemble each other, and some are unspecific.
const LINES: &[&str] = &[
    "", "}", "    }", "fn a() {", "    one();", "    two(\"x\");", "\tthree();", "  four  ", "five – six",
    "end",
];

/// A change of a file: this many lines from this one on become others.
#[derive(Debug, Clone)]
struct RandomChange {
    at: usize,
    drops: usize,
    adds: Vec<String>,
}

fn lines(most: usize) -> impl Strategy<Value = Vec<String>> {
    vec(select(LINES).prop_map(str::to_owned), 1..most)
}

/// Generates a file with a number in some lines, so that some contexts are unique.
fn file() -> impl Strategy<Value = Vec<String>> {
    (lines(30), vec(any::<bool>(), 30)).prop_map(|(lines, marks)| {
        let mark = |(nth, (line, mark)): (usize, (String, bool))| {
            if mark { format!("{line} // {nth}") } else { line }
        };
        lines.into_iter().zip(marks).enumerate().map(mark).collect()
    })
}

fn change() -> impl Strategy<Value = RandomChange> {
    let new = prop_oneof![select(LINES).prop_map(str::to_owned), "[a-c]{1,3}"];
    (0..30_usize, 0..4_usize, vec(new, 0..4)).prop_map(|(at, drops, adds)| RandomChange { at, drops, adds })
}

/// Returns the hunk that makes `change` to `old`, the result, and the old lines of the hunk.
fn hunk(old: &[String], change: &RandomChange) -> (String, Vec<String>, Vec<String>) {
    let at = change.at.min(old.len());
    let end = (at + change.drops).min(old.len());
    let (from, until) = (at.saturating_sub(CONTEXT), (end + CONTEXT).min(old.len()));
    let mut body = String::from("@@\n");
    for (sign, lines) in
        [(' ', &old[from..at]), ('-', &old[at..end]), ('+', &change.adds[..]), (' ', &old[end..until])]
    {
        body.extend(lines.iter().map(|line| format!("{sign}{line}\n")));
    }
    let new = [&old[..at], &change.adds, &old[end..]].concat();
    (body, new, old[from..until].to_vec())
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Counts the occurrences of `part` in `whole`.
fn count(whole: &[String], part: &[String]) -> usize {
    if part.is_empty() { 0 } else { whole.windows(part.len()).filter(|window| *window == part).count() }
}

fn update(body: &str) -> String {
    envelope(&format!("*** Update File: f\n{body}"))
}

fn tree(content: &str) -> MemoryTree {
    MemoryTree::from_files([("f", content), ("g", "other\n")])
}

/// Returns the files in the directory `disk`.
fn on_disk(disk: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(disk).unwrap().map(|entry| entry.unwrap().path());
    let file = |path: std::path::PathBuf| {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
    };
    entries.map(file).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_stands_once_lands_exactly(old in file(), change in change()) {
        let (body, new, context) = hunk(&old, &change);
        if new == old || count(&old, &context) != 1 {
            return Ok(());
        }
        let before = tree(&text(&old));
        match PatchPlan::build(&parse(&update(&body)).unwrap(), &before) {
            Ok(plan) if plan.changes.is_empty() => {
                // Only if its new lines stand there.
                let kept: Vec<String> = body.lines().filter(|line| line.starts_with([' ', '+'])).map(|line| line[1..].to_owned()).collect();
                prop_assert!(count(&old, &kept) > 0, "not done already:\n{body}");
            }
            Ok(plan) => prop_assert_eq!(committed(&before, &plan), tree(&text(&new))),
            // New lines that stand elsewhere make the hunk ambiguous. A tab in a file indented with spaces is refused
            // too.
            Err(failure) => {
                let told = failure.to_string();
                prop_assert!(told.contains("fits in") || told.contains("the file is indented with"), "{told}");
            }
        }
    }

    #[test]
    fn twice_is_once(old in file(), change in change()) {
        let (body, new, context) = hunk(&old, &change);
        // If the old lines still stand there, a second application cannot be told from a first.
        if count(&new, &context) > 0 {
            return Ok(());
        }
        let Ok(patch) = parse(&update(&body)) else { return Ok(()) };
        let before = tree(&text(&old));
        let Ok(plan) = PatchPlan::build(&patch, &before) else { return Ok(()) };
        let after = committed(&before, &plan);
        if let Ok(again) = PatchPlan::build(&patch, &after) {
            prop_assert!(again.changes.is_empty(), "\n{}\nthen\n{}", plan.diff(), again.diff());
        }
    }

    #[test]
    fn only_what_is_named_is_touched(old in file(), changes in vec(change(), 1..4)) {
        let body: String = changes.iter().map(|change| hunk(&old, change).0).collect();
        let Ok(patch) = parse(&update(&body)) else { return Ok(()) };
        let before = tree(&text(&old));
        let Ok(plan) = PatchPlan::build(&patch, &before) else { return Ok(()) };
        prop_assert!(plan.commit_steps().iter().all(|step| patch.paths().any(|path| path == step.path)));
        prop_assert_eq!(&committed(&before, &plan).files["g"], &before.files["g"]);
    }

    #[test]
    fn its_diff_does_the_same(old in file(), changes in vec(change(), 1..4)) {
        let body: String = changes.iter().map(|change| hunk(&old, change).0).collect();
        let Ok(patch) = parse(&update(&body)) else { return Ok(()) };
        let before = tree(&text(&old));
        let Ok(plan) = PatchPlan::build(&patch, &before) else { return Ok(()) };
        if plan.changes.is_empty() {
            return Ok(());
        }
        let diff = parse(&plan.diff()).map_err(|syntax| TestCaseError::fail(syntax.to_string()))?;
        let same = PatchPlan::build(&diff, &before).map_err(|failure| TestCaseError::fail(failure.to_string()))?;
        prop_assert_eq!(committed(&before, &same), committed(&before, &plan), "{}", plan.diff());
    }

    #[test]
    fn garbage_never_panics(old in file(), pieces in vec(prop_oneof![
        select(PIECES).prop_map(str::to_owned),
        select(LINES).prop_map(|line| format!(" {line}")),
        select(LINES).prop_map(|line| format!("-{line}")),
        select(LINES).prop_map(|line| format!("+{line}")),
        ".{0,12}",
    ], 0..25)) {
        let before = tree(&text(&old));
        for patch in [pieces.join("\n"), envelope(&(pieces.join("\n") + "\n")), format!("--- a/f\n+++ b/f\n{}", pieces.join("\n"))] {
            if let Ok(patch) = parse(&patch)
                && let Ok(plan) = PatchPlan::build(&patch, &before)
            {
                let _ = (plan.to_string(), plan.diff(), plan.commit_steps());
            }
        }
    }
}

/// Fragments of patches.
const PIECES: &[&str] = &[
    "*** Update File: f", "*** Add File: f", "*** Delete File: g", "*** Move to: h", "*** End of File", "@@",
    "@@ fn a() {", "@@ -3,2 +3,2 @@", "@@ -0,0 +1 @@ end", "\\ No newline at end of file", "",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_disk_ends_as_memory_does(old in file(), change in change(), moved in any::<bool>()) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let memory = tree(&text(&old));
        for (name, (bytes, _)) in &memory.files {
            std::fs::write(root.join(name), &**bytes).unwrap();
        }
        let to = if moved { "*** Move to: h\n" } else { "" };
        let patch = parse(&update(&format!("{to}{}", hunk(&old, &change).0)));
        let Ok(patch) = patch else { return Ok(()) };
        let disk = DiskTree::open_at(&root).unwrap();
        match (PatchPlan::build(&patch, &disk), PatchPlan::build(&patch, &memory)) {
            (Ok(real), Ok(model)) => {
                disk.commit(&real.commit_steps(), &temp.path().join("records")).unwrap();
                let model = committed(&memory, &model).files.into_iter().map(|(name, (bytes, _))| (name, bytes.to_vec()));
                prop_assert_eq!(on_disk(&root), model.collect());
            }
            (real, model) => {
                prop_assert_eq!(real.map_err(|failure| failure.to_string()).err(), model.map_err(|failure| failure.to_string()).err());
                prop_assert_eq!(on_disk(&root)["f"].clone(), text(&old).into_bytes());
            }
        }
    }
}
