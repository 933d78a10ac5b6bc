//! Private directory of a session (`/tmp`, overlay layers), its placeholder directories, and cleanup after a kill.
//!
//! It is removed with the session. The next session removes the leftovers of a killed one: a lock tells which
//! sessions are alive.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use policy::Tier;
use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, StatxFlags, Timespec, Timestamps, UTIME_NOW, flock,
    fstat, mkdir, mkdirat, open, openat, statx, unlinkat,
};
use rustix::io::Errno;

use super::placeholder::{hold_placeholder, remove_marked_placeholder, remove_placeholder};
use super::run_overlap::RunOverlap;
use private_files::is_private_dir;

/// The depth of a recursive removal. A deeper tree was created to obstruct it.
const MAX_DEPTH: usize = 300;
/// The file that lists placeholders created outside, to be removed again.
const PLACEHOLDERS_FILE: &str = "placeholders";
/// The file that lists the locations where commands could plant files that a program of the user's obeys. It is
/// touched while they run.
const WATCHED_PLACES_FILE: &str = "watched";
/// The maximum size of such a file that is read.
const MAX_NOTES_BYTES: usize = 1 << 20;
/// A file created this long after the last touch was not created by a command.
const COMMAND_CREATION_SLACK: Duration = Duration::from_secs(2);

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };

/// The private directory of a session. Dropping it removes the directory.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Held as long as this value lives.
    _lock: OwnedFd,
    placeholders: Mutex<Vec<(PathBuf, OwnedFd)>>,
    possible_placeholders: Mutex<BTreeSet<PathBuf>>,
    /// The number of layers, of all cells that use the directory.
    layers: AtomicUsize,
    /// Notes about files that were planted during a killed session.
    recovery_notes: Mutex<Vec<String>>,
    /// The runs that use the directory.
    pub(crate) overlap: RunOverlap,
}

impl Scratch {
    /// Creates a directory, and removes abandoned ones.
    pub fn new() -> io::Result<Self> {
        let all = find_or_create_base()?;
        // Prevents other sessions from sweeping the new directory before it is locked.
        let held = open_directory(&all)?;
        // A command that sees the directory may hold its lock to obstruct this: then nothing is swept.
        let recovery_notes = if lock_all(&held) { remove_abandoned(&all) } else { Vec::new() };
        // ends: some name is free
        for _ in 0..100 {
            let path = all.join(format!("{:016x}", random()?));
            match mkdir(&path, Mode::RWXU) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(describe_base_fault(&path, &errno.into())),
            }
            let lock = open_directory(&path)?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            for name in ["tmp", "var-tmp", "layers", "caches"] {
                mkdir(path.join(name), Mode::RWXU)?;
            }
            for name in ["tmp", "var-tmp"] {
                // Independent of the umask of this process.
                rustix::fs::chmod(path.join(name), Mode::from_raw_mode(0o1777))?;
            }
            return Ok(Self {
                path,
                _lock: lock,
                placeholders: Mutex::default(),
                possible_placeholders: Mutex::default(),
                layers: AtomicUsize::new(0),
                recovery_notes: Mutex::new(recovery_notes),
                overlap: RunOverlap::default(),
            });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory that holds the scratch directories of all sessions of this user.
    pub fn base_directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Returns the usual path of [`Scratch::base_directory`], if a file that is not exclusively this user's has taken it.
    pub fn foreign_base(&self) -> Option<PathBuf> {
        let known = self.base_directory().with_file_name(base_name());
        (self.base_directory() != known).then_some(known)
    }

    /// Returns the directory that confined commands see as `/tmp`.
    pub fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Returns the directory that confined commands see as `/var/tmp`.
    pub fn var_tmp(&self) -> PathBuf {
        self.path.join("var-tmp")
    }

    /// Returns the path that commands see for the host's `path`: their `/tmp` is in this directory.
    pub(crate) fn inside(&self, path: &Path, tier: Tier) -> PathBuf {
        let places = [(self.tmp(), "/tmp"), (self.var_tmp(), "/var/tmp")];
        let inside_path = places.iter().find_map(|(own, place)| {
            let below = path.strip_prefix(own).ok()?;
            Some(Path::new(place).components().chain(below.components()).collect())
        });
        inside_path.filter(|_| tier >= Tier::Namespaces).unwrap_or_else(|| path.to_owned())
    }

    /// Returns the name of a new layer. Several cells may use this directory, and no two overlays may share a layer.
    pub(crate) fn new_layer(&self) -> String {
        self.layers.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// Takes the notes about a killed session, which are reported once.
    pub(crate) fn take_recovery_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.recovery_notes.lock())
    }

    /// Saves `places` for the session after a kill.
    pub(crate) fn record_watched_places(&self, places: &[u8]) {
        let _not_noted = append(&self.path.join(WATCHED_PLACES_FILE), places);
    }

    /// Records that commands run.
    pub(crate) fn mark_used(&self) {
        let now = Timestamps { last_access: NOW, last_modification: NOW };
        let _not_noted =
            rustix::fs::utimensat(CWD, self.path.join(WATCHED_PLACES_FILE), &now, AtFlags::empty());
    }

    /// Registers paths that supervisors may hold later: they are checked when the session ends.
    pub(crate) fn register_placeholders(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.possible_placeholders.lock().extend(paths);
    }

    /// Creates an empty placeholder directory at `path`, so that no command can create it. It is removed when no
    /// session needs it any more. Returns true if there is one, created now or by another session.
    pub(crate) fn placeholder(&self, path: &Path) -> bool {
        let Some(held) = hold_placeholder(path) else { return false };
        let mut placeholders = self.placeholders.lock();
        if !placeholders.iter().any(|(known, _)| known == path) {
            let _not_noted = note(&self.path.join(PLACEHOLDERS_FILE), path);
            placeholders.push((path.to_owned(), held));
        }
        true
    }

    /// Removes the placeholders of this session. Commands that still run would lose their protection.
    pub(crate) fn remove_placeholders(&self) {
        for (path, held) in self.placeholders.lock().drain(..) {
            remove_placeholder(&path, &held);
        }
        for path in std::mem::take(&mut *self.possible_placeholders.lock()) {
            remove_marked_placeholder(&path);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove_placeholders();
        remove_tree(&self.path);
    }
}

/// Takes the lock on all scratch directories, with a limited number of tries.
fn lock_all(all: &OwnedFd) -> bool {
    const MAX_LOCK_TRIES: usize = 200;
    // ends: after so many tries at the latest
    for _ in 0..MAX_LOCK_TRIES {
        match flock(all, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(Duration::from_millis(5)),
            locked => return locked.is_ok(),
        }
    }
    false
}

/// Removes the placeholders of a session whose host is gone, if no session uses its directory any more. `possible` are
/// further paths that its supervisors may have held.
pub(crate) fn remove_abandoned_placeholders(scratch: &Path, possible: &BTreeSet<PathBuf>) {
    let Ok(lock) = open_directory(scratch) else { return };
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
        for path in recorded_placeholders(scratch).iter().chain(possible) {
            remove_marked_placeholder(path);
        }
    }
}

/// Returns true if there is an empty directory.
pub(crate) fn is_empty(path: &Path) -> bool {
    holds_only(path, c"")
}

/// Returns true if there is a directory that contains nothing, or only `name`.
pub(crate) fn holds_only(path: &Path, name: &std::ffi::CStr) -> bool {
    let Ok(Ok(mut entries)) = open_directory(path).map(Dir::read_from) else { return false };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            matches!(entry.file_name().to_bytes(), b"." | b"..") || entry.file_name() == name
        })
    })
}

pub(super) fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::empty())
}

/// Records that `path` was created.
fn note(notes: &Path, path: &Path) -> rustix::io::Result<()> {
    append(notes, &[path.as_os_str().as_encoded_bytes(), b"\0"].concat())
}

fn append(notes: &Path, bytes: &[u8]) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let notes = open(notes, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::io::write(&notes, bytes).map(drop)
}

/// Returns the directory of all scratch directories of this user. It is safe even if other users can write to its
/// parent.
///
/// It has a fixed name, so that the next session finds the leftovers of a killed one. Another user can take that name
/// first. Then a name with a random suffix is used, and found again by its prefix.
fn find_or_create_base() -> io::Result<PathBuf> {
    let temporary = std::env::temp_dir();
    let above = super::super::fs::canonicalize(&temporary)
        .map_err(|error| describe_base_fault(&temporary, &error))?;
    let known = above.join(base_name());
    match mkdir(&known, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) if is_usable_base(&known) => return Ok(known),
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(describe_base_fault(&known, &errno.into())),
    }
    if let Some(found) = find_suffixed_base(&above) {
        return Ok(found);
    }
    // ends: some name is free
    for _ in 0..100 {
        let path = above.join(format!("{}-{:016x}", base_name(), random()?));
        match mkdir(&path, Mode::RWXU) {
            Ok(()) => return Ok(path),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(describe_base_fault(&path, &errno.into())),
        }
    }
    Err(describe_base_fault(&known, &io::ErrorKind::AlreadyExists.into()))
}

/// Adds the path to an error.
fn describe_base_fault(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// Returns the fixed name of this user's directory.
fn base_name() -> String {
    format!("toolgate-{}", rustix::process::geteuid().as_raw())
}

/// Finds a directory of this user in `above` with a random suffix, created by an earlier session.
fn find_suffixed_base(above: &Path) -> Option<PathBuf> {
    /// Bounds the search if another user fills the directory.
    const MAX_ENTRIES_SEARCHED: usize = 10_000;
    let beginning = format!("{}-", base_name());
    let entries =
        Dir::read_from(open_directory(above).ok()?).ok()?.filter_map(Result::ok).take(MAX_ENTRIES_SEARCHED);
    let names = entries.filter_map(|entry| entry.file_name().to_str().map(str::to_owned).ok());
    let paths = names.filter(|name| name.starts_with(&beginning)).map(|name| above.join(name));
    paths.filter(|path| is_usable_base(path)).min()
}

/// Returns true if there is a private directory that this user can list.
fn is_usable_base(path: &Path) -> bool {
    is_private_dir(path).unwrap_or(false) && open_directory(path).is_ok()
}

fn random() -> io::Result<u64> {
    let source = open("/dev/urandom", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = [0; 8];
    rustix::io::read(&source, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Removes the leftovers of killed sessions. Returns notes about planted files that a program of the user's would
/// obey.
fn remove_abandoned(all: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    let Ok(Ok(entries)) = open_directory(all).map(Dir::read_from) else { return notes };
    for entry in entries.filter_map(Result::ok) {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let path = all.join(name);
        let Ok(lock) = open_directory(&path) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        for noted in recorded_placeholders(&path) {
            remove_marked_placeholder(&noted);
        }
        notes.extend(set_aside_planted(&path));
        remove_tree(&path);
    }
    notes
}

/// Renames files that the commands of a killed session planted at its watched locations.
fn set_aside_planted(scratch: &Path) -> Vec<String> {
    let (text, touched) = read_notes(&scratch.join(WATCHED_PLACES_FILE));
    let made_then = |path: &Path| {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let Ok(stat) = statx(CWD, path, flags, StatxFlags::BTIME) else { return false };
        let known = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let late = i64::try_from(COMMAND_CREATION_SLACK.as_secs()).unwrap_or(0);
        // Without a birth time, no proof is required.
        !known || stat.stx_btime.tv_sec <= touched + late
    };
    super::git::recover(&text, made_then)
}

/// Returns the text of a notes file, and the time of its last touch in seconds.
fn read_notes(path: &Path) -> (Vec<u8>, i64) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = open(path, flags, Mode::empty()) else { return (Vec::new(), 0) };
    let mut bytes = vec![0; MAX_NOTES_BYTES];
    let read = rustix::io::read(&file, &mut bytes).unwrap_or(0);
    bytes.truncate(read);
    (bytes, fstat(&file).map_or(0, |stat| stat.st_mtime))
}

fn recorded_placeholders(scratch: &Path) -> Vec<PathBuf> {
    let (bytes, _) = read_notes(&scratch.join(PLACEHOLDERS_FILE));
    let paths = bytes.split(|&byte| byte == 0).filter(|path| path.starts_with(b"/"));
    paths.map(|path| super::cell_plan::path_from_bytes(path.to_vec())).collect()
}

/// Removes a tree of any depth and with any modes. Follows no link.
pub(crate) fn remove_tree(path: &Path) {
    const ROUNDS: usize = 10_000;
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
    let Ok(above) = open_directory(above) else { return };
    let Ok(name) = std::ffi::CString::new(name.as_encoded_bytes()) else { return };
    let mut names = vec![name];
    // ends: each round removes a tree, or many levels of one, and is one of so many
    for round in 0..ROUNDS {
        let Some(name) = names.last() else { return };
        let mut deep = Vec::new();
        remove_at(above.as_fd(), name, MAX_DEPTH, &mut deep);
        let known = names.len();
        if deep.is_empty() {
            names.pop();
        }
        // Subtrees that are too deep are moved up, and removed from there.
        for (number, opened) in deep.iter().enumerate() {
            let brought = format!("deep-{}-{round}-{number}", rustix::process::getpid().as_raw_nonzero());
            if let Ok(name) = std::ffi::CString::new(brought)
                && rustix::fs::renameat(opened, DEEP_NAME, &above, &name).is_ok()
            {
                names.push(name);
            }
        }
        if names.len() == known {
            return;
        }
    }
}

/// The temporary name of a directory that is too deep, until it is moved up.
const DEEP_NAME: &std::ffi::CStr = c".toolgate-deep";

fn remove_at(above: impl AsFd, name: &std::ffi::CStr, depth: usize, deep: &mut Vec<OwnedFd>) {
    match unlinkat(&above, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        _ => return,
    }
    if unlinkat(&above, name, AtFlags::REMOVEDIR).is_ok() {
        return;
    }
    // It is a directory: a link would be removed by now, and if it has become a link it is not followed.
    if depth == 0 {
        // Only a directory that its owner may write gets another parent.
        let _opened = open_any(&above, name);
        let above = above.as_fd().try_clone_to_owned();
        let renamed = above.map(|above| (rustix::fs::renameat(&above, name, &above, DEEP_NAME), above));
        deep.extend(renamed.ok().filter(|(renamed, _)| renamed.is_ok()).map(|(_, above)| above));
        return;
    }
    let Ok(opened) = open_any(&above, name) else { return };
    if let Ok(entries) = Dir::read_from(&opened) {
        let names = entries.filter_map(Result::ok).map(|entry| entry.file_name().to_owned());
        for name in names.filter(|name| !matches!(name.to_bytes(), b"." | b"..")) {
            remove_at(&opened, &name, depth - 1, deep);
        }
    }
    let _still_full = unlinkat(&above, name, AtFlags::REMOVEDIR);
}

/// Opens a directory with any mode.
fn open_any(above: impl AsFd, name: &std::ffi::CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(&above, name, flags | OFlags::PATH, Mode::empty())?;
    // By descriptor: no process can substitute a link.
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    let _not_ours = rustix::fs::chmod(&path, Mode::RWXU);
    open(&path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Creates the two directories of a layer below `directory`.
pub(crate) fn create_layer_directories(directory: &Path) -> rustix::io::Result<()> {
    match mkdir(directory, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    for name in ["upper", "work"] {
        match mkdirat(CWD, directory.join(name), Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_goes_however_deep_it_is_and_whatever_its_modes_say() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("top");
        mkdir(&top, Mode::RWXU).unwrap();
        for branch in [c"a", c"b"] {
            let mut at = open_directory(&top).unwrap();
            mkdirat(&at, branch, Mode::RWXU).unwrap();
            at = open_any(&at, branch).unwrap();
            for _ in 0..MAX_DEPTH * 3 {
                mkdirat(&at, "d", Mode::RWXU).unwrap();
                let below = open_any(&at, c"d").unwrap();
                rustix::fs::fchmod(&at, Mode::empty()).unwrap();
                at = below;
            }
            openat(&at, "f", OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR).unwrap();
        }
        remove_tree(&top);
        assert!(is_empty(place.path()));
    }
}
