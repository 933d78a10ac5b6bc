//! The relay: a process outside, beside its cell, that carries bytes between what runs there and the hosts that may be reached.
//!
//! Nothing of the outside is ever given to a program, least of all a socket, which could be connected anew. A keeper listens in the
//! cell's own network and hands the *listener* out here; whoever connects to it is carried to the one host that it stands for.
//! Each run has a channel to the relay: when that closes, what it listened at goes, and all its connections once what its programs
//! had sent is out, or half a second later.
//!
//! ```text
//! program ── loopback of the cell ── listener ── relay ── the host, looked up and dialled here
//!                     keeper ── channel ──────────┘
//! ```

mod carry;
mod dial;

use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use policy::Hosts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Signal, getpid, getppid};

use super::sys;
use crate::process::bytes::{In, Out};
use crate::process::{confined, link};

/// How many connections there are at a time, of all runs of a cell. Whoever comes later waits to be accepted.
const MAX_CONNECTIONS: usize = 256;
/// How many listeners a run has.
pub(crate) const MAX_DOORS: usize = 250;
/// The longest message: a name and a port.
const MAX_MESSAGE: usize = 512;
/// How soon it is looked again whether there is room.
const AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// How long what a run has sent may still be on its way when the run is over.
const LEAVING: Duration = Duration::from_millis(500);
/// A thread that looks up names needs some.
const STACK: usize = 512 << 10;

/// Starts one, outside of what this process is going to enter. Channels are handed to it through what this gives. It ends when
/// nobody holds that any more, or when this process ends.
pub(crate) fn start(hosts: &Hosts) -> Result<OwnedFd> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let cell = getpid();
    match confined::fork() {
        Ok(confined::Fork::Parent(_)) => Ok(ours),
        Ok(confined::Fork::Child) => {
            // Nothing else is for it to hold: others wait for these to close.
            let taken = rustix::stdio::dup2_stdin(&theirs);
            confined::close_from(3);
            let _old_kernel = rustix::thread::set_name(c"toolgate-relay");
            let tied = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            if taken.is_err() || tied.is_err() || getppid() != Some(cell) {
                confined::exit(1)
            }
            let _has_none = rustix::thread::set_no_new_privs(true).and_then(|()| sys::drop_capabilities());
            crate::process::raise_open_files();
            let outer = Arc::new(Outer { hosts: hosts.clone(), busy: AtomicUsize::new(0) });
            serve(rustix::stdio::stdin(), &outer)
        }
        Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::AGAIN)),
    }
}

/// A keeper's word: whoever connects to `listener` wants this host.
pub(crate) fn open(channel: &OwnedFd, listener: &OwnedFd, host: &str, port: u16) -> Result<()> {
    let mut out = Out::new();
    out.bytes(host.as_bytes());
    out.number(port.into());
    let sent = link::send(channel, &out.done(), &[listener.as_fd()]);
    sent.map(drop).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// What all connections know.
struct Outer {
    hosts: Hosts,
    /// How many there are.
    busy: AtomicUsize,
}

/// One run.
struct Channel {
    socket: Arc<OwnedFd>,
    doors: Vec<Door>,
}

/// A listener in the cell, and the host that it stands for.
struct Door {
    listener: TcpListener,
    to: Arc<(String, u16)>,
}

fn serve(link: BorrowedFd<'_>, outer: &Arc<Outer>) -> ! {
    let mut channels: Vec<Channel> = Vec::new();
    let mut tired = false;
    // ends: when the cell and all its keepers are gone
    loop {
        let rests = tired || outer.busy.load(Ordering::Relaxed) >= MAX_CONNECTIONS;
        let woken = wait(link, &channels, rests);
        let Some((linked, rest)) = woken.split_first() else { continue };
        let (spoken, knocked) = rest.split_at(channels.len());
        tired = false;
        let doors = channels.iter().flat_map(|channel| channel.doors.iter().map(move |door| (channel, door)));
        for ((channel, door), _) in doors.zip(knocked).filter(|(_, knocked)| **knocked) {
            // It would knock again at once.
            tired |= door.answer(channel, outer) == Answered::Unable;
        }
        let mut spoken = spoken.iter();
        channels.retain_mut(|channel| {
            let goes_on = !spoken.next().is_some_and(|spoken| *spoken) || channel.hear().is_some();
            if !goes_on {
                channel.answer_last(outer);
            }
            goes_on
        });
        if *linked {
            let mut fds = Vec::new();
            match link::receive(link, &mut [0; 1], &mut fds) {
                Ok(1) => channels.extend(fds.pop().map(Channel::new)),
                Ok(_) | Err(_) => leave(&channels, outer),
            }
        }
    }
}

/// Ends, when what programs had sent before they ended is out.
fn leave(channels: &[Channel], outer: &Arc<Outer>) -> ! {
    channels.iter().for_each(|channel| channel.answer_last(outer));
    let by = Instant::now() + LEAVING;
    // ends: when the time is up at the latest
    while outer.busy.load(Ordering::Relaxed) > 0 && Instant::now() < by {
        std::thread::sleep(Duration::from_millis(1));
    }
    confined::exit(0)
}

/// Waits for somebody: whether it is the cell; which channels; which doors, unless nobody can be let in now.
fn wait(link: BorrowedFd<'_>, channels: &[Channel], rests: bool) -> Vec<bool> {
    let doors = channels.iter().flat_map(|channel| &channel.doors).filter(|_| !rests);
    let mut all = vec![PollFd::from_borrowed_fd(link, PollFlags::IN)];
    all.extend(channels.iter().map(|channel| PollFd::new(&channel.socket, PollFlags::IN)));
    all.extend(doors.map(|door| PollFd::new(&door.listener, PollFlags::IN)));
    match poll(&mut all, rests.then_some(&AGAIN)) {
        Ok(_) => all.iter().map(|fd| !fd.revents().is_empty()).collect(),
        Err(_) => Vec::new(),
    }
}

impl Channel {
    fn new(socket: OwnedFd) -> Self {
        Self { socket: Arc::new(socket), doors: Vec::new() }
    }

    /// One more door; `None` if the run is over.
    fn hear(&mut self) -> Option<()> {
        let (bytes, mut fds) = link::message(&self.socket, MAX_MESSAGE)?;
        let mut input = In(&bytes);
        let host = std::str::from_utf8(input.bytes()?).ok()?.to_owned();
        let port = u16::try_from(input.number()?).ok()?;
        let listener = TcpListener::from(fds.pop()?);
        listener.set_nonblocking(true).ok()?;
        if self.doors.len() < MAX_DOORS {
            self.doors.push(Door { listener, to: Arc::new((host, port)) });
        }
        Some(())
    }

    /// The run is over: lets those in who were there before.
    fn answer_last(&self, outer: &Arc<Outer>) {
        let has_room = || outer.busy.load(Ordering::Relaxed) < MAX_CONNECTIONS;
        for door in &self.doors {
            // ends: nobody is left who could knock
            while has_room() && door.answer(self, outer) == Answered::One {}
        }
    }
}

/// How a door was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answered {
    One,
    Nobody,
    /// There is somebody, for whom there is no room.
    Unable,
}

impl Door {
    /// Lets one in.
    fn answer(&self, channel: &Channel, outer: &Arc<Outer>) -> Answered {
        let inner = match self.listener.accept() {
            Ok((inner, _)) => inner,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Answered::Nobody,
            Err(_) => return Answered::Unable,
        };
        let (to, channel, busy) = (Arc::clone(&self.to), Arc::clone(&channel.socket), Busy::new(outer));
        let connection = move || {
            connect(inner, &to, &channel, &busy.0.hosts);
        };
        match std::thread::Builder::new().stack_size(STACK).spawn(connection) {
            Ok(_) => Answered::One,
            Err(_) => Answered::Unable,
        }
    }
}

/// Counts one connection as long as it lives.
struct Busy(Arc<Outer>);

impl Busy {
    fn new(outer: &Arc<Outer>) -> Self {
        outer.busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(outer))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

fn connect(inner: TcpStream, (host, port): &(String, u16), channel: &OwnedFd, hosts: &Hosts) {
    match dial::dial(hosts, host, *port) {
        Ok(outer) => carry::carry(inner, outer, channel),
        Err(missed) => {
            if let dial::Missed::Refused(refusal) = missed {
                let mut out = Out::new();
                refusal.write(&mut out);
                // Before the caller sees it fail.
                let _run_is_over = link::send(channel, &out.done(), &[]);
            }
            carry::reset(inner);
        }
    }
}
