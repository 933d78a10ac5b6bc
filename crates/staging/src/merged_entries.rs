//! Joins the layers of a root: for each changed path the topmost state, and the file that holds it.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::entry_kind::EntryStatus;
use crate::layer_entries::{LayerEntry, LayerState, for_each_entry};

/// The layers of a root joined into one.
#[derive(Debug, Default)]
pub(crate) struct MergedEntries {
    entries: BTreeMap<PathBuf, MergedEntry>,
    layers: Vec<PathBuf>,
}

/// The state of a path in the joined layers.
#[derive(Debug, Clone)]
pub(crate) struct MergedEntry {
    pub(crate) state: LayerState,
    pub(crate) status: EntryStatus,
    /// The place of its content: in the layer that wrote it last.
    pub(crate) source: PathBuf,
    /// The position of the lowest layer that has the path.
    pub(crate) first_layer: usize,
}

impl MergedEntries {
    /// Joins `layers`, the directories of one root from the lowest to the topmost.
    pub(crate) fn read(layers: &[PathBuf]) -> io::Result<Self> {
        let mut all = Self { entries: BTreeMap::new(), layers: layers.to_vec() };
        for (at, upper) in layers.iter().enumerate() {
            for_each_entry(upper, |entry| {
                all.add(entry, upper, at);
                Ok(())
            })?;
        }
        Ok(all)
    }

    fn add(&mut self, entry: LayerEntry, upper: &Path, layer: usize) {
        let LayerEntry { path, mut state, status } = entry;
        let before = self.entries.get(&path);
        let first_layer = before.map_or(layer, |before| before.first_layer);
        match (state, before.map(|before| before.state)) {
            (LayerState::Merged, None | Some(LayerState::Merged)) => {}
            // It covers only what lower layers have not hidden already.
            (LayerState::Merged, Some(LayerState::Opaque)) => state = LayerState::Opaque,
            (LayerState::Merged, Some(LayerState::Removed | LayerState::Replaced)) => {
                state = LayerState::Opaque;
            }
            (LayerState::Opaque | LayerState::Removed | LayerState::Replaced, _) => self.remove_below(&path),
        }
        let source = upper.join(&path);
        self.entries.insert(path, MergedEntry { state, status, source, first_layer });
    }

    fn remove_below(&mut self, path: &Path) {
        let doomed: Vec<PathBuf> = self.below(path).map(|(path, _)| path.to_owned()).collect();
        for path in doomed {
            self.entries.remove(&path);
        }
    }

    /// Returns all entries, a directory before its entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &MergedEntry)> {
        self.entries.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    /// Returns the entries below `path`.
    pub(crate) fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = (&'a Path, &'a MergedEntry)> {
        let after = (Bound::Excluded(path), Bound::Unbounded);
        let all = self.entries.range::<Path, _>(after);
        all.map(|(path, entry)| (path.as_path(), entry)).take_while(move |(below, _)| below.starts_with(path))
    }

    /// Returns the entries directly in `path`.
    pub(crate) fn children<'a>(
        &'a self,
        path: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a MergedEntry)> {
        self.below(path).filter(move |(below, _)| below.parent() == Some(path))
    }

    /// Returns the entry at `path`.
    pub(crate) fn get(&self, path: &Path) -> Option<&MergedEntry> {
        self.entries.get(path)
    }

    /// Returns the directory of a layer, counted from the lowest.
    pub(crate) fn layer(&self, at: usize) -> Option<&Path> {
        self.layers.get(at).map(PathBuf::as_path)
    }
}
