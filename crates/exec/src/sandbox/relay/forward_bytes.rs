//! Forwards bytes in both directions between two connections.
//!
//! Either end may close its sending side and still receive.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{set_socket_keepalive, set_socket_linger};

/// The size of the buffer for each direction.
const BUFFER_BYTES: usize = 32 << 10;

/// Forwards until both ends are closed, or one of them fails. When the run of `channel` is over, data that it has
/// sent is still delivered within a short time.
pub(super) fn forward_bytes(inner: TcpStream, outer: TcpStream, channel: &OwnedFd) {
    let ready = |stream: &TcpStream| {
        // Disables Nagle's algorithm: the sender decides about batching.
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)
    };
    // Detects a host that is gone without closing.
    let _without = set_socket_keepalive(&outer, true);
    let outcome =
        ready(&inner).and_then(|()| ready(&outer)).and_then(|()| both_ways(&inner, &outer, channel));
    if outcome.is_err() {
        reset(inner);
        reset(outer);
    }
}

/// Closes a connection with a reset, so that its peer sees an error.
pub(super) fn reset(stream: TcpStream) {
    let _closes_anyway = set_socket_linger(&stream, Some(Duration::ZERO));
    drop(stream);
}

fn both_ways(inner: &TcpStream, outer: &TcpStream, channel: &OwnedFd) -> io::Result<()> {
    let (mut out, mut back) = (ForwardDirection::new(), ForwardDirection::new());
    let mut deadline: Option<Instant> = None;
    // ends: when both have ended; each round waits until one of them can go on
    while !(out.is_finished && (back.is_finished || deadline.is_some())) {
        // A socket with nothing to wait for is left out: if it is closed, it would end every wait at once.
        let wanted = [
            (inner.as_fd(), out.read_interest() | back.write_interest()),
            (outer.as_fd(), back.read_interest() | out.write_interest()),
        ];
        let wanted = wanted.into_iter().filter(|(_, what)| !what.is_empty());
        let mut ready: Vec<_> = wanted.map(|(of, what)| PollFd::from_borrowed_fd(of, what)).collect();
        // Only the hang-up matters, which needs no flag.
        ready.extend(deadline.is_none().then(|| PollFd::new(channel, PollFlags::empty())));
        let left =
            deadline.and_then(|by| Timespec::try_from(by.saturating_duration_since(Instant::now())).ok());
        if poll(&mut ready, left.as_ref())? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if deadline.is_none() && ready.last().is_some_and(|channel| !channel.revents().is_empty()) {
            deadline = Some(Instant::now() + super::DELIVERY_GRACE);
        }
        out.forward_ready_bytes(inner, outer)?;
        back.forward_ready_bytes(outer, inner)?;
    }
    Ok(())
}

/// One direction of a connection.
struct ForwardDirection {
    buffer: Vec<u8>,
    /// The range that was read and not written yet.
    unwritten: Range<usize>,
    is_finished: bool,
}

impl ForwardDirection {
    fn new() -> Self {
        Self { buffer: vec![0; BUFFER_BYTES], unwritten: 0..0, is_finished: false }
    }

    fn read_interest(&self) -> PollFlags {
        if self.unwritten.is_empty() && !self.is_finished { PollFlags::IN } else { PollFlags::empty() }
    }

    fn write_interest(&self) -> PollFlags {
        if self.unwritten.is_empty() { PollFlags::empty() } else { PollFlags::OUT }
    }

    fn forward_ready_bytes(&mut self, mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
        if self.unwritten.is_empty() && !self.is_finished {
            match none_if_would_block(from.read(&mut self.buffer))? {
                None => {}
                Some(0) => {
                    self.is_finished = true;
                    to.shutdown(Shutdown::Write)?;
                }
                Some(read) => self.unwritten = 0..read,
            }
        }
        if !self.unwritten.is_empty()
            && let Some(written) = none_if_would_block(to.write(&self.buffer[self.unwritten.clone()]))?
        {
            self.unwritten.start += written;
        }
        Ok(())
    }
}

/// Maps "would block" to `None`.
fn none_if_would_block(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        done => done.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;
    use std::thread::{JoinHandle, spawn};

    use super::*;

    /// Returns both far ends of a forwarded connection, the channel's other end, and the forwarding thread.
    fn carried() -> (TcpStream, TcpStream, UnixStream, JoinHandle<()>) {
        let pair = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (one, listener.accept().unwrap().0)
        };
        let ((program, inner), (host, outer)) = (pair(), pair());
        let (run, channel) = UnixStream::pair().unwrap();
        let carries = spawn(move || forward_bytes(inner, outer, &channel.into()));
        (program, host, run, carries)
    }

    fn all(mut from: &TcpStream) -> Vec<u8> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn one_end_may_be_done_while_the_other_talks() {
        let (mut program, mut host, _run, carries) = carried();
        program.write_all(b"question").unwrap();
        program.shutdown(Shutdown::Write).unwrap();
        assert_eq!(all(&host), b"question");
        host.write_all(b"answer").unwrap();
        drop(host);
        assert_eq!(all(&program), b"answer");
        carries.join().unwrap();
    }

    #[test]
    fn more_than_any_buffer_holds_arrives_both_ways() {
        let (program, host, _run, carries) = carried();
        let much: Vec<u8> = (0..8_000_000_u32).map(|number| number.to_le_bytes()[1]).collect();
        std::thread::scope(|scope| {
            for mut from in [&program, &host] {
                let much = &much;
                scope.spawn(move || {
                    from.write_all(much).unwrap();
                    from.shutdown(Shutdown::Write).unwrap();
                });
            }
            let other = scope.spawn(|| all(&host));
            assert!(all(&program) == much && other.join().unwrap() == much);
        });
        carries.join().unwrap();
    }

    #[test]
    fn a_broken_end_breaks_the_other() {
        let (program, host, _run, carries) = carried();
        reset(host);
        let broken = (&program).read(&mut [0; 1]).unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::ConnectionReset);
        carries.join().unwrap();
    }

    #[test]
    fn what_was_sent_arrives_though_the_run_is_over() {
        let (mut program, host, run, carries) = carried();
        program.write_all(b"last words").unwrap();
        drop((program, run));
        assert_eq!(all(&host), b"last words");
        carries.join().unwrap();
    }

    #[test]
    fn forwarding_ends_with_its_run() {
        let (_program, host, run, carries) = carried();
        drop(run);
        carries.join().unwrap();
        assert!((&host).read(&mut [0; 1]).is_err());
    }
}
