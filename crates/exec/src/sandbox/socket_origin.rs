//! Decides whether a unix socket was bound inside the cell or outside it, before a confined process connects.
//!
//! The kernel lists the sockets of a network namespace, and the file that each is bound to (`sock_diag`). A socket
//! listed in the cell's own network was bound in the cell. In the machine's network, each `bind` of the cell's
//! processes is recorded first, by the socket's cookie, which the kernel never reuses. In both cases the origin is
//! known before the connection: a program outside does not even see the attempt.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{FlockOperation, MemfdFlags, Mode, OFlags, fcntl_lock, fstat, ftruncate, memfd_create};
use rustix::io::{Errno, Result, pread, pwrite};
use rustix::net::sockopt::socket_cookie;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// The side on which a socket was bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketOrigin {
    /// A process of the cell has bound it.
    Inside,
    /// A process outside the cell has bound it, or its origin is unknown.
    Outside,
    /// It is bound in no visible network: its owner is gone, or is in another sandbox.
    Unbound,
}

/// The bound sockets that a supervisor knows.
#[derive(Debug)]
pub(crate) struct BoundSockets {
    /// True if the cell has its own network: every socket listed in it belongs to the cell.
    own_network: bool,
    /// Netlink socket into the network that the cell was created in, if the kernel allows it. All supervisors share
    /// it, one at a time.
    outer_netlink: Option<OwnedFd>,
    /// The cookies of sockets bound in a shared network. Supervisors also use this file as their lock.
    cookie_file: OwnedFd,
}

/// The maximum number of recorded sockets. Closed ones are evicted.
const MAX_RECORDED_COOKIES: u64 = 1 << 16;
/// The size of a cookie in bytes.
const COOKIE_BYTES: u64 = 8;

impl BoundSockets {
    /// Must be created before the cell enters its own network.
    pub(crate) fn new(own_network: bool) -> Result<Self> {
        let cookie_file = memfd_create("toolgate-sockets", MemfdFlags::CLOEXEC)?;
        Ok(Self { own_network, outer_netlink: open_sock_diag().ok(), cookie_file })
    }

    /// Returns true if the kernel lists sockets here.
    pub(crate) fn is_supported(&self) -> bool {
        self.outer_netlink().and_then(|outside| for_each_unix_socket(outside, |_| ())).is_ok()
    }

    fn outer_netlink(&self) -> Result<&OwnedFd> {
        self.outer_netlink.as_ref().ok_or(Errno::AFNOSUPPORT)
    }

    /// Returns the origin of the socket that is bound to `file`.
    pub(crate) fn origin(&self, file: &OwnedFd) -> SocketOrigin {
        self.find_origin(file).unwrap_or(SocketOrigin::Outside)
    }

    fn find_origin(&self, file: &OwnedFd) -> Result<SocketOrigin> {
        let file = SocketFile::from_fd(file)?;
        if self.own_network {
            let inside = cookies_bound_to(&open_sock_diag()?, &file)?;
            if !inside.is_empty() {
                return Ok(SocketOrigin::Inside);
            }
        }
        let _one_at_a_time = BoundSocketsLock::new(&self.cookie_file)?;
        let outside = cookies_bound_to(self.outer_netlink()?, &file)?;
        if outside.is_empty() {
            return Ok(SocketOrigin::Unbound);
        }
        let recorded = if self.own_network { Vec::new() } else { self.recorded_cookies()? };
        // A file is bound once. Other sockets listed with it are accepted connections, which are never bound.
        let ours = outside.iter().any(|number| recorded.contains(number));
        Ok(if ours { SocketOrigin::Inside } else { SocketOrigin::Outside })
    }

    /// Records that a process of the cell is about to bind `socket`.
    pub(crate) fn record_bind(&self, socket: &OwnedFd) {
        // A socket that is not recorded cannot be connected to.
        let _not_noted = self.add(socket);
    }

    fn add(&self, socket: &OwnedFd) -> Result<()> {
        let cookie = socket_cookie(socket)?;
        let _one_at_a_time = BoundSocketsLock::new(&self.cookie_file)?;
        let mut recorded = self.recorded_cookies()?;
        if recorded.contains(&cookie) {
            return Ok(());
        }
        if recorded.len() as u64 >= MAX_RECORDED_COOKIES {
            let mut listed_cookies = Vec::new();
            for_each_unix_socket(self.outer_netlink()?, |socket| listed_cookies.push(socket.cookie))?;
            listed_cookies.sort_unstable();
            recorded.retain(|number| listed_cookies.binary_search(number).is_ok());
            ftruncate(&self.cookie_file, 0)?;
            let kept: Vec<u8> = recorded.iter().flat_map(|number| number.to_ne_bytes()).collect();
            pwrite(&self.cookie_file, &kept, 0)?;
        }
        if (recorded.len() as u64) < MAX_RECORDED_COOKIES {
            pwrite(&self.cookie_file, &cookie.to_ne_bytes(), recorded.len() as u64 * COOKIE_BYTES)?;
        }
        Ok(())
    }

    fn recorded_cookies(&self) -> Result<Vec<u64>> {
        let length = u64::try_from(fstat(&self.cookie_file)?.st_size).unwrap_or_default();
        let mut bytes =
            vec![0; usize::try_from(length.min(MAX_RECORDED_COOKIES * COOKIE_BYTES)).unwrap_or_default()];
        let read = pread(&self.cookie_file, &mut bytes[..], 0)?;
        let numbers = bytes[..read].chunks_exact(size_of::<u64>()).filter_map(|bytes| bytes.try_into().ok());
        Ok(numbers.map(u64::from_ne_bytes).collect())
    }
}

/// Excludes other supervisors. The lock belongs to the process and ends with it.
struct BoundSocketsLock<'a>(&'a OwnedFd);

impl<'a> BoundSocketsLock<'a> {
    fn new(notes: &'a OwnedFd) -> Result<Self> {
        fcntl_lock(notes, FlockOperation::LockExclusive)?;
        Ok(Self(notes))
    }
}

impl Drop for BoundSocketsLock<'_> {
    fn drop(&mut self) {
        let _gone = fcntl_lock(self.0, FlockOperation::Unlock);
    }
}

/// The identity of a file as socket lists state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SocketFile {
    inode: u32,
    /// The device of the file system. Some file systems report another device in `stat`.
    device: u32,
}

impl SocketFile {
    fn from_fd(file: &OwnedFd) -> Result<Self> {
        let stat = fstat(file)?;
        let device =
            device_of_mount(file).unwrap_or((rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev)));
        // The kernel's encoding of a device number.
        let device = device.0 << 20 | device.1 & 0xf_ffff;
        #[expect(clippy::cast_possible_truncation, reason = "lists of sockets have the low half only")]
        Ok(Self { inode: stat.st_ino as u32, device })
    }
}

/// Returns the device of the file system that `file` is on, according to its mount.
fn device_of_mount(file: &OwnedFd) -> Option<(u32, u32)> {
    let about = read_proc_file(&format!("/proc/self/fdinfo/{}", file.as_raw_fd()))?;
    let mount = about.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
    read_proc_file("/proc/self/mountinfo")?.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (id, device) = (fields.next()?, fields.nth(1)?);
        let (major, minor) = device.split_once(':').filter(|_| id == mount)?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    })
}

fn read_proc_file(path: &str) -> Option<String> {
    const MAX_TEXT_BYTES: usize = 4 << 20;
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    // ends: with the file, which has an end
    while text.len() < MAX_TEXT_BYTES {
        match rustix::io::read(&file, &mut part[..]).ok()? {
            0 => return Some(String::from_utf8_lossy(&text).into_owned()),
            read => text.extend(&part[..read]),
        }
    }
    None
}

/// Opens a netlink socket for queries about the sockets of this network.
fn open_sock_diag() -> Result<OwnedFd> {
    let kind = Some(netlink::SOCK_DIAG);
    socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, kind)
}

/// A socket in a list.
struct ListedSocket {
    cookie: u64,
    file: Option<SocketFile>,
}

/// Returns the cookies of the sockets that are bound to `file`.
fn cookies_bound_to(diag_socket: &OwnedFd, file: &SocketFile) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for_each_unix_socket(diag_socket, |socket| {
        numbers.extend((socket.file == Some(*file)).then_some(socket.cookie));
    })?;
    Ok(numbers)
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Sizes of the headers of a message, an answer and an attribute.
const MESSAGE_HEADER_BYTES: usize = 16;
const UNIX_DIAG_HEADER_BYTES: usize = 16;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// The attribute with the file that a socket is bound to, and the flag that requests it.
const UNIX_DIAG_VFS: u16 = 1;
const UDIAG_SHOW_VFS: u32 = 2;
/// The maximum number of answers of the kernel.
const MAX_ANSWERS: usize = 1 << 16;

/// Calls `each` with every unix socket.
fn for_each_unix_socket(diag_socket: &OwnedFd, mut each: impl FnMut(ListedSocket)) -> Result<()> {
    let mut bytes = vec![0; 32 << 10];
    // Discards the rest of an unfinished earlier answer.
    while recv(diag_socket, &mut bytes[..], RecvFlags::DONTWAIT).is_ok_and(|(_, read)| read > 0) {}
    send(diag_socket, &build_request(), SendFlags::empty())?;
    // ends: with the list, which has an end
    for _ in 0..MAX_ANSWERS {
        let (_, read) = recv(diag_socket, &mut bytes[..], RecvFlags::empty())?;
        let mut rest = bytes.get(..read).ok_or(Errno::MSGSIZE)?;
        // ends: every message has a length
        while let Some((kind, body, next)) = split_message(rest) {
            rest = next;
            match kind {
                NLMSG_DONE => return Ok(()),
                NLMSG_ERROR => return Err(Errno::OPNOTSUPP),
                _ => each(parse_socket(body).ok_or(Errno::IO)?),
            }
        }
    }
    Err(Errno::IO)
}

/// Builds a request for all unix sockets in any state, with the file that each is bound to.
fn build_request() -> Vec<u8> {
    const REQUEST_BYTES: u32 = 40;
    const AF_UNIX: u8 = 1;
    let mut question = Vec::new();
    question.extend(REQUEST_BYTES.to_ne_bytes());
    question.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    question.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    // Sequence number and sender, which are not needed.
    question.extend([0; 8]);
    question.extend([AF_UNIX, 0, 0, 0]);
    for field in [u32::MAX, 0, UDIAG_SHOW_VFS, u32::MAX, u32::MAX] {
        question.extend(field.to_ne_bytes());
    }
    question
}

/// Returns the kind and the body of the first message, and the remaining bytes.
fn split_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(read_u32(bytes, 0)?).ok()?;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(MESSAGE_HEADER_BYTES..length)?;
    Some((kind, body, bytes.get(padded(length)..).unwrap_or_default()))
}

fn parse_socket(body: &[u8]) -> Option<ListedSocket> {
    let cookie = u64::from(read_u32(body, 8)?) | u64::from(read_u32(body, 12)?) << 32;
    let (mut rest, mut file) = (body.get(UNIX_DIAG_HEADER_BYTES..)?, None);
    // ends: every part has a length
    while let (Some(length), Some(kind)) = (rest.get(..2), rest.get(2..4)) {
        let length = usize::from(u16::from_ne_bytes(length.try_into().ok()?));
        let part = rest.get(ATTRIBUTE_HEADER_BYTES..length)?;
        if u16::from_ne_bytes(kind.try_into().ok()?) == UNIX_DIAG_VFS {
            file = Some(SocketFile { inode: read_u32(part, 0)?, device: read_u32(part, 4)? });
        }
        rest = rest.get(padded(length)..).unwrap_or_default();
    }
    Some(ListedSocket { cookie, file })
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Messages and attributes are aligned to four bytes.
fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use proptest::prelude::*;

    use super::*;

    fn named(path: &std::path::Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap()
    }

    #[test]
    fn a_socket_is_ours_if_its_binding_was_noted() {
        let place = tempfile::tempdir().unwrap();
        let (own, other) = (place.path().join("own"), place.path().join("other"));
        let sockets = BoundSockets::new(false).unwrap();
        let listener = UnixListener::bind(&own).unwrap();
        let _theirs = UnixListener::bind(&other).unwrap();
        assert_eq!(sockets.origin(&named(&own)), SocketOrigin::Outside);
        let listener = OwnedFd::from(listener);
        sockets.record_bind(&listener);
        assert_eq!(sockets.origin(&named(&own)), SocketOrigin::Inside);
        assert_eq!(sockets.origin(&named(&other)), SocketOrigin::Outside);
        // Another name of the same file.
        std::fs::hard_link(&own, place.path().join("link")).unwrap();
        assert_eq!(sockets.origin(&named(&place.path().join("link"))), SocketOrigin::Inside);
        drop(listener);
        assert_eq!(sockets.origin(&named(&own)), SocketOrigin::Unbound);
    }

    #[test]
    fn closed_sockets_are_evicted() {
        let sockets = BoundSockets::new(false).unwrap();
        let full = vec![0xff; usize::try_from(MAX_RECORDED_COOKIES * COOKIE_BYTES).unwrap()];
        pwrite(&sockets.cookie_file, &full, 0).unwrap();
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let one = OwnedFd::from(one);
        sockets.record_bind(&one);
        assert_eq!(sockets.recorded_cookies().unwrap(), vec![socket_cookie(&one).unwrap()]);
    }

    proptest! {
        /// Law: no answer makes a supervisor panic or block.
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _what_is_it = (split_message(&bytes), parse_socket(&bytes));
        }
    }
}
