//! Puts mounts back that are gone since the files below them were replaced on the host.

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use rustix::io::{Errno, Result};

use super::mounts::{attach, hide_all, prepare};
use super::plan::{Plan, What};
use super::scratch;

/// Puts back what is gone because somebody outside has replaced what it lay on, as a save, a `git checkout` and a `git clean` do.
/// Says where.
pub(crate) fn renew(plan: &Plan) -> Result<Vec<PathBuf>> {
    let mut renewed = Vec::new();
    for mount in &plan.mounts {
        match (&mount.what, mount_state(&mount.at)) {
            (_, MountState::Mounted) => continue,
            // Most of what is to be hidden is not there.
            (What::Hidden, MountState::Absent) => continue,
            (_, MountState::Absent | MountState::Bare) => {}
        }
        match &mount.what {
            What::Hidden => hide_all(&mount.at)?,
            What::Tree { from, writable } if *from == mount.at => {
                // What is read-only and gone is held, as it is when a cell is made.
                if !writable && !scratch::hold(from)? {
                    continue;
                }
                match prepare(mount, &mut Vec::new()).and_then(|ready| attach(&ready)) {
                    Ok(()) => renewed.push(mount.at.clone()),
                    Err(Errno::NOENT | Errno::NOTDIR) => {}
                    Err(errno) => return Err(errno),
                }
            }
            What::Tree { .. } | What::Empty | What::Devices | What::Overlay { .. } => {}
        }
    }
    Ok(renewed)
}

/// Hides what is to be hidden and is not.
pub(crate) fn hide_again(plan: &Plan) -> Result<()> {
    let hidden = plan.mounts.iter().filter(|mount| mount.what == What::Hidden);
    let mut bare = hidden.filter(|mount| mount_state(&mount.at) == MountState::Bare);
    bare.try_for_each(|mount| hide_all(&mount.at))
}

/// The state of a place that something is to be mounted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountState {
    Mounted,
    /// Nothing is mounted there, or nobody can tell.
    Bare,
    /// There is no such file.
    Absent,
}

/// Looks whether something is mounted at `path`; older kernels do not say.
fn mount_state(path: &Path) -> MountState {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let is_root = StatxAttributes::MOUNT_ROOT;
    match rustix::fs::statx(CWD, path, flags, StatxFlags::empty()) {
        Ok(stat) if !stat.stx_attributes_mask.contains(is_root) => MountState::Mounted,
        Ok(stat) if stat.stx_attributes.contains(is_root) => MountState::Mounted,
        Err(Errno::NOENT | Errno::NOTDIR) => MountState::Absent,
        Ok(_) | Err(_) => MountState::Bare,
    }
}
