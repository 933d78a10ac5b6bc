//! Entry point of the spawner: a constructor that runs before `main`, and the limits of open files.
//!
//! A function that each program calls in its `main` was tried and dropped: ADR 43 has the reasons.
#![expect(unsafe_code, reason = "the linker finds a constructor by its section")]

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::launch::LaunchLimits;
use super::{program_image, spawner_process, sys};

/// The spawner's process name, by which the binary recognizes its role.
pub(super) const SPAWNER_NAME: &str = "toolgate-spawner";

/// The number of open files that programs may have: the limit of this process when it started. Set by the
/// constructor, so a value also proves that the constructor is part of this process.
static INITIAL_FILE_LIMIT: OnceLock<Option<u64>> = OnceLock::new();

/// Makes the C library call [`before_main`] before it calls `main`.
// SAFETY: the section is an array of pointers to functions of the C ABI, and this is one. A constructor gets three
// arguments or none; the caller removes them in every C ABI of Linux, so a function without parameters fits both.
#[used]
#[unsafe(link_section = ".init_array")]
static SPAWNER_CONSTRUCTOR: extern "C" fn() = before_main;

/// Becomes the spawner and never returns, if this process was started as one.
///
/// Every program that is linked with Toolgate runs this code, so it does little: a host has an environment, and then
/// no further check is made.
extern "C" fn before_main() {
    if std::env::vars_os().next().is_none()
        && let Some(limits) = spawner_arguments()
    {
        // The spawner forks. A constructor of another library could have started a thread.
        if program_image::thread_count() != Some(1) {
            sys::exit(1);
        }
        // A cell opens a file descriptor for each mount, and a workspace may have thousands of repositories.
        raise_open_files();
        spawner_process::serve(limits);
    }
    let _once = INITIAL_FILE_LIMIT.set(getrlimit(Resource::Nofile).current);
}

/// Returns the limits from the command line of the spawner; `None` if this process was started as another program.
fn spawner_arguments() -> Option<LaunchLimits> {
    // `std::env::args_os` is empty before `main` with some C libraries.
    let mut args = program_image::command_line()?.into_iter();
    if args.next()? != SPAWNER_NAME.as_bytes() {
        return None;
    }
    let open_files = args.next().and_then(|limit| str::from_utf8(&limit).ok()?.parse().ok());
    Some(LaunchLimits { open_files })
}

/// Raises this process's limit of open files to the maximum: each process that it starts takes two or three. Programs
/// get the old limit. A host that starts hundreds of processes calls it.
pub fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _may_not = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Returns the limit of open files for programs. `None`: the program file, executed again, would not become the
/// spawner, because the constructor is missing in it.
pub(super) fn initial_file_limit() -> Option<Option<u64>> {
    let limit = INITIAL_FILE_LIMIT.get().copied()?;
    program_image::contains(before_main as *const () as usize).then_some(limit)
}
