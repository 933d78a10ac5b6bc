//! How this binary becomes the spawner: one call at the top of `main`.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::launch::Limits;
use super::spawner;

/// What the spawner is called in the list of processes, and how it knows what it is.
pub(super) const NAME: &str = "toolgate-spawner";

/// Set by [`init`]: this binary knows how to become the spawner. Holds how many files may be open.
static READY: OnceLock<Option<u64>> = OnceLock::new();

/// Call this first in `main`: if this process was started to be the spawner, it becomes it and never returns.
///
/// Without it no process can be started: the spawner is this very binary, run anew.
pub fn init() {
    let mut args = std::env::args_os();
    if args.next().is_some_and(|name| name == NAME) && std::env::vars_os().next().is_none() {
        let open_files = args.next().and_then(|limit| limit.to_str()?.parse().ok());
        spawner::serve(Limits { open_files });
    }
    let _once = READY.set(getrlimit(Resource::Nofile).current);
}

/// Lets this process have as many files open as it may: each process that it starts takes two or three. Those get the
/// old limit. Call it after [`init`].
pub fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _may_not = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// How many files the programs may have open; `None` if [`init`] was not called.
pub(super) fn ready() -> Option<Option<u64>> {
    READY.get().copied()
}
