//! Landing plan, read from an overlay's upper directory: files to write, files to remove, files that stay.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::allowlist::{self, ContentForm, LandingPhase, LandingVerdict, RemovalScope};
use super::content_checks::ContentCheck;
use super::git_layer::LandingReport;
use super::host_git_dir::HostGitDir;
use super::path_text::parts;
use super::upper_dir::{
    LandingContent, ListingBudget, OpaqueMark, UnreadReason, UpperDir, UpperEntryKind, UpperListing,
};

/// The maximum number of entries, and the maximum total length of their paths: some 50 MB of memory.
const LISTING_BUDGET: ListingBudget = ListingBudget { entries: 150_000, path_bytes: 12 << 20 };
/// The maximum number of unfinished operations.
const MAX_OPERATIONS: usize = 32;
/// The maximum depth of the upper directory: nested submodules, with long branch names.
const MAX_UPPER_DEPTH: usize = 40;
/// The maximum content held in memory before it lands.
const MAX_HELD_BYTES: usize = 32 << 20;
/// The maximum size of a file that is compared with the host's although it does not land.
const MAX_COMPARED_BYTES: u64 = 64 << 10;
/// The maximum number of files held open before they land.
const MAX_HELD_FILES: usize = 128;

/// One change to make on the host.
#[derive(Debug)]
pub(super) struct LandingItem {
    pub(super) path: PathBuf,
    pub(super) removal: RemovalScope,
    /// The time of the sandbox's change.
    pub(super) changed: i128,
    pub(super) job: LandingJob,
}

/// The action of an item.
#[derive(Debug)]
pub(super) enum LandingJob {
    /// Write a file of this form, with its content if it was read already.
    Write(ContentForm, Option<Result<LandingContent, UnreadReason>>),
    /// Remove the host's file.
    Remove,
}

impl LandingItem {
    /// Returns the phase in which the item lands.
    pub(super) fn phase(&self) -> LandingPhase {
        match &self.job {
            LandingJob::Write(form, _) => form.phase(),
            LandingJob::Remove => LandingPhase::Removals,
        }
    }
}

/// The changes that an upper directory asks for.
#[derive(Debug)]
pub(super) struct LandingPlan {
    /// The changes in the order of landing.
    pub(super) items: Vec<LandingItem>,
    /// The files that stay in the sandbox and are reported.
    pub(super) kept: LandingReport,
    /// The files that are meaningless for the host, and need not stay.
    pub(super) dropped: Vec<PathBuf>,
    /// Directories that git requires even if they are empty.
    pub(super) required_directories: Vec<PathBuf>,
    /// The directories of the upper directory that were read, outer ones first.
    pub(super) directories: Vec<(PathBuf, OpaqueMark)>,
    /// True if the limits cut the reading short.
    pub(super) truncated: bool,
    /// The paths that could not be read.
    pub(super) unread: Vec<PathBuf>,
    /// The directories of operations that were started or continued, but not finished.
    pub(super) unfinished: BTreeSet<PathBuf>,
    object_stores: VecDeque<PendingUpperDir>,
    listing_budget: ListingBudget,
}

#[derive(Debug)]
struct PendingUpperDir {
    path: PathBuf,
    host_fate: HostDirFate,
}

/// The effect of the ancestors on the host's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostDirFate {
    /// It shows through.
    Shown,
    /// It is hidden, but its content stays on the host.
    Hidden,
    /// It is replaced.
    Replaced,
}

impl LandingPlan {
    /// Reads `upper` while a command may write to it. References are read before objects, because git writes them in
    /// the opposite order. So every object that a read reference needs is found afterwards.
    pub(super) fn read(upper: &UpperDir, host: &HostGitDir) -> Self {
        let mut plan = Self::empty();
        plan.walk(
            VecDeque::from([PendingUpperDir { path: PathBuf::new(), host_fate: HostDirFate::Shown }]),
            upper,
            host,
        );
        plan.add_missed_packed_refs(upper);
        plan.preload_contents(upper);
        plan.truncated |= plan.unfinished.len() > MAX_OPERATIONS;
        let object_stores = std::mem::take(&mut plan.object_stores);
        plan.walk(object_stores, upper, host);
        plan.items.sort_by_key(LandingItem::phase);
        plan
    }

    fn empty() -> Self {
        let (items, kept, dropped, required_directories, directories, unread) = Default::default();
        let (unfinished, object_stores) = Default::default();
        let truncated = false;
        Self {
            items,
            kept,
            dropped,
            required_directories,
            directories,
            truncated,
            unread,
            unfinished,
            object_stores,
            listing_budget: LISTING_BUDGET,
        }
    }

    fn walk(&mut self, mut waiting: VecDeque<PendingUpperDir>, upper: &UpperDir, host: &HostGitDir) {
        // ends: at most as many directories are put in as there are entries
        while let Some(task) = waiting.pop_front() {
            let listing = match upper.list(&task.path, self.listing_budget) {
                Ok(listing) => listing,
                // It is no longer a directory.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(_) => {
                    self.unread.push(task.path);
                    continue;
                }
            };
            self.listing_budget.entries = self.listing_budget.entries.saturating_sub(listing.entries.len());
            self.listing_budget.path_bytes =
                self.listing_budget.path_bytes.saturating_sub(listing.path_bytes);
            self.truncated |= listing.truncated;
            if self.truncated {
                return;
            }
            self.note_directory(&task.path);
            let host_fate = self.apply_opaque_mark(&task, &listing, host);
            for (name, kind) in listing.entries {
                let path = task.path.join(name);
                match kind {
                    UpperEntryKind::Directory => {
                        self.queue_directory(PendingUpperDir { path, host_fate }, &mut waiting);
                    }
                    UpperEntryKind::File(changed) => self.record_file(path, changed, (upper, host)),
                    UpperEntryKind::Whiteout(changed) => self.record_deletion(path, changed, host),
                    UpperEntryKind::Other => self.record_special_file(path),
                }
            }
        }
    }

    fn note_directory(&mut self, path: &Path) {
        let parts = parts(path);
        if parts.is_empty() {
            return;
        }
        let verdict = allowlist::judge(&parts);
        let opaque = if verdict == LandingVerdict::Keep { OpaqueMark::Stays } else { OpaqueMark::Clear };
        if allowlist::is_required_directory(&parts) {
            self.required_directories.push(path.to_owned());
        }
        self.directories.push((path.to_owned(), opaque));
    }

    fn queue_directory(&mut self, task: PendingUpperDir, waiting: &mut VecDeque<PendingUpperDir>) {
        let parts = parts(&task.path);
        match allowlist::judge(&parts) {
            LandingVerdict::Private | LandingVerdict::Junk => {}
            _ if parts.len() > MAX_UPPER_DEPTH => self.kept.keep(task.path),
            _ if allowlist::is_object_store(&parts) => self.object_stores.push_back(task),
            _ => waiting.push_back(task),
        }
    }

    fn record_file(&mut self, path: PathBuf, changed: i128, (upper, host): (&UpperDir, &HostGitDir)) {
        match allowlist::judge(&parts(&path)) {
            LandingVerdict::Land(form, removal) => {
                self.items.push(LandingItem { path, removal, changed, job: LandingJob::Write(form, None) });
            }
            LandingVerdict::Junk => self.dropped.push(path),
            LandingVerdict::Operation => self.drop_operation_file(path),
            LandingVerdict::Private => {}
            LandingVerdict::Template if !host.exists(&path) => {}
            // As after a second `git init`.
            LandingVerdict::Template | LandingVerdict::Keep
                if host
                    .read_small(&path, MAX_COMPARED_BYTES)
                    .is_some_and(|text| upper.read_small(&path, MAX_COMPARED_BYTES) == Some(text)) => {}
            LandingVerdict::Template
            | LandingVerdict::Keep
            | LandingVerdict::Unknown
            | LandingVerdict::Worktree => self.kept.keep(path),
        }
    }

    /// Handles a link, a pipe or a device.
    fn record_special_file(&mut self, path: PathBuf) {
        match allowlist::judge(&parts(&path)) {
            LandingVerdict::Junk => self.dropped.push(path),
            LandingVerdict::Operation => self.drop_operation_file(path),
            LandingVerdict::Private => {}
            _ => self.kept.keep(path),
        }
    }

    /// Handles a file in the directory of an operation: the operation is unfinished.
    fn drop_operation_file(&mut self, path: PathBuf) {
        let is_operation = |dir: &&Path| allowlist::is_operation_directory(&parts(dir));
        self.unfinished.extend(path.ancestors().skip(1).find(is_operation).map(Path::to_owned));
        self.dropped.push(path);
    }

    /// Handles a file of the host that the sandbox has deleted.
    fn record_deletion(&mut self, path: PathBuf, changed: i128, host: &HostGitDir) {
        let parts = parts(&path);
        let remove = |path, removal| LandingItem { path, removal, changed, job: LandingJob::Remove };
        match allowlist::judge(&parts) {
            // Other references may need an object, so objects stay on the host, and the next command sees them again.
            LandingVerdict::Land(..) | LandingVerdict::Unknown if allowlist::is_in_object_store(&parts) => {
                self.dropped.push(path);
            }
            LandingVerdict::Land(_, RemovalScope::Never) => self.kept.keep(path),
            LandingVerdict::Land(_, removal) => self.items.push(remove(path, removal)),
            LandingVerdict::Worktree if parts.len() == allowlist::repository_depth(&parts) + 1 => {
                let names = host.list_names(&path);
                self.items.extend(names.iter().map(|name| remove(path.join(name), RemovalScope::Tree)));
                self.dropped.push(path);
            }
            LandingVerdict::Worktree => self.items.push(remove(path, RemovalScope::Tree)),
            LandingVerdict::Operation if allowlist::is_operation_directory(&parts) => {
                self.items.push(remove(path, RemovalScope::Tree));
            }
            LandingVerdict::Operation => self.drop_operation_file(path),
            LandingVerdict::Private => {}
            LandingVerdict::Junk => self.dropped.push(path),
            LandingVerdict::Template | LandingVerdict::Keep | LandingVerdict::Unknown => self.kept.keep(path),
        }
    }

    /// Counts the host's contents of an opaque directory as deleted. Returns the effect on its subdirectories.
    fn apply_opaque_mark(
        &mut self,
        task: &PendingUpperDir,
        listing: &UpperListing,
        host: &HostGitDir,
    ) -> HostDirFate {
        let names = parts(&task.path);
        let host_fate = match task.host_fate {
            _ if allowlist::is_in_object_store(&names) => HostDirFate::Shown,
            HostDirFate::Shown if !listing.opaque => HostDirFate::Shown,
            HostDirFate::Shown | HostDirFate::Replaced if allowlist::is_replaceable(&names) => {
                HostDirFate::Replaced
            }
            HostDirFate::Shown | HostDirFate::Replaced | HostDirFate::Hidden => HostDirFate::Hidden,
        };
        if host_fate == HostDirFate::Shown {
            return host_fate;
        }
        let here: HashSet<_> = listing.entries.iter().map(|(name, _)| name).collect();
        let mut missing = host.list_names(&task.path);
        missing.retain(|name| !here.contains(name));
        if host_fate == HostDirFate::Replaced {
            missing
                .into_iter()
                .for_each(|name| self.record_deletion(task.path.join(name), listing.changed, host));
        } else if !missing.is_empty() && allowlist::is_operation_directory(&names) {
            self.unfinished.insert(task.path.clone());
        } else if !missing.is_empty() {
            self.kept.keep(task.path.clone());
        }
        host_fate
    }

    /// Adds a missed `packed-refs`. Packing references writes that file, then deletes the packed ones. The walk may
    /// have seen only the deletions.
    fn add_missed_packed_refs(&mut self, upper: &UpperDir) {
        let known: HashSet<&Path> = self.items.iter().map(|item| item.path.as_path()).collect();
        let mut missing = HashSet::new();
        for item in self.items.iter().filter(|item| matches!(item.job, LandingJob::Remove)) {
            for above in
                item.path.ancestors().filter(|above| above.file_name().is_some_and(|name| name == "refs"))
            {
                let packed = above.with_file_name("packed-refs");
                if !known.contains(packed.as_path()) && upper.has_regular_file(&packed) {
                    missing.insert(packed);
                }
            }
        }
        self.items.extend(missing.into_iter().filter_map(|path| match allowlist::judge(&parts(&path)) {
            LandingVerdict::Land(form, removal) => {
                Some(LandingItem { path, removal, changed: i128::MAX, job: LandingJob::Write(form, None) })
            }
            _ => None,
        }));
    }

    /// Reads small files, and opens files that are replaced as a whole or only grow.
    fn preload_contents(&mut self, upper: &UpperDir) {
        let (mut memory, mut held) = (0, 0);
        for item in &mut self.items {
            let LandingJob::Write(form, body) = &mut item.job else { continue };
            let hold = match form.check() {
                ContentCheck::Whole => memory < MAX_HELD_BYTES,
                ContentCheck::Start => {
                    matches!(form, ContentForm::Index | ContentForm::Reflog) && held < MAX_HELD_FILES
                }
            };
            if hold {
                let read = upper.read_content(&item.path, *form);
                match &read {
                    Ok(LandingContent::Bytes(bytes)) => memory += bytes.len(),
                    Ok(LandingContent::File(..)) => held += 1,
                    Err(_) => {}
                }
                *body = Some(read);
            }
        }
    }
}
