//! A directory of ours for what is private to a session: its `/tmp`, what it changes in caches and git directories.
//!
//! It goes with the session. What a killed program leaves is removed by the next one: a lock tells who is alive.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use policy::Tier;
use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, StatxFlags, Timespec, Timestamps, UTIME_NOW, XattrFlags,
    fgetxattr, flock, fsetxattr, fstat, mkdir, mkdirat, open, openat, statx, unlinkat,
};
use rustix::io::Errno;

use super::overlap::RunOverlap;

/// How deep a tree is removed. What lies deeper was put there to be in the way.
const MAX_DEPTH: usize = 300;
/// How a directory is marked that only holds a place.
const MARK: &str = "user.toolgate.placeholder";
/// Where it is noted what was made in places of others, to be removed again.
const NOTES: &str = "placeholders";
/// Where it is noted at which places commands could make what a program of the user's obeys. It is touched while they run.
const WATCHED: &str = "watched";
/// What is read of such notes.
const MAX_NOTES: usize = 1 << 20;
/// A file that was made so long after the notes were last touched was not made by a command.
const LATE: Duration = Duration::from_secs(2);

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };

/// The private directory of a session. Dropping it removes it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Held as long as this lives.
    _lock: OwnedFd,
    placeholders: Mutex<Vec<(PathBuf, OwnedFd)>>,
    may_hold: Mutex<BTreeSet<PathBuf>>,
    /// How many layers there are, of all cells that use it.
    layers: AtomicUsize,
    /// What was found that a killed session had let be made.
    left: Mutex<Vec<String>>,
    /// The runs that use it.
    pub(crate) overlap: RunOverlap,
}

impl Scratch {
    /// Makes one, and removes those that nobody uses any more.
    pub fn new() -> io::Result<Self> {
        let all = ours()?;
        // Until this one is locked, nobody takes it for one that was left.
        let held = directory(&all)?;
        // A command may hold it to be in the way, where it can see it: then nothing is swept.
        let left = if lock(&held) { sweep(&all) } else { Vec::new() };
        // ends: some name is free
        for _ in 0..100 {
            let path = all.join(format!("{:016x}", random()?));
            match mkdir(&path, Mode::RWXU) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let lock = directory(&path)?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            for name in ["tmp", "var-tmp", "layers", "caches"] {
                mkdir(path.join(name), Mode::RWXU)?;
            }
            for name in ["tmp", "var-tmp"] {
                // Not what the mask of this process leaves of it.
                rustix::fs::chmod(path.join(name), Mode::from_raw_mode(0o1777))?;
            }
            return Ok(Self {
                path,
                _lock: lock,
                placeholders: Mutex::default(),
                may_hold: Mutex::default(),
                layers: AtomicUsize::new(0),
                left: Mutex::new(left),
                overlap: RunOverlap::default(),
            });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that holds those of all sessions of this user.
    pub fn all(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// The name that [`Scratch::all`] would have, if something that is not this user's alone has taken it.
    pub fn taken(&self) -> Option<PathBuf> {
        let known = self.all().with_file_name(known_name());
        (self.all() != known).then_some(known)
    }

    /// What confined commands see as `/tmp`.
    pub fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// What confined commands see as `/var/tmp`.
    pub fn var_tmp(&self) -> PathBuf {
        self.path.join("var-tmp")
    }

    /// Where `path` of the host is for commands: what they see as `/tmp` is in here.
    pub(crate) fn inside(&self, path: &Path, tier: Tier) -> PathBuf {
        let places = [(self.tmp(), "/tmp"), (self.var_tmp(), "/var/tmp")];
        let spelled = places.iter().find_map(|(own, place)| {
            let below = path.strip_prefix(own).ok()?;
            Some(Path::new(place).components().chain(below.components()).collect())
        });
        spelled.filter(|_| tier >= Tier::Namespaces).unwrap_or_else(|| path.to_owned())
    }

    /// The name of one more layer. Several cells may use this directory, and no two overlays may have one layer.
    pub(crate) fn new_layer(&self) -> String {
        self.layers.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// What was done about what a killed session had let be made, which is told once.
    pub(crate) fn take_left(&self) -> Vec<String> {
        std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes `places` for the session after a kill.
    pub(crate) fn watch(&self, places: &[u8]) {
        let _not_noted = append(&self.path.join(WATCHED), places);
    }

    /// Notes that commands run.
    pub(crate) fn touch(&self) {
        let now = Timestamps { last_access: NOW, last_modification: NOW };
        let _not_noted = rustix::fs::utimensat(CWD, self.path.join(WATCHED), &now, AtFlags::empty());
    }

    /// Keepers may hold these places later on: they are looked at when all is over.
    pub(crate) fn may_hold(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.may_hold.lock().unwrap_or_else(PoisonError::into_inner).extend(paths);
    }

    /// Makes an empty directory `path` that others are not to make, if there is nothing; it goes when nobody needs it any
    /// more. Says whether there is one, made now or by another session.
    pub(crate) fn placeholder(&self, path: &Path) -> bool {
        let make = || mkdir(path, Mode::from_raw_mode(0o755));
        // Whoever owns a directory can make it writable: so do we, for a moment.
        let made = make()
            .or_else(|errno| if errno == Errno::ACCESS { opened(path, make) } else { Err(errno) })
            .is_ok();
        let Ok(held) = directory(path) else { return false };
        if made {
            // Whoever finds it knows whose it is.
            let _not_here = fsetxattr(&held, MARK, b"1", XattrFlags::empty());
        } else if !is_marked(&held) || !is_empty(path) {
            return false;
        }
        // Another session may have made it, and is not to take it away from this one.
        let _cannot = flock(&held, FlockOperation::NonBlockingLockShared);
        let mut placeholders = self.placeholders.lock().unwrap_or_else(PoisonError::into_inner);
        if !placeholders.iter().any(|(known, _)| known == path) {
            let _not_noted = note(&self.path.join(NOTES), path);
            placeholders.push((path.to_owned(), held));
        }
        true
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let placeholders = self.placeholders.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (path, held) in placeholders.drain(..) {
            give_up(&path, &held);
        }
        for path in self.may_hold.get_mut().unwrap_or_else(PoisonError::into_inner).iter() {
            give_up_marked(path);
        }
        remove(&self.path);
    }
}

/// Waits for the lock on all scratch directories, but not for ever.
fn lock(all: &OwnedFd) -> bool {
    const TRIES: usize = 200;
    // ends: after so many tries at the latest
    for _ in 0..TRIES {
        match flock(all, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(Duration::from_millis(5)),
            locked => return locked.is_ok(),
        }
    }
    false
}

/// Removes an empty directory that nobody else holds.
fn give_up(path: &Path, held: &OwnedFd) {
    if flock(held, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    // A command may have made what lies above read-only.
    if rustix::fs::rmdir(path) == Err(Errno::ACCESS) {
        let _not_empty = opened(path, || rustix::fs::rmdir(path));
    }
}

/// The same, if it is marked: whoever says that it is one of ours may be wrong.
fn give_up_marked(path: &Path) {
    if let Ok(held) = directory(path)
        && is_marked(&held)
    {
        give_up(path, &held);
    }
}

fn is_marked(held: &OwnedFd) -> bool {
    fgetxattr(held, MARK, &mut [0; 1]).is_ok()
}

/// Whether `path` is a directory that holds a place, or was one: the user may have put files into it since.
pub(crate) fn is_placeholder(path: &Path) -> bool {
    directory(path).is_ok_and(|held| is_marked(&held) || is_empty(path))
}

/// Holds the place `path` with an empty directory, if there is nothing; says whether there is something then.
pub(crate) fn hold(path: &Path) -> rustix::io::Result<bool> {
    match mkdir(path, Mode::from_raw_mode(0o755)) {
        Ok(()) => {
            let _not_here = fsetxattr(directory(path)?, MARK, b"1", XattrFlags::empty());
            Ok(true)
        }
        Err(Errno::EXIST) => Ok(true),
        // What it lay in is gone too.
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Does `work` while the directory above `path` can be written, which need not let itself be listed.
fn opened(path: &Path, work: impl FnOnce() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    let above = super::git::sys::place(path.parent().ok_or(Errno::ACCESS)?)?;
    super::set_aside::writable(&above, work)
}

/// Whether there is a directory with nothing in it.
pub(crate) fn is_empty(path: &Path) -> bool {
    holds_only(path, c"")
}

/// Whether there is a directory with nothing in it, or only this.
pub(crate) fn holds_only(path: &Path, name: &std::ffi::CStr) -> bool {
    let Ok(Ok(mut entries)) = directory(path).map(Dir::read_from) else { return false };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            matches!(entry.file_name().to_bytes(), b"." | b"..") || entry.file_name() == name
        })
    })
}

fn directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::empty())
}

/// Notes that `path` was made.
fn note(notes: &Path, path: &Path) -> rustix::io::Result<()> {
    append(notes, &[path.as_os_str().as_encoded_bytes(), b"\0"].concat())
}

fn append(notes: &Path, bytes: &[u8]) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let notes = open(notes, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::io::write(&notes, bytes).map(drop)
}

/// The directory of all scratch directories of this user: nobody else's, whoever else writes where it lies.
///
/// It has a name that everybody knows, so that the next session finds what a killed one left. Whoever else writes there can
/// take that name first; then one with a random end is used, and found again by its beginning.
fn ours() -> io::Result<PathBuf> {
    let temporary = std::env::temp_dir();
    let fault = |path: &Path, error: &io::Error| {
        let why = format!("`{}`: {error}; set TMPDIR to a directory that you may write to", path.display());
        io::Error::new(error.kind(), why)
    };
    let above = super::super::fs::real(&temporary).map_err(|error| fault(&temporary, &error))?;
    let known = above.join(known_name());
    match mkdir(&known, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) if is_ours_alone(&known) => return Ok(known),
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(fault(&known, &errno.into())),
    }
    if let Some(found) = another_of_ours(&above) {
        return Ok(found);
    }
    // ends: some name is free
    for _ in 0..100 {
        let path = above.join(format!("{}-{:016x}", known_name(), random()?));
        match mkdir(&path, Mode::RWXU) {
            Ok(()) => return Ok(path),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(fault(&path, &errno.into())),
        }
    }
    Err(fault(&known, &io::ErrorKind::AlreadyExists.into()))
}

/// What the directory of this user is called, unless somebody else has taken that name.
fn known_name() -> String {
    format!("toolgate-{}", rustix::process::geteuid().as_raw())
}

/// A directory of ours in `above` whose name has a random end, made by an earlier session.
fn another_of_ours(above: &Path) -> Option<PathBuf> {
    /// Whoever fills the directory is not to hold us up.
    const LOOKED_AT: usize = 10_000;
    let beginning = format!("{}-", known_name());
    let entries = Dir::read_from(directory(above).ok()?).ok()?.filter_map(Result::ok).take(LOOKED_AT);
    let names = entries.filter_map(|entry| entry.file_name().to_str().map(str::to_owned).ok());
    let paths = names.filter(|name| name.starts_with(&beginning)).map(|name| above.join(name));
    paths.filter(|path| is_ours_alone(path)).min()
}

/// Whether there is a directory that belongs to this user and that nobody else may enter.
fn is_ours_alone(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let stat = directory(path).and_then(fstat);
    stat.is_ok_and(|stat| stat.st_uid == user && stat.st_mode & 0o077 == 0)
}

fn random() -> io::Result<u64> {
    let source = open("/dev/urandom", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = [0; 8];
    rustix::io::read(&source, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Removes what programs left that were killed. Says what their commands had made that a program of the user's obeys.
fn sweep(all: &Path) -> Vec<String> {
    let mut left = Vec::new();
    let Ok(Ok(entries)) = directory(all).map(Dir::read_from) else { return left };
    for entry in entries.filter_map(Result::ok) {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let path = all.join(name);
        let Ok(lock) = directory(&path) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        for noted in noted(&path) {
            give_up_marked(&noted);
        }
        left.extend(set_aside_left(&path));
        remove(&path);
    }
    left
}

/// Renames what the commands of a killed session have made at the places that it watched.
fn set_aside_left(scratch: &Path) -> Vec<String> {
    let (text, touched) = read_notes(&scratch.join(WATCHED));
    let made_then = |path: &Path| {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let Ok(stat) = statx(CWD, path, flags, StatxFlags::BTIME) else { return false };
        let known = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let late = i64::try_from(LATE.as_secs()).unwrap_or(0);
        // A file system that does not say when a file was made is not asked to prove it.
        !known || stat.stx_btime.tv_sec <= touched + late
    };
    super::git::recover(&text, made_then)
}

/// The text of notes, and the second in which they were last touched.
fn read_notes(path: &Path) -> (Vec<u8>, i64) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = open(path, flags, Mode::empty()) else { return (Vec::new(), 0) };
    let mut bytes = vec![0; MAX_NOTES];
    let read = rustix::io::read(&file, &mut bytes).unwrap_or(0);
    bytes.truncate(read);
    (bytes, fstat(&file).map_or(0, |stat| stat.st_mtime))
}

fn noted(scratch: &Path) -> Vec<PathBuf> {
    let (bytes, _) = read_notes(&scratch.join(NOTES));
    let paths = bytes.split(|&byte| byte == 0).filter(|path| path.starts_with(b"/"));
    paths.map(|path| super::plan::to_path(path.to_vec())).collect()
}

/// Removes a tree, whatever the modes in it say and however deep it is. Follows no link.
pub(crate) fn remove(path: &Path) {
    const ROUNDS: usize = 10_000;
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
    let Ok(above) = directory(above) else { return };
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
        // What lay too deep is brought up, to be removed from there.
        for (number, opened) in deep.iter().enumerate() {
            let brought = format!("deep-{}-{round}-{number}", rustix::process::getpid().as_raw_nonzero());
            if let Ok(name) = std::ffi::CString::new(brought)
                && rustix::fs::renameat(opened, DEEP, &above, &name).is_ok()
            {
                names.push(name);
            }
        }
        if names.len() == known {
            return;
        }
    }
}

/// What a directory that lies too deep is called until it is brought up.
const DEEP: &std::ffi::CStr = c".toolgate-deep";

fn remove_at(above: impl AsFd, name: &std::ffi::CStr, depth: usize, deep: &mut Vec<OwnedFd>) {
    match unlinkat(&above, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        _ => return,
    }
    if unlinkat(&above, name, AtFlags::REMOVEDIR).is_ok() {
        return;
    }
    // It is a directory: a link would be gone by now, and if it has become one it is not followed.
    if depth == 0 {
        // Only a directory that its owner may write gets another parent.
        let _opened = open_any(&above, name);
        let above = above.as_fd().try_clone_to_owned();
        let renamed = above.map(|above| (rustix::fs::renameat(&above, name, &above, DEEP), above));
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

/// Opens a directory, whatever its mode says.
fn open_any(above: impl AsFd, name: &std::ffi::CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(&above, name, flags | OFlags::PATH, Mode::empty())?;
    // By the descriptor: nobody can put a link in its place.
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    let _not_ours = rustix::fs::chmod(&path, Mode::RWXU);
    open(&path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Makes the two directories of a layer below `directory`.
pub(crate) fn layer(directory: &Path) -> rustix::io::Result<()> {
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
            let mut at = directory(&top).unwrap();
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
        remove(&top);
        assert!(is_empty(place.path()));
    }
}
