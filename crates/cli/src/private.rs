//! Directories of our own that nobody else may look into.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

use crate::config::Dirs;

/// Makes `directory` if it is not there. One that is somebody else's, that others may use or that is a link is refused.
pub(crate) fn directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::PATH;
    let stat = rustix::fs::fstat(rustix::fs::open(directory, flags, Mode::empty())?)?;
    let ours = stat.st_uid == rustix::process::geteuid().as_raw();
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory || !ours || stat.st_mode & 0o077 != 0 {
        let path = directory.display();
        return Err(io::Error::other(format!("`{path}` is not yours alone; `chmod 700` it, or remove it")));
    }
    Ok(())
}

/// Where the tokens of servers are.
pub(crate) fn tokens(dirs: &Dirs) -> Option<PathBuf> {
    Some(dirs.state.as_ref()?.join("mcp"))
}

/// Where running servers wait for whoever answers their questions.
pub(crate) fn counters(dirs: &Dirs) -> Option<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let runtime = runtime.map(|runtime| runtime.join("toolgate"));
    runtime.or_else(|| Some(dirs.state.as_ref()?.join("run")))
}
