//! Plans an apply: compares the layers with the user's tree, and decides what to commit, to merge or to refuse.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use patch::{DirectoryMode, EntryChange, EntryCommit, ModeChange, NewEntry};
use rustix::fs::CWD;

use crate::base_state::{BaseDepth, BaseEntry, BaseState, MAX_MERGED_BYTES};
use crate::entry_kind::{EntryKind, EntryStatus, status_of};
use crate::layer_entries::LayerState;
use crate::merge_texts::merge_texts;
use crate::merged_entries::MergedEntry;
use crate::open_files::{names_in, open_parent, open_readable, read_limited, split};
use crate::root_layers::RootLayers;

/// The changes to apply or to discard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All changes, except those that are held back.
    All,
    /// The changes at these absolute paths and below them.
    Paths(Vec<PathBuf>),
}

impl Selection {
    /// Returns true if the change at `path` is selected.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Paths(paths) => paths.iter().any(|chosen| path.starts_with(chosen)),
        }
    }

    /// Returns true if something below `path` may be selected.
    fn reaches_below(&self, path: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Paths(paths) => paths.iter().any(|chosen| chosen.starts_with(path)),
        }
    }

    /// Returns true if the user named `path` itself, something below it, or the configuration directory around it.
    fn names(&self, path: &Path) -> bool {
        let is_configuration = |chosen: &Path| {
            policy::host_file_by_name(Path::new(chosen.file_name().unwrap_or_default())).is_some()
                || chosen.file_name().is_some_and(|name| name == ".git")
        };
        match self {
            Self::All => false,
            Self::Paths(paths) => paths.iter().any(|chosen| {
                chosen.starts_with(path) || (path.starts_with(chosen) && is_configuration(chosen))
            }),
        }
    }
}

/// A path that the user changed too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathConflict {
    /// The absolute path.
    pub path: PathBuf,
    /// What the user did with it.
    pub why: &'static str,
}

/// A text that the user changed too, and whose changes were joined with those of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedText {
    /// The absolute path.
    pub path: PathBuf,
}

/// A change that is applied only if the user names it: a program of the user's would obey the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBack {
    /// The absolute path.
    pub path: PathBuf,
    /// The user's action that makes it take effect.
    pub when: String,
}

/// A git directory whose changes are applied by git's own rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitDirChange {
    pub(crate) root: usize,
    /// The path of the git directory below the root.
    pub(crate) path: PathBuf,
}

/// The plan of an apply.
#[derive(Debug, Default)]
pub(crate) struct ApplyPlan {
    pub(crate) commit: EntryCommit,
    pub(crate) conflicts: Vec<PathConflict>,
    pub(crate) merged: Vec<MergedText>,
    pub(crate) held_back: Vec<HeldBack>,
    pub(crate) git_dirs: Vec<GitDirChange>,
    /// The paths of each root that the selection takes out of the layers.
    pub(crate) taken: Vec<(usize, PathBuf)>,
    /// True if everything is taken.
    pub(crate) takes_all: bool,
    /// Entries that cannot be applied: sockets and devices.
    pub(crate) unsupported: Vec<PathBuf>,
}

/// Plans the apply of one root.
pub(crate) struct RootPlanner<'a> {
    pub(crate) layers: &'a RootLayers,
    pub(crate) selection: &'a Selection,
    pub(crate) plan: &'a mut ApplyPlan,
}

impl RootPlanner<'_> {
    pub(crate) fn run(&mut self) -> io::Result<()> {
        let layers = self.layers;
        // The directory whose entries were planned together with it.
        let mut planned: Option<PathBuf> = None;
        for (path, entry) in layers.entries.iter() {
            if planned.as_ref().is_some_and(|above| path.starts_with(above)) {
                continue;
            }
            let absolute = layers.root.join(path);
            let is_selected = self.selection.contains(&absolute);
            if !is_selected && !self.selection.reaches_below(&absolute) {
                continue;
            }
            if is_git_directory(layers, path, entry)? {
                if is_selected {
                    self.plan.git_dirs.push(GitDirChange { root: layers.index, path: path.to_owned() });
                    self.take(path);
                }
                planned = Some(path.to_owned());
                continue;
            }
            let user = layers.user_status(path)?;
            if self.holds_back(path, entry, user.as_ref())? {
                planned = Some(path.to_owned());
                continue;
            }
            let is_directory = entry.state == LayerState::Merged || entry.state == LayerState::Opaque;
            let joins = is_directory && user.is_some_and(|user| user.kind == EntryKind::Directory);
            match (joins, is_selected) {
                (true, true) => self.plan_joined_directory(path, entry, user.as_ref())?,
                (true, false) => {}
                (false, true) => {
                    self.plan_entry(path, entry, user)?;
                    self.take_unheld(path);
                    if is_directory {
                        planned = Some(path.to_owned());
                    }
                }
                // Only a part of a new directory is selected.
                (false, false) => {
                    let why = "it lies in a new directory, which has to be named as a whole";
                    self.plan.conflicts.push(PathConflict { path: absolute, why });
                    planned = Some(path.to_owned());
                }
            }
        }
        Ok(())
    }

    /// Takes `path` out of the layers, except for entries below it that are held back.
    fn take_unheld(&mut self, path: &Path) {
        let absolute = self.layers.root.join(path);
        let is_held = |one: &HeldBack| one.path.starts_with(&absolute);
        if !self.plan.held_back.iter().any(is_held) {
            return self.take(path);
        }
        let layers = self.layers;
        for (below, _) in layers.entries.children(path) {
            if !self.plan.held_back.iter().any(|one| one.path == layers.root.join(below)) {
                self.take_unheld(below);
            }
        }
    }

    fn take(&mut self, path: &Path) {
        self.plan.taken.push((self.layers.index, path.to_owned()));
    }

    /// Keeps back what a program of the user's would obey, unless the user names it.
    fn holds_back(
        &mut self,
        path: &Path,
        entry: &MergedEntry,
        user: Option<&EntryStatus>,
    ) -> io::Result<bool> {
        let Some(when) = self.takes_effect(path) else { return Ok(false) };
        let is_changed = match (entry.state, user) {
            (LayerState::Removed, None) => false,
            (LayerState::Replaced, Some(user)) => !self.layers.is_applied(path, entry, user)?,
            (LayerState::Merged, Some(user)) => user.kind != EntryKind::Directory,
            _ => true,
        };
        if is_changed {
            self.plan.held_back.push(HeldBack { path: self.layers.root.join(path), when });
        }
        Ok(is_changed)
    }

    /// Returns the user's action that makes the entry at `path` take effect, unless the user named it.
    fn takes_effect(&self, path: &Path) -> Option<String> {
        if self.selection.names(&self.layers.root.join(path)) {
            return None;
        }
        if path.file_name().is_some_and(|name| name == ".git") || self.is_bare_repository(path) {
            return Some("use git there".to_owned());
        }
        let file = policy::host_file_by_name(path)?;
        (file.role == policy::HostFileRole::Configuration).then_some(file.when)
    }

    /// Returns true if git would take the directory at `path` for a repository.
    fn is_bare_repository(&self, path: &Path) -> bool {
        let has = |name: &str| {
            let below = path.join(name);
            let staged =
                self.layers.entries.get(&below).is_some_and(|entry| entry.state != LayerState::Removed);
            staged || matches!(self.layers.user_status(&below), Ok(Some(_)))
        };
        let touches = |name: &str| self.layers.entries.get(&path.join(name)).is_some();
        let parts = ["HEAD", "objects", "refs"];
        parts.iter().any(|part| touches(part)) && parts.iter().all(|part| has(part))
    }

    /// Plans a directory that exists on both sides: its permissions, and the removal of what an opaque one hides.
    fn plan_joined_directory(
        &mut self,
        path: &Path,
        entry: &MergedEntry,
        user: Option<&EntryStatus>,
    ) -> io::Result<()> {
        let Some(user) = user else { return Ok(()) };
        let base = self.layers.base(path, entry);
        let base_mode = match base {
            Some(BaseState::Present(base)) => base.mode,
            Some(BaseState::Absent | BaseState::Unknown) | None => user.mode,
        };
        if entry.status.mode != user.mode && user.mode == base_mode {
            self.plan
                .commit
                .modes
                .push(ModeChange { path: self.commit_path(path), mode: DirectoryMode(entry.status.mode) });
        }
        if entry.state != LayerState::Opaque {
            return Ok(());
        }
        if let Some(why) = self.conflict(path, entry, Some(user), BaseDepth::Tree)? {
            self.plan.conflicts.push(PathConflict { path: self.layers.root.join(path), why });
            return Ok(());
        }
        let kept: BTreeSet<OsString> = self
            .layers
            .entries
            .children(path)
            .filter_map(|(below, _)| below.file_name().map(Into::into))
            .collect();
        let Some(parent) = open_parent(&self.layers.tree, path)? else { return Ok(()) };
        let opened = open_readable(parent.as_fd(), split(path).1)?;
        for name in names_in(&opened)?.into_iter().filter(|name| !kept.contains(name)) {
            let below = path.join(&name);
            let found = status_of(opened.as_fd(), Path::new(&name))?.map(|status| status.version());
            self.plan.commit.changes.push(EntryChange { path: self.commit_path(&below), found, new: None });
        }
        Ok(())
    }

    /// Plans an entry that replaces or removes the user's, or is new.
    fn plan_entry(&mut self, path: &Path, entry: &MergedEntry, user: Option<EntryStatus>) -> io::Result<()> {
        let found = user.map(|user| user.version());
        let change = |new| EntryChange { path: commit_path(&self.layers.root, path), found, new };
        match (entry.state, &user) {
            (LayerState::Removed, None) => return Ok(()),
            (LayerState::Replaced, Some(user)) if self.layers.is_applied(path, entry, user)? => return Ok(()),
            _ => {}
        }
        if let Some(why) = self.conflict(path, entry, user.as_ref(), BaseDepth::Tree)? {
            match self.merge(path, entry, user.as_ref())? {
                Some(bytes) => {
                    let attributes_of = self.attributes_of_merge(path, entry, user.as_ref());
                    let new = NewEntry::Content { bytes, attributes_of };
                    self.plan.merged.push(MergedText { path: self.layers.root.join(path) });
                    self.plan.commit.changes.push(change(Some(new)));
                }
                None => {
                    self.plan.conflicts.push(PathConflict { path: self.layers.root.join(path), why });
                }
            }
            return Ok(());
        }
        let new = match entry.state {
            LayerState::Removed => None,
            LayerState::Replaced | LayerState::Merged | LayerState::Opaque => {
                let Some(new) = self.new_entry(path, entry) else {
                    self.plan.unsupported.push(self.layers.root.join(path));
                    return Ok(());
                };
                Some(new)
            }
        };
        self.plan.commit.changes.push(change(new));
        Ok(())
    }

    /// Returns the entry to write: a directory with everything in it. `None` for a socket.
    fn new_entry(&mut self, path: &Path, entry: &MergedEntry) -> Option<NewEntry> {
        match entry.status.kind {
            EntryKind::Socket | EntryKind::Device => None,
            EntryKind::File | EntryKind::Link | EntryKind::Fifo => Some(NewEntry::Copy(entry.source.clone())),
            EntryKind::Directory => {
                let children: BTreeMap<PathBuf, MergedEntry> = self
                    .layers
                    .entries
                    .children(path)
                    .filter(|(_, child)| child.state != LayerState::Removed)
                    .map(|(below, child)| (below.to_owned(), child.clone()))
                    .collect();
                let mut entries = Vec::with_capacity(children.len());
                for (below, child) in children {
                    if let Some(when) = self.takes_effect(&below) {
                        self.plan.held_back.push(HeldBack { path: self.layers.root.join(&below), when });
                        continue;
                    }
                    let name = below.file_name().map(OsString::from).unwrap_or_default();
                    match self.new_entry(&below, &child) {
                        Some(new) => entries.push((name, new)),
                        None => self.plan.unsupported.push(self.layers.root.join(&below)),
                    }
                }
                Some(NewEntry::Directory { attributes_of: entry.source.clone(), entries })
            }
        }
    }

    /// Returns what the user did with `path` since the session changed it, if anything.
    fn conflict(
        &self,
        path: &Path,
        entry: &MergedEntry,
        user: Option<&EntryStatus>,
        depth: BaseDepth,
    ) -> io::Result<Option<&'static str>> {
        Ok(match (self.layers.base(path, entry), user) {
            // Without a base, only what exists can be lost.
            (None | Some(BaseState::Absent), None) => None,
            (None, Some(_)) => Some("its state before the session is not known"),
            (Some(BaseState::Absent), Some(_)) => Some("you created it too"),
            (Some(BaseState::Unknown), _) => Some("it changed while the command that changed it ran"),
            (Some(BaseState::Present(_)), None) => Some("you removed it"),
            (Some(BaseState::Present(base)), Some(_)) => {
                let now = BaseEntry::read(&self.layers.tree, path, depth)?;
                let is_same = now.is_some_and(|now| base.is_same(&now)) && self.is_same_below(path)?;
                (!is_same).then_some("you changed it too")
            }
        })
    }

    /// Returns true if what earlier steps changed below `path` is in the user's tree as it was then: the step that
    /// removed or replaced `path` saw it later.
    fn is_same_below(&self, path: &Path) -> io::Result<bool> {
        for bases in &self.layers.bases {
            for (below, base) in bases.below(self.layers.index, path) {
                let now = BaseEntry::read(&self.layers.tree, below, BaseDepth::Entry)?;
                let is_same = match (base, &now) {
                    (BaseState::Absent, now) => now.is_none(),
                    // Its own base, which a directory has for its permissions, was recorded without its entries.
                    (BaseState::Present(base), Some(now)) => base.is_same(now) || base.is_directory(),
                    (BaseState::Present(_), None) | (BaseState::Unknown, _) => false,
                };
                if !is_same {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns the file whose permissions a merged text gets: the session's if it changed them, else the user's.
    fn attributes_of_merge(&self, path: &Path, entry: &MergedEntry, user: Option<&EntryStatus>) -> PathBuf {
        let base = match self.layers.base(path, entry) {
            Some(BaseState::Present(base)) => Some(base.mode),
            Some(BaseState::Absent | BaseState::Unknown) | None => None,
        };
        let session_changed = base.is_some_and(|mode| mode != entry.status.mode);
        match session_changed && user.is_none_or(|user| Some(user.mode) == base) {
            true => entry.source.clone(),
            false => self.layers.root.join(path),
        }
    }

    /// Joins the changes of the user and of the session to a text. Returns `None` if they touch the same lines.
    fn merge(
        &self,
        path: &Path,
        entry: &MergedEntry,
        user: Option<&EntryStatus>,
    ) -> io::Result<Option<Vec<u8>>> {
        let is_file =
            |status: &EntryStatus| status.kind == EntryKind::File && status.size <= MAX_MERGED_BYTES;
        let Some(BaseState::Present(BaseEntry { text: Some(text), .. })) = self.layers.base(path, entry)
        else {
            return Ok(None);
        };
        if !user.is_some_and(is_file) || !is_file(&entry.status) || entry.state != LayerState::Replaced {
            return Ok(None);
        }
        let Some(parent) = open_parent(&self.layers.tree, path)? else { return Ok(None) };
        let theirs = read_limited(parent.as_fd(), split(path).1, MAX_MERGED_BYTES)?;
        let ours = read_limited(CWD, &entry.source, MAX_MERGED_BYTES)?;
        let first = self.first_source(path, entry);
        let first = first.map(|source| read_limited(CWD, &source, MAX_MERGED_BYTES)).transpose()?.flatten();
        let (Some(theirs), Some(ours), Some(first)) = (theirs, ours, first) else { return Ok(None) };
        let Some(base) = text.restore(&first) else { return Ok(None) };
        let texts = [&base, &theirs, &ours].map(|bytes| std::str::from_utf8(bytes).ok());
        let [Some(base), Some(theirs), Some(ours)] = texts else { return Ok(None) };
        Ok(merge_texts(base, theirs, ours).map(String::into_bytes))
    }

    /// Returns the file of the lowest layer, from which the base's text differs.
    fn first_source(&self, path: &Path, entry: &MergedEntry) -> Option<PathBuf> {
        self.layers.entries.layer(entry.first_layer).map(|layer| layer.join(path))
    }

    fn commit_path(&self, path: &Path) -> PathBuf {
        commit_path(&self.layers.root, path)
    }
}

/// Returns the path below `/`: one commit serves all roots.
fn commit_path(root: &Path, path: &Path) -> PathBuf {
    let absolute = root.join(path);
    absolute.strip_prefix("/").map_or_else(|_| absolute.clone(), Path::to_owned)
}

/// Returns true if git's own rules decide about the directory at `path`: it is one, or will be one at the top.
fn is_git_directory(layers: &RootLayers, path: &Path, entry: &MergedEntry) -> io::Result<bool> {
    if path.file_name().is_none_or(|name| name != ".git") || entry.status.kind != EntryKind::Directory {
        return Ok(false);
    }
    let user = layers.user_status(path)?;
    Ok(user.is_some_and(|user| user.kind == EntryKind::Directory) || path.parent() == Some(Path::new("")))
}
