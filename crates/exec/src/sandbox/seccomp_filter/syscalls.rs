//! System calls that the filter treats specially, grouped by purpose.
//!
//! Numbers are given here where the C library lacks them. From 424 on they are the same on all architectures.

/// A system call: its number and its name.
pub(super) type Syscall = (u32, &'static str);

/// The last call of Linux 6.18. The effects of later calls are unknown; programs test whether they exist.
pub(super) const LAST_SYSCALL: u32 = 469;

macro_rules! calls {
    (@number $name:ident) => { number(libc::$name) };
    (@number $name:ident $number:literal) => { $number };
    ($($name:ident $(= $number:literal)?)*) => { &[$((calls!(@number $name $($number)?), stringify!($name))),*] };
}

/// Calls that programs can do without if they seem not to exist: whole new interfaces that a filter cannot inspect.
pub(super) const ABSENT: &[Syscall] = calls![
    SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register SYS_clone3 open_tree_attr=467
];

/// Calls that administer the system, reach into other processes or are mostly known from exploits.
pub(super) const DENIED: &[Syscall] = calls![
    SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_fsopen SYS_fsmount SYS_fsconfig SYS_fspick SYS_move_mount
    SYS_open_tree SYS_mount_setattr SYS_setns
    SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_fanotify_init SYS_open_by_handle_at SYS_lookup_dcookie
    SYS_keyctl SYS_add_key SYS_request_key
    SYS_kexec_load SYS_init_module SYS_finit_module SYS_delete_module
    SYS_acct SYS_swapon SYS_swapoff SYS_reboot SYS_quotactl SYS_quotactl_fd SYS_syslog SYS_vhangup SYS_nfsservctl
    SYS_settimeofday SYS_clock_settime SYS_adjtimex SYS_clock_adjtime SYS_sethostname SYS_setdomainname
    SYS_process_madvise SYS_pidfd_getfd SYS_kcmp SYS_move_pages SYS_migrate_pages SYS_mbind SYS_set_mempolicy
];

/// Calls that inspect or control another process.
pub(super) const TRACING: &[Syscall] = calls![SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev];

/// Calls that set the scheduling of a process, which is the first argument.
pub(super) const SCHEDULING: &[Syscall] =
    calls![SYS_sched_setaffinity SYS_sched_setscheduler SYS_sched_setparam SYS_sched_setattr];

/// Calls for objects that processes share by key, number or name. Creation alone is not enough: `shmat` takes a
/// number that any process can guess.
pub(super) const SHARED_IPC: &[Syscall] = calls![
    SYS_shmget SYS_shmat SYS_shmctl SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl
    SYS_semget SYS_semop SYS_semtimedop SYS_semctl SYS_mq_open SYS_mq_unlink
];

/// Calls that send, with `flags` as the fourth argument.
pub(super) const SEND_FLAGS_3: &[Syscall] = calls![SYS_sendto SYS_sendmmsg];
/// Calls that send, with `flags` as the third argument.
pub(super) const SEND_FLAGS_2: &[Syscall] = calls![SYS_sendmsg];

/// Calls that take a file mode as the second argument.
pub(super) const MODE_1: &[Syscall] = calls![SYS_fchmod];
/// Calls that take a file mode as the third argument.
pub(super) const MODE_2: &[Syscall] = calls![SYS_fchmodat fchmodat2=452 SYS_mkdirat SYS_mknodat];

/// Calls that create a node, with the mode as the third argument.
pub(super) const MKNOD_2: &[Syscall] = calls![SYS_mknodat];

/// Calls that open, with flags as the third and a mode as the fourth argument.
pub(super) const OPEN_2: &[Syscall] = calls![SYS_openat];
/// The call that has its flags in memory.
pub(super) const OPEN_HOW: &[Syscall] = calls![SYS_openat2];

/// Calls that change files by path.
pub(super) const CHANGES: &[Syscall] = calls![
    SYS_mkdirat SYS_mknodat SYS_unlinkat SYS_renameat2 SYS_linkat SYS_symlinkat SYS_truncate
    SYS_fchmodat fchmodat2=452 SYS_fchownat SYS_utimensat
    SYS_setxattr SYS_lsetxattr SYS_removexattr SYS_lremovexattr
];
/// New calls that change files by path. Few programs use them yet, and all fall back on an older one.
pub(super) const NEW_CHANGES: &[Syscall] = calls![setxattrat=463 removexattrat=466 file_setattr=469];

/// Calls with rules of their own.
pub(super) const CLONE: &[Syscall] = calls![SYS_clone];
pub(super) const UNSHARE: &[Syscall] = calls![SYS_unshare];
pub(super) const IOCTL: &[Syscall] = calls![SYS_ioctl];
pub(super) const SOCKET: &[Syscall] = calls![SYS_socket];
pub(super) const SOCKETPAIR: &[Syscall] = calls![SYS_socketpair];
pub(super) const CONNECT: &[Syscall] = calls![SYS_connect];
pub(super) const BIND: &[Syscall] = calls![SYS_bind];
pub(super) const PRLIMIT: &[Syscall] = calls![SYS_prlimit64];
pub(super) const SETPRIORITY: &[Syscall] = calls![SYS_setpriority];
pub(super) const IOPRIO_SET: &[Syscall] = calls![SYS_ioprio_set];

/// Calls of this architecture only: mostly old ones that have newer variants with a directory argument.
#[cfg(target_arch = "x86_64")]
pub(super) mod arch {
    use super::{Syscall, number};

    /// The kernel's identifier of the architecture.
    pub(in super::super) const NAME: u32 = 0xc000_003e;
    pub(in super::super) const DENIED: &[Syscall] = calls![
        SYS_iopl SYS_ioperm SYS_modify_ldt SYS__sysctl SYS_uselib SYS_kexec_file_load
        create_module=174 query_module=178
    ];
    pub(in super::super) const MODE_1: &[Syscall] = calls![SYS_chmod SYS_creat SYS_mkdir SYS_mknod];
    pub(in super::super) const MKNOD_1: &[Syscall] = calls![SYS_mknod];
    pub(in super::super) const OPEN_1: &[Syscall] = calls![SYS_open];
    pub(in super::super) const CHANGES: &[Syscall] = calls![
        SYS_creat SYS_mkdir SYS_mknod SYS_unlink SYS_rmdir SYS_rename SYS_renameat SYS_link SYS_symlink
        SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat
    ];
}

/// Calls of this architecture only.
#[cfg(target_arch = "aarch64")]
pub(super) mod arch {
    use super::Syscall;

    /// The kernel's identifier of the architecture.
    pub(in super::super) const NAME: u32 = 0xc000_00b7;
    pub(in super::super) const DENIED: &[Syscall] = calls![kexec_file_load = 294];
    pub(in super::super) const MODE_1: &[Syscall] = &[];
    pub(in super::super) const MKNOD_1: &[Syscall] = &[];
    pub(in super::super) const OPEN_1: &[Syscall] = &[];
    pub(in super::super) const CHANGES: &[Syscall] = calls![renameat = 38];
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked, and when it is compiled"
)]
const fn number(call: libc::c_long) -> u32 {
    assert!(0 <= call && call <= LAST_SYSCALL as libc::c_long);
    call as u32
}
