//! Reads the files that the commits of a git repository change, before and after.

use std::path::Path;
use std::process::Command;

/// The maximum number of commits.
const COMMITS: &str = "-n600";
/// The maximum number of files taken from one commit. Larger commits are mostly mechanical changes.
const FILES: usize = 6;

/// Returns path, old text and new text of each file that a commit changes.
pub(crate) fn changed_files(repository: &Path) -> Vec<(String, String, String)> {
    let listed = git(repository, &["log", "--no-merges", "--format=%H", COMMITS]).unwrap_or_default();
    let mut changes = Vec::new();
    for commit in listed.lines() {
        let asked = ["diff-tree", "-r", "--no-commit-id", "--name-only", "--diff-filter=M", "-z", commit];
        let names = git(repository, &asked).unwrap_or_default();
        for path in names.split_terminator('\0').take(FILES).filter(|path| !path.contains("lock")) {
            let text = |of: String| git(repository, &["show", &of]);
            if let (Some(old), Some(new)) =
                (text(format!("{commit}^:{path}")), text(format!("{commit}:{path}")))
            {
                changes.push((format!("{}/{path}", &commit[..10.min(commit.len())]), old, new));
            }
        }
    }
    changes
}

/// Runs git and returns its output, if it is text.
fn git(repository: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}
