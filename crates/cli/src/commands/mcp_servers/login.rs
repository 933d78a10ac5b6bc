//! `toolgate mcp login` and `toolgate mcp logout`: log in to an HTTP server, and out of it.

use std::process::ExitCode;

use runtime::BoxFuture;
use runtime::mcp::{self, BrowserOpener, McpServerConfig};

use crate::args::{McpLoginArgs, McpLogoutArgs, WorkspaceArgs};
use config::OperationFault;
use config::UserDirs;
use session::compose::working_directory;
use session::mcp_servers;

/// Prints the login address. A program that opened it would have to be trusted with it.
struct AddressPrinter;

impl BrowserOpener for AddressPrinter {
    fn open<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<(), String>> {
        terminal::print_stderr(
            "Open this address in a browser on this machine, and come back when you are done:",
        );
        terminal::print_stderr(&terminal::escape_invisible(address));
        Box::pin(std::future::ready(Ok(())))
    }
}

fn find_server(name: &str, place: &WorkspaceArgs) -> Result<McpServerConfig, OperationFault> {
    let config = super::load_config(place)?;
    let setting = super::find_by_name(&config, name)?;
    let (cwd, dirs) = (working_directory(place)?, UserDirs::from_env()?);
    let described =
        mcp_servers::build_server(setting, &config, (&cwd, &dirs), &mcp_servers::ServerProcesses::default());
    described.map_err(|why| OperationFault::usage(format!("{}: the server `{name}`: {why}", setting.source)))
}

pub(super) fn login(args: &McpLoginArgs) -> Result<ExitCode, OperationFault> {
    let server = find_server(&args.name, &args.place)?;
    let done = crate::commands::block_on(async {
        mcp::login(&server, &AddressPrinter).await.map_err(|fault| OperationFault::failed(fault.to_string()))
    })?;
    let scopes =
        if done.scopes.is_empty() { String::new() } else { format!(", with {}", done.scopes.join(" ")) };
    let text = format!("logged in to `{}` by {}{scopes}", args.name, done.issuer);
    terminal::print_text(&terminal::escape_invisible(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Deletes the login of a server that is being removed, if there is one.
pub(super) fn forget_login(name: &str) {
    let Ok(server) = find_server(name, &WorkspaceArgs::default()) else { return };
    let _nothing_kept = crate::commands::block_on(async {
        mcp::logout(&server).await.map_err(|fault| OperationFault::failed(fault.to_string()))
    });
}

pub(super) fn logout(args: &McpLogoutArgs) -> Result<ExitCode, OperationFault> {
    let server = find_server(&args.name, &args.place)?;
    crate::commands::block_on(async {
        mcp::logout(&server).await.map_err(|fault| OperationFault::failed(fault.to_string()))
    })?;
    terminal::print_text(&format!("forgot what the login to `{}` gave", args.name))?;
    Ok(ExitCode::SUCCESS)
}
