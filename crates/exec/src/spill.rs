//! Text that is too long for a model, kept in files of the user's own, within a quota.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

/// What the files of all workspaces together may take.
const QUOTA: u64 = 256 << 20;
/// What one file may take.
const MAX_FILE: usize = 64 << 20;
/// How many names are tried before giving up.
const TRIES: u32 = 100;
/// Bytes of a call's id that go into a name.
const NAME: usize = 40;

/// Where the texts of one workspace are kept, made when it is needed. Other workspaces have directories of their own, so
/// that reading one's does not mean reading all. The oldest texts give way when the quota is reached.
#[derive(Debug)]
pub struct Spill {
    base: PathBuf,
    workspace: String,
}

impl Spill {
    /// Keeps files for work in `workspace` below `base`.
    pub fn new(base: PathBuf, workspace: &Path) -> Self {
        let mut hasher = DefaultHasher::new();
        workspace.hash(&mut hasher);
        Self { base, workspace: format!("{:016x}", hasher.finish()) }
    }

    /// Where this workspace's files are, or will be.
    pub fn directory(&self) -> PathBuf {
        self.base.join(&self.workspace)
    }

    /// Keeps `text` under a new name made from `call`, and says where.
    pub fn keep(&self, call: &str, text: &[u8]) -> io::Result<PathBuf> {
        // All of it or nothing: whoever reads it is told that it is the whole.
        if text.len() > MAX_FILE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let directory = self.directory();
        make(&directory)?;
        self.make_room(text.len() as u64)?;
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let name: String = call.chars().filter(plain).take(NAME).collect();
        // Fixed width, so that names sort by age.
        let now = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
        for number in 0..TRIES {
            let path = directory.join(format!("{now:015}-{name}-{number}.txt"));
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(CWD, &path, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    io::Write::write_all(&mut std::fs::File::from(file), text)?;
                    return Ok(path);
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("no free name"))
    }

    /// Removes the oldest files, whichever workspace's they are, until `wanted` bytes fit into the quota.
    fn make_room(&self, wanted: u64) -> io::Result<()> {
        let base = directory(CWD, &self.base)?;
        let mut files = Vec::new();
        for workspace in names(&base)? {
            let Ok(open) = directory(&base, &workspace) else { continue };
            for name in names(&open)? {
                let size = statat(&open, &name, AtFlags::SYMLINK_NOFOLLOW).map_or(0, |stat| stat.st_size);
                files.push((name, workspace.clone(), u64::try_from(size).unwrap_or(0)));
            }
        }
        files.sort();
        let mut held: u64 = files.iter().map(|(_, _, size)| size).sum();
        for (name, workspace, size) in files {
            if held + wanted <= QUOTA {
                break;
            }
            // Another session may be doing the same: whatever is gone already is as good as removed.
            if let Ok(open) = directory(&base, &workspace) {
                let _gone = unlinkat(&open, &name, AtFlags::empty());
            }
            held -= size;
        }
        Ok(())
    }
}

/// Makes a directory and what is missing above it, for its owner alone.
fn make(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|dir| dir.symlink_metadata().is_err()).collect();
    for dir in missing.into_iter().rev() {
        match mkdirat(CWD, dir, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn directory(at: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

fn names(directory: &OwnedFd) -> io::Result<Vec<String>> {
    let entries = Dir::read_from(directory)?.filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name != "." && name != "..").collect())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at real files")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn spill(base: &Path) -> Spill {
        Spill::new(base.to_owned(), Path::new("/work"))
    }

    #[test]
    fn texts_are_kept_apart_and_for_their_owner() {
        let dir = tempfile::tempdir().unwrap();
        let spill = spill(&dir.path().join("a/b"));
        assert!(!dir.path().join("a").exists());
        let one = spill.keep("call/../1", b"one").unwrap();
        let two = spill.keep("call/../1", b"two").unwrap();
        assert_ne!(one, two);
        assert_eq!(one.parent(), Some(&*spill.directory()));
        assert_eq!(std::fs::read(&two).unwrap(), b"two");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&one), mode(&spill.directory())), (0o600, 0o700));
        assert!(spill.keep("long", &vec![0; MAX_FILE + 1]).is_err());
        let other = Spill::new(dir.path().join("a/b"), Path::new("/other"));
        assert_ne!(other.directory(), spill.directory());
    }

    #[test]
    fn the_oldest_give_way() {
        let dir = tempfile::tempdir().unwrap();
        let spill = spill(dir.path());
        for (workspace, name) in [("w1", "000000000000001-x-0.txt"), ("w2", "000000000000002-x-0.txt")] {
            std::fs::create_dir(dir.path().join(workspace)).unwrap();
            let file = std::fs::File::create(dir.path().join(workspace).join(name)).unwrap();
            file.set_len(QUOTA / 2).unwrap();
        }
        let kept = spill.keep("x", b"text").unwrap();
        let left = |path: &str| dir.path().join(path).exists();
        assert!(kept.exists() && left("w2/000000000000002-x-0.txt"));
        assert!(!left("w1/000000000000001-x-0.txt"));
    }
}
