//! Tests that `git apply` of a plan's diff gives the plan's tree, and that diffs by git land where they were made.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use toolgate_patch::{
    DiskTree, EditAction, FileEdit, Hunk, HunkLine, MemoryTree, ParsedPatch, PatchPlan, UpdateTarget, parse,
};

use super::{committed, envelope};

/// Names that git writes as they are, with a tab after them, or in quotes.
const NAMES: &[&str] = &["f", "g", "d/h", "d/e/i", "a b", "ü", "q\"", "b\\", "n\nl", "t\t", " pad ", "b/a"];

/// Generates a file: lines with different line ends or none, with or without a byte order mark.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let end = select(&["\n", "\n", "\n", "\r\n", "\r\n", "\r"][..]);
    let line = (0..4_usize, end);
    let whole = (vec(line, 0..14), any::<bool>(), 0..6_u8, select(&["\n", "\r\n", "\r", ""][..]));
    whole.prop_map(|(lines, bare, mark, all)| {
        let line = |(nth, (kind, end)): (usize, &(usize, &str))| {
            let end = if all.is_empty() { *end } else { all };
            format!("{}{end}", ["", "same", &format!("line {nth}"), "-- x"][*kind])
        };
        let mut text: String = lines.iter().enumerate().map(line).collect();
        if bare {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        match mark {
            0 => format!("\u{feff}{text}").into_bytes(),
            1 if !bare => text.into_bytes().into_iter().chain(*b"d\xe9j\xe0 vu, caf\xe9\n").collect(),
            _ => text.into_bytes(),
        }
    })
}

fn tree() -> impl Strategy<Value = MemoryTree> {
    let file = (bytes().prop_map(Arc::new), any::<bool>());
    btree_map(select(NAMES).prop_map(str::to_owned), file, 1..8).prop_map(|files| MemoryTree { files })
}

fn action() -> impl Strategy<Value = EditAction> {
    let name = || select(NAMES).prop_map(str::to_owned);
    let content = || bytes().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let target = prop_oneof![
        2 => Just(UpdateTarget::Same),
        2 => name().prop_map(UpdateTarget::Moved),
        1 => name().prop_map(UpdateTarget::Renamed),
        2 => name().prop_map(UpdateTarget::Copied),
    ];
    let hunk = (0..14_usize, vec("[a-c]{0,2}", 0..3)).prop_map(|(nth, adds)| {
        let lines =
            [HunkLine::Drop(format!("line {nth}"))].into_iter().chain(adds.into_iter().map(HunkLine::Add));
        Hunk { lines: lines.collect(), ..Hunk::default() }
    });
    prop_oneof![
        (content(), any::<Option<bool>>())
            .prop_map(|(content, executable)| EditAction::Write { content, executable }),
        Just(EditAction::Delete { hunks: Vec::new() }),
        (vec(hunk, 0..2), target, any::<Option<bool>>())
            .prop_map(|(hunks, target, executable)| EditAction::Update { hunks, target, executable }),
    ]
}

/// Generates a patch for `tree`, mostly of existing files.
fn patch(tree: &MemoryTree) -> impl Strategy<Value = ParsedPatch> + use<> {
    let there: Vec<String> = tree.files.keys().cloned().collect();
    let path = prop_oneof![4 => select(there), 1 => select(NAMES).prop_map(str::to_owned)];
    let edit = (path, action()).prop_map(|(path, action)| FileEdit { path, line: 1, action, blob_ids: None });
    vec(edit, 1..5).prop_map(|edits| ParsedPatch { edits })
}

fn write(tree: &MemoryTree, root: &Path) {
    for (name, (bytes, executable)) in &tree.files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &**bytes).unwrap();
        let mode = if *executable { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }
}

fn read(root: &Path, dir: &Path, tree: &mut MemoryTree) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, tree);
        } else {
            let executable = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            tree.files.insert(name, (std::fs::read(&path).unwrap().into(), executable));
        }
    }
}

/// Applies a diff to `tree` with `git apply`. Returns the tree and git's output.
fn git_apply(tree: &MemoryTree, diff: &str) -> (MemoryTree, Output) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("root");
    std::fs::create_dir(&root).unwrap();
    write(tree, &root);
    let output = git_apply_in(&root, diff);
    let mut after = MemoryTree::default();
    read(&root, &root, &mut after);
    (after, output)
}

fn git_apply_in(root: &Path, diff: &str) -> Output {
    let mut git = Command::new("git")
        // Otherwise git refuses names with `\`, because of Windows.
        .args(["-c", "core.protectNTFS=false", "apply", "-"])
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", root.parent().unwrap())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
    git.wait_with_output().unwrap()
}

/// Git follows no symlinks, so the diff names their targets.
#[test]
fn git_makes_the_same_of_what_is_behind_links() {
    let temp = tempfile::tempdir().unwrap();
    let roots = ["ours", "gits"].map(|name| temp.path().join(name));
    for root in &roots {
        std::fs::create_dir_all(root.join("dir")).unwrap();
        std::fs::write(root.join("dir/file"), "one\n").unwrap();
        symlink("dir", root.join("way")).unwrap();
        for link in ["to change", "to go", "to move"] {
            std::fs::write(root.join("dir").join(link), "one\n").unwrap();
            symlink(format!("dir/{link}"), root.join(link)).unwrap();
        }
    }
    let patch = envelope(
        "*** Update File: to change\n-one\n+1\n*** Delete File: to go\n*** Update File: to move\n*** Move to: new\n*** Update File: way/file\n-one\n+1\n",
    );
    let disk = DiskTree::open_at(&roots[0]).unwrap();
    let plan = PatchPlan::build(&parse(&patch).unwrap(), &disk).unwrap();
    disk.commit(&plan.commit_steps(), &temp.path().join("records")).unwrap();
    let output = git_apply_in(&roots[1], &plan.diff());
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stderr), plan.diff());
    let look = |root: &Path| {
        let mut tree = MemoryTree::default();
        read(root, root, &mut tree);
        (tree, ["to change", "to go", "to move"].map(|link| root.join(link).is_symlink()))
    };
    assert_eq!(look(&roots[1]), look(&roots[0]), "{}", plan.diff());
    assert_eq!(look(&roots[0]).1, [true, false, false]);
}

/// Returns the `git diff` of two contents of `f`, with this many context lines.
fn git_diff(old: &[u8], new: &[u8], around: usize) -> String {
    let temp = tempfile::tempdir().unwrap();
    for (side, bytes) in [("a", old), ("b", new)] {
        std::fs::create_dir(temp.path().join(side)).unwrap();
        std::fs::write(temp.path().join(side).join("f"), bytes).unwrap();
    }
    let output = Command::new("git")
        .args(["diff", "--no-index", "--no-prefix", &format!("-U{around}"), "a/f", "b/f"])
        .current_dir(temp.path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", temp.path())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Generates a file of few words, so that every line occurs more than once.
fn repetitive() -> impl Strategy<Value = Vec<u8>> {
    let line = select(&["", "}", "same", "fn f() {", "x\r"][..]);
    (vec(line, 0..20), any::<bool>()).prop_map(|(lines, bare)| {
        let end = if bare || lines.is_empty() { "" } else { "\n" };
        (lines.join("\n") + end).into_bytes()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_of_git_lands_where_it_was_made(old in repetitive(), new in repetitive(), around in 0..4_usize) {
        let diff = git_diff(&old, &new, around);
        prop_assume!(!diff.is_empty());
        let tree = |bytes: &[u8]| MemoryTree::from_files([("f", bytes)]);
        let patch = parse(&diff).map_err(|syntax| TestCaseError::fail(format!("{syntax}\n{diff}")))?;
        let plan = PatchPlan::build(&patch, &tree(&old)).map_err(|failure| TestCaseError::fail(format!("{failure}\n{diff}")))?;
        let after = committed(&tree(&old), &plan);
        prop_assert_eq!(&after, &tree(&new), "{}", diff);
        let again = PatchPlan::build(&patch, &after).map_err(|failure| TestCaseError::fail(format!("{failure}\n{diff}")))?;
        prop_assert!(again.changes.is_empty() && again.already_applied == ["f"], "{}", diff);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_makes_the_same_of_a_plans_diff(
        (tree, patch) in tree().prop_flat_map(|tree| (Just(tree.clone()), patch(&tree)))
    ) {
        let Ok(plan) = PatchPlan::build(&patch, &tree) else { return Ok(()) };
        if plan.changes.is_empty() {
            return Ok(());
        }
        let (diff, expected) = (plan.diff(), committed(&tree, &plan));
        let (after, output) = git_apply(&tree, &diff);
        if diff.contains("\nBinary files ") {
            prop_assert!(!output.status.success() && after == tree, "git takes what is no diff:\n{}", diff);
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        prop_assert!(output.status.success(), "{}\n{}", said, diff);
        prop_assert_eq!(&after, &expected, "git does otherwise:\n{}", diff);
        let ours = parse(&diff).map_err(|syntax| TestCaseError::fail(format!("{syntax}\n{diff}")))?;
        let ours = PatchPlan::build(&ours, &tree).map_err(|failure| TestCaseError::fail(format!("{failure}\n{diff}")))?;
        prop_assert_eq!(committed(&tree, &ours), expected, "we do otherwise:\n{}", diff);
    }
}
