//! Computes the new content of each file of a patch, before anything is written.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::decoded_text::TextCodecError;
use crate::edit::{EditAction, FileEdit, Hunk, ParsedPatch, UpdateTarget};
use crate::engine_part::EnginePart;
use crate::fault::{PatchFailure, PatchFault};
use crate::file_tree::{CommitStep, FileLookup, FileTree, FileVersion, NewFile, SymbolicLink};
use crate::git_blob::matches_blob_id;
use crate::line_index::SearchBudget;
use crate::matching::{MatchPass, PlacementMiss};
use crate::planned_file::PlannedFile;
use crate::repair::{self, RepairEvidence, find_elision};
use crate::replace_file::encode_like;
use crate::search_replace::ReplaceOutcome;
use crate::update::{PatchFaults, apply_hunks, decode_file};

/// The computed changes of a patch to a tree, not yet committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchPlan {
    /// The files that change, in the patch's order. Empty if the whole patch is already applied.
    pub changes: Vec<FileChange>,
    /// Files that already are as the patch wants them.
    pub already_applied: Vec<String>,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The path of the file, as the patch spells it.
    pub path: String,
    /// The source path, if the file is moved or copied.
    pub from: Option<String>,
    /// True for a move, which removes the source.
    pub moved: bool,
    /// The content before.
    pub before: Option<FileContent>,
    /// The content after.
    pub after: Option<FileContent>,
    /// The places where hunks landed: lines of the old file, counted from 1, with the match pass that found each.
    pub landed_hunks: Vec<(usize, MatchPass)>,
    pub(crate) found_version: Option<FileVersion>,
    pub(crate) name: Option<String>,
    pub(crate) link: Option<SymbolicLink>,
    pub(crate) origin: Option<ChangeOrigin>,
}

/// The source of a moved or copied file, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangeOrigin {
    pub(crate) content: FileContent,
    pub(crate) name: Option<String>,
}

/// A file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// The bytes.
    pub bytes: Arc<Vec<u8>>,
    /// The executable bit.
    pub executable: bool,
}

impl FileChange {
    /// Returns `A`dded, `M`odified, `D`eleted or `R`enamed.
    pub fn status_letter(&self) -> char {
        match (&self.before, &self.after) {
            (_, None) => 'D',
            _ if self.moved => 'R',
            (None, Some(_)) => 'A',
            (Some(_), Some(_)) => 'M',
        }
    }
}

impl FileChange {
    /// Returns the file's name in a diff.
    pub(crate) fn diff_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.path)
    }
}

impl ChangeOrigin {
    /// Returns the diff name of the file that the patch calls `from`.
    pub(crate) fn diff_name<'a>(&'a self, from: &'a str) -> &'a str {
        self.name.as_deref().unwrap_or(from)
    }
}

impl PatchPlan {
    /// Computes the changes of `patch` to `tree`. Reports all errors at once.
    ///
    /// ```
    /// use toolgate_patch::{MemoryTree, PatchPlan, parse};
    /// let tree = MemoryTree::from_files([("a.txt", "one\ntwo\n")]);
    /// let patch = parse("*** Begin Patch\n*** Update File: a.txt\n-two\n+three\n*** End Patch\n").unwrap();
    /// let plan = PatchPlan::build(&patch, &tree).unwrap();
    /// assert_eq!(*plan.changes[0].after.as_ref().unwrap().bytes, b"one\nthree\n");
    /// ```
    pub fn build(patch: &ParsedPatch, tree: &dyn FileTree) -> Result<Self, PatchFailure> {
        let mut builder = PlanBuilder::new(tree);
        let mut faults = Vec::new();
        let mut evidence = RepairEvidence::default();
        for (index, edit) in patch.edits.iter().enumerate() {
            if let Err(more) = builder.plan_edit(edit) {
                faults.extend(more);
            }
            evidence.record_edit(index, builder.passes.drain(..));
            if builder.budget.is_exhausted() {
                break;
            }
        }
        faults.extend(evidence.unrepaired_edits(&patch.edits));
        let stays = |file: &&PlannedFile| !file.original_removed;
        faults.extend(builder.files.iter().filter(stays).filter_map(|file| file.conflict.clone()));
        let already_applied: Vec<String> = builder
            .files
            .iter()
            .filter(|file| file.is_already_applied())
            .map(|file| file.path.clone())
            .collect();
        let changes: Vec<FileChange> =
            builder.files.into_iter().filter_map(PlannedFile::into_change).collect();
        // A missing file may be missing because the patch was applied, if the rest of the patch was.
        if !changes.is_empty() || already_applied.is_empty() {
            faults.extend(builder.missing_files);
        }
        if !faults.is_empty() {
            return Err(PatchFailure { faults });
        }
        if changes.is_empty() && already_applied.is_empty() {
            let what = "the patch changes no file; name at least one".to_owned();
            return Err(PatchFailure {
                faults: vec![PatchFault { path: String::new(), line: 0, what, detail: None }],
            });
        }
        tracing::debug!(changes = changes.len(), "planned the changes of a patch");
        Ok(Self { changes, already_applied })
    }

    /// Returns the steps of the commit, which are done all or none.
    pub fn commit_steps(&self) -> Vec<CommitStep> {
        let step = |change: &FileChange| {
            let attributes_from =
                change.from.clone().or(change.before.is_some().then(|| change.path.clone()));
            let new_file = change.after.as_ref().map(|after| NewFile {
                bytes: after.bytes.clone(),
                executable: Some(after.executable),
                attributes_from,
            });
            CommitStep { path: change.path.clone(), found_version: change.found_version, new_file }
        };
        self.changes.iter().map(step).collect()
    }
}

struct PlanBuilder<'a> {
    tree: &'a dyn FileTree,
    files: Vec<PlannedFile>,
    by_real_path: HashMap<PathBuf, usize>,
    /// Indices of symlinks that are deleted themselves, by their diff name.
    by_link: HashMap<String, usize>,
    /// Errors for files that should be deleted and do not exist.
    missing_files: Vec<PatchFault>,
    /// The match passes of the edit that was planned last.
    passes: Vec<MatchPass>,
    budget: SearchBudget,
}

impl<'a> PlanBuilder<'a> {
    fn new(tree: &'a dyn FileTree) -> Self {
        let (by_real_path, by_link) = (HashMap::new(), HashMap::new());
        let (files, missing_files, passes) = (Vec::new(), Vec::new(), Vec::new());
        Self { tree, files, by_real_path, by_link, missing_files, passes, budget: SearchBudget::default() }
    }

    fn look_up(&self, edit: &FileEdit, path: &str) -> Result<FileLookup, PatchFaults> {
        self.tree.look_up(path).map_err(|refusal| {
            // The refusal begins with the file's name, as a fault does, or with the name of a symlink's target.
            let what = match refusal.what.strip_prefix(&format!("`{path}` ")) {
                Some(what) => what.to_owned(),
                None if refusal.what.starts_with('`') => format!("cannot be used: {}", refusal.what),
                None => refusal.what,
            };
            vec![PatchFault::for_path(edit, path, what)]
        })
    }

    /// Returns the index of the file at `path`, as the patch so far leaves it.
    fn file_index(&mut self, edit: &FileEdit, path: &str) -> Result<usize, PatchFaults> {
        let lookup = self.look_up(edit, path)?;
        let link = || self.tree.find_symlink(path);
        if !self.by_link.is_empty() && link().is_some_and(|link| self.by_link.contains_key(&link.name)) {
            let what = "is a link that the patch deletes; do the rest in another patch, or name the file that it leads to";
            return Err(vec![PatchFault::for_path(edit, path, what.to_owned())]);
        }
        if let Some(index) = self.by_real_path.get(&lookup.real_path) {
            return Ok(*index);
        }
        let (real, name) = (lookup.real_path.clone(), self.tree.diff_name(&lookup.real_path));
        self.files.push(PlannedFile::new(path, lookup, name, link()));
        self.by_real_path.insert(real, self.files.len() - 1);
        Ok(self.files.len() - 1)
    }

    /// Returns the index of the symlink at the path of `edit`, which is to be deleted. Its target stays.
    fn symlink_index(&mut self, edit: &FileEdit, link: SymbolicLink) -> Result<usize, PatchFaults> {
        if let Some(index) = self.by_link.get(&link.name) {
            return Ok(*index);
        }
        let lookup = self.look_up(edit, &edit.path)?;
        if self.files.iter().any(|file| file.path == edit.path && !file.only_read) {
            let what = "is deleted after another part of the patch has changed it; do one of them";
            return Err(vec![PatchFault::for_path(edit, &edit.path, what.to_owned())]);
        }
        self.by_link.insert(link.name.clone(), self.files.len());
        self.files.push(PlannedFile::new(&edit.path, lookup, None, Some(link)));
        Ok(self.files.len() - 1)
    }

    fn plan_edit(&mut self, edit: &FileEdit) -> Result<(), PatchFaults> {
        let goes = matches!(edit.action, EditAction::Delete { .. });
        let index = match self.tree.find_symlink(&edit.path).filter(|_| goes) {
            Some(link) => self.symlink_index(edit, link)?,
            None => self.file_index(edit, &edit.path)?,
        };
        self.files[index]
            .check_conflict(&edit.action)
            .map_err(|what| vec![PatchFault::for_path(edit, &edit.path, what)])?;
        match &edit.action {
            EditAction::Write { content, executable } => self.plan_write(edit, index, content, *executable),
            EditAction::Create { content, executable } => self.plan_create(edit, index, content, *executable),
            EditAction::Delete { hunks } => self.plan_delete(edit, index, hunks),
            EditAction::Replace { old, new, all } => self.plan_replace(edit, index, (old, new), *all),
            EditAction::Update { hunks, target, executable } => {
                self.plan_update(edit, index, hunks, target, *executable)
            }
        }
    }

    fn plan_write(
        &mut self,
        edit: &FileEdit,
        index: usize,
        content: &str,
        executable: Option<bool>,
    ) -> Result<(), PatchFaults> {
        let file = &mut self.files[index];
        if let Some(line) = file.now.as_ref().and_then(|now| find_elision(content, &now.bytes))
            && EnginePart::Elision.is_on()
        {
            let what = format!(
                "would lose the lines that `{line}` stands for, since all of it is replaced; write them out, or send only what changes"
            );
            return Err(vec![PatchFault::for_path(edit, &edit.path, what)]);
        }
        let bytes = match &file.now {
            Some(now) => {
                encode_like(content, &now.bytes).map_err(|fault| vec![encoding_fault(edit, &fault)])?
            }
            None => content.as_bytes().to_vec(),
        };
        let was = file.now.as_ref().is_some_and(|now| now.executable);
        file.now = Some(FileContent { bytes: bytes.into(), executable: executable.unwrap_or(was) });
        file.only_read = false;
        Ok(())
    }

    /// Creates a file. An existing file is an error, unless it has exactly this content.
    fn plan_create(
        &mut self,
        edit: &FileEdit,
        index: usize,
        content: &str,
        executable: Option<bool>,
    ) -> Result<(), PatchFaults> {
        let now = self.files[index].now.as_ref();
        if now.is_some_and(|now| encode_like(content, &now.bytes).as_ref() != Ok(&now.bytes)) {
            let what = "exists, and is not what the diff says it makes new; read it, and write a diff of what is there";
            return Err(vec![PatchFault::for_path(edit, &edit.path, what.to_owned())]);
        }
        self.plan_write(edit, index, content, executable)
    }

    fn plan_delete(&mut self, edit: &FileEdit, index: usize, hunks: &[Hunk]) -> Result<(), PatchFaults> {
        let Some(now) = &self.files[index].now else {
            let what = "does not exist, so it cannot be deleted".to_owned();
            self.missing_files.push(PatchFault::for_path(edit, &edit.path, what));
            return Ok(());
        };
        let says_empty = edit.blob_ids.as_ref().is_some_and(|(old, _)| matches_blob_id(b"", old));
        if hunks.is_empty() && says_empty && !now.bytes.is_empty() {
            let what = "is not empty, as the diff that deletes it says; delete it with all of its lines";
            return Err(vec![PatchFault::for_path(edit, &edit.path, what.to_owned())]);
        }
        if !hunks.is_empty() {
            let (new, _) = apply_hunks(edit, &now.bytes, hunks, &self.budget)?;
            if !new.is_empty() {
                let what =
                    "has lines that the patch does not delete; update it, or delete it as a whole".to_owned();
                return Err(vec![PatchFault::for_path(edit, &edit.path, what)]);
            }
        }
        let file = &mut self.files[index];
        (file.now, file.only_read, file.original_removed) = (None, false, true);
        Ok(())
    }

    fn plan_replace(
        &mut self,
        edit: &FileEdit,
        index: usize,
        (old, new): (&str, &str),
        all: bool,
    ) -> Result<(), PatchFaults> {
        let file = &mut self.files[index];
        file.only_read = false;
        let Some(now) = &mut file.now else {
            if !old.is_empty() {
                return Err(vec![missing_file_fault(edit)]);
            }
            file.now = Some(FileContent { bytes: new.as_bytes().to_vec().into(), executable: false });
            return Ok(());
        };
        if old.is_empty() {
            if now.bytes.is_empty() || *now.bytes == new.as_bytes() {
                now.bytes = new.as_bytes().to_vec().into();
                return Ok(());
            }
            let what =
                "exists, and the text to replace is empty; give the text that is to be replaced".to_owned();
            return Err(vec![PatchFault::for_path(edit, &edit.path, what)]);
        }
        let text = decode_file(edit, &now.bytes, &self.budget)?;
        let replaced = repair::replace_repaired(&text, old, new, all);
        // A search that was cut short proves nothing.
        let replaced =
            if self.budget.is_exhausted() { Err(PlacementMiss::BudgetExhausted) } else { replaced };
        match replaced {
            Ok(ReplaceOutcome::AlreadyApplied) => Ok(()),
            Ok(ReplaceOutcome::Replaced(whole, landed_hunks)) => {
                let written = text.encode(whole);
                let written = written
                    .map_err(|fault| vec![PatchFault::for_path(edit, &edit.path, fault.to_string())])?;
                now.bytes = written.into();
                self.passes.extend(landed_hunks.iter().map(|(_, pass)| *pass));
                file.landed_hunks.extend(landed_hunks.into_iter().map(|(at, pass)| (at + 1, pass)));
                Ok(())
            }
            Err(miss) => {
                let hunk = crate::search_replace::hunk_from_texts(old, new);
                Err(vec![PatchFault::from_miss(edit, &text, None, &hunk, &miss)])
            }
        }
    }

    fn plan_update(
        &mut self,
        edit: &FileEdit,
        index: usize,
        hunks: &[Hunk],
        target: &UpdateTarget,
        executable: Option<bool>,
    ) -> Result<(), PatchFaults> {
        let file = &self.files[index];
        // After another edit has replaced the file, and for a copy, the patch refers to the original content.
        let first = file.is_replaced() || matches!(target, UpdateTarget::Copied(_));
        let before = first.then(|| file.original_content()).flatten();
        let Some(now) = (if first { before.as_ref() } else { file.now.as_ref() }) else {
            return self.check_already_moved(edit, hunks, target);
        };
        let (bytes, landed_hunks) = if hunks.is_empty() {
            (now.bytes.clone(), Vec::new())
        } else {
            let (bytes, landed_hunks) = apply_hunks(edit, &now.bytes, hunks, &self.budget)?;
            (bytes.into(), landed_hunks)
        };
        let new = FileContent { bytes, executable: executable.unwrap_or(now.executable) };
        let to = match target {
            UpdateTarget::Same => index,
            UpdateTarget::Moved(to) | UpdateTarget::Renamed(to) | UpdateTarget::Copied(to) => {
                self.file_index(edit, to)?
            }
        };
        if to != index {
            let file = &mut self.files[to];
            file.check_replaceable(edit, &new).map_err(|fault| vec![fault])?;
            let other = file.original_content().is_some_and(|before| before != new);
            if other && matches!(target, UpdateTarget::Renamed(_) | UpdateTarget::Copied(_)) {
                let what =
                    "is there already, and the diff puts another file in its place; move or delete it first";
                file.conflict = Some(PatchFault::for_path(edit, &file.path, what.to_owned()));
            }
            self.record_source(index, to, !matches!(target, UpdateTarget::Copied(_)));
        }
        let file = &mut self.files[to];
        file.now = Some(new);
        self.passes.extend(landed_hunks.iter().map(|(_, pass)| *pass));
        file.landed_hunks.extend(landed_hunks);
        file.only_read = false;
        Ok(())
    }

    /// Records the source of the file at `to`. A file that only passed through `index` keeps its original source.
    fn record_source(&mut self, index: usize, to: usize, moves: bool) {
        let source = &mut self.files[index];
        let (from, moved, origin) = match source.original_content() {
            Some(content) => {
                (Some(source.path.clone()), moves, Some(ChangeOrigin { content, name: source.name.clone() }))
            }
            None => (source.from.clone(), source.moved, source.origin.clone()),
        };
        source.original_removed |= moves;
        if moves && !source.is_replaced() {
            source.now = None;
            source.only_read = source.found.is_none();
        }
        let file = &mut self.files[to];
        (file.from, file.moved, file.origin) = (from, moved, origin);
    }

    /// Handles a missing source file: either this patch has already moved it, or the patch is wrong.
    fn check_already_moved(
        &mut self,
        edit: &FileEdit,
        hunks: &[Hunk],
        target: &UpdateTarget,
    ) -> Result<(), PatchFaults> {
        let (UpdateTarget::Moved(to) | UpdateTarget::Renamed(to)) = target else {
            return Err(vec![missing_file_fault(edit)]);
        };
        let index = self.file_index(edit, to)?;
        let file = &mut self.files[index];
        let done = file.now.as_ref().is_some_and(|now| {
            apply_hunks(edit, &now.bytes, hunks, &self.budget).is_ok_and(|(bytes, _)| bytes == *now.bytes)
        });
        if !done || hunks.is_empty() {
            return Err(vec![missing_file_fault(edit)]);
        }
        file.only_read = false;
        Ok(())
    }
}

fn encoding_fault(edit: &FileEdit, fault: &TextCodecError) -> PatchFault {
    PatchFault::for_path(
        edit,
        &edit.path,
        format!("{fault}; or delete it first in the same patch, and it is UTF-8 then"),
    )
}

fn missing_file_fault(edit: &FileEdit) -> PatchFault {
    let what = "does not exist; check the path, or add it as a new file".to_owned();
    PatchFault::for_path(edit, &edit.path, what)
}
