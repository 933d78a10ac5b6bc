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

use super::call_driver::ProtocolEra;
use super::tool_host::{
    ClientInput, DATA_META_KEY, FeatureFault, HostFeatures, HostIdentity, HostReply, HostTool, ReplyPiece,
    ToolHints, ToolHost,
};

/// The supported methods.
const METHODS: &[&str] = &[
    "server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
    "resources/templates/list", "resources/read", "subscriptions/listen", "completion/complete",
];
/// Methods that only the older era has.
const OLDER_METHODS: &[&str] =
    &["initialize", "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"];

/// Returns the self-description of the server.
pub(super) fn server_config(host: &dyn ToolHost) -> ServerConfig {
    let HostIdentity { name, title, version, instructions } = host.identity();
    let config = ServerConfig::new(capabilities(host.features()))
        .with_server_info(Implementation::new(name, version).with_title(title));
    match instructions {
        Some(instructions) => config.with_instructions(instructions),
        None => config,
    }
}

fn capabilities(features: HostFeatures) -> ServerCapabilities {
    let mut has = Map::from_iter([("tools".to_owned(), json!({}))]);
    let more = [
        ("prompts", features.prompts, json!({})),
        ("resources", features.resources, json!({ "subscribe": true })),
        ("completions", features.completions, json!({})),
        ("logging", features.logging, json!({})),
    ];
    has.extend(more.into_iter().filter(|(_, has, _)| *has).map(|(name, _, how)| (name.to_owned(), how)));
    serde_json::from_value(Value::Object(has)).unwrap_or_default()
}

pub(super) fn to_tool(offer: HostTool) -> Tool {
    let HostTool { name, title, description, input_schema: input, output_schema: output, hints } = offer;
    let mut tool = Tool::new(name, description, Arc::new(input));
    tool.output_schema = output.map(Arc::new);
    tool.annotations = hints.map(|hints| tool_annotations(title.clone(), hints));
    tool.title = title;
    tool
}

fn tool_annotations(title: Option<String>, hints: ToolHints) -> ToolAnnotations {
    let ToolHints { read_only, destructive, idempotent, open_world } = hints;
    ToolAnnotations::from_raw(title, Some(read_only), Some(destructive), Some(idempotent), Some(open_world))
}

pub(super) fn to_call_result(reply: HostReply) -> CallToolResult {
    let HostReply { pieces, structured, data, failed } = reply;
    let content: Vec<ContentBlock> = pieces.into_iter().filter_map(content_block).collect();
    let mut result = if failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = structured;
    result.meta = data.map(|data| MetaObject(Map::from_iter([(DATA_META_KEY.to_owned(), data)])));
    result
}

fn content_block(piece: ReplyPiece) -> Option<ContentBlock> {
    match piece {
        ReplyPiece::Text(text) => Some(ContentBlock::text(text)),
        ReplyPiece::Image { mime, bytes } => Some(ContentBlock::image(STANDARD.encode(bytes), mime)),
        ReplyPiece::Other(value) => {
            let read = serde_json::from_value(value);
            read.inspect_err(|error| tracing::warn!(%error, "a piece of an answer is not content")).ok()
        }
    }
}

/// Returns the input requests of a result, as the stateless era has them.
pub(super) fn input_requests(requests: &BTreeMap<String, ClientInput>) -> Result<InputRequests, ErrorData> {
    let one = |(name, request): (&String, &ClientInput)| {
        let (method, params) = match request {
            ClientInput::Form { .. } => ("elicitation/create", form_params(request)),
            ClientInput::Sample(params) => ("sampling/createMessage", params.clone()),
            ClientInput::Roots => ("roots/list", json!({})),
        };
        let input: InputRequest = parse_host_json(json!({ "method": method, "params": params }))?;
        Ok((name.clone(), input))
    };
    requests.iter().map(one).collect()
}

/// Returns the error for a client that lacks the capability for this request.
pub(super) fn missing_capability(request: &ClientInput) -> ErrorData {
    let name = match request {
        ClientInput::Form { .. } => "elicitation",
        ClientInput::Sample(_) => "sampling",
        ClientInput::Roots => "roots",
    };
    match parse_host_json(json!({ name: {} })) {
        Ok(capabilities) => ErrorData::missing_required_client_capability(capabilities),
        Err(fault) => fault,
    }
}

/// Returns the parameters of a form; null for any other request.
pub(super) fn form_params(request: &ClientInput) -> Value {
    match request {
        ClientInput::Form { message, schema } => {
            json!({ "mode": "form", "message": message, "requestedSchema": schema })
        }
        ClientInput::Sample(_) | ClientInput::Roots => Value::Null,
    }
}

/// Parses the JSON of a host as a type of `rmcp`.
pub(super) fn parse_host_json<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| {
        ErrorData::internal_error(format!("what the host wrote makes no sense: {error}"), None)
    })
}

pub(super) fn feature_error(fault: &FeatureFault, method: &'static str) -> ErrorData {
    match fault {
        FeatureFault::NoSuchMethod => unknown_method(method),
        FeatureFault::NoSuchResource { uri } => {
            ErrorData::resource_not_found(fault.to_string(), Some(json!({ "uri": uri })))
        }
        FeatureFault::BadParams(why) => ErrorData::invalid_params(why.clone(), None),
    }
}

/// Returns the error for a request that was not parsed: an unknown method, or invalid parameters.
pub(super) fn invalid_request(method: &str, params: Option<Value>, era: ProtocolEra) -> ErrorData {
    let older = era == ProtocolEra::Sessions && OLDER_METHODS.contains(&method);
    if !older && !METHODS.contains(&method) {
        return unknown_method(method);
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

fn unknown_method(method: &str) -> ErrorData {
    let method: String = method.chars().take(80).collect();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}` here"), None)
}
