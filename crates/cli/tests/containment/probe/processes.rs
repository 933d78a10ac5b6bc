//! Probes that signal or change foreign processes, gain privileges, or exceed process and descriptor limits.

use super::{Args, ProbeFn, ProbeResult, address_of, address_of_mut, attempt, raw_syscall};

pub(super) const PROBES: &[(&str, ProbeFn)] = &[
    ("kill", |args| attempt(libc::SYS_kill, &[args.number(0), KILL])),
    ("kill0", |args| attempt(libc::SYS_kill, &[args.number(0), 0])),
    ("tkill", |args| attempt(libc::SYS_tkill, &[args.number(0), KILL])),
    ("tgkill", |args| attempt(libc::SYS_tgkill, &[args.number(0), args.number(0), KILL])),
    ("sigqueue", sigqueue),
    ("pidfd-kill", |args| attempt(libc::SYS_pidfd_send_signal, &[pidfd(args)?, KILL, 0, 0])),
    ("procfd-kill", procfd_kill),
    ("sigio", sigio),
    ("prlimit", prlimit),
    ("setprio", |args| attempt(libc::SYS_setpriority, &[0, args.number(0), 7])),
    ("affinity", |args| attempt(libc::SYS_sched_setaffinity, &[args.number(0), 8, address_of(&1u64)])),
    ("scheduler", |args| attempt(libc::SYS_sched_setscheduler, &[args.number(0), 3, address_of(&0u32)])),
    ("sched-attr", sched_attr),
    ("ioprio", |args| attempt(libc::SYS_ioprio_set, &[1, args.number(0), 2 << 13 | 7])),
    ("getpgid", |args| attempt(libc::SYS_getpgid, &[args.number(0)])),
    ("setpgid", |args| attempt(libc::SYS_setpgid, &[0, args.number(0)])),
    ("kcmp", |args| attempt(libc::SYS_kcmp, &[args.number(0), raw_syscall(libc::SYS_getpid, &[])?, 1, 0, 0])),
    ("pidfd-getfd", |args| attempt(libc::SYS_pidfd_getfd, &[pidfd(args)?, args.number(1), 0])),
    ("nnp", |_| nnp()),
    ("nnp0", |_| attempt(libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as usize, 0, 0, 0, 0])),
    ("setuid0", |_| attempt(libc::SYS_setresuid, &[0, 0, 0]).and_then(|()| is_root())),
    ("setuid", |args| attempt(libc::SYS_setresuid, &[args.number(0), args.number(0), args.number(0)])),
    ("setgroups", |args| {
        attempt(libc::SYS_setgroups, &[1, address_of(&u32::try_from(args.number(0)).unwrap())])
    }),
    ("euid", |_| is_root()),
    ("forks", forks),
    ("descriptors", descriptors),
    ("core-limit", core_limit),
    ("cap-raise", |_| cap_raise()),
];

const KILL: usize = libc::SIGKILL as usize;

fn pidfd(args: &Args<'_>) -> Result<usize, i32> {
    raw_syscall(libc::SYS_pidfd_open, &[args.number(0), 0])
}

fn sigqueue(args: &Args<'_>) -> ProbeResult {
    let mut siginfo = [0i32; 32];
    // As if by sigqueue(3).
    siginfo[2] = -1;
    attempt(libc::SYS_rt_sigqueueinfo, &[args.number(0), KILL, address_of(&siginfo)])
}

/// A directory of `/proc` serves as a pidfd.
fn procfd_kill(args: &Args<'_>) -> ProbeResult {
    let path = std::ffi::CString::new(format!("/proc/{}", args.number(0))).unwrap();
    let directory = super::files::descriptor(&path, libc::O_DIRECTORY)?;
    attempt(libc::SYS_pidfd_send_signal, &[directory, KILL, 0, 0])
}

/// The kernel sends the signal when a pipe becomes readable.
fn sigio(args: &Args<'_>) -> ProbeResult {
    let mut ends = [0i32; 2];
    raw_syscall(libc::SYS_pipe2, &[address_of_mut(&mut ends), 0])?;
    let [read, write] = ends.map(|end| end as usize);
    raw_syscall(libc::SYS_fcntl, &[read, libc::F_SETOWN as usize, args.number(0)])?;
    raw_syscall(libc::SYS_fcntl, &[read, libc::F_SETFL as usize, libc::O_ASYNC as usize])?;
    attempt(libc::SYS_write, &[write, address_of(b"x"), 1])?;
    std::thread::sleep(std::time::Duration::from_millis(20));
    Ok(())
}

fn prlimit(args: &Args<'_>) -> ProbeResult {
    let limit = [100_000u64, 100_000];
    attempt(libc::SYS_prlimit64, &[args.number(0), libc::RLIMIT_CPU as usize, address_of(&limit), 0])
}

fn sched_attr(args: &Args<'_>) -> ProbeResult {
    // Size, policy (batch), flags, nice.
    let mut attr = [0u32; 14];
    attr[0] = 56;
    attr[1] = 3;
    attr[4] = 9;
    attempt(libc::SYS_sched_setattr, &[args.number(0), address_of(&attr), 0])
}

fn nnp() -> ProbeResult {
    let set = raw_syscall(libc::SYS_prctl, &[libc::PR_GET_NO_NEW_PRIVS as usize, 0, 0, 0, 0])?;
    if set == 1 { Ok(()) } else { Err(libc::EINVAL) }
}

fn is_root() -> ProbeResult {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(libc::EPERM) }
}

/// Forks `0` processes, which all live until the parent ends.
fn forks(args: &Args<'_>) -> ProbeResult {
    let mut ends = [0i32; 2];
    raw_syscall(libc::SYS_pipe2, &[address_of_mut(&mut ends), 0])?;
    let [read, write] = ends.map(|end| end as usize);
    for _ in 0..args.number(0) {
        if raw_syscall(libc::SYS_clone, &[libc::SIGCHLD as usize, 0, 0, 0, 0])? == 0 {
            let _closed = raw_syscall(libc::SYS_close, &[write]);
            let _until_closed = raw_syscall(libc::SYS_read, &[read, address_of_mut(&mut [0u8; 1]), 1]);
            let _never = raw_syscall(libc::SYS_exit_group, &[0]);
        }
    }
    Ok(())
}

fn descriptors(args: &Args<'_>) -> ProbeResult {
    (0..args.number(0)).try_for_each(|_| attempt(libc::SYS_dup, &[0]))
}

fn core_limit(_args: &Args<'_>) -> ProbeResult {
    let limit = [1u64 << 20, 1 << 20];
    attempt(libc::SYS_prlimit64, &[0, libc::RLIMIT_CORE as usize, address_of(&limit), 0])
}

/// Raises one unused capability of this process.
fn cap_raise() -> ProbeResult {
    let header = [0x2008_0522u32, 0];
    let bit = 1u32 << 21;
    let sets = [bit, bit, 0, 0, 0, 0];
    attempt(libc::SYS_capset, &[address_of(&header), address_of(&sets)])
}
