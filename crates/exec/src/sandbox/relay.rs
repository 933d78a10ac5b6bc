//! The relay process outside a cell: forwards each connection on a cell's listener to its one allowed host.
//!
//! A program never receives anything from outside, least of all a socket, which it could reconnect. A supervisor
//! listens in the cell's own network and passes the *listener* to the relay. Each connection to it is forwarded to
//! the one host that it stands for. Each run has a channel to the relay. When the channel closes, its listeners are
//! closed. Its connections end when their sent data is delivered, or half a second later.
//!
//! ```text
//! program ── loopback of the cell ── listener ── relay ── the host, looked up and dialled here
//!                 supervisor ── channel ──────────┘
//! ```

mod dial;
mod forward_bytes;

use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use policy::HostRules;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Signal, getpid, getppid};

use super::sys;
use crate::process::codec::{MessageDecoder, MessageEncoder};
use crate::process::{confined, fd_passing};

/// The maximum number of connections, of all runs of a cell. Further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 256;
/// The maximum number of listeners of a run.
pub(crate) const MAX_LISTENERS: usize = 250;
/// The maximum size of a message: a name and a port.
const MAX_MESSAGE_BYTES: usize = 512;
/// The interval between checks for a free connection slot.
const SLOT_CHECK_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// The time for delivering sent data after the run is over.
const DELIVERY_GRACE: Duration = Duration::from_millis(500);
/// Resolving names needs some stack.
const THREAD_STACK_BYTES: usize = 512 << 10;

/// Starts a relay outside the namespaces that this process is going to enter. Channels are passed through the
/// returned socket. The relay exits when no process holds that socket any more, or when this process exits.
pub(crate) fn start_relay(hosts: &HostRules) -> Result<OwnedFd> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let cell = getpid();
    match confined::fork() {
        Ok(confined::ForkSide::Parent(_)) => Ok(ours),
        Ok(confined::ForkSide::Child) => {
            // The relay must not hold other descriptors: other processes wait for them to close.
            let taken = rustix::stdio::dup2_stdin(&theirs);
            confined::close_from(3);
            let _old_kernel = rustix::thread::set_name(c"toolgate-relay");
            let tied = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            if taken.is_err() || tied.is_err() || getppid() != Some(cell) {
                confined::exit(1)
            }
            let _has_none = rustix::thread::set_no_new_privs(true).and_then(|()| sys::drop_capabilities());
            crate::process::raise_open_files();
            let shared = Arc::new(RelayShared { hosts: hosts.clone(), connections: AtomicUsize::new(0) });
            serve(rustix::stdio::stdin(), &shared)
        }
        Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::AGAIN)),
    }
}

/// Tells the relay to forward connections to `listener` to this host.
pub(crate) fn send_listener(channel: &OwnedFd, listener: &OwnedFd, host: &str, port: u16) -> Result<()> {
    let mut out = MessageEncoder::new();
    out.bytes(host.as_bytes());
    out.number(port.into());
    let sent = fd_passing::send(channel, &out.finish(), &[listener.as_fd()]);
    sent.map(drop).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// The state shared by all connections.
struct RelayShared {
    hosts: HostRules,
    /// The number of connections.
    connections: AtomicUsize,
}

/// The channel of one run.
struct RelayChannel {
    socket: Arc<OwnedFd>,
    listeners: Vec<RelayListener>,
}

/// A listener in the cell, and the host that it stands for.
struct RelayListener {
    socket: TcpListener,
    target: Arc<(String, u16)>,
}

fn serve(cell_socket: BorrowedFd<'_>, shared: &Arc<RelayShared>) -> ! {
    let mut channels: Vec<RelayChannel> = Vec::new();
    let mut accept_failed = false;
    // ends: when the cell and all its supervisors are gone
    loop {
        let paused = accept_failed || shared.connections.load(Ordering::Relaxed) >= MAX_CONNECTIONS;
        let woken = wait_for_events(cell_socket, &channels, paused);
        let Some((linked, rest)) = woken.split_first() else { continue };
        let (spoken, pending) = rest.split_at(channels.len());
        accept_failed = false;
        let listeners = channels
            .iter()
            .flat_map(|channel| channel.listeners.iter().map(move |listener| (channel, listener)));
        for ((channel, listener), _) in listeners.zip(pending).filter(|(_, knocked)| **knocked) {
            // Otherwise it would be ready again at once.
            accept_failed |= listener.accept_one(channel, shared) == AcceptOutcome::NoRoom;
        }
        let mut spoken = spoken.iter();
        channels.retain_mut(|channel| {
            let goes_on =
                !spoken.next().is_some_and(|spoken| *spoken) || channel.receive_listener().is_some();
            if !goes_on {
                channel.accept_remaining(shared);
            }
            goes_on
        });
        if *linked {
            let mut fds = Vec::new();
            match fd_passing::receive(cell_socket, &mut [0; 1], &mut fds) {
                Ok(1) => channels.extend(fds.pop().map(RelayChannel::new)),
                Ok(_) | Err(_) => drain_and_exit(&channels, shared),
            }
        }
    }
}

/// Exits when the data that programs sent before they ended is delivered.
fn drain_and_exit(channels: &[RelayChannel], shared: &Arc<RelayShared>) -> ! {
    channels.iter().for_each(|channel| channel.accept_remaining(shared));
    let deadline = Instant::now() + DELIVERY_GRACE;
    // ends: when the time is up at the latest
    while shared.connections.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    confined::exit(0)
}

/// Waits for an event. Returns flags: the cell, each channel, each listener. Listeners are skipped if no connection
/// can be accepted now.
fn wait_for_events(cell_socket: BorrowedFd<'_>, channels: &[RelayChannel], paused: bool) -> Vec<bool> {
    let listeners = channels.iter().flat_map(|channel| &channel.listeners).filter(|_| !paused);
    let mut all = vec![PollFd::from_borrowed_fd(cell_socket, PollFlags::IN)];
    all.extend(channels.iter().map(|channel| PollFd::new(&channel.socket, PollFlags::IN)));
    all.extend(listeners.map(|listener| PollFd::new(&listener.socket, PollFlags::IN)));
    match poll(&mut all, paused.then_some(&SLOT_CHECK_INTERVAL)) {
        Ok(_) => all.iter().map(|fd| !fd.revents().is_empty()).collect(),
        Err(_) => Vec::new(),
    }
}

impl RelayChannel {
    fn new(socket: OwnedFd) -> Self {
        Self { socket: Arc::new(socket), listeners: Vec::new() }
    }

    /// Receives another listener. Returns `None` if the run is over.
    fn receive_listener(&mut self) -> Option<()> {
        let (bytes, mut fds) = fd_passing::receive_message(&self.socket, MAX_MESSAGE_BYTES)?;
        let mut input = MessageDecoder(&bytes);
        let host = std::str::from_utf8(input.bytes()?).ok()?.to_owned();
        let port = u16::try_from(input.number()?).ok()?;
        let listener = TcpListener::from(fds.pop()?);
        listener.set_nonblocking(true).ok()?;
        if self.listeners.len() < MAX_LISTENERS {
            self.listeners.push(RelayListener { socket: listener, target: Arc::new((host, port)) });
        }
        Some(())
    }

    /// Accepts the connections that were waiting when the run ended.
    fn accept_remaining(&self, shared: &Arc<RelayShared>) {
        let has_room = || shared.connections.load(Ordering::Relaxed) < MAX_CONNECTIONS;
        for listener in &self.listeners {
            // ends: no program is left that could connect
            while has_room() && listener.accept_one(self, shared) == AcceptOutcome::Accepted {}
        }
    }
}

/// The outcome of accepting on a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AcceptOutcome {
    Accepted,
    NoneWaiting,
    /// A connection waits, but there is no room.
    NoRoom,
}

impl RelayListener {
    /// Accepts one connection.
    fn accept_one(&self, channel: &RelayChannel, shared: &Arc<RelayShared>) -> AcceptOutcome {
        let inner = match self.socket.accept() {
            Ok((inner, _)) => inner,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                return AcceptOutcome::NoneWaiting;
            }
            Err(_) => return AcceptOutcome::NoRoom,
        };
        let (target, channel, slot) =
            (Arc::clone(&self.target), Arc::clone(&channel.socket), ConnectionSlot::new(shared));
        let connection = move || {
            forward_connection(inner, &target, &channel, &slot.0.hosts);
        };
        match std::thread::Builder::new().stack_size(THREAD_STACK_BYTES).spawn(connection) {
            Ok(_) => AcceptOutcome::Accepted,
            Err(_) => AcceptOutcome::NoRoom,
        }
    }
}

/// Counts one connection as long as it lives.
struct ConnectionSlot(Arc<RelayShared>);

impl ConnectionSlot {
    fn new(shared: &Arc<RelayShared>) -> Self {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn forward_connection(inner: TcpStream, (host, port): &(String, u16), channel: &OwnedFd, hosts: &HostRules) {
    match dial::dial(hosts, host, *port) {
        Ok(outer) => forward_bytes::forward_bytes(inner, outer, channel),
        Err(refusal) => {
            let mut out = MessageEncoder::new();
            refusal.write(&mut out);
            // Sent before the caller sees the failure.
            let _run_is_over = fd_passing::send(channel, &out.finish(), &[]);
            forward_bytes::reset(inner);
        }
    }
}
