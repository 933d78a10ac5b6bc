//! Names the file changes that a plan refuses, from the system call that requests them.
//!
//! This module enforces nothing: the mounts do. It only gives a refusal a name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::{Tier, normalize_path};

use super::broker::{read_link, read_memory};
use super::cell_plan::{CellPlan, MountContent, PlannedMount};
use super::sys::SeccompNotification;

/// The maximum length of a path.
const MAX_PATH_BYTES: usize = 4096;
/// A read of memory must not cross into a page that may be unmapped.
const PAGE_BYTES: u64 = 4096;

/// Returns true if the plan allows changing `path`: the innermost mount decides.
pub(crate) fn may_write(path: &Path, plan: &CellPlan) -> bool {
    let below = |at: &Path| path.starts_with(at).then(|| at.components().count());
    let inner = plan.mounts.iter().rev().filter_map(|mount| Some((below(&mount.at)?, mount)));
    let inner = inner.max_by_key(|(depth, _)| *depth).map(|(_, mount)| mount);
    match inner.map(|mount| (mount, &mount.content)) {
        Some((mount, MountContent::Tree { writable, .. })) => *writable || mount.is_layered(plan),
        Some((_, MountContent::Overlay { .. })) => true,
        Some((_, MountContent::Devices)) => path.starts_with("/dev/shm"),
        Some((_, MountContent::Empty | MountContent::Hidden)) => false,
        None => plan.tier < Tier::Namespaces && plan.writable.iter().any(|root| path.starts_with(root)),
    }
}

/// Returns true if `path` lies in a directory that only commands of the session have, e.g. their `/tmp`: processes
/// outside have nothing there.
pub(crate) fn is_private(path: &Path, plan: &CellPlan) -> bool {
    let inner = plan.mounts.iter().filter(|mount| path.starts_with(&mount.at));
    match inner.max_by_key(|mount| mount.at.components().count()) {
        Some(PlannedMount { at, content: MountContent::Tree { from, writable } }) => *writable && from != at,
        Some(PlannedMount { content: MountContent::Devices, .. }) => path.starts_with("/dev/shm"),
        Some(_) | None => false,
    }
}

/// Returns the paths of this call that may not be changed.
pub(crate) fn refused_paths(notification: &SeccompNotification, plan: &CellPlan) -> Vec<PathBuf> {
    let arguments = changed_path_arguments(notification);
    let paths = arguments
        .iter()
        .flatten()
        .filter_map(|&(directory, at)| resolve_path_argument(notification.pid, directory, at));
    paths.filter(|path| !may_write(path, plan) && !is_ignored(path)).collect()
}

/// Ignores devices and `/proc`, which are not files to change.
fn is_ignored(path: &Path) -> bool {
    (path.starts_with("/dev") && !path.starts_with("/dev/shm")) || path.starts_with("/proc")
}

/// Returns the arguments that are changed paths: a directory descriptor if there is one, and the address.
fn changed_path_arguments(notification: &SeccompNotification) -> [Option<(Option<u64>, u64)>; 2] {
    let args = notification.args;
    let one = |at: usize| [Some((None, args[at])), None];
    let one_at = |at: usize| [Some((Some(args[at]), args[at + 1])), None];
    match i64::from(notification.number) {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_link | libc::SYS_symlink => one(1),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => [Some((None, args[0])), Some((None, args[1]))],
        libc::SYS_renameat | libc::SYS_renameat2 => {
            [Some((Some(args[0]), args[1])), Some((Some(args[2]), args[3]))]
        }
        libc::SYS_linkat => one_at(2),
        libc::SYS_symlinkat => one_at(1),
        libc::SYS_openat
        | libc::SYS_openat2
        | libc::SYS_mkdirat
        | libc::SYS_mknodat
        | libc::SYS_unlinkat
        | libc::SYS_fchmodat
        | libc::SYS_fchownat
        | libc::SYS_utimensat => one_at(0),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat => one_at(0),
        FCHMODAT2 => one_at(0),
        _ => one(0),
    }
}

const FCHMODAT2: i64 = 452;

fn resolve_path_argument(pid: u32, directory: Option<u64>, at: u64) -> Option<PathBuf> {
    let text = read_c_string(pid, at)?;
    let path = Path::new(OsStr::from_bytes(&text));
    if path.is_absolute() {
        return Some(normalize_path(path));
    }
    // The low half, with a sign: `AT_FDCWD` is negative.
    let number = directory
        .and_then(|number| i32::try_from(number & 0x7fff_ffff).ok().filter(|_| number & 0x8000_0000 == 0));
    let from = match number {
        Some(number) => read_link(&format!("/proc/{pid}/fd/{number}"))?,
        None => read_link(&format!("/proc/{pid}/cwd"))?,
    };
    Some(normalize_path(&from.join(path)))
}

/// Reads a null-terminated string from the caller's memory.
fn read_c_string(pid: u32, mut at: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    // ends: a path has an end, or is too long
    while text.len() < MAX_PATH_BYTES {
        let room = usize::try_from(PAGE_BYTES - at % PAGE_BYTES).ok()?.min(256);
        let mut bytes = [0; 256];
        read_memory(pid, at, &mut bytes[..room]).ok()?;
        if let Some(end) = bytes[..room].iter().position(|&byte| byte == 0) {
            text.extend(&bytes[..end]);
            return (!text.is_empty()).then_some(text);
        }
        text.extend(&bytes[..room]);
        at = at.checked_add(u64::try_from(room).ok()?)?;
    }
    None
}
