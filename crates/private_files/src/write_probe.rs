//! Probes a directory by writing: permissions alone do not tell that a disk is full.

use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{Access, FileType, Mode, OFlags, access, open, stat};
use rustix::io::Errno;

/// The bytes that a probe writes: more than one block of any file system.
const PROBE_BYTES: usize = 16 << 10;

/// Checks that files can be written in `directory`, or that it can be created. Leaves nothing there.
pub fn probe_write(directory: &Path) -> io::Result<()> {
    // ends: at the root, which exists
    for path in directory.ancestors() {
        match stat(path) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) != FileType::Directory => {
                return Err(ErrorKind::NotADirectory.into());
            }
            Ok(_) => return write_unnamed_file(path),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes a file without a name, which disappears when it is closed.
fn write_unnamed_file(directory: &Path) -> io::Result<()> {
    access(directory, Access::WRITE_OK | Access::EXEC_OK)?;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = match open(directory, flags, Mode::RUSR | Mode::WUSR) {
        // Some file systems have no files without a name.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => return Ok(()),
        other => other?,
    };
    let mut rest = &[0; PROBE_BYTES][..];
    // ends: each write shortens the rest
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        if written == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        rest = &rest[written..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_can_be_made_is_writable_and_a_file_is_not() {
        let temp = tempfile::tempdir().unwrap();
        assert!(probe_write(&temp.path().join("a/b")).is_ok());
        assert!(!temp.path().join("a").exists());
        let directory = temp.path().join("directory");
        std::fs::create_dir(&directory).unwrap();
        probe_write(&directory).unwrap();
        std::fs::remove_dir(&directory).expect("the probe left nothing");
        std::fs::File::create_new(temp.path().join("file")).unwrap();
        for below in ["file", "file/b"] {
            let error = probe_write(&temp.path().join(below)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotADirectory, "{below}");
        }
    }
}
