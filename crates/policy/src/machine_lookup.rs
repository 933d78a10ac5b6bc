//! Defines the trait that resolves programs and paths on the machine, since this crate performs no I/O.

use std::path::{Path, PathBuf};

use crate::HostFile;

/// The program that a command name resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedProgram {
    /// The path without symlinks.
    pub path: PathBuf,
    /// Only the system or the user can have installed it, and no confined command can change it.
    pub trusted: bool,
}

/// Looks up facts about the machine.
pub trait MachineLookup: Send + Sync {
    /// Returns the program that `name` starts in `cwd`, or in another directory if the script `moves`. It is found by
    /// its path or in the `PATH` that commands get.
    fn resolve_program(&self, name: &str, cwd: &Path, moves: bool) -> Option<ResolvedProgram>;

    /// Returns `path` if it exists, otherwise its nearest existing ancestor, with symlinks resolved.
    fn nearest_existing(&self, path: &Path) -> PathBuf;

    /// Returns true if the user could write `path` without the sandbox.
    fn may_write(&self, path: &Path) -> bool;

    /// Classifies `path` by facts of this machine: a symlink to it, or configuration or a hook that names it.
    fn host_file(&self, _path: &Path) -> Option<HostFile> {
        None
    }
}

/// A machine without knowledge: no program is found, and no path is a symlink.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UnknownMachine;

impl MachineLookup for UnknownMachine {
    fn resolve_program(&self, _: &str, _: &Path, _: bool) -> Option<ResolvedProgram> {
        None
    }

    fn nearest_existing(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn may_write(&self, _: &Path) -> bool {
        true
    }
}
