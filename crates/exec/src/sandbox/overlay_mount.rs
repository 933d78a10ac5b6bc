//! Creates overlays: one lower directory or a stack of layers, and the directory that receives the writes.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{rmdir, unlink};
use rustix::io::Result;
use rustix::mount::{FsOpenFlags, fsconfig_set_flag, fsconfig_set_string, fsopen};

use super::mounts::{create_mount, open_lower};
use super::stage_holder::StageMount;

/// Creates an overlay over the layers of `mount` and its root.
pub(super) fn create_stacked_overlay(mount: &StageMount) -> Result<OwnedFd> {
    let layers = mount.layers.iter().chain([&mount.root]);
    let lower = layers.map(|path| open_lower(path)).collect::<Result<Vec<_>>>()?;
    create_overlay_over(&lower.iter().collect::<Vec<_>>(), &mount.upper, &mount.work)
}

/// Removes the mark of an overlay that was never synced. It matters after a crash of the machine.
pub(super) fn clear_volatile_mark(work: &Path) {
    let mark = work.join("work/incompat/volatile");
    let _is_new = unlink(mark.join("dirty")).and_then(|()| rmdir(mark));
}

/// Creates an overlay over directories, the topmost first.
pub(super) fn create_overlay_over(lower: &[&OwnedFd], upper: &Path, work: &Path) -> Result<OwnedFd> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let (upper, work) = (open_lower(upper)?, open_lower(work)?);
    // By descriptor: a path may be long and contain the separator of layers.
    let by_fd = |directory: &OwnedFd| format!("/proc/self/fd/{}", directory.as_raw_fd());
    match lower {
        [only] => fsconfig_set_string(&context, "lowerdir", by_fd(only))?,
        several => {
            let added = |directory: &&OwnedFd| fsconfig_set_string(&context, "lowerdir+", by_fd(directory));
            if several.iter().try_for_each(added).is_err() {
                // Linux before 6.8 takes a list, of 255 bytes.
                let list: Vec<String> = several.iter().map(|directory| by_fd(directory)).collect();
                fsconfig_set_string(&context, "lowerdir", list.join(":"))?;
            }
        }
    }
    for (key, directory) in [("upperdir", &upper), ("workdir", &work)] {
        fsconfig_set_string(&context, key, by_fd(directory))?;
    }
    fsconfig_set_flag(&context, "userxattr")?;
    // Otherwise an unmount would sync the host's whole file system.
    let _old_kernel = fsconfig_set_flag(&context, "volatile");
    create_mount(&context)
}
