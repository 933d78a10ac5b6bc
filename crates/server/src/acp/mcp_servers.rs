//! Converts the MCP servers of an editor into server settings of a session.

use super::protocol::{EditorMcpServer, NameValuePair};
use config::{ServerSetting, ServerTable, SettingSource, SourcedValue, is_server_name};

/// The source of these settings.
const SOURCE: SettingSource = SettingSource::Flag("session/new");
/// Maximum length of a server name.
const MAX_NAME_CHARS: usize = 64;

/// Returns the settings, or a message with the index of the first invalid server.
pub(super) fn to_settings(servers: Vec<EditorMcpServer>) -> Result<Vec<SourcedValue<ServerSetting>>, String> {
    servers.into_iter().enumerate().map(|(index, server)| to_setting(index, server)).collect()
}

fn to_setting(index: usize, server: EditorMcpServer) -> Result<SourcedValue<ServerSetting>, String> {
    let wrong = |why: &str| format!("`mcpServers[{index}]`: {why}");
    let name = sanitize_name(&server.name);
    if !is_server_name(&name) {
        return Err(wrong("a server needs a name"));
    }
    let mut table = ServerTable::default();
    match server.kind.as_deref() {
        None | Some("stdio") => {
            table.command = server.command;
            table.args = server.args;
            table.env = to_map(server.env);
        }
        Some("http") => {
            table.url = server.url;
            table.http_headers = to_map(server.headers);
        }
        Some(_) => return Err(wrong("a server is a program, or of the type `http`")),
    }
    match table.find_fault() {
        Some(why) => Err(wrong(&why)),
        None => Ok(SourcedValue { value: ServerSetting { name, table }, source: SOURCE }),
    }
}

fn to_map(pairs: Vec<NameValuePair>) -> std::collections::BTreeMap<String, String> {
    pairs.into_iter().map(|NameValuePair { name, value }| (name, value)).collect()
}

/// Replaces the characters of a display name that a tool-name prefix does not allow, and truncates it.
fn sanitize_name(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
    name.chars().map(plain).take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(server: Value) -> Result<String, String> {
        let server: EditorMcpServer = serde_json::from_value(server).unwrap();
        let settings = to_settings(vec![server])?;
        Ok(serde_json::to_string(&settings[0].value).unwrap())
    }

    #[test]
    fn programs_and_urls_are_servers_and_all_else_is_refused() {
        let program = json!({"name": "My server", "command": "/bin/x", "args": ["-v"], "env": [{"name": "A", "value": "b"}]});
        assert_eq!(
            read(program).unwrap(),
            r#"{"name":"My-server","command":"/bin/x","args":["-v"],"env":{"A":"b"}}"#
        );
        let web = json!({"type": "http", "name": "web", "url": "https://x/mcp", "headers": [{"name": "K", "value": "v"}]});
        assert_eq!(read(web).unwrap(), r#"{"name":"web","url":"https://x/mcp","http_headers":{"K":"v"}}"#);
        let rows = [
            (
                json!({"type": "sse", "name": "x", "url": "https://x"}),
                "`mcpServers[0]`: a server is a program, or of the type `http`",
            ),
            (json!({"name": "", "command": "x"}), "`mcpServers[0]`: a server needs a name"),
            (json!({"name": "x"}), "`mcpServers[0]`: it needs a `command`, or a `url`"),
        ];
        for (server, why) in rows {
            assert_eq!(read(server).unwrap_err(), why);
        }
    }
}
