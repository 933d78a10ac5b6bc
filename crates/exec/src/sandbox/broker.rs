//! Broker: makes connections for confined programs if their address is allowed, and records refusals.
//!
//! A filter cannot judge an address, since it is in memory. The broker also sees `bind` in a shared network, and calls
//! that change files if refusals are recorded; the kernel executes those itself.
//!
//! For `connect`, the broker reads the caller's memory once, takes its socket once, and connects on behalf of the
//! caller. Later changes to the memory or the descriptor have no effect. Letting the call itself continue would let
//! the kernel read both again (TOCTOU).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use policy::{AddressClass, NetworkPolicy};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, fcntl_setfl, openat};
use rustix::io::{Errno, Result};
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::cell_plan::CellPlan;
use super::denied_writes;
use super::egress::{EgressHosts, EgressRoute};
use super::refusal::SandboxRefusal;
use super::socket_origin::{BoundSockets, SocketOrigin};
use super::sys::{self, SeccompAnswer, SeccompNotification};

/// The maximum number of refusals reported for a run.
const MAX_REPORTED_REFUSALS: usize = 16;
/// The maximum length of a socket address.
const MAX_ADDRESS_BYTES: usize = 128;
/// The maximum number of pending connections of a run: each holds a descriptor here.
const MAX_PENDING_CONNECTS: usize = 128;
/// The delay before the first check of a pending connection, and the interval afterwards.
const FIRST_CONNECT_CHECK_DELAY: Duration = Duration::from_micros(200);
const CONNECT_CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// Answers the system calls of one run.
pub(crate) struct Broker {
    listener: OwnedFd,
    recorded_refusals: BTreeSet<SandboxRefusal>,
    new_refusals: Vec<SandboxRefusal>,
    /// Connections in progress, or waiting for room in a listener's backlog.
    pending_connects: Vec<PendingConnect>,
    /// The allowed hosts beyond the network setting, if there are any.
    pub(crate) egress: Option<EgressHosts>,
}

struct PendingConnect {
    notification: SeccompNotification,
    socket: OwnedFd,
    address: Vec<u8>,
    /// The socket file, if the address refers to it by descriptor.
    _socket_file: Option<OwnedFd>,
    /// The file status flags before the call.
    flags: OFlags,
    /// True if the connection is in progress; false if it has to be tried again.
    in_progress: bool,
    retry_at: Instant,
}

/// The plan and the network facts that a supervisor judges by.
#[derive(Debug)]
pub(crate) struct BrokerFacts {
    pub(crate) plan: CellPlan,
    /// True if the cell has its own loopback and abstract socket namespace.
    pub(crate) own_network: bool,
    /// Finds the origin of a socket.
    pub(crate) bound_sockets: BoundSockets,
}

impl Broker {
    pub(crate) fn new(listener: OwnedFd, egress: Option<EgressHosts>) -> Self {
        Self {
            listener,
            recorded_refusals: BTreeSet::new(),
            new_refusals: Vec::new(),
            pending_connects: Vec::new(),
            egress,
        }
    }

    /// Returns the descriptor that is readable when a call waits.
    pub(crate) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Returns the time of the next retry.
    pub(crate) fn next_retry(&self) -> Option<Instant> {
        self.pending_connects.iter().map(|waiting| waiting.retry_at).min()
    }

    /// Returns the refusals since the last call.
    pub(crate) fn take_refusals(&mut self) -> Vec<SandboxRefusal> {
        std::mem::take(&mut self.new_refusals)
    }

    /// Answers one system call.
    pub(crate) fn serve(&mut self, facts: &BrokerFacts) {
        let Ok(notification) = sys::receive_notification(&self.listener) else { return };
        let answer = match i64::from(notification.number) {
            libc::SYS_connect => self.handle_connect(&notification, facts),
            libc::SYS_bind => {
                record_bind(&notification, &facts.bound_sockets);
                Some(SeccompAnswer::Continue)
            }
            _ => {
                for path in denied_writes::refused_paths(&notification, &facts.plan) {
                    self.record_refusal(SandboxRefusal::Write(path));
                }
                Some(SeccompAnswer::Continue)
            }
        };
        if let Some(answer) = answer {
            sys::respond(&self.listener, &notification, answer);
        }
    }

    /// Retries the connections that are due.
    pub(crate) fn retry_due(&mut self) {
        let now = Instant::now();
        for mut pending in std::mem::take(&mut self.pending_connects) {
            if pending.retry_at > now {
                self.pending_connects.push(pending);
                continue;
            }
            if !sys::is_still_waiting(&self.listener, &pending.notification) {
                // The caller was interrupted.
                let _as_before = fcntl_setfl(&pending.socket, pending.flags);
                continue;
            }
            let outcome = if pending.in_progress {
                connect_result(&pending.socket)
            } else {
                sys::connect(&pending.socket, &pending.address)
            };
            match outcome {
                Err(Errno::AGAIN | Errno::INPROGRESS) => {
                    pending.in_progress |= outcome == Err(Errno::INPROGRESS);
                    pending.retry_at = now + CONNECT_CHECK_INTERVAL;
                    self.pending_connects.push(pending);
                }
                outcome => {
                    // Restored before the caller continues.
                    let _as_before = fcntl_setfl(&pending.socket, pending.flags);
                    let answer = outcome.map_or_else(SeccompAnswer::Fails, |()| SeccompAnswer::Done);
                    sys::respond(&self.listener, &pending.notification, answer);
                }
            }
        }
    }

    /// Records the refusals that the relay reports.
    pub(crate) fn record_relay_refusals(&mut self) {
        let refusals = self.egress.as_mut().map(EgressHosts::relay_refusals).unwrap_or_default();
        refusals.into_iter().for_each(|refusal| self.record_refusal(refusal));
    }

    /// Records a refusal, once.
    pub(crate) fn record_refusal(&mut self, refusal: SandboxRefusal) {
        if self.recorded_refusals.len() < MAX_REPORTED_REFUSALS
            && self.recorded_refusals.insert(refusal.clone())
        {
            self.new_refusals.push(refusal);
        }
    }

    /// Decides about a `connect`. Returns `None` if the answer comes later.
    fn handle_connect(
        &mut self,
        notification: &SeccompNotification,
        facts: &BrokerFacts,
    ) -> Option<SeccompAnswer> {
        let mut bytes = [0; MAX_ADDRESS_BYTES];
        let length = usize::try_from(notification.args[2] & 0xffff_ffff)
            .unwrap_or(MAX_ADDRESS_BYTES)
            .min(MAX_ADDRESS_BYTES);
        if let Err(errno) = read_memory(notification.pid, notification.args[1], &mut bytes[..length]) {
            return Some(SeccompAnswer::Fails(errno));
        }
        let socket = match copy_caller_socket(notification) {
            Ok(socket) => socket,
            Err(errno) => return Some(SeccompAnswer::Fails(errno)),
        };
        let bytes = &bytes[..length];
        // The family of the socket decides who can be reached with it. This descriptor is the broker's own copy.
        let is_unix = socket_domain(&socket) == Ok(AddressFamily::UNIX);
        match (parse_target(bytes), is_unix) {
            (ConnectTarget::Internet(to), false) => match self.route_to(to, &socket, &facts.plan) {
                EgressRoute::Direct => self.connect_for(notification, socket, bytes.to_vec(), None),
                EgressRoute::Relayed(listener_address) => {
                    let address = inet_address(listener_address, socket_domain(&socket));
                    self.connect_for(notification, socket, address, None)
                }
                EgressRoute::Refused(refusal) => {
                    self.record_refusal(refusal);
                    Some(SeccompAnswer::Fails(Errno::NETUNREACH))
                }
                EgressRoute::Fails(errno) => Some(SeccompAnswer::Fails(errno)),
            },
            (ConnectTarget::Path(path), true) => self.connect_path(notification, socket, path, facts),
            (ConnectTarget::Abstract(name), true) => self.connect_abstract(notification, socket, name, facts),
            (ConnectTarget::Path(_) | ConnectTarget::Abstract(_), false) => {
                Some(SeccompAnswer::Fails(Errno::AFNOSUPPORT))
            }
            (ConnectTarget::Internet(_) | ConnectTarget::Other, _) => {
                self.connect_for(notification, socket, bytes.to_vec(), None)
            }
        }
    }

    /// Returns the route to `to`.
    fn route_to(&mut self, to: SocketAddr, socket: &OwnedFd, plan: &CellPlan) -> EgressRoute {
        let route = self.egress.as_mut().and_then(|outside| {
            // Only streams are relayed.
            let kind = socket_type(socket).unwrap_or(SocketType::DGRAM);
            outside.route(to, kind, &plan.hosts)
        });
        route.unwrap_or_else(|| match may_connect(to, plan.network) {
            true => EgressRoute::Direct,
            false => EgressRoute::Refused(SandboxRefusal::Connect(to)),
        })
    }

    fn connect_abstract(
        &mut self,
        notification: &SeccompNotification,
        socket: OwnedFd,
        name: &[u8],
        facts: &BrokerFacts,
    ) -> Option<SeccompAnswer> {
        let shown = [b"@", name].concat();
        if facts.own_network || facts.plan.sockets.contains(&shown) {
            return self.connect_for(notification, socket, unix_address(&[b"\0", name].concat()), None);
        }
        self.record_refusal(SandboxRefusal::Socket(String::from_utf8_lossy(&shown).into_owned()));
        Some(SeccompAnswer::Fails(Errno::ACCESS))
    }

    fn connect_path(
        &mut self,
        notification: &SeccompNotification,
        caller_socket: OwnedFd,
        path: &[u8],
        facts: &BrokerFacts,
    ) -> Option<SeccompAnswer> {
        let path = Path::new(OsStr::from_bytes(path));
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let from = if path.is_absolute() {
            None
        } else {
            match openat(CWD, format!("/proc/{}/cwd", notification.pid), flags, Mode::empty()) {
                Ok(cwd) => Some(cwd),
                Err(errno) => return Some(SeccompAnswer::Fails(errno)),
            }
        };
        let found = match &from {
            Some(cwd) => openat(cwd, path, flags, Mode::empty()),
            None => openat(CWD, path, flags, Mode::empty()),
        };
        let socket = match found {
            Ok(socket) => socket,
            Err(errno) => return Some(SeccompAnswer::Fails(errno)),
        };
        let by_descriptor = format!("/proc/self/fd/{}", socket.as_raw_fd());
        let real = match rustix::fs::readlinkat(CWD, &by_descriptor, Vec::new()) {
            Ok(real) => super::cell_plan::path_from_bytes(real.into_bytes()),
            Err(errno) => return Some(SeccompAnswer::Fails(errno)),
        };
        let is_named = || facts.plan.sockets.iter().any(|name| name == real.as_os_str().as_bytes());
        let plan = &facts.plan;
        // A socket in a private directory, or one that the user named, is treated like one of the cell.
        let origin = match denied_writes::is_private(&real, plan) || is_named() {
            true => SocketOrigin::Inside,
            false => facts.bound_sockets.origin(&socket),
        };
        match origin {
            SocketOrigin::Inside => {}
            // As if the connection had been tried: no process listens.
            SocketOrigin::Unbound if denied_writes::may_write(&real, plan) => {
                return Some(SeccompAnswer::Fails(Errno::CONNREFUSED));
            }
            SocketOrigin::Unbound | SocketOrigin::Outside => {
                self.record_refusal(SandboxRefusal::Socket(real.to_string_lossy().into_owned()));
                return Some(SeccompAnswer::Fails(Errno::ACCESS));
            }
        }
        self.connect_for(notification, caller_socket, unix_address(by_descriptor.as_bytes()), Some(socket))
    }

    /// Connects the caller's socket.
    fn connect_for(
        &mut self,
        notification: &SeccompNotification,
        socket: OwnedFd,
        address: Vec<u8>,
        socket_file: Option<OwnedFd>,
    ) -> Option<SeccompAnswer> {
        if !sys::is_still_waiting(&self.listener, notification) {
            return Some(SeccompAnswer::Fails(Errno::INTR));
        }
        let flags = match fcntl_getfl(&socket) {
            Ok(flags) => flags,
            Err(errno) => return Some(SeccompAnswer::Fails(errno)),
        };
        let waits = !flags.contains(OFlags::NONBLOCK);
        if waits && self.pending_connects.len() >= MAX_PENDING_CONNECTS {
            return Some(SeccompAnswer::Fails(Errno::NOBUFS));
        }
        // The caller may block, but the broker must not.
        let _as_it_is = fcntl_setfl(&socket, flags | OFlags::NONBLOCK);
        let outcome = sys::connect(&socket, &address);
        if waits && matches!(outcome, Err(Errno::AGAIN | Errno::INPROGRESS)) {
            let (in_progress, retry_at) =
                (outcome == Err(Errno::INPROGRESS), Instant::now() + FIRST_CONNECT_CHECK_DELAY);
            let notification = *notification;
            self.pending_connects.push(PendingConnect {
                notification,
                socket,
                address,
                _socket_file: socket_file,
                flags,
                in_progress,
                retry_at,
            });
            return None;
        }
        let _as_before = fcntl_setfl(&socket, flags);
        Some(match outcome {
            Ok(()) => SeccompAnswer::Done,
            Err(errno) => SeccompAnswer::Fails(errno),
        })
    }
}

/// Records that the caller is about to bind a socket. If the caller swaps the descriptor afterwards, the other socket
/// is not recorded.
fn record_bind(notification: &SeccompNotification, bound_sockets: &BoundSockets) {
    if let Ok(socket) = copy_caller_socket(notification)
        && socket_domain(&socket) == Ok(AddressFamily::UNIX)
    {
        bound_sockets.record_bind(&socket);
    }
}

/// Checks whether a pending connection is established, or has failed.
fn connect_result(socket: &OwnedFd) -> Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&now))? {
        0 => Err(Errno::INPROGRESS),
        _ => rustix::net::sockopt::socket_error(socket)?,
    }
}

/// Encodes the address of a unix socket.
fn unix_address(name: &[u8]) -> Vec<u8> {
    const AF_UNIX: u16 = 1;
    [&AF_UNIX.to_ne_bytes(), name].concat()
}

/// Encodes an address of this machine for a socket of this family.
fn inet_address(to: SocketAddrV4, family: Result<AddressFamily>) -> Vec<u8> {
    let port = to.port().to_be_bytes();
    match family {
        Ok(AddressFamily::INET6) => {
            let address = to.ip().to_ipv6_mapped().octets();
            [&AF_INET6.to_ne_bytes()[..], &port, &[0; 4], &address, &[0; 4]].concat()
        }
        _ => [&AF_INET.to_ne_bytes()[..], &port, &to.ip().octets(), &[0; 8]].concat(),
    }
}

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// Returns a copy of the socket that the caller passed.
fn copy_caller_socket(notification: &SeccompNotification) -> Result<OwnedFd> {
    let process = process_of_thread(notification.pid).and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let number = i32::try_from(notification.args[0] & 0xffff_ffff).map_err(|_| Errno::BADF)?;
    pidfd_getfd(pidfd_open(process, PidfdFlags::empty())?, number, PidfdGetfdFlags::empty())
}

/// Returns the process that a thread belongs to.
fn process_of_thread(thread: u32) -> Option<i32> {
    let status =
        openat(CWD, format!("/proc/{thread}/status"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let mut text = [0; 1024];
    let read = rustix::io::read(status.ok()?, &mut text).ok()?;
    let text = String::from_utf8_lossy(&text[..read]).into_owned();
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Fills `bytes` from the caller's memory.
pub(crate) fn read_memory(pid: u32, at: u64, bytes: &mut [u8]) -> Result<()> {
    let memory = openat(CWD, format!("/proc/{pid}/mem"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    match rustix::io::pread(&memory, &mut *bytes, at) {
        Ok(read) if read == bytes.len() => Ok(()),
        Ok(_) | Err(Errno::IO) => Err(Errno::FAULT),
        Err(errno) => Err(errno),
    }
}

/// The target of a socket address.
#[derive(Debug, PartialEq, Eq)]
enum ConnectTarget<'a> {
    Internet(SocketAddr),
    Path(&'a [u8]),
    Abstract(&'a [u8]),
    Other,
}

fn parse_target(address: &[u8]) -> ConnectTarget<'_> {
    const AF_UNIX: u16 = 1;
    let Some((family, rest)) = address.split_first_chunk::<2>() else { return ConnectTarget::Other };
    let port = || rest.first_chunk::<2>().map(|port| u16::from_be_bytes(*port));
    let inet = || Some(SocketAddr::new(Ipv4Addr::from(*rest[2..].first_chunk::<4>()?).into(), port()?));
    let inet6 = || {
        let address = rest.get(6..)?.first_chunk::<16>()?;
        Some(SocketAddr::new(IpAddr::from(Ipv6Addr::from(*address)).to_canonical(), port()?))
    };
    match u16::from_ne_bytes(*family) {
        AF_INET if rest.len() >= 6 => inet().map_or(ConnectTarget::Other, ConnectTarget::Internet),
        AF_INET6 => inet6().map_or(ConnectTarget::Other, ConnectTarget::Internet),
        AF_UNIX => match rest.split_first() {
            None => ConnectTarget::Other,
            Some((0, name)) => ConnectTarget::Abstract(name),
            Some(_) => ConnectTarget::Path(rest.split(|&byte| byte == 0).next().unwrap_or(rest)),
        },
        _ => ConnectTarget::Other,
    }
}

fn may_connect(to: SocketAddr, network: NetworkPolicy) -> bool {
    match network {
        NetworkPolicy::On => true,
        // A client that connects to the unspecified address reaches this machine.
        NetworkPolicy::Loopback => {
            matches!(AddressClass::of(to.ip()), AddressClass::Loopback | AddressClass::Unspecified)
        }
        NetworkPolicy::Off => false,
    }
}

/// Returns the target of the link at `path`.
pub(crate) fn read_link(path: &str) -> Option<PathBuf> {
    let to = rustix::fs::readlinkat(CWD, path, Vec::new()).ok()?;
    Some(super::cell_plan::path_from_bytes(to.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_addresses_are_parsed() {
        let internet = |text: &str| ConnectTarget::Internet(text.parse().unwrap());
        for (bytes, expected) in [
            (&[2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0][..], internet("127.0.0.1:80")),
            (&[2, 0, 0, 80, 127, 0][..], ConnectTarget::Other),
            (&[2, 0][..], ConnectTarget::Other),
            (&[2][..], ConnectTarget::Other),
            (&[][..], ConnectTarget::Other),
            (b"\x01\0/a/b\0rest", ConnectTarget::Path(b"/a/b")),
            (b"\x01\0/a/b", ConnectTarget::Path(b"/a/b")),
            (b"\x01\0\0name\0x", ConnectTarget::Abstract(b"name\0x")),
            (b"\x01\0", ConnectTarget::Other),
            (b"\x10\0xxxxxxxxxx", ConnectTarget::Other),
        ] {
            assert_eq!(parse_target(bytes), expected, "{bytes:?}");
        }
        let mut mapped = vec![10, 0, 1, 187, 0, 0, 0, 0];
        mapped.extend(Ipv4Addr::new(127, 0, 0, 1).to_ipv6_mapped().octets());
        assert_eq!(parse_target(&mapped), internet("127.0.0.1:443"));
        assert_eq!(parse_target(&mapped[..20]), ConnectTarget::Other);
    }

    #[test]
    fn an_address_reads_as_it_was_written() {
        let to: SocketAddrV4 = "127.64.1.2:443".parse().unwrap();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            assert_eq!(parse_target(&inet_address(to, Ok(family))), ConnectTarget::Internet(to.into()));
        }
    }

    #[test]
    fn network_setting_decides_about_addresses() {
        for (to, loopback) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("0.0.0.0:1", true),
            ("10.0.0.1:1", false),
            ("0.0.0.1:1", false),
            ("[::]:1", true),
            ("[::2]:1", false),
            ("[::127.0.0.1]:1", false),
            ("[64:ff9b::127.0.0.1]:1", false),
            ("[2002:7f00:1::]:1", false),
            ("[2001:db8::1]:1", false),
        ] {
            let to = to.parse().unwrap();
            assert!(may_connect(to, NetworkPolicy::On));
            assert_eq!(may_connect(to, NetworkPolicy::Loopback), loopback, "{to}");
            assert!(!may_connect(to, NetworkPolicy::Off));
        }
    }
}
