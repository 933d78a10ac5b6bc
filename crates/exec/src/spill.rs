//! Text that is too long for a model, kept in files of the user's own, within a quota.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

/// What all files together may take.
const QUOTA: u64 = 256 << 20;
/// What one file may take.
const MAX_FILE: usize = 64 << 20;
/// How many names are tried before giving up.
const TRIES: u32 = 100;
/// Bytes of a call's id that go into a name.
const NAME: usize = 40;

/// A directory of kept texts. The oldest give way when the quota is reached.
#[derive(Debug)]
pub struct Spill {
    directory: PathBuf,
}

impl Spill {
    /// Keeps files in `directory`, which is made when it is needed.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the directory, readable by its owner alone.
    pub fn prepare(&self) -> io::Result<()> {
        let missing: Vec<&Path> = self.directory.ancestors().take_while(|dir| !dir.exists()).collect();
        for dir in missing.into_iter().rev() {
            match mkdirat(CWD, dir, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Keeps `text` under a new name made from `call`, and says where.
    pub fn keep(&self, call: &str, text: &[u8]) -> io::Result<PathBuf> {
        let text = &text[..text.len().min(MAX_FILE)];
        self.prepare()?;
        self.make_room(text.len() as u64)?;
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let name: String = call.chars().filter(plain).take(NAME).collect();
        let process = rustix::process::getpid().as_raw_nonzero();
        for number in 0..TRIES {
            let path = self.directory.join(format!("{process}-{name}-{number}.txt"));
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

    /// Removes the oldest files until `wanted` bytes fit into the quota.
    fn make_room(&self, wanted: u64) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, &self.directory, flags, Mode::empty())?;
        let mut files: Vec<(i64, u64, OsString)> = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_bytes().ends_with(b".txt")
                && let Ok(stat) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
            {
                let name = std::os::unix::ffi::OsStringExt::from_vec(name.to_bytes().to_vec());
                files.push((stat.st_mtime, u64::try_from(stat.st_size).unwrap_or(0), name));
            }
        }
        files.sort();
        let mut held: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, name) in files {
            if held + wanted <= QUOTA {
                break;
            }
            // Another session may have removed it first.
            let _gone = unlinkat(&directory, &name, AtFlags::empty());
            held = held.saturating_sub(size);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at real files")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn texts_are_kept_apart_and_for_their_owner() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(dir.path().join("a/b"));
        let one = spill.keep("call/../1", b"one").unwrap();
        let two = spill.keep("call/../1", b"two").unwrap();
        assert_ne!(one, two);
        assert_eq!(one.parent(), Some(spill.directory()));
        assert_eq!(std::fs::read(&two).unwrap(), b"two");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&one), mode(spill.directory())), (0o600, 0o700));
    }

    #[test]
    fn the_oldest_give_way() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(dir.path().to_owned());
        for (name, age) in [("old.txt", 100), ("new.txt", 10)] {
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            file.set_len(QUOTA / 2).unwrap();
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
            file.set_modified(then).unwrap();
        }
        let kept = spill.keep("x", b"text").unwrap();
        let left = |name: &str| dir.path().join(name).exists();
        assert!(kept.exists() && left("new.txt") && !left("old.txt"));
    }
}
