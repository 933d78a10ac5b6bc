//! The list of pending changes for a review: removals first, then programs, binaries and secrets, mass folded.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;

use crate::apply_plan::PathConflict;
use crate::base_state::BaseState;
use crate::entry_kind::{EntryKind, EntryStatus, status_of};
use crate::layer_entries::LayerState;
use crate::merged_entries::MergedEntry;
use crate::open_files::{names_in, open_parent, open_readable, read_limited, split};
use crate::root_layers::RootLayers;
use crate::stage::Stage;
use crate::stage_fault::StageFault;

/// Directories that programs generate. Their changes are counted, and not listed.
const GENERATED_DIRECTORIES: &[&str] = &[
    ".cache", ".gradle", ".mypy_cache", ".next", ".nuxt", ".pytest_cache", ".ruff_cache", ".tox", ".venv",
    "__pycache__", "build", "dist", "node_modules", "target", "venv",
];
/// A new directory with more entries is counted, and not listed.
const MAX_LISTED_ENTRIES: usize = 50;
/// The bytes at the beginning of a file that decide if it is binary.
const SAMPLE_BYTES: usize = 8192;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StagedChangeKind {
    /// The user's entry is removed.
    Removed,
    /// The user's entry becomes one of another kind.
    Replaced,
    /// The content changes.
    Modified,
    /// Only the permissions change.
    Permissions,
    /// The entry is new.
    Added,
}

impl StagedChangeKind {
    /// Returns its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Replaced => "replaced",
            Self::Modified => "modified",
            Self::Permissions => "permissions",
            Self::Added => "added",
        }
    }
}

/// A pending change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The absolute path.
    pub path: PathBuf,
    /// The kind of change.
    pub kind: StagedChangeKind,
    /// The kind of the entry: the old one of a removal, else the new one.
    pub entry: EntryKind,
    /// The size of the file before; `None` if there was none.
    pub old_size: Option<u64>,
    /// The size of the file afterwards; `None` if there is none.
    pub new_size: Option<u64>,
    /// True if the file becomes executable, or is new and executable.
    pub becomes_executable: bool,
    /// True if it is not text.
    pub is_binary: bool,
    /// The user's action that makes it take effect, if a program obeys it.
    pub takes_effect: Option<String>,
    /// The place of the new content; `None` if it is removed.
    pub source: Option<PathBuf>,
}

/// A directory whose changes are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedDirectory {
    /// The absolute path.
    pub path: PathBuf,
    /// The number of entries that are added.
    pub added: usize,
    /// The number of entries that change.
    pub modified: usize,
    /// The number of entries that are removed.
    pub removed: usize,
    /// The bytes of all new content.
    pub bytes: u64,
}

/// All pending changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeList {
    /// The changes, removals first.
    pub changes: Vec<Change>,
    /// Directories whose changes are counted.
    pub folded: Vec<FoldedDirectory>,
    /// Git directories with changes, and the number of their files.
    pub git: Vec<(PathBuf, usize)>,
    /// Paths that the user changed too.
    pub conflicts: Vec<PathConflict>,
}

impl ChangeList {
    /// Returns true if nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.folded.is_empty() && self.git.is_empty()
    }

    /// Returns the number of changed files.
    pub fn count(&self) -> usize {
        let folded: usize = self.folded.iter().map(|one| one.added + one.modified + one.removed).sum();
        let git: usize = self.git.iter().map(|(_, files)| files).sum();
        self.changes.len() + folded + git
    }
}

impl Stage {
    /// Lists the pending changes.
    pub fn changes(&self) -> Result<ChangeList, StageFault> {
        let mut list = ChangeList::default();
        for layers in self.root_layers()? {
            self.at_directory(RootLister { layers: &layers, list: &mut list }.run())?;
        }
        list.changes.sort_by(|one, other| (one.kind, &one.path).cmp(&(other.kind, &other.path)));
        list.conflicts = self.conflicts()?;
        Ok(list)
    }
}

struct RootLister<'a> {
    layers: &'a RootLayers,
    list: &'a mut ChangeList,
}

impl RootLister<'_> {
    fn run(&mut self) -> io::Result<()> {
        let layers = self.layers;
        let mut folded: BTreeMap<PathBuf, FoldedDirectory> = BTreeMap::new();
        let mut removed: Option<PathBuf> = None;
        for (path, entry) in layers.entries.iter() {
            if removed.as_ref().is_some_and(|above| path.starts_with(above)) {
                continue;
            }
            let user = layers.user_status(path)?;
            let is_git = path.file_name().is_some_and(|name| name == ".git")
                && entry.status.kind == EntryKind::Directory;
            if is_git && (user.is_some() || path.parent() == Some(Path::new(""))) {
                let files =
                    layers.entries.below(path).filter(|(_, one)| one.status.kind != EntryKind::Directory);
                let count = files.count();
                if count > 0 {
                    self.list.git.push((layers.root.join(path), count));
                }
                removed = Some(path.to_owned());
                continue;
            }
            if entry.state == LayerState::Opaque {
                self.list_hidden(path)?;
            }
            let Some(change) = self.change(path, entry, user)? else { continue };
            match self.folded_above(path)? {
                Some(above) => {
                    let one = folded.entry(above.clone()).or_insert_with(|| FoldedDirectory {
                        path: layers.root.join(&above),
                        added: 0,
                        modified: 0,
                        removed: 0,
                        bytes: 0,
                    });
                    one.count(&change);
                }
                None if change.kind == StagedChangeKind::Added
                    && entry.status.kind == EntryKind::Directory =>
                {
                    // A new directory shows in its entries, unless it has none.
                    if layers.entries.below(path).next().is_none() {
                        self.list.changes.push(change);
                    }
                }
                None => self.list.changes.push(change),
            }
        }
        self.list.folded.extend(folded.into_values());
        Ok(())
    }

    /// Lists the user's entries that a new directory in their place removes.
    fn list_hidden(&mut self, path: &Path) -> io::Result<()> {
        let Some(parent) = open_parent(&self.layers.tree, path)? else { return Ok(()) };
        let Ok(opened) = open_readable(parent.as_fd(), split(path).1) else { return Ok(()) };
        for name in names_in(&opened).unwrap_or_default() {
            let below = path.join(&name);
            if self.layers.entries.get(&below).is_some() {
                continue;
            }
            let Some(status) = status_of(opened.as_fd(), Path::new(&name))? else { continue };
            self.list.changes.push(Change {
                path: self.layers.root.join(&below),
                kind: StagedChangeKind::Removed,
                entry: status.kind,
                old_size: (status.kind == EntryKind::File).then_some(status.size),
                new_size: None,
                becomes_executable: false,
                is_binary: false,
                takes_effect: None,
                source: None,
            });
        }
        Ok(())
    }

    /// Returns the directory above `path` whose changes are counted: a generated one, or a new one with many entries.
    fn folded_above(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let above: Vec<&Path> =
            path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        for directory in above.into_iter().rev() {
            let name = directory.file_name().unwrap_or_default();
            if GENERATED_DIRECTORIES.iter().any(|known| name == *known) {
                return Ok(Some(directory.to_owned()));
            }
            let is_new = self.layers.user_status(directory)?.is_none();
            if is_new && self.layers.entries.below(directory).nth(MAX_LISTED_ENTRIES).is_some() {
                return Ok(Some(directory.to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns the change at `path`, or `None` if the user's entry is the same already.
    fn change(
        &self,
        path: &Path,
        entry: &MergedEntry,
        user: Option<EntryStatus>,
    ) -> io::Result<Option<Change>> {
        let staged = &entry.status;
        let kind = match (entry.state, &user) {
            (LayerState::Removed, None) => return Ok(None),
            (LayerState::Removed, Some(_)) => StagedChangeKind::Removed,
            (_, None) => StagedChangeKind::Added,
            (_, Some(user)) if user.kind != staged.kind => StagedChangeKind::Replaced,
            (LayerState::Merged | LayerState::Opaque, Some(user)) => {
                let base = match self.layers.base(path, entry) {
                    Some(BaseState::Present(base)) => base.mode,
                    Some(BaseState::Absent | BaseState::Unknown) | None => user.mode,
                };
                if staged.mode == user.mode || user.mode != base {
                    return Ok(None);
                }
                StagedChangeKind::Permissions
            }
            (LayerState::Replaced, Some(user)) => match self.layers.is_applied(path, entry, user)? {
                true => return Ok(None),
                false if self.only_permissions_differ(path, entry, user)? => StagedChangeKind::Permissions,
                false => StagedChangeKind::Modified,
            },
        };
        let is_removed = kind == StagedChangeKind::Removed;
        let file_size = |status: &EntryStatus| (status.kind == EntryKind::File).then_some(status.size);
        let was_executable = user.as_ref().is_some_and(is_executable);
        Ok(Some(Change {
            path: self.layers.root.join(path),
            kind,
            entry: user.as_ref().filter(|_| is_removed).map_or(staged.kind, |user| user.kind),
            old_size: user.as_ref().and_then(file_size),
            new_size: if is_removed { None } else { file_size(staged) },
            becomes_executable: !is_removed && is_executable(staged) && !was_executable,
            is_binary: self.is_binary(path, entry, is_removed)?,
            takes_effect: policy::host_file_by_name(path).map(|file| file.when),
            source: (!is_removed).then(|| entry.source.clone()),
        }))
    }

    fn only_permissions_differ(
        &self,
        path: &Path,
        entry: &MergedEntry,
        user: &EntryStatus,
    ) -> io::Result<bool> {
        let alike = MergedEntry { status: EntryStatus { mode: user.mode, ..entry.status }, ..entry.clone() };
        self.layers.is_applied(path, &alike, user)
    }

    fn is_binary(&self, path: &Path, entry: &MergedEntry, is_removed: bool) -> io::Result<bool> {
        let opened = if is_removed {
            let Some(parent) = open_parent(&self.layers.tree, path)? else { return Ok(false) };
            if !self.layers.user_status(path)?.is_some_and(|status| status.kind == EntryKind::File) {
                return Ok(false);
            }
            open_readable(parent.as_fd(), split(path).1)
        } else if entry.status.kind == EntryKind::File {
            open_readable(CWD, &entry.source)
        } else {
            return Ok(false);
        };
        let Ok(opened) = opened else { return Ok(false) };
        let mut sample = [0; SAMPLE_BYTES];
        let read = rustix::io::read(&opened, &mut sample)?;
        Ok(sample[..read].contains(&0))
    }
}

fn is_executable(status: &EntryStatus) -> bool {
    status.kind == EntryKind::File && status.mode & 0o111 != 0
}

impl FoldedDirectory {
    fn count(&mut self, change: &Change) {
        match change.kind {
            StagedChangeKind::Added => self.added += 1,
            StagedChangeKind::Modified | StagedChangeKind::Permissions | StagedChangeKind::Replaced => {
                self.modified += 1;
            }
            StagedChangeKind::Removed => self.removed += 1,
        }
        self.bytes += change.new_size.unwrap_or(0);
    }
}

impl Stage {
    /// Returns the text before and after a change, for a diff. `None` if either is binary or larger than `limit`.
    pub fn texts(&self, change: &Change, limit: u64) -> Result<Option<(String, String)>, StageFault> {
        let before = match change.old_size {
            Some(_) => read_text(&change.path, limit),
            None => Some(String::new()),
        };
        let after = match (&change.source, change.new_size) {
            (Some(source), Some(_)) => read_text(source, limit),
            _ => Some(String::new()),
        };
        Ok(before.zip(after))
    }
}

fn read_text(path: &Path, limit: u64) -> Option<String> {
    let (parent, name) = split(path);
    let parent = crate::open_files::open_directory(parent).ok()?;
    String::from_utf8(read_limited(parent.as_fd(), name, limit).ok()??).ok()
}
