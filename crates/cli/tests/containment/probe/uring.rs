//! Probes of operations through io_uring, which a system call filter does not see.

use super::sockets::v4;
use super::{
    Args, CWD, ProbeErrno, ProbeFn, ProbeResult, address_of, address_of_mut, peek, poke, raw_syscall,
};

pub(super) const PROBES: &[(&str, ProbeFn)] =
    &[("uring-open", open), ("uring-connect", connect), ("uring", |_| ring().map(drop))];

const OPENAT: u64 = 18;
const CONNECT: u64 = 16;
const SOCKET: u64 = 45;

struct IoUringRing {
    fd: usize,
    /// The kernel's `io_uring_params`.
    params: [u32; 30],
    submissions: usize,
    completions: usize,
    entries: usize,
}

fn ring() -> Result<IoUringRing, ProbeErrno> {
    let mut params = [0u32; 30];
    let fd = raw_syscall(libc::SYS_io_uring_setup, &[2, address_of_mut(&mut params)])?;
    let map = |offset: usize| {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        raw_syscall(libc::SYS_mmap, &[0, 4096, protection as usize, flags as usize, fd, offset])
    };
    let (submissions, completions, entries) = (map(0)?, map(0x0800_0000)?, map(0x1000_0000)?);
    Ok(IoUringRing { fd, params, submissions, completions, entries })
}

impl IoUringRing {
    /// Performs one operation, and waits for its result.
    fn run(&self, operation: [u64; 8]) -> Result<usize, ProbeErrno> {
        let [tail, mask, array] = [11, 12, 16].map(|at| self.params[at] as usize);
        let slot = peek(self.submissions + tail) & peek(self.submissions + mask);
        for (at, word) in operation.into_iter().enumerate() {
            let address = self.entries + slot as usize * 64 + at * 8;
            poke(address, (word & 0xffff_ffff) as u32);
            poke(address + 4, (word >> 32) as u32);
        }
        poke(self.submissions + array + slot as usize * 4, slot);
        poke(self.submissions + tail, peek(self.submissions + tail) + 1);
        const WAIT: usize = 1;
        raw_syscall(libc::SYS_io_uring_enter, &[self.fd, 1, 1, WAIT, 0, 0])?;
        let [head, mask, entries] = [20, 22, 25].map(|at| self.params[at] as usize);
        let at = peek(self.completions + head) & peek(self.completions + mask);
        let done = peek(self.completions + entries + at as usize * 16 + 8).cast_signed();
        poke(self.completions + head, peek(self.completions + head) + 1);
        if done < 0 { Err(-done) } else { Ok(done.cast_unsigned() as usize) }
    }
}

fn open(args: &Args<'_>) -> ProbeResult {
    let path = args.path(0);
    let fd = u64::from(CWD as u32);
    let flags = (libc::O_CREAT | libc::O_WRONLY) as u64;
    let operation =
        [OPENAT | fd << 32, 0, address_of(path.as_c_str()) as u64, 0o644 | flags << 32, 0, 0, 0, 0];
    ring()?.run(operation).map(drop)
}

fn connect(args: &Args<'_>) -> ProbeResult {
    let ring = ring()?;
    let socket = ring.run([SOCKET | 2 << 32, 1, 0, 0, 0, 0, 0, 0])? as u64;
    let to = v4(args);
    ring.run([CONNECT | socket << 32, to.len() as u64, address_of(to.as_slice()) as u64, 0, 0, 0, 0, 0])
        .map(drop)
}
