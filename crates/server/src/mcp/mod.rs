//! Serves our tools to other agents as an MCP server (`toolgate mcp`).

mod approval_form;
mod approval_socket;
mod client_bridge;
mod form_timing;
mod mcp_host;
mod on_demand_servers;
mod pending_questions;
mod running_calls;
mod session_record;
mod tool_catalogue;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use ::mcp::serve::{HttpEndpoint, PATH, ServeFault, ToolHost, serve_http, serve_stdio};
use runtime::CancellationToken;

use self::approval_socket::ApprovalSocket;
use self::mcp_host::{HostEnvironment, McpHost};
use self::pending_questions::PendingQuestions;
use self::running_calls::RunningCalls;
use crate::state_warning;
use crate::stop_signals::{self, ServerExit};
use crate::{access_token, listen_address};
use config::OperationFault;
use config::UserDirs;
use config::flags::WorkspaceArgs;

/// The settings of the server.
#[derive(Debug)]
pub struct McpSettings {
    /// The address to listen at. Without it, the server uses stdin and stdout.
    pub http: Option<SocketAddr>,
    /// The environment variable that holds the token of HTTP clients.
    pub token_env: Option<String>,
    /// Host names by which other machines may reach the server.
    pub allow_remote: Vec<String>,
    /// Directories that clients may choose as workspace, besides the working directory.
    pub roots: Vec<PathBuf>,
    /// The defaults of sessions.
    pub flags: WorkspaceArgs,
}

/// Serves until the input ends or a signal arrives.
pub async fn run(settings: McpSettings) -> Result<ServerExit, OperationFault> {
    let signalled = stop_signals::wait_for_signal()?;
    let endpoint = settings.http.map(|address| bind_endpoint(&settings, address)).transpose()?;
    let pending_questions = Arc::new(PendingQuestions::default());
    let environment =
        HostEnvironment::new(&settings, Arc::new(RunningCalls::new(Arc::clone(&pending_questions))))?;
    let mcp_host = Arc::new(McpHost::at_start_directory(environment)?);
    let stop = CancellationToken::new();
    let host = Arc::clone(&mcp_host) as Arc<dyn ToolHost>;
    let dirs = UserDirs::from_env()?;
    state_warning::warn_if_unwritable(&dirs);
    let socket = ApprovalSocket::open(&dirs, &settings.flags);
    let serving = async {
        match endpoint {
            Some(endpoint) => serve_http(host, endpoint, stop.clone()).await.map_err(ServeFault::from),
            None => serve_stdio(host, stop.clone()).await,
        }
    };
    let ended = tokio::select! {
        served = serving => served.map(|()| ServerExit::InputEnded),
        () = serve_approvals(socket, &pending_questions) => Ok(ServerExit::InputEnded),
        exit = signalled => Ok(exit),
    };
    mcp_host.close().await;
    ended.map_err(|fault| match fault {
        ServeFault::Io(error) => error.into(),
        ServeFault::Client(_) => OperationFault::failed(fault.to_string()),
    })
}

/// Serves approval terminals while the server runs. Without a socket no terminal can answer.
async fn serve_approvals(
    socket: Result<ApprovalSocket, io::Error>,
    pending_questions: &Arc<PendingQuestions>,
) {
    match socket {
        Ok(socket) => socket.serve_terminals(pending_questions).await,
        Err(error) => {
            terminal::print_hint(&format!("`toolgate approve` will not find this server: {error}"));
            std::future::pending::<()>().await;
        }
    }
}

/// Binds the address, and prints the URL and the token's location.
fn bind_endpoint(settings: &McpSettings, address: SocketAddr) -> Result<HttpEndpoint, OperationFault> {
    if settings.allow_remote.is_empty() {
        let hint = "take 127.0.0.1, or say by which name they reach it: --allow-remote build.example.org";
        listen_address::require_loopback(address).map_err(|fault| fault.with_hint(hint))?;
    }
    let listener = TcpListener::bind(address)
        .map_err(|error| listen_address::bind_fault(&format!("at `{address}`"), &error))?;
    let address = listener.local_addr()?;
    let (entry, location) = access_token::load_entry(settings.token_env.as_deref(), &UserDirs::from_env()?)?;
    terminal::print_stderr(&format!("serving at http://{address}{PATH}"));
    terminal::print_stderr(&format!("the token is {}", terminal::escape_invisible(&location.description)));
    terminal::print_stderr(&format!(
        "claude mcp add --transport http toolgate http://{}{PATH} --header \"Authorization: Bearer {}\"",
        client_authority(address, &settings.allow_remote),
        terminal::escape_invisible(&location.shell)
    ));
    Ok(HttpEndpoint { listener, access: entry, host_names: settings.allow_remote.clone() })
}

/// Returns the authority for the client's URL: the first allowed remote name, else the address.
fn client_authority(address: SocketAddr, names: &[String]) -> String {
    match names.first() {
        // A colon after the closing bracket of an IPv6 address, or after a name, precedes a port.
        Some(name) if name.rsplit(']').next().is_some_and(|rest| rest.contains(':')) => name.clone(),
        Some(name) => format!("{name}:{}", address.port()),
        None => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_the_name_that_they_use() {
        let address = "0.0.0.0:8717".parse().unwrap();
        let said = |names: &[&str]| {
            client_authority(address, &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(said(&[]), "0.0.0.0:8717");
        assert_eq!(said(&["build.example.org", "other"]), "build.example.org:8717");
        assert_eq!(said(&["build.example.org:443"]), "build.example.org:443");
        assert_eq!(said(&["[2001:db8::1]"]), "[2001:db8::1]:8717");
    }
}
