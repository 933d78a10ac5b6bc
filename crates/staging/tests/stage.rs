//! Stages on hand-made layers: list, apply, conflicts, merges, partial applies, discard, undo and redo.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and lay out their own trees"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};
use toolgate_staging::{
    GitLayerDir, GitRules, NewStage, Selection, Stage, StageFault, StagedChangeKind, StepLabel,
};

/// A user's tree, a stage over it, and the records of commits.
struct Workplace {
    _temp: tempfile::TempDir,
    root: PathBuf,
    records: PathBuf,
    stage: Stage,
}

type TreeText = BTreeMap<PathBuf, String>;

impl Workplace {
    fn new(files: &[(&str, &str)]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(temp.path()).unwrap();
        let root = base.join("tree");
        fs::create_dir(&root).unwrap();
        for (path, text) in files {
            put(&root.join(path), text);
        }
        // Files that were made just now could have been made while a command ran.
        std::thread::sleep(std::time::Duration::from_millis(25));
        let new = NewStage { title: "test".to_owned(), directory: root.clone(), roots: vec![root.clone()] };
        let stage = Stage::create(&base.join("stage"), new).unwrap();
        Self { _temp: temp, records: base.join("records"), root, stage }
    }

    /// The layer that an overlay would write to.
    fn upper(&self) -> PathBuf {
        self.stage.mounts()[0].upper.clone()
    }

    fn write(&self, path: &str, text: &str) {
        put(&self.upper().join(path), text);
    }

    fn remove(&self, path: &str) {
        let at = self.upper().join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        rustix::fs::mknodat(CWD, &at, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
    }

    fn end_step(&mut self, text: &str) {
        assert!(self.stage.end_step(&StepLabel { text: text.to_owned(), calls: Vec::new() }).unwrap());
    }

    fn step(&mut self, path: &str, text: &str) {
        self.write(path, text);
        self.end_step(&format!("writes {path}"));
    }

    fn apply(&mut self) -> toolgate_staging::ApplyReport {
        self.stage.apply(&Selection::All, &self.records, &mut NoGit).unwrap()
    }

    fn listing(&self) -> TreeText {
        list(&self.root)
    }

    fn changes(&self) -> Vec<(StagedChangeKind, PathBuf)> {
        let list = self.stage.changes().unwrap();
        let below = |path: &Path| path.strip_prefix(&self.root).unwrap().to_owned();
        list.changes.iter().map(|change| (change.kind, below(&change.path))).collect()
    }
}

struct NoGit;

impl GitRules for NoGit {
    fn land(&mut self, _: &GitLayerDir) -> Vec<String> {
        Vec::new()
    }

    fn is_same_index(&self, _: &Path, _: &Path) -> bool {
        false
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn list(root: &Path) -> TreeText {
    let mut all = TreeText::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let status = fs::symlink_metadata(&path).unwrap();
            let mode = status.permissions().mode() & 0o7777;
            let text = if status.is_dir() {
                directories.push(path.clone());
                format!("{mode:o}/")
            } else if status.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else {
                format!("{mode:o} {}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
            };
            all.insert(path.strip_prefix(root).unwrap().to_owned(), text);
        }
    }
    all
}

#[test]
fn all_kinds_of_changes_are_listed_applied_undone_and_redone() {
    let mut work =
        Workplace::new(&[("a", "a\n"), ("b", "b\n"), ("dir/x", "x\n"), ("dir/y", "y\n"), ("old/z", "z\n")]);
    let before = work.listing();
    work.write("a", "changed\n");
    work.remove("b");
    work.write("new/deep/file", "new\n");
    work.remove("old");
    work.remove("dir/y");
    symlink("a", work.upper().join("link")).unwrap();
    fs::set_permissions(work.upper().join("new/deep/file"), fs::Permissions::from_mode(0o755)).unwrap();
    work.end_step("everything");
    assert_eq!(work.listing(), before, "the tree is untouched");
    use StagedChangeKind::{Added, Modified, Removed};
    let expected = [
        (Removed, "b"),
        (Removed, "dir/y"),
        (Removed, "old"),
        (Modified, "a"),
        (Added, "link"),
        (Added, "new/deep/file"),
    ];
    assert_eq!(work.changes(), expected.map(|(kind, path)| (kind, PathBuf::from(path))));
    work.apply();
    let after = work.listing();
    assert_eq!(after[Path::new("a")], "644 changed\n");
    assert_eq!(after[Path::new("new/deep/file")], "755 new\n");
    assert_eq!(after[Path::new("link")], "-> a");
    assert!(!after.contains_key(Path::new("b")) && !after.contains_key(Path::new("old")));
    assert_eq!(work.changes(), []);
    let undone = work.stage.undo(1, &work.records, &mut NoGit).unwrap();
    assert_eq!((work.listing(), undone.left), (before.clone(), Vec::new()));
    assert_eq!(work.changes().len(), 6, "the changes are pending again");
    work.stage.redo(1, &work.records, &mut NoGit).unwrap();
    assert_eq!(work.listing(), after);
    work.stage.undo(2, &work.records, &mut NoGit).unwrap();
    assert_eq!((work.listing(), work.changes()), (before, Vec::new()));
    assert!(matches!(work.stage.undo(1, &work.records, &mut NoGit), Err(StageFault::NothingTo("undo"))));
}

#[test]
fn what_the_user_changed_too_is_a_conflict_and_nothing_lands() {
    let mut work = Workplace::new(&[("a", "a\n"), ("b", "b\n"), ("c", "c\n")]);
    work.write("a", "session\n");
    work.write("b", "session\n");
    work.write("new", "session\n");
    work.remove("c");
    work.end_step("all");
    put(&work.root.join("a"), "user\n");
    fs::remove_file(work.root.join("b")).unwrap();
    put(&work.root.join("c"), "user\n");
    put(&work.root.join("new"), "user\n");
    let before = work.listing();
    let Err(StageFault::Conflicts { conflicts }) =
        work.stage.apply(&Selection::All, &work.records, &mut NoGit)
    else {
        panic!()
    };
    let found: Vec<_> = conflicts
        .iter()
        .map(|one| (one.path.strip_prefix(&work.root).unwrap().to_str().unwrap(), one.why))
        .collect();
    let expected = [
        ("a", "you changed it too"),
        ("b", "you removed it"),
        ("c", "you changed it too"),
        ("new", "you created it too"),
    ];
    assert_eq!(found, expected);
    assert_eq!(work.listing(), before);
}

#[test]
fn texts_that_both_changed_in_different_lines_are_joined() {
    let mut work = Workplace::new(&[("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    work.step("a", "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    work.step("a", "one\n2\n3\n4\n5\n6\n7\n8\nNINE\n");
    put(&work.root.join("a"), "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
    let report = work.apply();
    assert_eq!(report.merged.len(), 1);
    assert_eq!(fs::read_to_string(work.root.join("a")).unwrap(), "one\n2\n3\n4\nfive\n6\n7\n8\nNINE\n");
    work.stage.undo(1, &work.records, &mut NoGit).unwrap();
    assert_eq!(fs::read_to_string(work.root.join("a")).unwrap(), "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
}

#[test]
fn an_undo_leaves_what_the_user_changed_after_the_apply() {
    let mut work = Workplace::new(&[("a", "a\n"), ("b", "b\n")]);
    work.write("a", "session\n");
    work.write("b", "session\n");
    work.write("new/file", "session\n");
    work.end_step("both");
    work.apply();
    put(&work.root.join("a"), "user\n");
    put(&work.root.join("new/mine"), "user\n");
    let undone = work.stage.undo(1, &work.records, &mut NoGit).unwrap();
    let left: Vec<_> =
        undone.left.iter().map(|one| one.path.strip_prefix(&work.root).unwrap().to_owned()).collect();
    assert_eq!(left, [PathBuf::from("a"), PathBuf::from("new")]);
    let now = work.listing();
    assert_eq!(now[Path::new("a")], "644 user\n");
    assert_eq!(now[Path::new("b")], "644 b\n");
    assert_eq!(now[Path::new("new/mine")], "644 user\n");
}

#[test]
fn paths_are_applied_and_discarded_one_by_one() {
    let mut work = Workplace::new(&[("a", "a\n"), ("b", "b\n"), ("c", "c\n")]);
    work.step("a", "session\n");
    work.step("b", "session\n");
    work.step("c", "session\n");
    let only = |work: &Workplace, path: &str| Selection::Paths(vec![work.root.join(path)]);
    let (a, b) = (only(&work, "a"), only(&work, "b"));
    work.stage.apply(&a, &work.records, &mut NoGit).unwrap();
    work.stage.discard(&b, &work.records).unwrap();
    assert_eq!(work.listing()[Path::new("a")], "644 session\n");
    assert_eq!(work.changes(), [(StagedChangeKind::Modified, PathBuf::from("c"))]);
    work.stage.undo(1, &work.records, &mut NoGit).unwrap();
    assert_eq!(work.changes().len(), 2);
    work.stage.undo(1, &work.records, &mut NoGit).unwrap();
    assert_eq!(work.changes().len(), 3);
    assert_eq!(work.listing()[Path::new("a")], "644 a\n");
    let unknown = only(&work, "nothing");
    assert!(matches!(
        work.stage.apply(&unknown, &work.records, &mut NoGit),
        Err(StageFault::NoSuchChange { .. })
    ));
}

#[test]
fn configuration_that_programs_obey_is_applied_only_by_name() {
    let mut work = Workplace::new(&[("a", "a\n")]);
    work.write(".claude/settings.json", "{}\n");
    work.write("a", "session\n");
    work.end_step("both");
    let report = work.apply();
    assert_eq!(report.held_back.len(), 1);
    assert!(!work.root.join(".claude").exists());
    assert_eq!(work.changes(), [(StagedChangeKind::Added, PathBuf::from(".claude/settings.json"))]);
    let named = Selection::Paths(vec![work.root.join(".claude")]);
    work.stage.apply(&named, &work.records, &mut NoGit).unwrap();
    assert!(work.root.join(".claude/settings.json").exists());
}

#[test]
fn generated_mass_is_folded() {
    let mut work = Workplace::new(&[("a", "a\n")]);
    for number in 0..100 {
        work.write(&format!("node_modules/m{number}/index.js"), "x\n");
    }
    work.end_step("install");
    let list = work.stage.changes().unwrap();
    assert_eq!(list.changes, []);
    assert_eq!(list.folded.len(), 1);
    assert!(list.folded[0].path.ends_with("node_modules"));
    work.apply();
    assert!(work.root.join("node_modules/m99/index.js").exists());
    work.stage.undo(1, &work.records, &mut NoGit).unwrap();
    assert!(!work.root.join("node_modules").exists());
}

#[test]
fn a_command_that_runs_keeps_others_from_applying() {
    let mut work = Workplace::new(&[("a", "a\n")]);
    work.step("a", "session\n");
    let running = work.stage.begin_use().unwrap();
    assert!(matches!(
        work.stage.apply(&Selection::All, &work.records, &mut NoGit),
        Err(StageFault::Busy { .. })
    ));
    drop(running);
    work.apply();
}
