//! Probes of dangerous system calls, made harmless by an argument that the kernel rejects after the permission check.

use super::{Args, ProbeErrno, ProbeFn, ProbeResult, address_of, attempt, raw_syscall};

pub(super) const PROBES: &[(&str, ProbeFn)] = &[
    ("try", attempt_named),
    ("perf", |_| perf()),
    ("bpf", |_| bpf()),
    ("uffd", |_| attempt(libc::SYS_userfaultfd, &[USER_MODE_ONLY])),
    ("fanotify", |_| fanotify()),
    ("ldt", |_| ldt()),
    ("inject", |args| inject(libc::TIOCSTI as usize, args)),
    ("inject-high", |args| inject(1 << 32 | libc::TIOCSTI as usize, args)),
    ("tioclinux", |_| attempt(libc::SYS_ioctl, &[0, libc::TIOCLINUX as usize, address_of(&[0xffu8])])),
    ("domains", domains),
    ("seccomp-off", |_| attempt(libc::SYS_prctl, &[libc::PR_SET_SECCOMP as usize, 0, 0, 0, 0])),
    ("personality", |_| attempt(libc::SYS_personality, &[0x0400_0000])),
];

const USER_MODE_ONLY: usize = 1;
/// An invalid address.
const BAD: usize = 1;
const NO_FD: usize = usize::MAX;

/// A call, and the errors that show that the kernel itself, not a filter, has looked at its arguments.
struct InvalidCall {
    name: &'static str,
    number: i64,
    args: &'static [usize],
    looked: &'static [ProbeErrno],
}

const fn bad(
    name: &'static str,
    number: i64,
    args: &'static [usize],
    looked: &'static [ProbeErrno],
) -> InvalidCall {
    InvalidCall { name, number, args, looked }
}

use libc::{EBADF, EFAULT, EINVAL, ENOENT, ENOEXEC};

const BADS: &[InvalidCall] = &[
    bad("settimeofday", libc::SYS_settimeofday, &[BAD, 0], &[EFAULT]),
    bad("clock_settime", libc::SYS_clock_settime, &[0, BAD], &[EFAULT]),
    bad("adjtimex", libc::SYS_adjtimex, &[BAD], &[EFAULT]),
    bad("clock_adjtime", libc::SYS_clock_adjtime, &[0, BAD], &[EFAULT]),
    bad("sethostname", libc::SYS_sethostname, &[BAD, 1], &[EFAULT]),
    bad("setdomainname", libc::SYS_setdomainname, &[BAD, 1], &[EFAULT]),
    bad("syslog", libc::SYS_syslog, &[3, BAD, 1], &[EFAULT]),
    bad("swapon", libc::SYS_swapon, &[BAD, 0], &[EFAULT]),
    bad("swapoff", libc::SYS_swapoff, &[BAD], &[EFAULT]),
    bad("kexec_load", libc::SYS_kexec_load, &[0, 0, 0, 0xff], &[EINVAL]),
    bad("kexec_file_load", libc::SYS_kexec_file_load, &[NO_FD, NO_FD, 0, 0, 0xff00], &[EINVAL, EBADF]),
    bad("init_module", libc::SYS_init_module, &[BAD, 4096, BAD], &[EFAULT, ENOEXEC]),
    bad("finit_module", libc::SYS_finit_module, &[NO_FD, BAD, 0], &[EBADF]),
    bad("delete_module", libc::SYS_delete_module, &[BAD, 0], &[EFAULT]),
    // The magic numbers are wrong.
    bad("reboot", libc::SYS_reboot, &[1, 1, 0, 0], &[EINVAL]),
    bad("acct", libc::SYS_acct, &[BAD], &[EFAULT]),
    bad("quotactl", libc::SYS_quotactl, &[0x8000_0200, BAD, 0, 0], &[EFAULT, EINVAL, ENOENT]),
    bad("quotactl_fd", libc::SYS_quotactl_fd, &[NO_FD, 0, 0, 0], &[EBADF, EINVAL]),
    bad("mount", libc::SYS_mount, &[BAD, BAD, BAD, 0, BAD], &[EFAULT]),
    bad("umount2", libc::SYS_umount2, &[BAD, 0xff00], &[EINVAL]),
    bad("chroot", libc::SYS_chroot, &[BAD], &[EFAULT]),
    bad("pivot_root", libc::SYS_pivot_root, &[BAD, BAD], &[EFAULT]),
    bad("fsopen", libc::SYS_fsopen, &[BAD, 0xff], &[EINVAL, EFAULT]),
    bad("fsconfig", libc::SYS_fsconfig, &[NO_FD, 0xff, 0, 0, 0], &[EINVAL, EBADF]),
    bad("fsmount", libc::SYS_fsmount, &[NO_FD, 0, 0], &[EBADF]),
    bad("fspick", libc::SYS_fspick, &[NO_FD, BAD, 0xff00], &[EINVAL, EFAULT]),
    bad("open_tree", libc::SYS_open_tree, &[NO_FD, BAD, 0xff00_0000], &[EINVAL]),
    bad("move_mount", libc::SYS_move_mount, &[NO_FD, BAD, NO_FD, BAD, 0xffff], &[EINVAL, EFAULT]),
    bad("mount_setattr", libc::SYS_mount_setattr, &[NO_FD, BAD, 0, 0, 0], &[EINVAL]),
    bad("setns", libc::SYS_setns, &[NO_FD, 0], &[EBADF]),
    bad("open_by_handle_at", libc::SYS_open_by_handle_at, &[NO_FD, BAD, 0], &[EFAULT, EBADF]),
    bad("io_uring_setup", libc::SYS_io_uring_setup, &[1, BAD], &[EFAULT]),
    bad("io_uring_enter", libc::SYS_io_uring_enter, &[NO_FD, 0, 0, 0, 0, 0], &[EBADF]),
    bad("io_uring_register", libc::SYS_io_uring_register, &[NO_FD, 0, 0, 0], &[EBADF, EINVAL]),
    bad("perf_event_open", libc::SYS_perf_event_open, &[BAD, 0, 0, NO_FD, 0], &[EFAULT]),
    bad("bpf", libc::SYS_bpf, &[0xff, BAD, 16], &[EFAULT]),
    bad("userfaultfd", libc::SYS_userfaultfd, &[0xff00_0000 | USER_MODE_ONLY], &[EINVAL]),
    bad("add_key", libc::SYS_add_key, &[BAD, BAD, 0, 0, 0], &[EFAULT]),
    bad("request_key", libc::SYS_request_key, &[BAD, BAD, 0, 0], &[EFAULT]),
    bad("keyctl", libc::SYS_keyctl, &[1, BAD], &[EFAULT]),
    bad("process_madvise", libc::SYS_process_madvise, &[NO_FD, 0, 0, 0, 0], &[EBADF]),
    bad("pidfd_getfd", libc::SYS_pidfd_getfd, &[NO_FD, 0, 0], &[EBADF]),
    bad("set_mempolicy", libc::SYS_set_mempolicy, &[0xff, 0, 0], &[EINVAL]),
    bad("mbind", libc::SYS_mbind, &[0, 4096, 0xff, 0, 0, 0], &[EINVAL]),
    #[cfg(target_arch = "x86_64")]
    bad("iopl", libc::SYS_iopl, &[9], &[EINVAL]),
    #[cfg(target_arch = "x86_64")]
    bad("ioperm", libc::SYS_ioperm, &[0x10_0000, 1, 1], &[EINVAL]),
    #[cfg(target_arch = "x86_64")]
    bad("modify_ldt", libc::SYS_modify_ldt, &[1, BAD, 16], &[EFAULT]),
    bad("open_tree_attr", 467, &[NO_FD, BAD, 0xff00_0000, 0, 0], &[EINVAL]),
    bad("file_setattr", 469, &[NO_FD, BAD, BAD, 24, 0], &[EFAULT, EBADF]),
    bad("memfd_secret", 447, &[0xff00], &[EINVAL]),
];

fn attempt_named(args: &Args<'_>) -> ProbeResult {
    let name = args.text(0);
    let Some(bad) = BADS.iter().find(|bad| bad.name == name) else { super::usage("no such call") };
    match raw_syscall(bad.number, bad.args) {
        Ok(_) => Ok(()),
        Err(errno) if bad.looked.contains(&errno) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Counts this process's own instructions.
fn perf() -> ProbeResult {
    let mut attr = [0u64; 16];
    // Software event, its size, task clock; without the kernel and the hypervisor.
    attr[0] = 1 | 128 << 32;
    attr[1] = 1;
    attr[5] = 0b110_0001;
    attempt(libc::SYS_perf_event_open, &[address_of(&attr), 0, usize::MAX, usize::MAX, 0])
}

/// Creates a BPF array with one number.
fn bpf() -> ProbeResult {
    let attr = [2u32, 4, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    attempt(libc::SYS_bpf, &[0, address_of(&attr), 48])
}

fn fanotify() -> ProbeResult {
    const REPORT_FID: usize = 0x200;
    attempt(libc::SYS_fanotify_init, &[REPORT_FID, 0])
}

#[cfg(target_arch = "x86_64")]
fn ldt() -> ProbeResult {
    let mut table = [0u8; 64];
    attempt(libc::SYS_modify_ldt, &[0, super::address_of_mut(&mut table), table.len()])
}

#[cfg(not(target_arch = "x86_64"))]
fn ldt() -> ProbeResult {
    Err(libc::ENOSYS)
}

/// Types letters into the terminal. They are passed separately, so that nothing else prints them as one word.
fn inject(request: usize, args: &Args<'_>) -> ProbeResult {
    for letter in args.0 {
        raw_syscall(libc::SYS_ioctl, &[0, request, address_of(letter.as_bytes())])?;
    }
    Ok(())
}

/// Prints the number of Landlock domains that this process can enter.
fn domains(_args: &Args<'_>) -> ProbeResult {
    // Only the creation of block devices is handled, which no test needs.
    let handled = [1u64 << 11];
    raw_syscall(libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0, 0])?;
    let ruleset = raw_syscall(libc::SYS_landlock_create_ruleset, &[address_of(&handled), 8, 0])?;
    let entered =
        (0..32).take_while(|_| raw_syscall(libc::SYS_landlock_restrict_self, &[ruleset, 0]).is_ok()).count();
    println!("{entered}");
    std::process::exit(0)
}
