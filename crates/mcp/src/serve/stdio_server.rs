//! Serves one client over standard input and output.

use std::future::Future;
use std::io;
use std::sync::Arc;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, ServerInitializeError, serve_server_with_ct};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio_util::sync::CancellationToken;

use super::SharedServerState;
use super::request_handler::McpRequestHandler;
use super::tool_host::ToolHost;

/// The reason why serving a client failed.
#[derive(Debug, thiserror::Error)]
pub enum ServeFault {
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The client does not begin as the protocol requires.
    #[error("the client does not speak the protocol: {0}")]
    Client(String),
}

/// Serves the client until it leaves, or until `stop`.
pub async fn serve_stdio(host: Arc<dyn ToolHost>, stop: CancellationToken) -> Result<(), ServeFault> {
    let (input, output) = stdio_pipes();
    serve_transport(host, AsyncRwTransport::new(input, output), &stop).await
}

async fn serve_transport<T>(
    host: Arc<dyn ToolHost>,
    transport: T,
    stop: &CancellationToken,
) -> Result<(), ServeFault>
where
    T: Transport<RoleServer> + 'static,
{
    let handler = McpRequestHandler::new(&SharedServerState::new(Arc::clone(&host))?);
    let closed = stop.child_token();
    let client = PipeTransport { inner: transport, host, closed: closed.clone(), session_begun: false };
    match serve_server_with_ct(handler, client, closed.clone()).await {
        Ok(running) => {
            running.waiting().await.map_err(io::Error::other)?;
            Ok(())
        }
        // The client left before its first request, or before the answer.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(_) if closed.is_cancelled() => Ok(()),
        Err(ServerInitializeError::InitializeFailed(error)) => {
            Err(ServeFault::Client(error.message.into_owned()))
        }
        Err(_) => Err(ServeFault::Client("it does not begin with a request".to_owned())),
    }
}

/// The transport of a client at a pipe. A failed write counts as its departure, and messages before its first request
/// are ignored.
struct PipeTransport<T> {
    inner: T,
    host: Arc<dyn ToolHost>,
    closed: CancellationToken,
    session_begun: bool,
}

impl<T: Transport<RoleServer> + 'static> Transport<RoleServer> for PipeTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (sent, over) = (self.inner.send(message), self.closed.clone());
        async move { sent.await.inspect_err(|_| over.cancel()) }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // ends: with the client, or with the first message that counts
        loop {
            let Some(message) = self.inner.receive().await else {
                self.host.on_client_left();
                return None;
            };
            match &message {
                ClientJsonRpcMessage::Request(request) => {
                    self.session_begun |= begins_session(&request.request);
                    return Some(message);
                }
                _ if self.session_begun => return Some(message),
                _ => tracing::debug!("a client said something before its first request"),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Returns whether a request begins a session. In the newer era, any request with a protocol version does.
fn begins_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => other.get_meta().protocol_version().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
    use tokio::time::timeout;

    use super::super::test_host::EmptyHost;
    use super::*;

    const ENOUGH: Duration = Duration::from_secs(20);

    /// Serves a client that sends `lines`. Returns the first `answers` responses, and the result.
    async fn serve_lines(lines: &[Value], answers: usize) -> (Vec<Value>, Result<(), ServeFault>) {
        let (ours, theirs) = duplex(1 << 20);
        let stop = CancellationToken::new();
        let (input, output) = split(ours);
        let serving = serve_transport(Arc::new(EmptyHost(0)), AsyncRwTransport::new(input, output), &stop);
        let (serving, told) = tokio::join!(serving, talked(theirs, lines, answers));
        (told, serving)
    }

    async fn talked(theirs: DuplexStream, lines: &[Value], answers: usize) -> Vec<Value> {
        let (output, mut input) = split(theirs);
        for line in lines {
            input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        let (mut told, mut output) = (Vec::new(), BufReader::new(output).lines());
        for _ in 0..answers {
            let line = timeout(ENOUGH, output.next_line()).await.unwrap().unwrap().unwrap();
            told.push(serde_json::from_str(&line).unwrap());
        }
        told
    }

    fn hello() -> Value {
        let client = json!({"name": "c", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    }

    #[tokio::test]
    async fn messages_before_the_first_request_are_ignored() {
        let stray = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let answer = json!({"jsonrpc": "2.0", "id": 9, "result": {}});
        let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
        let (told, served) = serve_lines(&[stray.clone(), answer, ping, stray, hello()], 2).await;
        assert_eq!(told[1]["result"]["serverInfo"]["name"], "nothing 0");
        assert!(served.is_ok(), "{served:?}");
    }

    #[tokio::test]
    async fn a_request_that_does_not_fit_is_told_so_in_words() {
        let ask = |id: u32, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let lines = [
            hello(),
            ask(2, "tools/call", json!({"arguments": {}})),
            ask(3, "tools/call", json!({"name": 7})),
            json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call"}),
            ask(5, "tools/steal", json!({})),
        ];
        let (mut told, _) = serve_lines(&lines, 5).await;
        told.sort_by_key(|told| told["id"].as_u64());
        let said: Vec<String> = told[1..]
            .iter()
            .map(|told| format!("{} {}", told["error"]["code"], told["error"]["message"]))
            .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        -32602 "the params of `tools/call` do not fit: missing field `name`"
        -32602 "the params of `tools/call` do not fit: invalid type: integer `7`, expected a string"
        -32602 "the params of `tools/call` do not fit: there are none"
        -32601 "there is no method `tools/steal` here"
        "#);
    }

    #[tokio::test]
    async fn a_client_that_cannot_be_written_to_has_left() {
        let (input, mut says) = duplex(1 << 16);
        let (output, hears) = duplex(1 << 16);
        drop(hears);
        let stop = CancellationToken::new();
        let serving = serve_transport(Arc::new(EmptyHost(0)), AsyncRwTransport::new(input, output), &stop);
        says.write_all(format!("{}\n", hello()).as_bytes()).await.unwrap();
        let served = timeout(ENOUGH, serving).await.expect("it ends although its input does not");
        assert!(served.is_ok(), "{served:?}");
    }
}
