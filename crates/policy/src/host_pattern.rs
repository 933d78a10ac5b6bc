//! Parses host patterns and decides which hosts a command may reach.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use crate::address_class::AddressClass;
use crate::host_locality::{HostLocality, is_numeric};

/// A host, or all hosts below a domain, on one port or on any.
///
/// ```
/// use toolgate_policy::HostPattern;
/// let host: HostPattern = "*.example.org:443".parse().unwrap();
/// assert!(host.covers("Static.Example.org.", 443));
/// assert!(!host.covers("example.org", 443));
/// assert!(!host.covers("static.example.org", 80));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPattern {
    target: HostTarget,
    /// `None` means any port.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum HostTarget {
    /// A name in lower case, without a trailing dot.
    Name(String),
    /// All names below this domain, but not the domain itself.
    Subdomains(String),
    Address(IpAddr),
}

/// The error for a text that is not a valid host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a host: {why}; write e.g. `example.org`, `example.org:443`, `*.example.org`, `192.0.2.7` or `[2001:db8::1]:443`"
)]
pub struct HostPatternFault {
    text: String,
    why: &'static str,
}

/// Maximum length of a DNS name.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

impl HostPattern {
    /// Returns true if the pattern matches `name`, a name or an address, on `port`.
    pub fn covers(&self, name: &str, port: u16) -> bool {
        if self.port.is_some_and(|only| only != port) {
            return false;
        }
        self.matches_any_port(name)
    }

    /// Returns true if the pattern matches `name` on some port.
    fn matches_any_port(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        match (&self.target, parse_address(name)) {
            (HostTarget::Address(ours), Some(theirs)) => *ours == theirs,
            (HostTarget::Name(ours), None) => ours.eq_ignore_ascii_case(name),
            (HostTarget::Subdomains(above), None) => is_subdomain(name, above),
            (HostTarget::Address(_), None) | (HostTarget::Name(_) | HostTarget::Subdomains(_), Some(_)) => {
                false
            }
        }
    }

    /// Returns true if the pattern is an address.
    fn is_address(&self) -> bool {
        matches!(self.target, HostTarget::Address(_))
    }

    /// Returns true if the pattern means this machine: `localhost` or a name below it.
    fn is_local(&self) -> bool {
        matches!(&self.target, HostTarget::Name(name) if HostLocality::of(name).is_loopback())
    }
}

fn is_subdomain(name: &str, above: &str) -> bool {
    let Some(at) = name.len().checked_sub(above.len()) else { return false };
    // Compares bytes: a name from the network may be cut inside a character.
    let (below, end) = name.as_bytes().split_at(at);
    let is_name = std::str::from_utf8(below).ok().and_then(|below| below.strip_suffix('.'));
    end.eq_ignore_ascii_case(above.as_bytes()) && is_name.is_some_and(is_valid_name) && name.len() <= MAX_NAME
}

/// Parses an address, with or without brackets. An IPv4-mapped IPv6 address becomes an IPv4 address.
fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = match bare {
        Some(bare) => IpAddr::V6(bare.parse().ok()?),
        None => text.parse().ok()?,
    };
    Some(address.to_canonical())
}

/// Returns true if `name` consists of letters, digits and hyphens between dots. Other characters could imitate a name.
fn is_valid_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(known)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= MAX_NAME && name.split('.').all(is_label)
}

impl FromStr for HostPattern {
    type Err = HostPatternFault;

    fn from_str(text: &str) -> Result<Self, HostPatternFault> {
        parse(text).map_err(|why| HostPatternFault { text: text.to_owned(), why })
    }
}

fn parse(text: &str) -> Result<HostPattern, &'static str> {
    if let Some(address) = parse_address(text) {
        return Ok(HostPattern { target: HostTarget::Address(address), port: None });
    }
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, Some(parse_port(port)?)),
        None => (text, None),
    };
    if let Some(address) = parse_address(name) {
        // `::1:80` as a whole is an address.
        let is_plain = address.is_ipv4() || name.starts_with('[');
        return if is_plain {
            Ok(HostPattern { target: HostTarget::Address(address), port })
        } else {
            Err(INVALID_NAME)
        };
    }
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let below = name.strip_prefix("*.");
    let bare = below.unwrap_or(&name);
    if bare.contains('*') {
        return Err("`*` may only stand before a whole name, for the hosts below it");
    }
    if !is_valid_name(bare) {
        return Err(INVALID_NAME);
    }
    if is_numeric(bare) {
        return Err("it looks like an IP address but is not one");
    }
    let target =
        if below.is_some() { HostTarget::Subdomains(bare.to_owned()) } else { HostTarget::Name(name) };
    Ok(HostPattern { target, port })
}

const INVALID_NAME: &str = "a name is letters, digits and hyphens between dots, in its ASCII spelling";

fn parse_port(text: &str) -> Result<u16, &'static str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|&port| digits && port != 0);
    port.ok_or("what follows `:` is a port from 1 to 65535")
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.target, self.port) {
            (HostTarget::Name(name), _) => f.write_str(name)?,
            (HostTarget::Subdomains(name), _) => write!(f, "*.{name}")?,
            (HostTarget::Address(IpAddr::V6(address)), Some(_)) => write!(f, "[{address}]")?,
            (HostTarget::Address(address), _) => write!(f, "{address}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The hosts that confined commands may reach although the network is not on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    /// The allowed hosts.
    pub allow: Vec<HostPattern>,
    /// Exceptions from the allowed hosts.
    pub forbid: Vec<HostPattern>,
}

impl HostRules {
    /// Returns true if `name`, a name or an address, may be reached on `port`.
    pub fn may_reach(&self, name: &str, port: u16) -> bool {
        let covers = |host: &HostPattern| host.covers(name, port);
        self.allow.iter().any(covers) && !self.forbid.iter().any(covers)
    }

    /// Returns true if `name` may be reached on some port. DNS lookups are checked this way, since they have no port.
    pub fn may_reach_some_port(&self, name: &str) -> bool {
        let closed = |host: &HostPattern| host.port.is_none() && host.matches_any_port(name);
        self.allow.iter().any(|host| host.matches_any_port(name)) && !self.forbid.iter().any(closed)
    }

    /// Returns true if `name` may be reached at the resolved address `at`.
    ///
    /// A DNS server can answer with any address, including one of this machine or its network. Such an address must be
    /// [listed](Self::allows_address).
    pub fn may_reach_address(&self, name: &str, at: SocketAddr) -> bool {
        let spelled = at.ip().to_canonical().to_string();
        self.may_reach(name, at.port())
            && !self.forbid.iter().any(|host| host.covers(&spelled, at.port()))
            && (AddressClass::of(at.ip()).is_public() || self.allows_address(name, at))
    }

    /// Returns true if this address itself is allowed, or if it is a loopback address and `localhost` or a name below
    /// it is allowed.
    pub fn allows_address(&self, name: &str, at: SocketAddr) -> bool {
        let address = at.ip().to_canonical();
        let spelled = address.to_string();
        let is_loopback = AddressClass::of(address) == AddressClass::Loopback;
        self.allow.iter().any(|host| match host.is_address() {
            true => host.covers(&spelled, at.port()),
            false => is_loopback && host.is_local() && host.covers(name, at.port()),
        })
    }

    /// Returns true if no host is allowed.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty()
    }
}

#[cfg(test)]
mod tests;
