//! Egress of a run: each allowed host has an address on the cell's own loopback, where the relay answers for it.
//!
//! An address stands for a name during the whole run. When a program connects to one, or to an allowed outside
//! address, a listener is opened in the cell and passed to the relay. The program's own socket is connected to that
//! listener.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use policy::{AddressClass, HostRules, LOCALHOST};
use rustix::io::{Errno, Result};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with, socketpair,
};

use super::refusal::SandboxRefusal;
use super::{dns_stub, relay};
use crate::process::codec::MessageDecoder;
use crate::process::fd_passing;

/// The maximum number of hosts of a run: each has an address.
const MAX_HOSTS: u8 = 250;
/// The backlog of a listener.
const BACKLOG: i32 = 128;
/// The maximum size of a message from the relay.
const MAX_RELAY_MESSAGE_BYTES: usize = 512;

/// The hosts that a run may reach, and has reached.
#[derive(Debug)]
pub(crate) struct EgressHosts {
    /// The socket to the relay.
    relay_socket: OwnedFd,
    /// The number of this supervisor in the cell.
    supervisor_number: u8,
    /// This run's channel to the relay, opened on first use.
    channel: Option<OwnedFd>,
    /// Names and addresses; the first has the first address.
    hosts: Vec<String>,
    /// The listeners by host and port.
    listener_addresses: BTreeMap<(String, u16), SocketAddrV4>,
}

/// The route of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EgressRoute {
    /// Direct, as requested.
    Direct,
    /// Through the relay, which listens here.
    Relayed(SocketAddrV4),
    /// Refused by the policy.
    Refused(SandboxRefusal),
    /// Failed with an error.
    Fails(Errno),
}

impl EgressHosts {
    /// Creates the egress for one run of the supervisor with this number.
    pub(crate) fn new(relay_socket: &OwnedFd, supervisor_number: u8) -> Option<Self> {
        let relay_socket = relay_socket.try_clone().ok()?;
        Some(Self {
            relay_socket,
            supervisor_number,
            channel: None,
            hosts: Vec::new(),
            listener_addresses: BTreeMap::new(),
        })
    }

    /// Returns the address that stands for `host`, or `None` if there are too many.
    pub(crate) fn address_for(&mut self, host: &str) -> Option<Ipv4Addr> {
        let known = self.hosts.iter().position(|known| known == host);
        let at = u8::try_from(known.unwrap_or(self.hosts.len())).ok().filter(|at| *at < MAX_HOSTS)?;
        if known.is_none() {
            self.hosts.push(host.to_owned());
        }
        Some(Ipv4Addr::new(127, HOST_ADDRESS_OCTET, self.supervisor_number, at + 1))
    }

    /// Returns the route to `to`, or `None` if it does not concern allowed hosts. Only streams are relayed.
    pub(crate) fn route(
        &mut self,
        to: SocketAddr,
        kind: SocketType,
        hosts: &HostRules,
    ) -> Option<EgressRoute> {
        let is_stream = kind == SocketType::STREAM;
        if to == SocketAddr::from((dns_stub::listen_address(self.supervisor_number), dns_stub::PORT)) {
            return Some(EgressRoute::Direct);
        }
        if let IpAddr::V4(address) = to.ip()
            && let [127, HOST_ADDRESS_OCTET, ..] = address.octets()
        {
            return Some(match self.host_at(address) {
                // Programs use a datagram socket to find the route to an address. No process receives anything.
                Some(_) if !is_stream => EgressRoute::Direct,
                Some(host) if hosts.may_reach(&host, to.port()) => self.route_through_relay(&host, to.port()),
                Some(host) => EgressRoute::Refused(SandboxRefusal::Name(format!("{host}:{}", to.port()))),
                None => EgressRoute::Refused(SandboxRefusal::Connect(to)),
            });
        }
        let listed = host_allowed_by_address(to, hosts).filter(|_| is_stream)?;
        Some(self.route_through_relay(&listed, to.port()))
    }

    /// Returns the channel, which is readable when the relay sends a message.
    pub(crate) fn channel(&self) -> Option<BorrowedFd<'_>> {
        self.channel.as_ref().map(AsFd::as_fd)
    }

    /// Returns the refusals and failures of the relay, which resolves the names.
    pub(crate) fn relay_refusals(&mut self) -> Vec<SandboxRefusal> {
        let mut refusals = Vec::new();
        // ends: the relay sends no more messages than it has connections, or is gone
        while let Some(channel) =
            self.channel.as_ref().filter(|channel| fd_passing::is_readable(channel).unwrap_or(false))
        {
            match fd_passing::receive_message(channel, MAX_RELAY_MESSAGE_BYTES) {
                Some((bytes, _)) => refusals.extend(SandboxRefusal::read(&mut MessageDecoder(&bytes))),
                None => self.channel = None,
            }
        }
        refusals
    }

    fn host_at(&self, address: Ipv4Addr) -> Option<String> {
        let [_, _, number, last] = address.octets();
        let at = usize::from(last.checked_sub(1)?);
        self.hosts.get(at).filter(|_| number == self.supervisor_number).cloned()
    }

    fn route_through_relay(&mut self, host: &str, port: u16) -> EgressRoute {
        if let Some(listener_address) = self.listener_addresses.get(&(host.to_owned(), port)) {
            return EgressRoute::Relayed(*listener_address);
        }
        match self.open_listener(host, port) {
            Ok(listener_address) => {
                self.listener_addresses.insert((host.to_owned(), port), listener_address);
                EgressRoute::Relayed(listener_address)
            }
            Err(errno) => EgressRoute::Fails(errno),
        }
    }

    fn open_listener(&mut self, host: &str, port: u16) -> Result<SocketAddrV4> {
        if self.listener_addresses.len() >= relay::MAX_LISTENERS {
            return Err(Errno::NOBUFS);
        }
        let address = self.address_for(host).ok_or(Errno::NOBUFS)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        // A program may listen on this port at every address. Then another port is used.
        bind(&listener, &SocketAddrV4::new(address, port))
            .or_else(|_| bind(&listener, &SocketAddrV4::new(address, 0)))?;
        listen(&listener, BACKLOG)?;
        let listener_address =
            SocketAddrV4::try_from(getsockname(&listener)?).map_err(|_| Errno::AFNOSUPPORT)?;
        if self.channel.is_none() {
            let flags = SocketFlags::CLOEXEC;
            let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            fd_passing::send(&self.relay_socket, &[0], &[theirs.as_fd()])
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            self.channel = Some(ours);
        }
        relay::send_listener(self.channel.as_ref().ok_or(Errno::IO)?, &listener, host, port)?;
        Ok(listener_address)
    }
}

/// The second octet of the addresses that stand for hosts.
const HOST_ADDRESS_OCTET: u8 = 64;

/// Returns the host that the user has allowed by this address. `localhost` is resolved from a file, and never
/// queried.
fn host_allowed_by_address(to: SocketAddr, hosts: &HostRules) -> Option<String> {
    let address = to.ip().to_string();
    if hosts.may_reach(&address, to.port()) {
        return Some(address);
    }
    let is_loopback = AddressClass::of(to.ip()) == AddressClass::Loopback;
    (is_loopback && hosts.may_reach(LOCALHOST, to.port())).then(|| LOCALHOST.to_owned())
}

/// Returns `/etc/hosts` without the allowed hosts: programs query for those, and get a loopback address.
pub(crate) fn without_hosts(text: &str, hosts: &HostRules) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(address) = words.next() else { continue };
        let is_kept = |name: &&str| *name == LOCALHOST || !hosts.may_reach_some_port(name);
        let names: Vec<&str> = words.filter(is_kept).collect();
        if !names.is_empty() {
            kept.extend([address, " ", &names.join(" "), "\n"]);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(allow: &[&str]) -> HostRules {
        HostRules { allow: allow.iter().map(|host| host.parse().unwrap()).collect(), forbid: Vec::new() }
    }

    fn outside() -> EgressHosts {
        let (link, _theirs) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        EgressHosts::new(&link, 7).unwrap()
    }

    #[test]
    fn a_host_keeps_its_address() {
        let mut outside = outside();
        assert_eq!(outside.address_for("a.org"), Some(Ipv4Addr::new(127, 64, 7, 1)));
        assert_eq!(outside.address_for("b.org"), Some(Ipv4Addr::new(127, 64, 7, 2)));
        assert_eq!(outside.address_for("a.org"), Some(Ipv4Addr::new(127, 64, 7, 1)));
        let more: Vec<_> = (0..300).map(|number| outside.address_for(&format!("{number}.org"))).collect();
        assert_eq!(more.iter().flatten().count(), 248);
    }

    #[test]
    fn routes_are_refused_or_left_to_the_network_setting() {
        let mut outside = outside();
        let hosts = hosts(&["a.org:443", "192.0.2.7:80"]);
        outside.address_for("a.org");
        let mut way = |to: &str, kind| outside.route(to.parse().unwrap(), kind, &hosts);
        let refused = |what| Some(EgressRoute::Refused(what));
        let at = |to: &str| SandboxRefusal::Connect(to.parse().unwrap());
        let (stream, datagram) = (SocketType::STREAM, SocketType::DGRAM);
        assert_eq!(way("127.64.7.1:80", stream), refused(SandboxRefusal::Name("a.org:80".to_owned())));
        assert_eq!(way("127.64.7.1:443", datagram), Some(EgressRoute::Direct));
        assert_eq!(way("127.64.7.2:443", stream), refused(at("127.64.7.2:443")));
        assert_eq!(way("127.64.8.1:443", stream), refused(at("127.64.8.1:443")));
        assert_eq!(way("127.64.7.0:443", stream), refused(at("127.64.7.0:443")));
        assert_eq!(way("127.53.0.7:53", datagram), Some(EgressRoute::Direct));
        assert_eq!(way("127.53.0.8:53", datagram), None);
        assert_eq!(way("127.0.0.1:443", stream), None);
        assert_eq!(way("192.0.2.7:80", datagram), None);
        assert_eq!(way("192.0.2.7:443", stream), None);
    }

    #[test]
    fn allowed_hosts_are_removed_from_etc_hosts() {
        let text = "127.0.0.1 localhost box\n# a comment\n10.0.0.5\tdb.corp db # the database\n10.0.0.6 x.corp\n\n::1 localhost\n";
        let without = |allow: &[&str]| without_hosts(text, &hosts(allow));
        assert_eq!(
            without(&["db.corp", "localhost"]),
            "127.0.0.1 localhost box\n10.0.0.5 db\n10.0.0.6 x.corp\n::1 localhost\n"
        );
        assert_eq!(without(&["*.corp:443", "db"]), "127.0.0.1 localhost box\n::1 localhost\n");
    }
}
