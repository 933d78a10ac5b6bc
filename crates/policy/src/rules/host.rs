//! Hosts that rules are about: a name, all names below one, or an address, and a port if it matters.

use std::fmt;
use std::net::IpAddr;

/// The longest name of a host, and of one part of it.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// A host as a rule names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    name: Name,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Address(IpAddr),
    /// Exactly this one.
    Is(String),
    /// All below this one, without itself.
    Below(String),
}

/// A host that somebody wants to talk to.
pub(super) struct Asked {
    address: Option<IpAddr>,
    name: String,
    port: u16,
}

impl Asked {
    pub(super) fn new(name: &str, port: u16) -> Self {
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let name = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
        Self { address: address(&name), name, port }
    }
}

/// An address; one of version 4 that is dressed as version 6 is the plain one.
fn address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

impl Host {
    /// Reads `example.org`, `*.example.org`, `192.0.2.1` or `[2001:db8::1]`, each with a port or without.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        if text.contains("://") || text.contains('/') {
            return Err("write the host alone, without `https://` and without a path");
        }
        if let Some(address) = address(text) {
            return Ok(Self { name: Name::Address(address), port: None });
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port_number(port)?)),
            None => (text, None),
        };
        Ok(Self { name: Name::read(name)?, port })
    }

    /// Whether the rule is about what somebody asks for.
    pub(super) fn is(&self, asked: &Asked) -> bool {
        let same = match &self.name {
            Name::Address(address) => asked.address == Some(*address),
            Name::Is(name) => asked.name == *name,
            Name::Below(name) => {
                let above = asked.name.strip_suffix(name.as_str()).and_then(|rest| rest.strip_suffix('.'));
                asked.address.is_none() && above.is_some_and(|above| !above.is_empty())
            }
        };
        same && self.port.is_none_or(|port| port == asked.port)
    }
}

impl Name {
    fn read(text: &str) -> Result<Self, &'static str> {
        if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            return match inner.parse::<std::net::Ipv6Addr>() {
                Ok(address) => Ok(Self::Address(IpAddr::V6(address).to_canonical())),
                Err(_) => Err("between `[` and `]` belongs an address, e.g. `[2001:db8::1]:443`"),
            };
        }
        if let Some(address) = address(text) {
            return match address {
                IpAddr::V4(_) => Ok(Self::Address(address)),
                IpAddr::V6(_) => Err("an address with a port needs brackets, e.g. `[2001:db8::1]:443`"),
            };
        }
        if text == "*" {
            return Err("a rule names hosts: write a name, or `*.name` for all below it");
        }
        let (below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        check(&name)?;
        Ok(if below { Self::Below(name) } else { Self::Is(name) })
    }
}

fn port_number(text: &str) -> Result<u16, &'static str> {
    const WRONG: &str = "a port is a number from 1 to 65535";
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port > 0).ok_or(WRONG)
}

fn check(name: &str) -> Result<(), &'static str> {
    let is_label = |label: &str| {
        let fits = !label.is_empty() && label.len() <= MAX_LABEL;
        let letters = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        fits && letters && !label.starts_with('-') && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    match name {
        "" => Err("it is empty; write a host, e.g. `*.example.org:443`"),
        _ if !name.is_ascii() => Err("write the name as it goes over the wire, with `xn--`"),
        _ if name.contains('*') => Err("a `*` stands alone before the first dot, e.g. `*.example.org`"),
        _ if name.len() > MAX_NAME || !name.split('.').all(is_label) => Err("that is no name of a host"),
        _ if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") => {
            Err("that looks like an address and is none; write all four numbers")
        }
        _ => Ok(()),
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.port) {
            (Name::Address(IpAddr::V6(address)), Some(_)) => write!(out, "[{address}]")?,
            (Name::Address(address), Some(_) | None) => write!(out, "{address}")?,
            (Name::Is(name), Some(_) | None) => write!(out, "{name}")?,
            (Name::Below(name), Some(_) | None) => write!(out, "*.{name}")?,
        }
        self.port.map_or(Ok(()), |port| write!(out, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_what_they_are_about() {
        for (rule, name, port, expected) in [
            ("example.org", "example.org", 443, true),
            ("Example.ORG", "eXample.org.", 443, true),
            ("example.org.", "example.org", 443, true),
            ("example.org", "www.example.org", 443, false),
            ("example.org:443", "example.org", 443, true),
            ("example.org:443", "example.org", 80, false),
            ("*.example.org", "www.example.org", 80, true),
            ("*.example.org", "a.b.example.org", 80, true),
            ("*.example.org", "example.org", 80, false),
            ("*.example.org", ".example.org", 80, false),
            ("*.example.org", "badexample.org", 80, false),
            ("*.example.org:443", "www.example.org", 80, false),
            ("192.0.2.1", "192.0.2.1", 80, true),
            ("192.0.2.1:80", "::ffff:192.0.2.1", 80, true),
            ("2001:db8::1", "2001:DB8:0::1", 80, true),
            ("2001:db8::1", "[2001:db8::1]", 80, true),
            ("[2001:db8::1]:80", "2001:db8::1", 80, true),
            ("[2001:db8::1]:80", "2001:db8::1", 81, false),
            ("localhost", "localhost", 80, true),
            ("my_host-1", "my_host-1", 80, true),
        ] {
            let host = Host::read(rule).unwrap();
            assert_eq!(host.is(&Asked::new(name, port)), expected, "{rule} {name}:{port}");
            assert_eq!(Host::read(&host.to_string()), Ok(host), "{rule}");
        }
    }

    #[test]
    fn what_is_no_host() {
        for (text, why) in [
            ("", "it is empty"),
            ("*", "a rule names hosts"),
            ("*.", "it is empty"),
            ("https://example.org", "write the host alone"),
            ("example.org/x", "write the host alone"),
            ("a*.example.org", "a `*` stands alone"),
            ("*.*.example.org", "a `*` stands alone"),
            ("example.org:0", "a port is"),
            ("example.org:65536", "a port is"),
            ("example.org:+80", "a port is"),
            ("example.org:", "a port is"),
            ("münchen.example", "write the name as it goes"),
            ("a..b", "that is no name"),
            ("-a.b", "that is no name"),
            ("a b", "that is no name"),
            ("127.1", "that looks like an address"),
            ("0x7f.0x1", "that looks like an address"),
            ("[::1", "that is no name"),
            ("[x]:1", "between `[` and `]`"),
        ] {
            let fault = Host::read(text).unwrap_err();
            assert!(fault.starts_with(why), "{text}: {fault}");
        }
    }
}
