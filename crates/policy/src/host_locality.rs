//! Decides whether a host, written as in a URL, is this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::address_class::{AddressClass, embedded_v4};

/// The name of this machine in every hosts file.
pub const LOCALHOST: &str = "localhost";

/// The spellings of this machine on which all programs and resolvers agree.
pub const LOCALHOST_SPELLINGS: [&str; 3] = [LOCALHOST, "127.0.0.1", "[::1]"];

/// The relation of a host to this machine, by its spelling alone: nothing is resolved.
///
/// Allow-lists take [`Localhost`](Self::Localhost), or [`is_loopback`](Self::is_loopback). Deny-lists take
/// [`may_be_here`](Self::may_be_here). No spelling shows the machine's own host name or its public addresses.
///
/// ```
/// use toolgate_policy::HostLocality;
/// assert_eq!(HostLocality::of("[::1]"), HostLocality::Localhost);
/// assert!(!HostLocality::of("localhost.").is_loopback());
/// assert!(HostLocality::of("localhost.").may_be_here());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostLocality {
    /// One of [`LOCALHOST_SPELLINGS`], or its address.
    Localhost,
    /// Another loopback address, or another spelling of one: `127.0.0.2`, `[0::1]`.
    LoopbackAddress,
    /// A loopback address in an IPv4-mapped spelling: `[::ffff:127.0.0.1]`.
    MappedLoopback,
    /// A name below `localhost`. Browsers take it for this machine; some resolvers ask DNS for it.
    BelowLocalhost,
    /// A host that leads to this machine for some programs: `localhost.`, `LOCALHOST`, `localhost6`, `0.0.0.0`, `127.1`,
    /// `::1` without brackets, and any text that a URL parser does not write.
    Ambiguous,
    /// Another host.
    Elsewhere,
}

impl HostLocality {
    /// Classifies `host`, a name in lower case, an IPv4 address, or an IPv6 address in brackets.
    pub fn of(host: &str) -> Self {
        if LOCALHOST_SPELLINGS.contains(&host) {
            return Self::Localhost;
        }
        match parse_address(host).map(Self::of_address) {
            Some(Self::Localhost) => return Self::LoopbackAddress,
            Some(locality) => return locality,
            None => {}
        }
        if host.is_empty() || !host.bytes().all(is_host_byte) {
            return Self::Ambiguous;
        }
        if is_below_localhost(host) {
            return Self::BelowLocalhost;
        }
        if is_ambiguous(host) { Self::Ambiguous } else { Self::Elsewhere }
    }

    /// Classifies an address.
    pub fn of_address(address: IpAddr) -> Self {
        match AddressClass::of(address) {
            AddressClass::Loopback if address != address.to_canonical() => Self::MappedLoopback,
            AddressClass::Loopback if [LOOPBACK_V4, LOOPBACK_V6].contains(&address) => Self::Localhost,
            AddressClass::Loopback => Self::LoopbackAddress,
            AddressClass::Unspecified => Self::Ambiguous,
            // A gateway on this machine may translate the address back to loopback.
            AddressClass::Translated if is_translated_loopback(address) => Self::Ambiguous,
            AddressClass::Private
            | AddressClass::LinkLocal
            | AddressClass::CarrierNat
            | AddressClass::CloudInternal
            | AddressClass::Multicast
            | AddressClass::Documentation
            | AddressClass::Translated
            | AddressClass::Reserved
            | AddressClass::Public => Self::Elsewhere,
        }
    }

    /// Returns true if the host is this machine. Use it to allow what other machines may not do or receive.
    pub fn is_loopback(self) -> bool {
        match self {
            Self::Localhost | Self::LoopbackAddress | Self::MappedLoopback | Self::BelowLocalhost => true,
            Self::Ambiguous | Self::Elsewhere => false,
        }
    }

    /// Returns true if the host may lead to this machine. Use it to forbid hosts on this machine.
    pub fn may_be_here(self) -> bool {
        self.is_loopback() || self == Self::Ambiguous
    }
}

const LOOPBACK_V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const LOOPBACK_V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Names of this machine in the hosts files of some systems.
const OTHER_NAMES: &[&str] = &[
    LOCALHOST, "localhost4", "localhost6", "localhost.localdomain", "localhost4.localdomain4",
    "localhost6.localdomain6", "ip6-localhost", "ip6-loopback", "ipv6-localhost", "ipv6-loopback",
    "loopback",
];

/// Parses an IPv4 address, or an IPv6 address in brackets.
fn parse_address(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(bare) => bare.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte)
}

/// Returns true for names below `localhost` in lower case, without empty labels.
fn is_below_localhost(host: &str) -> bool {
    let below = host.strip_suffix(LOCALHOST).and_then(|below| below.strip_suffix('.'));
    let is_label = |label: &str| !label.is_empty() && !label.bytes().any(|byte| byte.is_ascii_uppercase());
    below.is_some_and(|below| below.split('.').all(is_label))
}

/// Returns true if some program reads `host` as this machine or as an address.
fn is_ambiguous(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
    match bare.parse::<IpAddr>() {
        Ok(address) => HostLocality::of_address(address).may_be_here(),
        Err(_) => {
            OTHER_NAMES.contains(&bare.as_str())
                || bare.ends_with(".localhost")
                || is_numeric(&bare)
                || bare.contains([':', '[', ']'])
        }
    }
}

/// Returns true if a resolver would take a name for an address in another notation, e.g. `127.1` or `0x7f000001`.
pub(crate) fn is_numeric(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    let hex = last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hex || last.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true if a gateway may translate `address` to this machine.
fn is_translated_loopback(address: IpAddr) -> bool {
    let IpAddr::V6(address) = address else { return false };
    // Without a known position, the IPv4 address may be any.
    embedded_v4(address).is_none_or(|inner| {
        matches!(AddressClass::of(IpAddr::V4(inner)), AddressClass::Loopback | AddressClass::Unspecified)
    })
}

/// Top-level domains without machines on the internet.
const LOCAL_DOMAINS: &[&str] = &["arpa", LOCALHOST, "local", "internal", "localdomain"];

/// Returns true if `name`, in lower case, can be a machine on the internet: it has a domain, which is no local one.
pub fn is_internet_name(name: &str) -> bool {
    let domain = name.rsplit_once('.').map(|(_, domain)| domain);
    domain.is_some_and(|domain| !LOCAL_DOMAINS.contains(&domain))
}

#[cfg(test)]
mod tests;
