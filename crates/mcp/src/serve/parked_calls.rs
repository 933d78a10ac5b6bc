//! Parks calls of the stateless era between two requests, until their client returns with its input.
//!
//! The client gets a signed `requestState` and sends it back. It names the call, is bound to the tool and its
//! arguments, and is valid once. The call stays here and keeps running, so another source of the answer need not wait
//! for the client.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::tool_host::{ClientInputBatch, RunningCall};

/// Maximum number of parked calls; a further one evicts the oldest.
const MAX_PARKED_CALLS: usize = 64;
/// Time limit for a client to return.
const PARK_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// A call between two requests.
pub(super) struct ParkedCall {
    pub(super) running: Box<dyn RunningCall>,
    /// The requested input; `None` if it came from elsewhere.
    pub(super) input_batch: Option<ClientInputBatch>,
}

/// The reason why a `requestState` is rejected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestStateFault {
    #[error("the requestState is not one that this server gave for this call")]
    Forged,
    #[error("the call that this requestState is about is not waiting any more; call again without it")]
    Gone,
}

/// The parked calls.
pub(super) struct ParkedCalls {
    codec: RequestStateCodec,
    calls: Mutex<HashMap<String, (Instant, ParkedCall)>>,
}

impl ParkedCalls {
    pub(super) fn new() -> io::Result<Self> {
        let codec = RequestStateCodec::try_new(random_bytes()?).map_err(io::Error::other)?;
        Ok(Self { codec, calls: Mutex::default() })
    }

    /// Parks a call and returns its `requestState`.
    pub(super) fn park(&self, digest: &CallDigest, call: ParkedCall) -> io::Result<String> {
        let id = hex(&random_bytes()?[..16]);
        let mut calls = self.calls.lock();
        calls.retain(|_, (since, _)| since.elapsed() < PARK_TIMEOUT);
        if calls.len() >= MAX_PARKED_CALLS
            && let Some(oldest) = calls.iter().min_by_key(|(_, (since, _))| *since).map(|(id, _)| id.clone())
        {
            calls.remove(&oldest);
        }
        let request_state = self
            .codec
            .seal_with(id.as_bytes(), &SealOptions::new().associated_data(&digest.0).ttl(PARK_TIMEOUT));
        calls.insert(id, (Instant::now(), call));
        Ok(request_state)
    }

    /// Returns the call that a `requestState` names.
    pub(super) fn resume(
        &self,
        digest: &CallDigest,
        request_state: &str,
    ) -> Result<ParkedCall, RequestStateFault> {
        let id = self.codec.open_with(request_state, &digest.0).map_err(|_| RequestStateFault::Forged)?;
        let id = String::from_utf8(id).map_err(|_| RequestStateFault::Forged)?;
        let mut calls = self.calls.lock();
        calls.remove(&id).map(|(_, waiting)| waiting).ok_or(RequestStateFault::Gone)
    }
}

/// The digest of tool and arguments that a `requestState` is bound to.
pub(super) struct CallDigest(Vec<u8>);

impl CallDigest {
    pub(super) fn new(tool: &str, arguments: &Map<String, Value>) -> Self {
        let mut whole = Value::Array(vec![Value::from(tool), Value::Object(arguments.clone())]);
        whole.sort_all_objects();
        Self(Sha256::digest(whole.to_string().as_bytes()).to_vec())
    }
}

/// Returns 256 random bits.
pub(super) fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    // ends: each round fills some bytes, or fails
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tool::BoxFuture;

    use super::super::tool_host::CallStep;
    use super::*;

    struct PendingForever;

    impl RunningCall for PendingForever {
        fn next(&mut self) -> BoxFuture<'_, CallStep> {
            Box::pin(std::future::pending())
        }
    }

    fn waiting() -> ParkedCall {
        ParkedCall { running: Box::new(PendingForever), input_batch: None }
    }

    fn about(path: &str) -> CallDigest {
        let Value::Object(arguments) = json!({ "path": path }) else { unreachable!() };
        CallDigest::new("read_file", &arguments)
    }

    #[test]
    fn a_request_state_is_valid_once_for_its_own_call() {
        let parked = ParkedCalls::new().unwrap();
        let note = parked.park(&about("a"), waiting()).unwrap();
        assert_eq!(parked.resume(&about("b"), &note).err(), Some(RequestStateFault::Forged));
        assert_eq!(parked.resume(&about("a"), &format!("{note}x")).err(), Some(RequestStateFault::Forged));
        assert_eq!(
            ParkedCalls::new().unwrap().resume(&about("a"), &note).err(),
            Some(RequestStateFault::Forged)
        );
        assert!(parked.resume(&about("a"), &note).is_ok());
        assert_eq!(parked.resume(&about("a"), &note).err(), Some(RequestStateFault::Gone));
    }

    #[test]
    fn the_oldest_parked_call_is_evicted() {
        let parked = ParkedCalls::new().unwrap();
        let first = parked.park(&about("a"), waiting()).unwrap();
        let notes: Vec<String> =
            (0..MAX_PARKED_CALLS).map(|_| parked.park(&about("a"), waiting()).unwrap()).collect();
        assert_eq!(parked.resume(&about("a"), &first).err(), Some(RequestStateFault::Gone));
        assert!(notes.iter().all(|note| parked.resume(&about("a"), note).is_ok()));
    }
}
