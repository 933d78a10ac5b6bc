//! Text that is too long for a model, kept in files of the user's own, within a quota.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

/// What the files of all sessions together may take.
const QUOTA: u64 = 256 << 20;
/// What one file may take.
const MAX_FILE: usize = 64 << 20;
/// How many names are tried before giving up.
const TRIES: u32 = 100;
/// Bytes of a call's id that go into a name.
const NAME: usize = 40;

/// Where one session keeps its texts: a directory of its own beside those of other sessions, made when it is needed.
/// The oldest sessions' texts give way when the quota is reached.
#[derive(Debug)]
pub struct Spill {
    base: PathBuf,
    session: String,
}

impl Spill {
    /// Keeps files below `base`.
    pub fn new(base: PathBuf) -> Self {
        // Fixed width, so that names sort by age.
        let started = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
        let session = format!("{started:015}-{}", rustix::process::getpid().as_raw_nonzero());
        Self { base, session }
    }

    /// Where this session's files are, or will be.
    pub fn directory(&self) -> PathBuf {
        self.base.join(&self.session)
    }

    /// Keeps `text` under a new name made from `call`, and says where.
    pub fn keep(&self, call: &str, text: &[u8]) -> io::Result<PathBuf> {
        let text = &text[..text.len().min(MAX_FILE)];
        let directory = self.directory();
        make(&directory)?;
        self.make_room(text.len() as u64)?;
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let name: String = call.chars().filter(plain).take(NAME).collect();
        for number in 0..TRIES {
            let path = directory.join(format!("{name}-{number}.txt"));
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

    /// Removes the files of the oldest sessions, never our own, until `wanted` bytes fit into the quota.
    fn make_room(&self, wanted: u64) -> io::Result<()> {
        let base = directory(CWD, &self.base)?;
        let mut sessions = names(&base)?;
        sessions.sort();
        let mut held = 0;
        let sizes: Vec<u64> = sessions.iter().map(|session| size(&base, session)).collect();
        held += sizes.iter().sum::<u64>();
        for (session, size) in sessions.iter().zip(sizes) {
            if held + wanted <= QUOTA {
                return Ok(());
            }
            if *session != self.session {
                remove(&base, session);
                held -= size;
            }
        }
        if held + wanted <= QUOTA {
            Ok(())
        } else {
            Err(io::Error::other("this session has used up its quota"))
        }
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

fn size(base: &OwnedFd, session: &str) -> u64 {
    let Ok(session) = directory(base, session) else { return 0 };
    let stat = |name: &String| statat(&session, name, AtFlags::SYMLINK_NOFOLLOW).ok();
    let names = names(&session).unwrap_or_default();
    names.iter().filter_map(stat).map(|stat| u64::try_from(stat.st_size).unwrap_or(0)).sum()
}

/// Another session may be doing the same: whatever is gone already is as good as removed.
fn remove(base: &OwnedFd, session: &str) {
    if let Ok(files) = directory(base, session) {
        for name in names(&files).unwrap_or_default() {
            let _gone = unlinkat(&files, &name, AtFlags::empty());
        }
    }
    let _gone = unlinkat(base, session, AtFlags::REMOVEDIR);
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
        assert!(!dir.path().join("a").exists());
        let one = spill.keep("call/../1", b"one").unwrap();
        let two = spill.keep("call/../1", b"two").unwrap();
        assert_ne!(one, two);
        assert_eq!(one.parent(), Some(&*spill.directory()));
        assert_eq!(std::fs::read(&two).unwrap(), b"two");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&one), mode(&spill.directory())), (0o600, 0o700));
    }

    #[test]
    fn the_oldest_sessions_give_way_and_our_own_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(dir.path().to_owned());
        for session in ["000000000000001-1", "000000000000002-1", spill.session.as_str()] {
            std::fs::create_dir(dir.path().join(session)).unwrap();
            let file = std::fs::File::create(dir.path().join(session).join("x.txt")).unwrap();
            file.set_len(QUOTA / 3).unwrap();
        }
        let kept = spill.keep("x", &[0; 64]).unwrap();
        let left = |session: &str| dir.path().join(session).exists();
        assert!(kept.exists() && left(&spill.session) && left("000000000000002-1"));
        assert!(!left("000000000000001-1"));
    }

    #[test]
    fn a_session_that_has_used_up_the_quota_keeps_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(dir.path().to_owned());
        let first = spill.keep("x", b"a").unwrap();
        std::fs::File::options().write(true).open(first).unwrap().set_len(QUOTA).unwrap();
        assert!(spill.keep("x", b"b").is_err());
    }
}
