//! Generates the OpenRPC description of the protocol from the Rust types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::fault::RpcErrorCode;
use crate::methods::{AnsweredBy, METHODS, MethodRow};
use crate::protocol::PROTOCOL;

/// Returns the OpenRPC document. A test compares it with `docs/openrpc.json`.
pub fn openrpc_document() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let mut methods = Vec::new();
    for row in METHODS {
        let (params, result) = ((row.params)(&mut schemas).to_value(), (row.result)(&mut schemas).to_value());
        methods.push((row, params, result));
    }
    let definitions: Map<String, Value> = schemas.take_definitions(true);
    let methods: Vec<Value> = methods
        .into_iter()
        .map(|(row, params, result)| describe_method(row, &params, &result, &definitions))
        .collect();
    let errors: Map<String, Value> = RpcErrorCode::ALL
        .iter()
        .map(|(code, about)| (format!("{code:?}"), json!({ "code": code.number(), "message": about })))
        .collect();
    json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "toolgate serve",
            "version": PROTOCOL.to_string(),
            "description": "Sessions over JSON-RPC 2.0, in both directions. docs/serve.md is the manual.",
        },
        "methods": methods,
        "components": { "schemas": definitions, "errors": errors },
    })
}

fn describe_method(
    row: &MethodRow,
    params: &Value,
    result: &Value,
    definitions: &Map<String, Value>,
) -> Value {
    let described = resolve_reference(params, definitions);
    let required = described["required"].as_array().cloned().unwrap_or_default();
    let mut members = described["properties"].as_object().cloned().unwrap_or_default();
    // Members that only some variants have are optional.
    for form in described["oneOf"].as_array().into_iter().flatten() {
        for (name, schema) in form["properties"].as_object().into_iter().flatten() {
            let schema = if schema["const"].is_null() { schema.clone() } else { json!({ "type": "string" }) };
            members.entry(name.clone()).or_insert(schema);
        }
    }
    let params: Vec<Value> = members
        .iter()
        .map(|(name, schema)| json!({ "name": name, "required": required.contains(&json!(name)), "schema": schema }))
        .collect();
    let mut method = json!({
        "name": row.name,
        "summary": row.about,
        "description": described["description"],
        "paramStructure": "by-name",
        "params": params,
        "x-answered-by": match row.side {
            AnsweredBy::Server => "server",
            AnsweredBy::Client => "client",
            AnsweredBy::Notification => "none",
        },
    });
    if row.side != AnsweredBy::Notification {
        method["result"] = json!({ "name": "result", "schema": result });
    }
    method
}

/// Resolves a schema reference.
fn resolve_reference<'a>(schema: &'a Value, definitions: &'a Map<String, Value>) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.and_then(|name| definitions.get(name)).unwrap_or(schema)
}
