//! Detects writes that would turn a directory into a git directory, whose configuration git would then obey.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use patch::CommitStep;

/// The entries that make a git directory.
const GIT_DIR_ENTRIES: [&str; 3] = ["HEAD", "objects", "refs"];

/// Returns the directory inside `roots` that would be a git directory after `steps`. A root that is one already is
/// exempt: the user granted it.
///
/// A hand-made git directory would make the user's next `git status` there run the programs that its configuration
/// names.
pub(crate) fn find_git_layout(steps: &[CommitStep], cwd: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    let files: Vec<PathBuf> =
        steps.iter().filter(|step| step.new_file.is_some()).map(|step| cwd.join(&step.path)).collect();
    let is_there = |path: &Path| exec::fs::canonicalize(path).is_ok();
    let mut seen = HashSet::new();
    for file in &files {
        let inside = |directory: &&Path| roots.iter().any(|root| directory.starts_with(root));
        // ends: at the first directory that was looked at, or above the roots
        for directory in file.ancestors().skip(1).take_while(inside) {
            if !seen.insert(directory.to_owned()) {
                break;
            }
            let parts = GIT_DIR_ENTRIES.map(|name| directory.join(name));
            let will_be = |part: &PathBuf| is_there(part) || files.iter().any(|file| file.starts_with(part));
            let was_given =
                || roots.iter().any(|root| root == directory) && parts.iter().all(|part| is_there(part));
            if parts.iter().all(will_be) && !was_given() {
                return Some(directory.to_owned());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use patch::NewFile;

    use super::*;

    #[test]
    fn a_directory_that_git_would_take_for_its_own_is_seen_before_it_is_one() {
        let workspace = testkit::TestWorkspace::new();
        let root = workspace.path();
        for directory in
            ["half/objects", "half/refs", "bare/objects", "bare/refs", "given/refs", "given/objects"]
        {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["bare/HEAD", "given/HEAD"] {
            workspace.write_file(file, "ref: refs/heads/main\n");
        }
        let step = |path: &&str| CommitStep {
            path: (*path).to_owned(),
            found_version: None,
            new_file: Some(NewFile { bytes: Arc::default(), executable: None, attributes_from: None }),
        };
        let laid_out = |paths: &[&str]| {
            let steps: Vec<CommitStep> = paths.iter().map(step).collect();
            let found = find_git_layout(&steps, &root, &[root.clone(), root.join("given")]);
            found.map(|found| found.strip_prefix(&root).unwrap().to_string_lossy().into_owned())
        };
        for (paths, found) in [
            (&["HEAD", "config", "objects/info/alternates", "refs/heads/x"][..], Some("")),
            (&["sub/HEAD", "sub/objects/x", "sub/refs/x"], Some("sub")),
            (&["half/HEAD"], Some("half")),
            (&["half/refs/x"], None),
            (&["bare/config"], Some("bare")),
            (&["given/config"], None),
            (&["HEAD", "src/objects/x", "docs/refs"], None),
            (&["a.txt", "b/c.txt"], None),
        ] {
            assert_eq!(laid_out(paths).as_deref(), found, "{paths:?}");
        }
    }
}
