//! The peer's scenarios, reimplemented: patch, tree before and tree after, compared byte for byte on disk.
//!
//! One differs on purpose: a patch that cannot be applied completely changes nothing at all (15).
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap and look at their own trees"
)]

mod applied;
mod refused;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toolgate_patch::{DiskTree, PatchPlan, parse};

/// Files by name; a name that ends with `/` is a directory.
type ScenarioFiles = &'static [(&'static str, &'static str)];

/// A scenario: its topic, the patch, and the tree before and after.
struct PatchScenario {
    name: &'static str,
    patch: &'static str,
    before: ScenarioFiles,
    after: ScenarioFiles,
}

impl PatchScenario {
    /// Parses, plans and commits the patch as the tool does. Returns true if it was applied.
    fn run(&self) -> bool {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("root");
        fs::create_dir(&root).unwrap();
        for (name, content) in self.before {
            let path = root.join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
                continue;
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let applied = apply(&root, self.patch, &temp.path().join("records"));
        let after: BTreeMap<String, String> =
            self.after.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect();
        assert_eq!(files(&root, &root), after, "{}", self.name);
        applied
    }
}

fn apply(root: &Path, patch: &str, records: &Path) -> bool {
    let disk = DiskTree::open_at(root).unwrap();
    let Ok(patch) = parse(patch) else { return false };
    let Ok(plan) = PatchPlan::build(&patch, &disk) else { return false };
    disk.commit(&plan.commit_steps(), records).is_ok()
}

/// Returns everything below `dir`; an empty directory as its name with `/`.
fn files(root: &Path, dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_file() {
            found.insert(name, fs::read_to_string(&path).unwrap());
            continue;
        }
        let inside = files(root, &path);
        if inside.is_empty() {
            found.insert(name + "/", String::new());
        }
        found.extend(inside);
    }
    found
}
