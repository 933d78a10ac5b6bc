//! Operation in progress, such as a rebase stopped at a conflict: it lands as a whole or not at all.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::content_checks::lines;
use super::host_git_dir::{HostGitDir, HostWriteFault, HostWriteOutcome, ReplaceGuard};
use super::landing::LayerLanding;
use super::landing_plan::{LandingItem, LandingJob, LandingPlan};
use super::path_text::{display_path, parts};
use super::upper_dir::{LandingContent, ListingBudget, OpaqueMark, UnreadReason, UpperDir, UpperEntryKind};
use super::{allowlist, operation_files, temp_file};

/// The maximum number of files, and the maximum total length of their names.
const OPERATION_FILE_BUDGET: ListingBudget = ListingBudget { entries: 10_000, path_bytes: 1 << 20 };
/// The maximum total size of the files.
pub(super) const MAX_OPERATION_BYTES: usize = 32 << 20;

/// The changes of the upper directory to an operation in progress.
#[derive(Debug)]
pub(super) struct InProgressOperation {
    dir: PathBuf,
    writes: Vec<(PathBuf, Vec<u8>)>,
    removals: Vec<PathBuf>,
    /// Files that need not stay in the upper directory after landing.
    removable: Vec<PathBuf>,
    /// The times of the first and the last change.
    change_span: (i128, i128),
    /// The reason why it cannot land.
    fault: Option<String>,
    /// True if it continues an operation that the host no longer has.
    is_orphaned: bool,
}

/// The files that belong to an operation besides its directory: without them, it would be half done.
#[derive(Debug)]
pub(super) struct OperationScope {
    /// The git directory, possibly of a linked worktree, and the one with the branches.
    git: PathBuf,
    common: PathBuf,
    /// The branches that are checked out, in the sandbox and on the host.
    branches: HashSet<PathBuf>,
    /// True if the host's files changed meanwhile; false if the operation only waits.
    pub(super) contested: bool,
}

impl InProgressOperation {
    /// Reads `dir`. Returns `None` if it is unchanged. `hidden`: the host's contents are deleted. `room` is the
    /// remaining memory budget.
    pub(super) fn read(
        (upper, host): (&UpperDir, &HostGitDir),
        dir: PathBuf,
        hidden: bool,
        room: &mut usize,
    ) -> Option<Self> {
        let listing = upper.list(&dir, OPERATION_FILE_BUDGET).ok()?;
        let hidden = hidden || listing.opaque;
        let mut found = Self {
            writes: Vec::new(),
            removals: Vec::new(),
            removable: Vec::new(),
            change_span: (listing.changed, listing.changed),
            fault: listing.truncated.then(|| format!("{} holds too much", display_path(&dir))),
            is_orphaned: false,
            dir,
        };
        let mut here = HashSet::new();
        for (name, kind) in listing.entries {
            found.read_entry(upper, found.dir.join(&name), &kind, room);
            here.insert(name);
        }
        if hidden {
            let missing = host.list_names(&found.dir).into_iter().filter(|name| !here.contains(name));
            found.removals.extend(missing.map(|name| found.dir.join(name)));
        }
        if found.writes.is_empty() && found.removals.is_empty() && found.fault.is_none() {
            return None;
        }
        found.check_completeness(host, hidden);
        Some(found)
    }

    fn read_entry(&mut self, upper: &UpperDir, path: PathBuf, kind: &UpperEntryKind, room: &mut usize) {
        let names = parts(&path);
        let [.., dir, name] = names.as_slice() else { return };
        let changed = match kind {
            _ if name.ends_with(b".lock") => return self.removable.push(path),
            UpperEntryKind::Whiteout(changed) | UpperEntryKind::File(changed) => *changed,
            UpperEntryKind::Directory | UpperEntryKind::Other => {
                return self.refuse(&path, "is no plain file");
            }
        };
        self.change_span = (self.change_span.0.min(changed), self.change_span.1.max(changed));
        if matches!(kind, UpperEntryKind::Whiteout(_)) {
            self.removals.push(path.clone());
            return self.removable.push(path);
        }
        match upper.read_content(&path, allowlist::ContentForm::OperationFile) {
            Ok(LandingContent::Bytes(text)) if text.len() <= *room => {
                *room -= text.len();
                if let Err(wrong) = operation_files::check_file(dir, name, &text) {
                    self.refuse(&path, wrong);
                }
                self.removable.push(path.clone());
                self.writes.push((path, text));
            }
            Ok(_) => self.refuse(&path, "is too large"),
            Err(UnreadReason::Gone) => {}
            Err(UnreadReason::MayNotLand) => self.refuse(&path, "is no plain file"),
            Err(UnreadReason::Fault(_)) => self.refuse(&path, "cannot be read"),
        }
    }

    fn refuse(&mut self, path: &Path, wrong: &str) {
        self.fault.get_or_insert_with(|| format!("{} {wrong}", display_path(path)));
    }

    /// Checks whether host and sandbox together have all files that git needs.
    fn check_completeness(&mut self, host: &HostGitDir, hidden: bool) {
        let needed = operation_files::required_files(parts(&self.dir).last().copied().unwrap_or_default());
        let lacks = |name: &&str| {
            let path = self.dir.join(name);
            let written = self.writes.iter().any(|(known, _)| *known == path);
            !written && (hidden || self.removals.contains(&path) || !host.exists(&path))
        };
        let Some(name) = needed.iter().find(|name| lacks(name)).map(|name| self.dir.join(name)) else {
            return;
        };
        self.is_orphaned = !hidden && !host.exists(&self.dir);
        if !self.is_orphaned {
            self.refuse(&name, "is missing");
        }
    }
}

impl OperationScope {
    fn new(upper: &UpperDir, host: &HostGitDir, dir: &Path) -> Self {
        let git = dir.parent().unwrap_or(Path::new("")).to_owned();
        let linked = git.parent().filter(|above| above.ends_with("worktrees")).and_then(Path::parent);
        let common = linked.unwrap_or(&git).to_owned();
        let head = git.join("HEAD");
        let texts = [upper.read_small(&head, 1024), host.read_small(&head, 1024)];
        let branches = texts.into_iter().flatten().filter_map(|text| {
            let name = lines(&text).next()?.strip_prefix(b"ref: ")?;
            Some(PathBuf::from(std::str::from_utf8(name).ok()?))
        });
        let branches = branches.collect();
        Self { git, common, branches, contested: false }
    }

    /// Returns true if this item must wait until the operation lands.
    pub(super) fn blocks(&self, item: &LandingItem) -> bool {
        let own = item.path.strip_prefix(&self.git).is_ok_and(|below| match parts(below).as_slice() {
            [b"HEAD" | b"ORIG_HEAD" | b"index" | b"AUTO_MERGE" | b"SQUASH_MSG"] | [b"logs", b"HEAD"] => true,
            [b"CHERRY_PICK_HEAD" | b"REVERT_HEAD" | b"REBASE_HEAD"] => true,
            [b"refs", b"rewritten", ..] | [b"logs", b"refs", b"rewritten", ..] => true,
            [name] => name.starts_with(b"MERGE_"),
            _ => false,
        });
        own || item.path.strip_prefix(&self.common).is_ok_and(|below| {
            let name = below.strip_prefix("logs").unwrap_or(below);
            // A branch that is packed now must be visible exactly once.
            let packed = below == Path::new("packed-refs")
                || below.starts_with("refs") && matches!(item.job, LandingJob::Remove);
            packed || self.branches.contains(name)
        })
    }
}

impl LayerLanding<'_> {
    /// Lands the operations of `plan` that may land, and records the files that the others block. A git directory may
    /// have two, a pick in a rebase: they share HEAD and index, so they land together or not at all.
    pub(super) fn land_operations(&mut self, plan: &mut LandingPlan) {
        let all = std::mem::take(&mut plan.operations);
        let mut contested = HashSet::new();
        let mut wrong = HashMap::new();
        for operation in &all {
            let scope = OperationScope::new(self.upper, self.host, &operation.dir);
            match &operation.fault {
                Some(why) => {
                    wrong.entry(scope.git).or_insert_with(|| why.clone());
                }
                None if self.is_contested(operation, &scope, &plan.items) => {
                    contested.insert(scope.git);
                }
                None => {}
            }
        }
        for operation in all {
            let mut scope = OperationScope::new(self.upper, self.host, &operation.dir);
            let known = wrong.get(&scope.git).cloned();
            if known.is_none() && contested.contains(&scope.git) {
                self.report.conflict(display_path(&operation.dir));
                scope.contested = true;
                self.held_operations.push(scope);
            } else if let Some(why) = known.or_else(|| self.land(&operation).err()) {
                self.keep_in_sandbox(scope, &operation, &why, &plan.items);
                continue;
            }
            self.report.removable.extend(operation.removable);
            plan.directories.push((operation.dir, OpaqueMark::Clear));
        }
    }

    /// Reports that an operation stays in the sandbox, unless an earlier run has reported it.
    fn keep_in_sandbox(
        &mut self,
        scope: OperationScope,
        operation: &InProgressOperation,
        why: &str,
        items: &[LandingItem],
    ) {
        let newest = items.iter().filter(|item| scope.blocks(item)).map(|item| item.changed);
        let newest = newest.fold(operation.change_span.1, i128::max);
        let message =
            format!("an operation is in progress that cannot land ({why}); it goes on in the sandbox only");
        if self.layer.is_new(newest) {
            self.report.fault(message);
        }
        self.held_operations.push(scope);
    }

    /// Returns true if another process continued the operation, or replaced it.
    fn is_contested(
        &self,
        operation: &InProgressOperation,
        scope: &OperationScope,
        items: &[LandingItem],
    ) -> bool {
        let is_foreign_change = self.is_changed_by_others(operation.change_span.0);
        let others = |path: &Path| self.host.stat(path).is_some_and(|stat| is_foreign_change(path, &stat));
        let files = self.host.list_names(&operation.dir);
        let decides = |item: &&LandingItem| {
            let name = item.path.strip_prefix(&scope.git).unwrap_or(&item.path);
            let branch =
                item.path.strip_prefix(&scope.common).is_ok_and(|name| scope.branches.contains(name));
            branch || name == Path::new("HEAD") || name == Path::new("index")
        };
        operation.is_orphaned
            || files.iter().any(|name| others(&operation.dir.join(name)))
            || items.iter().filter(decides).any(|item| self.is_overtaken(item))
    }

    /// Returns true if the host has a newer, different version of this item.
    fn is_overtaken(&self, item: &LandingItem) -> bool {
        let LandingJob::Write(form, Some(Ok(body))) = &item.job else { return false };
        let is_foreign_change = self.foreign_change_check(*form, body, item.changed);
        self.host.stat(&item.path).is_some_and(|stat| is_foreign_change(&item.path, &stat))
            && !self.host.open_file(&item.path).is_some_and(|file| temp_file::has_same_content(&file, body))
    }

    fn land(&mut self, operation: &InProgressOperation) -> Result<(), String> {
        let is_foreign_change = self.is_changed_by_others(operation.change_span.0);
        let mut outcomes = Vec::new();
        for (path, text) in &operation.writes {
            let guard = ReplaceGuard {
                removal: allowlist::RemovalScope::Never,
                is_foreign_change: &is_foreign_change,
            };
            outcomes.push((path, self.host.replace(path, &LandingContent::Bytes(text.clone()), &guard)));
        }
        for path in &operation.removals {
            let guard = ReplaceGuard {
                removal: allowlist::RemovalScope::File,
                is_foreign_change: &is_foreign_change,
            };
            outcomes.push((path, self.host.remove(path, &guard)));
        }
        drop(is_foreign_change);
        let mut failed = None;
        for (path, outcome) in outcomes {
            let wrong = match outcome {
                Ok(HostWriteOutcome::Landed(mark)) => {
                    self.report.landed += 1;
                    self.layer.landed_files.insert(path.clone(), mark);
                    continue;
                }
                Ok(HostWriteOutcome::Removed) => {
                    self.report.landed += 1;
                    self.layer.landed_files.remove(path);
                    continue;
                }
                Ok(HostWriteOutcome::Unchanged) => continue,
                Ok(HostWriteOutcome::Conflict) => "has just been changed outside".to_owned(),
                Ok(HostWriteOutcome::Kept) => "is no plain file outside".to_owned(),
                Err(HostWriteFault::Locked) => "is locked by another git".to_owned(),
                Err(HostWriteFault::Io(error)) => format!("cannot be written: {error}"),
            };
            failed.get_or_insert_with(|| format!("{} {wrong}", display_path(path)));
        }
        failed.map_or(Ok(()), Err)
    }
}
