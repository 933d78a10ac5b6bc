//! DNS stub inside a sandbox: resolves allowed hosts to the loopback, refuses other names, and records them.
//!
//! Without this a refusal would state the address of a DNS server, and not the host that the command wanted. Each
//! supervisor listens on its own address of the cell's loopback: the `/etc/resolv.conf` of its programs names that
//! address.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use policy::{HostRules, is_internet_name};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, Result};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, sendto, socket_with,
};

use super::egress::{self, EgressHosts};
use super::mounts;

/// The DNS port.
pub(crate) const PORT: u16 = 53;
/// The number of addresses to try: each supervisor of a cell has one.
const LISTEN_ADDRESS_COUNT: u8 = 250;
/// The maximum size of a query. Real names are shorter.
const MAX_QUERY_BYTES: usize = 1024;
/// The size of a DNS header: an id, flags, and counts.
const HEADER_BYTES: usize = 12;
/// The maximum size of `/etc/hosts` that is read.
const MAX_HOSTS_FILE_BYTES: usize = 1 << 20;
/// The maximum length of a name.
const MAX_NAME: usize = 253;

/// The DNS server for the programs of one supervisor.
#[derive(Debug)]
pub(crate) struct DnsStub {
    socket: OwnedFd,
    /// The number of this supervisor in the cell.
    supervisor_number: u8,
    /// True if `/etc/resolv.conf` names this server.
    is_configured: bool,
}

impl DnsStub {
    /// Listens, and configures the programs of this supervisor to query this server, for `hosts` too. With `hosts`, a
    /// server that is not configured is returned too: they can still be reached by address.
    pub(crate) fn open(hosts: &HostRules) -> Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        let try_bind = |last: &u8| match bind(&socket, &SocketAddrV4::new(listen_address(*last), PORT)) {
            Err(Errno::ADDRINUSE) => None,
            other => Some(other.map(|()| *last)),
        };
        let supervisor_number =
            (1..LISTEN_ADDRESS_COUNT).find_map(|last| try_bind(&last)).ok_or(Errno::ADDRINUSE)??;
        let text =
            format!("nameserver {}\noptions timeout:1 attempts:1\n", listen_address(supervisor_number));
        let mounted = mount_text_file(&text, Path::new("/etc/resolv.conf"));
        if hosts.is_empty() {
            mounted?;
        } else {
            let _not_there = mount_reduced_hosts_file(hosts);
        }
        Ok(Self { socket, supervisor_number, is_configured: mounted.is_ok() })
    }

    /// Returns true if programs query this server.
    pub(crate) fn is_configured(&self) -> bool {
        self.is_configured
    }

    /// Returns the number of the supervisor in the cell, counted from 1.
    pub(crate) fn supervisor_number(&self) -> u8 {
        self.supervisor_number
    }

    /// Returns the socket, which is readable when a query waits.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Answers one query. Returns the name if it is a host that may not be reached.
    pub(crate) fn serve(&self, egress: Option<(&mut EgressHosts, &HostRules)>) -> Option<String> {
        let mut packet = [0; MAX_QUERY_BYTES];
        let (got, _, from) = recvfrom(&self.socket, &mut packet, RecvFlags::DONTWAIT).ok()?;
        let (name, question) = parse_query(packet.get(..got)?)?;
        let found = match egress.filter(|(_, hosts)| hosts.may_reach_some_port(&name)) {
            Some((egress, _)) => {
                egress.address_for(&name).map_or(NameAnswer::TooManyHosts, NameAnswer::Address)
            }
            None => NameAnswer::NoSuchName,
        };
        let answer = build_response(&packet, question, found);
        let _gone = sendto(&self.socket, &answer, SendFlags::DONTWAIT | SendFlags::NOSIGNAL, &from?);
        // Programs also query for their own machine, and for words that are not names.
        (found == NameAnswer::NoSuchName && is_internet_name(&name)).then_some(name)
    }

    /// Discards queries of programs that are gone.
    pub(crate) fn drain(&self) {
        // ends: no program queries while nothing runs
        while recvfrom(&self.socket, &mut [0; 1], RecvFlags::DONTWAIT).is_ok() {}
    }
}

/// Returns the listening address of the supervisor with this number.
pub(crate) fn listen_address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 53, 0, number)
}

/// Mounts a file with this text over the one `at`.
fn mount_text_file(text: &str, at: &Path) -> Result<()> {
    // Supervisors of other cells use the same directory: equal names have equal text.
    let mut name = DefaultHasher::new();
    text.hash(&mut name);
    let path = Path::new(mounts::LAYERS_DIRECTORY).join(format!("names-{:016x}", name.finish()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, &path, flags, Mode::from_raw_mode(0o644))?;
    rustix::io::write(&file, text.as_bytes())?;
    mounts::mount_file(&path, at)
}

/// Removes `hosts` from `/etc/hosts`, so that programs query for them.
fn mount_reduced_hosts_file(hosts: &HostRules) -> Result<()> {
    let at = Path::new("/etc/hosts");
    let file = openat(CWD, at, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = vec![0; MAX_HOSTS_FILE_BYTES];
    let read = rustix::io::read(&file, &mut text)?;
    let text = egress::without_hosts(&String::from_utf8_lossy(&text[..read]), hosts);
    mount_text_file(&text, at)
}

/// Parses a query: returns the name and the range of the question. Returns `None` if it is not a query.
fn parse_query(packet: &[u8]) -> Option<(String, Range<usize>)> {
    let header: [u8; HEADER_BYTES] = *packet.first_chunk()?;
    let [_, _, flags, _, 0, 1, ..] = header else { return None };
    if flags & RESPONSE_FLAG != 0 {
        return None;
    }
    let (name, rest) = parse_name(&packet[HEADER_BYTES..])?;
    let end = packet.len() - rest.len() + TYPE_AND_CLASS_BYTES;
    packet.get(HEADER_BYTES..end)?;
    Some((name, HEADER_BYTES..end))
}

const RESPONSE_FLAG: u8 = 0x80;
const TYPE_AND_CLASS_BYTES: usize = 4;

/// The result for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameAnswer {
    /// There is no such name.
    NoSuchName,
    /// This address stands for it.
    Address(Ipv4Addr),
    /// The host may be reached, but there are too many.
    TooManyHosts,
}

/// Builds the response: the address, if one was requested, or an error code.
fn build_response(packet: &[u8], question: Range<usize>, found: NameAnswer) -> Vec<u8> {
    const RECURSION_AVAILABLE: u8 = 0x80;
    /// Type A, class IN.
    const TYPE_A_CLASS_IN: [u8; TYPE_AND_CLASS_BYTES] = [0, 1, 0, 1];
    /// A pointer to the name in the question.
    const QUESTION_NAME_POINTER: [u8; 2] = [0xc0, 12];
    const TTL_SECONDS: [u8; 4] = [0, 0, 0, 60];
    let asked = &packet[question];
    let (outcome, address) = match found {
        NameAnswer::Address(address) => (0, Some(address)),
        NameAnswer::TooManyHosts => (2, None),
        NameAnswer::NoSuchName => (3, None),
    };
    let address = address.filter(|_| asked.ends_with(&TYPE_A_CLASS_IN));
    let record = address.map(|address| {
        [&QUESTION_NAME_POINTER[..], &TYPE_A_CLASS_IN, &TTL_SECONDS, &[0, 4], &address.octets()].concat()
    });
    let [a, b, flags] = [packet[0], packet[1], packet[2] | RESPONSE_FLAG];
    let head = [a, b, flags, RECURSION_AVAILABLE | outcome, 0, 1, 0, u8::from(record.is_some()), 0, 0, 0, 0];
    [&head, asked, &record.unwrap_or_default()].concat()
}

/// Parses a name of length-prefixed labels, ended by an empty one. Also returns the rest.
fn parse_name(mut bytes: &[u8]) -> Option<(String, &[u8])> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds a query as glibc does for an address.
    fn asks(parts: &[&str]) -> Vec<u8> {
        let mut packet = vec![0xab, 0xcd, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0];
        for part in parts {
            packet.push(u8::try_from(part.len()).unwrap());
            packet.extend(part.as_bytes());
        }
        packet.extend([0, 0, 1, 0, 1]);
        packet
    }

    fn answered(packet: &[u8], found: NameAnswer) -> Option<(String, Vec<u8>)> {
        let (name, question) = parse_query(packet)?;
        Some((name, build_response(packet, question, found)))
    }

    #[test]
    fn the_answer_is_that_there_is_no_such_name() {
        let asked = asks(&["Registry", "npmjs", "org"]);
        let (name, answer) = answered(&asked, NameAnswer::NoSuchName).unwrap();
        assert_eq!(name, "registry.npmjs.org");
        assert_eq!(answer[..2], asked[..2], "the number is theirs");
        assert_eq!(answer[2..HEADER_BYTES], [0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(answer[HEADER_BYTES..], asked[HEADER_BYTES..]);
    }

    #[test]
    fn the_answer_is_the_address_of_a_host_that_may_be_reached() {
        let found = NameAnswer::Address(Ipv4Addr::new(127, 64, 1, 2));
        let asked = asks(&["a", "org"]);
        let (_, answer) = answered(&asked, found).unwrap();
        assert_eq!(answer[2..HEADER_BYTES], [0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[HEADER_BYTES..asked.len()], asked[HEADER_BYTES..]);
        assert_eq!(answer[asked.len()..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 64, 1, 2]);
        let mut newer = asked;
        let kind = newer.len() - 3;
        newer[kind] = 28;
        let (_, answer) = answered(&newer, found).unwrap();
        assert_eq!(
            answer[2..HEADER_BYTES],
            [0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0],
            "there is one, but not of this kind"
        );
        assert_eq!(answer[HEADER_BYTES..], newer[HEADER_BYTES..]);
    }

    #[test]
    fn only_names_of_other_machines_are_hosts() {
        for (name, is) in [
            ("example.com", true),
            ("a.b.c", true),
            ("laptop", false),
            ("laptop.local", false),
            ("1.0.0.127.in-addr.arpa", false),
            ("app.localhost", false),
            ("", false),
        ] {
            assert_eq!(is_internet_name(name), is, "{name}");
        }
    }

    #[test]
    fn malformed_queries_get_no_answer() {
        let mut an_answer = asks(&["a", "b"]);
        an_answer[2] |= 0x80;
        let mut two = asks(&["a", "b"]);
        two[5] = 2;
        let mut cut = asks(&["a", "b"]);
        cut.truncate(cut.len() - 2);
        for packet in [&[][..], &[0; 11], &an_answer, &two, &cut] {
            assert_eq!(answered(packet, NameAnswer::NoSuchName), None, "{packet:?}");
        }
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_is_in_a_name() {
        let (name, _) = parse_query(&asks(&["a\u{1b}[2J", "c\u{e9}", "com"])).unwrap();
        assert_eq!(name, "a??2j.c??.com");
    }

    proptest! {
        /// Law: no packet makes a supervisor panic, and no response is longer than its query and an address.
        #[test]
        fn any_packet(packet in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some((_, answer)) = answered(&packet, NameAnswer::NoSuchName) {
                prop_assert!(answer.len() <= packet.len());
            }
            if let Some((_, answer)) = answered(&packet, NameAnswer::Address(Ipv4Addr::LOCALHOST)) {
                prop_assert!(answer.len() <= packet.len() + 16);
            }
        }
    }
}
