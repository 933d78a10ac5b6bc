//! Finds the gitlinks of all branches and tags: paths at which they name another repository, such as a submodule.
//!
//! `git switch` and `git reset` bring such a path into the index. `git status` then enters the repository there and
//! obeys its configuration. So these paths are watched for every branch.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::git_settings::MAX_CONFIG_FILE_BYTES;
use super::object_format::{self, ObjectFormat};
use super::object_store::{ObjectStore, StoredObjectKind};
use super::{Repository, sys};

/// The maximum number of references.
const MAX_TIPS: usize = 10_000;
/// The maximum number of gitlinks.
const MAX_LINKS: usize = 1_000;
/// The maximum number of older trees read after a run.
const MAX_OLDER_TREES: usize = 2_000;
/// The maximum number of nested tags.
const MAX_TAG_NESTING: usize = 5;
const MAX_PACKED_REFS_BYTES: u64 = 16 << 20;
/// The maximum size of a reference, which is one line.
const MAX_REFERENCE_BYTES: u64 = 1024;

/// The gitlinks of one repository, found tree by tree.
#[derive(Debug, Default)]
pub(super) struct TipGitlinks {
    /// Ids of references, and trees with their paths, that were read.
    seen_tips: HashSet<Vec<u8>>,
    seen_trees: HashSet<TreeAtPath>,
    /// Trees that are still to be read.
    queued_trees: VecDeque<TreeAtPath>,
    /// The paths of gitlinks below the working tree.
    pub(super) gitlinks: Vec<PathBuf>,
}

/// A tree: its path below the top, and its id.
type TreeAtPath = (PathBuf, Vec<u8>);

impl TipGitlinks {
    /// Reads the new references of `repository`, and at most `budget` trees. Returns true if these were all of the
    /// new ones.
    pub(super) fn scan(&mut self, repository: &Repository, budget: &mut usize) -> bool {
        let Ok(git) = sys::root(&repository.at) else { return true };
        let config = sys::read_small_file(git.as_fd(), Path::new("config"), MAX_CONFIG_FILE_BYTES);
        let Some(format) = config.and_then(|config| ObjectFormat::from_config(&config)) else { return true };
        let mut new = reference_ids(git.as_fd(), format);
        new.retain(|id| self.seen_tips.insert(id.clone()));
        if new.is_empty() && self.queued_trees.is_empty() {
            return true;
        }
        let store = ObjectStore::open(git, format);
        let fresh = new.iter().filter_map(|id| Some((PathBuf::new(), tree_of(&store, id)?))).collect();
        let mut rest = self.walk(&store, format, fresh, budget);
        let all = rest.is_empty();
        // A repository that is too large to read at once is read on, a part at a time.
        let older = std::mem::take(&mut self.queued_trees);
        rest.append(&mut self.walk(&store, format, older, &mut (*budget).min(MAX_OLDER_TREES)));
        self.queued_trees = rest;
        all
    }

    /// Reads `trees` and their subtrees. Returns those that exceed the budget.
    fn walk(
        &mut self,
        store: &ObjectStore,
        format: ObjectFormat,
        mut trees: VecDeque<TreeAtPath>,
        budget: &mut usize,
    ) -> VecDeque<TreeAtPath> {
        // ends: each tree is read once for each path, and only so many are
        while *budget > 0
            && let Some(next) = trees.pop_front()
        {
            if self.seen_trees.insert(next.clone()) {
                *budget -= 1;
                self.record_tree(store, &next, format, &mut trees);
            }
        }
        trees
    }

    /// Records the gitlinks of one tree, and queues its subtrees.
    fn record_tree(
        &mut self,
        store: &ObjectStore,
        (path, id): &TreeAtPath,
        format: ObjectFormat,
        next: &mut VecDeque<TreeAtPath>,
    ) {
        let Some((StoredObjectKind::Tree, content)) = store.read(id) else { return };
        let mut rest = content.as_slice();
        // ends: each turn takes an entry
        while let Some((entry, after)) = GitTreeEntry::parse_first(rest, format) {
            rest = after;
            // A name with a `/` would lead elsewhere; git rejects it.
            if entry.name.is_empty() || entry.name.contains(&b'/') || entry.name == b".." {
                continue;
            }
            let below = path.join(OsStr::from_bytes(entry.name));
            match entry.mode & 0o170_000 {
                0o040_000 => next.push_back((below, entry.id.to_vec())),
                0o100_000 | 0o120_000 => {}
                // Git takes every other mode for that of a gitlink.
                _ if self.gitlinks.len() < MAX_LINKS && !self.gitlinks.contains(&below) => {
                    self.gitlinks.push(below);
                }
                _ => {}
            }
        }
    }
}

/// An entry of a tree.
struct GitTreeEntry<'a> {
    mode: u32,
    name: &'a [u8],
    id: &'a [u8],
}

impl<'a> GitTreeEntry<'a> {
    /// Parses the first entry of `tree`, and returns the rest of the tree.
    fn parse_first(tree: &'a [u8], format: ObjectFormat) -> Option<(Self, &'a [u8])> {
        let space = tree.iter().position(|&byte| byte == b' ')?;
        let end = tree.iter().position(|&byte| byte == 0).filter(|end| *end > space)?;
        let (id, rest) = tree[end + 1..].split_at_checked(format.id_length())?;
        // As git parses it: leading zeros are allowed, and bits beyond 16 are lost.
        let digit =
            |mode: u32, byte: &u8| mode.wrapping_shl(3).wrapping_add(u32::from(byte.wrapping_sub(b'0')));
        let mode = tree[..space].iter().fold(0, digit) & 0xffff;
        Some((Self { mode, name: &tree[space + 1..end], id }, rest))
    }
}

/// Returns the tree of the commit `id`, or of the commit that a tag leads to.
fn tree_of(store: &ObjectStore, id: &[u8]) -> Option<Vec<u8>> {
    let mut id = id.to_vec();
    for _ in 0..MAX_TAG_NESTING {
        let (kind, content) = store.read(&id)?;
        let line = content.split(|&byte| byte == b'\n').next()?;
        match kind {
            StoredObjectKind::Commit => return object_format::parse_id(line.strip_prefix(b"tree ")?),
            StoredObjectKind::Tag => id = object_format::parse_id(line.strip_prefix(b"object ")?)?,
            StoredObjectKind::Tree => return Some(id),
        }
    }
    None
}

/// Returns the ids of all references.
fn reference_ids(git: BorrowedFd<'_>, format: ObjectFormat) -> Vec<Vec<u8>> {
    let mut tips = Vec::new();
    let mut add = |text: &[u8]| {
        let word = text.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
        if tips.len() < MAX_TIPS && format.is_id(word) {
            tips.extend(object_format::parse_id(word));
        }
    };
    let mut waiting = VecDeque::from([PathBuf::from("refs")]);
    let mut left = MAX_TIPS * 2;
    sys::read_small_file(git, Path::new("HEAD"), MAX_REFERENCE_BYTES).iter().for_each(|head| add(head));
    // ends: only so many names are read
    while let Some(path) = waiting.pop_front() {
        let Ok(directory) = sys::beneath(git, &path, sys::LIST_FLAGS) else { continue };
        let _seen = sys::list(directory.as_fd(), |name, kind| {
            if kind == FileType::Directory {
                waiting.push_back(path.join(name));
            } else if let Some(text) =
                sys::read_small_file(directory.as_fd(), Path::new(name), MAX_REFERENCE_BYTES)
            {
                add(&text);
            }
            left = left.saturating_sub(1);
            if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    let packed =
        sys::read_small_file(git, Path::new("packed-refs"), MAX_PACKED_REFS_BYTES).unwrap_or_default();
    packed.split(|&byte| byte == b'\n').for_each(add);
    tips
}
