//! Tests where patches land: file and patch in, new file or refusal out, as literal tables over trees in memory.
//!
//! The output is the report, then every file that changed. Marks: `|` begins a line, `→` is a tab, `␍` a carriage
//! return, `·` a trailing blank, `⌿` the end of a file without a last newline.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap and look at their own trees"
)]

mod ambiguous_places;
mod conflicting_evidence;
mod diff_output;
mod encodings_and_line_ends;
mod failure_messages;
mod false_refusals;
mod file_ends;
mod file_names;
mod git_round_trip;
mod hunk_headers;
mod hunk_order;
mod indent_and_comment_slips;
mod indentation;
mod malformed_hunks;
mod match_passes;
mod misplaced_hunks;
mod properties;
mod reapply;
mod reapply_with_twins;
mod repaired_patches;
mod search_budget;
mod search_replace;
mod style_learning;
mod unified_diffs;
mod whole_files;

use std::fmt::Write;

use toolgate_patch::{MemoryTree, PatchPlan, parse};

/// Applies the hunks in `body` to a file called `f`.
fn update(file: impl AsRef<[u8]>, body: &str) -> String {
    apply([("f", file)], &envelope(&format!("*** Update File: f\n{body}")))
}

/// Applies the unified diff hunks in `body` to a file called `f`.
fn unified(file: &str, body: &str) -> String {
    apply([("f", file)], &format!("--- a/f\n+++ b/f\n{body}"))
}

/// Replaces `old` by `new` once in a file called `f`.
fn replace(file: impl AsRef<[u8]>, old: &str, new: &str) -> String {
    let call = serde_json::json!({"file_path": "f", "original_content": old, "updated_content": new});
    apply([("f", file)], &call.to_string())
}

fn envelope(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

/// Applies `patch` to `files` and returns the report.
fn apply<'a, B: AsRef<[u8]>>(files: impl IntoIterator<Item = (&'a str, B)>, patch: &str) -> String {
    tell(
        &MemoryTree::from_files(files.into_iter().map(|(name, bytes)| (name, bytes.as_ref().to_vec()))),
        patch,
    )
}

fn tell(tree: &MemoryTree, patch: &str) -> String {
    let parsed = match parse(patch) {
        Ok(parsed) => parsed,
        Err(syntax) => return format!("not a patch: {syntax}"),
    };
    let plan = match PatchPlan::build(&parsed, tree) {
        Ok(plan) => plan,
        Err(failure) => return marked(&failure.to_string()),
    };
    let after = committed(tree, &plan);
    let mut out = plan.to_string();
    for change in plan.changes.iter().filter(|change| change.after.is_some()) {
        if plan.listed_changes().count() > 1 {
            let _ = write!(out, "\n= {}", change.path);
        }
        let (bytes, executable) = &after.files[&change.path];
        if *executable {
            out.push_str("\n(can be run)");
        }
        out.push_str(&marked_lines(bytes));
    }
    if let Ok(again) = PatchPlan::build(&parsed, &after)
        && !again.changes.is_empty()
    {
        out.push_str("\nWRONG: applied twice, it changes more");
    }
    let diff = plan.diff();
    let same = parse(&diff)
        .is_ok_and(|diff| PatchPlan::build(&diff, tree).map(|plan| committed(tree, &plan)) == Ok(after));
    if !(same || plan.changes.is_empty() || diff.contains("Binary files")) {
        let _ = write!(out, "\nWRONG: its diff does otherwise\n{}", marked(&diff));
    }
    out
}

fn committed(tree: &MemoryTree, plan: &PatchPlan) -> MemoryTree {
    let mut after = tree.clone();
    after.commit(&plan.commit_steps());
    after
}

/// Formats a file's lines so that every byte is visible.
fn marked_lines(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return format!("\n{}", bytes.escape_ascii()) };
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let bare = if line.ends_with('\n') { "" } else { "⌿" };
        let _ = write!(out, "\n|{}{bare}", marked(line.trim_end_matches('\n')));
    }
    out
}

fn marked(text: &str) -> String {
    let line = |line: &str| {
        let end = line.trim_end_matches(' ').len();
        line[..end].replace('\t', "→").replace('\r', "␍").replace('\0', "␀") + &"·".repeat(line.len() - end)
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
