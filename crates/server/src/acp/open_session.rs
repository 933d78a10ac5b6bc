//! Opens a session for an editor: a new one, or one resumed from its journal.

use std::path::Path;
use std::sync::Arc;

use agent::SessionObserver;
use journal::SessionId;
use parking_lot::Mutex;
use rpc::{Peer, RpcErrorCode, RpcFault};
use runtime::mcp::McpClientDeps;
use runtime::{Approver, CallObserver, Hook};

use super::editor_approver::EditorApprover;
use super::editor_session::EditorSession;
use super::editor_updates::EditorUpdates;
use super::mcp_servers;
use super::patch_preview::PatchPreview;
use super::protocol::{SessionSetup, not_found};
use super::server::AcpServer;
use super::session_mode::SessionModeHook;
use config::Config;
use config::OperationFault;
use session::choose_model;
use session::compose::{ComposedTools, compose_in_dirs};
use session::mcp_servers::ServerNotices;
use session::{self, AssembledSession, SessionSpec};

/// Opens a new session.
pub(super) fn start_new(
    server: &AcpServer,
    peer: &Peer,
    setup: SessionSetup,
) -> Result<EditorSession, RpcFault> {
    open_session(server, peer, setup, SessionId::new(), None)
}

/// Resumes a session from its journal.
pub(super) fn resume(
    server: &AcpServer,
    peer: &Peer,
    id: &str,
    setup: SessionSetup,
) -> Result<EditorSession, RpcFault> {
    let named = terminal::to_one_line(id);
    let gone = |why: String| not_found(format!("there is no session `{named}`: {why}"));
    let id: SessionId = id.parse().map_err(|fault: journal::JournalFault| gone(fault.to_string()))?;
    let journal = server.dirs.sessions.as_ref().map(|sessions| sessions.join(id.file_name()));
    if journal.is_none_or(|journal| exec::fs::canonicalize(&journal).is_err()) {
        return Err(gone("it has no journal".to_owned()));
    }
    let resume = id.as_str().to_owned();
    open_session(server, peer, setup, id, Some(resume))
}

fn open_session(
    server: &AcpServer,
    peer: &Peer,
    setup: SessionSetup,
    id: SessionId,
    resume: Option<String>,
) -> Result<EditorSession, RpcFault> {
    let composed = compose_tools(server, setup)?;
    let session_id = id.as_str().to_owned();
    let location = server.settings.model.clone().with_configuration(&composed);
    let chosen =
        choose_model::choose_model(&location, composed.model_name()).map_err(|fault| to_rpc_fault(&fault))?;
    let limits = server.settings.limits.clone();
    let (patch_preview, cwd) = (Arc::<PatchPreview>::default(), composed.cwd().to_owned());
    let updates = Arc::new(EditorUpdates::new(peer, (&session_id, &cwd), limits.context, &patch_preview));
    let modes = Arc::new(SessionModeHook::new(composed.sandbox_name(), composed.approval_name()));
    let approver = EditorApprover { peer: peer.clone(), session: session_id, updates: Arc::clone(&updates) };
    let composed = composed
        .with_processes(Arc::new(server.processes.with_own_sessions()))
        .with_observer(Arc::clone(&updates) as Arc<dyn CallObserver>)
        .with_approver(Arc::new(approver) as Arc<dyn Approver>)
        .with_hook(Arc::clone(&modes) as Arc<dyn Hook>)
        .with_hook(Arc::clone(&updates) as Arc<dyn Hook>);
    let spec = SessionSpec {
        composed,
        dirs: server.dirs.clone(),
        model: Some(chosen),
        new_id: id,
        resume,
        limits,
        instructions: None,
        observer: Arc::clone(&updates) as Arc<dyn SessionObserver>,
        // The protocol has no questions except for permissions.
        prompter: None,
        // Editors keep the standard error of the agent in a log that the user can open.
        mcp_deps: McpClientDeps {
            observer: Some(Arc::new(ServerNotices::Problems)),
            ..McpClientDeps::default()
        },
        agents: None,
    };
    let AssembledSession { recorder, toolgate, servers, session, quota, .. } =
        session::assemble(spec).map_err(|fault| to_rpc_fault(&fault))?;
    let Some(session) = session else {
        return Err(RpcErrorCode::Internal.fault("a session without its model; this is a bug"));
    };
    patch_preview.set_gate(toolgate.router().gate());
    let (handle, session) = (session.handle(), tokio::sync::Mutex::new(session));
    let stop = Mutex::default();
    Ok(EditorSession { toolgate, recorder, servers, handle, session, stop, modes, updates, quota })
}

/// Converts an error for the editor, which shows it to a person: so the hint is part of it.
fn to_rpc_fault(fault: &OperationFault) -> RpcFault {
    let hint = fault.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    RpcErrorCode::Internal.fault(format!("{fault}{hint}"))
}

/// Composes the tools for the editor's working directory and MCP servers.
fn compose_tools(server: &AcpServer, setup: SessionSetup) -> Result<ComposedTools, RpcFault> {
    let wrong = |why: String| RpcErrorCode::Params.fault(format!("the params do not fit at {why}"));
    if !Path::is_absolute(&setup.cwd) {
        return Err(wrong("`cwd`: it must be an absolute path".to_owned()));
    }
    let servers = mcp_servers::to_settings(setup.mcp_servers).map_err(wrong)?;
    let mut place = server.settings.flags.clone();
    place.cwd = Some(setup.cwd);
    let change = |config: &mut Config| {
        // A server of the editor overrides a configured server of the same name.
        config.servers.retain(|known| !servers.iter().any(|more| more.value.name == known.value.name));
        config.servers.extend(servers);
    };
    compose_in_dirs(&place, server.dirs.clone(), change).map_err(|fault| to_rpc_fault(&fault))
}
