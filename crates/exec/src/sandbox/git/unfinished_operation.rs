//! Unfinished operation, such as a stopped rebase: HEAD, index and branches are held back, and the user is told.
//!
//! Git obeys the files of an operation: `git rebase --continue` runs the commands in them. So only a finished operation
//! lands, as its commits. An unfinished one blocks HEAD, the index and the branches: they would not fit the host's state.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::content_checks::{is_object_id, lines};
use super::host_git_dir::HostGitDir;
use super::landing_plan::{LandingItem, LandingJob};
use super::path_text::{display_path, parts};
use super::upper_dir::UpperDir;

/// The maximum size of the files that are read here: a reference, or an object id.
const MAX_FILE_BYTES: u64 = 1024;

/// An operation that a command started or continued, and did not finish.
#[derive(Debug)]
pub(super) struct UnfinishedOperation {
    dir: PathBuf,
    /// The git directory, possibly of a linked worktree, and the one with the branches.
    git: PathBuf,
    common: PathBuf,
    /// The branches that are checked out, in the sandbox and on the host.
    branches: HashSet<PathBuf>,
    /// True if the host has the git directory. In a new one, HEAD and index land: git needs them.
    on_host: bool,
}

impl UnfinishedOperation {
    /// Describes the operation in the directory `dir`.
    pub(super) fn new(upper: &UpperDir, host: &HostGitDir, dir: &Path) -> Self {
        let git = dir.parent().unwrap_or(Path::new("")).to_owned();
        let linked = git.parent().filter(|above| above.ends_with("worktrees")).and_then(Path::parent);
        let common = linked.unwrap_or(&git).to_owned();
        let head = git.join("HEAD");
        let on_host = host.exists(&head);
        let texts = [upper.read_small(&head, MAX_FILE_BYTES), host.read_small(&head, MAX_FILE_BYTES)];
        let branches = texts.into_iter().flatten().filter_map(|text| {
            let name = lines(&text).next()?.strip_prefix(b"ref: ")?;
            Some(PathBuf::from(std::str::from_utf8(name).ok()?))
        });
        let branches = branches.collect();
        Self { dir: dir.to_owned(), git, common, branches, on_host }
    }

    /// Returns true if this item must not land without the operation.
    pub(super) fn blocks(&self, item: &LandingItem) -> bool {
        let own = item.path.strip_prefix(&self.git).is_ok_and(|below| match parts(below).as_slice() {
            [b"HEAD" | b"ORIG_HEAD" | b"index" | b"AUTO_MERGE" | b"SQUASH_MSG"] | [b"logs", b"HEAD"] => true,
            [b"CHERRY_PICK_HEAD" | b"REVERT_HEAD" | b"REBASE_HEAD"] => true,
            [b"refs", b"rewritten", ..] | [b"logs", b"refs", b"rewritten", ..] => true,
            // Another operation in the same git directory that was finished.
            [b"rebase-merge" | b"rebase-apply" | b"sequencer"] => true,
            [name] => name.starts_with(b"MERGE_"),
            _ => false,
        });
        let shared = || {
            item.path.strip_prefix(&self.common).is_ok_and(|below| {
                let name = below.strip_prefix("logs").unwrap_or(below);
                // A branch that is packed now must be visible exactly once.
                let packed = below == Path::new("packed-refs")
                    || below.starts_with("refs") && matches!(item.job, LandingJob::Remove);
                packed || self.branches.contains(name)
            })
        };
        self.on_host && (own || shared())
    }

    /// Describes the state of the repository, and says what to do.
    pub(super) fn describe(&self, upper: &UpperDir) -> String {
        let operation = match parts(&self.dir).as_slice() {
            [.., b"rebase-merge"] => "rebase",
            [.., b"rebase-apply"] => "rebase or git am",
            _ => "cherry-pick or revert",
        };
        let state = if self.on_host {
            " HEAD, index and branch are as before the command, the working tree is not."
        } else {
            ""
        };
        let stash = upper.read_small(&self.dir.join("autostash"), MAX_FILE_BYTES);
        let stash = stash.as_deref().and_then(|text| lines(text).next()).filter(|id| is_object_id(id));
        let stash = stash.map(String::from_utf8_lossy).map_or_else(String::new, |id| {
            format!(" Its autostash holds uncommitted changes: git stash apply {id} restores them.")
        });
        format!(
            "a {operation} ({}).{state}{stash} Finish it in one command, or run it outside the sandbox",
            display_path(&self.dir)
        )
    }
}
