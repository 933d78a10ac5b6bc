//! `toolgate mcp` subcommands for configured servers: list, get, add, remove, test, login and logout.

mod add_remove;
mod login;
mod setup;
mod test;

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::args::{McpGetArgs, McpListArgs, McpServerCommand, WorkspaceArgs};
use config::OperationFault;
use config::{Config, ServerSetting, ServerTable, SourcedValue, UserDirs};
use session::compose::working_directory;
use terminal::{FAINT, NAME};

pub(crate) fn run(command: &McpServerCommand) -> Result<ExitCode, OperationFault> {
    match command {
        McpServerCommand::List(args) => list_servers(args),
        McpServerCommand::Get(args) => show_server(args),
        McpServerCommand::Add(args) => add_remove::add(args),
        McpServerCommand::Remove(args) => add_remove::remove(args),
        McpServerCommand::Test(args) => test::run(args),
        McpServerCommand::Login(args) => login::login(args),
        McpServerCommand::Logout(args) => login::logout(args),
        McpServerCommand::Setup(args) => setup::run(args),
    }
}

fn load_config(place: &WorkspaceArgs) -> Result<Config, OperationFault> {
    config::load(&working_directory(place)?, &UserDirs::from_env()?, place)
}

/// Formats the command or URL of a server on one line. Values of variables and headers are not shown.
fn describe_target(table: &ServerTable) -> String {
    let args = mask_arguments(&table.args);
    let words = table.command.iter().chain(&args);
    let url = table.url.as_deref().map(mask_query);
    url.unwrap_or_else(|| words.map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// Words in the name of an option whose value is a secret.
const SECRET_WORDS: &[&str] = &["key", "token", "secret", "password", "passwd", "auth", "credential", "pat"];

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(|letter: char| !letter.is_alphanumeric())
        .any(|word| SECRET_WORDS.contains(&word.trim_end_matches('s')))
}

/// Masks arguments that may be secrets: the values of options with such a name.
fn mask_arguments(args: &[String]) -> Vec<String> {
    let mut named = false;
    let shown = args.iter().map(|arg| {
        let hidden =
            std::mem::replace(&mut named, arg.starts_with('-') && !arg.contains('=') && is_secret(arg));
        match arg.split_once('=') {
            _ if hidden && !arg.starts_with('-') => "…".to_owned(),
            Some((name, _)) if is_secret(name) => format!("{name}=…"),
            Some(_) | None => arg.clone(),
        }
    });
    shown.collect()
}

/// Masks the query of a URL, which often contains keys.
fn mask_query(url: &str) -> String {
    let (url, _) = url.split_once('#').unwrap_or((url, ""));
    match url.split_once('?') {
        Some((place, _)) => format!("{place}?…"),
        None => url.to_owned(),
    }
}

fn list_servers(args: &McpListArgs) -> Result<ExitCode, OperationFault> {
    let config = load_config(&args.place)?;
    if args.json {
        let one = |server: &SourcedValue<ServerSetting>| {
            let ServerSetting { name, table } = &server.value;
            json!({
                "name": name,
                "transport": if table.url.is_some() { "http" } else { "stdio" },
                "reached": describe_target(table),
                "enabled": table.enabled != Some(false),
                "source": server.source.to_string(),
            })
        };
        let servers: Vec<Value> = config.servers.iter().map(one).collect();
        terminal::print_text(&json!({ "servers": servers }).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    if config.servers.is_empty() {
        terminal::print_hint("there are no servers; `toolgate mcp add NAME -- COMMAND` adds one");
        return Ok(ExitCode::SUCCESS);
    }
    let width = config.servers.iter().map(|server| server.value.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for SourcedValue { value: ServerSetting { name, table }, source } in &config.servers {
        let off = if table.enabled == Some(false) { " (off)" } else { "" };
        let (reached, source) = (describe_target(table), source.to_string());
        let _infallible = writeln!(
            text,
            "{NAME}{name:width$}{NAME:#}  {}{off}  {FAINT}# {}{FAINT:#}",
            terminal::to_one_line(&reached),
            terminal::to_one_line(&source)
        );
    }
    terminal::print_styled(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn show_server(args: &McpGetArgs) -> Result<ExitCode, OperationFault> {
    let config = load_config(&args.place)?;
    let server = find_by_name(&config, &args.name)?;
    if args.json {
        let value = json!({ "server": masked_json(&server.value), "source": server.source.to_string() });
        terminal::print_text(&value.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let name = &server.value.name;
    let mut text = format!("{NAME}[mcp_servers.{name}]{NAME:#}  {FAINT}# {}{FAINT:#}\n", server.source);
    if let Value::Object(table) = masked_json(&server.value) {
        for (key, value) in table.iter().filter(|(key, _)| *key != "name") {
            let _infallible = writeln!(text, "{key} = {}", terminal::to_one_line(&config::to_toml(value)));
        }
    }
    terminal::print_styled(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a server as JSON, with possible secrets masked.
fn masked_json(server: &ServerSetting) -> Value {
    let mut value = json!(server);
    for key in ["env", "http_headers"] {
        if let Some(Value::Object(values)) = value.get_mut(key) {
            values.values_mut().for_each(|value| *value = json!("…"));
        }
    }
    if !server.table.args.is_empty() {
        value["args"] = json!(mask_arguments(&server.table.args));
    }
    if let Some(url) = &server.table.url {
        value["url"] = json!(mask_query(url));
    }
    value
}

/// Finds a server by name. The error lists the configured names.
fn find_by_name<'a>(
    config: &'a Config,
    name: &str,
) -> Result<&'a SourcedValue<ServerSetting>, OperationFault> {
    config.servers.iter().find(|server| server.value.name == name).ok_or_else(|| {
        let known: Vec<String> =
            config.servers.iter().map(|server| format!("`{}`", server.value.name)).collect();
        let known = if known.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there are {}", known.join(", "))
        };
        OperationFault::usage(format!("there is no server `{name}`; {known}"))
    })
}
