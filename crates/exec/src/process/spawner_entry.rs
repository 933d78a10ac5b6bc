//! Entry point of the spawner, called first in `main`, and the limits of open files of host and programs.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::launch::LaunchLimits;
use super::spawner_process;

/// The spawner's process name, by which the binary recognizes its role.
pub(super) const SPAWNER_NAME: &str = "toolgate-spawner";

/// Set by [`init`]: this binary can become the spawner. Holds the limit of open files.
static INITIAL_FILE_LIMIT: OnceLock<Option<u64>> = OnceLock::new();

/// Becomes the spawner and never returns, if this process was started as one. Call this first in `main`.
///
/// Without this call no process can be started: the spawner is the same binary, executed again.
pub fn init() {
    let mut args = std::env::args_os();
    if args.next().is_some_and(|name| name == SPAWNER_NAME) && std::env::vars_os().next().is_none() {
        let open_files = args.next().and_then(|limit| limit.to_str()?.parse().ok());
        // A cell opens a file descriptor for each mount, and a workspace may have thousands of repositories.
        raise_open_files();
        spawner_process::serve(LaunchLimits { open_files });
    }
    let _once = INITIAL_FILE_LIMIT.set(getrlimit(Resource::Nofile).current);
}

/// Raises this process's limit of open files to the maximum: each process that it starts takes two or three. Programs
/// get the old limit. A host that starts hundreds of processes calls it after [`init`].
pub fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _may_not = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Returns the limit of open files for programs, or `None` if [`init`] was not called.
pub(super) fn initialized_file_limit() -> Option<Option<u64>> {
    INITIAL_FILE_LIMIT.get().copied()
}
