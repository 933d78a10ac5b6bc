//! Probes of mounts and namespaces.

use super::files::descriptor;
use super::{Args, CWD, ProbeErrno, ProbeFn, ProbeResult, address_of, attempt, raw_syscall};

pub(super) const PROBES: &[(&str, ProbeFn)] = &[
    ("mount-tmpfs", |args| mount(c"tmpfs", &args.path(0), c"tmpfs", 0)),
    ("mount-proc", |args| mount(c"proc", &args.path(0), c"proc", 0)),
    ("bind", |args| mount(&args.path(0), &args.path(1), c"", libc::MS_BIND)),
    ("remount", |args| mount(c"", &args.path(0), c"", libc::MS_REMOUNT | libc::MS_BIND)),
    ("umount", |args| {
        attempt(libc::SYS_umount2, &[address_of(args.path(0).as_c_str()), libc::MNT_DETACH as usize])
    }),
    ("chroot", |args| attempt(libc::SYS_chroot, &[address_of(args.path(0).as_c_str())])),
    ("nested", nested),
    ("nested-mount", nested_mount),
    ("unshare", |args| attempt(libc::SYS_unshare, &[flag(args.text(0))])),
    ("unshare-high", |args| attempt(libc::SYS_unshare, &[flag(args.text(0)) | 1 << 32])),
    ("clone", |args| clone(flag(args.text(0)))),
    ("clone-high", |args| clone(flag(args.text(0)) | 1 << 32)),
    ("clone3", clone3),
    ("setns", setns),
    ("setns-pidfd", setns_pidfd),
    ("open-tree", open_tree),
    ("fsopen", fsopen),
    ("setattr", mount_setattr),
    ("pivot", |args| {
        attempt(
            libc::SYS_pivot_root,
            &[address_of(args.path(0).as_c_str()), address_of(args.path(0).as_c_str())],
        )
    }),
];

fn mount(from: &std::ffi::CStr, to: &std::ffi::CStr, kind: &std::ffi::CStr, flags: u64) -> ProbeResult {
    attempt(libc::SYS_mount, &[address_of(from), address_of(to), address_of(kind), flags as usize, 0])
}

fn flag(name: &str) -> usize {
    let flag = match name {
        "user" => libc::CLONE_NEWUSER,
        "mnt" => libc::CLONE_NEWNS,
        "net" => libc::CLONE_NEWNET,
        "pid" => libc::CLONE_NEWPID,
        "ipc" => libc::CLONE_NEWIPC,
        "uts" => libc::CLONE_NEWUTS,
        "cgroup" => libc::CLONE_NEWCGROUP,
        "time" => 0x80,
        "user+mnt" => libc::CLONE_NEWUSER | libc::CLONE_NEWNS,
        "user+net" => libc::CLONE_NEWUSER | libc::CLONE_NEWNET,
        "files" => libc::CLONE_FILES | libc::CLONE_FS,
        _ => super::usage("no such namespace"),
    };
    flag as usize
}

/// Enters a namespace with mount rights, makes the root writable there, and creates a file.
fn nested(args: &Args<'_>) -> ProbeResult {
    let _maybe = attempt(libc::SYS_unshare, &[flag("user+mnt")]);
    let _maybe = mount(c"", c"/", c"", libc::MS_REMOUNT | libc::MS_BIND);
    descriptor(&args.path(0), libc::O_CREAT | libc::O_WRONLY).map(drop)
}

/// Enters a namespace with mount rights, and removes the mount that hides a file.
fn nested_mount(args: &Args<'_>) -> ProbeResult {
    attempt(libc::SYS_unshare, &[flag("user+mnt")])?;
    attempt(libc::SYS_umount2, &[address_of(args.path(0).as_c_str()), libc::MNT_DETACH as usize])
}

fn child_ends(done: Result<usize, ProbeErrno>) -> ProbeResult {
    if done? == 0 {
        let _never = raw_syscall(libc::SYS_exit_group, &[0]);
    }
    let _reaped = raw_syscall(libc::SYS_wait4, &[usize::MAX, 0, 0, 0]);
    Ok(())
}

fn clone(flags: usize) -> ProbeResult {
    child_ends(raw_syscall(libc::SYS_clone, &[flags | libc::SIGCHLD as usize, 0, 0, 0, 0]))
}

fn clone3(args: &Args<'_>) -> ProbeResult {
    let mut all = [0u64; 11];
    all[0] = flag(args.text(0)) as u64;
    all[4] = libc::SIGCHLD as u64;
    child_ends(raw_syscall(libc::SYS_clone3, &[address_of(&all), size_of_val(&all)]))
}

fn setns(args: &Args<'_>) -> ProbeResult {
    attempt(libc::SYS_setns, &[descriptor(&args.path(0), libc::O_RDONLY)?, 0])
}

fn setns_pidfd(args: &Args<'_>) -> ProbeResult {
    let pidfd = raw_syscall(libc::SYS_pidfd_open, &[args.number(0), 0])?;
    attempt(libc::SYS_setns, &[pidfd, flag("uts")])
}

/// Copies the mounts above a path as a detached tree.
fn open_tree(args: &Args<'_>) -> ProbeResult {
    const CLONE: usize = 1;
    attempt(libc::SYS_open_tree, &[CWD, address_of(args.path(0).as_c_str()), CLONE])
}

fn fsopen(args: &Args<'_>) -> ProbeResult {
    attempt(libc::SYS_fsopen, &[address_of(args.path(0).as_c_str()), 0])
}

/// Removes the read-only flag.
fn mount_setattr(args: &Args<'_>) -> ProbeResult {
    let attr = [0u64, libc::MOUNT_ATTR_RDONLY, 0, 0];
    attempt(
        libc::SYS_mount_setattr,
        &[CWD, address_of(args.path(0).as_c_str()), 0, address_of(&attr), size_of_val(&attr)],
    )
}
