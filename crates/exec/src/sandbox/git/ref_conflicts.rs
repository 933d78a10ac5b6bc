//! Reference conflicts: decides whether a reference that another process moved during a run was known to the run.
//!
//! A reflog is appended to, never replaced. The run saw the host's state if the sandbox's reflog contains the last
//! entry of the host's and continues from it without a gap.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;

use super::allowlist::ContentForm;
use super::content_checks::{is_object_id, lines};
use super::host_git_dir::{HostWriteFault, HostWriteOutcome, LandedMark};
use super::landing::LayerLanding;
use super::landing_plan::{LandingItem, LandingJob};
use super::path_text::parts;
use super::upper_dir::LandingContent;
use super::{index, sys};

/// The maximum size of a reflog that is read.
const MAX_REFLOG_BYTES: u64 = 16 << 20;

/// Decides whether another process has changed this file of the host in a relevant way.
pub(super) type ForeignChangeCheck<'a> = Box<dyn Fn(&Path, &Stat) -> bool + 'a>;

/// Packed references by name: there may be a hundred thousand queries.
#[derive(Debug)]
pub(super) struct PackedRefs {
    file: PathBuf,
    mark: LandedMark,
    ids: HashMap<Vec<u8>, Vec<u8>>,
}

/// The entries of a reflog after the last entry of another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReflogTail<'a> {
    /// The first old id and the last new id.
    pub(super) from: &'a [u8],
    pub(super) to: &'a [u8],
    /// The entries.
    pub(super) text: &'a [u8],
}

/// Returns the entries of `sandbox` after the last entry of `host`, or `None` if it does not continue from there
/// without a gap.
pub(super) fn reflog_tail<'a>(host: &'a [u8], sandbox: &'a [u8]) -> Option<ReflogTail<'a>> {
    let last =
        host.split_inclusive(|byte| *byte == b'\n').next_back().filter(|line| line.ends_with(b"\n"))?;
    let (_, from) = parse_entry_ids(last)?;
    // Line by line from the end, so that each is compared once.
    let mut start = sandbox.len();
    let known = sandbox.split_inclusive(|byte| *byte == b'\n').rev().find(|line| {
        start -= line.len();
        *line == last
    });
    known?;
    let text = &sandbox[start + last.len()..];
    let mut to = from;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let (old, new) = parse_entry_ids(line).filter(|_| line.ends_with(b"\n"))?;
        if old != to {
            return None;
        }
        to = new;
    }
    Some(ReflogTail { from, to, text })
}

/// Returns the two ids at the start of a reflog entry.
fn parse_entry_ids(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut words = line.split(|byte| *byte == b' ');
    let (old, new) = (words.next()?, words.next()?);
    (is_object_id(old) && is_object_id(new)).then_some((old, new))
}

impl LayerLanding<'_> {
    /// Records the references that the host has moved and that the sandbox has moved on from there.
    pub(super) fn find_forwards(&mut self, items: &[LandingItem]) {
        for item in items {
            let LandingJob::Write(ContentForm::Ref, Some(Ok(LandingContent::Bytes(text)))) = &item.job else {
                continue;
            };
            let Some(from) = self.moved_ref_value(&item.path, item.changed) else { continue };
            if self.continues_host_reflog(&item.path, &from, text) {
                self.fast_forwards.insert(item.path.clone(), from);
            }
        }
    }

    /// Returns the current value of the host's reference, if another process may have moved it.
    pub(super) fn moved_ref_value(&self, path: &Path, changed: i128) -> Option<Vec<u8>> {
        let is_foreign_change = self.is_changed_by_others(changed);
        let file = match self.host.stat(path) {
            Some(_) => path.to_owned(),
            None => split_ref_path(path)?.0.join("packed-refs"),
        };
        let stat = self.host.stat(&file)?;
        is_foreign_change(&file, &stat).then(|| self.host_ref_value(path)).flatten()
    }

    /// Returns the current value of the host's reference.
    pub(super) fn host_ref_value(&self, path: &Path) -> Option<Vec<u8>> {
        if self.host.exists(path) {
            let text = self.host.read_small(path, ContentForm::Ref.size_limit())?;
            return lines(&text).next().filter(|line| is_object_id(line)).map(<[u8]>::to_vec);
        }
        let (git, name) = split_ref_path(path)?;
        let file = git.join("packed-refs");
        let mark = LandedMark::from_stat(&self.host.stat(&file)?);
        let mut packed = self.packed_refs_cache.borrow_mut();
        if packed.as_ref().is_none_or(|packed| packed.file != file || packed.mark != mark) {
            let text = self.host.read_small(&file, MAX_REFLOG_BYTES)?;
            *packed = Some(PackedRefs { file, mark, ids: parse_packed_refs(&text) });
        }
        packed.as_ref()?.ids.get(name.to_str()?.as_bytes()).cloned()
    }

    fn continues_host_reflog(&self, path: &Path, from: &[u8], text: &[u8]) -> bool {
        let Some((git, name)) = split_ref_path(path) else { return false };
        let log = git.join("logs").join(name);
        let logs =
            self.host.read_small(&log, MAX_REFLOG_BYTES).zip(self.upper.read_small(&log, MAX_REFLOG_BYTES));
        logs.is_some_and(|(host, sandbox)| {
            reflog_tail(&host, &sandbox).is_some_and(|tail| {
                tail.from == from && lines(text).next().is_some_and(|line| line == tail.to)
            })
        })
    }

    /// Returns true if another process has moved a packed reference, and the sandbox did not continue from there.
    pub(super) fn is_packed_ref_moved(&self, path: &Path, body: &LandingContent, changed: i128) -> bool {
        let Some(value) = self.moved_ref_value(path, changed) else { return false };
        let same =
            matches!(body, LandingContent::Bytes(text) if text.strip_suffix(b"\n").unwrap_or(text) == value);
        !same && self.fast_forwards.get(path) != Some(&value)
    }

    /// Merges a reflog that both sides have changed: appends the sandbox's entries.
    pub(super) fn append_reflog(
        &self,
        path: &Path,
        body: &LandingContent,
    ) -> Result<HostWriteOutcome, HostWriteFault> {
        let (Some(host), LandingContent::Bytes(sandbox)) =
            (self.host.read_small(path, MAX_REFLOG_BYTES), body)
        else {
            return Ok(HostWriteOutcome::Conflict);
        };
        match reflog_tail(&host, sandbox) {
            None => Ok(HostWriteOutcome::Conflict),
            Some(tail) if tail.text.is_empty() => Ok(HostWriteOutcome::Unchanged),
            Some(tail) => self.host.append(path, tail.text),
        }
    }

    /// Returns a check whether another process changed a file of the host since the run began, or since `changed`,
    /// the time of an earlier run's change.
    pub(super) fn is_changed_by_others(&self, changed: i128) -> impl Fn(&Path, &Stat) -> bool {
        let since = self.layer.start_nanos.min(changed);
        move |path, stat| {
            sys::change_time(stat) > since
                && self.layer.landed_files.get(path) != Some(&LandedMark::from_stat(stat))
        }
    }

    /// Returns the check of [`is_changed_by_others`](Self::is_changed_by_others), which also accepts a file if `body`
    /// includes the change.
    pub(super) fn foreign_change_check<'b>(
        &'b self,
        form: ContentForm,
        body: &'b LandingContent,
        changed: i128,
    ) -> ForeignChangeCheck<'b> {
        let is_foreign_change = self.is_changed_by_others(changed);
        match (form, body) {
            (ContentForm::Ref, _) => Box::new(move |path, stat| {
                let from = self.fast_forwards.get(path);
                is_foreign_change(path, stat)
                    && from.is_none_or(|from| self.host_ref_value(path).as_ref() != Some(from))
            }),
            (ContentForm::Index, LandingContent::File(new, _)) => Box::new(move |path, stat| {
                let now = self.layer.indexes.get(path).zip(self.host.open_file(path));
                is_foreign_change(path, stat)
                    && !now.is_some_and(|(then, now)| index::includes_changes(then, &now, new))
            }),
            _ => Box::new(is_foreign_change),
        }
    }
}

fn parse_packed_refs(packed: &[u8]) -> HashMap<Vec<u8>, Vec<u8>> {
    let entry = |line: &[u8]| {
        let (id, name) = line.split_at_checked(line.iter().position(|byte| *byte == b' ')?)?;
        is_object_id(id).then(|| (name[1..].to_vec(), id.to_vec()))
    };
    lines(packed).filter_map(entry).collect()
}

/// Returns the git directory of a reference, and its name.
fn split_ref_path(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let at = parts(path).iter().position(|part| *part == b"refs")?;
    Some((path.iter().take(at).collect(), path.iter().skip(at).collect()))
}
