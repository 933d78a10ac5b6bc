//! Loopback listener for the browser's OAuth callback, for one visit.

use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const CALLBACK_PATH: &str = "/callback";
/// Maximum bytes and time of a request.
const MAX_HEAD_BYTES: usize = 16 << 10;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of unrelated requests before the listener gives up.
const MAX_UNRELATED_REQUESTS: usize = 100;

/// The page for every visit, whatever its parameters.
const PAGE: &str = "<!doctype html><meta charset=\"utf-8\"><title>toolgate</title>\
    <p>You can close this page. Toolgate says whether it worked.</p>";

/// A listener for the callback.
pub(super) struct RedirectListener {
    listener: TcpListener,
    address: String,
}

impl RedirectListener {
    /// Listens on a random port.
    pub(super) async fn bind() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?.to_string();
        Ok(Self { listener, address })
    }

    /// Returns the redirect URI.
    pub(super) fn redirect_uri(&self) -> String {
        format!("http://{}{CALLBACK_PATH}", self.address)
    }

    /// Waits for the first callback and returns its URL. The port is closed after that.
    pub(super) async fn wait_for_visit(self) -> Option<Url> {
        for _ in 0..MAX_UNRELATED_REQUESTS {
            let (stream, _) = self.listener.accept().await.ok()?;
            if let Ok(Some(url)) = timeout(REQUEST_TIMEOUT, self.handle_visit(stream)).await {
                return Some(url);
            }
        }
        None
    }

    async fn handle_visit(&self, mut stream: TcpStream) -> Option<Url> {
        let head = read_head(&mut stream).await?;
        let mut lines = head.lines();
        let mut words = lines.next()?.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let host =
            lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("host"));
        // A Host header with another name indicates DNS rebinding.
        let is_ours = host.is_some_and(|(_, host)| host.trim() == self.address);
        let url = Url::parse(&format!("http://{}{target}", self.address)).ok();
        let url = url.filter(|url| is_ours && method == "GET" && url.path() == CALLBACK_PATH);
        let status = if url.is_some() { "200 OK" } else { "404 Not Found" };
        let body = if url.is_some() { PAGE } else { "" };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
             cache-control: no-store\r\nreferrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'\r\n\
             connection: close\r\n\r\n{body}",
            body.len()
        );
        // It does not matter whether the browser receives the answer.
        let _heard = stream.write_all(answer.as_bytes()).await;
        let _closed = stream.shutdown().await;
        url
    }
}

/// Reads the head of a request as text.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 2 << 10];
    // ends: with the head, or when it is too long
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        if bytes.len() > MAX_HEAD_BYTES {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn visit(address: &str, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_first_visit_is_the_last() {
        let redirect = RedirectListener::bind().await.unwrap();
        let address = redirect.address.clone();
        let of = |target: &str, host: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let visits = async {
            assert!(visit(&address, &of("/favicon.ico", &address)).await.starts_with("HTTP/1.1 404"));
            assert!(
                visit(&address, &of("/callback?code=x", "evil.example")).await.starts_with("HTTP/1.1 404")
            );
            visit(&address, &of("/callback?code=<script>&state=s", &address)).await
        };
        let (visited, answer) = tokio::join!(redirect.wait_for_visit(), visits);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(PAGE), "{answer}");
        assert_eq!(visited.unwrap().query(), Some("code=%3Cscript%3E&state=s"));
        assert!(TcpStream::connect(&address).await.is_err());
    }
}
