//! Checks URLs: `https`, or plain HTTP to machines that the caller accepts, without a user name or password.

use std::net::IpAddr;

use crate::address_class::AddressClass;
use crate::host_locality::HostLocality;

/// The parts of a URL, as the parser that also sends the request has found them.
///
/// This crate parses no URLs: two parsers may disagree about the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlParts<'a> {
    /// The scheme in lower case, without a colon.
    pub scheme: &'a str,
    /// The host in lower case. An IPv6 address is in brackets.
    pub host: Option<&'a str>,
    /// The user name, or nothing.
    pub username: &'a str,
    /// The password.
    pub password: Option<&'a str>,
}

/// The hosts for which plain HTTP is accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// The [canonical spellings](crate::LOCALHOST_SPELLINGS) of this machine, for a URL that another party wrote.
    Localhost,
    /// Every loopback host, for a URL that the user or a server on this machine wrote.
    #[default]
    Loopback,
    /// Private addresses too ([`AddressClass::may_be_plain_http`]), and every name: the client must check each address
    /// that the name resolves to, and connect to that address.
    PrivateNetwork,
}

/// The reason why a URL is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlRefusal {
    /// The text is not a URL.
    NotAUrl,
    /// The URL has no host.
    NoHost,
    /// The scheme is neither `http` nor `https`.
    NotHttp,
    /// The URL contains a user name or a password.
    Credentials,
    /// Plain HTTP to another machine: every machine on the way could read it.
    PlainText,
}

impl UrlParts<'_> {
    /// Checks a URL that people are sent to, or that receives secrets.
    ///
    /// # Errors
    /// The first reason to refuse it. [`UrlRefusal::PlainText`] is the last one checked.
    pub fn check(&self, plain: PlainHttp) -> Result<(), UrlRefusal> {
        let Some(host) = self.host.filter(|host| !host.is_empty()) else { return Err(UrlRefusal::NoHost) };
        if !["http", "https"].contains(&self.scheme) {
            return Err(UrlRefusal::NotHttp);
        }
        if !self.username.is_empty() || self.password.is_some() {
            return Err(UrlRefusal::Credentials);
        }
        let locality = HostLocality::of(host);
        let is_here = match plain {
            PlainHttp::Localhost => locality == HostLocality::Localhost,
            PlainHttp::Loopback => locality.is_loopback(),
            PlainHttp::PrivateNetwork => {
                let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
                let address: Result<IpAddr, _> = bare.parse();
                address.map_or(true, |address| AddressClass::of(address).may_be_plain_http())
            }
        };
        if self.scheme == "https" || is_here { Ok(()) } else { Err(UrlRefusal::PlainText) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the results for [`PlainHttp::Localhost`] and [`PlainHttp::Loopback`].
    fn check(scheme: &str, host: &str) -> [Result<(), UrlRefusal>; 2] {
        let parts = UrlParts { scheme, host: Some(host), username: "", password: None };
        [PlainHttp::Localhost, PlainHttp::Loopback].map(|plain| parts.check(plain))
    }

    #[test]
    fn plain_http_in_private_networks_needs_a_private_address_or_a_name() {
        for (host, expected) in [
            ("localhost", true),
            ("ollama", true),
            ("gpu.example.org", true),
            ("127.0.0.1", true),
            ("[::1]", true),
            ("10.1.2.3", true),
            ("172.16.0.1", true),
            ("172.31.255.255", true),
            ("172.32.0.1", false),
            ("192.168.178.20", true),
            ("169.254.1.1", true),
            ("100.64.0.1", true),
            ("100.128.0.1", false),
            ("[fd00::1]", true),
            ("[fe80::1]", true),
            ("[::ffff:10.0.0.1]", true),
            ("[::ffff:8.8.8.8]", false),
            ("[64:ff9b::a00:1]", false),
            ("[2001:db8::1]", false),
            ("[2606:4700::1111]", false),
            ("8.8.8.8", false),
            ("192.0.2.7", false),
            ("168.63.129.16", false),
            ("0.0.0.0", false),
            ("[::]", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
        ] {
            let parts = UrlParts { scheme: "http", host: Some(host), username: "", password: None };
            let expected = if expected { Ok(()) } else { Err(UrlRefusal::PlainText) };
            assert_eq!(parts.check(PlainHttp::PrivateNetwork), expected, "{host}");
        }
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        let open = Err(UrlRefusal::PlainText);
        for (host, expected) in [
            ("localhost", [Ok(()), Ok(())]),
            ("127.0.0.1", [Ok(()), Ok(())]),
            ("[::1]", [Ok(()), Ok(())]),
            ("127.0.0.2", [open, Ok(())]),
            ("[::ffff:7f00:1]", [open, Ok(())]),
            ("app.localhost", [open, Ok(())]),
            ("localhost.", [open, open]),
            ("localhost6", [open, open]),
            ("0.0.0.0", [open, open]),
            ("[::]", [open, open]),
            ("[64:ff9b::7f00:1]", [open, open]),
            ("10.0.0.1", [open, open]),
            ("169.254.169.254", [open, open]),
            ("localhost.example.org", [open, open]),
            ("example.org", [open, open]),
        ] {
            assert_eq!(check("http", host), expected, "{host}");
            assert_eq!(check("https", host), [Ok(()); 2], "{host}");
        }
    }

    #[test]
    fn other_schemes_credentials_and_missing_hosts_are_refused() {
        let parts = UrlParts { scheme: "https", host: Some("example.org"), username: "", password: None };
        for (parts, expected) in [
            (parts, Ok(())),
            (UrlParts { host: None, ..parts }, Err(UrlRefusal::NoHost)),
            (UrlParts { host: Some(""), ..parts }, Err(UrlRefusal::NoHost)),
            (UrlParts { scheme: "ftp", ..parts }, Err(UrlRefusal::NotHttp)),
            (UrlParts { scheme: "HTTPS", ..parts }, Err(UrlRefusal::NotHttp)),
            (UrlParts { scheme: "ws", host: Some("localhost"), ..parts }, Err(UrlRefusal::NotHttp)),
            (UrlParts { username: "me", ..parts }, Err(UrlRefusal::Credentials)),
            (UrlParts { password: Some(""), ..parts }, Err(UrlRefusal::Credentials)),
            (UrlParts { scheme: "http", username: "me", ..parts }, Err(UrlRefusal::Credentials)),
        ] {
            assert_eq!(parts.check(PlainHttp::Loopback), expected, "{parts:?}");
        }
    }
}
