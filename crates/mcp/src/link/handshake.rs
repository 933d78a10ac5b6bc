//! Handshake with a slow program: ignores a late answer to the discovery probe.
//!
//! `rmcp` first probes whether a server speaks the newer protocol. After ten seconds without an answer it sends the
//! `initialize` request of the older one. A program that starts reading only then answers both, in that order.

use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;

/// A transport that several handshakes use, one after another.
pub(super) struct ReusableTransport<T> {
    inner: Arc<Mutex<TransportSlot<T>>>,
}

struct TransportSlot<T> {
    /// The transport, while no handshake uses it.
    transport: Option<T>,
    /// The server answered the probe after the `initialize` request was sent: it speaks the newer protocol.
    is_newer: bool,
}

impl<T> ReusableTransport<T> {
    pub(super) fn new(transport: T) -> Self {
        let inner = TransportSlot { transport: Some(transport), is_newer: false };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Lends the transport to a handshake; `None` while another one has it.
    pub(super) fn lend(&self) -> Option<HandshakeTransport<T>> {
        let transport = self.inner.lock().transport.take()?;
        let owner = Arc::clone(&self.inner);
        Some(HandshakeTransport {
            transport: Some(transport),
            owner,
            probes: Vec::new(),
            initialize_sent: false,
        })
    }

    /// Returns whether a late answer showed that the server speaks the newer protocol.
    pub(super) fn speaks_newer_protocol(&self) -> bool {
        self.inner.lock().is_newer
    }
}

/// The transport of one handshake and of its connection. Dropping it returns the transport.
pub(super) struct HandshakeTransport<T> {
    transport: Option<T>,
    owner: Arc<Mutex<TransportSlot<T>>>,
    /// The ids of the probes that were sent.
    probes: Vec<RequestId>,
    /// The `initialize` request of the older protocol was sent, so answers to probes are ignored.
    initialize_sent: bool,
}

impl<T> HandshakeTransport<T> {
    fn record_request(&mut self, message: &ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Request(request) = message {
            match &request.request {
                ClientRequest::DiscoverRequest(_) => self.probes.push(request.id.clone()),
                ClientRequest::InitializeRequest(_) => self.initialize_sent = true,
                _ => {}
            }
        }
    }

    /// Returns whether `message` is a late answer to a probe.
    fn is_late_probe_answer(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let (id, is_newer) = match message {
            ServerJsonRpcMessage::Response(response) => (Some(&response.id), true),
            ServerJsonRpcMessage::Error(error) => (error.id.as_ref(), false),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => (None, false),
        };
        let late = self.initialize_sent && id.is_some_and(|id| self.probes.contains(id));
        if late && is_newer {
            self.owner.lock().is_newer = true;
        }
        late
    }
}

impl<T> Drop for HandshakeTransport<T> {
    fn drop(&mut self) {
        self.owner.lock().transport = self.transport.take();
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for HandshakeTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.record_request(&message);
        let sending = self.transport.as_mut().map(|transport| transport.send(message));
        async move {
            match sending {
                Some(sending) => sending.await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        // ends: there are only so many probes, and the line limits a server that repeats an answer
        loop {
            let message = self.transport.as_mut()?.receive().await?;
            if !self.is_late_probe_answer(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        match &mut self.transport {
            Some(transport) => transport.close().await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::super::{ClientProfile, RmcpLink, open_pipes};
    use crate::peer::ServerPeer;

    /// Starts a server that reads nothing for `asleep` and answers with `answer`. Returns the negotiated protocol
    /// version.
    async fn agreed(asleep: Duration, answer: fn(&str) -> Value) -> String {
        let (ends, [stdin, stdout, _stderr]) = open_pipes().unwrap();
        let input = tokio::net::unix::pipe::Receiver::from_owned_fd(stdin).unwrap();
        let mut output = tokio::net::unix::pipe::Sender::from_owned_fd(stdout).unwrap();
        crate::background_task::spawn(async move {
            tokio::time::sleep(asleep).await;
            let mut lines = BufReader::new(input).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let asked: Value = serde_json::from_str(&line).unwrap();
                let Some(id) = asked.get("id") else { continue };
                let mut said = answer(asked["method"].as_str().unwrap());
                said["jsonrpc"] = json!("2.0");
                said["id"] = id.clone();
                output.write_all(format!("{said}\n").as_bytes()).await.unwrap();
            }
        });
        let client = ClientProfile { server: "slow".to_owned(), ..ClientProfile::default() };
        match RmcpLink::connect_program(client, ends.output, ends.input).await {
            Ok(link) => link.about().protocol.clone(),
            Err(trouble) => trouble.to_string(),
        }
    }

    fn older(method: &str) -> Value {
        let info = json!({"name": "slow", "version": "1"});
        match method {
            "initialize" => json!({"result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info,
            }}),
            _ => json!({"error": {"code": -32601, "message": "no such method"}}),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_server_of_the_older_protocol_is_greeted_once() {
        for asleep in [0, 12, 40] {
            assert_eq!(agreed(Duration::from_secs(asleep), older).await, "2025-11-25", "{asleep}");
        }
    }

    fn newer(method: &str) -> Value {
        match method {
            "server/discover" => json!({"result": {
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "public",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "slow", "version": "1"}},
            }}),
            _ => json!({"error": {"code": -32601, "message": "no such method"}}),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_server_of_the_newer_protocol_is_asked_once_more() {
        for asleep in [0, 12, 40] {
            assert_eq!(agreed(Duration::from_secs(asleep), newer).await, "2026-07-28", "{asleep}");
        }
    }
}
