//! System calls of confinement without a safe wrapper: namespaces, mount flags, Landlock, seccomp, capabilities.
//!
//! All are made by a cell, its supervisors and their children, which have one thread each.
#![expect(unsafe_code, reason = "these calls have no safe form")]

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::io::{Errno, Result};

use super::bpf::BpfInstruction;

/// A set of namespace kinds to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Namespaces(i32);

impl Namespaces {
    pub(crate) const USER: Self = Self(libc::CLONE_NEWUSER);
    pub(crate) const MOUNT: Self = Self(libc::CLONE_NEWNS);
    pub(crate) const PID: Self = Self(libc::CLONE_NEWPID);
    pub(crate) const IPC: Self = Self(libc::CLONE_NEWIPC);
    pub(crate) const NETWORK: Self = Self(libc::CLONE_NEWNET);
    pub(crate) const UTS: Self = Self(libc::CLONE_NEWUTS);
    pub(crate) const CGROUP: Self = Self(libc::CLONE_NEWCGROUP);
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

fn check_result(returned: libc::c_long) -> Result<libc::c_long> {
    if returned == -1 { Err(last_errno()) } else { Ok(returned) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Wraps a descriptor that a system call has just returned.
fn owned_fd(returned: libc::c_long) -> Result<OwnedFd> {
    let fd = i32::try_from(check_result(returned)?).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel has just created it for this process, and no other code knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Moves this process into new namespaces.
pub(crate) fn unshare(namespaces: Namespaces) -> Result<()> {
    // SAFETY: this process has one thread, and no flag concerns its memory or its descriptors.
    check_result(unsafe { libc::syscall(libc::SYS_unshare, libc::c_long::from(namespaces.0)) }).map(drop)
}

/// Forks this process into new namespaces. Returns 0 in the child, the pid in the parent.
pub(crate) fn fork_into(namespaces: Namespaces) -> Result<i32> {
    let flags = libc::c_long::from(namespaces.0 | libc::SIGCHLD);
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: without a stack of its own this is `fork`; this process has one thread, so the child's memory is
    // consistent.
    let pid = check_result(unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) })?;
    i32::try_from(pid).map_err(|_| Errno::INVAL)
}

/// The restrictions of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MountFlags(u64);

impl MountFlags {
    const READ_ONLY: u64 = 1;
    const NO_SUID: u64 = 2;
    const NO_DEV: u64 = 4;

    /// Read-only, and no set-id programs.
    pub(crate) const READ_ONLY_TREE: Self = Self(Self::READ_ONLY | Self::NO_SUID);
    /// No set-id programs, no devices.
    pub(crate) const NO_SUID_NO_DEV: Self = Self(Self::NO_SUID | Self::NO_DEV);
}

/// Adds `flags` to the mount at `tree` and all below it.
pub(crate) fn restrict_mounts(tree: impl AsFd, flags: MountFlags) -> Result<()> {
    set_mount_attributes(tree, libc::AT_RECURSIVE, [flags.0, 0, 0, 0])
}

/// Adds `flags` to the mount at `tree` alone.
pub(crate) fn restrict_mount(tree: impl AsFd, flags: MountFlags) -> Result<()> {
    set_mount_attributes(tree, 0, [flags.0, 0, 0, 0])
}

/// Stops mount propagation between `tree`, with all mounts below it, and other namespaces.
pub(crate) fn private_mounts(tree: impl AsFd) -> Result<()> {
    set_mount_attributes(tree, libc::AT_RECURSIVE, [0, 0, libc::MS_PRIVATE, 0])
}

fn set_mount_attributes(tree: impl AsFd, how_far: i32, attr: [u64; 4]) -> Result<()> {
    let (empty, flags) = (c"".as_ptr(), libc::c_long::from(libc::AT_EMPTY_PATH | how_far));
    let fd = libc::c_long::from(tree.as_fd().as_raw_fd());
    // SAFETY: the structure is four numbers, and lives as long as the call.
    let set = unsafe {
        libc::syscall(libc::SYS_mount_setattr, fd, empty, flags, attr.as_ptr(), size_of_val(&attr))
    };
    check_result(set).map(drop)
}

/// Returns the Landlock version of this kernel, or an error if there is none.
pub(crate) fn landlock_version() -> Result<u32> {
    let (none, version) = (std::ptr::null::<u64>(), 1_i64);
    // SAFETY: without a structure the call only returns its version.
    let version =
        check_result(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, version) })?;
    u32::try_from(version).map_err(|_| Errno::INVAL)
}

/// Creates a ruleset that handles these rights over files, over the network, and these scopes.
pub(crate) fn landlock_ruleset(files: u64, network: u64, scopes: u64, version: u32) -> Result<OwnedFd> {
    let attr = [files, network, scopes];
    // Older kernels know only the first fields.
    let known = match version {
        0..4 => 1,
        4..6 => 2,
        _ => 3,
    };
    let size = known * size_of::<u64>();
    // SAFETY: the structure is at least as long as stated.
    owned_fd(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, attr.as_ptr(), size, 0_i64) })
}

/// Allows `rights` at `path` and below it.
pub(crate) fn landlock_allow(ruleset: impl AsFd, path: impl AsFd, rights: u64) -> Result<()> {
    #[repr(C, packed)]
    struct PathBeneathRule {
        rights: u64,
        fd: i32,
    }
    let rule = PathBeneathRule { rights, fd: path.as_fd().as_raw_fd() };
    let fd = libc::c_long::from(ruleset.as_fd().as_raw_fd());
    // SAFETY: the structure has the kernel's packed layout, and lives as long as the call.
    check_result(unsafe { libc::syscall(libc::SYS_landlock_add_rule, fd, 1_i64, &raw const rule, 0_i64) })
        .map(drop)
}

/// Applies the ruleset to this process and its descendants. Allocates nothing.
pub(crate) fn landlock_restrict(ruleset: impl AsFd) -> Result<()> {
    let fd = libc::c_long::from(ruleset.as_fd().as_raw_fd());
    // SAFETY: the call takes numbers only.
    check_result(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, fd, 0_i64) }).map(drop)
}

/// Installs a seccomp filter for this process and its descendants. With `listener`, returns the descriptor that
/// receives the calls to judge. Allocates nothing.
pub(crate) fn install_filter(program: &[BpfInstruction], listener: bool) -> Result<Option<OwnedFd>> {
    const SET_MODE_FILTER: libc::c_long = 1;
    const NEW_LISTENER: libc::c_long = 8;
    #[repr(C)]
    struct FilterProgram {
        length: u16,
        instructions: *const BpfInstruction,
    }
    let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = FilterProgram { length, instructions: program.as_ptr() };
    let flags = if listener { NEW_LISTENER } else { 0 };
    // SAFETY: the kernel copies the program, whose instructions have the kernel's layout.
    let set = unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program) };
    if listener { owned_fd(set).map(Some) } else { check_result(set).map(|_| None) }
}

/// Drops every capability, for this process and any program that it executes. Allocates nothing.
pub(crate) fn drop_capabilities() -> Result<()> {
    #[repr(C)]
    struct CapabilityHeader {
        version: u32,
        pid: i32,
    }
    let header = CapabilityHeader { version: 0x2008_0522, pid: 0 };
    let none = [0_u32; 6];
    // SAFETY: both have the layout of the kernel's third version.
    check_result(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) }).map(drop)
}

/// Prevents programs started from now on from gaining a capability, even for root.
pub(crate) fn forget_capabilities() -> Result<()> {
    let prctl = |option: i32, value: u64| {
        // SAFETY: these options take numbers only.
        check_result(unsafe { libc::prctl(option, value, 0_u64, 0_u64, 0_u64) }.into()).map(drop)
    };
    // ends: the kernel knows fewer than 64
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Err(Errno::INVAL) => break,
            other => other?,
        }
    }
    // Locked: root is an ordinary user.
    const NO_ROOT: u64 = 0b11;
    const NO_SETUID_FIXUP: u64 = 0b1100;
    const NO_AMBIENT_RAISE: u64 = 0b1100_0000;
    prctl(libc::PR_SET_SECUREBITS, NO_ROOT | NO_SETUID_FIXUP | NO_AMBIENT_RAISE)
}

/// A system call of a confined process that waits for an answer.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct SeccompNotification {
    pub(crate) id: u64,
    /// The thread id in this process's namespace.
    pub(crate) pid: u32,
    flags: u32,
    pub(crate) number: i32,
    arch: u32,
    instruction_pointer: u64,
    pub(crate) args: [u64; 6],
}

/// The answer to such a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeccompAnswer {
    /// The kernel executes the call, subject to all other restrictions.
    Continue,
    /// The broker has executed it; the caller sees success.
    Done,
    /// The call fails with this error.
    Fails(Errno),
}

/// Connects `socket` to the address in `bytes`, of any family.
pub(crate) fn connect(socket: impl AsFd, bytes: &[u8]) -> Result<()> {
    let length = libc::socklen_t::try_from(bytes.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the kernel reads as many bytes as there are.
    let done = unsafe { libc::connect(socket.as_fd().as_raw_fd(), bytes.as_ptr().cast(), length) };
    check_result(done.into()).map(drop)
}

const NOTIF_RECV_IOCTL: u64 = 0xc050_2100;
const NOTIF_SEND_IOCTL: u64 = 0xc018_2101;
const NOTIF_ID_VALID_IOCTL: u64 = 0x4008_2102;

/// Receives the next waiting call; an error if none waits any more.
pub(crate) fn receive_notification(listener: impl AsFd) -> Result<SeccompNotification> {
    let mut notification = SeccompNotification::default();
    // SAFETY: the structure has the kernel's layout, and is all zero as required.
    check_result(
        unsafe { libc::ioctl(listener.as_fd().as_raw_fd(), NOTIF_RECV_IOCTL, &raw mut notification) }.into(),
    )?;
    Ok(notification)
}

/// Returns true if the call still waits: only then does the memory that was read belong to its caller.
pub(crate) fn is_still_waiting(listener: impl AsFd, notification: &SeccompNotification) -> bool {
    // SAFETY: the argument is the id of a call.
    unsafe {
        libc::ioctl(listener.as_fd().as_raw_fd(), NOTIF_ID_VALID_IOCTL, &raw const notification.id) == 0
    }
}

/// Answers the call. If it no longer waits, nothing happens.
pub(crate) fn respond(listener: impl AsFd, notification: &SeccompNotification, answer: SeccompAnswer) {
    #[repr(C)]
    struct SeccompResponse {
        id: u64,
        value: i64,
        error: i32,
        flags: u32,
    }
    let (error, flags) = match answer {
        SeccompAnswer::Continue => (0, 1),
        SeccompAnswer::Done => (0, 0),
        SeccompAnswer::Fails(errno) => (-errno.raw_os_error(), 0),
    };
    let response = SeccompResponse { id: notification.id, value: 0, error, flags };
    // SAFETY: the structure has the kernel's layout.
    unsafe { libc::ioctl(listener.as_fd().as_raw_fd(), NOTIF_SEND_IOCTL, &raw const response) };
}
