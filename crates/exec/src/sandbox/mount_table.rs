//! Mount table of a cell: the content at each path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::cell_plan::MountContent;
use super::scratch::Scratch;

/// The mounts, sorted so that ancestors come first.
#[derive(Default)]
pub(super) struct MountTable(pub(super) BTreeMap<PathBuf, MountContent>);

impl MountTable {
    pub(super) fn insert(&mut self, at: &Path, content: MountContent) {
        self.0.insert(at.to_owned(), content);
    }

    pub(super) fn insert_tree(&mut self, path: &Path, writable: bool) {
        self.insert(path, MountContent::Tree { from: path.to_owned(), writable });
    }

    /// Returns the innermost mount that contains `path`.
    pub(super) fn innermost(&self, path: &Path) -> Option<&MountContent> {
        path.ancestors().find_map(|above| self.0.get(above))
    }

    /// Hides the scratch directories of all sessions, wherever they are visible.
    pub(super) fn hide_scratch(&mut self, scratch: &Scratch) {
        let Some(all) = scratch.path().parent() else { return };
        let above = all.ancestors().find_map(|above| Some((above, self.0.get(above)?)));
        let is_replaced = above.is_some_and(|(at, content)| match content {
            MountContent::Tree { from, .. } => from != at,
            MountContent::Overlay { .. } => false,
            MountContent::Empty | MountContent::Hidden | MountContent::Devices => true,
        });
        if !is_replaced {
            self.insert(all, MountContent::Hidden);
        }
    }

    /// Turns every directory between each of `paths` and the outermost root into a mount, so that no command can
    /// rename it and substitute another. Its permissions stay the same.
    pub(super) fn pin_parents(&mut self, paths: &[PathBuf], roots: &[PathBuf]) {
        let mut pins = Vec::new();
        for path in paths {
            let outermost =
                roots.iter().filter(|root| path.starts_with(root)).min_by_key(|root| root.as_os_str().len());
            let Some(root) = outermost else { continue };
            let between =
                path.ancestors().skip(1).take_while(|above| *above != root && above.starts_with(root));
            for above in between.filter(|above| !self.0.contains_key(*above)) {
                let writable = self.innermost(above).is_none_or(MountContent::is_writable);
                pins.push((above.to_owned(), MountContent::Tree { from: above.to_owned(), writable }));
            }
        }
        self.0.extend(pins);
    }
}
