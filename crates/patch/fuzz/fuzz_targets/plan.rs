//! Fuzzes planning: no panic, untouched files stay, and the plan's diff has the same result as the plan.
//!
//! The input is split at lines `=====`: the patch, then the contents of the files `f`, `g` and `d/h`, as far as given.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_patch::{MemoryTree, PatchPlan, parse};

const NAMES: [&str; 3] = ["f", "g", "d/h"];
const BETWEEN: &[u8] = b"\n=====\n";

fuzz_target!(|bytes: &[u8]| {
    let parts = parts(bytes);
    let tree = MemoryTree::from_files(NAMES.iter().zip(&parts[1..]).map(|(name, part)| (*name, part.to_vec())));
    let text = String::from_utf8_lossy(parts[0]);
    let Ok(patch) = parse(&text) else { return };
    let plan = match PatchPlan::build(&patch, &tree) {
        Ok(plan) => plan,
        Err(failure) => return assert!(!failure.to_string().is_empty()),
    };
    let steps = plan.commit_steps();
    assert!(
        steps.iter().all(|step| patch.paths().any(|path| path == step.path)),
        "it touches what is not named"
    );
    let after = committed(&tree, &plan);
    for (name, file) in &tree.files {
        assert!(steps.iter().any(|step| step.path == *name) || after.files.get(name) == Some(file));
    }
    let diff = plan.diff();
    // A diff that cannot hold a file says so and is rejected.
    if plan.changes.is_empty() || diff.contains("\nBinary files ") {
        return;
    }
    let again = parse(&diff).unwrap_or_else(|syntax| panic!("{syntax}\n{diff}"));
    let again = PatchPlan::build(&again, &tree).unwrap_or_else(|failure| panic!("{failure}\n{diff}"));
    assert!(committed(&tree, &again) == after, "its diff does otherwise\n{diff}\n{}", again.diff());
});

fn parts(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    // ends: the rest gets shorter
    while let Some(at) = rest.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
        parts.push(&rest[..at + 1]);
        rest = &rest[at + BETWEEN.len()..];
    }
    parts.push(rest);
    parts
}

fn committed(tree: &MemoryTree, plan: &PatchPlan) -> MemoryTree {
    let mut after = tree.clone();
    after.commit(&plan.commit_steps());
    after
}
