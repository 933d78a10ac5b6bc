//! The session server: keeps clients and sessions, and dispatches requests.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use exec::session::SharedProcesses;
use parking_lot::Mutex;
use rpc::protocol as p;
use rpc::{
    ClientCall, IncomingRequest, MAX_MESSAGE_BYTES, Peer, RpcErrorCode, RpcFault, RpcHost, encode_result,
    method,
};
use runtime::{BoxFuture, CancelCause};
use serde_json::Value;
use tokio::task::JoinSet;

use super::client_tools::MAX_TOOLS;
use super::hosted_session::HostedSession;
use super::open_session;
use crate::metrics::{LiveCounts, ServerMetrics};
use config::UserDirs;
use config::flags::WorkspaceArgs;

/// Maximum number of open sessions.
const MAX_SESSIONS: usize = 4096;
/// Default and maximum number of sessions in a listing.
const DEFAULT_LISTED: usize = 100;
const MAX_LISTED: usize = 1000;

/// The session server.
pub(super) struct SessionServer {
    pub(super) place: WorkspaceArgs,
    pub(super) dirs: UserDirs,
    /// True if commands can be confined as the configuration demands.
    pub(super) can_confine: bool,
    /// Starts processes for all sessions.
    pub(super) processes: SharedProcesses,
    sessions: Mutex<HashMap<String, Arc<HostedSession>>>,
    /// The initialized clients by connection number, with their capabilities.
    clients: Mutex<HashMap<u64, p::ClientCapabilities>>,
    /// Serializes opening from a journal, so that two requests for one session open it once.
    opening_lock: tokio::sync::Mutex<()>,
    /// Counts the calls of all sessions.
    pub(super) metrics: Arc<ServerMetrics>,
}

impl SessionServer {
    pub(super) fn new(place: WorkspaceArgs, dirs: UserDirs, can_confine: bool) -> Self {
        Self {
            place,
            dirs,
            can_confine,
            processes: SharedProcesses::default(),
            sessions: Mutex::default(),
            clients: Mutex::default(),
            opening_lock: tokio::sync::Mutex::default(),
            metrics: Arc::default(),
        }
    }

    /// Returns the counts of everything that is open now.
    pub(super) fn live_counts(&self) -> LiveCounts {
        let sessions = self.sessions.lock();
        LiveCounts {
            sessions: sessions.len(),
            clients: self.clients.lock().len(),
            processes: sessions.values().map(|session| session.toolgate.open_session_count()).sum(),
            cells_created: self.processes.spawner().cells_created(),
        }
    }

    /// Returns the directory of the journals.
    pub(super) fn sessions_dir(&self) -> Option<PathBuf> {
        self.dirs.sessions.clone()
    }

    /// Closes every session; the answers of running calls name the cause. Journals stay on disk.
    pub(super) async fn close(&self, cause: CancelCause) {
        let all: Vec<Arc<HostedSession>> = self.sessions.lock().drain().map(|(_, live)| live).collect();
        all.iter().for_each(|session| session.toolgate.router().cancel_cause().set(cause));
        let mut closing: JoinSet<()> =
            all.into_iter().map(|session| async move { session.close("the server ended").await }).collect();
        // Each close has its own time limit.
        while closing.join_next().await.is_some() {}
    }

    fn find(&self, id: &str) -> Result<Arc<HostedSession>, RpcFault> {
        self.sessions.lock().get(id).cloned().ok_or_else(|| {
            RpcErrorCode::NoSession.fault(format!(
                "there is no session `{}` here; `session/list` has those that `session/attach` can go on with",
                terminal::escape_invisible(id)
            ))
        })
    }

    fn initialize(
        &self,
        peer: &Peer,
        request: &p::InitializeParams,
    ) -> Result<p::InitializeResult, RpcFault> {
        if request.protocol != p::PROTOCOL {
            let why = format!("protocol {} is not spoken here; {} is", request.protocol, p::PROTOCOL);
            return Err(RpcErrorCode::Initialize.fault(why));
        }
        if self.clients.lock().insert(peer.number(), request.capabilities).is_some() {
            return Err(RpcErrorCode::Initialize.fault("`initialize` was called before"));
        }
        Ok(p::InitializeResult {
            protocol: p::PROTOCOL,
            server: p::ProgramIdentity {
                name: "toolgate".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            },
            limits: p::ServerLimits {
                message_bytes: MAX_MESSAGE_BYTES,
                requests: rpc::ConnectionLimits::default().max_requests,
                sessions: MAX_SESSIONS,
                tools: MAX_TOOLS,
                processes: runtime::DEFAULT_SESSIONS,
            },
        })
    }

    async fn start_session(
        &self,
        client: &InitializedPeer,
        start: p::SessionStartParams,
    ) -> Result<p::SessionDetails, RpcFault> {
        self.check_capacity()?;
        let tools = start.tools.clone();
        let session = open_session::start_new(self, start)?;
        if let Err(fault) = self.add_and_subscribe(&session, client, 0, &tools) {
            session.close("it never began").await;
            session.recorder.delete_journal();
            return Err(fault);
        }
        Ok(session.describe())
    }

    async fn attach_session(
        &self,
        client: &InitializedPeer,
        attach: p::SessionAttachParams,
    ) -> Result<p::SessionAttachResult, RpcFault> {
        let opening = self.opening_lock.lock().await;
        let known = self.sessions.lock().get(&attach.session_id).cloned();
        let (session, resumed) = match known {
            Some(session) => (session, false),
            None => {
                self.check_capacity()?;
                (open_session::resume(self, &attach.session_id, attach.start.unwrap_or_default())?, true)
            }
        };
        self.add_and_subscribe(&session, client, attach.cursor, &attach.tools)?;
        drop(opening);
        Ok(p::SessionAttachResult {
            session: session.describe(),
            resumed,
            busy: session.is_busy(),
            cursor: session.last_cursor(),
        })
    }

    /// Keeps a session, and subscribes `client` to it.
    fn add_and_subscribe(
        &self,
        session: &Arc<HostedSession>,
        client: &InitializedPeer,
        cursor: u64,
        tools: &[p::DynamicTool],
    ) -> Result<(), RpcFault> {
        session.register(&client.peer, tools)?;
        self.sessions.lock().insert(session.id().to_owned(), Arc::clone(session));
        session.follow(&client.peer, client.capabilities, cursor);
        Ok(())
    }

    fn check_capacity(&self) -> Result<(), RpcFault> {
        match self.sessions.lock().len() < MAX_SESSIONS {
            true => Ok(()),
            false => Err(RpcErrorCode::Limit
                .fault(format!("there are {MAX_SESSIONS} sessions, and no more may; close one"))),
        }
    }

    fn list_sessions(&self, wanted: p::SessionListParams) -> Result<p::SessionListResult, RpcFault> {
        let limit = wanted.limit.unwrap_or(DEFAULT_LISTED).min(MAX_LISTED);
        let Some(directory) = self.sessions_dir() else {
            return Ok(p::SessionListResult { sessions: Vec::new() });
        };
        let unread = |fault: journal::JournalFault| RpcErrorCode::Journal.fault(fault.to_string());
        let all = journal::list_sessions(&directory, if wanted.live { MAX_SESSIONS } else { limit })
            .map_err(unread)?;
        let sessions = self.sessions.lock();
        let listed = all.into_iter().filter_map(|one| {
            let here = sessions.get(one.id.as_str());
            (here.is_some() || !wanted.live).then(|| p::SessionListEntry {
                session_id: one.id.as_str().to_owned(),
                live: here.is_some(),
                busy: here.is_some_and(|session| session.is_busy()),
                cwd: one.cwd,
                started: one.started,
                last: one.last,
                prompts: one.prompts,
                first_prompt: one.first_prompt,
                calls: one.calls,
            })
        });
        Ok(p::SessionListResult { sessions: listed.take(limit).collect() })
    }

    async fn close_session(&self, id: &str) -> Result<p::EmptyResult, RpcFault> {
        let session = self.find(id)?;
        self.sessions.lock().remove(id);
        session.close("closed").await;
        Ok(p::EmptyResult {})
    }

    /// Answers a request of an initialized client.
    async fn dispatch(
        self: Arc<Self>,
        call: ClientCall,
        guest: InitializedPeer,
        cancel: runtime::CancellationToken,
    ) -> Result<Value, RpcFault> {
        use ClientCall as Call;
        /// Answers a method with the result of a session.
        macro_rules! at {
            ($method:ident, $params:ident, $live:ident => $given:expr) => {{
                let $live = self.find(&$params.session_id)?;
                encode_result::<method::$method>($given)
            }};
        }
        match call {
            Call::Initialize(_) => Err(RpcErrorCode::Initialize.fault("`initialize` was called before")),
            Call::SessionStart(start) => {
                encode_result::<method::SessionStart>(self.start_session(&guest, start).await)
            }
            Call::SessionAttach(attach) => {
                encode_result::<method::SessionAttach>(self.attach_session(&guest, attach).await)
            }
            Call::SessionDetach(which) => at!(SessionDetach, which, live => Ok(live.detach(&guest.peer))),
            Call::SessionPrompt(prompt) => at!(SessionPrompt, prompt, live => live.prompt(&prompt).await),
            Call::SessionInterrupt(which) => at!(SessionInterrupt, which, live => Ok(live.interrupt())),
            Call::SessionList(wanted) => encode_result::<method::SessionList>(self.list_sessions(wanted)),
            Call::SessionClose(which) => {
                encode_result::<method::SessionClose>(self.close_session(&which.session_id).await)
            }
            Call::ToolList(which) => at!(ToolList, which, live => Ok(live.list_tools())),
            Call::ToolCall(call) => {
                at!(ToolCall, call, live => live.call_tool(call, &guest.peer, cancel).await)
            }
            Call::ToolRegister(new) => at!(ToolRegister, new, live => live.register(&guest.peer, &new.tools)),
            Call::ToolUnregister(old) => at!(ToolUnregister, old, live => Ok(live.unregister(&old.names))),
            Call::ProcessStart(start) => {
                at!(ProcessStart, start, live => live.start_process(&start, cancel).await)
            }
            Call::ProcessRead(read) => at!(ProcessRead, read, live => live.read_process(&read, cancel).await),
            Call::ProcessWrite(write) => {
                at!(ProcessWrite, write, live => live.write_process(&write, cancel).await)
            }
            Call::ProcessResize(resize) => at!(ProcessResize, resize, live => live.resize_process(&resize)),
            Call::ProcessSignal(signal) => at!(ProcessSignal, signal, live => live.signal_process(&signal)),
            Call::ProcessKill(which) => at!(ProcessKill, which, live => live.kill_process(which.process_id)),
            Call::FsRead(read) => at!(FsRead, read, live => live.fs_read(&read, cancel).await),
            Call::FsWrite(write) => at!(FsWrite, write, live => live.fs_write(&write, cancel).await),
            Call::FsList(list) => at!(FsList, list, live => live.fs_list(&list, cancel).await),
            Call::FsSearch(search) => at!(FsSearch, search, live => live.fs_search(&search, cancel).await),
            Call::PatchApply(patch) => {
                at!(PatchApply, patch, live => live.apply_patch(patch, &guest.peer, cancel).await)
            }
            Call::PolicyExplain(wanted) => at!(PolicyExplain, wanted, live => live.explain_policy(&wanted)),
        }
    }
}

/// A client that has called `initialize`.
struct InitializedPeer {
    peer: Peer,
    capabilities: p::ClientCapabilities,
}

impl RpcHost for SessionServer {
    fn answer(self: Arc<Self>, request: IncomingRequest) -> BoxFuture<'static, Result<Value, RpcFault>> {
        Box::pin(async move {
            let IncomingRequest { peer, method, params, cancel } = request;
            let call = ClientCall::parse(&method, params)?;
            let known = self.clients.lock().get(&peer.number()).copied();
            match (known, call) {
                (None, ClientCall::Initialize(said)) => {
                    encode_result::<method::Initialize>(self.initialize(&peer, &said))
                }
                (None, _) => Err(RpcErrorCode::Initialize.fault("say who you are first, with `initialize`")),
                (Some(capabilities), call) => {
                    self.dispatch(call, InitializedPeer { peer, capabilities }, cancel).await
                }
            }
        })
    }

    fn on_half_close(&self, peer: &Peer) {
        let all: Vec<Arc<HostedSession>> = self.sessions.lock().values().cloned().collect();
        all.iter().for_each(|session| session.peer_silent(peer));
    }

    fn on_disconnect(&self, peer: &Peer) {
        self.clients.lock().remove(&peer.number());
        let all: Vec<Arc<HostedSession>> = self.sessions.lock().values().cloned().collect();
        all.iter().for_each(|session| session.peer_left(peer));
    }
}
