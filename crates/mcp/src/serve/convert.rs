//! Converts our server types to those of `rmcp`, and host JSON to typed results.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, ErrorCode, Implementation, InputRequest,
    InputRequests, MetaObject, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::course::Era;
use super::host::{DATA, ExtraFault, Extras, Hints, Host, Identity, Offer, Piece, Reply, Request};

/// The supported methods.
const METHODS: &[&str] = &[
    "server/discover",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "subscriptions/listen",
    "completion/complete",
];
/// Methods that only the older era has.
const OLDER: &[&str] =
    &["initialize", "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"];

/// Returns the self-description of the server.
pub(super) fn config(host: &dyn Host) -> ServerConfig {
    let Identity { name, title, version, instructions } = host.identity();
    let config = ServerConfig::new(capabilities(host.extras()))
        .with_server_info(Implementation::new(name, version).with_title(title));
    match instructions {
        Some(instructions) => config.with_instructions(instructions),
        None => config,
    }
}

fn capabilities(extras: Extras) -> ServerCapabilities {
    let mut has = Map::from_iter([("tools".to_owned(), json!({}))]);
    let more = [
        ("prompts", extras.prompts, json!({})),
        ("resources", extras.resources, json!({ "subscribe": true })),
        ("completions", extras.completions, json!({})),
        ("logging", extras.logging, json!({})),
    ];
    has.extend(more.into_iter().filter(|(_, has, _)| *has).map(|(name, _, how)| (name.to_owned(), how)));
    serde_json::from_value(Value::Object(has)).unwrap_or_default()
}

pub(super) fn tool(offer: Offer) -> Tool {
    let Offer { name, title, description, input, output, hints } = offer;
    let mut tool = Tool::new(name, description, Arc::new(input));
    tool.output_schema = output.map(Arc::new);
    tool.annotations = hints.map(|hints| annotations(title.clone(), hints));
    tool.title = title;
    tool
}

fn annotations(title: Option<String>, hints: Hints) -> ToolAnnotations {
    let Hints { read_only, destructive, idempotent, open_world } = hints;
    ToolAnnotations::from_raw(title, Some(read_only), Some(destructive), Some(idempotent), Some(open_world))
}

pub(super) fn result(reply: Reply) -> CallToolResult {
    let Reply { pieces, structured, data, failed } = reply;
    let content: Vec<ContentBlock> = pieces.into_iter().filter_map(block).collect();
    let mut result = if failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = structured;
    result.meta = data.map(|data| MetaObject(Map::from_iter([(DATA.to_owned(), data)])));
    result
}

fn block(piece: Piece) -> Option<ContentBlock> {
    match piece {
        Piece::Text(text) => Some(ContentBlock::text(text)),
        Piece::Image { mime, bytes } => Some(ContentBlock::image(STANDARD.encode(bytes), mime)),
        Piece::Other(value) => {
            let read = serde_json::from_value(value);
            read.inspect_err(|error| tracing::warn!(%error, "a piece of an answer is no content")).ok()
        }
    }
}

/// Returns the input requests of a result, as the stateless era has them.
pub(super) fn inputs(requests: &BTreeMap<String, Request>) -> Result<InputRequests, ErrorData> {
    let one = |(name, request): (&String, &Request)| {
        let (method, params) = match request {
            Request::Form { .. } => ("elicitation/create", form(request)),
            Request::Sample(params) => ("sampling/createMessage", params.clone()),
            Request::Roots => ("roots/list", json!({})),
        };
        let input: InputRequest = read(json!({ "method": method, "params": params }))?;
        Ok((name.clone(), input))
    };
    requests.iter().map(one).collect()
}

/// Returns the error for a client that lacks the capability for this request.
pub(super) fn needs(request: &Request) -> ErrorData {
    let name = match request {
        Request::Form { .. } => "elicitation",
        Request::Sample(_) => "sampling",
        Request::Roots => "roots",
    };
    match read(json!({ name: {} })) {
        Ok(capabilities) => ErrorData::missing_required_client_capability(capabilities),
        Err(fault) => fault,
    }
}

/// Returns the parameters of a form; null for any other request.
pub(super) fn form(request: &Request) -> Value {
    match request {
        Request::Form { message, schema } => {
            json!({ "mode": "form", "message": message, "requestedSchema": schema })
        }
        Request::Sample(_) | Request::Roots => Value::Null,
    }
}

/// Parses the JSON of a host as a type of `rmcp`.
pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| {
        ErrorData::internal_error(format!("what the host wrote makes no sense: {error}"), None)
    })
}

pub(super) fn fault(fault: &ExtraFault, method: &'static str) -> ErrorData {
    match fault {
        ExtraFault::NoSuchMethod => unknown(method),
        ExtraFault::NoSuchResource { uri } => {
            ErrorData::resource_not_found(fault.to_string(), Some(json!({ "uri": uri })))
        }
        ExtraFault::BadParams(why) => ErrorData::invalid_params(why.clone(), None),
    }
}

/// Returns the error for a request that was not parsed: an unknown method, or invalid parameters.
pub(super) fn misfit(method: &str, params: Option<Value>, era: Era) -> ErrorData {
    let older = era == Era::Sessions && OLDER.contains(&method);
    if !older && !METHODS.contains(&method) {
        return unknown(method);
    }
    let why = match (method, params) {
        (_, None) => "there are none".to_owned(),
        ("tools/call", Some(params)) => match serde_json::from_value::<CallToolRequestParams>(params) {
            Ok(_) => "they cannot be read".to_owned(),
            Err(error) => error.to_string(),
        },
        (_, Some(_)) => "they cannot be read".to_owned(),
    };
    ErrorData::invalid_params(format!("the params of `{method}` do not fit: {why}"), None)
}

fn unknown(method: &str) -> ErrorData {
    let method: String = method.chars().take(80).collect();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}` here"), None)
}
