//! What is below a directory: its files and symbolic links, with what is in them as far as there is time to read it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use exec::fs::{Door, Entry, Flow, Found, IgnoreFiles, Kind, Stat, WalkOptions};

/// A file longer than this is told of, and not shown.
const LONGEST: u64 = 1 << 20;
/// So many bytes are remembered in all.
const MOST_BYTES: usize = 128 << 20;
/// So many files are looked at; each takes about 300 bytes.
const MOST_FILES: usize = 200_000;
/// Threads that look.
const THREADS: usize = 4;
/// So long files are read to be remembered; of the others only that they changed will be known.
const READING: Duration = Duration::from_millis(200);
/// So long they are looked for.
const LOOKING: Duration = Duration::from_secs(1);

/// Files as they were last seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// By the bytes of their names: to compare paths part by part, as `Path` does, took half of a look.
    files: HashMap<OsString, Known>,
    /// How often it was looked.
    looks: u32,
    pub(super) reach: Reach,
}

/// How far the last look came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Reach {
    #[default]
    Everything,
    /// There is more than there was time or room for.
    Part,
}

#[derive(Debug)]
struct Known {
    file: File,
    /// The last look that met it: what has not changed costs a look nothing more than to say so here.
    met: AtomicU32,
}

/// A file, or a symbolic link.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) stat: Stat,
    /// What is in it, unless it is too long or cannot be read; of a link, where it leads.
    pub(super) bytes: Option<Arc<[u8]>>,
}

/// A file of which a look found that it may have changed.
#[derive(Debug, Clone)]
pub(super) struct Changed {
    pub(super) path: OsString,
    pub(super) before: Option<File>,
    pub(super) after: Option<File>,
}

impl Changed {
    pub(super) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// Whether there is a file now that was not there, or was another.
    pub(super) fn differs(&self) -> bool {
        match (&self.before, &self.after) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(was), Some(is)) => !was.is_as(is),
        }
    }
}

impl File {
    pub(super) fn is_link(&self) -> bool {
        self.stat.kind == Kind::Symlink
    }

    pub(super) fn is_as(&self, other: &Self) -> bool {
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

impl Seen {
    /// Looks at everything below `start`. Returns the files that changed, sorted by path.
    pub(super) fn look(&mut self, door: &Door, start: &Found) -> Vec<Changed> {
        self.looks += 1;
        let look = Look {
            seen: self,
            began: Instant::now(),
            files: AtomicUsize::new(0),
            bytes: AtomicUsize::new(self.files.values().map(|known| known.file.size()).sum()),
            found: Mutex::default(),
        };
        let options = WalkOptions { ignore: IgnoreFiles::Respect, max_depth: None, threads: THREADS };
        let stop = || look.began.elapsed() > LOOKING;
        let walked = door.walk(start, &options, &stop, || {
            let mut mine = Mine { look: &look, found: Vec::new() };
            move |entry: &Entry<'_>| mine.visit(entry)
        });
        let found = look.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_whole = walked.is_ok_and(|walked| !walked.stopped);
        self.reach = if is_whole { Reach::Everything } else { Reach::Part };
        self.renew(found.into_iter().flatten())
    }

    /// Nothing can be looked at.
    pub(super) fn nothing(&mut self) -> Vec<Changed> {
        *self = Self { reach: Reach::Part, looks: self.looks + 1, files: HashMap::new() };
        Vec::new()
    }

    fn renew(&mut self, found: impl Iterator<Item = (OsString, File)>) -> Vec<Changed> {
        let (look, mut changed) = (self.looks, Vec::new());
        for (path, file) in found {
            let known = Known { file: file.clone(), met: AtomicU32::new(look) };
            // Whoever looks for the first time asks only what there is.
            if look == 1 {
                self.files.insert(path, known);
                continue;
            }
            let before = self.files.insert(path.clone(), known).map(|known| known.file);
            changed.push(Changed { path, before, after: Some(file) });
        }
        let gone = self.files.extract_if(|_, known| *known.met.get_mut() != look);
        changed.extend(gone.map(|(path, known)| Changed { path, before: Some(known.file), after: None }));
        changed.sort_by(|one, other| one.path().cmp(other.path()));
        changed
    }
}

/// What all threads of one look share.
struct Look<'s> {
    seen: &'s Seen,
    began: Instant,
    files: AtomicUsize,
    bytes: AtomicUsize,
    /// What each thread found that is new, or not as it was.
    found: Mutex<Vec<Vec<(OsString, File)>>>,
}

/// What one thread has found; a lock for every file would have the threads wait for each other.
struct Mine<'l, 's> {
    look: &'l Look<'s>,
    found: Vec<(OsString, File)>,
}

impl Mine<'_, '_> {
    fn visit(&mut self, entry: &Entry<'_>) -> Flow {
        if !matches!(entry.kind(), Kind::File | Kind::Symlink) {
            return Flow::Continue;
        }
        if self.look.files.fetch_add(1, Relaxed) >= MOST_FILES {
            return Flow::Stop;
        }
        let Ok(stat) = entry.stat() else { return Flow::Continue };
        let path = entry.path().as_os_str();
        if !self.look.knows(path, &stat) {
            let file = self.look.read(entry, stat);
            self.found.push((path.to_owned(), file));
        }
        Flow::Continue
    }
}

impl Drop for Mine<'_, '_> {
    fn drop(&mut self) {
        let mut found = self.look.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.push(std::mem::take(&mut self.found));
    }
}

impl Look<'_> {
    /// Whether it is known, and nobody wrote to it since.
    fn knows(&self, path: &OsStr, stat: &Stat) -> bool {
        let known = self.seen.files.get(path).filter(|known| known.file.stat == *stat);
        known.inspect(|known| known.met.store(self.seen.looks, Relaxed)).is_some()
    }

    /// A file as it is; what comes too late, is too long or cannot be read is known by its outside alone.
    fn read(&self, entry: &Entry<'_>, stat: Stat) -> File {
        let is_late = self.seen.looks == 1 && self.began.elapsed() > READING;
        let read = match stat.kind {
            Kind::Symlink => entry.link_target().map(|target| (stat, target.as_os_str().as_bytes().into())),
            _ if is_late || stat.size > LONGEST => None,
            _ => content(entry),
        };
        let Some((stat, bytes)) = read else { return File { stat, bytes: None } };
        let file = File { stat, bytes: Some(bytes) };
        if self.bytes.fetch_add(file.size(), Relaxed) + file.size() > MOST_BYTES {
            self.bytes.fetch_sub(file.size(), Relaxed);
            return File { bytes: None, ..file };
        }
        file
    }
}

fn content(entry: &Entry<'_>) -> Option<(Stat, Arc<[u8]>)> {
    let (file, stat) = entry.open().ok()?;
    let mut bytes = Vec::with_capacity(usize::try_from(stat.size.min(LONGEST)).unwrap_or(0));
    file.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LONGEST).then(|| (stat, bytes.into()))
}
