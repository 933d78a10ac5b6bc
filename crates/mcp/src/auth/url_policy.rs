//! URL policy of OAuth: the URLs that receive tokens and that users are sent to.

use std::net::IpAddr;

use reqwest::Url;

/// Maximum length of a URL.
const LONGEST: usize = 8 << 10;

/// The reason why a URL is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum UrlPolicyFault {
    #[error("is no URL")]
    Unreadable,
    #[error("is neither `https` nor on this machine")]
    Open,
    #[error("has a user name or a password in it")]
    Named,
    #[error("is on this machine, and the server is not")]
    Inside,
}

/// Parses the URL of a server that receives a token: `https`, or loopback.
pub(super) fn parse_server_url(text: &str) -> Result<Url, UrlPolicyFault> {
    let url = Url::parse(text).map_err(|_| UrlPolicyFault::Unreadable)?;
    let host = url.host_str().filter(|_| text.len() <= LONGEST).ok_or(UrlPolicyFault::Unreadable)?;
    match url.scheme() {
        "https" => {}
        "http" if is_here(host) => {}
        _ => return Err(UrlPolicyFault::Open),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlPolicyFault::Named);
    }
    Ok(url)
}

/// Parses a URL that the server named, with the same policy; loopback only if the server itself is on loopback.
pub(super) fn parse_endpoint_url(text: &str, server_url: &Url) -> Result<Url, UrlPolicyFault> {
    let url = parse_server_url(text)?;
    let here = |url: &Url| url.host_str().is_some_and(is_here);
    if here(&url) && !here(server_url) {
        return Err(UrlPolicyFault::Inside);
    }
    Ok(url)
}

/// Returns whether a URL points to this machine (loopback).
pub(super) fn is_loopback_url(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(is_here))
}

fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    is_loopback || bare == "localhost" || bare.ends_with(".localhost")
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
            ("http://mcp.example.com/mcp", Err(UrlPolicyFault::Open)),
            ("http://127.0.0.1.example.com/", Err(UrlPolicyFault::Open)),
            ("http://localhost.example.com/", Err(UrlPolicyFault::Open)),
            ("file:///etc/passwd", Err(UrlPolicyFault::Unreadable)),
            ("javascript:alert(1)", Err(UrlPolicyFault::Unreadable)),
            ("ftp://example.com/", Err(UrlPolicyFault::Open)),
            ("https://user:word@example.com/", Err(UrlPolicyFault::Named)),
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
        assert_eq!(parse_endpoint_url("http://127.0.0.1:9/authorize", &far), Err(UrlPolicyFault::Inside));
        assert_eq!(parse_endpoint_url("https://localhost/authorize", &far), Err(UrlPolicyFault::Inside));
        assert!(parse_endpoint_url("http://127.0.0.1:9/authorize", &near).is_ok());
        assert!(parse_endpoint_url("https://id.example.com/authorize", &near).is_ok());
    }

    #[test]
    fn an_address_has_nothing_in_it_that_a_terminal_obeys() {
        let url = parse_server_url("https://example.com/a\u{1b}[2Jb c?x=\"`$(id)`\"").unwrap();
        assert!(url.as_str().chars().all(|letter| letter.is_ascii_graphic()), "{url}");
    }
}
