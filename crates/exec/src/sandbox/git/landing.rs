//! Landing: applies the changes in an overlay's upper directory to the host's git directory.
//!
//! A content check or a conflict can prevent the landing of a file.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::allowlist::{self, ContentForm, LandingPhase, LandingVerdict, RemovalScope, is_in_object_store};
use super::config_rewrite;
use super::content_checks::{
    is_head, is_id_list, is_name_or_id, is_packed_refs, is_reference, is_reflog, is_rerere,
    is_worktree_inside,
};
use super::git_layer::{GitLayer, LandingReport};
use super::host_git_dir::{HostGitDir, HostWriteFault, HostWriteOutcome, LandedMark, ReplaceGuard};
use super::land_objects::MAX_INFLATED_PER_LANDING;
use super::landing_plan::{LandingItem, LandingJob, LandingPlan};
use super::object_format::ObjectFormat;
use super::path_text::{display_path, normalize, parts};
use super::ref_conflicts::PackedRefs;
use super::temp_file::write;
use super::unfinished_operation::UnfinishedOperation;
use super::upper_dir::{LandingContent, UnreadReason, UpperDir};

/// One landing in progress.
pub(super) struct LayerLanding<'a> {
    pub(super) layer: &'a mut GitLayer,
    pub(super) host: &'a HostGitDir,
    pub(super) upper: &'a UpperDir,
    pub(super) report: LandingReport,
    /// References that another process has moved and the sandbox moved on from, with the host's value.
    pub(super) fast_forwards: HashMap<PathBuf, Vec<u8>>,
    /// Cache of the host's packed references that were read last.
    pub(super) packed_refs_cache: RefCell<Option<PackedRefs>>,
    /// Object formats by repository, relative to the git directory.
    pub(super) object_formats: HashMap<PathBuf, Option<ObjectFormat>>,
    /// The remaining budget of inflated bytes.
    pub(super) inflate_budget: u64,
    /// True if not all objects landed.
    objects_incomplete: bool,
    /// True if packed references did not land.
    packed_refs_failed: bool,
}

/// The outcome for one file.
pub(super) enum LandOutcome {
    /// The outcome of the write.
    Written(HostWriteOutcome),
    /// Only a part landed, so the file also stays in the upper directory.
    Partly(LandedMark),
    /// The file no longer exists.
    Gone,
}

impl<'a> LayerLanding<'a> {
    /// Creates a landing from `upper` to `host`.
    pub(super) fn new(layer: &'a mut GitLayer, host: &'a HostGitDir, upper: &'a UpperDir) -> Self {
        let (report, fast_forwards, object_formats, packed_refs_cache) = Default::default();
        let inflate_budget = MAX_INFLATED_PER_LANDING;
        let (objects_incomplete, packed_refs_failed) = (false, false);
        Self {
            layer,
            host,
            upper,
            report,
            fast_forwards,
            packed_refs_cache,
            object_formats,
            inflate_budget,
            objects_incomplete,
            packed_refs_failed,
        }
    }

    /// Lands all items of `plan` in order.
    pub(super) fn land_all(&mut self, plan: &mut LandingPlan) {
        if plan.truncated {
            // An incompletely read upper directory stays unchanged, including its overlay marks.
            (plan.dropped, plan.directories) = Default::default();
            self.report
                .fault("there are too many files, or their names are too long: nothing landed".to_owned());
            return;
        }
        self.report.keep_all(&mut plan.kept);
        plan.unread
            .iter()
            .for_each(|path| self.report.fault(format!("{} cannot be read", display_path(path))));
        self.objects_incomplete = plan.unread.iter().any(|path| is_in_object_store(&parts(path)));
        self.create_required_directories(plan);
        let objects = plan.items.partition_point(|item| item.phase() <= LandingPhase::PackIndexes);
        plan.items.drain(..objects).for_each(|item| self.land_item(item));
        if self.objects_incomplete {
            // An old reference is better than one to a missing object.
            if !plan.items.is_empty() {
                self.report
                    .fault("not all objects landed, so references, index and HEAD stay too".to_owned());
            }
            return;
        }
        self.find_forwards(&plan.items);
        let unfinished: Vec<UnfinishedOperation> =
            plan.unfinished.iter().map(|dir| UnfinishedOperation::new(self.upper, self.host, dir)).collect();
        self.report.unfinished.extend(unfinished.iter().map(|operation| operation.describe(self.upper)));
        for item in plan.items.drain(..) {
            if unfinished.iter().any(|operation| operation.blocks(&item)) {
                self.report.removable.push(item.path);
            } else {
                self.land_item(item);
            }
        }
    }

    /// Creates the directories that a new repository needs.
    fn create_required_directories(&self, plan: &LandingPlan) {
        let head = |item: &LandingItem| matches!(item.job, LandingJob::Write(ContentForm::Head, _));
        let heads: HashSet<&Path> =
            plan.items.iter().filter(|item| head(item)).map(|item| item.path.as_path()).collect();
        for path in &plan.required_directories {
            if path.ancestors().any(|above| heads.contains(above.with_file_name("HEAD").as_path())) {
                // If this fails, the files in it report an error.
                let _ = self.host.create_directory(path);
            }
        }
    }

    fn land_item(&mut self, item: LandingItem) {
        let (path, phase) = (item.path.clone(), item.phase());
        let sandbox_id = sandbox_ref_id(&item);
        let outcome = match item.job {
            // Not worth opening.
            LandingJob::Write(form, _) if form.is_content_addressed() && self.host.exists(&path) => {
                Ok(LandOutcome::Written(HostWriteOutcome::Unchanged))
            }
            LandingJob::Write(form, body) => {
                let body = body.unwrap_or_else(|| self.upper.read_content(&path, form));
                match body {
                    Ok(body) => self.land_file(&item.path, form, body, (item.removal, item.changed)),
                    Err(UnreadReason::Gone) => Ok(LandOutcome::Gone),
                    Err(UnreadReason::MayNotLand) => Ok(LandOutcome::Written(HostWriteOutcome::Kept)),
                    Err(UnreadReason::Fault(errno)) => Err(errno.into()),
                }
            }
            LandingJob::Remove => self.land_removal(&path, item.removal, item.changed),
        };
        let stuck = !matches!(
            outcome,
            Ok(LandOutcome::Written(HostWriteOutcome::Landed(_) | HostWriteOutcome::Unchanged)
                | LandOutcome::Gone)
        );
        self.packed_refs_failed |= phase == LandingPhase::PackedRefs && stuck;
        match outcome {
            Ok(LandOutcome::Gone) => {}
            Ok(LandOutcome::Partly(mark)) => {
                self.report.landed += 1;
                self.report.keep(path.clone());
                self.layer.landed_files.insert(path, mark);
            }
            Ok(LandOutcome::Written(put)) => self.record_outcome(path, phase, put, sandbox_id.as_deref()),
            Err(fault) => {
                self.objects_incomplete |= phase.brings_objects();
                self.report.fault(match fault {
                    HostWriteFault::Locked => format!("{} is locked by another git", display_path(&path)),
                    HostWriteFault::Io(error) => format!("{}: {error}", display_path(&path)),
                });
            }
        }
    }

    fn record_outcome(
        &mut self,
        path: PathBuf,
        phase: LandingPhase,
        put: HostWriteOutcome,
        sandbox_id: Option<&str>,
    ) {
        match put {
            HostWriteOutcome::Landed(mark) => {
                self.report.landed += 1;
                if phase == LandingPhase::Index
                    && let Some(file) = self.host.open_file(&path)
                {
                    self.layer.indexes.insert(path.clone(), file);
                }
                // An object is never replaced, so its origin is never checked.
                if phase > LandingPhase::PackIndexes {
                    self.layer.landed_files.insert(path.clone(), mark);
                }
            }
            HostWriteOutcome::Removed => {
                self.report.landed += 1;
                self.layer.forget(&path);
            }
            HostWriteOutcome::Unchanged => {}
            HostWriteOutcome::Conflict => {
                // A conflict of a reflog is reported with its reference. The last text in an editor is no loss.
                let log =
                    matches!(allowlist::judge(&parts(&path)), LandingVerdict::Land(ContentForm::Reflog, _));
                if !log && !display_path(&path).ends_with("_EDITMSG") {
                    self.report.conflict(describe_conflict(&path, sandbox_id));
                }
            }
            HostWriteOutcome::Kept => {
                self.objects_incomplete |= phase.brings_objects();
                self.report.keep(path);
                return;
            }
        }
        self.report.removable.push(path);
    }

    fn land_file(
        &mut self,
        path: &Path,
        form: ContentForm,
        body: LandingContent,
        (removal, changed): (RemovalScope, i128),
    ) -> Result<LandOutcome, HostWriteFault> {
        match form {
            ContentForm::Config => return self.land_config(path, body),
            ContentForm::Index => return self.land_index(path, &body, changed),
            ContentForm::LooseObject | ContentForm::Pack | ContentForm::PackIndex => {
                return self.land_object(path, form, &body);
            }
            _ => {}
        }
        let format = if form == ContentForm::Reflog { self.object_format(path) } else { None };
        let Some(bytes) = body.read_all().filter(|bytes| self.is_valid_content((path, form), bytes, format))
        else {
            return Ok(LandOutcome::Written(HostWriteOutcome::Kept));
        };
        let body = LandingContent::Bytes(bytes);
        let put = if form.is_content_addressed() {
            self.host.add_new(path, |to| write(to, &body))?
        } else if form == ContentForm::Ref
            && !self.host.exists(path)
            && self.is_packed_ref_moved(path, &body, changed)
        {
            HostWriteOutcome::Conflict
        } else {
            let is_foreign_change = self.foreign_change_check(form, &body, changed);
            let guard = ReplaceGuard { removal, is_foreign_change: &*is_foreign_change };
            let put = self.host.replace(path, &body, &guard)?;
            drop(is_foreign_change);
            if put == HostWriteOutcome::Conflict && form == ContentForm::Reflog {
                self.append_reflog(path, &body)?
            } else {
                put
            }
        };
        Ok(LandOutcome::Written(put))
    }

    /// Lands an index, without data that git can compute itself.
    fn land_index(
        &mut self,
        path: &Path,
        body: &LandingContent,
        changed: i128,
    ) -> Result<LandOutcome, HostWriteFault> {
        let checked = self.object_format(path).and_then(|format| self.landable_index(path, body, format));
        let Some(checked) = checked else { return Ok(LandOutcome::Written(HostWriteOutcome::Kept)) };
        let is_foreign_change = self.foreign_change_check(ContentForm::Index, body, changed);
        let guard = ReplaceGuard { removal: RemovalScope::Never, is_foreign_change: &*is_foreign_change };
        Ok(LandOutcome::Written(self.host.replace(path, &checked, &guard)?))
    }

    fn is_valid_content(
        &self,
        (path, form): (&Path, ContentForm),
        bytes: &[u8],
        format: Option<ObjectFormat>,
    ) -> bool {
        let at = || self.layer.repository.at.join(path.parent().unwrap_or(path));
        let inside = |text: &[u8]| is_worktree_inside(text, &at(), &self.layer.repository.root);
        match form {
            ContentForm::Ref => is_reference(bytes),
            ContentForm::Head => is_head(bytes),
            ContentForm::Reflog => self.is_valid_reflog(path, bytes, format),
            ContentForm::Text => !bytes.contains(&0),
            ContentForm::Rerere => is_rerere(bytes),
            ContentForm::ObjectIds => is_id_list(bytes),
            ContentForm::BranchOrId => is_name_or_id(bytes),
            ContentForm::PackedRefs => is_packed_refs(bytes),
            ContentForm::Commondir => bytes == b"../..\n",
            // The sandbox must not touch a worktree that lies elsewhere.
            ContentForm::Gitdir => {
                inside(bytes) && self.host.read_small(path, form.size_limit()).is_none_or(|old| inside(&old))
            }
            ContentForm::Promisor => self.is_promisor_valid(path, bytes),
            ContentForm::Config | ContentForm::Index => false,
            ContentForm::LooseObject | ContentForm::Pack | ContentForm::PackIndex => false,
        }
    }

    /// Returns true if this may be a reflog. Entries that the host already has are accepted.
    fn is_valid_reflog(&self, path: &Path, bytes: &[u8], format: Option<ObjectFormat>) -> bool {
        let old = self.host.read_small(path, ContentForm::Reflog.size_limit()).unwrap_or_default();
        let new = bytes.strip_prefix(old.as_slice()).filter(|_| old.ends_with(b"\n")).unwrap_or(bytes);
        format.is_some_and(|format| is_reflog(new, format))
    }

    /// Lands the harmless part of a configuration, only where the host has none.
    fn land_config(&self, path: &Path, body: LandingContent) -> Result<LandOutcome, HostWriteFault> {
        let LandingContent::Bytes(text) = body else {
            return Ok(LandOutcome::Written(HostWriteOutcome::Kept));
        };
        let git = path.parent().filter(|git| !git.as_os_str().is_empty());
        let root = &self.layer.repository.root;
        let inside = |tree: &str| {
            let tree = git.and_then(|git| normalize(&self.layer.repository.at.join(git), Path::new(tree)));
            // Only a submodule chooses its own tree.
            tree.is_some_and(|tree| {
                tree.starts_with(root) && tree != *root && !parts(&tree).contains(&b".git".as_slice())
            })
        };
        let near = |path: &str| normalize(root, Path::new(path)).is_none_or(|path| path.starts_with(root));
        let rewritten = config_rewrite::rewrite(&text, inside, near);
        let known = self.host.stat(path);
        let ours =
            known.is_none_or(|stat| self.layer.landed_files.get(path) == Some(&LandedMark::from_stat(&stat)));
        if known.is_some() && !ours {
            let same = rewritten.complete
                && self
                    .host
                    .read_small(path, ContentForm::Config.size_limit())
                    .is_some_and(|old| old == text || old == rewritten.text.as_bytes());
            return Ok(LandOutcome::Written(if same {
                HostWriteOutcome::Unchanged
            } else {
                HostWriteOutcome::Kept
            }));
        }
        // Existing objects were read in the format of the previous configuration.
        let old = known.and_then(|_| self.host.read_small(path, ContentForm::Config.size_limit()));
        let format = ObjectFormat::from_config(rewritten.text.as_bytes());
        if format.is_none() || old.is_some_and(|old| ObjectFormat::from_config(&old) != format) {
            return Ok(LandOutcome::Written(HostWriteOutcome::Kept));
        }
        let guard = ReplaceGuard {
            removal: RemovalScope::Never,
            is_foreign_change: &|_, stat| {
                self.layer.landed_files.get(path) != Some(&LandedMark::from_stat(stat))
            },
        };
        match self.host.replace(path, &LandingContent::Bytes(rewritten.text.into_bytes()), &guard)? {
            HostWriteOutcome::Landed(mark) if !rewritten.complete => Ok(LandOutcome::Partly(mark)),
            HostWriteOutcome::Unchanged if !rewritten.complete => {
                Ok(LandOutcome::Written(HostWriteOutcome::Kept))
            }
            put => Ok(LandOutcome::Written(put)),
        }
    }

    fn land_removal(
        &self,
        path: &Path,
        removal: RemovalScope,
        changed: i128,
    ) -> Result<LandOutcome, HostWriteFault> {
        let names = parts(path);
        // The value may be in the packed references that did not land.
        if self.packed_refs_failed
            && names.contains(&b"refs".as_slice())
            && !names.contains(&b"logs".as_slice())
        {
            return Ok(LandOutcome::Written(HostWriteOutcome::Conflict));
        }
        if let [b"worktrees", _] = &names[allowlist::repository_depth(&names)..] {
            let tree = self.host.read_small(&path.join("gitdir"), ContentForm::Gitdir.size_limit());
            let at = self.layer.repository.at.join(path);
            let inside = tree.is_some_and(|tree| is_worktree_inside(&tree, &at, &self.layer.repository.root));
            if self.host.exists(path) && !inside {
                return Ok(LandOutcome::Written(HostWriteOutcome::Kept));
            }
        }
        let is_foreign_change = self.is_changed_by_others(changed);
        Ok(LandOutcome::Written(
            self.host.remove(path, &ReplaceGuard { removal, is_foreign_change: &is_foreign_change })?,
        ))
    }
}

/// Returns the sandbox's id of a reference, with which its commit is found again after a conflict.
fn sandbox_ref_id(item: &LandingItem) -> Option<String> {
    let LandingJob::Write(ContentForm::Ref | ContentForm::Head, Some(Ok(LandingContent::Bytes(bytes)))) =
        &item.job
    else {
        return None;
    };
    let text = std::str::from_utf8(bytes).ok().filter(|_| is_id_list(bytes))?;
    Some(text.trim().to_owned())
}

/// Describes a conflict.
fn describe_conflict(path: &Path, sandbox_id: Option<&str>) -> String {
    let name = display_path(path);
    let is_branch = parts(path).windows(2).any(|two| two == [b"refs".as_slice(), b"heads"]);
    match sandbox_id {
        None => name,
        Some(id) if is_branch || path.ends_with("HEAD") => {
            format!("{name} (in the sandbox: {id}; git merge {id} brings it in)")
        }
        Some(id) => format!("{name} (in the sandbox: {id})"),
    }
}
