//! Message and descriptor passing over a socket, between the host, the spawner, cells and supervisors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::codec::{LENGTH_PREFIX_BYTES, message_length};

/// The maximum number of descriptors in one message.
pub(crate) const MAX_FDS: usize = 64;

/// Sends `bytes` with `fds` as ancillary data, without blocking. Returns the number of bytes sent.
pub(crate) fn send(to: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    // ends: with the first call that is not interrupted
    loop {
        match sendmsg(&to, &[IoSlice::new(bytes)], &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}

/// Receives bytes and the descriptors sent with them; zero bytes mean that the peer is gone. Blocks.
pub(crate) fn receive(from: impl AsFd, bytes: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    // ends: with the first call that is not interrupted
    loop {
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        match recvmsg(&from, &mut [IoSliceMut::new(bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(got) => {
                for message in ancillary.drain() {
                    if let RecvAncillaryMessage::ScmRights(rights) = message {
                        fds.extend(rights);
                    }
                }
                return Ok(got.bytes);
            }
        }
    }
}

/// Receives one complete message of at most `limit` bytes. Returns `None` if the peer is gone or the message is
/// malformed.
pub(crate) fn receive_message(from: impl AsFd, limit: usize) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
    let mut fds = Vec::new();
    let mut length = [0; LENGTH_PREFIX_BYTES];
    receive_exact(&from, &mut length, &mut fds)?;
    let mut bytes = vec![0; message_length(length, limit)?];
    receive_exact(&from, &mut bytes, &mut fds)?;
    Some((bytes, fds))
}

fn receive_exact(from: impl AsFd, mut bytes: &mut [u8], fds: &mut Vec<OwnedFd>) -> Option<()> {
    // ends: every round fills some of it or is the last
    while !bytes.is_empty() {
        match receive(&from, bytes, fds) {
            Ok(0) | Err(_) => return None,
            Ok(got) => bytes = &mut bytes[got..],
        }
    }
    Some(())
}

/// Sends all of `bytes`, the first of them with `fds`. Blocks while the socket is full, but for at most `patience`.
pub(crate) fn send_all(
    to: impl AsFd,
    mut bytes: &[u8],
    mut fds: &[BorrowedFd<'_>],
    patience: Option<Duration>,
) -> io::Result<()> {
    let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
    // ends: with the message sent, or when the peer was busy for too long
    while !bytes.is_empty() {
        match send(&to, bytes, fds) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match poll(&mut [PollFd::new(&to, PollFlags::OUT)], patience.as_ref()) {
                    Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            sent => (bytes, fds) = (&bytes[sent?..], &[]),
        }
    }
    Ok(())
}

/// Sends all of `bytes` as [`send_all`] does, without blocking the thread.
pub(crate) async fn send_all_async(
    to: &UnixStream,
    mut bytes: &[u8],
    mut fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    // ends: every round sends some of it or is the last
    while !bytes.is_empty() {
        let sent = to.async_io(Interest::WRITABLE, || send(to, bytes, fds)).await?;
        (bytes, fds) = (&bytes[sent..], &[]);
    }
    Ok(())
}

/// Returns true if there is data to receive, or the peer is gone.
pub(crate) fn is_readable(from: impl AsFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(&from, PollFlags::IN)], Some(&now))? > 0)
}
