//! What judging has to know about the machine, asked through a trait: this crate looks at nothing itself.

use std::path::{Path, PathBuf};

use crate::HostFile;

/// A program that a name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where it really is.
    pub path: PathBuf,
    /// Whether only the system or the user could have put it there, and no confined command can change it.
    pub trusted: bool,
}

/// Looks things up.
pub trait Machine: Send + Sync {
    /// The program that `name` starts in `cwd`, or somewhere else if the script `moves`: found along the PATH that commands
    /// get, or by its path.
    fn program(&self, name: &str, cwd: &Path, moves: bool) -> Option<Program>;

    /// What of `path` is there: itself, or the nearest directory above it; without symbolic links.
    fn standing(&self, path: &Path) -> PathBuf;

    /// Whether the user could change `path`, were there no sandbox.
    fn may_write(&self, path: &Path) -> bool;

    /// The part that `path` plays on this machine because of a link to it, or because configuration or a hook names it.
    fn host_file(&self, _path: &Path) -> Option<HostFile> {
        None
    }
}

/// A machine that knows nothing: no program is trusted, and everything is where its path says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unknown;

impl Machine for Unknown {
    fn program(&self, _: &str, _: &Path, _: bool) -> Option<Program> {
        None
    }

    fn standing(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn may_write(&self, _: &Path) -> bool {
        true
    }
}
