//! Access control of the HTTP server. It decides by the head of a request, before any byte of its body is read.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method, StatusCode};
use policy::{AddressClass, HostLocality, LOCALHOST_SPELLINGS};
use sha2::{Digest, Sha256};

use super::http_server::PATH;
use super::parked_calls::{hex, random_bytes};

/// Minimum length of a token: 128 bits in hexadecimal.
const MIN_TOKEN_LENGTH: usize = 32;

/// The access requirement for clients.
pub enum AccessRequirement {
    /// This token, in an `Authorization: Bearer` header.
    Token(BearerToken),
    /// None: for tests with servers whose tools touch nothing.
    Anyone,
}

impl AccessRequirement {
    /// Returns whether a client with `token` is admitted.
    pub fn admits(&self, token: &[u8]) -> bool {
        match self {
            Self::Token(known) => known.matches(token),
            Self::Anyone => true,
        }
    }
}

/// A bearer token. Only its digest is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken([u8; 32]);

impl BearerToken {
    /// Returns 256 random bits as text, for the client.
    pub fn generate() -> io::Result<String> {
        Ok(hex(&random_bytes()?))
    }

    /// Returns the token for a text; `None` if it could be guessed, or is invalid in a header.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() >= MIN_TOKEN_LENGTH && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(Sha256::digest(text.as_bytes()).into()))
    }

    /// Compares in constant time.
    fn matches(&self, text: &[u8]) -> bool {
        let other: [u8; 32] = Sha256::digest(text).into();
        self.0.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Admits or rejects requests.
pub(super) struct RequestGuard {
    access: AccessRequirement,
    /// Lower-case values of accepted `Host` headers.
    hosts: Vec<String>,
}

/// The reason why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestRefusal {
    Host,
    Origin,
    Path,
    Method,
    Token,
    ContentType,
}

impl RequestRefusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Path => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Host => "the Host header does not name this server",
            Self::Origin => "pages of other origins may not call this server",
            Self::Path => "there is nothing here; the server is at /mcp",
            Self::Method => "only POST, GET and DELETE are understood",
            Self::Token => "the Authorization header must be `Bearer` and the token of this server",
            Self::ContentType => "the Content-Type must be application/json",
        }
    }
}

impl RequestGuard {
    /// Creates the guard of a server at `address` that also has the host names `names`.
    pub(super) fn new(access: AccessRequirement, address: SocketAddr, names: &[String]) -> Self {
        let port = address.port();
        let mut hosts: Vec<String> =
            LOCALHOST_SPELLINGS.iter().map(|host| format!("{host}:{port}")).collect();
        // An unspecified address (listening on all interfaces) is no host name.
        if AddressClass::of(address.ip()) != AddressClass::Unspecified {
            hosts.push(address.to_string());
        }
        for name in names {
            let name = name.to_ascii_lowercase();
            hosts.extend([format!("{name}:{port}"), name]);
        }
        Self { access, hosts }
    }

    /// Returns the accepted host names.
    pub(super) fn host_names(&self) -> &[String] {
        &self.hosts
    }

    /// Checks the head of a request.
    pub(super) fn admit(&self, head: &Parts) -> Result<(), RequestRefusal> {
        if !self.knows_host(head) {
            return Err(RequestRefusal::Host);
        }
        if !head.headers.get_all(ORIGIN).iter().all(|origin| origin.to_str().is_ok_and(is_loopback_origin)) {
            return Err(RequestRefusal::Origin);
        }
        if head.uri.path() != PATH {
            return Err(RequestRefusal::Path);
        }
        if ![Method::POST, Method::GET, Method::DELETE].contains(&head.method) {
            return Err(RequestRefusal::Method);
        }
        if !self.knows_token(&head.headers) {
            return Err(RequestRefusal::Token);
        }
        if head.method == Method::POST && !is_json(&head.headers) {
            return Err(RequestRefusal::ContentType);
        }
        Ok(())
    }

    /// Returns whether there is exactly one `Host` header and it names this server, and the request line agrees.
    fn knows_host(&self, head: &Parts) -> bool {
        let known = |host: &str| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        let mut named = head.headers.get_all(HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else { return false };
        host.to_str().is_ok_and(known) && head.uri.authority().is_none_or(|named| known(named.as_str()))
    }

    fn knows_token(&self, headers: &HeaderMap) -> bool {
        if let AccessRequirement::Anyone = self.access {
            return true;
        }
        let mut brought = headers.get_all(AUTHORIZATION).iter();
        let (Some(brought), None) = (brought.next(), brought.next()) else { return false };
        let brought = brought.as_bytes();
        let bearer = brought.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer "));
        bearer && self.access.admits(brought[7..].trim_ascii())
    }
}

/// Returns whether an origin is on loopback.
fn is_loopback_origin(origin: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let Some(Ok(authority)) = rest.map(str::parse::<Authority>) else { return false };
    if authority.as_str().contains('@') {
        return false;
    }
    // Names below `localhost` and mapped addresses are no origins of local tools: browsers write the address itself.
    match HostLocality::of(&authority.host().to_ascii_lowercase()) {
        HostLocality::Localhost | HostLocality::LoopbackAddress => true,
        HostLocality::MappedLoopback
        | HostLocality::BelowLocalhost
        | HostLocality::Ambiguous
        | HostLocality::Elsewhere => false,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const TEXT: &str = "0123456789abcdef0123456789abcdef";

    fn admit_request(line: (&str, &str), headers: &[(&str, &str)]) -> Result<(), RequestRefusal> {
        let entry = AccessRequirement::Token(BearerToken::parse(TEXT).unwrap());
        let guard =
            RequestGuard::new(entry, "127.0.0.1:8080".parse().unwrap(), &["Build.example.org".to_owned()]);
        let mut request = Request::builder().method(line.0).uri(line.1);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.admit(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn requests_are_admitted_by_their_head() {
        const POST: (&str, &str) = ("POST", "/mcp");
        let good = format!("Bearer {TEXT}");
        let json = ("content-type", "application/json; charset=utf-8");
        let (host, token) = (("host", "127.0.0.1:8080"), ("authorization", good.as_str()));
        for host in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080", "build.example.org"]
        {
            assert_eq!(admit_request(POST, &[("host", host), token, json]), Ok(()), "{host}");
        }
        for host in [
            "evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:8080.evil.example", "",
            "a@localhost:8080",
        ] {
            assert_eq!(
                admit_request(POST, &[("host", host), token, json]),
                Err(RequestRefusal::Host),
                "{host}"
            );
        }
        assert_eq!(admit_request(POST, &[token, json]), Err(RequestRefusal::Host));
        assert_eq!(admit_request(POST, &[host, host, token, json]), Err(RequestRefusal::Host));
        assert_eq!(
            admit_request(("POST", "http://evil.example/mcp"), &[host, token, json]),
            Err(RequestRefusal::Host)
        );
        for origin in [
            "http://localhost", "http://localhost:3000", "https://127.0.0.1:1", "http://[::1]:5",
            "http://127.0.0.2", "http://LocalHost",
        ] {
            assert_eq!(admit_request(POST, &[host, ("origin", origin), token, json]), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://localhost.evil.example",
            "file://",
            "http://localhost@evil.example",
            "http://app.localhost",
            "http://localhost.",
            "http://0.0.0.0",
            "http://[::ffff:127.0.0.1]",
            "http://127.1",
        ] {
            let head = &[host, ("origin", origin), token, json];
            assert_eq!(admit_request(POST, head), Err(RequestRefusal::Origin), "{origin}");
        }
        for path in ["/", "//mcp", "/mcp/", "/MCP", "/%6dcp", "/./mcp", "/mcp/../mcp"] {
            assert_eq!(
                admit_request(("POST", path), &[host, token, json]),
                Err(RequestRefusal::Path),
                "{path}"
            );
        }
        let short = format!("Bearer {}", &TEXT[1..]);
        let other = format!("Bearer {}", TEXT.replace('0', "1"));
        for wrong in ["", "Bearer", "Bearer ", TEXT, &short, &other, "Basic eDp5"] {
            assert_eq!(
                admit_request(POST, &[host, ("authorization", wrong), json]),
                Err(RequestRefusal::Token),
                "{wrong}"
            );
        }
        assert_eq!(admit_request(POST, &[host, json]), Err(RequestRefusal::Token));
        assert_eq!(admit_request(POST, &[host, token, token, json]), Err(RequestRefusal::Token));
        assert_eq!(admit_request(("PUT", "/mcp"), &[host, token]), Err(RequestRefusal::Method));
        assert_eq!(
            admit_request(POST, &[host, token, ("content-type", "text/plain")]),
            Err(RequestRefusal::ContentType)
        );
        assert_eq!(admit_request(("GET", "/mcp"), &[host, token]), Ok(()));
    }

    #[test]
    fn the_address_itself_is_a_name() {
        let hosts = |address: &str| {
            RequestGuard::new(AccessRequirement::Anyone, address.parse().unwrap(), &[]).host_names().to_vec()
        };
        assert!(hosts("127.0.0.2:80").contains(&"127.0.0.2:80".to_owned()));
        assert!(hosts("[fd00::1]:80").contains(&"[fd00::1]:80".to_owned()));
        assert!(!hosts("0.0.0.0:80").contains(&"0.0.0.0:80".to_owned()));
        assert!(!hosts("[::ffff:0.0.0.0]:80").iter().any(|host| host.contains("ffff")));
    }

    #[test]
    fn weak_tokens_are_rejected_and_tokens_are_not_printed() {
        assert_eq!((BearerToken::parse("secret"), BearerToken::parse(&" ".repeat(64))), (None, None));
        let fresh = BearerToken::generate().unwrap();
        assert_eq!(fresh.len(), 64);
        assert_eq!(format!("{:?}", BearerToken::parse(&fresh).unwrap()), "Token(…)");
    }
}
