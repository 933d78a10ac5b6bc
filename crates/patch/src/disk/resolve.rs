//! Resolves a patch's path to an open directory and a name, checks access by its real path, and reads the file.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::path_syntax::{self, PathStart};
use super::syscalls::{self, FileStatus, InodeId, SymlinkPolicy};
use super::{DiskTree, FileAccess};
use crate::file_tree::{FileLookup, FileRefusal, FileTree, FileVersion, FoundFile, SymbolicLink};

/// The maximum size of a file.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// The number of attempts to read a file that is being written.
const MAX_READ_ATTEMPTS: usize = 4;

/// An open directory with its real path.
#[derive(Debug)]
pub(super) struct OpenDir {
    pub(super) fd: OwnedFd,
    pub(super) real_path: PathBuf,
    pub(super) id: InodeId,
}

/// A name in an open directory, or in missing directories below it.
#[derive(Debug)]
pub(super) struct ResolvedName {
    pub(super) dir: OpenDir,
    pub(super) missing: Vec<OsString>,
    pub(super) leaf: PathBuf,
}

impl ResolvedName {
    pub(super) fn real_path(&self) -> PathBuf {
        let mut real_path = self.dir.real_path.clone();
        real_path.extend(&self.missing);
        real_path.join(&self.leaf)
    }

    /// Returns the status of the file at this name, if it exists.
    pub(super) fn lookup_status(&self, path: &str) -> Result<Option<FileStatus>, FileRefusal> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        syscalls::status_of_name(self.dir.fd.as_fd(), &self.leaf)
            .map_err(|errno| io_refusal(path, "looked at", errno))
    }
}

impl DiskTree {
    /// Returns the open directory with its real path: the mounted one, if its path lies in a mounted root.
    pub(super) fn identify_dir(&self, path: &str, mut fd: OwnedFd) -> Result<OpenDir, FileRefusal> {
        let named = syscalls::real_path(fd.as_fd());
        let real_path = named.map_err(|_| {
            refuse_path(
                path,
                "the real path of an open directory is unknown without /proc; mount it".to_owned(),
            )
        })?;
        if self.mounted_root(&real_path).is_some() {
            fd = self.open_real_dir(&real_path).map_err(|errno| io_refusal(path, "reached", errno))?;
        }
        let id = syscalls::status_of_fd(fd.as_fd())
            .map_err(|errno| io_refusal(path, "looked at", errno))?
            .inode_id();
        Ok(OpenDir { fd, real_path, id })
    }
}

pub(super) fn refuse_path(path: &str, what: String) -> FileRefusal {
    FileRefusal { path: path.to_owned(), what }
}

pub(super) fn io_refusal(path: &str, verb: &str, error: impl Into<std::io::Error>) -> FileRefusal {
    refuse_path(path, format!("`{path}` cannot be {verb}: {}", error.into()))
}

pub(super) fn changed_refusal(path: &str) -> FileRefusal {
    refuse_path(path, format!("`{path}` has changed meanwhile; read it again"))
}

impl DiskTree {
    /// Resolves `path`. Does not follow a symlink at its end.
    pub(super) fn resolve_name(&self, path: &str, access: FileAccess) -> Result<ResolvedName, FileRefusal> {
        let (name, left_dirs) = path_syntax::parse_path(path).map_err(|what| refuse_path(path, what))?;
        left_dirs.iter().try_for_each(|inside| self.check_dot_dot(path, inside))?;
        let (base, below) = self.starting_dir(path, name)?;
        let leaf = below.file_name().map(PathBuf::from);
        let leaf = leaf.ok_or_else(|| refuse_path(path, format!("`{path}` names no file")))?;
        let parents: Vec<OsString> =
            below.parent().into_iter().flatten().map(std::ffi::OsStr::to_owned).collect();
        let base = base.as_ref().map_or(self.fd.as_fd(), OwnedFd::as_fd);
        let (fd, missing) = open_deepest_dir(path, base, &parents)?;
        let dir = self.identify_dir(path, fd)?;
        let resolved = ResolvedName { dir, missing, leaf };
        self.check_access(path, &resolved.real_path(), access)?;
        Ok(resolved)
    }

    /// Checks that `..` after `inside` leads back to its parent. After a symlink it leads elsewhere, and after a
    /// missing directory nowhere.
    fn check_dot_dot(&self, path: &str, inside: &Path) -> Result<(), FileRefusal> {
        let below =
            [&self.root, &self.given_root].into_iter().find_map(|root| inside.strip_prefix(root).ok());
        let (base, inside) = match below {
            Some(below) => (self.fd.as_fd(), below),
            None if inside.is_absolute() => (rustix::fs::CWD, inside),
            None => (self.fd.as_fd(), inside),
        };
        syscalls::open_dir(base, inside, SymlinkPolicy::Refuse).map(drop).map_err(|_| {
            let what =
                format!("`{path}` has `..` after `{}`, which is no directory, or a link", inside.display());
            refuse_path(path, format!("{what}; spell the path without `..`"))
        })
    }

    /// Returns the starting directory: the root of the tree, unless the path is absolute and outside of it, which only
    /// an access check may allow.
    fn starting_dir(&self, path: &str, name: PathStart) -> Result<(Option<OwnedFd>, PathBuf), FileRefusal> {
        let absolute = match &name {
            PathStart::Relative(below) => self.root.join(below),
            PathStart::Absolute(absolute) => absolute.clone(),
        };
        if let Some((mounted, below)) = self.mounted_root(&absolute) {
            let directory = mounted.directory.try_clone();
            let directory = directory.map_err(|error| io_refusal(path, "looked at", error))?;
            return Ok((Some(directory), below.to_owned()));
        }
        if let PathStart::Relative(below) = name {
            return Ok((None, below));
        }
        let inside =
            [&self.root, &self.given_root].into_iter().find_map(|root| absolute.strip_prefix(root).ok());
        if let Some(below) = inside {
            return Ok((None, below.to_owned()));
        }
        if self.access_check.is_none() {
            return Err(outside_refusal(path, &self.root));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::open("/", flags, Mode::empty());
        let top = top.map_err(|errno| io_refusal(path, "looked at", errno))?;
        Ok((Some(top), absolute.strip_prefix("/").unwrap_or(&absolute).to_owned()))
    }

    fn check_access(&self, path: &str, real: &Path, access: FileAccess) -> Result<(), FileRefusal> {
        match &self.access_check {
            Some(access_check) => access_check(real, access).map_err(|what| refuse_path(path, what)),
            None if real.starts_with(&self.root) && real != self.root => Ok(()),
            None => Err(outside_refusal(path, &self.root)),
        }
    }

    /// Returns the name itself or, if it is a symlink, the name of its target.
    pub(super) fn follow_symlink(
        &self,
        path: &str,
        resolved: ResolvedName,
        access: FileAccess,
    ) -> Result<ResolvedName, FileRefusal> {
        match resolved.lookup_status(path)? {
            Some(status) if status.kind == FileType::Symlink => {}
            Some(_) | None => return Ok(resolved),
        }
        // One message for both cases, so that it does not reveal which files exist outside.
        let dangling_refusal = || {
            let what = format!("`{path}` is a link that ends nowhere, or where no file may be touched");
            refuse_path(path, format!("{what}; name the file itself"))
        };
        let (real, id) = syscalls::resolve_symlink(resolved.dir.fd.as_fd(), &resolved.leaf)
            .map_err(|_| dangling_refusal())?;
        let (Some(parent), Some(leaf)) = (real.parent(), real.file_name()) else {
            return Err(dangling_refusal());
        };
        self.check_access(path, &real, access).map_err(|refusal| match &self.access_check {
            Some(_) => refusal,
            None => dangling_refusal(),
        })?;
        let fd = self.open_real_dir(parent).map_err(|_| dangling_refusal())?;
        let dir = self.identify_dir(path, fd)?;
        let target = ResolvedName { dir, missing: Vec::new(), leaf: leaf.into() };
        // In a mounted root, the link was resolved in the directory that it replaces.
        let is_mounted = self.mounted_root(&real).is_some();
        match target.lookup_status(path)? {
            Some(status) if (is_mounted || status.inode_id() == id) && target.real_path() == real => {
                Ok(target)
            }
            Some(_) | None => Err(changed_refusal(path)),
        }
    }

    /// Opens the regular file at `resolved`, if it exists.
    pub(super) fn open_regular(
        &self,
        path: &str,
        resolved: &ResolvedName,
    ) -> Result<Option<(OwnedFd, FileStatus)>, FileRefusal> {
        let Some(status) = resolved.lookup_status(path)? else { return Ok(None) };
        check_regular_file(path, &status)?;
        let fd = match syscalls::open_file(resolved.dir.fd.as_fd(), &resolved.leaf) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::LOOP) => return Err(changed_refusal(path)),
            Err(errno) => return Err(io_refusal(path, "read", errno)),
        };
        let status =
            syscalls::status_of_fd(fd.as_fd()).map_err(|errno| io_refusal(path, "looked at", errno))?;
        check_regular_file(path, &status)?;
        Ok(Some((fd, status)))
    }
}

impl DiskTree {
    /// Returns the real path and the version of the file at `path`, without reading it.
    pub fn file_version(&self, path: &str) -> Option<(PathBuf, FileVersion)> {
        let resolved = self
            .follow_symlink(path, self.resolve_name(path, FileAccess::Read).ok()?, FileAccess::Read)
            .ok()?;
        let (_, status) = self.open_regular(path, &resolved).ok()??;
        Some((resolved.real_path(), status.version))
    }
}

impl FileTree for DiskTree {
    fn look_up(&self, path: &str) -> Result<FileLookup, FileRefusal> {
        let resolved = self.resolve_name(path, FileAccess::Read)?;
        let resolved = self.follow_symlink(path, resolved, FileAccess::Read)?;
        let file = match self.open_regular(path, &resolved)? {
            Some((fd, _)) => Some(read_stable_file(path, fd)?),
            None => None,
        };
        Ok(FileLookup { real_path: resolved.real_path(), file })
    }

    fn diff_name(&self, real: &Path) -> Option<String> {
        real.strip_prefix(&self.root).ok()?.to_str().map(str::to_owned)
    }

    fn find_symlink(&self, path: &str) -> Option<SymbolicLink> {
        let resolved = self.resolve_name(path, FileAccess::Read).ok()?;
        resolved.lookup_status(path).ok()?.filter(|status| status.kind == FileType::Symlink)?;
        let to = rustix::fs::readlinkat(resolved.dir.fd.as_fd(), &resolved.leaf, Vec::new()).ok()?;
        Some(SymbolicLink { name: self.diff_name(&resolved.real_path())?, target: to.into_string().ok()? })
    }
}

/// Opens the deepest existing directory of `parents`, and returns the missing ones.
fn open_deepest_dir(
    path: &str,
    base: BorrowedFd<'_>,
    parents: &[OsString],
) -> Result<(OwnedFd, Vec<OsString>), FileRefusal> {
    for there in (0..=parents.len()).rev() {
        let (existing, missing) = parents.split_at(there);
        let fd = match syscalls::open_dir(base, &existing.iter().collect::<PathBuf>(), SymlinkPolicy::Follow)
        {
            Err(Errno::NOENT) => continue,
            Err(Errno::NOTDIR) => {
                let what = format!("`{path}` goes through something that is not a directory");
                return Err(refuse_path(path, what));
            }
            Err(Errno::LOOP) => {
                return Err(refuse_path(path, format!("`{path}` goes through links that lead nowhere")));
            }
            other => other.map_err(|errno| io_refusal(path, "reached", errno))?,
        };
        if let Some(first) = missing.first() {
            match syscalls::status_of_name(fd.as_fd(), Path::new(first)) {
                Ok(None) => {}
                Ok(Some(status)) if status.kind == FileType::Symlink => {
                    return Err(refuse_path(
                        path,
                        format!("`{path}` goes through a link that leads nowhere"),
                    ));
                }
                Ok(Some(_)) => return Err(changed_refusal(path)),
                Err(errno) => return Err(io_refusal(path, "reached", errno)),
            }
        }
        return Ok((fd, missing.to_vec()));
    }
    Err(refuse_path(path, format!("`{path}` cannot be reached: the directory it starts in is gone")))
}

fn outside_refusal(path: &str, root: &Path) -> FileRefusal {
    refuse_path(path, format!("`{path}` is outside of {}; only files inside can be changed", root.display()))
}

fn check_regular_file(path: &str, status: &FileStatus) -> Result<(), FileRefusal> {
    let kind = match status.kind {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory",
        FileType::Symlink => "a link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    };
    Err(refuse_path(path, format!("`{path}` is {kind}, not a regular file; name a regular file")))
}

/// Reads until `bytes` is full or the file ends. Returns the number of bytes read.
fn fill_buffer(file: &mut std::fs::File, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut read = 0;
    // ends: with the file, or with the room
    while read < bytes.len() {
        match file.read(&mut bytes[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Reads a whole file at a moment without a concurrent write.
fn read_stable_file(path: &str, fd: OwnedFd) -> Result<FoundFile, FileRefusal> {
    let failed = |error: std::io::Error| io_refusal(path, "read", error);
    let mut file = std::fs::File::from(fd);
    for _ in 0..MAX_READ_ATTEMPTS {
        let before = syscalls::status_of_fd(file.as_fd()).map_err(|errno| failed(errno.into()))?;
        if before.version.size > MAX_FILE_BYTES {
            let what = format!("`{path}` has {} bytes, and a patch reads at most", before.version.size);
            return Err(refuse_path(path, format!("{what} {MAX_FILE_BYTES}; change it with a command")));
        }
        // One extra byte detects a file that grows meanwhile, and reaches the end of the file without another read.
        let mut bytes = vec![0; usize::try_from(before.version.size).unwrap_or(0) + 1];
        std::io::Seek::rewind(&mut file).map_err(failed)?;
        let read = fill_buffer(&mut file, &mut bytes).map_err(failed)?;
        bytes.truncate(read);
        let after = syscalls::status_of_fd(file.as_fd()).map_err(|errno| failed(errno.into()))?;
        if before.version == after.version && bytes.len() as u64 == after.version.size {
            let executable = after.mode.contains(Mode::XUSR);
            return Ok(FoundFile { bytes: bytes.into(), executable, version: after.version });
        }
    }
    Err(refuse_path(path, format!("`{path}` is being written to; try again when that is over")))
}
