//! Restores mounts that were lost because the files beneath them were replaced on the host.

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use rustix::io::{Errno, Result};

use super::cell_plan::{CellPlan, MountContent};
use super::mounts::{attach, hide_all, prepare};
use super::placeholder;

/// Restores mounts that were lost because a process outside replaced their mount points, as a save, a `git checkout`
/// and a `git clean` do. Returns their paths.
pub(crate) fn remount_lost(plan: &CellPlan) -> Result<Vec<PathBuf>> {
    let mut remounted = Vec::new();
    for mount in &plan.mounts {
        match (&mount.content, mount_state(&mount.at)) {
            (_, MountState::Mounted) => continue,
            // Most paths to be hidden do not exist.
            (MountContent::Hidden, MountState::Absent) => continue,
            (_, MountState::Absent | MountState::Unmounted) => {}
        }
        match &mount.content {
            MountContent::Hidden => hide_all(&mount.at)?,
            MountContent::Tree { from, writable } if *from == mount.at => {
                // A missing read-only path is held, as at the creation of a cell.
                if !writable && !placeholder::hold_place(from)? {
                    continue;
                }
                match prepare(mount, &mut Vec::new()).and_then(|ready| attach(&ready)) {
                    Ok(()) => remounted.push(mount.at.clone()),
                    Err(Errno::NOENT | Errno::NOTDIR) => {}
                    Err(errno) => return Err(errno),
                }
            }
            MountContent::Tree { .. }
            | MountContent::Empty
            | MountContent::Devices
            | MountContent::Overlay { .. } => {}
        }
    }
    Ok(remounted)
}

/// Hides the denied paths that are not hidden.
pub(crate) fn hide_again(plan: &CellPlan) -> Result<()> {
    let hidden = plan.mounts.iter().filter(|mount| mount.content == MountContent::Hidden);
    let mut bare = hidden.filter(|mount| mount_state(&mount.at) == MountState::Unmounted);
    bare.try_for_each(|mount| hide_all(&mount.at))
}

/// The state of a mount point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountState {
    Mounted,
    /// Nothing is mounted there, or the state cannot be read.
    Unmounted,
    /// There is no such file.
    Absent,
}

/// Returns the state of the mount point `path`. On older kernels that do not report it, the path counts as mounted.
fn mount_state(path: &Path) -> MountState {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let is_root = StatxAttributes::MOUNT_ROOT;
    match rustix::fs::statx(CWD, path, flags, StatxFlags::empty()) {
        Ok(stat) if !stat.stx_attributes_mask.contains(is_root) => MountState::Mounted,
        Ok(stat) if stat.stx_attributes.contains(is_root) => MountState::Mounted,
        Err(Errno::NOENT | Errno::NOTDIR) => MountState::Absent,
        Ok(_) | Err(_) => MountState::Unmounted,
    }
}
