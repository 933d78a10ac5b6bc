//! The listed entries of one directory, or of a part of a large one, and the visit of each entry.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;

use rustix::fs::{AtFlags, FileType};

use super::super::ignore_rules::{IgnoreRules, SpecialNames};
use super::super::sys::{self, LinkHandling};
use super::super::{FileKind, WalkEntry};
use super::{IgnoreFiles, MAX_DEPTH, PendingDirectory, SharedWalk, WalkControl};

/// Entry names with their kinds; all names share one allocation.
#[derive(Debug, Default)]
pub(super) struct EntryNames {
    bytes: Vec<u8>,
    /// Start and end of each name in `bytes`, and the kind that the directory states.
    spans: Vec<(usize, usize, FileType)>,
    /// The ignore files among the names.
    pub(super) special: SpecialNames,
}

impl EntryNames {
    pub(super) fn push(&mut self, name: &[u8], kind: FileType) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.spans.push((begin, self.bytes.len(), kind));
        self.special.note(name);
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.spans.sort_unstable_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
    }

    fn get(&self, index: usize) -> (&[u8], FileType) {
        let (begin, end, kind) = self.spans[index];
        (&self.bytes[begin..end], kind)
    }
}

impl SharedWalk<'_> {
    /// Opens the directory at `path` beneath the start of the walk. A link in its place is never followed.
    pub(super) fn open_directory(&self, path: &[u8]) -> Option<OwnedFd> {
        let below = Path::new(sys::file_name(path));
        let fd = sys::beneath(self.start.as_fd(), below, sys::LIST, LinkHandling::Refuse);
        if fd.is_err() {
            self.count_unreadable();
        }
        fd.ok()
    }

    /// Adds the directory's own ignore rules to those of its ancestors.
    pub(super) fn add_rules(&self, dir: &mut PendingDirectory, fd: BorrowedFd<'_>, special: SpecialNames) {
        match self.ignore {
            IgnoreFiles::Everything => {}
            IgnoreFiles::Respect if special == SpecialNames::NONE => {}
            IgnoreFiles::Respect => {
                let mut path = self.prefix.clone();
                path.extend_from_slice(&dir.path);
                let path = Path::new(sys::file_name(&path));
                dir.rules = IgnoreRules::with_directory(
                    dir.rules.as_ref(),
                    fd,
                    path,
                    special,
                    (self.deny, &self.budget),
                );
            }
        }
    }
}

/// The directory whose entries are visited.
pub(super) struct VisitedDirectory<'d> {
    dir: &'d PendingDirectory,
    fd: BorrowedFd<'d>,
    /// The length of its absolute path, including the trailing `/`.
    path_len: usize,
}

/// Visits entries with one visitor and one path buffer.
pub(super) struct EntryVisits<'w, 'a, V> {
    walk: &'w SharedWalk<'a>,
    visitor: V,
    /// The absolute path of the current entry, rebuilt in place so that no entry costs an allocation.
    full_path: Vec<u8>,
}

impl<'w, 'a, V: FnMut(&WalkEntry<'_>) -> WalkControl> EntryVisits<'w, 'a, V> {
    pub(super) fn new(walk: &'w SharedWalk<'a>, visitor: V) -> Self {
        Self { walk, visitor, full_path: Vec::new() }
    }

    /// Starts visiting the entries of `dir`, open as `fd`.
    pub(super) fn enter<'d>(&mut self, dir: &'d PendingDirectory, fd: &'d OwnedFd) -> VisitedDirectory<'d> {
        self.full_path.clear();
        self.full_path.extend_from_slice(&self.walk.prefix);
        self.full_path.extend_from_slice(&dir.path);
        if !dir.path.is_empty() {
            self.full_path.push(b'/');
        }
        VisitedDirectory { dir, fd: fd.as_fd(), path_len: self.full_path.len() }
    }

    /// Visits one entry, unless it is denied or ignored. Returns the directory to descend into, if it is one.
    pub(super) fn visit(
        &mut self,
        here: &VisitedDirectory<'_>,
        names: &EntryNames,
        index: usize,
    ) -> Option<PendingDirectory> {
        let (name, kind) = names.get(index);
        self.full_path.truncate(here.path_len);
        self.full_path.extend_from_slice(name);
        if self.walk.deny.denying_entry_pattern(Path::new(sys::file_name(&self.full_path))).is_some() {
            self.walk.denied.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let kind = self.resolve_kind(here, name, kind)?;
        let is_dir = kind == FileKind::Directory;
        if here.dir.rules.as_ref().is_some_and(|rules| rules.is_ignored(&self.full_path, is_dir)) {
            return None;
        }
        let depth = here.dir.depth + 1;
        let offset = self.walk.prefix.len();
        let entry = WalkEntry { dir: here.fd, name, full_path: &self.full_path, offset, kind, depth };
        match (self.visitor)(&entry) {
            WalkControl::Continue if is_dir => self.descend(here, name, depth),
            WalkControl::Continue | WalkControl::Skip => None,
            WalkControl::Stop => {
                self.walk.halt();
                None
            }
        }
    }

    /// Returns the kind of an entry. Some file systems do not state it in the directory.
    fn resolve_kind(&self, here: &VisitedDirectory<'_>, name: &[u8], kind: FileType) -> Option<FileKind> {
        if kind != FileType::Unknown {
            return Some(FileKind::from_file_type(kind));
        }
        match rustix::fs::statat(here.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(FileKind::from_file_type(FileType::from_raw_mode(stat.st_mode))),
            Err(_) => {
                self.walk.count_unreadable();
                None
            }
        }
    }

    fn descend(&self, here: &VisitedDirectory<'_>, name: &[u8], depth: usize) -> Option<PendingDirectory> {
        let is_closed = name == b".git" && self.walk.ignore == IgnoreFiles::Respect;
        if is_closed || depth >= self.walk.max_depth {
            return None;
        }
        if depth >= MAX_DEPTH {
            self.walk.count_unreadable();
            return None;
        }
        let path = self.full_path[self.walk.prefix.len()..].to_vec();
        Some(PendingDirectory { path, depth, rules: here.dir.rules.clone() })
    }
}
