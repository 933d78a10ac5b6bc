//! Blocking message and descriptor passing over a socket, as used by the spawner and the supervisors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use super::messages::LENGTH_PREFIX_BYTES;

/// The maximum number of descriptors in one message.
pub(crate) const MAX_FDS: usize = 5;

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
    let length = usize::try_from(u32::from_le_bytes(length)).ok().filter(|&length| length <= limit)?;
    let mut bytes = vec![0; length];
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

/// Writes all of `bytes`. Blocks while the socket is full.
pub(crate) fn write_all(to: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    // ends: every round writes some of it or is the last
    while !bytes.is_empty() {
        match rustix::net::send(&to, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns true if there is data to receive, or the peer is gone.
pub(crate) fn is_readable(from: impl AsFd) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(&from, PollFlags::IN)], Some(&now))? > 0)
}
