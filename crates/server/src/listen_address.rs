//! Parses the address at which a server listens, and refuses addresses that other machines may reach.

use std::io;
use std::net::SocketAddr;

use runtime::{HostLocality, LOCALHOST};

use config::OperationFault;

/// Parses an address of this machine and a port.
pub fn parse_listen_address(text: &str) -> Result<SocketAddr, String> {
    // `localhost` always means 127.0.0.1 here, whatever a resolver returns.
    let numbers = match text.strip_prefix(LOCALHOST).and_then(|rest| rest.strip_prefix(':')) {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numbers.parse().map_err(|_| {
        "it takes an address of this machine and a port, e.g. 127.0.0.1:8717 or localhost:8717".to_owned()
    })
}

/// Refuses an address that other machines may reach: the connection is not encrypted.
pub(crate) fn require_loopback(address: SocketAddr) -> Result<(), OperationFault> {
    match HostLocality::of_address(address.ip()) {
        HostLocality::Localhost | HostLocality::LoopbackAddress => Ok(()),
        // The unspecified address listens on all interfaces. A mapped one listens where its family does not say.
        HostLocality::MappedLoopback
        | HostLocality::BelowLocalhost
        | HostLocality::Ambiguous
        | HostLocality::Elsewhere => Err(OperationFault::usage(format!(
            "`{address}` can be reached from other machines, and nothing encrypts what is said"
        ))),
    }
}

/// Returns the fault of a server that cannot listen, for example `at 127.0.0.1:80`. An address in use is no fault of
/// the command line.
pub(crate) fn bind_fault(place: &str, error: &io::Error) -> OperationFault {
    let message = format!("cannot serve {place}: {error}");
    match error.kind() {
        io::ErrorKind::AddrInUse => OperationFault::busy(message),
        _ => OperationFault::usage(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses_are_read_as_people_write_them() {
        for (text, expected) in [
            ("127.0.0.1:8717", Some("127.0.0.1:8717")),
            ("localhost:0", Some("127.0.0.1:0")),
            ("[::1]:80", Some("[::1]:80")),
            ("localhost", None),
            ("example.org:80", None),
            ("", None),
        ] {
            assert_eq!(
                parse_listen_address(text).ok().map(|found| found.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn only_loopback_addresses_are_private() {
        for (address, expected) in [
            ("127.0.0.1:1", true),
            ("127.0.0.2:1", true),
            ("[::1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("[::ffff:127.0.0.1]:1", false),
            ("[64:ff9b::127.0.0.1]:1", false),
            ("192.168.1.1:1", false),
            ("8.8.8.8:1", false),
        ] {
            assert_eq!(require_loopback(address.parse().unwrap()).is_ok(), expected, "{address}");
        }
    }
}
