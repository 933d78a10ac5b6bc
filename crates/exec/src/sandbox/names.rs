//! Names that commands ask for where there is no network: each is answered at once, with "there is no such name", and noted.
//!
//! Without this a refusal would say the address of a name server, and not the host that the command wanted. Each keeper listens
//! on an address of the cell's own loopback that only its programs ask: their `/etc/resolv.conf` says so.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, Result};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, sendto, socket_with,
};

use super::mounts;

/// The port that questions go to.
const PORT: u16 = 53;
/// How many addresses are tried: each keeper of a cell has one.
const ADDRESSES: u8 = 250;
/// The longest question. Nobody asks for a name with more.
const MAX_QUESTION: usize = 1024;
/// What comes before the question: a number, what is wanted, and how much follows.
const HEADER: usize = 12;
/// The longest name.
const MAX_NAME: usize = 253;

/// Answers the programs of one keeper.
#[derive(Debug)]
pub(crate) struct Names(OwnedFd);

impl Names {
    /// Listens, and has the programs of this keeper ask here.
    pub(crate) fn open() -> Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        let taken = |last: &u8| match bind(&socket, &SocketAddrV4::new(address(*last), PORT)) {
            Err(Errno::ADDRINUSE) => None,
            other => Some(other.map(|()| *last)),
        };
        let last = (1..ADDRESSES).find_map(|last| taken(&last)).ok_or(Errno::ADDRINUSE)??;
        let text = format!("nameserver {}\noptions timeout:1 attempts:1\n", address(last));
        let path = Path::new(mounts::LAYERS).join(format!("names-{last}"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(CWD, &path, flags, Mode::from_raw_mode(0o644))?;
        rustix::io::write(&file, text.as_bytes())?;
        mounts::put_file(&path, Path::new("/etc/resolv.conf"))?;
        Ok(Self(socket))
    }

    /// Can be read when somebody asks.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Answers one question; says which host was asked for, if it is one.
    pub(crate) fn serve(&self) -> Option<String> {
        let mut packet = [0; MAX_QUESTION];
        let (got, _, from) = recvfrom(&self.0, &mut packet, RecvFlags::DONTWAIT).ok()?;
        let (name, answer) = answer(packet.get(..got)?)?;
        let _gone = sendto(&self.0, &answer, SendFlags::DONTWAIT | SendFlags::NOSIGNAL, &from?);
        is_host(&name).then_some(name)
    }

    /// Forgets what was asked by programs that are gone.
    pub(crate) fn drain(&self) {
        // ends: nobody asks while nothing runs
        while recvfrom(&self.0, &mut [0; 1], RecvFlags::DONTWAIT).is_ok() {}
    }
}

fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 53, 0, last)
}

/// The name that a packet asks for, and the answer that there is none; nothing for what is no question.
fn answer(packet: &[u8]) -> Option<(String, Vec<u8>)> {
    const IS_ANSWER: u8 = 0x80;
    const CAN_ASK_ON: u8 = 0x80;
    const NO_SUCH_NAME: u8 = 3;
    let header: [u8; HEADER] = *packet.first_chunk()?;
    let [a, b, flags, _, 0, 1, ..] = header else { return None };
    if flags & IS_ANSWER != 0 {
        return None;
    }
    let (name, rest) = name(&packet[HEADER..])?;
    // Its kind and class.
    let end = packet.len() - rest.len() + 4;
    let question = packet.get(HEADER..end)?;
    let head = [a, b, flags | IS_ANSWER, CAN_ASK_ON | NO_SUCH_NAME, 0, 1, 0, 0, 0, 0, 0, 0];
    Some((name, [&head, question].concat()))
}

/// A name of parts, each after its length, up to one of none; and what follows it.
fn name(mut bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut name = String::new();
    // ends: every round takes a part, or is the last
    loop {
        let (&length, rest) = bytes.split_first()?;
        let (part, rest) = rest.split_at_checked(usize::from(length))?;
        bytes = rest;
        if part.is_empty() {
            return Some((name, bytes));
        }
        if !name.is_empty() {
            name.push('.');
        }
        let known = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        name.extend(
            part.iter().map(|byte| if known(byte) { char::from(byte.to_ascii_lowercase()) } else { '?' }),
        );
        if name.len() > MAX_NAME {
            return None;
        }
    }
}

/// Whether a name is that of another machine: programs ask for their own, and for what is not a name at all.
fn is_host(name: &str) -> bool {
    let last = name.rsplit_once('.').map(|(_, last)| last);
    last.is_some_and(|last| !matches!(last, "arpa" | "localhost" | "local" | "internal" | "localdomain"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As glibc asks for an address.
    fn question(parts: &[&str]) -> Vec<u8> {
        let mut packet = vec![0xab, 0xcd, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0];
        for part in parts {
            packet.push(u8::try_from(part.len()).unwrap());
            packet.extend(part.as_bytes());
        }
        packet.extend([0, 0, 1, 0, 1]);
        packet
    }

    #[test]
    fn the_answer_is_that_there_is_no_such_name() {
        let asked = question(&["Registry", "npmjs", "org"]);
        let (name, answer) = answer(&asked).unwrap();
        assert_eq!(name, "registry.npmjs.org");
        assert_eq!(answer[..2], asked[..2], "the number is theirs");
        assert_eq!(answer[2..HEADER], [0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(answer[HEADER..], asked[HEADER..]);
    }

    #[test]
    fn which_names_are_hosts() {
        for (name, is) in [
            ("example.com", true),
            ("a.b.c", true),
            ("laptop", false),
            ("laptop.local", false),
            ("1.0.0.127.in-addr.arpa", false),
            ("app.localhost", false),
            ("", false),
        ] {
            assert_eq!(is_host(name), is, "{name}");
        }
    }

    #[test]
    fn what_is_no_question_gets_no_answer() {
        let mut an_answer = question(&["a", "b"]);
        an_answer[2] |= 0x80;
        let mut two = question(&["a", "b"]);
        two[5] = 2;
        let mut cut = question(&["a", "b"]);
        cut.truncate(cut.len() - 2);
        for packet in [&[][..], &[0; 11], &an_answer, &two, &cut] {
            assert_eq!(answer(packet), None, "{packet:?}");
        }
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_is_in_a_name() {
        let (name, _) = answer(&question(&["a\u{1b}[2J", "c\u{e9}", "com"])).unwrap();
        assert_eq!(name, "a??2j.c??.com");
    }

    proptest! {
        /// Law: no packet makes a keeper panic, and no answer is longer than its question.
        #[test]
        fn any_packet(packet in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some((_, answer)) = answer(&packet) {
                prop_assert!(answer.len() <= packet.len());
            }
        }
    }
}
