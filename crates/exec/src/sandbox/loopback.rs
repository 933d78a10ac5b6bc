//! Brings up the loopback device of a new network namespace.

use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_ACK: u16 = 5;
const IFF_UP: u32 = 1;
/// The loopback device is the first of every namespace.
const LOOPBACK_INDEX: u32 = 1;
/// A header and a description of a device, of 16 bytes each.
const MESSAGE_BYTES: u32 = 32;
/// The position of the result in the answer.
const ERROR_FIELD: std::ops::Range<usize> = 16..20;

/// Brings the device up; the kernel assigns its addresses.
pub(crate) fn bring_up() -> Result<()> {
    let netlink = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = Vec::new();
    message.extend(MESSAGE_BYTES.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
    // Sequence number and sender, which are not needed; then any family, any kind of device.
    message.extend([0; 8]);
    message.extend([0; 4]);
    for field in [LOOPBACK_INDEX, IFF_UP, IFF_UP] {
        message.extend(field.to_ne_bytes());
    }
    send(&netlink, &message, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (_, length) = recv(&netlink, &mut answer, RecvFlags::empty())?;
    let outcome = answer[..length].get(ERROR_FIELD).and_then(|outcome| outcome.try_into().ok());
    match i32::from_ne_bytes(outcome.ok_or(Errno::IO)?) {
        0 => Ok(()),
        errno => Err(Errno::from_raw_os_error(-errno)),
    }
}
