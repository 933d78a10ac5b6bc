//! `[mcp_servers.NAME]` tables: MCP servers whose tools are used. Keys have Codex's names where both have them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runtime::mcp::{STARTUP_TIMEOUT, TOOL_TIMEOUT};
use runtime::{EnvironmentPolicy, HostLocality};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::config_file::ConfigFile;
use super::{NetworkMode, SandboxMode, SourcedValue, UserDirs};
use crate::operation_fault::OperationFault;

const MAX_SERVERS: usize = 256;
const MAX_NAME_CHARS: usize = 64;
const TIMEOUT_SEC_RANGE: std::ops::RangeInclusive<f64> = 0.1..=86_400.0;

/// A server as a file spells it.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerTable {
    /// The program of a local server, found in `PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program's arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables of the server, with their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of the user's variables that the server gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_vars: Vec<String>,
    /// The server's working directory; the user's by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The sandbox mode of the server; workspace-write by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// The network access of the server; on by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkMode>,
    /// Additional directories that the server may write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// The URL of a remote server; https, unless it is on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of the variable with the bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_env_var: Option<String>,
    /// HTTP headers of each request, with their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub http_headers: BTreeMap<String, String>,
    /// HTTP headers of each request, with the names of the variables that hold their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env_http_headers: BTreeMap<String, String>,
    /// OAuth scopes that a login requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The registered OAuth client, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OauthTable>,
    /// The use of the server; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The need for the server: if true, Toolgate does nothing without it; false by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// The time limit of the start in seconds; 30 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout_sec: Option<f64>,
    /// The time limit of a call in seconds, without the time of questions; 300 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_timeout_sec: Option<f64>,
    /// One time limit for both: see [`ServerTable::startup_timeout`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// The allow-list of tools, by the server's own names; all tools if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_tools: Option<Vec<String>>,
    /// The deny-list of tools, by the server's own names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled_tools: Vec<String>,
    /// The approval policy of calls; auto by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ServerApproval>,
    /// Settings of single tools, by the server's own names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolTable>,
}

/// The OAuth client that Toolgate is to the server's authorization server.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OauthTable {
    /// The client identifier at the authorization server.
    pub client_id: String,
    /// The name of the variable with the client secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_env_var: Option<String>,
}

/// Settings of one of the server's tools.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolTable {
    /// The approval policy of the tool's calls.
    pub approval: ServerApproval,
}

/// The approval policy of the server's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerApproval {
    /// A question before each call, except for tools that only read.
    Auto,
    /// A question before each call.
    Ask,
    /// No question, unless the definition of the tool has changed.
    Allow,
}

/// A server table with its name.
#[derive(Debug, Clone, Serialize)]
pub struct ServerSetting {
    /// The name in `[mcp_servers.NAME]`.
    pub name: String,
    /// The server's settings.
    #[serde(flatten)]
    pub table: ServerTable,
}

impl PartialEq for ServerSetting {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && serde_json::to_value(&self.table).ok() == serde_json::to_value(&other.table).ok()
    }
}

impl Eq for ServerSetting {}

/// Reports whether a server may have this name.
pub fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(plain)
}

impl ServerTable {
    /// Returns the first error in the table, if any.
    pub fn find_fault(&self) -> Option<String> {
        let only = |other: &str, keys: &[(&str, bool)]| {
            keys.iter()
                .find(|(_, set)| *set)
                .map(|(key, _)| format!("`{key}` is for a server with a `{other}`"))
        };
        let (command, url) = (self.command.as_deref(), self.url.as_deref());
        match (command, url) {
            (None, None) => return Some("it needs a `command`, or a `url`".to_owned()),
            (Some(_), Some(_)) => return Some("it has a `command` and a `url`; keep one".to_owned()),
            (Some(""), _) => return Some("its `command` is empty".to_owned()),
            (Some(_), None) => {
                let http = [
                    ("bearer_token_env_var", self.bearer_token_env_var.is_some()),
                    ("http_headers", !self.http_headers.is_empty()),
                    ("env_http_headers", !self.env_http_headers.is_empty()),
                    ("scopes", !self.scopes.is_empty()),
                    ("oauth", self.oauth.is_some()),
                ];
                if let Some(why) = only("url", &http) {
                    return Some(why);
                }
            }
            (None, Some(url)) => {
                let stdio = [
                    ("args", !self.args.is_empty()),
                    ("env", !self.env.is_empty()),
                    ("env_vars", !self.env_vars.is_empty()),
                    ("cwd", self.cwd.is_some()),
                    ("sandbox", self.sandbox.is_some()),
                    ("network", self.network.is_some()),
                    ("writable", !self.writable.is_empty()),
                ];
                let why = only("command", &stdio)
                    .or_else(|| find_url_fault(url))
                    .or_else(|| self.find_header_fault());
                if let Some(why) = why {
                    return Some(why);
                }
            }
        }
        self.find_limit_fault().or_else(|| {
            let environment = EnvironmentPolicy {
                pass: self.env_vars.clone(),
                set: self.env.clone().into_iter().collect(),
                ..EnvironmentPolicy::default()
            };
            environment.check().err().map(|fault| fault.to_string())
        })
    }

    /// Finds a header that no request can have.
    fn find_header_fault(&self) -> Option<String> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
        let mut names = self.http_headers.keys().chain(self.env_http_headers.keys());
        let name = names.find(|name| name.is_empty() || !name.chars().all(is_part))?;
        Some(format!("`{name}` is not a header name"))
    }

    fn find_limit_fault(&self) -> Option<String> {
        let times = [
            ("startup_timeout_sec", self.startup_timeout_sec),
            ("tool_timeout_sec", self.tool_timeout_sec),
            ("timeout_seconds", self.timeout_seconds),
        ];
        let wrong =
            times.iter().find(|(_, time)| time.is_some_and(|time| !TIMEOUT_SEC_RANGE.contains(&time)));
        wrong.map(|(key, _)| {
            format!("`{key}` must be from {} to {}", TIMEOUT_SEC_RANGE.start(), TIMEOUT_SEC_RANGE.end())
        })
    }

    /// Returns the time limit for starting the server. `timeout_seconds` can lengthen it and never shortens it: a
    /// Returns true if nothing may be done without this server.
    pub fn is_required(&self) -> bool {
        self.required == Some(true) && self.enabled != Some(false)
    }

    /// program that `npx` or `uvx` downloads first takes longer to start than any of its calls.
    pub fn startup_timeout(&self) -> Duration {
        let longer = self.timeout_seconds.map(Duration::from_secs_f64);
        let default = longer.unwrap_or_default().max(STARTUP_TIMEOUT);
        self.startup_timeout_sec.map_or(default, Duration::from_secs_f64)
    }

    /// Returns the time limit of a call; `tool_timeout_sec` takes precedence over `timeout_seconds`.
    pub fn tool_timeout(&self) -> Duration {
        let seconds = self.tool_timeout_sec.or(self.timeout_seconds);
        seconds.map_or(TOOL_TIMEOUT, Duration::from_secs_f64)
    }

    /// Validates the servers of `file`.
    pub(super) fn check_all(file: &ConfigFile) -> Result<(), OperationFault> {
        let servers = &file.content.mcp_servers;
        if let Some(one_more) = servers.values().nth(MAX_SERVERS) {
            return Err(
                file.fault_at(&one_more.span(), &format!("more than {MAX_SERVERS} servers are too many"))
            );
        }
        for (name, table) in servers {
            let unnamed =
                || format!("`{name}` is not a server name: use 1 to {MAX_NAME_CHARS} of A-Z a-z 0-9 _ -");
            let wrong = (!is_name(name)).then(unnamed).or_else(|| table.get_ref().find_fault());
            if let Some(why) = wrong {
                return Err(file.fault_at(&table.span(), &format!("the server `{name}`: {why}")));
            }
        }
        Ok(())
    }

    /// Returns the servers of `file`, with relative paths resolved against the file's directory.
    pub(super) fn settings(file: &ConfigFile, dirs: &UserDirs) -> Vec<SourcedValue<ServerSetting>> {
        let absolute = |path: &String| -> PathBuf {
            match (path.strip_prefix("~/"), &dirs.home) {
                (Some(rest), Some(home)) => home.join(rest),
                (Some(_), None) | (None, _) => file.base_directory().join(path),
            }
        };
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let setting = |(name, table): (&String, &Spanned<ServerTable>)| {
            file.setting(table, |table| {
                let mut table = table.clone();
                table.cwd = table.cwd.as_ref().map(|cwd| text(&absolute(cwd)));
                table.writable = table.writable.iter().map(|path| text(&absolute(path))).collect();
                if let Some(command) = table.command.as_mut().filter(|command| command.contains('/')) {
                    let path: PathBuf = absolute(command).components().collect();
                    *command = text(&path);
                }
                ServerSetting { name: name.clone(), table }
            })
        };
        file.content.mcp_servers.iter().map(setting).collect()
    }
}

/// Returns the error in a URL, if any. Credentials must not be sent in plain text over the network.
fn find_url_fault(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").map(|rest| (rest, true));
    let rest = rest.or_else(|| url.strip_prefix("http://").map(|rest| (rest, false)));
    let Some((rest, is_secret)) = rest else {
        return Some(format!("`{url}` is not the URL of a server; it begins with https://"));
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Some("its `url` holds a user or a password; use `bearer_token_env_var`".to_owned());
    }
    let name = host.rsplit_once(':').filter(|_| !host.ends_with(']')).map_or(host, |(name, _)| name);
    // Stricter than the client (every loopback host): the spelling must be plain to a reader of the file.
    (!is_secret && HostLocality::of(name) != HostLocality::Localhost)
        .then(|| "its `url` must begin with https://, unless it is on this machine".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_server_tables_are_explained() {
        let rows = [
            ("command = 'x'", ""),
            ("command = 'x'\nargs = ['a']\nenv = { A = '1' }\nenv_vars = ['TOKEN']", ""),
            ("url = 'https://example.org/mcp'\nbearer_token_env_var = 'T'", ""),
            ("url = 'http://localhost:3000/mcp'", ""),
            ("url = 'http://[::1]:3000/mcp'", ""),
            ("", "it needs a `command`, or a `url`"),
            ("command = 'x'\nurl = 'https://x'", "it has a `command` and a `url`; keep one"),
            ("command = ''", "its `command` is empty"),
            ("url = 'https://x'\nargs = ['a']", "`args` is for a server with a `command`"),
            (
                "command = 'x'\nbearer_token_env_var = 'T'",
                "`bearer_token_env_var` is for a server with a `url`",
            ),
            (
                "url = 'http://example.org'",
                "its `url` must begin with https://, unless it is on this machine",
            ),
            (
                "url = 'http://[::1]evil.org'",
                "its `url` must begin with https://, unless it is on this machine",
            ),
            (
                "url = 'http://127.0.0.2:3000/mcp'",
                "its `url` must begin with https://, unless it is on this machine",
            ),
            (
                "url = 'http://localhost.evil.org'",
                "its `url` must begin with https://, unless it is on this machine",
            ),
            (
                "url = 'https://a:b@example.org'",
                "its `url` holds a user or a password; use `bearer_token_env_var`",
            ),
            ("url = 'file:///x'", "`file:///x` is not the URL of a server; it begins with https://"),
            ("command = 'x'\ntool_timeout_sec = 0", "`tool_timeout_sec` must be from 0.1 to 86400"),
            ("command = 'x'\ntimeout_seconds = 0", "`timeout_seconds` must be from 0.1 to 86400"),
        ];
        for (text, expected) in rows {
            let table: ServerTable = toml::from_str(text).unwrap();
            assert_eq!(table.find_fault().unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn specific_timeouts_override_the_common_one() {
        for (text, startup, tool) in [
            ("", 30, 300),
            ("timeout_seconds = 10", 30, 10),
            ("timeout_seconds = 90", 90, 90),
            ("timeout_seconds = 90\ntool_timeout_sec = 20", 90, 20),
            ("timeout_seconds = 90\nstartup_timeout_sec = 5", 5, 90),
        ] {
            let table: ServerTable = toml::from_str(text).unwrap();
            let seconds = [table.startup_timeout(), table.tool_timeout()].map(|time| time.as_secs());
            assert_eq!(seconds, [startup, tool], "{text}");
        }
    }
}
