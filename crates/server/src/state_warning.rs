//! Checks if sessions can be recorded: a server warns at its start, since each call would be refused later.

use std::io::{self, ErrorKind};
use std::path::Path;

use config::{STATE_HINT, UserDirs};
use rustix::fs::{Access, FileType, access, stat};

/// Prints a warning to stderr if the directory of sessions cannot be written.
pub(crate) fn warn_if_unwritable(dirs: &UserDirs) {
    let Some(sessions) = &dirs.sessions else { return };
    if let Err(error) = check_writable(sessions) {
        let path = sessions.display();
        terminal::print_warning(&format!(
            "sessions cannot be recorded in `{path}`, so calls are refused: {error}"
        ));
        terminal::print_hint(STATE_HINT);
    }
}

/// Returns the reason why no session can start: its directories cannot be written. The text names no path.
pub(crate) fn unready_reason(dirs: &UserDirs) -> Option<&'static str> {
    if dirs.sessions.as_deref().is_none_or(|sessions| check_writable(sessions).is_err()) {
        return Some("sessions cannot be recorded");
    }
    check_writable(&std::env::temp_dir()).is_err().then_some("there is no directory for temporary files")
}

/// Checks that `directory` can be written, or created. Creates nothing.
fn check_writable(directory: &Path) -> io::Result<()> {
    // ends: at the root, which exists
    for path in directory.ancestors() {
        match stat(path) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) != FileType::Directory => {
                return Err(ErrorKind::NotADirectory.into());
            }
            Ok(_) => return Ok(access(path, Access::WRITE_OK | Access::EXEC_OK)?),
            Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_can_be_made_is_writable_and_a_file_is_not() {
        let temp = tempfile::tempdir().unwrap();
        assert!(check_writable(&temp.path().join("a/b")).is_ok());
        assert!(!temp.path().join("a").exists());
        std::fs::File::create_new(temp.path().join("file")).unwrap();
        for below in ["file", "file/b"] {
            let error = check_writable(&temp.path().join(below)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotADirectory, "{below}");
        }
    }
}
