//! `.gitignore`, `.ignore` and `.git/info/exclude`, read through directory descriptors and layered like ripgrep's.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use policy::DenyRead;
use rustix::fs::AtFlags;

use super::sys::{self, LinkHandling};
use super::{FileHandle, FileStat};

/// Longer ignore files are cut off; no hand-written one reaches this size.
const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// Bounds the cost of all ignore files of one walk. Compiling takes microseconds for a line and about a kilobyte for
/// a wildcard, so a hostile tree must not have millions of them. Rules beyond the budget are not read.
#[derive(Debug)]
pub(super) struct IgnoreBudget {
    lines: AtomicUsize,
    wildcards: AtomicUsize,
}

impl Default for IgnoreBudget {
    fn default() -> Self {
        Self { lines: AtomicUsize::new(50_000), wildcards: AtomicUsize::new(20_000) }
    }
}

impl IgnoreBudget {
    /// Deducts the cost of compiling `line`. Returns false if the budget is exhausted.
    fn deduct_line(&self, line: &str) -> bool {
        let take = |left: &AtomicUsize, cost: usize| {
            left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(cost)).is_ok()
        };
        take(&self.lines, 1) && take(&self.wildcards, policy::count_wildcards(line))
    }
}

/// The ignore rules of one directory, linked through `outer` to those of its ancestors.
///
/// A directory without rules has no layer, so a tree without ignore files costs nothing.
#[derive(Debug)]
pub(super) struct IgnoreRules {
    outer: Option<Arc<IgnoreRules>>,
    /// The offset in an absolute path at which the part relative to this directory begins.
    offset: usize,
    dot_ignore: Option<Gitignore>,
    gitignore: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// Git's rules end at the top of a repository; those of `.ignore` do not.
    is_repository: bool,
}

/// The special names that a directory contains, or may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SpecialNames {
    pub(super) dot_ignore: bool,
    pub(super) gitignore: bool,
    pub(super) git: bool,
}

impl SpecialNames {
    pub(super) const NONE: Self = Self { dot_ignore: false, gitignore: false, git: false };
    /// The names are unknown: each file has to be tried.
    pub(super) const UNKNOWN: Self = Self { dot_ignore: true, gitignore: true, git: true };

    pub(super) fn note(&mut self, name: &[u8]) {
        match name {
            b".ignore" => self.dot_ignore = true,
            b".gitignore" => self.gitignore = true,
            b".git" => self.git = true,
            _ => {}
        }
    }
}

impl IgnoreRules {
    /// Adds the rules of the directory `fd`, whose absolute path is `path`, to the `outer` rules.
    pub(super) fn with_directory(
        outer: Option<&Arc<IgnoreRules>>,
        fd: BorrowedFd<'_>,
        path: &Path,
        special: SpecialNames,
        (deny, budget): (&DenyRead, &IgnoreBudget),
    ) -> Option<Arc<IgnoreRules>> {
        if special == SpecialNames::NONE {
            return outer.cloned();
        }
        let load = |wanted: bool, name: &str| {
            if wanted { compile_ignore_file(fd, path, Path::new(name), (deny, budget)) } else { None }
        };
        let is_repository = special.git && rustix::fs::statat(fd, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let layer = IgnoreRules {
            outer: outer.cloned(),
            offset: relative_offset(path),
            dot_ignore: load(special.dot_ignore, ".ignore"),
            gitignore: load(special.gitignore, ".gitignore"),
            exclude: load(is_repository, ".git/info/exclude"),
            is_repository,
        };
        let has_rules = layer.dot_ignore.is_some() || layer.gitignore.is_some() || layer.exclude.is_some();
        let ends_rules = layer.is_repository && outer.is_some();
        if has_rules || ends_rules { Some(Arc::new(layer)) } else { layer.outer }
    }

    /// Returns the rules in effect in the parent of `start`: those of each directory from `root` down.
    pub(super) fn for_ancestors(
        start: &FileHandle,
        root: &Path,
        limits: (&DenyRead, &IgnoreBudget),
    ) -> Option<Arc<IgnoreRules>> {
        let mut dirs: Vec<&Path> =
            start.path().ancestors().skip(1).take_while(|dir| dir.starts_with(root)).collect();
        dirs.reverse();
        let top = sys::root(root).ok()?;
        let mut layer = None;
        for dir in dirs {
            let below = dir.strip_prefix(root).expect("taken while below the root");
            let Ok(fd) = sys::beneath(top.as_fd(), below, sys::PEEK, LinkHandling::Refuse) else { break };
            layer = Self::with_directory(layer.as_ref(), fd.as_fd(), dir, SpecialNames::UNKNOWN, limits);
        }
        layer
    }

    /// Returns true if the rules hide the file at the absolute path `path`. The innermost rule wins. `.ignore` takes
    /// precedence over `.gitignore`, and that over `exclude`, as in ripgrep.
    pub(super) fn is_ignored(&self, path: &[u8], is_dir: bool) -> bool {
        let mut by_git = None;
        let mut by_exclude = None;
        let mut in_repository = true;
        let mut at = Some(self);
        // ends: a layer has one outer layer for each directory above it
        while let Some(layer) = at {
            let below = Path::new(sys::file_name(path.get(layer.offset..).unwrap_or_default()));
            let ask = |rules: &Option<Gitignore>| match_ignore_rules(rules.as_ref()?, below, is_dir);
            if let Some(hidden) = ask(&layer.dot_ignore) {
                return hidden;
            }
            if in_repository {
                by_git = by_git.or_else(|| ask(&layer.gitignore));
                by_exclude = by_exclude.or_else(|| ask(&layer.exclude));
            }
            in_repository &= !layer.is_repository;
            at = layer.outer.as_deref();
        }
        by_git.or(by_exclude).unwrap_or(false)
    }
}

/// Returns the offset in an absolute path at which the part relative to `dir` begins.
pub(super) fn relative_offset(dir: &Path) -> usize {
    let bytes = dir.as_os_str().as_encoded_bytes();
    if bytes.ends_with(b"/") { bytes.len() } else { bytes.len() + 1 }
}

fn match_ignore_rules(rules: &Gitignore, below: &Path, is_dir: bool) -> Option<bool> {
    match rules.matched(below, is_dir) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// Compiles the ignore file `name` in `dir`. Links are not followed, as in git. A denied file is not read.
fn compile_ignore_file(
    dir: BorrowedFd<'_>,
    path: &Path,
    name: &Path,
    (deny, budget): (&DenyRead, &IgnoreBudget),
) -> Option<Gitignore> {
    if deny.denying_pattern(&path.join(name)).is_some() {
        return None;
    }
    let fd = sys::beneath(dir, name, sys::READ, LinkHandling::Refuse).ok()?;
    let text = read_ignore_file(fd)?;
    // With ".", paths are relative to the file's directory and no prefix is stripped from them.
    let mut builder = GitignoreBuilder::new(".");
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
    for line in text.split(|&byte| byte == b'\n') {
        // A line that is not a glob or not UTF-8 is skipped, as git and ripgrep do.
        if let Ok(line) = std::str::from_utf8(line)
            && !line.trim().is_empty()
            && policy::glob_fault(line).is_none()
            && budget.deduct_line(line)
        {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

fn read_ignore_file(fd: OwnedFd) -> Option<Vec<u8>> {
    let stat = FileStat::from_stat(&rustix::fs::fstat(&fd).ok()?);
    if stat.kind != super::FileKind::File {
        return None;
    }
    let mut text = Vec::new();
    std::fs::File::from(fd).take(MAX_IGNORE_FILE_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_taken_until_the_budget_is_used_up() {
        let budget = IgnoreBudget { lines: AtomicUsize::new(3), wildcards: AtomicUsize::new(4) };
        let taken = ["*.a", "**/b*", "plain", "*.c"].map(|line| budget.deduct_line(line));
        assert_eq!(taken, [true, true, true, false]);
        let budget = IgnoreBudget { lines: AtomicUsize::new(9), wildcards: AtomicUsize::new(4) };
        assert_eq!(["*.a", "*****", "plain"].map(|line| budget.deduct_line(line)), [true, false, true]);
    }
}
