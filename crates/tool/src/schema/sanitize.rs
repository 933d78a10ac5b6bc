//! Sanitizes a foreign schema: parses it, breaks cycles, merges the root into one object, compacts it to a budget.

use serde_json::Value;

use super::parse::{OneOfHandling, parse_schema};
use super::{JsonSchema, JsonType, compact, ref_cleanup, root_merge};

/// The reason why a foreign schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// Tool arguments are an object, and this schema accepts none.
    #[error(
        "the schema's root must describe an object, but it is {found}; put the value in a property of an object"
    )]
    RootNotObject {
        /// The actual root, e.g. `a schema of type string`.
        found: String,
    },
}

/// Sanitizes a tool's input schema. Without a declared schema, the result is an open, empty object.
pub(super) fn sanitize_schema(value: &Value, budget: usize) -> Result<JsonSchema, SchemaFault> {
    let fault = |found: &str| Err(SchemaFault::RootNotObject { found: found.to_owned() });
    match value {
        Value::Null | Value::Bool(_) => return Ok(JsonSchema::of_type(JsonType::Object)),
        Value::String(_) => return fault("a JSON string"),
        Value::Number(_) => return fault("a JSON number"),
        Value::Array(_) => return fault("a JSON array"),
        Value::Object(_) => {}
    }
    let mut schema = parse_schema(value, OneOfHandling::Loosen);
    ref_cleanup::break_cycles(&mut schema);
    let Some(mut schema) = root_merge::merge_root(&schema) else {
        return Err(SchemaFault::RootNotObject { found: describe(&schema) });
    };
    ref_cleanup::limit_depth(&mut schema);
    schema.normalize_all();
    ref_cleanup::prune_definitions(&mut schema);
    Ok(compact::compact_to_budget(schema, budget))
}

fn describe(root: &JsonSchema) -> String {
    if root.types.is_empty() {
        return "a composition of which no branch is an object".to_owned();
    }
    let names: Vec<&str> = root.types.iter().map(|kind| kind.name()).collect();
    format!("a schema of type {}", names.join(" or "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_absent_schema_is_an_open_object() {
        for value in
            [json!(null), json!(true), json!(false), json!({}), json!({"type": "object", "properties": null})]
        {
            let schema = sanitize_schema(&value, 64).unwrap();
            assert_eq!(serde_json::to_string(&schema).unwrap(), r#"{"type":"object","properties":{}}"#);
        }
    }

    #[test]
    fn a_root_that_is_no_object_is_refused() {
        for (value, wanted) in [
            (json!("object"), "a JSON string"),
            (json!(3), "a JSON number"),
            (json!([]), "a JSON array"),
            (json!({"type": "string"}), "a schema of type string"),
            (json!({"type": ["array", "null"]}), "a schema of type array or null"),
            (json!({"enum": ["a"]}), "a schema of type string"),
            (
                json!({"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}], "$defs": {"n": {"type": "null"}}}),
                "a composition of which no branch is an object",
            ),
            (
                json!({"allOf": [{"type": "object"}, {"type": "string"}]}),
                "a composition of which no branch is an object",
            ),
        ] {
            let SchemaFault::RootNotObject { found } = sanitize_schema(&value, 1_000).unwrap_err();
            assert_eq!(found, wanted, "{value}");
        }
    }

    #[test]
    fn a_nullable_root_is_an_object() {
        let schema =
            sanitize_schema(&json!({"type": ["object", "null"], "enum": [{}], "default": {}}), 64).unwrap();
        assert_eq!(schema, JsonSchema::of_type(JsonType::Object));
    }
}
