//! Resolves a name and connects to it, if the policy allows the address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use policy::HostRules;

use crate::sandbox::SandboxRefusal;

/// The maximum number of addresses to try, and the timeout of each.
const MAX_ADDRESSES_TRIED: usize = 8;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why there is no connection.
pub(super) enum DialFault {
    /// No host answers, or there is no such name.
    Unreachable,
    /// The name resolves to a forbidden address.
    Refused(SandboxRefusal),
}

/// Resolves `host` now, and connects to the first address that answers.
pub(super) fn dial(hosts: &HostRules, host: &str, port: u16) -> Result<TcpStream, DialFault> {
    let found = (host, port).to_socket_addrs().map_err(|_| DialFault::Unreachable)?;
    let found = found.take(MAX_ADDRESSES_TRIED).map(|at| SocketAddr::new(at.ip().to_canonical(), port));
    let (may, may_not): (Vec<_>, Vec<_>) = found.partition(|at| may_dial(hosts, host, *at));
    let connect = |at: &SocketAddr| TcpStream::connect_timeout(at, CONNECT_TIMEOUT).ok();
    match (may.iter().find_map(connect), may_not.first()) {
        (Some(stream), _) => Ok(stream),
        (None, Some(at)) if may.is_empty() => Err(DialFault::Refused(SandboxRefusal::Connect(*at))),
        (None, _) => Err(DialFault::Unreachable),
    }
}

fn may_dial(hosts: &HostRules, host: &str, at: SocketAddr) -> bool {
    hosts.may_reach_address(host, at) && (hosts.allows_address(host, at) || !is_this_machine(at))
}

/// Returns true if an address, even a public one, belongs to this machine: then it equals the local address of the
/// route.
fn is_this_machine(at: SocketAddr) -> bool {
    let any = match at.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    // Nothing is sent: only the route is queried.
    let local_address = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(at)?;
        socket.local_addr()
    });
    local_address.is_ok_and(|called| called.ip() == at.ip())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_name_that_leads_to_this_machine_is_refused_unless_the_address_is_listed() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        let hosts = |allow: &[&str]| HostRules {
            allow: allow.iter().map(|host| host.parse().unwrap()).collect(),
            forbid: Vec::new(),
        };
        let dialled = |allow: &[&str], host: &str| match dial(&hosts(allow), host, at.port()) {
            Ok(_) => "reached".to_owned(),
            Err(DialFault::Unreachable) => "unreachable".to_owned(),
            Err(DialFault::Refused(SandboxRefusal::Connect(to))) => format!("refused {}", to.ip()),
            Err(DialFault::Refused(other)) => format!("{other:?}"),
        };
        assert_eq!(dialled(&["127.0.0.1"], "127.0.0.1"), "reached");
        assert_eq!(dialled(&["localhost"], "localhost"), "reached");
        assert_eq!(dialled(&["127.0.0.1:1"], "127.0.0.1"), "refused 127.0.0.1");
        assert_eq!(dialled(&["no-such-host.invalid"], "no-such-host.invalid"), "unreachable");
        assert!(is_this_machine(at));
        assert!(!may_dial(&hosts(&["example.org"]), "example.org", at));
        assert!(may_dial(&hosts(&["example.org", "127.0.0.1"]), "example.org", at));
    }
}
