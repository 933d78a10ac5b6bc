//! `toolgate mcp add` and `toolgate mcp remove`: edit the user's configuration file.
//!
//! The rest of the file is preserved.

use std::process::ExitCode;

use toml_edit::{DocumentMut, Item, Table};

use crate::args::{McpAddArgs, McpRemoveArgs, WorkspaceArgs};
use crate::edit_config::edit_config;
use config::OperationFault;
use config::{ServerTable, UserDirs, is_server_name};

const SERVERS_KEY: &str = "mcp_servers";

pub(super) fn add(args: &McpAddArgs) -> Result<ExitCode, OperationFault> {
    let name = &args.name;
    if !is_server_name(name) {
        let why = format!("`{name}` is not a server name: use 1 to 64 of A-Z a-z 0-9 _ -");
        return Err(OperationFault::usage(why));
    }
    let table = table_from_args(args)?;
    if let Some(why) = table.find_fault() {
        return Err(OperationFault::usage(format!("the server `{name}`: {why}")));
    }
    let text = toml::to_string(&table).map_err(|error| OperationFault::usage(error.to_string()))?;
    let mut table: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| OperationFault::usage(error.to_string()))?;
    // Inline tables, so that the entry can be read and moved as a whole.
    let nested: Vec<String> =
        table.iter().filter(|(_, item)| item.is_table()).map(|(key, _)| key.to_owned()).collect();
    for key in nested {
        let Some(mut item) = table.remove(&key) else { continue };
        item.make_value();
        table.insert(&key, item);
    }
    let file = edit_config(&UserDirs::from_env()?, |document| {
        let servers = document.entry(SERVERS_KEY).or_insert_with(|| {
            let mut servers = Table::new();
            servers.set_implicit(true);
            Item::Table(servers)
        });
        let Some(servers) = servers.as_table_like_mut() else {
            return Err(format!("`{SERVERS_KEY}` is not a table"));
        };
        if servers.contains_key(name) {
            return Err(format!(
                "there is a server `{name}` already; `toolgate mcp remove {name}` removes it"
            ));
        }
        servers.insert(name, Item::Table(table.as_table().clone()));
        Ok(())
    })?;
    terminal::print_text(&format!("added `{name}` to {}", file.display()))?;
    match super::load_config(&WorkspaceArgs::default()) {
        Ok(_) => terminal::print_hint(&format!("`toolgate mcp test {name}` starts it")),
        // The file was invalid before; the server was added anyway.
        Err(_) => {
            terminal::print_hint(
                "the file cannot be used as it is; `toolgate config` says what is wrong with it",
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn table_from_args(args: &McpAddArgs) -> Result<ServerTable, OperationFault> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(OperationFault::usage(format!("`{text}` is not NAME=VALUE"))),
    };
    let pairs = |texts: &[String]| texts.iter().map(pair).collect::<Result<_, _>>();
    let mut command = args.command.iter().cloned();
    Ok(ServerTable {
        command: command.next(),
        args: command.collect(),
        env: pairs(&args.env)?,
        env_vars: args.env_var.clone(),
        url: args.url.clone(),
        http_headers: pairs(&args.header)?,
        bearer_token_env_var: args.bearer_token_env_var.clone(),
        sandbox: args.sandbox,
        network: args.network,
        ..ServerTable::default()
    })
}

pub(super) fn remove(args: &McpRemoveArgs) -> Result<ExitCode, OperationFault> {
    let name = &args.name;
    // Done first, while the configuration still says where the login is stored.
    super::login::forget_login(name);
    let file = edit_config(&UserDirs::from_env()?, |document| {
        let servers = document.get_mut(SERVERS_KEY).and_then(Item::as_table_like_mut);
        let removed = servers.and_then(|servers| servers.remove(name));
        removed
            .map(|_| ())
            .ok_or_else(|| format!("there is no server `{name}` in it; `toolgate mcp list` has them"))
    })?;
    terminal::print_text(&format!("removed `{name}` from {}", file.display()))?;
    Ok(ExitCode::SUCCESS)
}
