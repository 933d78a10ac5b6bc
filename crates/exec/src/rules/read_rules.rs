//! Reads the text of a rule file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use policy::rules::{MAX_RULE_FILE_BYTES, RuleFault, RuleLayer};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// Reads the text of `file`, or returns `None` if it is missing. A project's file and its directory must not be
/// symlinks: a project could point anywhere.
pub fn read(file: &Path, layer: RuleLayer) -> Result<Option<String>, RuleFault> {
    let fault = |why: &str| RuleFault::in_file(file, why);
    let opened = match layer {
        RuleLayer::System | RuleLayer::User => openat(CWD, file, OPEN_FLAGS, Mode::empty()).map(File::from),
        RuleLayer::Project => open_project_file(file),
    };
    let opened = match opened {
        Ok(opened) => opened,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => {
            return Err(fault("it is behind a link; a project's rules must be a file of the project"));
        }
        Err(Errno::ACCESS | Errno::PERM) => {
            let why = "it may not be read, and it may say what is forbidden, so nothing is done without it";
            return Err(fault(why));
        }
        Err(error) => return Err(fault(&io::Error::from(error).to_string())),
    };
    if !opened.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err(fault("it is not a file"));
    }
    read_bounded(opened).map_err(|why| fault(&why)).map(Some)
}

/// Non-blocking: a FIFO in a project must not hang this process.
const OPEN_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

fn open_project_file(file: &Path) -> rustix::io::Result<File> {
    let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else { return Err(Errno::NOENT) };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let directory = openat(CWD, directory, OPEN_FLAGS | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
    let directory = directory.map_err(|error| match error {
        // The kernel returns this error for a link, too.
        Errno::NOTDIR if file.parent().is_some_and(Path::is_symlink) => Errno::LOOP,
        error => error,
    })?;
    openat(directory, name, OPEN_FLAGS | OFlags::NOFOLLOW, Mode::empty()).map(File::from)
}

/// Reads all of an open file, up to the size limit.
pub(super) fn read_bounded(file: File) -> Result<String, String> {
    let mut text = String::new();
    let read = file.take(MAX_RULE_FILE_BYTES as u64 + 1).read_to_string(&mut text);
    match read {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err("it is not UTF-8".to_owned()),
        Err(error) => Err(error.to_string()),
        Ok(_) if text.len() > MAX_RULE_FILE_BYTES => Err(format!("longer than {MAX_RULE_FILE_BYTES} bytes")),
        Ok(_) => Ok(text),
    }
}
