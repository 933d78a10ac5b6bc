//! Serializes a schema as JSON, always with the same keys in the same order: prompt caches need identical bytes.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{
    AdditionalProperties, JsonSchema, JsonType, LengthBounds, ObjectSchema, SchemaComposition,
    ValueConstraints,
};

impl Serialize for JsonType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for JsonSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.types.as_slice() {
            [] => {}
            [one] => map.serialize_entry("type", one)?,
            several => map.serialize_entry("type", several)?,
        }
        write_entry(&mut map, "description", self.notes.description.as_ref())?;
        write_values(&mut map, self)?;
        write_entry(&mut map, "items", self.items.as_deref())?;
        write_object(&mut map, self.types.contains(&JsonType::Object), self.object.as_deref())?;
        write_composition(&mut map, &self.combined)?;
        write_entry(&mut map, "$ref", self.reference.as_ref())?;
        if !self.defs.is_empty() {
            map.serialize_entry("$defs", &self.defs)?;
        }
        map.end()
    }
}

fn write_entry<M: SerializeMap, T: Serialize + ?Sized>(
    map: &mut M,
    key: &'static str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

fn write_values<M: SerializeMap>(map: &mut M, schema: &JsonSchema) -> Result<(), M::Error> {
    let ValueConstraints { choices, format, bounds, lengths } = &schema.values;
    write_entry(map, "enum", choices.as_ref())?;
    write_entry(map, "format", format.as_ref())?;
    write_entry(map, "default", schema.notes.default.as_ref())?;
    write_entry(map, "minimum", bounds.minimum.as_ref())?;
    write_entry(map, "maximum", bounds.maximum.as_ref())?;
    write_entry(map, "exclusiveMinimum", bounds.exclusive_minimum.as_ref())?;
    write_entry(map, "exclusiveMaximum", bounds.exclusive_maximum.as_ref())?;
    let LengthBounds { min_length, max_length, min_items, max_items } = lengths;
    write_entry(map, "minLength", min_length.as_ref())?;
    write_entry(map, "maxLength", max_length.as_ref())?;
    write_entry(map, "minItems", min_items.as_ref())?;
    write_entry(map, "maxItems", max_items.as_ref())
}

/// Writes the object keywords. Some model APIs reject an object type without `properties`, so it is always written.
fn write_object<M: SerializeMap>(
    map: &mut M,
    typed: bool,
    object: Option<&ObjectSchema>,
) -> Result<(), M::Error> {
    let empty = ObjectSchema::default();
    let ObjectSchema { properties, required, additional } = object.unwrap_or(&empty);
    if typed || !properties.is_empty() {
        map.serialize_entry("properties", properties)?;
    }
    if !required.is_empty() {
        map.serialize_entry("required", required)?;
    }
    match additional {
        AdditionalProperties::Any => Ok(()),
        AdditionalProperties::Forbidden => map.serialize_entry("additionalProperties", &false),
        AdditionalProperties::Schema(schema) => map.serialize_entry("additionalProperties", schema),
    }
}

fn write_composition<M: SerializeMap>(map: &mut M, combined: &SchemaComposition) -> Result<(), M::Error> {
    let SchemaComposition { any_of, one_of, all_of } = combined;
    for (key, branches) in [("anyOf", any_of), ("oneOf", one_of), ("allOf", all_of)] {
        if !branches.is_empty() {
            map.serialize_entry(key, branches)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::schema::SchemaNotes;

    #[test]
    fn keys_come_in_one_order() {
        let leaf = JsonSchema { reference: Some("#/$defs/a".into()), ..JsonSchema::default() };
        let schema = JsonSchema {
            types: vec![JsonType::Object, JsonType::Null],
            notes: SchemaNotes { description: Some("d".into()), default: Some(json!(null)) },
            values: ValueConstraints {
                choices: Some(vec![json!({})]),
                format: Some("f".into()),
                ..ValueConstraints::default()
            },
            items: Some(Box::new(JsonSchema::of_type(JsonType::String))),
            object: Some(Box::new(ObjectSchema {
                properties: BTreeMap::from([("b".into(), leaf.clone()), ("a".into(), JsonSchema::default())]),
                required: ["b".to_owned(), "a".to_owned()].into(),
                additional: AdditionalProperties::Forbidden,
            })),
            combined: SchemaComposition {
                any_of: vec![leaf.clone()],
                one_of: vec![leaf.clone()],
                all_of: vec![leaf],
            },
            reference: None,
            defs: BTreeMap::from([("a".into(), JsonSchema::of_type(JsonType::Object))]),
        };
        let text = serde_json::to_string(&schema).unwrap();
        insta::assert_snapshot!(text, @r##"{"type":["object","null"],"description":"d","enum":[{}],"format":"f","default":null,"items":{"type":"string"},"properties":{"a":{},"b":{"$ref":"#/$defs/a"}},"required":["a","b"],"additionalProperties":false,"anyOf":[{"$ref":"#/$defs/a"}],"oneOf":[{"$ref":"#/$defs/a"}],"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"object","properties":{}}}}"##);
    }
}
