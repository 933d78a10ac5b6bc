//! Resolves a name and connects to it, if the policy allows the address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use policy::{ConnectStep, HostRules, UnreachableHost};

use crate::sandbox::SandboxRefusal;

/// The maximum number of addresses to try, and the timeout of each.
const MAX_ADDRESSES_TRIED: usize = 8;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum length of a reason, so that its message has a limit.
const MAX_REASON_CHARS: usize = 100;

/// Resolves `host` now, and connects to the first address that answers. The error is a refusal if the name resolves
/// to a forbidden address only, otherwise the step that failed.
pub(super) fn dial(hosts: &HostRules, host: &str, port: u16) -> Result<TcpStream, SandboxRefusal> {
    let unreachable = |step: ConnectStep, reason: &str| {
        let reason = reason.chars().take(MAX_REASON_CHARS).collect();
        SandboxRefusal::Unreachable(UnreachableHost { target: format!("{host}:{port}"), step, reason })
    };
    let found =
        (host, port).to_socket_addrs().map_err(|error| unreachable(ConnectStep::Resolve, &reason(&error)))?;
    let found = found.take(MAX_ADDRESSES_TRIED).map(|at| SocketAddr::new(at.ip().to_canonical(), port));
    let (may, may_not): (Vec<_>, Vec<_>) = found.partition(|at| may_dial(hosts, host, *at));
    let mut first_error = None;
    for at in &may {
        match TcpStream::connect_timeout(at, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    Err(match (first_error, may_not.first()) {
        (Some(error), _) => unreachable(ConnectStep::Connect, &reason(&error)),
        (None, Some(at)) => SandboxRefusal::Connect(*at),
        (None, None) => unreachable(ConnectStep::Resolve, "it has no address"),
    })
}

/// Returns the words of the system about an error, without those of the standard library.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
    let without_number = text.rsplit_once(" (os error ").map_or(text, |(words, _)| words);
    without_number.to_owned()
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
            Err(SandboxRefusal::Unreachable(host)) => host.to_string(),
            Err(SandboxRefusal::Connect(to)) => format!("refused {}", to.ip()),
            Err(other) => format!("{other:?}"),
        };
        assert_eq!(dialled(&["127.0.0.1"], "127.0.0.1"), "reached");
        assert_eq!(dialled(&["localhost"], "localhost"), "reached");
        assert_eq!(dialled(&["127.0.0.1:1"], "127.0.0.1"), "refused 127.0.0.1");
        let unresolved = dialled(&["no-such-host.invalid"], "no-such-host.invalid");
        let expected = "`no-such-host.invalid` is allowed, but its name cannot be resolved: ";
        assert!(unresolved.starts_with(expected) && !unresolved.contains("lookup"), "{unresolved}");
        drop(server);
        let refused =
            format!("`127.0.0.1:{}` is allowed, but cannot be reached from this machine: ", at.port());
        assert_eq!(dialled(&["127.0.0.1"], "127.0.0.1"), format!("{refused}Connection refused"));
        assert!(is_this_machine(at));
        assert!(!may_dial(&hosts(&["example.org"]), "example.org", at));
        assert!(may_dial(&hosts(&["example.org", "127.0.0.1"]), "example.org", at));
    }
}
