//! Derives the schema of a Rust type, in the wording and shape that a model needs.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::parse::{OneOfHandling, parse_schema};
use super::{JsonSchema, JsonType, ObjectSchema, SchemaComposition, SchemaNotes, ValueConstraints};

/// Derives and simplifies the schema of `T`. The type's own description is dropped: the tool has one.
pub(super) fn derive_schema<T: schemars::JsonSchema>() -> JsonSchema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let document = settings.for_deserialize().into_generator().into_root_schema_for::<T>().to_value();
    let mut schema = parse_schema(&document, OneOfHandling::Keep);
    schema.notes.description = None;
    simplify(&mut schema);
    schema.defs.values_mut().for_each(simplify);
    schema.normalize_all();
    schema
}

fn simplify(schema: &mut JsonSchema) {
    schema.values.format.take_if(|format| is_machine_width(format));
    if let Some(ObjectSchema { properties, required, additional: _ }) = schema.object.as_deref_mut() {
        for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(*name)) {
            drop_null(property);
        }
    }
    fold_variants(schema);
    schema.children_mut().for_each(simplify);
}

/// Returns true for `uint32` and the like: the bounds express the same in a form that a model understands.
fn is_machine_width(format: &str) -> bool {
    let digits = format.trim_start_matches("uint").trim_start_matches("int");
    matches!(format, "float" | "double")
        || (digits.len() < format.len() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Removes null from an optional property: leaving the property out means the same.
fn drop_null(property: &mut JsonSchema) {
    property.notes.default.take_if(|default| default.is_null());
    if property.types.len() > 1 {
        property.types.retain(|kind| *kind != JsonType::Null);
        if let Some(choices) = &mut property.values.choices {
            choices.retain(|choice| !choice.is_null());
        }
    }
    let any_of = &mut property.combined.any_of;
    if any_of.len() > 1 {
        any_of.retain(|branch| branch.types != [JsonType::Null]);
    }
    // Unwraps a choice of one branch, so that the property's own description stands above its variants.
    property.normalize();
}

/// Merges a `oneOf` of string constants into one `enum`. The descriptions of the variants go into the description.
fn fold_variants(schema: &mut JsonSchema) {
    let Some(words) = schema.combined.one_of.iter().map(string_constants).collect::<Option<Vec<_>>>() else {
        return;
    };
    if words.is_empty() || !(schema.types.is_empty() || schema.types == [JsonType::String]) {
        return;
    }
    let mut descriptions: Vec<String> = Vec::new();
    for (words, branch) in words.iter().zip(&schema.combined.one_of) {
        if let ([Value::String(word)], Some(description)) = (*words, &branch.notes.description) {
            let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
            descriptions.push(format!("`{word}`: {}", line.trim_end_matches('.')));
        }
    }
    let choices = words.concat();
    schema.types = vec![JsonType::String];
    schema.values.choices = Some(choices);
    schema.combined.one_of.clear();
    let descriptions = Some(descriptions.join("; ")).filter(|told| !told.is_empty());
    schema.notes.description = match (schema.notes.description.take(), descriptions) {
        (Some(own), Some(told)) => Some(format!("{own} {told}")),
        (own, told) => own.or(told),
    };
}

/// Returns the string constants of a branch that contains nothing else.
fn string_constants(branch: &JsonSchema) -> Option<&[Value]> {
    let JsonSchema { types, notes, values, items, object, combined, reference, defs: _ } = branch;
    let ValueConstraints { choices, format: None, bounds: _, lengths: _ } = values else { return None };
    let SchemaNotes { description: _, default: None } = notes else { return None };
    let plain = items.is_none()
        && object.is_none()
        && *combined == SchemaComposition::default()
        && reference.is_none();
    (plain && *types == [JsonType::String]).then_some(choices.as_deref()).flatten()
}

#[cfg(test)]
#[expect(dead_code, reason = "the types are only looked at by their derive")]
mod tests {
    use schemars::JsonSchema as Derive;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Reads a file.
    #[derive(Deserialize, Derive)]
    #[serde(deny_unknown_fields)]
    struct Args {
        /// File to read.
        path: String,
        /// First line, from 1.
        #[serde(default = "one")]
        offset: u32,
        limit: Option<usize>,
        /// How to read.
        mode: Option<SampleMode>,
        style: SampleStyle,
        #[serde(default)]
        rows: Vec<SampleRow>,
        ratio: Option<f64>,
    }

    fn one() -> u32 {
        1
    }

    #[derive(Deserialize, Derive)]
    #[serde(rename_all = "snake_case")]
    enum SampleMode {
        /// Plain lines,
        /// as they are.
        Slice,
        /// By block.
        Indentation,
        Other,
    }

    /// How it looks.
    #[derive(Deserialize, Derive)]
    #[serde(rename_all = "snake_case")]
    enum SampleStyle {
        Long,
        Short,
    }

    #[derive(Deserialize, Derive)]
    struct SampleRow {
        cells: Vec<Option<i64>>,
    }

    #[derive(Deserialize, Derive)]
    struct SampleTree {
        label: String,
        children: Vec<SampleTree>,
    }

    #[derive(Deserialize, Derive)]
    struct TaggedSample {
        step: TaggedStep,
    }

    #[derive(Deserialize, Derive)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum TaggedStep {
        Go { to: String },
        Stop,
    }

    #[test]
    fn arguments_are_worded_for_a_model() {
        let schema = serde_json::to_string_pretty(&JsonSchema::for_type::<Args>()).unwrap();
        insta::assert_snapshot!(schema, @r#"
        {
          "type": "object",
          "properties": {
            "limit": {
              "type": "integer",
              "minimum": 0
            },
            "mode": {
              "type": "string",
              "description": "How to read. `slice`: Plain lines, as they are; `indentation`: By block",
              "enum": [
                "other",
                "slice",
                "indentation"
              ]
            },
            "offset": {
              "type": "integer",
              "description": "First line, from 1.",
              "default": 1,
              "minimum": 0
            },
            "path": {
              "type": "string",
              "description": "File to read."
            },
            "ratio": {
              "type": "number"
            },
            "rows": {
              "type": "array",
              "items": {
                "type": "object",
                "properties": {
                  "cells": {
                    "type": "array",
                    "items": {
                      "type": [
                        "integer",
                        "null"
                      ]
                    }
                  }
                },
                "required": [
                  "cells"
                ]
              }
            },
            "style": {
              "type": "string",
              "description": "How it looks.",
              "enum": [
                "long",
                "short"
              ]
            }
          },
          "required": [
            "path",
            "style"
          ],
          "additionalProperties": false
        }
        "#);
    }

    #[test]
    fn recursive_types_keep_references() {
        let schema = serde_json::to_string(&JsonSchema::for_type::<SampleTree>()).unwrap();
        insta::assert_snapshot!(schema, @r##"{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}},"label":{"type":"string"}},"required":["children","label"]}"##);
        let schema = JsonSchema::for_type::<SampleTree>();
        let good = json!({"label": "a", "children": [{"label": "b", "children": []}]});
        assert_eq!(schema.validate(&good), Ok(()));
        let bad = json!({"label": "a", "children": [{"label": 3, "children": []}]});
        assert_eq!(schema.validate(&bad).unwrap_err().path, "children[0].label");
    }

    #[test]
    fn tagged_unions_keep_one_of() {
        let schema = serde_json::to_string(&JsonSchema::for_type::<TaggedSample>()).unwrap();
        insta::assert_snapshot!(schema, @r#"{"type":"object","properties":{"step":{"oneOf":[{"type":"object","properties":{"kind":{"type":"string","enum":["go"]},"to":{"type":"string"}},"required":["kind","to"]},{"type":"object","properties":{"kind":{"type":"string","enum":["stop"]}},"required":["kind"]}]}},"required":["step"]}"#);
    }

    #[test]
    fn machine_widths_are_no_formats() {
        for (format, wanted) in [
            ("uint32", true),
            ("int64", true),
            ("uint", true),
            ("double", true),
            ("date", false),
            ("uuid", false),
        ] {
            assert_eq!(is_machine_width(format), wanted, "{format}");
        }
    }
}
