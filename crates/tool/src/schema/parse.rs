//! Parses a JSON value as a schema: bounded for any input, and never tighter than the original.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::json_pointer::{ReferencedDefs, has_own_id};
use super::keywords::{
    accept_null, declared_types, infer_types, is_allowed_name, parse_constraints, parse_count, parse_notes,
    parse_required,
};
use super::{AdditionalProperties, JsonSchema, ObjectSchema, SchemaComposition};

/// Schemas below this depth accept anything.
pub(super) const MAX_DEPTH: usize = 32;
/// The most schemas parsed from one document; further ones accept anything.
pub(super) const MAX_NODES: usize = 4_096;
/// Branches of a composition; a longer one is dropped.
pub(super) const MAX_BRANCHES: usize = 256;
/// The treatment of `oneOf`.
#[derive(Clone, Copy)]
pub(super) enum OneOfHandling {
    /// `oneOf` stays: no branch is loosened, as the schema is our own.
    Keep,
    /// `oneOf` becomes `anyOf`: two loosened branches may match at once, and then `oneOf` would reject a valid value.
    Loosen,
}

/// Parses `document` and the definitions that it reaches; the result is in normal form.
pub(super) fn parse_schema(document: &Value, one_of: OneOfHandling) -> JsonSchema {
    let mut parser = SchemaParser { referenced: ReferencedDefs::new(document), one_of, nodes: 0 };
    let mut root = parser.parse_node(document, ParsePosition { depth: 0, rebased: false });
    // ends: a place is queued once, and only a schema that was read (MAX_NODES) queues one
    while let Some((name, target)) = parser.referenced.next_unread() {
        let schema = parser.parse_node(target, ParsePosition { depth: 1, rebased: has_own_id(target) });
        root.defs.insert(name, schema);
    }
    root
}

/// The parser's state: referenced definitions and the number of schemas parsed so far.
struct SchemaParser<'a> {
    referenced: ReferencedDefs<'a>,
    one_of: OneOfHandling,
    nodes: usize,
}

/// The position of a schema in the document.
#[derive(Clone, Copy)]
struct ParsePosition {
    depth: usize,
    /// True below a nested `$id`, where `#` is not the document.
    rebased: bool,
}

impl SchemaParser<'_> {
    fn is_full(&self) -> bool {
        self.nodes >= MAX_NODES
    }

    fn parse_node(&mut self, value: &Value, position: ParsePosition) -> JsonSchema {
        if position.depth >= MAX_DEPTH || self.is_full() {
            return JsonSchema::default();
        }
        self.nodes += 1;
        // `false` accepts anything too: a model cannot be told "never", and the server rejects the value itself.
        let Value::Object(map) = value else { return JsonSchema::default() };
        let rebased = position.rebased || (position.depth > 0 && has_own_id(value));
        let below = ParsePosition { depth: position.depth + 1, rebased };
        let mut schema = JsonSchema {
            types: declared_types(map),
            notes: parse_notes(map),
            values: parse_constraints(map),
            items: self.parse_items(map, below).map(Box::new),
            object: self.parse_object(map, below).map(Box::new),
            combined: self.parse_composition(map, below),
            reference: self.parse_reference(map, rebased),
            defs: BTreeMap::new(),
        };
        schema.normalize_composition();
        let alone = schema.reference.is_none() && schema.combined == SchemaComposition::default();
        if schema.types.is_empty() && alone {
            schema.types = infer_types(map, schema.values.choices.as_deref());
        }
        if map.get("nullable") == Some(&Value::Bool(true)) {
            accept_null(&mut schema);
        }
        schema.normalize();
        schema
    }

    fn parse_reference(&mut self, map: &Map<String, Value>, rebased: bool) -> Option<String> {
        let reference = map.get("$ref")?.as_str()?;
        if rebased { None } else { self.referenced.resolve_reference(reference) }
    }

    /// A closed tuple becomes a list of any of its members; so does one with a schema for the rest. An open tuple
    /// accepts anything.
    fn parse_items(&mut self, map: &Map<String, Value>, below: ParsePosition) -> Option<JsonSchema> {
        let items = map.get("items").filter(|items| !items.is_null());
        let (tuple, rest) = match (map.get("prefixItems"), items) {
            (Some(Value::Array(tuple)), rest) => (tuple, rest),
            (_, Some(Value::Array(tuple))) => (tuple, map.get("additionalItems")),
            (_, items) => return items.map(|items| self.parse_node(items, below)),
        };
        let most = map.get("maxItems").and_then(parse_count);
        let closed = rest == Some(&Value::Bool(false)) || most.is_some_and(|most| most <= tuple.len() as u64);
        let rest = match (closed, rest) {
            (true, _) => None,
            (false, Some(rest @ Value::Object(_))) => Some(rest),
            (false, _) => return Some(JsonSchema::default()),
        };
        let deeper = ParsePosition { depth: below.depth + 1, ..below };
        Some(any_of_schema(self.parse_branches(tuple.iter().chain(rest), deeper)))
    }

    fn parse_object(&mut self, map: &Map<String, Value>, below: ParsePosition) -> Option<ObjectSchema> {
        let known = ["properties", "required", "additionalProperties"];
        known.iter().find(|key| map.get(**key).is_some_and(|value| !value.is_null()))?;
        let mut object = ObjectSchema { required: parse_required(map), ..ObjectSchema::default() };
        object.additional = match map.get("additionalProperties") {
            // The names that a pattern admits are unknown here, so closing the object would reject them.
            _ if map.contains_key("patternProperties") => AdditionalProperties::Any,
            Some(Value::Bool(false)) => AdditionalProperties::Forbidden,
            Some(schema @ Value::Object(_)) if !self.is_full() => {
                AdditionalProperties::Schema(Box::new(self.parse_node(schema, below)))
            }
            _ => AdditionalProperties::Any,
        };
        for (name, value) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if self.is_full() || !is_allowed_name(name) {
                // An unread name must not count as an additional property.
                object.additional = AdditionalProperties::Any;
                continue;
            }
            object.properties.insert(name.clone(), self.parse_node(value, below));
        }
        Some(object)
    }

    fn parse_composition(&mut self, map: &Map<String, Value>, below: ParsePosition) -> SchemaComposition {
        let list =
            |key: &str| map.get(key).and_then(Value::as_array).filter(|list| list.len() <= MAX_BRANCHES);
        let deeper = ParsePosition { depth: below.depth + 1, ..below };
        let mut combined = SchemaComposition::default();
        if let Some(list) = list("anyOf") {
            combined.any_of = self.parse_branches(list, below);
        }
        if let Some(list) = list("oneOf") {
            match self.one_of {
                OneOfHandling::Keep => combined.one_of = self.parse_branches(list, below),
                OneOfHandling::Loosen if combined.any_of.is_empty() => {
                    combined.any_of = self.parse_branches(list, below);
                }
                OneOfHandling::Loosen => {
                    combined.all_of.push(any_of_schema(self.parse_branches(list, deeper)));
                }
            }
        }
        for member in list("allOf").into_iter().flatten() {
            combined.all_of.push(self.parse_node(member, below));
        }
        combined
    }

    /// Parses alternatives, skipping `false`. If not all of them can be parsed, the whole choice is dropped.
    fn parse_branches<'v>(
        &mut self,
        list: impl IntoIterator<Item = &'v Value>,
        below: ParsePosition,
    ) -> Vec<JsonSchema> {
        let mut branches = Vec::new();
        for value in list {
            if self.is_full() || branches.len() == MAX_BRANCHES {
                return Vec::new();
            }
            if value != &Value::Bool(false) {
                branches.push(self.parse_node(value, below));
            }
        }
        branches
    }
}

fn any_of_schema(any_of: Vec<JsonSchema>) -> JsonSchema {
    let combined = SchemaComposition { any_of, ..SchemaComposition::default() };
    let mut schema = JsonSchema { combined, ..JsonSchema::default() };
    schema.normalize();
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::schema::JsonType;

    #[track_caller]
    fn check(value: &Value, wanted: &Value) {
        let found = serde_json::to_value(parse_schema(value, OneOfHandling::Loosen)).unwrap();
        assert_eq!(found, *wanted, "{value}");
    }

    #[test]
    fn a_composition_is_not_given_a_type() {
        check(
            &json!({"anyOf": [{"type": "string"}, {"type": "integer"}], "minimum": 0}),
            &json!({"minimum": 0, "anyOf": [{"type": "string"}, {"type": "integer"}]}),
        );
    }

    #[test]
    fn closed_objects_stay_closed_unless_a_pattern_opens_them() {
        check(
            &json!({"additionalProperties": false}),
            &json!({"type": "object", "properties": {}, "additionalProperties": false}),
        );
        check(
            &json!({"additionalProperties": false, "patternProperties": {"^x-": {}}}),
            &json!({"type": "object", "properties": {}}),
        );
        check(
            &json!({"additionalProperties": {"type": "string"}}),
            &json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
        );
    }

    #[test]
    fn tuples_are_lists_of_their_members_if_closed() {
        let either = json!({"anyOf": [{"type": "string"}, {"type": "number"}]});
        for closed in [
            &json!({"prefixItems": [{"type": "string"}, {"type": "number"}], "items": false}),
            &json!({"items": [{"type": "string"}, {"type": "number"}], "additionalItems": false}),
            &json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}),
        ] {
            check(closed, &json!({"type": "array", "items": either}));
        }
        check(
            &json!({"prefixItems": [{"type": "number"}, {"type": "number"}], "maxItems": 2}),
            &json!({"type": "array", "items": {"type": "number"}, "maxItems": 2}),
        );
        check(&json!({"prefixItems": [{"type": "number"}]}), &json!({"type": "array", "items": {}}));
    }

    #[test]
    fn one_of_is_loosened_and_meets_any_of() {
        check(
            &json!({"anyOf": [{"type": "string"}, {"type": "null"}], "oneOf": [{"pattern": "a"}, {"type": "null"}]}),
            &json!({
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "allOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}],
            }),
        );
        let kept =
            parse_schema(&json!({"oneOf": [{"type": "string"}, {"type": "null"}]}), OneOfHandling::Keep);
        assert_eq!(kept.combined.one_of.len(), 2);
    }

    #[test]
    fn references_are_kept_if_local() {
        check(
            &json!({
                "properties": {
                    "out": {"$ref": "https://evil.example/x.json", "description": "kept"},
                    "deep": {"$ref": "#/definitions/User/properties/name"},
                    "rebased": {"$id": "https://x.example/y", "items": {"$ref": "#/definitions/User"}},
                },
                "definitions": {"User": {"properties": {"name": {"type": "string"}}}, "Unused": {}},
            }),
            &json!({
                "type": "object",
                "properties": {
                    "out": {"description": "kept"},
                    "deep": {"$ref": "#/$defs/name"},
                    "rebased": {"type": "array", "items": {}},
                },
                "$defs": {"name": {"type": "string"}},
            }),
        );
    }

    #[test]
    fn depth_and_count_are_bounded() {
        let mut bomb = json!({"type": "string"});
        for _ in 0..2_000 {
            // Not `json!`, which would copy the wrapped value.
            bomb = Value::Object(Map::from_iter([("type".into(), "array".into()), ("items".into(), bomb)]));
        }
        let mut schema = &parse_schema(&bomb, OneOfHandling::Loosen);
        let mut depth = 0;
        while let Some(items) = &schema.items {
            assert_eq!(schema.types, [JsonType::Array]);
            schema = items;
            depth += 1;
        }
        assert_eq!((depth, schema.is_any()), (MAX_DEPTH, true));

        let names = (0..10_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        let wide = json!({"properties": Value::Object(names), "additionalProperties": false});
        let object = parse_schema(&wide, OneOfHandling::Loosen).object.unwrap();
        assert_eq!((object.properties.len(), object.additional), (MAX_NODES - 1, AdditionalProperties::Any));
    }
}
