//! `toolgate mcp`: serves our tools to other agents as an MCP server.

mod board;
mod catalogue;
pub(super) mod counter;
mod desk;
pub(super) mod ended;
mod form;
mod line;
mod on_demand;
mod served;
pub(super) mod token;

use std::io::{self, IsTerminal};
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;

use ::mcp::serve::{HttpEndpoint, ToolHost, PATH, ServeFault, serve_http, serve_stdio};
use toolgate::CancellationToken;

use self::board::PendingQuestions;
use self::counter::ApprovalSocket;
use self::desk::ApprovalRouter;
use self::served::{HostEnvironment, McpHost};
use crate::args::McpArgs;
use crate::config::UserDirs;
use crate::fault::CliFault;
use crate::screen;

pub(crate) fn run(args: &McpArgs) -> Result<ExitCode, CliFault> {
    if let Some(command) = &args.command {
        return super::servers::run(command);
    }
    let door = args.http.map(|address| door(args, address)).transpose()?;
    let board = Arc::new(PendingQuestions::default());
    let ground = HostEnvironment::new(args, Arc::new(ApprovalRouter::new(Arc::clone(&board))))?;
    let served = Arc::new(McpHost::at_start_directory(ground)?);
    if door.is_none() && io::stdin().is_terminal() {
        screen::print_hint("agents start this command and talk to it; docs/mcp-server.md says how. Ctrl-D ends");
    }
    super::block_on(async {
        let stop = CancellationToken::new();
        let host = Arc::clone(&served) as Arc<dyn ToolHost>;
        let counter = ApprovalSocket::open(&UserDirs::from_env()?, &args.place);
        let serving = async {
            match door {
                Some(door) => serve_http(host, door, stop.clone()).await.map_err(ServeFault::from),
                None => serve_stdio(host, stop.clone()).await,
            }
        };
        let ended = tokio::select! {
            served = serving => served.map(|()| ExitCode::SUCCESS),
            () = answering(counter, &board) => Ok(ExitCode::SUCCESS),
            signalled = ended::wait_for_signal() => Ok(ExitCode::from(signalled?)),
        };
        served.close().await;
        ended.map_err(|fault| match fault {
            ServeFault::Io(error) => error.into(),
            ServeFault::Client(_) => CliFault::failed(fault.to_string()),
        })
    })
}

/// Serves approval terminals while the server runs. Without a socket no terminal can answer.
async fn answering(counter: Result<ApprovalSocket, io::Error>, board: &Arc<PendingQuestions>) {
    match counter {
        Ok(counter) => counter.serve_terminals(board).await,
        Err(error) => {
            screen::print_hint(&format!("`toolgate approve` will not find this server: {error}"));
            std::future::pending::<()>().await;
        }
    }
}

/// Binds the address, and prints the URL and the token's location.
fn door(args: &McpArgs, address: SocketAddr) -> Result<HttpEndpoint, CliFault> {
    if !address.ip().is_loopback() && args.allow_remote.is_empty() {
        let wrong =
            format!("`{address}` can be reached from other machines, and nothing encrypts what is said");
        let hint = "take 127.0.0.1, or say by which name they reach it: --allow-remote build.example.org";
        return Err(CliFault::usage(wrong).with_hint(hint));
    }
    let listener = TcpListener::bind(address)
        .map_err(|error| CliFault::usage(format!("cannot serve at `{address}`: {error}")))?;
    let address = listener.local_addr()?;
    let (entry, bring) = token::load_entry(args.token_env.as_deref(), &UserDirs::from_env()?)?;
    screen::print_stderr(&format!("serving at http://{address}{PATH}"));
    screen::print_stderr(&format!("the token is {}", screen::escape_invisible(&bring.place)));
    screen::print_stderr(&format!(
        "claude mcp add --transport http toolgate http://{}{PATH} --header \"Authorization: Bearer {}\"",
        reached(address, &args.allow_remote),
        screen::escape_invisible(&bring.shell)
    ));
    Ok(HttpEndpoint { listener, entry, names: args.allow_remote.clone() })
}

/// Returns the authority for the client's URL: the first allowed remote name, else the address.
fn reached(address: SocketAddr, names: &[String]) -> String {
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
        let said =
            |names: &[&str]| reached(address, &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(said(&[]), "0.0.0.0:8717");
        assert_eq!(said(&["build.example.org", "other"]), "build.example.org:8717");
        assert_eq!(said(&["build.example.org:443"]), "build.example.org:443");
        assert_eq!(said(&["[2001:db8::1]"]), "[2001:db8::1]:8717");
    }
}
