//! Converts a schema for strict mode and checks the result; turns integers into numbers and drops small minimums.

use serde_json::Value;

use super::{AdditionalProperties, JsonSchema, JsonType, ObjectSchema, SchemaComposition, SchemaNotes};

/// The reason why a schema is not strict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrictFault {
    /// A property is optional.
    #[error("the schema is not strict at `{path}`: property `{property}` is not required")]
    Optional {
        /// The location of the object, e.g. `$.options`.
        path: String,
        /// The optional property.
        property: String,
    },
    /// An object accepts properties that it does not name.
    #[error("the schema is not strict at `{path}`: the object accepts other properties than its own")]
    Open {
        /// The location of the object, e.g. `$.options`.
        path: String,
    },
}

/// Requires every property, makes the optional ones nullable, closes every object but maps, and drops defaults.
pub(super) fn make_strict(schema: &JsonSchema) -> JsonSchema {
    let mut schema = schema.clone();
    tighten(&mut schema);
    schema.defs.values_mut().for_each(tighten);
    schema
}

fn tighten(schema: &mut JsonSchema) {
    schema.notes.default = None;
    if schema.combined.any_of.is_empty() {
        // Strict mode has no `oneOf`; our branches differ by a tag, so the choice stays the same.
        schema.combined.any_of = std::mem::take(&mut schema.combined.one_of);
    }
    if schema.types.contains(&JsonType::Object) {
        schema.object.get_or_insert_default();
    }
    if let Some(ObjectSchema { properties, required, additional }) = schema.object.as_deref_mut() {
        // A map names no properties: closing it would leave no valid entries. It stays open, and `check` rejects it.
        if !matches!(additional, AdditionalProperties::Schema(_)) {
            *additional = AdditionalProperties::Forbidden;
        }
        for (name, property) in &mut *properties {
            if !required.contains(name) {
                make_nullable(property);
            }
        }
        *required = properties.keys().cloned().collect();
    }
    schema.children_mut().for_each(tighten);
}

/// Accepts null too: strict mode's way to say "optional".
fn make_nullable(schema: &mut JsonSchema) {
    if schema.is_any() {
        return;
    }
    let SchemaComposition { any_of, one_of, all_of } = &mut schema.combined;
    let plain = one_of.is_empty() && all_of.is_empty() && schema.reference.is_none();
    if !schema.types.is_empty() && plain && any_of.is_empty() {
        if !schema.types.contains(&JsonType::Null) {
            schema.types.push(JsonType::Null);
        }
        if let Some(choices) =
            schema.values.choices.as_mut().filter(|choices| !choices.contains(&Value::Null))
        {
            choices.push(Value::Null);
        }
    } else if schema.types.is_empty() && plain && schema.values.choices.is_none() {
        let null = JsonSchema::of_type(JsonType::Null);
        if !any_of.iter().any(|branch| branch.is_any() || branch.types.contains(&JsonType::Null)) {
            any_of.push(null);
        }
    } else {
        let description = schema.notes.description.take();
        let any_of = vec![std::mem::take(schema), JsonSchema::of_type(JsonType::Null)];
        schema.combined = SchemaComposition { any_of, ..SchemaComposition::default() };
        schema.notes = SchemaNotes { description, default: None };
    }
}

/// Finds the first object that strict mode rejects.
pub(super) fn check_strict(schema: &JsonSchema) -> Result<(), StrictFault> {
    check_at(schema, "$")?;
    schema.defs.iter().try_for_each(|(name, schema)| check_at(schema, &format!("$.$defs.{name}")))
}

fn check_at(schema: &JsonSchema, path: &str) -> Result<(), StrictFault> {
    match schema.object.as_deref() {
        Some(object) => check_object(object, path)?,
        None if schema.types.contains(&JsonType::Object) => {
            return Err(StrictFault::Open { path: path.to_owned() });
        }
        None => {}
    }
    if let Some(items) = &schema.items {
        check_at(items, &format!("{path}[]"))?;
    }
    let SchemaComposition { any_of, one_of, all_of } = &schema.combined;
    for (key, branches) in [("anyOf", any_of), ("oneOf", one_of), ("allOf", all_of)] {
        for (index, branch) in branches.iter().enumerate() {
            check_at(branch, &format!("{path}.{key}[{index}]"))?;
        }
    }
    Ok(())
}

fn check_object(object: &ObjectSchema, path: &str) -> Result<(), StrictFault> {
    match object.additional {
        AdditionalProperties::Forbidden => {}
        AdditionalProperties::Any | AdditionalProperties::Schema(_) => {
            return Err(StrictFault::Open { path: path.to_owned() });
        }
    }
    if let Some(property) = object.properties.keys().find(|name| !object.required.contains(*name)) {
        return Err(StrictFault::Optional { path: path.to_owned(), property: property.clone() });
    }
    object.properties.iter().try_for_each(|(name, schema)| check_at(schema, &format!("{path}.{name}")))
}

/// Turns `integer` into `number` everywhere.
pub(super) fn fold_integers(schema: &JsonSchema) -> JsonSchema {
    let mut schema = schema.clone();
    fold_integers_in(&mut schema);
    schema
}

/// Drops small minimums: the model need not see them, since validation reports a violation.
pub(super) fn drop_small_minimums(schema: &JsonSchema) -> JsonSchema {
    let mut schema = schema.clone();
    drop_minimums_in(&mut schema);
    schema
}

fn drop_minimums_in(schema: &mut JsonSchema) {
    let is_plain = |least: &serde_json::Number| least.as_u64().is_some_and(|least| least <= 1);
    schema.values.bounds.minimum.take_if(|least| is_plain(least));
    schema.children_mut().for_each(drop_minimums_in);
    schema.defs.values_mut().for_each(drop_minimums_in);
}

fn fold_integers_in(schema: &mut JsonSchema) {
    for kind in &mut schema.types {
        if *kind == JsonType::Integer {
            *kind = JsonType::Number;
        }
    }
    schema.types.sort_unstable();
    schema.types.dedup();
    schema.children_mut().for_each(fold_integers_in);
    schema.defs.values_mut().for_each(fold_integers_in);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn schema(value: &Value) -> JsonSchema {
        JsonSchema::from_foreign(value, usize::MAX).unwrap()
    }

    #[test]
    fn optional_properties_become_nullable() {
        for (property, wanted) in [
            (json!({"type": "string", "default": "x"}), json!({"type": ["string", "null"]})),
            (json!({"enum": ["a"]}), json!({"type": ["string", "null"], "enum": ["a", null]})),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
                json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
            ),
            (
                json!({"$ref": "#", "description": "d"}),
                json!({"description": "d", "anyOf": [{"$ref": "#"}, {"type": "null"}]}),
            ),
            (
                json!({"type": "object"}),
                json!({"type": ["object", "null"], "properties": {}, "additionalProperties": false}),
            ),
            (json!({}), json!({})),
        ] {
            let strict = schema(&json!({"properties": {"p": property}})).to_strict();
            let wanted = json!({
                "type": "object", "properties": {"p": wanted}, "required": ["p"], "additionalProperties": false,
            });
            assert_eq!(serde_json::to_value(&strict).unwrap(), wanted);
            assert_eq!(strict.check_strict(), Ok(()));
            assert_eq!(strict.to_strict(), strict);
        }
    }

    #[test]
    fn the_first_loose_object_is_named() {
        let open = |inner: Value| json!({"type": "object", "properties": {"options": inner}, "required": ["options"], "additionalProperties": false});
        let lax = json!({"type": "object", "properties": {"x": {}}, "additionalProperties": false});
        for (value, wanted) in [
            (json!({}), "`$`: the object accepts other properties than its own"),
            (open(lax.clone()), "`$.options`: property `x` is not required"),
            (open(json!({"type": "array", "items": lax})), "`$.options[]`: property `x` is not required"),
            (
                open(
                    json!({"anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": {"type": "string"}}]}),
                ),
                "`$.options.anyOf[1]`: the object accepts other properties than its own",
            ),
        ] {
            let fault = schema(&value).check_strict().unwrap_err().to_string();
            assert_eq!(fault, format!("the schema is not strict at {wanted}"));
        }
    }

    #[test]
    fn integers_fold_into_numbers() {
        let value = json!({
            "properties": {"n": {"type": ["integer", "number"]}, "l": {"items": {"type": "integer"}}},
            "additionalProperties": {"$ref": "#/$defs/d"},
            "$defs": {"d": {"type": ["integer", "null"]}},
        });
        let folded = serde_json::to_value(schema(&value).fold_integers()).unwrap();
        let wanted = json!({
            "type": "object",
            "properties": {"n": {"type": "number"}, "l": {"type": "array", "items": {"type": "number"}}},
            "additionalProperties": {"$ref": "#/$defs/d"},
            "$defs": {"d": {"type": ["number", "null"]}},
        });
        assert_eq!(folded, wanted);
    }
}
