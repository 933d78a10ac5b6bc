//! The tools that list and read the resources of servers.

use std::sync::Arc;

use futures_util::future::join_all;
use policy::{Effect, ForeignToolCall, Intent, Permit, ToolTrust};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool::{Cx, Lane, OutputItem, ToolError, ToolHandler, ToolOutput, WorkingDir};

use crate::connection::{McpConnection, ServerState};
use crate::peer::{AnswerBlock, CallAnswer, PeerError, ServerPeer};
use crate::server_config::CallApproval;
use crate::tool_answer::into_tool_output;

/// Maximum number of pages of one list; a cursor continues a longer one.
const MAX_PAGES: usize = 20;

type SharedConnections = Arc<[Arc<McpConnection>]>;

/// The `list_mcp_resources` tool.
pub(crate) struct ListResources(pub(crate) SharedConnections);
/// The `list_mcp_resource_templates` tool.
pub(crate) struct ListResourceTemplates(pub(crate) SharedConnections);
/// The `read_mcp_resource` tool.
pub(crate) struct ReadResource(pub(crate) SharedConnections);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListArgs {
    /// One server; all if left out.
    server: Option<String>,
    /// Where an earlier list of that server stopped.
    cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArgs {
    /// The server that has it.
    server: String,
    /// Its URI, as it was listed or made from a template.
    uri: String,
}

/// Maximum bytes of a URI.
const MAX_URI_BYTES: usize = 4096;

fn find_connection<'a>(
    connections: &'a SharedConnections,
    server: &str,
) -> Result<&'a Arc<McpConnection>, ToolError> {
    connections.iter().find(|connection| connection.server.name == server).ok_or_else(|| {
        let known: Vec<String> =
            connections.iter().map(|connection| format!("`{}`", connection.server.name)).collect();
        let there = match known.is_empty() {
            true => "no server is configured".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        ToolError::bad_argument("server", format!("there is no server `{server}`; {there}"))
    })
}

/// Returns the intent of a request to one server, or to all of them.
fn read_intent(
    connections: &SharedConnections,
    server: Option<&str>,
    method: &str,
) -> Result<Intent, ToolError> {
    let targets: Vec<&Arc<McpConnection>> = match server {
        Some(server) => vec![find_connection(connections, server)?],
        // A server whose capabilities are not known yet may be asked later.
        None => connections.iter().filter(|connection| !lacks_resources(connection)).collect(),
    };
    let trusts = targets.iter().map(|connection| server_trust(connection));
    Ok(Intent::from_effects(vec![Effect::Foreign(ForeignToolCall {
        server: server.unwrap_or("*").to_owned(),
        tool: method.to_owned(),
        definition: String::new(),
        // Without servers, nothing is asked.
        trust: trusts.reduce(strictest).unwrap_or(ToolTrust::ReadOnly),
    })]))
}

/// Returns the trust in reading from a server. Only the server itself says that reading changes nothing.
fn server_trust(connection: &McpConnection) -> ToolTrust {
    match connection.server.approval {
        CallApproval::Allow => ToolTrust::Trusted,
        CallApproval::Auto if connection.trusts_annotations() => ToolTrust::ReadOnly,
        CallApproval::Auto | CallApproval::Ask => ToolTrust::Unknown,
    }
}

fn strictest(one: ToolTrust, other: ToolTrust) -> ToolTrust {
    match (one, other) {
        (ToolTrust::Changed, _) | (_, ToolTrust::Changed) => ToolTrust::Changed,
        (ToolTrust::Unknown, _) | (_, ToolTrust::Unknown) => ToolTrust::Unknown,
        (ToolTrust::ReadOnly, _) | (_, ToolTrust::ReadOnly) => ToolTrust::ReadOnly,
        (ToolTrust::Trusted, ToolTrust::Trusted) => ToolTrust::Trusted,
    }
}

async fn ready_peer(connection: &McpConnection) -> Result<Arc<dyn ServerPeer>, ToolError> {
    let server = &connection.server.name;
    connection.wait_until_ready().await.map_err(|why| ToolError::io(format!("the server `{server}` {why}")))
}

fn peer_error(connection: &McpConnection, error: &PeerError) -> ToolError {
    ToolError::io(format!("the server `{}` does not say: {error}", connection.server.name))
}

/// Returns the resources of one server, and the cursor of the next page.
async fn list_server_resources(
    connection: &McpConnection,
    templates: bool,
    mut cursor: Option<String>,
) -> Result<(Vec<Value>, Option<String>), ToolError> {
    let peer = ready_peer(connection).await?;
    let (mut all, one_page) = (Vec::new(), cursor.is_some());
    for _ in 0..MAX_PAGES {
        let page = connection
            .with_timeout(connection.server.tool_timeout, peer.list_resources(templates, cursor.clone()))
            .await;
        let page = page.ok_or(ToolError::TimedOut { after: connection.server.tool_timeout })?;
        let page = page.map_err(|trouble| peer_error(connection, &trouble))?;
        let server = json!(connection.server.name);
        all.extend(page.items.into_iter().map(|item| {
            let mut object = Map::from_iter([("server".to_owned(), server.clone())]);
            object.extend(item.as_object().cloned().unwrap_or_default());
            Value::Object(object)
        }));
        if page.next_cursor.is_none() || page.next_cursor == cursor || one_page {
            return Ok((all, page.next_cursor.filter(|_| one_page)));
        }
        cursor = page.next_cursor;
    }
    Ok((all, cursor))
}

async fn list_resources(
    connections: &SharedConnections,
    args: &ListArgs,
    templates: bool,
) -> Result<ToolOutput, ToolError> {
    let key = if templates { "resourceTemplates" } else { "resources" };
    let mut value = Map::new();
    let mut all = Vec::new();
    match &args.server {
        Some(server) => {
            let (items, next) =
                list_server_resources(find_connection(connections, server)?, templates, args.cursor.clone())
                    .await?;
            all = items;
            value.extend(next.map(|next| ("nextCursor".to_owned(), json!(next))));
        }
        None if args.cursor.is_some() => {
            return Err(ToolError::bad_argument(
                "cursor",
                "it goes on with the list of one server: give `server` too",
            ));
        }
        None => {
            let mut failures = Vec::new();
            // The capabilities of a server are unknown until it has started or failed.
            join_all(connections.iter().map(|connection| connection.wait_until_ready())).await;
            for connection in connections.iter().filter(|connection| !lacks_resources(connection)) {
                match list_server_resources(connection, templates, None).await {
                    Ok((items, _)) => all.extend(items),
                    Err(error) => failures.push(json!(error.to_string())),
                }
            }
            if !failures.is_empty() {
                value.insert("failures".to_owned(), Value::Array(failures));
            }
        }
    }
    value.insert(key.to_owned(), Value::Array(all));
    let value = Value::Object(value);
    Ok(ToolOutput::text(value.to_string()).with_structured(value))
}

/// Returns whether a server declares resources.
pub(crate) fn has_resources(connection: &McpConnection) -> bool {
    matches!(connection.state(), ServerState::Ready(peer) if peer.about().resources)
}

/// Returns whether a ready server declares no resources.
fn lacks_resources(connection: &McpConnection) -> bool {
    matches!(connection.state(), ServerState::Ready(peer) if !peer.about().resources)
}

impl ToolHandler for ListResources {
    type Args = ListArgs;
    const NAME: &'static str = "list_mcp_resources";
    const ABOUT: &'static str = "Lists what servers have to read: files, records, pages. Prefer it to a search of the web where a server has what you need.";
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &ListArgs, _: &WorkingDir) -> Result<Intent, ToolError> {
        read_intent(&self.0, args.server.as_deref(), "resources/list")
    }

    async fn run(&self, args: &ListArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        list_resources(&self.0, args, false).await
    }
}

impl ToolHandler for ListResourceTemplates {
    type Args = ListArgs;
    const NAME: &'static str = "list_mcp_resource_templates";
    const ABOUT: &'static str =
        "Lists what servers have to read by a pattern: URIs with names in braces that you fill in.";
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &ListArgs, _: &WorkingDir) -> Result<Intent, ToolError> {
        read_intent(&self.0, args.server.as_deref(), "resources/templates/list")
    }

    async fn run(&self, args: &ListArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        list_resources(&self.0, args, true).await
    }
}

impl ToolHandler for ReadResource {
    type Args = ReadArgs;
    const NAME: &'static str = "read_mcp_resource";
    const ABOUT: &'static str = "Reads what a server has at a URI.";
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &ReadArgs, _: &WorkingDir) -> Result<Intent, ToolError> {
        // The URI is part of the question, and the approval is for it: a URI can carry any data to a server.
        if args.uri.len() > MAX_URI_BYTES {
            return Err(ToolError::bad_argument("uri", format!("it is longer than {MAX_URI_BYTES} bytes")));
        }
        read_intent(&self.0, Some(args.server.trim()), &format!("resources/read {}", args.uri.trim()))
    }

    async fn run(&self, args: &ReadArgs, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let (server, uri) = (args.server.trim(), args.uri.trim());
        if uri.is_empty() {
            return Err(ToolError::bad_argument("uri", "it is empty; list_mcp_resources has some"));
        }
        let connection = find_connection(&self.0, server)?;
        let peer = ready_peer(connection).await?;
        let limit = connection.server.tool_timeout;
        let read = connection.with_timeout(limit, peer.read_resource(uri)).await;
        let unlanded = connection.land_changes(cx).await;
        let contents = match read.ok_or(ToolError::TimedOut { after: limit })? {
            Ok(contents) => contents,
            Err(PeerError::Refused { message, code }) => {
                let text = format!(
                    "the server `{server}` refuses: {message} (code {code}); list_mcp_resources has what there is"
                );
                return Ok(ToolOutput::failure(text));
            }
            Err(error) => return Err(peer_error(connection, &error)),
        };
        let blocks = contents.as_array().into_iter().flatten().map(content_block).collect();
        let value = json!({ "server": server, "uri": uri, "contents": contents });
        let mut output = into_tool_output(CallAnswer { blocks, structured: None, failed: false });
        output.items.extend(unlanded.into_iter().map(OutputItem::Text));
        Ok(output.with_structured(value))
    }
}

/// Converts one content item to a block.
fn content_block(content: &Value) -> AnswerBlock {
    let text = |key: &str| content.get(key).and_then(Value::as_str).map(str::to_owned);
    match (text("text"), text("blob")) {
        (Some(text), _) => AnswerBlock::Text(text),
        (None, blob) => AnswerBlock::Resource {
            uri: text("uri").unwrap_or_default(),
            mime: text("mimeType"),
            text: None,
            blob,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::McpClientDeps;
    use crate::server_config::{HttpTransport, McpServerConfig, ServerTransport};

    fn read_trust(servers: &[(&str, CallApproval, bool)], asked: Option<&str>) -> Option<ToolTrust> {
        let connection = |(name, approval, believed): &(&str, CallApproval, bool)| {
            let mut server =
                McpServerConfig::new(*name, ServerTransport::Http(HttpTransport::new("http://127.0.0.1:1/")));
            (server.approval, server.annotations_trusted) = (*approval, *believed);
            McpConnection::new(server, McpClientDeps::default())
        };
        let connections: SharedConnections = servers.iter().map(connection).collect::<Vec<_>>().into();
        let intent = read_intent(&connections, asked, "resources/read").ok()?;
        match &intent.effects[..] {
            [Effect::Foreign(foreign)] => Some(foreign.trust),
            _ => None,
        }
    }

    #[test]
    fn reading_from_a_server_is_asked_about_as_its_user_says() {
        let (ask, auto, allow) = (CallApproval::Ask, CallApproval::Auto, CallApproval::Allow);
        let servers = [("a", ask, true), ("b", auto, true), ("c", auto, false), ("d", allow, false)];
        let one = |name| read_trust(&servers, Some(name));
        let expected =
            [ToolTrust::Unknown, ToolTrust::ReadOnly, ToolTrust::Unknown, ToolTrust::Trusted].map(Some);
        assert_eq!(["a", "b", "c", "d"].map(one), expected);
        assert_eq!(one("e"), None);
        assert_eq!(read_trust(&servers, None), Some(ToolTrust::Unknown));
        assert_eq!(read_trust(&[servers[1], servers[3]], None), Some(ToolTrust::ReadOnly));
    }
}
