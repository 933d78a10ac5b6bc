//! Probes of foreign memory: debugger calls, shared segments, message queues, keys.

use super::{Args, ProbeFn, ProbeResult, address_of, address_of_mut, attempt, raw_syscall};

pub(super) const PROBES: &[(&str, ProbeFn)] = &[
    ("ptrace", |args| attach(args.number(0))),
    ("ptrace-seize", |args| trace(libc::PTRACE_SEIZE, args.number(0))),
    ("ptrace-self", |_| trace(libc::PTRACE_TRACEME, 0)),
    ("pvm-read", |args| process_vm(libc::SYS_process_vm_readv, args)),
    ("pvm-write", |args| process_vm(libc::SYS_process_vm_writev, args)),
    ("mem-write", mem_write),
    ("move-pages", |args| {
        attempt(
            libc::SYS_move_pages,
            &[args.number(0), 1, address_of(&[args.number(1)]), 0, address_of(&[0i32]), 0],
        )
    }),
    ("migrate-pages", |args| {
        attempt(libc::SYS_migrate_pages, &[args.number(0), 64, address_of(&1u64), address_of(&1u64)])
    }),
    ("madvise", madvise),
    ("shmat", shmat),
    ("shm-new", |_| attempt(libc::SYS_shmget, &[0, 4096, 0o600])),
    ("mq-send", mq_send),
    ("mq-new", mq_new),
    ("msgq", |args| attempt(libc::SYS_msgget, &[args.number(0), 0o1600])),
    ("semaphore", |_| attempt(libc::SYS_semget, &[0, 1, 0o600])),
    ("add-key", |_| add_key()),
    ("keyctl", |_| attempt(libc::SYS_keyctl, &[0, KEYRING, 1])),
    ("keyctl-describe", |_| attempt(libc::SYS_keyctl, &[6, KEYRING, 0, 0])),
    ("request-key", |_| {
        key(attempt(libc::SYS_request_key, &[address_of(c"user"), address_of(c"tgc-none"), 0, 0]))
    }),
    ("memfd", |_| attempt(libc::SYS_memfd_create, &[address_of(c"m"), 0])),
];

/// The user's session keyring.
const KEYRING: usize = -5i32 as u32 as usize;

fn trace(request: u32, pid: usize) -> ProbeResult {
    attempt(libc::SYS_ptrace, &[request as usize, pid, 0, 0])
}

fn attach(pid: usize) -> ProbeResult {
    trace(libc::PTRACE_ATTACH, pid)?;
    raw_syscall(libc::SYS_wait4, &[pid, 0, libc::__WALL as usize, 0])?;
    trace(libc::PTRACE_DETACH, pid)
}

fn process_vm(number: i64, args: &Args<'_>) -> ProbeResult {
    let mut buffer = *b"overwritten--";
    let (ours, theirs) = ([address_of_mut(&mut buffer), buffer.len()], [args.number(1), buffer.len()]);
    raw_syscall(number, &[args.number(0), address_of(&ours), 1, address_of(&theirs), 1, 0])?;
    println!("read {}", String::from_utf8_lossy(&buffer));
    Ok(())
}

fn mem_write(args: &Args<'_>) -> ProbeResult {
    let path = std::ffi::CString::new(format!("/proc/{}/mem", args.number(0))).unwrap();
    let file = super::files::descriptor(&path, libc::O_RDWR)?;
    attempt(libc::SYS_pwrite64, &[file, address_of(b"overwritten"), 11, args.number(1)])
}

fn madvise(args: &Args<'_>) -> ProbeResult {
    let pidfd = raw_syscall(libc::SYS_pidfd_open, &[args.number(0), 0])?;
    let range = [args.number(1) & !4095, 4096];
    attempt(libc::SYS_process_madvise, &[pidfd, address_of(&range), 1, libc::MADV_PAGEOUT as usize, 0])
}

fn shmat(args: &Args<'_>) -> ProbeResult {
    let address = raw_syscall(libc::SYS_shmat, &[args.number(0), 0, 0])?;
    super::poke(address, u32::from_ne_bytes(*b"OVER"));
    Ok(())
}

fn mq_open(args: &Args<'_>, flags: i32) -> Result<usize, i32> {
    raw_syscall(
        libc::SYS_mq_open,
        &[address_of(args.path(0).as_c_str()), (libc::O_RDWR | flags) as usize, 0o600, 0],
    )
}

fn mq_send(args: &Args<'_>) -> ProbeResult {
    attempt(libc::SYS_mq_timedsend, &[mq_open(args, 0)?, address_of(b"x"), 1, 0, 0])
}

/// Creates a queue and removes it.
fn mq_new(args: &Args<'_>) -> ProbeResult {
    mq_open(args, libc::O_CREAT)?;
    attempt(libc::SYS_mq_unlink, &[address_of(args.path(0).as_c_str())])
}

/// Adds a key to this process's own keyring, which ends with the process.
fn add_key() -> ProbeResult {
    const OWN: usize = -2i32 as u32 as usize;
    attempt(libc::SYS_add_key, &[address_of(c"user"), address_of(c"tgc"), address_of(b"x"), 1, OWN])
}

/// The error "no such key" counts as an answer.
fn key(tried: ProbeResult) -> ProbeResult {
    match tried {
        Err(libc::ENOKEY) => Ok(()),
        tried => tried,
    }
}
