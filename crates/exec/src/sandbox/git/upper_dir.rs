//! Upper directory of an overlay: reads its untrusted content, and removes it after it has landed.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};
use rustix::io::{Errno, Result};

use super::allowlist::ContentForm;
use super::content_checks::ContentCheck;
use super::sys;

const OPAQUE_XATTR: &str = "user.overlay.opaque";
const WHITEOUT_XATTR: &str = "user.overlay.whiteout";
/// From this size on, a file with almost no blocks is refused: its holes would be written out.
const SPARSE_CHECK_BYTES: u64 = 64 << 10;

/// The upper directory.
#[derive(Debug)]
pub(super) struct UpperDir {
    dir: OwnedFd,
}

/// The meaning of a name in the upper directory.
#[derive(Debug)]
pub(super) enum UpperEntryKind {
    /// A regular file, with its change time.
    File(i128),
    /// A deletion of the host's file, with its time.
    Whiteout(i128),
    /// A directory.
    Directory,
    /// A link, a pipe, a device.
    Other,
}

/// The entries of a directory.
#[derive(Debug)]
pub(super) struct UpperListing {
    /// Sorted by name.
    pub(super) entries: Vec<(OsString, UpperEntryKind)>,
    /// True if nothing of the host's directory shows through.
    pub(super) opaque: bool,
    /// The change time of the directory.
    pub(super) changed: i128,
    /// The total length of the entries' paths.
    pub(super) path_bytes: usize,
    /// True if there are more entries.
    pub(super) truncated: bool,
}

/// The maximum number of entries, and the maximum total length of their paths.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListingBudget {
    pub(super) entries: usize,
    pub(super) path_bytes: usize,
}

/// The content of a file.
#[derive(Debug)]
pub(super) enum LandingContent {
    /// The complete content.
    Bytes(Vec<u8>),
    /// The open file, and its size when it was opened.
    File(File, u64),
}

impl LandingContent {
    /// Reads the complete content. Returns `None` if the file has shrunk, or cannot be read.
    pub(super) fn read_all(self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::File(file, size) => {
                let mut bytes = vec![0; usize::try_from(size).ok()?];
                file.read_exact_at(&mut bytes, 0).ok()?;
                Some(bytes)
            }
        }
    }
}

/// The reason why a file cannot be read.
#[derive(Debug)]
pub(super) enum UnreadReason {
    /// The file no longer exists.
    Gone,
    /// The file may not land.
    MayNotLand,
    /// A system call failed.
    Fault(Errno),
}

impl UpperDir {
    /// Opens the directory `path`, which must be free of links.
    pub(super) fn open(path: &Path) -> Result<Self> {
        Ok(Self { dir: sys::root(path)? })
    }

    /// Returns true if it contains nothing but the `info/exclude` that every run is given.
    pub(super) fn is_empty(&self) -> Result<bool> {
        Ok(self.has_only("", "info")? && self.has_only("info", "exclude").or_else(missing_counts_as_empty)?)
    }

    /// Returns the change times of the directory and of its `info`, which no program can set.
    pub(super) fn change_times(&self) -> Result<[i128; 2]> {
        let time = |stat: Stat| i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec);
        let info = statat(&self.dir, "info", AtFlags::SYMLINK_NOFOLLOW);
        let info = info.map_or_else(
            |errno| if errno == Errno::NOENT { Ok(0) } else { Err(errno) },
            |stat| Ok(time(stat)),
        )?;
        Ok([time(fstat(&self.dir)?), info])
    }

    fn has_only(&self, dir: &str, only: &str) -> Result<bool> {
        let dir = sys::beneath(self.dir.as_fd(), Path::new(dir), sys::LIST_FLAGS)?;
        let mut empty = read_xattr_byte(dir.as_fd(), OPAQUE_XATTR).is_none();
        sys::list(dir.as_fd(), |name, _| {
            empty &= name == only;
            if empty { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(empty)
    }

    /// Lists the entries of `path`, up to the limits of `budget`.
    pub(super) fn list(&self, path: &Path, budget: ListingBudget) -> Result<UpperListing> {
        let dir = sys::beneath(self.dir.as_fd(), path, sys::LIST_FLAGS)?;
        let changed = sys::change_time(&rustix::fs::fstat(&dir)?);
        let (mut names, mut path_bytes, mut truncated) = (Vec::new(), 0, false);
        sys::list(dir.as_fd(), |name, _| {
            path_bytes += path.as_os_str().len() + 1 + name.len();
            truncated = names.len() == budget.entries || path_bytes > budget.path_bytes;
            if truncated {
                return ControlFlow::Break(());
            }
            names.push(name.to_owned());
            ControlFlow::Continue(())
        })?;
        names.sort_unstable();
        let entries = names
            .into_iter()
            .filter_map(|name| entry_kind(dir.as_fd(), &name).map(|kind| (name, kind)))
            .collect();
        // "x" only means that it contains whiteouts of the other kind.
        let opaque = read_xattr_byte(dir.as_fd(), OPAQUE_XATTR).is_some_and(|value| value == b'y');
        Ok(UpperListing { entries, opaque, changed, path_bytes, truncated })
    }

    /// Returns true if the name does not exist.
    pub(super) fn lacks(&self, path: &Path) -> bool {
        matches!(sys::beneath(self.dir.as_fd(), path, sys::PATH_FLAGS), Err(Errno::NOENT))
    }

    /// Returns the change time of this name.
    pub(super) fn change_time(&self, path: &Path) -> Option<i128> {
        let found = sys::beneath(self.dir.as_fd(), path, sys::PATH_FLAGS).ok()?;
        Some(sys::change_time(&rustix::fs::fstat(&found).ok()?))
    }

    /// Returns true if there is a regular file of this name that is not a whiteout.
    pub(super) fn has_regular_file(&self, path: &Path) -> bool {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
        sys::beneath(self.dir.as_fd(), parent, sys::LIST_FLAGS)
            .is_ok_and(|dir| matches!(entry_kind(dir.as_fd(), name), Some(UpperEntryKind::File(_))))
    }

    /// Reads a small file.
    pub(super) fn read_small(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        sys::read_small_file(self.dir.as_fd(), path, limit)
    }

    /// Reads or opens a file of this form.
    pub(super) fn read_content(
        &self,
        path: &Path,
        form: ContentForm,
    ) -> std::result::Result<LandingContent, UnreadReason> {
        let file = match sys::beneath(self.dir.as_fd(), path, sys::READ_FLAGS) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Err(UnreadReason::Gone),
            Err(Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::XDEV) => {
                return Err(UnreadReason::MayNotLand);
            }
            Err(errno) => return Err(UnreadReason::Fault(errno)),
        };
        let stat = rustix::fs::fstat(&file).map_err(UnreadReason::Fault)?;
        let size = sys::size(&stat);
        // It may have been deleted since it was listed.
        if size == 0 && read_xattr_byte(file.as_fd(), WHITEOUT_XATTR).is_some() {
            return Err(UnreadReason::Gone);
        }
        if !may_land(&stat, form) {
            return Err(UnreadReason::MayNotLand);
        }
        let fault =
            |error: std::io::Error| UnreadReason::Fault(Errno::from_io_error(&error).unwrap_or(Errno::IO));
        match form.check() {
            ContentCheck::Whole => {
                let mut bytes = Vec::new();
                file.take(form.size_limit()).read_to_end(&mut bytes).map_err(fault)?;
                Ok(LandingContent::Bytes(bytes))
            }
            ContentCheck::Start => {
                let mut start = [0; 4];
                let got = file.read_at(&mut start, 0).map_err(fault)?;
                if form.is_valid_start(&start[..got]) {
                    Ok(LandingContent::File(file, size))
                } else {
                    Err(UnreadReason::MayNotLand)
                }
            }
        }
    }

    /// Removes a file or a whiteout. A failure is harmless: the file is only read again.
    pub(super) fn remove(&self, path: &Path) {
        self.unlink(path, AtFlags::empty());
    }

    /// Removes a directory if it is empty, otherwise lets the host's show through it again.
    pub(super) fn remove_or_unhide(&self, path: &Path, opaque: OpaqueMark) {
        self.unlink(path, AtFlags::REMOVEDIR);
        if opaque == OpaqueMark::Clear
            && let Ok(dir) = sys::beneath(self.dir.as_fd(), path, sys::LIST_FLAGS)
        {
            let _ = rustix::fs::fremovexattr(&dir, OPAQUE_XATTR);
        }
    }

    fn unlink(&self, path: &Path, flags: AtFlags) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        if let Ok(dir) =
            sys::beneath(self.dir.as_fd(), parent, sys::PATH_FLAGS | rustix::fs::OFlags::DIRECTORY)
        {
            let _ = rustix::fs::unlinkat(&dir, name, flags);
        }
    }
}

/// A missing directory counts as empty; another kind of file does not.
fn missing_counts_as_empty(errno: Errno) -> Result<bool> {
    match errno {
        Errno::NOENT => Ok(true),
        Errno::NOTDIR | Errno::LOOP => Ok(false),
        other => Err(other),
    }
}

/// The treatment of the opaque mark that hides the host's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpaqueMark {
    /// The mark is removed.
    Clear,
    /// The mark stays.
    Stays,
}

fn entry_kind(dir: BorrowedFd<'_>, name: &std::ffi::OsStr) -> Option<UpperEntryKind> {
    // `None`: the file was removed meanwhile.
    let stat = sys::stat_name(dir, name).ok().flatten()?;
    Some(match sys::file_type(&stat) {
        FileType::Directory => UpperEntryKind::Directory,
        FileType::CharacterDevice if stat.st_rdev == 0 => UpperEntryKind::Whiteout(sys::change_time(&stat)),
        FileType::RegularFile if stat.st_size == 0 && is_whiteout(dir, name) => {
            UpperEntryKind::Whiteout(sys::change_time(&stat))
        }
        FileType::RegularFile => UpperEntryKind::File(sys::change_time(&stat)),
        _ => UpperEntryKind::Other,
    })
}

fn is_whiteout(dir: BorrowedFd<'_>, name: &std::ffi::OsStr) -> bool {
    sys::beneath(dir, Path::new(name), sys::READ_FLAGS)
        .is_ok_and(|file| read_xattr_byte(file.as_fd(), WHITEOUT_XATTR).is_some())
}

/// Returns the first byte of an extended attribute, 0 if it is empty.
fn read_xattr_byte(file: BorrowedFd<'_>, mark: &str) -> Option<u8> {
    let mut value = [0; 8];
    rustix::fs::fgetxattr(file, mark, &mut value).ok()?;
    Some(value[0])
}

fn may_land(stat: &Stat, form: ContentForm) -> bool {
    let size = sys::size(stat);
    let written = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
    sys::file_type(stat) == FileType::RegularFile
        && size <= form.size_limit()
        && (size < SPARSE_CHECK_BYTES || written >= size / 8)
        // Only objects are ever hard-linked, by a clone on the same disk. Any other linked file may belong to another
        // program.
        && (stat.st_nlink <= 1 || form.is_content_addressed())
}
