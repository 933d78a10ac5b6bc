//! The ACP server: keeps the sessions of one editor and dispatches its requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use exec::session::SharedProcesses;
use parking_lot::Mutex;
use rpc::{CancelNotification, IncomingRequest, Peer, RpcErrorCode, RpcFault, RpcHost, parse_params};
use runtime::{BoxFuture, CancellationToken};
use serde_json::{Value, json};

use super::AcpSettings;
use super::editor_session::EditorSession;
use super::protocol::{
    EditorRequest, InitializeRequest, ListSessionsRequest, LoadSessionRequest, PromptRequest,
    SessionIdParams, SessionSetup, SetModeRequest, VERSION, not_found,
};
use super::{history, open_session, prompt_blocks};
use config::UserDirs;

/// Maximum number of open sessions.
const MAX_SESSIONS: usize = 256;
/// Maximum number of sessions in a listing.
const MAX_LISTED: usize = 100;

/// The ACP server.
pub(super) struct AcpServer {
    pub(super) settings: AcpSettings,
    pub(super) dirs: UserDirs,
    /// Starts processes for all sessions.
    pub(super) processes: SharedProcesses,
    is_initialized: AtomicBool,
    sessions: Mutex<HashMap<String, Arc<EditorSession>>>,
}

impl AcpServer {
    pub(super) fn new(settings: AcpSettings, dirs: UserDirs) -> Self {
        let (processes, sessions) = (SharedProcesses::default(), Mutex::default());
        Self { settings, dirs, processes, is_initialized: AtomicBool::new(false), sessions }
    }

    fn open_sessions(&self) -> Vec<Arc<EditorSession>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// Closes every session. Journals stay on disk.
    pub(super) async fn close(&self) {
        let all: Vec<Arc<EditorSession>> = self.sessions.lock().drain().map(|(_, live)| live).collect();
        all.iter().for_each(|session| session.cancel());
        for session in all {
            session.close("the editor left").await;
        }
    }

    fn find(&self, id: &str) -> Result<Arc<EditorSession>, RpcFault> {
        self.sessions.lock().get(id).cloned().ok_or_else(|| {
            let id = terminal::to_one_line(id);
            not_found(format!("there is no session `{id}` here; `session/load` goes on with an earlier one"))
        })
    }

    /// Answers `initialize`. A client with another protocol version gets ours, and disconnects if it does not
    /// support it.
    fn initialize(&self, request: &InitializeRequest) -> Value {
        if request.protocol_version != VERSION {
            tracing::info!(
                theirs = request.protocol_version,
                "the editor speaks another version of the protocol"
            );
        }
        self.is_initialized.store(true, Ordering::SeqCst);
        json!({
            "protocolVersion": VERSION,
            "agentInfo": { "name": "toolgate", "title": "Toolgate", "version": env!("CARGO_PKG_VERSION") },
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": true, "sse": false },
                "sessionCapabilities": { "list": {}, "resume": {}, "close": {} },
            },
            "authMethods": [],
        })
    }

    fn new_session(&self, peer: &Peer, setup: SessionSetup) -> Result<Value, RpcFault> {
        if self.sessions.lock().len() >= MAX_SESSIONS {
            return Err(RpcErrorCode::Limit
                .fault(format!("there are {MAX_SESSIONS} sessions, and no more may; close one")));
        }
        let session = open_session::start_new(self, peer, setup)?;
        let answer = json!({ "sessionId": session.id(), "modes": session.modes_json() });
        self.sessions.lock().insert(session.id().to_owned(), Arc::new(session));
        Ok(answer)
    }

    /// Resumes a session, or returns the one that is already open.
    fn open_or_resume(
        &self,
        peer: &Peer,
        request: LoadSessionRequest,
    ) -> Result<Arc<EditorSession>, RpcFault> {
        if let Ok(session) = self.find(&request.session_id) {
            return Ok(session);
        }
        let session = Arc::new(open_session::resume(self, peer, &request.session_id, request.workplace)?);
        self.sessions.lock().insert(session.id().to_owned(), Arc::clone(&session));
        Ok(session)
    }

    async fn load_session(&self, peer: &Peer, request: LoadSessionRequest) -> Result<Value, RpcFault> {
        let session = self.open_or_resume(peer, request)?;
        if session.is_busy() {
            return Err(RpcErrorCode::Request
                .fault("a turn runs in this session; stop it first, with `session/cancel`"));
        }
        for update in history::updates_from_journal(&session)? {
            session.updates().send(&update).await;
        }
        Ok(json!({ "modes": session.modes_json() }))
    }

    fn list_sessions(&self, request: &ListSessionsRequest) -> Result<Value, RpcFault> {
        let Some(directory) = &self.dirs.sessions else { return Ok(json!({ "sessions": [] })) };
        let listed = journal::list_sessions(directory, MAX_LISTED)
            .map_err(|fault| RpcErrorCode::Internal.fault(fault.to_string()))?;
        let wanted_cwd = request.cwd.as_ref().map(|cwd| cwd.display().to_string());
        let sessions: Vec<Value> = listed
            .into_iter()
            // A session without a prompt has nothing to resume.
            .filter(|one| one.prompts > 0 && wanted_cwd.as_ref().is_none_or(|cwd| *cwd == one.cwd))
            .map(|one| {
                json!({
                    "sessionId": one.id.as_str(), "cwd": one.cwd, "title": one.first_prompt, "updatedAt": one.last,
                })
            })
            .collect();
        Ok(json!({ "sessions": sessions }))
    }

    async fn close_session(&self, request: &SessionIdParams) -> Result<Value, RpcFault> {
        let session = self.find(&request.session_id)?;
        self.sessions.lock().remove(&request.session_id);
        session.close("closed").await;
        Ok(json!({}))
    }

    fn set_mode(&self, request: &SetModeRequest) -> Result<Value, RpcFault> {
        self.find(&request.session_id)?.set_mode(&request.mode_id)?;
        Ok(json!({}))
    }

    async fn prompt(&self, request: PromptRequest, cancel: CancellationToken) -> Result<Value, RpcFault> {
        let session = self.find(&request.session_id)?;
        let wrong =
            |why: String| RpcErrorCode::Params.fault(format!("the params do not fit at `prompt`: {why}"));
        let (text, images) = prompt_blocks::convert_blocks(request.prompt).map_err(wrong)?;
        let stop_reason = session.prompt(&text, images, cancel).await?;
        Ok(json!({ "stopReason": stop_reason }))
    }
}

impl RpcHost for AcpServer {
    fn answer(self: Arc<Self>, request: IncomingRequest) -> BoxFuture<'static, Result<Value, RpcFault>> {
        Box::pin(async move {
            let IncomingRequest { peer, method, params, cancel } = request;
            let call = EditorRequest::parse(&method, params)?;
            if !self.is_initialized.load(Ordering::SeqCst) && !matches!(call, EditorRequest::Initialize(_)) {
                return Err(RpcErrorCode::Request.fault("say who you are first, with `initialize`"));
            }
            match call {
                EditorRequest::Initialize(said) => Ok(self.initialize(&said)),
                EditorRequest::NewSession(workplace) => self.new_session(&peer, workplace),
                EditorRequest::LoadSession(earlier) => self.load_session(&peer, earlier).await,
                EditorRequest::ResumeSession(earlier) => self
                    .open_or_resume(&peer, earlier)
                    .map(|session| json!({ "modes": session.modes_json() })),
                EditorRequest::ListSessions(wanted) => self.list_sessions(&wanted),
                EditorRequest::CloseSession(which) => self.close_session(&which).await,
                EditorRequest::SetMode(wanted) => self.set_mode(&wanted),
                EditorRequest::Prompt(asked) => self.prompt(asked, cancel).await,
            }
        })
    }

    fn on_notification(&self, _: &Peer, method: &str, params: Value) {
        if method != "session/cancel" {
            return;
        }
        // Cancelling an unknown session is a no-op.
        if let Ok(session) =
            parse_params::<SessionIdParams>(params).and_then(|which| self.find(&which.session_id))
        {
            session.cancel();
        }
    }

    fn cancel_notification(&self) -> CancelNotification {
        CancelNotification { method: "$/cancel_request", id_param: "requestId" }
    }

    /// Cancels all turns when the editor closes its side of the connection: it will not see further results.
    fn on_half_close(&self, _: &Peer) {
        self.open_sessions().iter().for_each(|session| session.cancel());
    }

    fn on_disconnect(&self, peer: &Peer) {
        self.on_half_close(peer);
    }
}
