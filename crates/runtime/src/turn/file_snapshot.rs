//! Snapshot of the files and symlinks below a directory, with their contents as far as time and memory limits permit.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use exec::fs::{
    ConfinedFs, FileHandle, FileKind, FileStat, IgnoreFiles, WalkControl, WalkEntry, WalkOptions,
};
use parking_lot::Mutex;

/// A longer file is mentioned and not shown.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Maximum bytes of file contents in memory.
const MAX_CONTENT_BYTES: usize = 128 << 20;
/// Maximum number of files; each takes about 300 bytes.
const MAX_FILES: usize = 200_000;
/// Number of scanning threads.
const SCAN_THREADS: usize = 4;
/// Time limit for reading contents in the first scan. Of the other files only the fact of a change will be known.
const CONTENT_TIMEOUT: Duration = Duration::from_millis(200);
/// Time limit of a scan.
const SCAN_TIMEOUT: Duration = Duration::from_secs(1);

/// Files as of the last scan.
#[derive(Debug, Default)]
pub(super) struct FileSnapshot {
    /// Keyed by path bytes: comparing paths by component, as `Path` does, took half of the scan time.
    files: HashMap<OsString, SnapshotEntry>,
    /// Number of scans.
    scans: u32,
    pub(super) coverage: ScanCoverage,
}

/// Coverage of the last scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ScanCoverage {
    #[default]
    Complete,
    /// A time or size limit was reached.
    Partial,
}

#[derive(Debug)]
struct SnapshotEntry {
    file: SnapshotFile,
    /// The last scan that found it. An unchanged file costs a scan nothing but this store.
    last_scan: AtomicU32,
}

/// A file or a symlink.
#[derive(Debug, Clone)]
pub(super) struct SnapshotFile {
    pub(super) stat: FileStat,
    /// Its content, unless it is too long or unreadable; the target of a symlink.
    pub(super) bytes: Option<Arc<[u8]>>,
}

/// A file that may have changed since the last scan.
#[derive(Debug, Clone)]
pub(super) struct ChangedFile {
    pub(super) path: OsString,
    pub(super) before: Option<SnapshotFile>,
    pub(super) after: Option<SnapshotFile>,
}

impl ChangedFile {
    pub(super) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// Returns whether the file is new or differs from before.
    pub(super) fn adds_or_changes(&self) -> bool {
        match (&self.before, &self.after) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(was), Some(is)) => !was.same_as(is),
        }
    }
}

impl SnapshotFile {
    pub(super) fn is_link(&self) -> bool {
        self.stat.kind == FileKind::Symlink
    }

    pub(super) fn same_as(&self, other: &Self) -> bool {
        let same = self.stat.executable == other.stat.executable && self.stat.kind == other.stat.kind;
        same && match (&self.bytes, &other.bytes) {
            (Some(own), Some(others)) => own == others,
            (Some(_) | None, _) => self.stat == other.stat,
        }
    }

    fn size(&self) -> usize {
        self.bytes.as_ref().map_or(0, |bytes| bytes.len())
    }
}

impl FileSnapshot {
    /// Scans everything below `start`. Returns the changed files, sorted by path.
    pub(super) fn scan(&mut self, fs: &ConfinedFs, start: &FileHandle) -> Vec<ChangedFile> {
        self.scans += 1;
        let scan = SnapshotScan {
            snapshot: self,
            began: Instant::now(),
            files: AtomicUsize::new(0),
            bytes: AtomicUsize::new(self.files.values().map(|known| known.file.size()).sum()),
            found: Mutex::default(),
        };
        let options = WalkOptions { ignore: IgnoreFiles::Respect, max_depth: None, threads: SCAN_THREADS };
        let stop = || scan.began.elapsed() > SCAN_TIMEOUT;
        let walked = fs.walk(start, &options, &stop, || {
            let mut worker = ScanWorker { scan: &scan, found: Vec::new() };
            move |entry: &WalkEntry<'_>| worker.visit(entry)
        });
        let found = scan.found.into_inner();
        let is_whole = walked.is_ok_and(|walked| !walked.stopped);
        self.coverage = if is_whole { ScanCoverage::Complete } else { ScanCoverage::Partial };
        self.apply_findings(found.into_iter().flatten())
    }

    /// Clears the snapshot, because the directory cannot be scanned.
    pub(super) fn clear(&mut self) -> Vec<ChangedFile> {
        *self = Self { coverage: ScanCoverage::Partial, scans: self.scans + 1, files: HashMap::new() };
        Vec::new()
    }

    fn apply_findings(&mut self, found: impl Iterator<Item = (OsString, SnapshotFile)>) -> Vec<ChangedFile> {
        let (scan, mut changed) = (self.scans, Vec::new());
        for (path, file) in found {
            let known = SnapshotEntry { file: file.clone(), last_scan: AtomicU32::new(scan) };
            // The first scan only records files.
            if scan == 1 {
                self.files.insert(path, known);
                continue;
            }
            let before = self.files.insert(path.clone(), known).map(|known| known.file);
            changed.push(ChangedFile { path, before, after: Some(file) });
        }
        let gone = self.files.extract_if(|_, known| *known.last_scan.get_mut() != scan);
        changed.extend(gone.map(|(path, known)| ChangedFile { path, before: Some(known.file), after: None }));
        changed.sort_by(|one, other| one.path().cmp(other.path()));
        changed
    }
}

/// State that all threads of one scan share.
struct SnapshotScan<'s> {
    snapshot: &'s FileSnapshot,
    began: Instant,
    files: AtomicUsize,
    bytes: AtomicUsize,
    /// New or changed files of each thread.
    found: Mutex<Vec<Vec<(OsString, SnapshotFile)>>>,
}

/// The findings of one thread. A lock for every file would make the threads wait for each other.
struct ScanWorker<'l, 's> {
    scan: &'l SnapshotScan<'s>,
    found: Vec<(OsString, SnapshotFile)>,
}

impl ScanWorker<'_, '_> {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> WalkControl {
        if !matches!(entry.kind(), FileKind::File | FileKind::Symlink) {
            return WalkControl::Continue;
        }
        if self.scan.files.fetch_add(1, Relaxed) >= MAX_FILES {
            return WalkControl::Stop;
        }
        let Ok(stat) = entry.stat() else { return WalkControl::Continue };
        let path = entry.path().as_os_str();
        if !self.scan.is_unchanged(path, &stat) {
            let file = self.scan.read(entry, stat);
            self.found.push((path.to_owned(), file));
        }
        WalkControl::Continue
    }
}

impl Drop for ScanWorker<'_, '_> {
    fn drop(&mut self) {
        let mut found = self.scan.found.lock();
        found.push(std::mem::take(&mut self.found));
    }
}

impl SnapshotScan<'_> {
    /// Returns whether the file is known and unchanged.
    fn is_unchanged(&self, path: &OsStr, stat: &FileStat) -> bool {
        let known = self.snapshot.files.get(path).filter(|known| known.file.stat == *stat);
        known.inspect(|known| known.last_scan.store(self.snapshot.scans, Relaxed)).is_some()
    }

    /// Reads a file. Returns only its metadata if it comes too late, is too long or cannot be read.
    fn read(&self, entry: &WalkEntry<'_>, stat: FileStat) -> SnapshotFile {
        let is_late = self.snapshot.scans == 1 && self.began.elapsed() > CONTENT_TIMEOUT;
        let read = match stat.kind {
            FileKind::Symlink => {
                entry.link_target().map(|target| (stat, target.as_os_str().as_bytes().into()))
            }
            _ if is_late || stat.size > MAX_FILE_BYTES => None,
            _ => read_content(entry),
        };
        let Some((stat, bytes)) = read else { return SnapshotFile { stat, bytes: None } };
        let file = SnapshotFile { stat, bytes: Some(bytes) };
        if self.bytes.fetch_add(file.size(), Relaxed) + file.size() > MAX_CONTENT_BYTES {
            self.bytes.fetch_sub(file.size(), Relaxed);
            return SnapshotFile { bytes: None, ..file };
        }
        file
    }
}

fn read_content(entry: &WalkEntry<'_>) -> Option<(FileStat, Arc<[u8]>)> {
    let (file, stat) = entry.open().ok()?;
    let mut bytes = Vec::with_capacity(usize::try_from(stat.size.min(MAX_FILE_BYTES)).unwrap_or(0));
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_FILE_BYTES).then(|| (stat, bytes.into()))
}
