//! Merges references and compositions at the root into one plain object: model APIs accept nothing else there.

use super::keywords::MAX_CHOICES;
use super::{AdditionalProperties, JsonSchema, JsonType, ObjectSchema, SchemaComposition, SchemaNotes};

/// The budget of merge steps, one per property. Beyond it, a branch counts as an open object.
const MAX_STEPS: usize = 20_000;
/// The longest chain of references and compositions. Beyond it, a branch counts as an open object too.
const MAX_CHAIN_LENGTH: usize = 64;

/// Merges the root into `type: object` without composition; `None` if no object can match it.
pub(super) fn merge_root(root: &JsonSchema) -> Option<JsonSchema> {
    let merged = RootMerger { root, steps: MAX_STEPS }.merge(root, 0)?;
    Some(JsonSchema {
        types: vec![JsonType::Object],
        notes: SchemaNotes { description: merged.description, default: None },
        object: Some(Box::new(merged.object)),
        defs: root.defs.clone(),
        ..JsonSchema::default()
    })
}

/// The state of a merge: the root and the remaining steps.
struct RootMerger<'a> {
    root: &'a JsonSchema,
    steps: usize,
}

/// An object schema that was merged from several schemas.
#[derive(Default)]
struct MergedObject {
    object: ObjectSchema,
    description: Option<String>,
}

impl RootMerger<'_> {
    fn merge(&mut self, schema: &JsonSchema, chain: usize) -> Option<MergedObject> {
        if !schema.types.is_empty() && !schema.types.contains(&JsonType::Object) {
            return None;
        }
        let cost = 1 + schema.object.as_ref().map_or(0, |object| object.properties.len());
        if chain > MAX_CHAIN_LENGTH || self.steps < cost {
            self.steps = 0;
            return Some(MergedObject::default());
        }
        self.steps -= cost;
        let mut merged = MergedObject {
            object: schema.object.as_deref().cloned().unwrap_or_default(),
            description: schema.notes.description.clone(),
        };
        let target = schema.reference.as_deref().and_then(|reference| self.root.resolve(reference));
        for member in target.into_iter().chain(&schema.combined.all_of) {
            merged.intersect(self.merge(member, chain + 1)?);
        }
        for choice in [&schema.combined.any_of, &schema.combined.one_of] {
            let mut branches = choice.iter().filter_map(|branch| self.merge(branch, chain + 1));
            match branches.next() {
                Some(first) => {
                    let object =
                        branches.fold(first.object, |object, branch| union_objects(object, branch.object));
                    merged.intersect(MergedObject { object, description: None });
                }
                None if choice.is_empty() => {}
                None => return None,
            }
        }
        Some(merged)
    }
}

impl MergedObject {
    fn intersect(&mut self, other: MergedObject) {
        self.object = intersect_objects(std::mem::take(&mut self.object), other.object);
        self.description = self.description.take().or(other.description);
    }
}

/// Returns the object schema for values that match both. A property named by only one of them is allowed, even if the
/// other is closed.
fn intersect_objects(mut left: ObjectSchema, right: ObjectSchema) -> ObjectSchema {
    for (name, schema) in right.properties {
        let merged = match left.properties.remove(&name) {
            Some(own) => join_all_of(own, schema),
            None => schema,
        };
        left.properties.insert(name, merged);
    }
    left.required.extend(right.required);
    left.additional = match (left.additional, right.additional) {
        (AdditionalProperties::Forbidden, _) | (_, AdditionalProperties::Forbidden) => {
            AdditionalProperties::Forbidden
        }
        (AdditionalProperties::Schema(schema), _)
        | (AdditionalProperties::Any, AdditionalProperties::Schema(schema)) => {
            AdditionalProperties::Schema(schema)
        }
        (AdditionalProperties::Any, AdditionalProperties::Any) => AdditionalProperties::Any,
    };
    left
}

/// Returns the object schema for values that match one of them.
///
/// A property named by only one branch keeps its schema, although the other branch, if open, accepts anything there.
/// Only here does sanitizing tighten: a property of type "anything" tells a model nothing, and no server means it.
fn union_objects(mut left: ObjectSchema, mut right: ObjectSchema) -> ObjectSchema {
    let names: Vec<String> = left.properties.keys().chain(right.properties.keys()).cloned().collect();
    for name in names {
        let schema = match (left.properties.remove(&name), right.properties.remove(&name)) {
            (Some(left), Some(right)) => join_any_of(left, right),
            (Some(schema), None) => with_additional(schema, &right.additional),
            (None, Some(schema)) => with_additional(schema, &left.additional),
            // Already merged: the name is in both lists.
            (None, None) => continue,
        };
        left.properties.insert(name, schema);
    }
    left.required.retain(|name| right.required.contains(name));
    left.additional = match (left.additional, right.additional) {
        (AdditionalProperties::Forbidden, AdditionalProperties::Forbidden) => AdditionalProperties::Forbidden,
        (
            AdditionalProperties::Any | AdditionalProperties::Schema(_) | AdditionalProperties::Forbidden,
            _,
        ) => AdditionalProperties::Any,
    };
    left
}

fn with_additional(schema: JsonSchema, additional: &AdditionalProperties) -> JsonSchema {
    match additional {
        AdditionalProperties::Any | AdditionalProperties::Forbidden => schema,
        AdditionalProperties::Schema(other) => join_any_of(schema, JsonSchema::clone(other)),
    }
}

fn join_all_of(left: JsonSchema, right: JsonSchema) -> JsonSchema {
    if left.is_any() || equal_except_notes(&left, &right) {
        return with_notes(right, left.notes);
    }
    if right.is_any() {
        return with_notes(left, right.notes);
    }
    let chained = is_only_composition(&left) && left.combined.any_of.is_empty();
    let mut members = if chained { left.combined.all_of } else { vec![left] };
    members.push(right);
    schema_of_composition(SchemaComposition { all_of: members, ..SchemaComposition::default() })
}

fn join_any_of(left: JsonSchema, right: JsonSchema) -> JsonSchema {
    if left.is_any() || equal_except_notes(&left, &right) {
        return with_notes(left, right.notes);
    }
    if right.is_any() {
        return with_notes(right, left.notes);
    }
    if let Some(merged) = merge_choices(&left, &right) {
        return merged;
    }
    let chained = is_only_composition(&left) && left.combined.all_of.is_empty();
    let mut branches = if chained { left.combined.any_of } else { vec![left] };
    branches.push(right);
    schema_of_composition(SchemaComposition { any_of: branches, ..SchemaComposition::default() })
}

fn schema_of_composition(combined: SchemaComposition) -> JsonSchema {
    let mut schema = JsonSchema { combined, ..JsonSchema::default() };
    schema.normalize();
    schema
}

/// Merges two `enum`s of otherwise equal schemas, e.g. the tags of a tagged union.
fn merge_choices(left: &JsonSchema, right: &JsonSchema) -> Option<JsonSchema> {
    let (mut left, mut right) = (left.clone(), right.clone());
    let mut choices = left.values.choices.take()?;
    for value in right.values.choices.take()? {
        if !choices.contains(&value) {
            choices.push(value);
        }
    }
    if choices.len() > MAX_CHOICES || !equal_except_notes(&left, &right) {
        return None;
    }
    left.values.choices = Some(choices);
    Some(with_notes(left, right.notes))
}

/// Returns true if the schema consists of compositions only, so that a branch can be added to them.
fn is_only_composition(schema: &JsonSchema) -> bool {
    let bare = JsonSchema { combined: schema.combined.clone(), ..JsonSchema::default() };
    *schema == bare && !schema.is_any() && schema.combined.one_of.is_empty()
}

fn equal_except_notes(left: &JsonSchema, right: &JsonSchema) -> bool {
    let bare = |schema: &JsonSchema| JsonSchema { notes: SchemaNotes::default(), ..schema.clone() };
    bare(left) == bare(right)
}

/// Fills in the missing annotations of `schema`.
fn with_notes(mut schema: JsonSchema, notes: SchemaNotes) -> JsonSchema {
    schema.notes.description = schema.notes.description.or(notes.description);
    schema.notes.default = schema.notes.default.or(notes.default);
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::JsonSchema;

    #[track_caller]
    fn check(value: &Value, wanted: &Value) {
        let schema = JsonSchema::from_foreign(value, usize::MAX).unwrap();
        assert_eq!(serde_json::to_value(&schema).unwrap(), *wanted, "{value}");
    }

    #[test]
    fn a_root_reference_is_inlined() {
        check(
            &json!({"$ref": "#/definitions/A", "definitions": {"A": {"properties": {"x": {"$ref": "#/definitions/A"}}}}}),
            &json!({
                "type": "object", "properties": {"x": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"type": "object", "properties": {"x": {"$ref": "#/$defs/A"}}}},
            }),
        );
    }

    #[test]
    fn a_root_all_of_is_merged() {
        check(
            &json!({"allOf": [
                {"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false},
                {"properties": {"a": {"minLength": 1}, "b": {}}, "required": ["b"]},
            ]}),
            &json!({
                "type": "object",
                "properties": {"a": {"allOf": [{"type": "string"}, {"type": "string", "minLength": 1}]}, "b": {}},
                "required": ["a", "b"],
                "additionalProperties": false,
            }),
        );
    }

    #[test]
    fn a_root_choice_is_one_object_with_all_properties() {
        check(
            &json!({"oneOf": [
                {
                    "type": "object", "required": ["kind", "path"], "additionalProperties": false,
                    "properties": {"kind": {"const": "file"}, "path": {"type": "string"}},
                },
                {
                    "type": "object", "required": ["kind"], "additionalProperties": false,
                    "properties": {"kind": {"const": "url"}, "path": {"type": "array", "items": {"type": "string"}}},
                },
                {"type": "null"},
            ]}),
            &json!({
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["file", "url"]},
                    "path": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
                },
                "required": ["kind"],
                "additionalProperties": false,
            }),
        );
    }

    #[test]
    fn required_in_one_branch_only_is_optional() {
        check(
            &json!({
                "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            }),
            &json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
        );
    }

    #[test]
    fn a_root_that_is_a_cycle_is_an_open_object() {
        let open = json!({"type": "object", "properties": {}});
        check(&json!({"$ref": "#"}), &open);
        check(&json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#"}]}}}), &open);
    }

    #[test]
    fn doubling_chains_end() {
        let mut defs = serde_json::Map::new();
        for level in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            let twice = json!({"$ref": format!("#/$defs/d{}", level + 1), "description": "again"});
            defs.insert(format!("d{level}"), json!({"anyOf": [next, twice]}));
        }
        defs.insert("d60".into(), json!({"type": "object", "properties": {"x": {"type": "string"}}}));
        let schema = JsonSchema::from_foreign(&json!({"$ref": "#/$defs/d0", "$defs": defs}), 10_000).unwrap();
        assert!(schema.validate(&json!({"x": "1", "y": 2})).is_ok());
    }
}
