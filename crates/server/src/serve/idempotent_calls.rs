//! Tool calls of clients: recorded in the journal before and after, and idempotent if they have a key.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use journal::{RecordedAnswer, SessionTimeline};
use parking_lot::Mutex;
use rpc::protocol as p;
use rpc::{Peer, RpcErrorCode, RpcFault};
use runtime::{CancellationToken, Denial, ToolCall, ToolErrorKind, ToolOutput, ToolPayload, ToolRouter};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::delta_sender::millis;
use super::hosted_session::HostedSession;
use crate::content_conversion::{from_items, joined_text};

/// The prefix of ids of calls with a key. The rest are hashes of the key and of the call. The key may be a
/// secret, so the journal does not contain it.
const KEYED_ID_PREFIX: &str = "key-";
/// Hex digits of an id for the key, and for the call.
const KEY_HASH_DIGITS: usize = 20;
const CALL_HASH_DIGITS: usize = 8;
/// Maximum length of a key in bytes.
const MAX_KEY_BYTES: usize = 128;
/// Number of answers kept in memory. Older ones are read from the journal.
const MAX_CACHED_ANSWERS: usize = 256;

/// The calls of one session's clients.
#[derive(Default)]
pub(super) struct ClientCalls {
    state: Mutex<ClientCallState>,
    stop: CancellationToken,
    /// The number of running calls.
    running_count: watch::Sender<usize>,
}

/// The state of the calls, under one lock.
#[derive(Default)]
struct ClientCallState {
    running: HashMap<String, watch::Receiver<Option<p::ToolCallResult>>>,
    /// The answers of the latest calls with a key.
    recent_answers: VecDeque<p::ToolCallResult>,
    /// The ids of all answered calls with a key.
    answered_ids: BTreeSet<String>,
}

impl ClientCallState {
    /// Returns the id of the first call with the key in `id`.
    fn first_call_id(&self, id: &str) -> Option<&String> {
        let key = &id[..KEYED_ID_PREFIX.len() + KEY_HASH_DIGITS];
        let answered = self.answered_ids.range(key.to_owned()..).next();
        answered.into_iter().chain(self.running.keys()).find(|known| known.starts_with(key))
    }
}

impl ClientCalls {
    /// Restores the calls that a journal records.
    pub(super) fn from_timeline(timeline: &SessionTimeline) -> Self {
        // A call without an answer gets one when the session is resumed.
        let calls = timeline.calls().map(|(_, call)| &call.call);
        let keyed = calls.filter(|call| call.form.is_of_client() && is_keyed(&call.id));
        let answered_ids = keyed.map(|call| call.id.clone()).collect();
        Self {
            state: Mutex::new(ClientCallState { answered_ids, ..ClientCallState::default() }),
            ..Self::default()
        }
    }

    /// Cancels all running calls, and waits until each has its answer.
    pub(super) async fn stop_all(&self) {
        self.stop.cancel();
        // Never fails: `self` owns the sender.
        let _never = self.running_count.subscribe().wait_for(|open| *open == 0).await.map(drop);
    }

    /// Counts a running call until the result is dropped.
    fn count_running(&self) -> RunningCallGuard<'_> {
        self.running_count.send_modify(|open| *open += 1);
        RunningCallGuard(self)
    }
}

/// Counts one running call until it is dropped.
struct RunningCallGuard<'a>(&'a ClientCalls);

impl Drop for RunningCallGuard<'_> {
    fn drop(&mut self) {
        self.0.running_count.send_modify(|open| *open = open.saturating_sub(1));
    }
}

/// The state of a call with a key.
enum KeyedCall {
    /// The key was used for another call.
    KeyReused,
    New(watch::Sender<Option<p::ToolCallResult>>),
    Running(watch::Receiver<Option<p::ToolCallResult>>),
    Answered(Option<p::ToolCallResult>),
}

impl HostedSession {
    /// Calls a tool of the session.
    pub(super) async fn call_tool(
        self: Arc<Self>,
        call: p::ToolCallParams,
        peer: &Peer,
        cancel: CancellationToken,
    ) -> Result<p::ToolCallResult, RpcFault> {
        let payload = match call.input {
            Some(input) => ToolPayload::Custom { input },
            None => ToolPayload::Function { arguments: Value::Object(call.arguments).to_string() },
        };
        let router = self.toolgate.router().clone();
        let Some(key) = call.key else {
            let tool_call = ToolCall { id: fresh_call_id().into(), name: call.tool, payload };
            let answer = self.make_call(&router, tool_call, cancel.clone());
            tokio::pin!(answer);
            return tokio::select! {
                answer = &mut answer => answer,
                // The client is gone and cannot get the answer; the journal records it anyway.
                () = peer.disconnected().cancelled() => {
                    cancel.cancel();
                    answer.await
                }
            };
        };
        if key.is_empty() || key.len() > MAX_KEY_BYTES || key.chars().any(char::is_control) {
            return Err(RpcErrorCode::Params
                .fault(format!("the params do not fit at `key`: it has 1 to {MAX_KEY_BYTES} letters")));
        }
        let tool_call =
            ToolCall { id: keyed_call_id(&key, &call.tool, &payload).into(), name: call.tool, payload };
        self.call_once(&router, tool_call, cancel).await
    }

    /// Makes a call whose id is used once in the session.
    async fn call_once(
        self: Arc<Self>,
        router: &ToolRouter,
        call: ToolCall,
        cancel: CancellationToken,
    ) -> Result<p::ToolCallResult, RpcFault> {
        let id = call.id.as_str().to_owned();
        let mut running = match self.keyed_call_state(&id) {
            KeyedCall::KeyReused => {
                let why = "the params do not fit at `key`: it was used for another call; take another key";
                return Err(RpcErrorCode::Params.fault(why));
            }
            KeyedCall::Answered(answer) => {
                let answer = answer.or_else(|| self.read_recorded_answer(&id));
                return answer.ok_or_else(|| {
                    RpcErrorCode::Journal.fault("the answer of the first call cannot be read any more")
                });
            }
            KeyedCall::Running(running) => running,
            KeyedCall::New(answer_sender) => {
                let (session, router, running) =
                    (Arc::clone(&self), router.clone(), answer_sender.subscribe());
                // The call continues if its client disconnects, because the client may reconnect for the
                // answer.
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the call itself is the engine's; this waits for it"
                )]
                tokio::spawn(async move {
                    if let Ok(answer) = session.make_call(&router, call, cancel).await {
                        session.store_answer(answer.clone());
                        answer_sender.send_replace(Some(answer));
                    } else {
                        session.calls.state.lock().running.remove(&id);
                    }
                });
                let mut first = running;
                return wait_for_answer(&mut first).await;
            }
        };
        // Cancelling the repeated request does not cancel the first call.
        let answer = tokio::select! {
            answer = wait_for_answer(&mut running) => answer,
            () = cancel.cancelled() => return Err(RpcErrorCode::Cancelled.fault("the request was cancelled; the call goes on")),
        };
        answer.map(|answer| p::ToolCallResult { repeated: true, ..answer })
    }

    fn keyed_call_state(&self, id: &str) -> KeyedCall {
        let mut state = self.calls.state.lock();
        if state.first_call_id(id).is_some_and(|first| first != id) {
            return KeyedCall::KeyReused;
        }
        if let Some(running) = state.running.get(id) {
            return KeyedCall::Running(running.clone());
        }
        if state.answered_ids.contains(id) {
            let kept = state.recent_answers.iter().find(|answer| answer.call_id == id).cloned();
            return KeyedCall::Answered(kept.map(|answer| p::ToolCallResult { repeated: true, ..answer }));
        }
        let (answer_sender, running) = watch::channel(None);
        state.running.insert(id.to_owned(), running);
        KeyedCall::New(answer_sender)
    }

    fn store_answer(&self, answer: p::ToolCallResult) {
        let mut state = self.calls.state.lock();
        state.running.remove(&answer.call_id);
        state.answered_ids.insert(answer.call_id.clone());
        state.recent_answers.push_back(answer);
        if state.recent_answers.len() > MAX_CACHED_ANSWERS {
            state.recent_answers.pop_front();
        }
    }

    /// Returns the answer in the journal.
    fn read_recorded_answer(&self, id: &str) -> Option<p::ToolCallResult> {
        // Reading a long journal takes time, and other tasks need this thread.
        let contents = tokio::task::block_in_place(|| journal::read_journal(self.recorder.path())).ok()?;
        let timeline = SessionTimeline::from_records(contents.records);
        // A call of the model may have the same id. Only the answer to a client's call counts.
        let mut calls =
            timeline.calls().filter(|(_, call)| call.call.id == id && call.call.form.is_of_client());
        let RecordedAnswer { call, success, error, took_ms, text, pictures: _, spilled: _, refused: _ } =
            calls.find_map(|(_, call)| Some(call.answer.as_ref()?.answer.clone()))?;
        Some(p::ToolCallResult {
            call_id: call,
            success,
            error,
            denials: Vec::new(),
            content_items: vec![p::ContentItem::Text { text }],
            structured: None,
            kept: None,
            elapsed_ms: took_ms,
            repeated: true,
        })
    }

    /// Makes a call, recorded in the journal before and after.
    async fn make_call(
        &self,
        router: &ToolRouter,
        call: ToolCall,
        cancel: CancellationToken,
    ) -> Result<p::ToolCallResult, RpcFault> {
        let unwritten = |fault: journal::JournalFault| RpcErrorCode::Journal.fault(fault.to_string());
        let _running = self.calls.count_running();
        self.recorder.record_client_call(&call).map_err(unwritten)?;
        // Clients that want an order wait for each answer, so their calls block no other calls.
        let answering = router.with_own_lanes().dispatch(call.clone(), cancel.clone());
        tokio::pin!(answering);
        let output = tokio::select! {
            output = &mut answering => output,
            () = self.calls.stop.cancelled() => {
                cancel.cancel();
                answering.await
            }
        };
        self.recorder.record_answer(&call, &output).map_err(unwritten)?;
        Ok(to_answer(&call, output))
    }

    /// Calls one of the tools that models do not see, and returns its data.
    pub(super) async fn call_program_tool(
        &self,
        tool: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> Result<Value, RpcFault> {
        let router = self
            .toolgate
            .program_router()
            .ok_or_else(|| RpcErrorCode::Internal.fault("the session has no tools of its own"))?;
        self.call_for_data(router, ToolCall::function(fresh_call_id(), tool, arguments.to_string()), cancel)
            .await
    }

    /// Makes a call and returns its data. A refused call is a fault.
    pub(super) async fn call_for_data(
        &self,
        router: &ToolRouter,
        call: ToolCall,
        cancel: CancellationToken,
    ) -> Result<Value, RpcFault> {
        let answer = self.make_call(router, call, cancel).await?;
        match answer.success {
            true => Ok(answer.structured.unwrap_or_default()),
            false => Err(refusal_fault(&answer)),
        }
    }
}

/// Returns the id of a call with a key.
fn keyed_call_id(key: &str, tool: &str, payload: &ToolPayload) -> String {
    let digits = |parts: &[&str], count: usize| -> String {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..count].to_owned()
    };
    let call = match payload {
        ToolPayload::Custom { input } => digits(&[tool, "input", input], CALL_HASH_DIGITS),
        other => digits(&[tool, "arguments", &format!("{other:?}")], CALL_HASH_DIGITS),
    };
    format!("{KEYED_ID_PREFIX}{}-{call}", digits(&[key], KEY_HASH_DIGITS))
}

fn is_keyed(id: &str) -> bool {
    let digits = id.strip_prefix(KEYED_ID_PREFIX).unwrap_or_default();
    digits.len() == KEY_HASH_DIGITS + 1 + CALL_HASH_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Converts a failed answer into a fault.
pub(super) fn refusal_fault(answer: &p::ToolCallResult) -> RpcFault {
    let code = match answer.error.as_deref() {
        Some(kind) if kind == ToolErrorKind::BadArguments.as_str() => RpcErrorCode::Params,
        Some(kind) if kind == ToolErrorKind::Cancelled.as_str() => RpcErrorCode::Cancelled,
        _ => RpcErrorCode::Refused,
    };
    code.fault(joined_text(&answer.content_items)).with_data(serde_json::json!(answer))
}

/// Converts the output of a call into the answer for a client.
fn to_answer(call: &ToolCall, output: ToolOutput) -> p::ToolCallResult {
    p::ToolCallResult {
        call_id: call.id.as_str().to_owned(),
        success: output.success,
        error: output.facts.error.map(|error| error.as_str().to_owned()),
        denials: output.facts.denials.iter().map(to_denial_info).collect(),
        content_items: from_items(&output.items),
        kept: output.facts.output_file.as_ref().map(|kept| kept.display().to_string()),
        elapsed_ms: output.facts.duration.map_or(0, millis),
        structured: output.structured,
        repeated: false,
    }
}

fn to_denial_info(denial: &Denial) -> p::DenialInfo {
    p::DenialInfo { kind: denial.kind().to_owned(), message: denial.to_string() }
}

/// Waits for the answer of a running call.
async fn wait_for_answer(
    running: &mut watch::Receiver<Option<p::ToolCallResult>>,
) -> Result<p::ToolCallResult, RpcFault> {
    let lost = || RpcErrorCode::Journal.fault("the call could not be written down, and was not made");
    let answer = running.wait_for(Option::is_some).await.map_err(|_| lost())?;
    answer.clone().ok_or_else(lost)
}

/// Returns an id that no other call of any session has.
pub(super) fn fresh_call_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static BEGAN: OnceLock<u128> = OnceLock::new();
    let began = BEGAN
        .get_or_init(|| std::time::SystemTime::UNIX_EPOCH.elapsed().as_ref().map_or(0, Duration::as_nanos));
    format!("call-{began:x}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}
