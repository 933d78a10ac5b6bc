//! Parses URLs of servers, their endpoints and pages for users: only HTTPS, or HTTP on this machine.

use http_client::locality;
use policy::{PlainHttp, UrlRefusal};
use reqwest::Url;

/// Maximum length of a URL.
const MAX_URL_BYTES: usize = 8 << 10;

/// The reason why a URL is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UrlPolicyFault {
    #[error("is not a URL")]
    Unreadable,
    #[error("is neither `https` nor on this machine")]
    Insecure,
    #[error("has a user name or a password in it")]
    HasCredentials,
    #[error("is on this machine, and the server is not")]
    LoopbackEndpoint,
}

impl From<UrlRefusal> for UrlPolicyFault {
    fn from(refusal: UrlRefusal) -> Self {
        match refusal {
            UrlRefusal::NotAUrl | UrlRefusal::NoHost => Self::Unreadable,
            UrlRefusal::NotHttp | UrlRefusal::PlainText => Self::Insecure,
            UrlRefusal::Credentials => Self::HasCredentials,
        }
    }
}

/// Parses the URL of a server that receives a token: `https`, or loopback.
pub(crate) fn parse_server_url(text: &str) -> Result<Url, UrlPolicyFault> {
    parse_url(text, PlainHttp::Loopback)
}

/// Parses a URL that the server named, with the same policy; this machine only if the server itself is on it.
pub(crate) fn parse_endpoint_url(text: &str, server_url: &Url) -> Result<Url, UrlPolicyFault> {
    let url = parse_server_url(text)?;
    let (endpoint, server) = (locality(&url), locality(server_url));
    // A host that only some programs take for this machine is refused too, unless the server's is one.
    if endpoint.is_loopback() && !server.is_loopback() || endpoint.may_be_here() && !server.may_be_here() {
        return Err(UrlPolicyFault::LoopbackEndpoint);
    }
    Ok(url)
}

/// Parses the URL of a page that a server asks the user to open: `https`, or a canonical spelling of this machine.
pub(crate) fn parse_page_url(text: &str) -> Result<Url, UrlPolicyFault> {
    parse_url(text, PlainHttp::Localhost)
}

fn parse_url(text: &str, plain: PlainHttp) -> Result<Url, UrlPolicyFault> {
    let url =
        Url::parse(text).ok().filter(|_| text.len() <= MAX_URL_BYTES).ok_or(UrlPolicyFault::Unreadable)?;
    http_client::check_url(&url, plain)?;
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_url_must_be_https_or_loopback() {
        let rows = [
            ("https://mcp.example.com/mcp", Ok(())),
            ("http://127.0.0.1:8080/mcp", Ok(())),
            ("http://[::1]:8080/", Ok(())),
            ("http://localhost/", Ok(())),
            ("http://app.localhost/", Ok(())),
            ("http://127.1/", Ok(())),
            ("http://0x7f000001/", Ok(())),
            ("http://LOCALHOST/", Ok(())),
            ("http://localhost./", Err(UrlPolicyFault::Insecure)),
            ("http://.localhost/", Err(UrlPolicyFault::Insecure)),
            ("http://0.0.0.0/", Err(UrlPolicyFault::Insecure)),
            ("http://[64:ff9b::127.0.0.1]/", Err(UrlPolicyFault::Insecure)),
            ("http://mcp.example.com/mcp", Err(UrlPolicyFault::Insecure)),
            ("http://127.0.0.1.example.com/", Err(UrlPolicyFault::Insecure)),
            ("http://localhost.example.com/", Err(UrlPolicyFault::Insecure)),
            ("file:///etc/passwd", Err(UrlPolicyFault::Unreadable)),
            ("javascript:alert(1)", Err(UrlPolicyFault::Unreadable)),
            ("ftp://example.com/", Err(UrlPolicyFault::Insecure)),
            ("https://user:word@example.com/", Err(UrlPolicyFault::HasCredentials)),
            ("-h", Err(UrlPolicyFault::Unreadable)),
            ("", Err(UrlPolicyFault::Unreadable)),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_server_url(text).map(|_| ()), expected, "{text}");
        }
    }

    #[test]
    fn a_remote_server_cannot_name_loopback_endpoints() {
        let far = parse_server_url("https://mcp.example.com").unwrap();
        let near = parse_server_url("http://127.0.0.1:1").unwrap();
        assert_eq!(
            parse_endpoint_url("http://127.0.0.1:9/authorize", &far),
            Err(UrlPolicyFault::LoopbackEndpoint)
        );
        assert_eq!(
            parse_endpoint_url("https://localhost/authorize", &far),
            Err(UrlPolicyFault::LoopbackEndpoint)
        );
        for host in
            ["localhost.", "localhost6", "0.0.0.0", "0", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]"]
        {
            let endpoint = format!("https://{host}/authorize");
            assert_eq!(parse_endpoint_url(&endpoint, &far), Err(UrlPolicyFault::LoopbackEndpoint), "{host}");
            assert!(parse_endpoint_url(&endpoint, &near).is_ok(), "{host}");
        }
        let unsure = parse_server_url("https://0.0.0.0").unwrap();
        assert!(parse_endpoint_url("https://0.0.0.0/authorize", &unsure).is_ok());
        assert_eq!(
            parse_endpoint_url("https://127.0.0.1/authorize", &unsure),
            Err(UrlPolicyFault::LoopbackEndpoint)
        );
        assert!(parse_endpoint_url("http://127.0.0.1:9/authorize", &near).is_ok());
        assert!(parse_endpoint_url("https://id.example.com/authorize", &near).is_ok());
    }

    #[test]
    fn an_address_has_nothing_in_it_that_a_terminal_obeys() {
        let url = parse_server_url("https://example.com/a\u{1b}[2Jb c?x=\"`$(id)`\"").unwrap();
        assert!(url.as_str().chars().all(|letter| letter.is_ascii_graphic()), "{url}");
    }

    #[test]
    fn addresses_are_what_a_browser_makes_of_them() {
        let rows = [
            ("https://example.org/x", Some("https://example.org/x")),
            ("https://evil.example\\@github.com/login", Some("https://evil.example/@github.com/login")),
            ("https:/evil.example://github.com/login", Some("https://evil.example//github.com/login")),
            ("javascript:alert(1)//://github.com/", None),
            ("http://example.org", None),
            ("http://localhost:3000/", Some("http://localhost:3000/")),
            ("http://127.0.0.2:3000/", None),
            ("http://app.localhost:3000/", None),
            ("http://localhost.:3000/", None),
            ("https://user:pass@example.org/", None),
            ("https://gіthub.com/", Some("https://xn--gthub-n2e.com/")),
        ];
        for (url, expected) in rows {
            assert_eq!(parse_page_url(url).ok().as_ref().map(Url::as_str), expected, "{url}");
        }
    }
}
