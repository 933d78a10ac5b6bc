//! Mounts of a cell: builds the file system of a plan, mounts, refreshes and unmounts git layers, describes mounts.
//!
//! Everything is mounted read-only, with the exceptions on top.
//!
//! Paths are opened without following links, and the opened file is mounted: no process can swap a directory between
//! the two steps.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_reconfigure, fsconfig_set_string, fsmount, fsopen, fspick, move_mount,
    open_tree, unmount,
};

use super::cell_plan::{CellPlan, MountContent, PlannedMount};
use super::overlay_mount::{clear_volatile_mark, create_overlay_over};
use super::sys::{self, MountFlags};
use crate::openat2::openat2;

/// A directory that only supervisors can enter: they have the capability to pass a directory without permissions.
const PRIVATE_DIRECTORY: &str = "/dev/.toolgate";
/// An unreadable file, mounted over others to hide them.
const UNREADABLE_FILE: &str = "/dev/.toolgate/inert";
/// The directory in which supervisors find the layers.
pub(crate) const LAYERS_DIRECTORY: &str = "/dev/.toolgate/layers";

/// Directories that are replaced by private ones.
const REPLACED_DIRECTORIES: &[&str] = &["/tmp", "/var/tmp", "/run", "/var/run", "/dev"];
const DEVICE_NAMES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// Files of `/proc` about the kernel and other processes that no command needs.
const MASKED_PROC_FILES: &[&str] = &[
    "acpi", "allocinfo", "kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount",
    "kpageflags", "latency_stats", "pagetypeinfo", "sched_debug", "scsi", "slabinfo", "timer_list",
    "timer_stats", "vmallocinfo",
];
/// Directories of `/sys` that no command needs. Most are accessible only to root, but a command may run as root.
const MASKED_SYS: &[&str] = &[
    "/sys/firmware", "/sys/fs/bpf", "/sys/fs/pstore", "/sys/kernel/debug", "/sys/kernel/security",
    "/sys/kernel/tracing",
];

/// The reason why the file system could not be built.
#[derive(Debug)]
pub(crate) enum MountFault {
    /// This machine does not support a step: a weaker tier may work.
    Machine(String, Errno),
    /// A path that the policy names causes the error: nothing is run until it is fixed.
    Path(String, Errno),
}

fn map_machine_fault<T>(
    result: Result<T>,
    doing: impl FnOnce() -> String,
) -> std::result::Result<T, MountFault> {
    result.map_err(|errno| MountFault::Machine(doing(), errno))
}

/// Maps an error about a path of the plan.
fn map_path_fault<T>(result: Result<T>, doing: &str, place: &Path) -> std::result::Result<T, MountFault> {
    let is_system = REPLACED_DIRECTORIES.iter().any(|system| place == Path::new(system));
    let fault = if is_system { MountFault::Machine } else { MountFault::Path };
    result.map_err(|errno| fault(format!("{doing} `{}`", place.display()), errno))
}

/// A mount that is not attached yet.
pub(super) struct PreparedMount<'a> {
    at: &'a Path,
    tree: OwnedFd,
    /// True if it becomes read-only when all mounts are attached.
    seal: bool,
    is_directory: bool,
    is_dev: bool,
}

/// Builds the file system of `plan` in this mount namespace. `staged` are the mounts of its staged roots. Returns the
/// overlays that are not available.
pub(crate) fn build(plan: &CellPlan, staged: &[OwnedFd]) -> std::result::Result<Vec<PathBuf>, MountFault> {
    let root = map_machine_fault(open("/", OFlags::DIRECTORY), || "opening `/`".to_owned())?;
    map_machine_fault(sys::private_mounts(&root), || "making mounts private".to_owned())?;
    if staged.len() != plan.staged.len() {
        return Err(MountFault::Machine("receiving the mounts of staged changes".to_owned(), Errno::INVAL));
    }
    for (root, tree) in plan.staged.iter().zip(staged) {
        map_path_fault(attach_at(tree, root), "mounting the staged changes over", root)?;
    }
    let devices: Vec<(&str, OwnedFd)> = DEVICE_NAMES.iter().filter_map(|name| device(name)).collect();
    let layers = plan.layer_directory().map(clone_tree).transpose();
    let layers = map_machine_fault(layers, || "opening the layers".to_owned())?;
    let mut missing = Vec::new();
    let (mut ready, mut shared) = (Vec::new(), Vec::new());
    for mount in &plan.mounts {
        match prepare(mount, &mut shared) {
            Ok(mount) => ready.push(mount),
            // The file no longer exists, so there is nothing to hide or to protect.
            Err(Errno::NOENT) if !matches!(mount.content, MountContent::Tree { writable: true, .. }) => {}
            Err(Errno::ACCESS) if mount.content == MountContent::Hidden && is_inaccessible(&mount.at) => {}
            Err(_) if matches!(mount.content, MountContent::Overlay { .. }) => missing.push(mount.at.clone()),
            Err(errno) => map_path_fault(Err(errno), "preparing", &mount.at)?,
        }
    }
    for layer in shared {
        map_machine_fault(unmount_layer(layer), || "taking off what was shared".to_owned())?;
    }
    map_machine_fault(sys::restrict_mounts(&root, MountFlags::READ_ONLY_TREE), || {
        "making `/` read-only".to_owned()
    })?;
    for mount in &ready {
        // Mount points are created only in private directories, never in a directory of the host.
        if plan.is_ours(mount.at) && open(mount.at, OFlags::NOFOLLOW).is_err() {
            map_path_fault(create_mount_point(mount.at, mount.is_directory), "making", mount.at)?;
        }
        map_path_fault(attach(mount), "mounting", mount.at)?;
        if mount.is_dev {
            map_machine_fault(populate(&devices, layers.as_ref(), &shared_memory(&plan.limits)), || {
                "filling `/dev`".to_owned()
            })?;
        }
    }
    for mount in ready.iter().filter(|mount| mount.seal) {
        map_path_fault(sys::restrict_mount(&mount.tree, MountFlags::READ_ONLY_TREE), "sealing", mount.at)?;
    }
    for mount in plan.mounts.iter().filter(|mount| mount.content == MountContent::Hidden) {
        map_path_fault(hide_file(&mount.at), "hiding", &mount.at)?;
    }
    for path in MASKED_SYS {
        map_machine_fault(hide_all(Path::new(path)), || format!("hiding `{path}`"))?;
    }
    Ok(missing)
}

/// Prepares a mount. An overlay of which several mounts are parts is `shared`: it is attached over its own files
/// until all are prepared.
pub(super) fn prepare<'a>(mount: &'a PlannedMount, shared: &mut Vec<&'a Path>) -> Result<PreparedMount<'a>> {
    let ready = |tree, seal| {
        let is_directory = kind(&tree).is_ok_and(|kind| kind == FileType::Directory);
        PreparedMount {
            at: &mount.at,
            tree,
            seal,
            is_directory,
            is_dev: mount.content == MountContent::Devices,
        }
    };
    Ok(match &mount.content {
        MountContent::Tree { from, writable } => {
            let tree = clone_tree(from)?;
            let flags = if *writable { MountFlags::NO_SUID_NO_DEV } else { MountFlags::READ_ONLY_TREE };
            sys::restrict_mounts(&tree, flags)?;
            ready(tree, false)
        }
        MountContent::Empty | MountContent::Devices => ready(tmpfs("0755")?, true),
        // A file is hidden by the unreadable file, which exists when all mounts are attached.
        MountContent::Hidden => match kind(&open(&mount.at, OFlags::NOFOLLOW)?)? {
            FileType::Directory => ready(tmpfs("0000")?, true),
            _ => return Err(Errno::NOENT),
        },
        MountContent::Overlay { lower, layer } => {
            if !shared.contains(&layer.as_path()) {
                attach_overlay(layer, &open_lower(lower)?, layer)?;
                shared.push(layer);
            }
            let below = mount.at.strip_prefix(lower).map_err(|_| Errno::INVAL)?;
            let tree =
                clone_tree(if below.as_os_str().is_empty() { layer.clone() } else { layer.join(below) })?;
            ready(tree, false)
        }
    })
}

/// Attaches an overlay over `lower` at `at`.
fn attach_overlay(at: &Path, lower: &OwnedFd, layer: &Path) -> Result<()> {
    let tree = create_overlay(lower, &layer.join("upper"), &layer.join("work"))?;
    attach(&PreparedMount { at, tree, seal: false, is_directory: true, is_dev: false })
}

pub(super) fn attach(mount: &PreparedMount<'_>) -> Result<()> {
    // A link is mounted over a link: its target stays the same, and no command can remove it.
    let is_link = kind(&mount.tree).is_ok_and(|kind| kind == FileType::Symlink);
    let flags = if is_link { OFlags::NOFOLLOW } else { OFlags::empty() };
    let target = open(mount.at, flags)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&mount.tree, "", &target, "", flags)
}

/// Creates a missing mount point; only private mounts are writable here.
fn create_mount_point(path: &Path, is_directory: bool) -> Result<()> {
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    for directory in above.into_iter().rev().chain(is_directory.then_some(path)) {
        match rustix::fs::mkdir(directory, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            // It exists, or the next step reports the error.
            Err(Errno::ROFS | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    if !is_directory {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::from_raw_mode(0o644)) {
            Ok(_) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Clones a device of the host: writes reach it, but its mode and times are read-only.
fn device(name: &'static str) -> Option<(&'static str, OwnedFd)> {
    let device = clone_tree(format!("/dev/{name}")).ok()?;
    sys::restrict_mount(&device, MountFlags::READ_ONLY_TREE).ok()?;
    Some((name, device))
}

/// Fills the new `/dev`.
fn populate(devices: &[(&str, OwnedFd)], layers: Option<&OwnedFd>, shared: &str) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    let directory = |path: &str, mode| rustix::fs::mkdir(path, Mode::from_raw_mode(mode));
    for (name, device) in devices {
        let path = format!("/dev/{name}");
        create_mount_point(Path::new(&path), false)?;
        move_mount(device, "", CWD, &path, flags)?;
    }
    for (name, to) in DEVICE_LINKS {
        rustix::fs::symlink(*to, format!("/dev/{name}"))?;
    }
    directory("/dev/pts", 0o755)?;
    let terminals = fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&terminals, "ptmxmode", "0666")?;
    fsconfig_set_string(&terminals, "mode", "0620")?;
    fsconfig_create(&terminals)?;
    // These are devices, so `nodev` is not set.
    let terminals = fsmount(&terminals, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_NOSUID)?;
    move_mount(terminals, "", CWD, "/dev/pts", flags)?;
    directory("/dev/shm", 0o1777)?;
    move_mount(sized_tmpfs("1777", shared)?, "", CWD, "/dev/shm", flags)?;
    directory(PRIVATE_DIRECTORY, 0o700)?;
    create_mount_point(Path::new(UNREADABLE_FILE), false)?;
    rustix::fs::chmod(UNREADABLE_FILE, Mode::empty())?;
    if let Some(layers) = layers {
        directory(LAYERS_DIRECTORY, 0o700)?;
        move_mount(layers, "", CWD, LAYERS_DIRECTORY, flags)?;
    }
    rustix::fs::chmod(PRIVATE_DIRECTORY, Mode::empty())
}

/// Mounts the unreadable file over the file at `path`, if it exists.
fn hide_file(path: &Path) -> Result<()> {
    let target = match open(path, OFlags::NOFOLLOW) {
        Ok(target) if kind(&target)? != FileType::Directory => target,
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        Err(Errno::ACCESS) if is_inaccessible(path) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(clone_tree(UNREADABLE_FILE)?, "", &target, "", flags)
}

/// Returns true if a directory of another user, such as `/root`, denies this user and its commands access to `path`.
/// The user could open a directory of its own.
fn is_inaccessible(path: &Path) -> bool {
    let stat = |above: &Path| rustix::fs::statat(CWD, above, AtFlags::SYMLINK_NOFOLLOW).ok();
    let innermost = path.ancestors().skip(1).find_map(stat);
    let own = rustix::process::geteuid().as_raw();
    innermost.is_some_and(|above| above.st_uid != own || own == OVERFLOW_UID)
}

/// The owner of all files whose owner is not mapped in a user namespace. A user with this id cannot distinguish them
/// from its own.
const OVERFLOW_UID: u32 = 65_534;

/// Hides `path`, a file or a directory with its contents.
pub(crate) fn hide_all(path: &Path) -> Result<()> {
    match open(path, OFlags::NOFOLLOW).and_then(|found| kind(&found)) {
        Ok(FileType::Directory) => {
            let tree = tmpfs("0000")?;
            sys::restrict_mount(&tree, MountFlags::READ_ONLY_TREE)?;
            attach(&PreparedMount { at: path, tree, seal: false, is_directory: true, is_dev: false })
        }
        Ok(_) => hide_file(path),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(Errno::ACCESS) if is_inaccessible(path) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Mounts a read-only `/proc` for this process namespace. Returns true if the process limit is in force.
pub(crate) fn mount_own_proc(processes: Option<u64>) -> Result<bool> {
    let proc = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let proc = create_mount(&proc)?;
    let limited = match processes {
        // Each pid is a process or a thread, and some are never assigned.
        Some(processes) if has_per_namespace_pid_limit() => {
            let most = processes.saturating_add(RESERVED_PIDS).to_string();
            rustix::fs::openat(&proc, "sys/kernel/pid_max", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
                .and_then(|limit| rustix::io::write(limit, most.as_bytes()))
                .is_ok()
        }
        Some(_) => false,
        None => true,
    };
    sys::restrict_mount(&proc, MountFlags::READ_ONLY_TREE)?;
    move_mount(&proc, "", CWD, "/proc", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    for name in MASKED_PROC_FILES {
        hide_all(Path::new(&format!("/proc/{name}")))?;
    }
    Ok(limited)
}

/// Returns true if `pid_max` is per namespace. In older kernels, root would set it for the whole machine.
fn has_per_namespace_pid_limit() -> bool {
    is_release_at_least(&rustix::system::uname().release().to_string_lossy(), (6, 14))
}

/// Returns true if the kernel `release` is at least this version. An unreadable release counts as older.
fn is_release_at_least(release: &str, (major, minor): (u32, u32)) -> bool {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(first)), Some(Ok(second))) = (numbers.next(), numbers.next()) else { return false };
    (first, second) >= (major, minor)
}

/// The number of pids that the kernel never assigns to a process.
const RESERVED_PIDS: u64 = 301;

/// Mounts the file `from` over the one at `at`, or over its target.
pub(crate) fn mount_file(from: &Path, at: &Path) -> Result<()> {
    let target = rustix::fs::open(at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let file = clone_tree(from)?;
    sys::restrict_mount(&file, MountFlags::READ_ONLY_TREE)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(file, "", &target, "", flags)
}

/// Opens the directory at `path`, to be the lower directory of layers.
pub(crate) fn open_lower(path: &Path) -> Result<OwnedFd> {
    open(path, OFlags::DIRECTORY)
}

/// Mounts a layer over `at`, whose directory is `lower`: writes go to the layer.
pub(crate) fn mount_layer(at: &Path, lower: &OwnedFd, layer: &str) -> Result<()> {
    let layer = Path::new(LAYERS_DIRECTORY).join(layer);
    clear_volatile_mark(&layer.join("work"));
    attach_overlay(at, lower, &layer)
}

/// Drops the layer's cache of the lower directory: the kernel does so whenever a file system is reconfigured.
pub(crate) fn refresh_layer(at: &Path) -> Result<()> {
    let flags =
        FsPickFlags::FSPICK_CLOEXEC | FsPickFlags::FSPICK_SYMLINK_NOFOLLOW | FsPickFlags::FSPICK_NO_AUTOMOUNT;
    fsconfig_reconfigure(fspick(CWD, at, flags)?)
}

/// Unmounts the layer.
pub(crate) fn unmount_layer(at: &Path) -> Result<()> {
    // Including the mounts inside it.
    unmount(at, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)
}

fn create_overlay(lower: &OwnedFd, upper: &Path, work: &Path) -> Result<OwnedFd> {
    create_overlay_over(&[lower], upper, work)
}

/// Clones the mount at `path` alone.
pub(super) fn clone_mount(path: &Path) -> Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(open(path, OFlags::NOFOLLOW)?, "", flags)
}

/// Attaches the mount `tree` at `path`.
pub(super) fn attach_at(tree: &OwnedFd, path: &Path) -> Result<()> {
    attach(&PreparedMount {
        at: path,
        tree: tree.try_clone().map_err(|_| Errno::MFILE)?,
        seal: false,
        is_directory: true,
        is_dev: false,
    })
}

/// Returns the size limit of `/dev/shm` in the kernel's syntax: it is memory, and counts as such.
fn shared_memory(limits: &policy::ResourceLimits) -> String {
    let limit = limits.shared_memory.into_iter().chain(limits.memory).min();
    limit.map_or_else(|| "25%".to_owned(), |most| most.to_string())
}

fn tmpfs(mode: &str) -> Result<OwnedFd> {
    // For Toolgate's own files; sealed afterwards.
    sized_tmpfs(mode, "1m")
}

fn sized_tmpfs(mode: &str, size: &str) -> Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "mode", mode)?;
    fsconfig_set_string(&context, "size", size)?;
    create_mount(&context)
}

pub(super) fn create_mount(context: &OwnedFd) -> Result<OwnedFd> {
    fsconfig_create(context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// Clones the mount tree at `path`.
fn clone_tree(path: impl AsRef<Path>) -> Result<OwnedFd> {
    let from = open(path.as_ref(), OFlags::NOFOLLOW)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(&from, "", flags)
}

/// Opens `path` with `O_PATH`. The path to it must be free of links.
fn open(path: impl AsRef<Path>, flags: OFlags) -> Result<OwnedFd> {
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    let resolve = if flags.contains(OFlags::NOFOLLOW) {
        // A link may be opened, but not followed: only the last component may be one.
        return open_link(path.as_ref(), flags);
    } else {
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
    };
    openat2(CWD, path.as_ref(), flags, resolve)
}

fn open_link(path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return rustix::fs::open(path, flags, Mode::empty());
    };
    let above = open(above, OFlags::DIRECTORY)?;
    rustix::fs::openat(above, name, flags, Mode::empty())
}

fn kind(fd: impl AsFd) -> Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode))
}

/// Describes the mounts of the plan, for `--explain`.
pub(crate) fn describe_mounts(plan: &CellPlan) -> Vec<(PathBuf, &'static str)> {
    let word = |content: &MountContent| match content {
        MountContent::Tree { writable: true, .. } => "writable",
        MountContent::Tree { writable: false, .. } => "read-only",
        MountContent::Empty => "empty",
        MountContent::Hidden => "hidden",
        MountContent::Devices => "devices",
        MountContent::Overlay { .. } => "private changes",
    };
    // A denied path that does not exist yet is left out.
    let is_there = |mount: &&PlannedMount| {
        mount.content != MountContent::Hidden || open(&mount.at, OFlags::NOFOLLOW).is_ok()
    };
    plan.mounts.iter().filter(is_there).map(|mount| (mount.at.clone(), word(&mount.content))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_releases_are_compared() {
        for (release, is) in [
            ("6.14.0-1-generic", true),
            ("6.18.44-fc", true),
            ("7.0.0-rc1", true),
            ("6.13.9", false),
            ("5.15.0-203-generic", false),
            ("6", false),
            ("", false),
            ("x.14.0", false),
        ] {
            assert_eq!(is_release_at_least(release, (6, 14)), is, "{release}");
        }
    }
}
