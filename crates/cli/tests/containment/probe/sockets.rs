//! Probes of sockets: every family, and every way to connect.

use super::{
    Args, ProbeErrno, ProbeFn, ProbeResult, address_of, address_of_mut, attempt, int80, raw_syscall,
};

pub(super) const PROBES: &[(&str, ProbeFn)] = &[
    ("tcp4", |args| connect(INET, STREAM, 0, &v4(args))),
    ("tcp6", |args| connect(INET6, STREAM, 0, &v6(args))),
    ("mptcp", |args| connect(INET, STREAM, 262, &v4(args))),
    ("sctp", |_| attempt(libc::SYS_socket, &[INET, STREAM, 132])),
    ("udplite", |_| attempt(libc::SYS_socket, &[INET, DGRAM, 136])),
    ("udp4", |args| send(INET, 0, &v4(args))),
    ("udp6", |args| send(INET6, 0, &v6(args))),
    ("udp4-sendmsg", |args| send_message(socket(INET, DGRAM, 0)?, &v4(args))),
    ("tfo", |args| tfo(&v4(args))),
    ("socket", |args| attempt(libc::SYS_socket, &[args.number(0), args.number(1), args.number(2)])),
    ("families", |_| families()),
    ("ping", |_| attempt(libc::SYS_socket, &[INET, DGRAM, 1])),
    ("raw", |_| attempt(libc::SYS_socket, &[INET, 3, 1])),
    ("stream", |args| connect(UNIX, STREAM, 0, &unix(args))),
    ("seqpacket", |_| attempt(libc::SYS_socket, &[UNIX, 5, 0])),
    ("dgram", |args| send(UNIX, 0, &unix(args))),
    ("dgram-connect", |args| connect(UNIX, DGRAM, 0, &unix(args))),
    ("dgram-sendmsg", |args| send_message(socket(UNIX, DGRAM, 0)?, &unix(args))),
    ("dgram-sendmmsg", |args| send_messages(socket(UNIX, DGRAM, 0)?, &unix(args))),
    ("dgram-raw", |args| send_message(socket(UNIX, 3, 0)?, &unix(args))),
    ("dgram-high", |args| {
        send_message(raw_syscall(libc::SYS_socket, &[1 << 32 | UNIX, 1 << 32 | DGRAM, 0])?, &unix(args))
    }),
    ("pair-dgram", |args| send_message(pair(DGRAM)?, &unix(args))),
    ("pair-raw", |args| send_message(pair(3)?, &unix(args))),
    ("stream-sendmsg", |args| send_message(socket(UNIX, STREAM, 0)?, &unix(args))),
    ("stream-fd", stream_fd),
    ("stream-race", stream_race),
    ("family-race", family_race),
    ("bind", |args| {
        attempt(
            libc::SYS_bind,
            &[socket(UNIX, STREAM, 0)?, address_of(unix(args).as_slice()), unix(args).len()],
        )
    }),
    ("abstract", |args| connect(UNIX, STREAM, 0, &abstract_name(args))),
    ("abstract-dgram", |args| send(UNIX, 0, &abstract_name(args))),
    ("portal", portal),
    ("vsock", vsock),
    ("netlink", |args| attempt(libc::SYS_socket, &[16, 3, args.number(0)])),
    ("int80", |args| match args.text(0) {
        "getpid" => int80(20, [0; 3]).map(drop),
        // socket(AF_INET, SOCK_STREAM, 0)
        "socket" => int80(359, [2, 1, 0]).map(drop),
        _ => super::usage("getpid or socket"),
    }),
    ("x32", |_| attempt(0x4000_0000 | libc::SYS_socket, &[INET, STREAM, 0])),
    // The kernel uses 32 bits of each: a vsock socket, which talks to the hypervisor.
    ("high", |_| attempt(1 << 32 | libc::SYS_socket, &[1 << 32 | 40, STREAM, 0])),
];

const UNIX: usize = 1;
const INET: usize = 2;
const INET6: usize = 10;
const STREAM: usize = 1;
const DGRAM: usize = 2;

pub(super) fn v4(args: &Args<'_>) -> Vec<u8> {
    let address: std::net::Ipv4Addr = args.text(0).parse().unwrap();
    let port = u16::try_from(args.number(1)).unwrap();
    [&2u16.to_ne_bytes()[..], &port.to_be_bytes(), &address.octets(), &[0; 8]].concat()
}

fn v6(args: &Args<'_>) -> Vec<u8> {
    let address: std::net::Ipv6Addr = args.text(0).parse().unwrap();
    let port = u16::try_from(args.number(1)).unwrap();
    [&10u16.to_ne_bytes()[..], &port.to_be_bytes(), &[0; 4], &address.octets(), &[0; 4]].concat()
}

fn unix(args: &Args<'_>) -> Vec<u8> {
    [&1u16.to_ne_bytes()[..], args.text(0).as_bytes(), &[0]].concat()
}

fn abstract_name(args: &Args<'_>) -> Vec<u8> {
    [&1u16.to_ne_bytes()[..], &[0], args.text(0).as_bytes()].concat()
}

fn socket(family: usize, kind: usize, protocol: usize) -> Result<usize, ProbeErrno> {
    raw_syscall(libc::SYS_socket, &[family, kind, protocol])
}

fn connect(family: usize, kind: usize, protocol: usize, to: &[u8]) -> ProbeResult {
    attempt(libc::SYS_connect, &[socket(family, kind, protocol)?, address_of(to), to.len()])
}

fn send(family: usize, flags: usize, to: &[u8]) -> ProbeResult {
    attempt(
        libc::SYS_sendto,
        &[socket(family, DGRAM, 0)?, address_of(b"x"), 1, flags, address_of(to), to.len()],
    )
}

/// Sends data with the first packet: a connection without `connect`.
fn tfo(to: &[u8]) -> ProbeResult {
    let flags = libc::MSG_FASTOPEN as usize;
    attempt(
        libc::SYS_sendto,
        &[socket(INET, STREAM, 0)?, address_of(b"x"), 1, flags, address_of(to), to.len()],
    )
}

fn pair(kind: usize) -> Result<usize, ProbeErrno> {
    let mut ends = [0i32; 2];
    raw_syscall(libc::SYS_socketpair, &[UNIX, kind, 0, address_of_mut(&mut ends)])?;
    Ok(ends[0] as usize)
}

/// Builds the kernel's `msghdr`: address and data, no control message.
fn message(to: &[u8], what: &[usize; 2]) -> [usize; 8] {
    [address_of(to), to.len(), address_of(what), 1, 0, 0, 0, 0]
}

fn send_message(socket: usize, to: &[u8]) -> ProbeResult {
    let what = [address_of(b"x"), 1];
    attempt(libc::SYS_sendmsg, &[socket, address_of(&message(to, &what)), 0])
}

fn send_messages(socket: usize, to: &[u8]) -> ProbeResult {
    let what = [address_of(b"x"), 1];
    attempt(libc::SYS_sendmmsg, &[socket, address_of(&message(to, &what)), 1, 0])
}

/// Connects through the `/proc` link of a descriptor to the socket's file.
fn stream_fd(args: &Args<'_>) -> ProbeResult {
    let file = super::files::descriptor(&args.path(0), libc::O_PATH)?;
    let to = [&1u16.to_ne_bytes()[..], format!("/proc/self/fd/{file}").as_bytes(), &[0]].concat();
    connect(UNIX, STREAM, 0, &to)
}

/// Another thread changes one letter of the name between check and use (TOCTOU): `0` is allowed, `1` is not.
fn stream_race(args: &Args<'_>) -> ProbeResult {
    let pairs = args.text(0).bytes().zip(args.text(1).bytes());
    let Some((at, (good, bad))) = pairs.enumerate().find(|(_, (a, b))| a != b) else {
        super::usage("two names")
    };
    race(unix(args), at + 2, good, bad)
}

/// Another thread changes the address family: for `1`, the rest of the address is not checked.
fn family_race(args: &Args<'_>) -> ProbeResult {
    let family = u8::try_from(args.number(1)).unwrap();
    race([unix(args), vec![0; 16]].concat(), 0, family, 1)
}

/// Connects to `address` repeatedly while one byte alternates between `good` and `bad`. Hits are detected on the
/// host.
fn race(address: Vec<u8>, byte: usize, good: u8, bad: u8) -> ProbeResult {
    use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
    static DONE: AtomicBool = AtomicBool::new(false);
    let address: &'static [AtomicU8] = Vec::leak(address.into_iter().map(AtomicU8::new).collect());
    let swapper = std::thread::spawn(move || {
        while !DONE.load(Ordering::Relaxed) {
            address[byte].store(bad, Ordering::Relaxed);
            address[byte].store(good, Ordering::Relaxed);
        }
    });
    let until = std::time::Instant::now() + std::time::Duration::from_millis(400);
    let mut done = Err(libc::EACCES);
    while std::time::Instant::now() < until && done.is_err() {
        let Ok(socket) = socket(UNIX, STREAM, 0) else { break };
        let connected = attempt(libc::SYS_connect, &[socket, address_of(address), address.len()]);
        let mut peer = [0u8; 128];
        let mut length = 128u32;
        // A connection to the good peer is no success.
        let named = raw_syscall(
            libc::SYS_getpeername,
            &[socket, address_of_mut(&mut peer), address_of_mut(&mut length)],
        );
        let is_bad = named.is_ok()
            && peer.windows(7).any(|part| part == b"/s.sock")
            && peer.windows(5).any(|part| part == b"/out/");
        if connected.is_ok() && is_bad {
            done = Ok(());
        }
        let _closed = attempt(libc::SYS_close, &[socket]);
    }
    DONE.store(true, Ordering::Relaxed);
    let _ended = swapper.join();
    done
}

/// Receives a directory from a helper outside, and creates a file in it.
fn portal(args: &Args<'_>) -> ProbeResult {
    let socket = socket(UNIX, STREAM, 0)?;
    let to = unix(args);
    raw_syscall(libc::SYS_connect, &[socket, address_of(to.as_slice()), to.len()])?;
    let mut byte = [0u8];
    let what = [address_of_mut(&mut byte), 1];
    let mut control = [0u64; 4];
    let header = [0, 0, address_of(&what), 1, address_of_mut(&mut control), size_of_val(&control), 0];
    raw_syscall(libc::SYS_recvmsg, &[socket, address_of(&header), 0])?;
    let bytes = control[2].to_ne_bytes();
    let directory = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    println!("got {directory}");
    let flags = (libc::O_CREAT | libc::O_WRONLY) as usize;
    attempt(libc::SYS_openat, &[directory as usize, address_of(c"new"), flags, 0o644])
}

fn vsock(_args: &Args<'_>) -> ProbeResult {
    attempt(libc::SYS_socket, &[40, STREAM, 0])
}

/// Tries every family except unix, inet, inet6 and netlink.
fn families() -> ProbeResult {
    let others = (0..46).filter(|family| ![UNIX, INET, INET6, 16].contains(family));
    let open = |family: &usize| [1, 2, 3, 5].iter().any(|&kind| socket(*family, kind, 0).is_ok());
    let found: Vec<usize> = others.filter(open).collect();
    println!("families {found:?}");
    if found.is_empty() { Err(libc::EAFNOSUPPORT) } else { Ok(()) }
}
