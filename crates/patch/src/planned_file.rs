//! The state of one file while a patch is planned: original content, new content, and effects so far.

use crate::edit::{EditAction, FileEdit, UpdateTarget};
use crate::fault::PatchFault;
use crate::file_tree::{FileLookup, FoundFile, SymbolicLink};
use crate::matching::MatchPass;
use crate::plan::{ChangeOrigin, FileChange, FileContent};
use crate::replace_file::encode_like;

/// A file while a patch is planned.
pub(crate) struct PlannedFile {
    pub(crate) path: String,
    /// The name in a diff, if it differs from the path.
    pub(crate) name: Option<String>,
    pub(crate) link: Option<SymbolicLink>,
    pub(crate) from: Option<String>,
    pub(crate) moved: bool,
    pub(crate) origin: Option<ChangeOrigin>,
    pub(crate) found: Option<FoundFile>,
    pub(crate) now: Option<FileContent>,
    pub(crate) landed_hunks: Vec<(usize, MatchPass)>,
    /// True if the patch only reads the file.
    pub(crate) only_read: bool,
    /// True if the original file is moved away or deleted.
    pub(crate) original_removed: bool,
    /// The error to report if another file takes this path while the original stays.
    pub(crate) conflict: Option<PatchFault>,
}

impl PlannedFile {
    /// Creates the state of the file in `lookup`, which the patch calls `path` and has only read so far.
    pub(crate) fn new(
        path: &str,
        lookup: FileLookup,
        name: Option<String>,
        link: Option<SymbolicLink>,
    ) -> Self {
        let content = |found_file: &FoundFile| FileContent {
            bytes: found_file.bytes.clone(),
            executable: found_file.executable,
        };
        Self {
            path: path.to_owned(),
            name,
            link,
            from: None,
            moved: false,
            origin: None,
            now: lookup.file.as_ref().map(content),
            found: lookup.file,
            landed_hunks: Vec::new(),
            only_read: true,
            original_removed: false,
            conflict: None,
        }
    }

    pub(crate) fn is_already_applied(&self) -> bool {
        !self.only_read && self.is_unchanged()
    }

    fn is_unchanged(&self) -> bool {
        match (&self.found, &self.now) {
            (None, None) => true,
            (Some(found_file), Some(now)) => {
                found_file.executable == now.executable && found_file.bytes == now.bytes
            }
            _ => false,
        }
    }

    /// Returns an error if `action` would discard an earlier edit of the same patch.
    pub(crate) fn check_conflict(&self, action: &EditAction) -> Result<(), String> {
        let Some(now) = self.now.as_ref().filter(|_| !self.only_read) else { return Ok(()) };
        let (what, hint) = match action {
            EditAction::Write { content, .. } | EditAction::Create { content, .. }
                if encode_like(content, &now.bytes).as_ref() != Ok(&now.bytes) =>
            {
                ("written as a whole", "say once what is to be in it")
            }
            EditAction::Delete { .. } if self.found.is_some() || self.from.is_some() => {
                ("deleted", "do one of them")
            }
            EditAction::Update { target: UpdateTarget::Same, .. } | EditAction::Replace { .. }
                if self.is_replaced() =>
            {
                let what = "is changed after another file was put in its place";
                return Err(format!("{what}; change that one where it was, or this one under another name"));
            }
            EditAction::Write { .. }
            | EditAction::Create { .. }
            | EditAction::Delete { .. }
            | EditAction::Update { .. }
            | EditAction::Replace { .. } => return Ok(()),
        };
        Err(format!("is {what} after another part of the patch has changed it; {hint}"))
    }

    /// Returns an error if replacing this file by `new` would discard an earlier edit of the same patch.
    pub(crate) fn check_replaceable(&self, edit: &FileEdit, new: &FileContent) -> Result<(), PatchFault> {
        let discards_edit = !self.only_read && self.now.as_ref().is_some_and(|now| now != new);
        let arrived = !self.only_read && self.now.is_some() && self.from.is_some();
        if !discards_edit && !arrived {
            return Ok(());
        }
        let what = "is where another file is put after another part of the patch has changed it";
        Err(PatchFault::for_path(edit, &self.path, format!("{what}; say once what is to be in it")))
    }

    /// Returns true if another file has taken this path.
    pub(crate) fn is_replaced(&self) -> bool {
        self.from.is_some() && self.found.is_some()
    }

    pub(crate) fn original_content(&self) -> Option<FileContent> {
        self.found.as_ref().map(|found_file| FileContent {
            bytes: found_file.bytes.clone(),
            executable: found_file.executable,
        })
    }

    pub(crate) fn into_change(self) -> Option<FileChange> {
        if self.is_unchanged() {
            return None;
        }
        let Self {
            path, name, link, from, moved, origin, found: found_file, now: after, landed_hunks, ..
        } = self;
        let found_version = found_file.as_ref().map(|held| held.version);
        let before = found_file.map(|held| FileContent { bytes: held.bytes, executable: held.executable });
        Some(FileChange { path, from, moved, before, after, landed_hunks, found_version, name, link, origin })
    }
}
