//! The process under attack: holds secrets in its memory and a shared segment, and an empty message queue.

use std::io::Read;

use super::{Args, ProbeFn, ProbeResult, address_of, address_of_mut, peek, poke, raw_syscall};

pub(super) const PROBES: &[(&str, ProbeFn)] = &[("victim", victim)];

const QUEUE: usize = (libc::O_CREAT | libc::O_RDWR | libc::O_NONBLOCK) as usize;

/// Holds a secret in its memory, one in a shared segment, and an empty message queue named `0`. Prints their
/// locations, waits for the end of its input, and prints their contents.
fn victim(args: &Args<'_>) -> ProbeResult {
    let memory: &'static mut [u8; 16] = Box::leak(Box::new(*b"memory-secret\0\0\0"));
    let segment = raw_syscall(libc::SYS_shmget, &[libc::IPC_PRIVATE as usize, 4096, 0o666])?;
    let shared = raw_syscall(libc::SYS_shmat, &[segment, 0, 0])?;
    // The segment ends with this process, and can be attached until then.
    raw_syscall(libc::SYS_shmctl, &[segment, libc::IPC_RMID as usize, 0])?;
    for (at, word) in b"shm-secret\0\0".chunks(4).enumerate() {
        poke(shared + at * 4, u32::from_ne_bytes(word.try_into().unwrap()));
    }
    let name = args.path(0);
    let queue = raw_syscall(libc::SYS_mq_open, &[address_of(name.as_c_str()), QUEUE, 0o666, 0]);
    println!("{:#x} {segment}", memory.as_ptr() as usize);
    let _end = std::io::stdin().read_to_end(&mut Vec::new());
    let words = (0..3).flat_map(|at| peek(shared + at * 4).to_ne_bytes()).collect::<Vec<u8>>();
    let mut attributes = [0u64; 8];
    if let Ok(queue) = queue {
        raw_syscall(libc::SYS_mq_getsetattr, &[queue, 0, address_of_mut(&mut attributes)])?;
        raw_syscall(libc::SYS_mq_unlink, &[address_of(name.as_c_str())])?;
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
    // Other processes may have changed this memory.
    let memory = std::hint::black_box(memory);
    println!("{} {} mq {}", text(memory), text(&words), attributes[3]);
    std::process::exit(0)
}
